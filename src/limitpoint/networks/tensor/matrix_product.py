"""Products of square matrices: deep matrix sensing (Yun et al. 2021, equation (13))."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import matmul
from typing import Any

import numpy as np

from limitpoint.errors import NetworkError
from limitpoint.foundation.arrays import Float
from limitpoint.networks.kinds.layer_gradients import gradients_of_chain
from limitpoint.networks.kinds.layered import LayeredNetwork
from limitpoint.networks.kinds.multilinear import MultilinearNetwork, check_tensor_size
from limitpoint.networks.kinds.single_output import feature_shape
from limitpoint.tasks import Task

__all__ = ["MatrixProduct"]


@dataclass(frozen=True)
class MatrixProduct(LayeredNetwork, MultilinearNetwork):
    """A product of square matrices seen through sensors, `f(A) = ⟨A, W₁ ⋯ W_L⟩`.

    The task is `MatrixSensing(A, y)`. The coefficients are the entries of the product, row by row.

    Parameters
    ----------
    depth
        Number of matrices, L.

    Notes
    -----
    The layers are L matrices (d, d).

    Examples
    --------
    >>> import numpy as np
    >>> MatrixProduct(depth=2).coef([np.array([[1.0, 2.0], [0.0, 1.0]]), np.eye(2)]).tolist()
    [1.0, 2.0, 0.0, 1.0]
    """

    def layer_shapes(self, task: Task) -> tuple[tuple[int, ...], ...]:
        """Square matrices with as many entries as there are features."""
        (features,) = feature_shape(task, "matrix product")
        side = math.isqrt(features)
        if side * side != features:
            raise NetworkError(
                "a matrix product network needs data that are square matrices, like those of "
                f"MatrixSensing(A, y), so a square number of features; the data have {features}"
            )
        return ((side, side),) * self.depth

    def coef(self, layers: Sequence[Any]) -> Any:
        """The entries of `W₁ ⋯ W_L`, row by row; leading axes are kept."""
        product = reduce(matmul, layers)
        return product.reshape(*product.shape[:-2], -1)

    def layer_gradients(
        self, layers: Sequence[Float], direction: Float
    ) -> tuple[Float, ...] | None:
        """`(W₁ ⋯ W_{l−1})ᵀ g (W_{l+1} ⋯ W_L)ᵀ`, the direction as a matrix."""
        side = layers[0].shape[-1]
        return gradients_of_chain(layers, direction.reshape(*direction.shape[:-1], side, side))

    def tensor(self, task: Task) -> Float:
        """One wherever the matrices' indices are linked, `(a₀a_L, a₀a₁, a₁a₂, …, a_{L−1}a_L)`."""
        side = self.layer_shapes(task)[0][0]
        shape = (side * side,) * (self.depth + 1)
        check_tensor_size(self, shape)
        links = np.indices((side,) * (self.depth + 1)).reshape(self.depth + 1, -1)
        ends = links[0] * side + links[-1]
        tensor = np.zeros(shape)
        tensor[(ends, *(a * side + b for a, b in pairwise(links)))] = 1.0
        return tensor

    def unit_layers(self, task: Task, direction: Float | None) -> tuple[Float, ...] | None:
        """Identities (Yun et al. 2021, Corollary 7)."""
        if direction is not None:
            return None
        side = self.layer_shapes(task)[0][0]
        return (np.eye(side),) * (self.depth - 1)

    def invariants(self, layers: Sequence[Float]) -> Float:
        """The entries of `W_lᵀW_l − W_{l+1}W_{l+1}ᵀ`, one after the other."""
        kept = []
        for before, after in pairwise(layers):
            difference = np.swapaxes(before, -1, -2) @ before - after @ np.swapaxes(after, -1, -2)
            kept.append(difference.reshape(*difference.shape[:-2], -1))
        return np.moveaxis(np.concatenate(kept, axis=-1), -1, 0)

    @property
    def affine_at_zero(self) -> bool:
        """No: balanced matrices lie on a cone, which a gradient step leaves."""
        return False
