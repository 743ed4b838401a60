"""Linear tensor networks, `β = M∘(v₁, …, v_L)` (Yun et al. 2021, equation (6))."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limitpoint.errors import NetworkError
from limitpoint.foundation.arrays import MOST_AXES, Float, as_float_array
from limitpoint.networks.kinds.multilinear import MultilinearNetwork, check_entries, check_features
from limitpoint.networks.kinds.single_output import feature_shape
from limitpoint.tasks import Task

__all__ = ["Tensor"]


@dataclass(frozen=True, eq=False, repr=False)
class Tensor(MultilinearNetwork):
    """The network of any tensor: `f(x) = M(x)∘(v₁, …, v_L)`, M(x) linear in x.

    Every multilinear network of this library is one, for a tensor of its own.

    Parameters
    ----------
    M
        Array (n, k₁, …, k_L), L ≥ 2: the data tensor of x is `M(x) = Σ_i x_i M[i]`.

    Notes
    -----
    The layers are L vectors, v_l of length k_l. `β_i = Σ M[i, j₁, …, j_L] v₁[j₁] ⋯ v_L[j_L]`.

    Examples
    --------
    >>> import numpy as np
    >>> network = Tensor([[[1, 0], [0, 0]], [[0, 0], [0, 1]]])  # the diagonal network
    >>> network.coef([np.array([2.0, 3.0]), np.array([5.0, 7.0])]).tolist()
    [10.0, 21.0]
    """

    M: Float

    def __init__(self, M: ArrayLike) -> None:
        array = as_float_array(M, "M", NetworkError, ndim=range(MOST_AXES + 1))
        if array.ndim < 3:
            raise NetworkError(
                "M must have one axis for the features and one for each of at least two layers, "
                f"(n, k1, k2, ...); it has shape {array.shape}"
            )
        check_entries(array, "M")
        object.__setattr__(self, "M", array)

    def __repr__(self) -> str:
        return f"Tensor(M of shape {self.M.shape})"

    @property
    def sizes(self) -> tuple[int, ...]:
        """`(k₁, …, k_L)`."""
        return self.M.shape[1:]

    @property
    def depth(self) -> int:
        """Number of layers, L."""
        return self.M.ndim - 1

    @property
    def degree(self) -> int:
        """The depth."""
        return self.depth

    def layer_shapes(self, task: Task) -> tuple[tuple[int, ...], ...]:
        """A vector for every axis of M but the first."""
        (features,) = feature_shape(task, "tensor")
        check_features(self, self.M.shape[0], features, "the length of M's first axis")
        return tuple((size,) for size in self.sizes)

    def coef(self, layers: Sequence[Any]) -> Any:
        """M contracted with the layers, the last first; leading axes are kept."""
        # One matrix times one vector for each record; M itself is the same for all of them.
        rest = _times(self.M.reshape(-1, self.sizes[-1]), layers[-1])
        for size, layer in zip(self.sizes[-2::-1], layers[-2::-1], strict=True):
            rest = _times(rest.reshape(*rest.shape[:-1], rest.shape[-1] // size, size), layer)
        return rest

    def layer_gradients(
        self, layers: Sequence[Float], direction: Float
    ) -> tuple[Float, ...] | None:
        """`M(direction)∘(v₁, …, I, …, v_L)`, from the coefficients at unit layers."""
        spread = [layer[..., None, :] for layer in layers]
        found = []
        for place, size in enumerate(self.sizes):
            coefs = self.coef([*spread[:place], np.eye(size), *spread[place + 1 :]])
            found.append(_times(coefs, direction))
        return tuple(found)

    def moduli(self, layers: Sequence[Float]) -> Float:
        """`|M|∘(|v₁|, …, |v_L|)`."""
        moduli: Float = Tensor(np.abs(self.M)).coef([np.abs(layer) for layer in layers])
        return moduli

    def tensor(self, task: Task) -> Float:
        """M itself."""
        self.layer_shapes(task)
        return self.M

    def invariants(self, layers: Sequence[Float]) -> Float:
        """`‖v_l‖² − ‖v_L‖²` for l < L. A tensor with symmetries may conserve more."""
        squares = np.stack([(layer**2).sum(axis=-1) for layer in layers])
        kept: Float = squares[:-1] - squares[-1]
        return kept

    @property
    def affine_at_zero(self) -> bool:
        """Only where all layers are single numbers: else equal norms make a cone."""
        return set(self.sizes) == {1}


def _times(matrix: Any, vector: Any) -> Any:
    """Matrix times vector, with leading axes kept; NumPy and traced JAX arrays alike."""
    return (matrix @ vector[..., None])[..., 0]
