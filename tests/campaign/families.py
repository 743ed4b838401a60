"""The families of problems, each with its oracle; importing a module registers its families."""

from tests.campaign import coupled, diagonalisable, ends, general, one_sample, separable
from tests.campaign.family import FAMILIES, Case, draw

__all__ = ["FAMILIES", "MODULES", "Case", "draw"]

MODULES = (separable, coupled, one_sample, diagonalisable, ends, general)
