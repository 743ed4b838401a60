"""Fully connected (dense) linear networks with one output."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from limitpoint.errors import InitError
from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.mirror import PowerRadius, RadialMap
from limitpoint.networks.kinds.coupled import BALANCE_TOLERANCE, CoupledNetwork
from limitpoint.networks.kinds.layer_gradients import gradients_of_chain
from limitpoint.networks.kinds.multilinear import check_tensor_size
from limitpoint.networks.kinds.single_output import feature_shape
from limitpoint.networks.kinds.widths import as_widths
from limitpoint.tasks import Task

__all__ = ["FullyConnected"]


@dataclass(frozen=True)
class FullyConnected(CoupledNetwork):
    """A dense linear network, `β = W₁ ⋯ W_{L−1} w_L`.

    Parameters
    ----------
    widths
        `(d₂, …, d_L)`, the numbers of hidden neurons; the depth L is one more than their number.

    Notes
    -----
    The layers are W₁ (n, d₂), W₂ (d₂, d₃), …, w_L (d_L,).

    Examples
    --------
    >>> import numpy as np
    >>> FullyConnected(widths=(2,)).coef([np.array([[1.0, 2.0]]), np.array([1.0, 1.0])]).tolist()
    [3.0]
    """

    widths: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "widths", as_widths(self.widths))

    @property
    def depth(self) -> int:
        """Number of layers, L."""
        return len(self.widths) + 1

    @property
    def degree(self) -> int:
        """The depth."""
        return self.depth

    def layer_shapes(self, task: Task) -> tuple[tuple[int, ...], ...]:
        """Matrices from n features through the widths, and a vector."""
        (features,) = feature_shape(task, "fully connected")
        sizes = (features, *self.widths)
        return (*pairwise(sizes), (sizes[-1],))

    def unit_layers(self, task: Task, direction: Float | None) -> tuple[Float, ...] | None:
        """Ones on the diagonals: the zero-asymmetric start of Wu, Wang and Ma (2019)."""
        if direction is not None:
            raise InitError(
                f"zero_last takes no direction for {self}, whose layers have different shapes; "
                "give layers of your own as Init(direction, scale)"
            )
        return tuple(np.eye(shape[0], shape[1]) for shape in self.layer_shapes(task)[:-1])

    def tensor(self, task: Task) -> Float:
        """The tensor form M, (n, n·d₂, d₂·d₃, …, d_L): contracted with the layers it gives β.

        One wherever the indices of the layers are linked, `(a₁, a₁a₂, a₂a₃, …, a_L)`. Matrices
        count row by row, as `ravel` reads them. Small sizes only.
        """
        sizes = (self.layer_shapes(task)[0][0], *self.widths)
        shape = (sizes[0], *(a * b for a, b in pairwise(sizes)), sizes[-1])
        check_tensor_size(self, shape)
        links = np.indices(sizes).reshape(len(sizes), -1)
        steps = zip(links, links[1:], sizes[1:], strict=False)
        tensor = np.zeros(shape)
        tensor[(links[0], *(a * size + b for a, b, size in steps), links[-1])] = 1.0
        return tensor

    def coef(self, layers: Sequence[Any]) -> Any:
        """`W₁ ⋯ w_L`, from the right; leading axes (of records, say) are kept."""
        return _times(layers[0], self.outer(layers))

    def outer(self, layers: Sequence[Any]) -> Any:
        """`W₂ ⋯ w_L`, the vector that W₁ is applied to."""
        vector = layers[-1]
        for matrix in layers[-2:0:-1]:
            vector = _times(matrix, vector)
        return vector

    def layer_gradients(
        self, layers: Sequence[Float], direction: Float
    ) -> tuple[Float, ...] | None:
        """`(W₁ ⋯ W_{l−1})ᵀ g (W_{l+1} ⋯ w_L)ᵀ`."""
        matrices = [*layers[:-1], layers[-1][..., None]]
        *inner, last = gradients_of_chain(matrices, direction[..., None])
        return (*inner, last[..., 0])

    def invariants(self, layers: Sequence[Float]) -> Float:
        """The entries of `W_kᵀW_k − W_{k+1}W_{k+1}ᵀ`, one after the other."""
        kept = []
        for difference in _differences(layers):
            flat = difference.reshape(*difference.shape[:-2], -1)
            kept.append(np.moveaxis(flat, -1, 0))
        return np.concatenate(kept)

    def imbalance(self, layers: Sequence[Float]) -> float:
        """The largest `‖W_kᵀW_k − W_{k+1}W_{k+1}ᵀ‖`, relative to `‖w_L‖²`.

        Zero in lyu's Definition 2. Then all layers have rank one.
        """
        size = float(layers[-1] @ layers[-1])
        off = max(float(np.linalg.norm(difference)) for difference in _differences(layers))
        if size == 0.0:
            return np.inf if off > 0 else 0.0
        return off / size

    def balanced_layers(
        self, task: Task, direction: Float, rng: np.random.Generator
    ) -> tuple[Float, ...]:
        """`W_k = a_k a_{k+1}ᵀ`, w_L = a_L; a₁ is the direction, the others are drawn."""
        vectors = [direction]
        for width in self.widths:
            drawn = rng.standard_normal(width)
            vectors.append(drawn / np.linalg.norm(drawn))
        return (*(np.outer(a, b) for a, b in pairwise(vectors)), vectors[-1])

    def radial_map(self, init: Init) -> RadialMap | None:
        """A power of ρ from a balanced start; None from any other."""
        init.check_products(self.degree)
        coef = self.coef(init.direction)
        norm = float(np.linalg.norm(coef))
        if norm == 0.0 or self.imbalance(init.direction) > BALANCE_TOLERANCE:
            return None
        return PowerRadius(init.scale * norm ** (1 / self.degree - 1) * coef, self.degree)

    def layers_along(self, init: Init, inputs: Float) -> tuple[Float, ...]:
        """`W₁ = z a₂ᵀ`; the others keep their directions and have the norm of z."""
        layers = init.layers
        radial = self.radial_map(init)
        if radial is None:
            raise TypeError(f"{self} does not start balanced, so its layers are not known")
        start = radial.start
        norms = np.linalg.norm(inputs, axis=-1)
        follower = layers[0].T @ start / float(start @ start)
        grown = norms / float(np.linalg.norm(start))
        others = [np.multiply.outer(grown, layer) for layer in layers[1:]]
        return (np.multiply.outer(inputs, follower), *others)


def _times(matrix: Any, vector: Any) -> Any:
    """Matrix times vector, with leading axes kept; NumPy and traced JAX arrays alike."""
    return (matrix @ vector[..., None])[..., 0]


def _differences(layers: Sequence[Float]) -> list[Float]:
    """`W_kᵀW_k − W_{k+1}W_{k+1}ᵀ`, with leading axes kept."""
    *matrices, last = layers
    columns = [*matrices, last[..., None]]
    return [np.swapaxes(a, -1, -2) @ a - b @ np.swapaxes(b, -1, -2) for a, b in pairwise(columns)]
