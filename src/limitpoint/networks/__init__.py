"""Networks: how parameters become coefficients. One file per architecture."""

from limitpoint.networks.base import Condition, GrowthCoordinates, Network, as_network
from limitpoint.networks.convolutional import Convolutional
from limitpoint.networks.coupled import BALANCE_TOLERANCE, CoupledNetwork
from limitpoint.networks.design import design
from limitpoint.networks.diagonal import Diagonal
from limitpoint.networks.diagonal_forms import (
    CommutingForm,
    DiagonalForm,
    EvenForm,
    OrthogonalForm,
    snapped,
)
from limitpoint.networks.fully_connected import FullyConnected
from limitpoint.networks.general import General
from limitpoint.networks.growth import growth_times
from limitpoint.networks.joint_diagonal import (
    joint_eigenbasis,
    largest_commutator,
    off_diagonal,
)
from limitpoint.networks.matrix_product import MatrixProduct
from limitpoint.networks.multilinear import MultilinearNetwork
from limitpoint.networks.orthogonal_tensor import OrthogonalTensor
from limitpoint.networks.paired import Paired
from limitpoint.networks.power import Power, SignedPower
from limitpoint.networks.rank_one import RankOne
from limitpoint.networks.relu import ReLU
from limitpoint.networks.singular_vectors import singular_vector_residual
from limitpoint.networks.smallest_layer_growth import SmallestLayerGrowth
from limitpoint.networks.tensor import Tensor
from limitpoint.networks.two_layer import TwoLayer
from limitpoint.networks.without_clocks import WithoutClocks

__all__ = [
    "BALANCE_TOLERANCE",
    "CommutingForm",
    "Condition",
    "Convolutional",
    "CoupledNetwork",
    "Diagonal",
    "DiagonalForm",
    "EvenForm",
    "FullyConnected",
    "General",
    "GrowthCoordinates",
    "MatrixProduct",
    "MultilinearNetwork",
    "Network",
    "OrthogonalForm",
    "OrthogonalTensor",
    "Paired",
    "Power",
    "RankOne",
    "ReLU",
    "SignedPower",
    "SmallestLayerGrowth",
    "Tensor",
    "TwoLayer",
    "WithoutClocks",
    "as_network",
    "design",
    "growth_times",
    "joint_eigenbasis",
    "largest_commutator",
    "off_diagonal",
    "singular_vector_residual",
    "snapped",
]
