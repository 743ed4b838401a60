"""Networks: how parameters become coefficients. One file per architecture."""

from limitpoint.networks.base import Condition, GrowthCoordinates, Network
from limitpoint.networks.convolutional import Convolutional
from limitpoint.networks.coupled import BALANCE_TOLERANCE, CoupledNetwork
from limitpoint.networks.design import design
from limitpoint.networks.diagonal import Diagonal
from limitpoint.networks.fully_connected import FullyConnected
from limitpoint.networks.general import General
from limitpoint.networks.growth import growth_times
from limitpoint.networks.matrix_product import MatrixProduct
from limitpoint.networks.multilinear import MultilinearNetwork
from limitpoint.networks.orthogonal_tensor import OrthogonalTensor
from limitpoint.networks.paired import Paired
from limitpoint.networks.power import Power, SignedPower
from limitpoint.networks.rank_one import RankOne
from limitpoint.networks.relu import ReLU
from limitpoint.networks.tensor import Tensor
from limitpoint.networks.two_layer import TwoLayer
from limitpoint.networks.without_clocks import WithoutClocks

__all__ = [
    "BALANCE_TOLERANCE",
    "Condition",
    "Convolutional",
    "CoupledNetwork",
    "Diagonal",
    "FullyConnected",
    "General",
    "GrowthCoordinates",
    "MatrixProduct",
    "MultilinearNetwork",
    "Network",
    "OrthogonalTensor",
    "Paired",
    "Power",
    "RankOne",
    "ReLU",
    "SignedPower",
    "Tensor",
    "TwoLayer",
    "WithoutClocks",
    "design",
    "growth_times",
]
