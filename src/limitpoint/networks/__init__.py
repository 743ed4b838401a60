"""Networks: how parameters become coefficients. One file per architecture."""

from limitpoint.networks.base import GrowthCoordinates, Network
from limitpoint.networks.diagonal import Diagonal

__all__ = ["Diagonal", "GrowthCoordinates", "Network"]
