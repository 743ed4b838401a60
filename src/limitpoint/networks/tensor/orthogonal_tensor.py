"""Orthogonally decomposable tensor networks (Yun et al. 2021, Assumption 1 with real matrices)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limitpoint.errors import InitError, NetworkError
from limitpoint.foundation.arrays import MOST_LAYERS, Float, as_float_array, as_several
from limitpoint.networks.kinds.layer_gradients import gradients_of_product
from limitpoint.networks.kinds.multilinear import (
    MultilinearNetwork,
    check_entries,
    check_features,
    check_tensor_size,
)
from limitpoint.networks.kinds.single_output import feature_shape
from limitpoint.tasks import Regression, Task

__all__ = ["OrthogonalTensor"]

# Columns count as orthonormal when no entry of `UᵀU − I` exceeds this: some thousand roundings, as
# many as a factorisation of a large matrix collects. The limit moves by about as much.
ORTHONORMAL = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class OrthogonalTensor(MultilinearNetwork):
    """The network of `M(x) = Σ_j [Sx]_j [U₁]_j ⊗ ⋯ ⊗ [U_L]_j`, whose U_l have orthonormal columns.

    With `η_l = U_lᵀv_l` it is the diagonal network `ρ = η₁ ⊙ ⋯ ⊙ η_L` on the data `XSᵀ`, and
    `β = Sᵀρ` (Theorem 5). With S a transform of choice it is biased towards solutions that are
    sparse under it (Remark 3).

    Parameters
    ----------
    S
        Matrix (r, n). Where it has full column rank the network can fit whatever a linear model
        can.
    U
        L ≥ 2 matrices, U_l of shape (k_l, r), r ≤ k_l, with orthonormal columns.

    Notes
    -----
    The layers are L vectors, v_l of length k_l. What of v_l is orthogonal to the columns of U_l
    never moves.

    Examples
    --------
    >>> import numpy as np
    >>> network = OrthogonalTensor(S=[[1, 1], [1, -1]], U=[np.eye(2), np.eye(2)])
    >>> network.coef([np.array([2.0, 3.0]), np.array([5.0, 7.0])]).tolist()
    [31.0, -11.0]
    """

    S: Float
    U: tuple[Float, ...]

    def __init__(self, S: ArrayLike, U: Iterable[ArrayLike]) -> None:
        transform = as_float_array(S, "S", NetworkError, ndim=(2,))
        check_entries(transform, "S")
        given = as_several(U, "one matrix per layer", "U", NetworkError)
        if not 2 <= len(given) <= MOST_LAYERS:
            raise NetworkError(
                f"U must hold at most {MOST_LAYERS} matrices, one for each of at least two layers; "
                f"it holds {len(given)}"
            )
        matrices = tuple(
            as_float_array(one, f"U[{i}]", NetworkError, ndim=(2,)) for i, one in enumerate(given)
        )
        for i, matrix in enumerate(matrices):
            _check_columns(matrix, f"U[{i}]", len(transform))
        object.__setattr__(self, "S", transform)
        object.__setattr__(self, "U", matrices)

    def __repr__(self) -> str:
        return f"OrthogonalTensor(S of shape {self.S.shape}, sizes={self.sizes})"

    @property
    def sizes(self) -> tuple[int, ...]:
        """`(k₁, …, k_L)`."""
        return tuple(len(matrix) for matrix in self.U)

    @property
    def depth(self) -> int:
        """Number of layers, L."""
        return len(self.U)

    @property
    def degree(self) -> int:
        """The depth."""
        return self.depth

    def layer_shapes(self, task: Task) -> tuple[tuple[int, ...], ...]:
        """A vector for every matrix U_l, as long as its columns."""
        (features,) = feature_shape(task, "tensor")
        check_features(self, self.S.shape[1], features, "the number of columns of S")
        return tuple((size,) for size in self.sizes)

    def coef(self, layers: Sequence[Any]) -> Any:
        """`Sᵀρ`; leading axes are kept."""
        return self.coef_of_products(reduce(mul, self.diagonal_layers(layers)))

    def layer_gradients(
        self, layers: Sequence[Float], direction: Float
    ) -> tuple[Float, ...] | None:
        """`U_l(Sg ⊙ Π_{k≠l} U_kᵀv_k)`."""
        found = gradients_of_product(self.diagonal_layers(layers), direction @ self.S.T)
        return tuple(eta @ matrix.T for eta, matrix in zip(found, self.U, strict=True))

    def moduli(self, layers: Sequence[Float]) -> Float:
        """`|S|ᵀ(|U₁|ᵀ|v₁| ⊙ ⋯ ⊙ |U_L|ᵀ|v_L|)`."""
        pairs = zip(layers, self.U, strict=True)
        terms: Float = reduce(mul, (np.abs(layer) @ np.abs(matrix) for layer, matrix in pairs))
        return terms @ np.abs(self.S)

    def tensor(self, task: Task) -> Float:
        """`M[i, j₁, …, j_L] = Σ_j S[j, i] U₁[j₁, j] ⋯ U_L[j_L, j]`."""
        self.layer_shapes(task)
        check_tensor_size(self, (self.S.shape[1], *self.sizes, self.S.shape[0]))
        terms = self.S.T
        for matrix in self.U:
            terms = terms[..., None, :] * matrix
        tensor: Float = terms.sum(axis=-1)
        return tensor

    def diagonal_data(self, task: Task) -> Regression:
        """The data `XSᵀ` on which the network is a diagonal one."""
        self.layer_shapes(task)
        return Regression(task.X @ self.S.T, task.y, task.loss_factor)

    def diagonal_layers(self, layers: Sequence[Any]) -> tuple[Any, ...]:
        """The layers `η_l = U_lᵀv_l` of that diagonal network; leading axes are kept."""
        return tuple(layer @ matrix for layer, matrix in zip(layers, self.U, strict=True))

    def coef_of_products(self, products: Any) -> Any:
        """The coefficients `β = Sᵀρ` from those of the diagonal network; leading axes are kept."""
        return products @ self.S

    def layers_of_diagonal(
        self, diagonal: Sequence[Float], start: Sequence[Float]
    ) -> tuple[Float, ...]:
        """The layers `v_l = U_lη_l + (I − U_lU_lᵀ)v_l(0)`; η may have leading axes."""
        kept = []
        for eta, layer, matrix in zip(diagonal, start, self.U, strict=True):
            kept.append(eta @ matrix.T + (layer - matrix @ (matrix.T @ layer)))
        return tuple(kept)

    def unit_layers(self, task: Task, direction: Float | None) -> tuple[Float, ...] | None:
        """`U_lη̄` (Theorem 5); η̄ is the direction, ones by default."""
        rank = len(self.S)
        common = np.ones(rank) if direction is None else direction
        if common.shape != (rank,):
            raise InitError(
                f"direction must have one entry for every row of S, {rank}; "
                f"it has shape {common.shape}"
            )
        return tuple(matrix @ common for matrix in self.U[:-1])

    def invariants(self, layers: Sequence[Float]) -> Float:
        """`η_l² − η_L²`, entry by entry: those of the diagonal network, layer by layer."""
        *others, last = self.diagonal_layers(layers)
        kept = np.concatenate([eta**2 - last**2 for eta in others], axis=-1)
        return np.moveaxis(kept, -1, 0)

    @property
    def affine_at_zero(self) -> bool:
        """Yes: there `[η_l]_j` and `[η_L]_j` are equal or opposite."""
        return True


def _check_columns(matrix: Float, name: str, rank: int) -> None:
    """Raise `NetworkError` unless the matrix has so many columns, and they are orthonormal."""
    rows, columns = matrix.shape
    if columns != rank:
        raise NetworkError(
            f"{name} must have a column for every row of S, {rank}; it has shape {matrix.shape}"
        )
    if rows < columns:
        raise NetworkError(
            f"{name} must have at least as many rows as columns, or these cannot be orthonormal; "
            f"it has shape {matrix.shape}"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        off = float(np.abs(matrix.T @ matrix - np.eye(columns)).max())
    if not off <= ORTHONORMAL:
        raise NetworkError(
            f"{name} must have orthonormal columns; UᵀU differs from the identity by {off:.3g}. "
            "Take the Q of its QR factorisation"
        )
