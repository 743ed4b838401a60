"""Networks: how parameters become coefficients. One file per architecture."""

from limitpoint.networks.base import Condition, GrowthCoordinates, Network
from limitpoint.networks.coupled import BALANCE_TOLERANCE, CoupledNetwork
from limitpoint.networks.diagonal import Diagonal
from limitpoint.networks.fully_connected import FullyConnected
from limitpoint.networks.general import General
from limitpoint.networks.growth import growth_times
from limitpoint.networks.paired import Paired
from limitpoint.networks.power import Power, SignedPower
from limitpoint.networks.rank_one import RankOne
from limitpoint.networks.relu import ReLU
from limitpoint.networks.two_layer import TwoLayer
from limitpoint.networks.without_clocks import WithoutClocks

__all__ = [
    "BALANCE_TOLERANCE",
    "Condition",
    "CoupledNetwork",
    "Diagonal",
    "FullyConnected",
    "General",
    "GrowthCoordinates",
    "Network",
    "Paired",
    "Power",
    "RankOne",
    "ReLU",
    "SignedPower",
    "TwoLayer",
    "WithoutClocks",
    "growth_times",
]
