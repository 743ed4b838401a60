"""Two-layer linear networks with any number of outputs, `β = W₁W₂` (Varre et al.)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from limitpoint.errors import NetworkError
from limitpoint.foundation.arrays import Float, as_whole_number
from limitpoint.networks.kinds.layer_gradients import gradients_of_chain
from limitpoint.networks.kinds.without_mirror_map import WithoutMirrorMap
from limitpoint.tasks import Task

__all__ = ["TwoLayer"]

# Of the conserved matrix, width × width, at most so many columns are computed.
COLUMNS = 64


@dataclass(frozen=True)
class TwoLayer(WithoutMirrorMap):
    """A two-layer linear network for vector regression: `β = W₁W₂`.

    Parameters
    ----------
    width
        Number of hidden neurons, l.

    Notes
    -----
    The layers are W₁ (n, l) and W₂ (l, k) for k outputs; where y is a vector, W₂ is one too, (l,).

    Examples
    --------
    >>> import numpy as np
    >>> TwoLayer(width=2).coef([np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])]).tolist()
    [[11.0]]
    """

    width: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", as_whole_number(self.width, 1, "width", NetworkError))

    @property
    def degree(self) -> int:
        """Two layers."""
        return 2

    def layer_shapes(self, task: Task) -> tuple[tuple[int, ...], ...]:
        """W₁ is n × l, W₂ is l × k (a vector where y is one)."""
        return (task.n_features, self.width), (self.width, *task.y.shape[1:])

    def coef(self, layers: Sequence[Any]) -> Any:
        """`W₁W₂`; leading axes (of records, say) are kept."""
        first, second = layers
        if second.ndim == first.ndim:
            return first @ second
        return (first @ second[..., None])[..., 0]

    def outer(self, layers: Sequence[Any]) -> Any:
        """`W₂`, which W₁ is applied to."""
        return layers[1]

    def layer_gradients(
        self, layers: Sequence[Float], direction: Float
    ) -> tuple[Float, ...] | None:
        """`g W₂ᵀ` and `W₁ᵀ g`."""
        first, second = layers
        if second.ndim == first.ndim:
            return gradients_of_chain(layers, direction)
        inner, last = gradients_of_chain((first, second[..., None]), direction[..., None])
        return inner, last[..., 0]

    def layer_hessian(self, layers: Sequence[Float], direction: Float) -> Float:
        """Between `W₁[i, j]` and `W₂[j, c]` the direction's entry at (i, c), else zero."""
        first, second = layers
        outputs = direction.reshape(len(first), -1)
        block = np.einsum("ic,jk->ijkc", outputs, np.eye(self.width))
        whole = np.zeros((first.size + second.size,) * 2)
        whole[: first.size, first.size :] = block.reshape(first.size, second.size)
        return whole + whole.T

    def invariants(self, layers: Sequence[Float]) -> Float:
        """The entries of `W₁ᵀW₁ − W₂W₂ᵀ`, one after the other; of wide layers the first columns."""
        first, second = layers
        columns = second if second.ndim == first.ndim else second[..., None]
        some = slice(COLUMNS)
        difference = np.swapaxes(first, -1, -2) @ first[..., some]
        difference = difference - columns @ np.swapaxes(columns[..., some, :], -1, -2)
        return np.moveaxis(difference.reshape(*difference.shape[:-2], -1), -1, 0)
