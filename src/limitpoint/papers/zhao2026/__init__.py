"""Zhao et al. (2026): diagonal linear networks under infinitesimal initialisation."""

from limitpoint.papers.zhao2026 import (
    appendix_c1,
    figure1,
    figure4,
    figures2_3,
    section8_2,
)

__all__ = ["appendix_c1", "figure1", "figure4", "figures2_3", "section8_2"]
