"""Networks: how parameters become coefficients. One file per architecture."""

from limitpoint.mirror.charts.deep_diagonal_chart import DeepDiagonalChart
from limitpoint.networks.diagonal import Diagonal
from limitpoint.networks.fully_connected import FullyConnected
from limitpoint.networks.general.general_network import General
from limitpoint.networks.kinds.coupled import BALANCE_TOLERANCE, CoupledNetwork
from limitpoint.networks.kinds.multilinear import MultilinearNetwork
from limitpoint.networks.kinds.without_mirror_map import WithoutMirrorMap
from limitpoint.networks.network import Network, activation_times, as_network
from limitpoint.networks.paired import Paired
from limitpoint.networks.power import Power, SignedPower
from limitpoint.networks.rank_one import RankOne
from limitpoint.networks.relu import ReLU
from limitpoint.networks.tensor.any_tensor import Tensor
from limitpoint.networks.tensor.convolutional import Convolutional
from limitpoint.networks.tensor.diagonal_forms import (
    CommutingForm,
    DiagonalForm,
    EvenForm,
    OrthogonalForm,
    snapped,
)
from limitpoint.networks.tensor.joint_eigenbasis import (
    joint_eigenbasis,
    largest_commutator,
    off_diagonal,
)
from limitpoint.networks.tensor.matrix_product import MatrixProduct
from limitpoint.networks.tensor.orthogonal_tensor import OrthogonalTensor
from limitpoint.networks.tensor.singular_vectors import singular_vector_residual
from limitpoint.networks.tensor.sparse_transform import design
from limitpoint.networks.two_layer import TwoLayer

__all__ = [
    "BALANCE_TOLERANCE",
    "CommutingForm",
    "Convolutional",
    "CoupledNetwork",
    "DeepDiagonalChart",
    "Diagonal",
    "DiagonalForm",
    "EvenForm",
    "FullyConnected",
    "General",
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
    "Tensor",
    "TwoLayer",
    "WithoutMirrorMap",
    "activation_times",
    "as_network",
    "design",
    "joint_eigenbasis",
    "largest_commutator",
    "off_diagonal",
    "singular_vector_residual",
    "snapped",
]
