"""Rows of the data made orthonormal: same constraint, no conditioning of the rows left."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float

__all__ = ["OrthonormalRows", "orthonormal_rows"]

# y counts as out of reach when its relative distance from the range of X exceeds this: a tenth of
# what a certificate tolerates, so that an answer is never certified against the wrong equation.
RANGE_TOLERANCE = 1e-10
# What lies in the range counts as nothing below this part of y: some roundings of it.
ROUNDING = 8 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class OrthonormalRows:
    """`rows @ β = target` with orthonormal rows, equivalent to `Xβ = y` (or its least squares).

    From `X = UΣVᵀ`: rows are Vᵀ (r×n), the target is `Σ⁻¹Uᵀy`.
    """

    rows: Float
    target: Float
    left: Float
    singular_values: Float
    in_range: bool

    @cached_property
    def seen(self) -> NDArray[np.bool_]:
        """Which columns are not all zero: the others move nothing, whatever their coefficients."""
        return np.asarray(self.rows.any(axis=0))

    def sample_dual(self, dual: Float) -> Float:
        """The dual ν of `Xβ = y` from the dual of this constraint."""
        sample: Float = self.left @ (dual.T / self.singular_values).T
        return sample


def orthonormal_rows(X: Float, y: Float) -> OrthonormalRows:
    """Orthonormal rows by a thin SVD, cut at the usual numerical rank (largest side × eps × σ₁)."""
    left, singular_values, rows = np.linalg.svd(X, full_matrices=False)
    cut = max(X.shape) * np.finfo(np.float64).eps * singular_values[0]
    rank = int((singular_values > cut).sum())
    left, singular_values, rows = left[:, :rank], singular_values[:rank], rows[:rank]
    inside = left.T @ y
    if np.linalg.norm(inside) <= ROUNDING * np.linalg.norm(y):
        inside = np.zeros_like(inside)  # y is orthogonal to the range of X
    outside = np.linalg.norm(y - left @ inside)
    return OrthonormalRows(
        rows=rows,
        target=(inside.T / singular_values).T,  # y may have several columns
        left=left,
        singular_values=singular_values,
        in_range=bool(outside <= RANGE_TOLERANCE * np.linalg.norm(y)),
    )
