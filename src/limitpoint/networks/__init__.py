"""Networks: how parameters become coefficients. One file per architecture."""

from limitpoint.networks.base import Condition, GrowthCoordinates, Network
from limitpoint.networks.diagonal import Diagonal
from limitpoint.networks.general import General
from limitpoint.networks.growth import growth_times
from limitpoint.networks.paired import Paired
from limitpoint.networks.power import Power, SignedPower

__all__ = [
    "Condition",
    "Diagonal",
    "General",
    "GrowthCoordinates",
    "Network",
    "Paired",
    "Power",
    "SignedPower",
    "growth_times",
]
