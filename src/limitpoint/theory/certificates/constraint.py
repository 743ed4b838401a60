"""What the data ask of the coefficients, in units of which nothing depends on the user's."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.linalg import Equilibrated

__all__ = ["Constraint"]

# y is in reach if it is so row by row to this, relative to `|y_j| + |x_j|ᵀ|β|`: a tenth of what a
# certificate tolerates, so that an answer is never certified against the wrong equation.
RANGE_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class Constraint:
    """`rows @ (β / units) = target` with orthonormal rows, equivalent to `Xβ = y`.

    From the equilibrated data `diag(r) X diag(units) = UΣVᵀ`: rows are Vᵀ, the target is
    `Σ⁻¹Uᵀ(ry)`. Where no coefficients fit y, the target is that of the least-squares fit, in the
    metric of the data as given.

    Attributes
    ----------
    data
        The equilibrated data.
    y
        The targets, one column for each output.
    fit
        The best fit: y itself if that is in reach.
    fit_error
        How far off each entry of the best fit may be.
    in_range
        Whether it is.
    """

    data: Equilibrated
    y: Float
    fit: Float
    fit_error: Float
    in_range: bool
    target: Float
    rows: Float

    @classmethod
    def of(cls, X: Float, y: Float) -> "Constraint":
        """Of the columns that can move; the others are zero."""
        data = Equilibrated.of(X)
        fit, off, in_range = y, np.zeros_like(y), True
        if not data.has_full_row_rank:
            fit, off = data.best_fit(y)
            least = data.least_norm(fit)
            sizes = np.abs(y) + np.abs(X) @ np.abs(least)
            in_range = bool((np.abs(y - fit) <= RANGE_TOLERANCE * sizes).all())
            fit, off = (y, np.zeros_like(y)) if in_range else (fit, off)
        # A column of zeros leaves roundings in the rows, and the coefficient that stays at its
        # start there, however large, would make a residual of them.
        rows = data.rows * X.any(axis=0)
        return cls(data, y, fit, off, in_range, data.coordinates(fit), rows)

    @property
    def X(self) -> Float:  # noqa: N802 (the name of the data everywhere)
        """The columns that can move."""
        return self.data.X

    @property
    def units(self) -> Float:
        """Of the coefficients: powers of two."""
        return self.data.column_scales

    @cached_property
    def seen(self) -> NDArray[np.bool_]:
        """Which columns are not all zero: the others move nothing, whatever their coefficients."""
        return np.asarray(self.X.any(axis=0))

    @cached_property
    def least(self) -> Float:
        """The best fit of least norm in these units: the size of what coefficients must be."""
        return self.data.least_norm(self.fit)

    def missed(self, coef: Float) -> float:
        """The largest miss of the best fit, row by row relative to what is added up there.

        Of coefficients in these units.
        """
        with np.errstate(all="ignore"):
            coef = coef * self.units
            sizes = np.abs(self.X) @ np.abs(coef) + np.abs(self.fit)
            residual = np.abs(self.fit - self.X @ coef)
            ratios = np.where(residual == 0.0, 0.0, residual / sizes)
        worst = float(ratios.max(initial=0.0))
        return worst if np.isfinite(worst) else np.inf

    def primal_residual(self, coef: Float) -> Float:
        """What is missing from the best fit, row by row, as the rows of this constraint see it.

        From the data themselves: accurate to the rounding of each row, whatever the other rows.
        """
        return self.data.coordinates(self.fit - self.X @ coef)

    def sample_dual(self, dual: Float) -> Float:
        """The dual ν of `Xβ = y` from that of this constraint."""
        return self.data.sample_dual(dual)

    def output(self, k: int) -> "Constraint":
        """Of one of several outputs."""
        return replace(
            self,
            y=self.y[:, k],
            fit=self.fit[:, k],
            fit_error=self.fit_error[:, k],
            target=self.target[:, k],
        )

    def merged(self, kept: NDArray[np.bool_]) -> "Constraint":
        """The same with the columns that are not kept left out."""
        data = replace(self.data, X=self.data.X * kept)
        return replace(self, data=data, rows=self.rows * kept)
