"""Varre et al. (2023), On the spectral bias of two-layer linear networks: every figure."""

from limitpoint.papers.varre2023.figure1a import Figure1a
from limitpoint.papers.varre2023.figure1b import Figure1b
from limitpoint.papers.varre2023.figure2 import Figure2
from limitpoint.papers.varre2023.figure3 import Figure3
from limitpoint.papers.varre2023.figure4 import Figure4
from limitpoint.papers.varre2023.figure5 import Figure5

__all__ = ["Figure1a", "Figure1b", "Figure2", "Figure3", "Figure4", "Figure5"]
