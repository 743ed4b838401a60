"""Coefficients of least weighted norm among the best fits, accurate column by column.

`β = DXᵀ(XDXᵀ)⁻¹ r` minimises `½ Σ β_i²/D_i` among those with `Xβ = r`. By QR of `√D Xᵀ` with
its largest rows first, each coefficient is accurate in what it contributes, however different the
columns are; a few steps of refinement, with residuals of the data as given, make it so row by row.
Where ν itself is that accurate, β is added up from it, and lies in the row space by construction.
"""

import numpy as np
from scipy.linalg import solve_triangular

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.linalg import EPS, row_sorted_qr
from limitpoint.theory.certificates.constraint import Constraint

__all__ = ["LeastNorm"]

# Steps of refinement: each takes the residual down by the condition number times eps.
MAX_REFINEMENTS = 4
# A row is fitted up to rounding when it misses by this part of what is added up in it.
FITTED = 4 * EPS
# Coefficients are added up from ν if rounding then moves no row by more than this part of what is
# added up in it.
ADDED_UP = 64 * EPS
# What is left of a vector below this part of it is rounding.
ROUNDING = 8 * EPS
# Roots of smaller weights, times entries near one, would no longer be normal numbers.
TINY = 1e-290


class LeastNorm:
    """The linear map from residuals to coefficients, factorised once.

    Examples
    --------
    >>> constraint = Constraint.of(np.array([[1.0, 2.0]]), np.array([1.0]))
    >>> LeastNorm(constraint, np.ones(2)).solve(np.array([1.0]))[0].round(12).tolist()
    [0.2, 0.4]
    """

    def __init__(self, constraint: Constraint, weights: Float) -> None:
        self._constraint = constraint
        with np.errstate(over="ignore"):
            scaled = np.maximum(weights / constraint.units**2, TINY)
        self._weights = weights
        self._roots = np.where(constraint.seen & (weights > 0), np.sqrt(scaled), 0.0)
        self._basis, self._triangle, self._pivots = row_sorted_qr((constraint.rows * self._roots).T)

    def move(self, residual: Float) -> tuple[Float, Float]:
        """`DXᵀ(XDXᵀ)⁻¹ r` and `(XDXᵀ)⁻¹ r`, for a residual in the range of X."""
        constraint = self._constraint
        wanted = constraint.data.coordinates(residual)[self._pivots]
        inside = solve_triangular(self._triangle, wanted, trans="T", check_finite=False)
        moved = (constraint.units * self._roots * (self._basis @ inside).T).T
        dual = np.empty_like(inside)
        dual[self._pivots] = solve_triangular(self._triangle, inside, check_finite=False)
        return moved, constraint.sample_dual(dual)

    def solve(self, fit: Float) -> tuple[Float, Float]:
        """Coefficients with `Xβ = fit`, and the ν with `β = DXᵀν`."""
        coef, dual = self._refined(*self.move(fit), fit)
        return self._added_up(np.zeros_like(coef), dual, fit) or (coef, dual)

    def fitted(self, coef: Float, fit: Float) -> Float:
        """These coefficients, moved as little as makes them fit row by row."""
        return self._refined(coef, np.zeros(len(fit)), fit)[0]

    def without(self, vector: Float) -> tuple[Float, Float]:
        """What the data do not see of a vector, `(I − KX)v`, and the ν with `v − that = DXᵀν`."""
        constraint = self._constraint
        moved, dual = self.move(constraint.X @ vector)
        nothing = np.zeros((len(dual), *vector.shape[1:]))
        kept, back = self._refined(vector - moved, -dual, nothing)
        kept, back = self._added_up(vector, back, nothing) or (kept, back)
        seen = constraint.seen.reshape(-1, *(1,) * (vector.ndim - 1))
        everything = constraint.data.rank == int(constraint.seen.sum())
        left, size = (float(np.abs(part * seen).max(initial=0.0)) for part in (kept, vector))
        if everything or left <= ROUNDING * size:
            kept = np.where(seen, 0.0, vector)
        return kept, -back

    def _refined(self, coef: Float, dual: Float, fit: Float) -> tuple[Float, Float]:
        """Further steps while the worst miss, row by row, falls."""
        missed, residual = self._miss(coef, fit)
        for _ in range(MAX_REFINEMENTS):
            if missed <= FITTED:
                break
            step, turn = self.move(residual)
            left, residual = self._miss(coef + step, fit)
            if not left < missed:
                break
            coef, dual, missed = coef + step, dual + turn, left
        return coef, dual

    def _added_up(self, start: Float, dual: Float, fit: Float) -> tuple[Float, Float] | None:
        """`start + DXᵀν` with ν refined until it fits; None if rounding of its terms would show."""
        X = self._constraint.X
        weights = self._weights.reshape(-1, *(1,) * (start.ndim - 1))
        coef = start + weights * (X.T @ dual)
        missed, residual = self._miss(coef, fit)
        for _ in range(MAX_REFINEMENTS):
            if missed <= FITTED:
                break
            dual = dual + self.move(residual)[1]
            coef = start + weights * (X.T @ dual)
            left, residual = self._miss(coef, fit)
            if not left < missed:
                return None
            missed = left
        terms = np.abs(start) + weights * (np.abs(X).T @ np.abs(dual))
        sizes = np.abs(X) @ np.abs(coef) + np.abs(fit)
        blur = EPS * (np.abs(X) @ terms)
        return (coef, dual) if missed <= ADDED_UP and (blur <= ADDED_UP * sizes).all() else None

    def _miss(self, coef: Float, fit: Float) -> tuple[float, Float]:
        """The largest residual relative to what is added up in its row, and all of them."""
        X = self._constraint.X
        residual, sizes = fit - X @ coef, np.abs(X) @ np.abs(coef) + np.abs(fit)
        ratios = np.divide(np.abs(residual), sizes, out=np.zeros_like(sizes), where=sizes > 0)
        return float(ratios.max(initial=0.0)), residual
