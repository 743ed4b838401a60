"""Networks that are linear in each of their layers, with no mirror map of their coefficients."""

import math
from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from limitpoint.errors import NetworkError
from limitpoint.foundation.arrays import Float
from limitpoint.networks.kinds.without_mirror_map import WithoutMirrorMap
from limitpoint.networks.network import Network
from limitpoint.tasks import LARGEST, SMALLEST, Task

__all__ = ["MultilinearNetwork", "check_entries", "check_features", "check_tensor_size"]

# A tensor form has the product of all layers' sizes as its size; beyond so many numbers (80 MB) it
# is refused rather than left to exhaust the memory.
LARGEST_TENSOR = 10_000_000


class MultilinearNetwork(WithoutMirrorMap):
    """A network `f(x) = M(x)∘(v₁, …, v_L)` for a tensor M(x) that is linear in x (yun (6)).

    Its layers are driven together, so that no coefficient has a mirror coordinate of its own.
    Multiplying one layer by c and another by 1/c changes nothing, so that gradient flow conserves
    `‖v_l‖² − ‖v_k‖²` at least.
    """

    @abstractmethod
    def tensor(self, task: Task) -> Float:
        """The tensor form M, (n, k₁, …, k_L): contracted with the layers it gives β.

        Layers that are matrices count row by row, as `ravel` reads them. Small sizes only.
        """

    def moduli(self, layers: Sequence[Float]) -> Float:
        """`|M|∘(|v₁|, …, |v_L|)`, to which the rounding of the coefficients is relative.

        Here for tensors without negative entries.
        """
        moduli: Float = np.asarray(self.coef([np.abs(layer) for layer in layers]))
        return moduli


def check_features(network: Network, wanted: int, found: int, source: str) -> None:
    """Raise `NetworkError` if the task has another number of features than the network."""
    if wanted != found:
        raise NetworkError(
            f"{network} needs data with {wanted} features, {source}; the data have {found}"
        )


def check_tensor_size(network: Network, shape: Sequence[int]) -> None:
    """Raise `NetworkError` for tensor forms that do not fit into memory."""
    size = math.prod(shape)
    if size > LARGEST_TENSOR:
        raise NetworkError(
            f"the tensor form of {network} would have {size:.3g} entries, in shape {tuple(shape)}; "
            f"it is for small sizes, {LARGEST_TENSOR:g} entries at most"
        )


def check_entries(array: Float, name: str) -> None:
    """Raise `NetworkError` for arrays that are empty, or too large or small to be multiplied."""
    if array.size == 0:
        raise NetworkError(
            f"{name} must have at least one entry along every axis; it has shape {array.shape}"
        )
    largest = float(np.abs(array).max())
    if largest != 0.0 and not SMALLEST <= largest <= LARGEST:
        raise NetworkError(
            f"{name} must have its largest entry between {SMALLEST:g} and {LARGEST:g} in modulus, "
            f"or be zero; it is {largest:g}. Rescale {name}"
        )
