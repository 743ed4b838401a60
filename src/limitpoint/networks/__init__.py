"""Networks: how parameters become coefficients. One file per architecture."""

from limitpoint.networks.base import GrowthCoordinates, Network
from limitpoint.networks.diagonal import Diagonal
from limitpoint.networks.growth import growth_times
from limitpoint.networks.paired import Paired
from limitpoint.networks.power import Power, SignedPower

__all__ = [
    "Diagonal",
    "GrowthCoordinates",
    "Network",
    "Paired",
    "Power",
    "SignedPower",
    "growth_times",
]
