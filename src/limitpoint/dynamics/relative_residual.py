"""How far from fitting the data a run is."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import lsq_linear

from limitpoint.dynamics.row_space import RowSpace
from limitpoint.foundation.arrays import Float
from limitpoint.foundation.linalg import Equilibrated
from limitpoint.status import Status
from limitpoint.tasks import Regression

__all__ = ["RelativeResidual"]

# y counts as out of reach when no coefficients come closer to it than this, relative.
RANGE_TOLERANCE = 1e-10
# Every row by itself is fitted to a thousand times the tolerance of all together: an integration
# holds all of them to its own tolerance, and the smallest to no more.
ROW_SHARE = 1e-3
# A row whose target is a small part of its terms is measured by this part of them, so that rounding
# of the terms stays far below the tolerance of a flow.
SMALL_ROW = 1e-3
# Matrix products add a few units of rounding to those of the state itself.
ROUNDING_UNITS = 8.0
# The fit within bounds is found to this, relative.
BOUNDED_TOLERANCE = 1e-14
# Coefficients nearer to a bound than this part of the largest are taken to be there; with the
# others free the fit is then exact.
AT_BOUND = 1e-8


@dataclass(frozen=True, eq=False)
class RelativeResidual:
    """The best fit that can be reached, and the unit in which residuals are measured.

    Attributes
    ----------
    basis
        Orthonormal columns spanning the range of the columns of X that can move.
    target
        The best fit in that basis.
    unit
        Its size (that of the start if it is zero).
    in_range
        Whether it is y itself.
    sizes
        What a miss of each row is relative to: rows may be in any units.
    """

    task: Regression
    basis: Float
    target: Float
    unit: float
    in_range: bool
    sizes: Float

    @classmethod
    def of(
        cls,
        task: Regression,
        start: Float,
        lower: Float | None = None,
        upper: Float | None = None,
    ) -> "RelativeResidual":
        """For a run from `start` with coefficients that stay within these bounds."""
        n = task.n_features
        lower = np.full(n, -np.inf) if lower is None else lower
        upper = np.full(n, np.inf) if upper is None else upper
        movable = lower < upper
        columns = task.X * movable
        data, within = Equilibrated.of(columns), RowSpace.of(columns)
        # Along its singular vectors columns of very different sizes stay apart; where rows are so
        # different that some are lost beside the others, along the samples themselves.
        basis = within.left if len(within.values) == data.rank else data.range_basis
        reachable = data.best_fit(task.y)[0]
        if (movable & (np.isfinite(lower) | np.isfinite(upper))).any():
            bounded = _fit_within(columns, task.y, lower, upper)
            size = float(np.linalg.norm(reachable))
            if np.linalg.norm(bounded - reachable) > RANGE_TOLERANCE * size:
                reachable = bounded
        least = np.abs(data.least_norm(reachable))
        terms = np.abs(columns) @ least
        outside = np.abs(task.y - reachable) > RANGE_TOLERANCE * (np.abs(task.y) + terms)
        unit = float(np.linalg.norm(reachable)) or float(np.linalg.norm(task.X @ start))
        # What a row would be with every coefficient as large as the largest, in even units.
        scales = (data.column_scales * np.ones_like(least.T)).T
        most = np.abs(columns) @ (scales * (least / scales).max(initial=0.0))
        sizes = np.where(reachable == 0, most, np.maximum(np.abs(reachable), SMALL_ROW * terms))
        return cls(task, basis, basis.T @ reachable, unit, not outside.any(), sizes)

    def relative_residual(self, coef: Float) -> float:
        """Distance of Xβ from the best fit, relative to it (to the start if it is zero).

        Of all rows together, or of the worst row by itself if that is more.
        """
        if self.unit == 0.0:
            return 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            gap = self.target - self.basis.T @ (self.task.X @ coef)
            found = self.relative(self.basis @ gap)
        return found if np.isfinite(found) else np.inf  # coefficients have left float64

    def rounding(self, errors: Float) -> float:
        """The residual that errors of this size in the coefficients can cause, relative too."""
        if self.unit == 0.0:
            return 0.0
        return self.relative(ROUNDING_UNITS * (np.abs(self.task.X) @ errors))

    def relative(self, rows: Float) -> float:
        """What is missing: of all rows together, or a part of the worst in its own size."""
        sizes = self.sizes.reshape(rows.shape)
        own = np.divide(np.abs(rows), sizes, out=np.zeros_like(rows), where=sizes > 0)
        together = float(np.linalg.norm(rows)) / (self.unit or 1.0)
        return max(together, ROW_SHARE * float(own.max(initial=0.0)))

    @property
    def arrived(self) -> Status:
        """The status of a run whose relative residual has vanished."""
        return Status.CONVERGED if self.in_range else Status.LEAST_SQUARES


def _fit_within(X: Float, y: Float, lower: Float, upper: Float) -> Float:
    """The best fit by coefficients within bounds, `Xβ`."""
    movable = lower < upper
    low, high = np.where(movable, lower, -1.0), np.where(movable, upper, 1.0)
    coef = lsq_linear(X, y, (low, high), method="bvls", tol=BOUNDED_TOLERANCE).x
    near = AT_BOUND * float(np.abs(coef).max(initial=0.0))
    at_low, at_high = coef <= low + near, coef >= high - near
    fixed = np.where(at_low, low, np.where(at_high, high, 0.0)) * movable
    free = movable & ~at_low & ~at_high
    moved = np.linalg.lstsq(X[:, free], y - X @ fixed, rcond=None)[0] if free.any() else 0.0
    fit: Float = X @ fixed + X[:, free] @ moved if free.any() else X @ fixed
    return fit
