"""How far from fitting the data a run is."""

from dataclasses import dataclass

import numpy as np

from limitpoint.arrays import Float
from limitpoint.status import Status
from limitpoint.tasks import Regression

__all__ = ["FitGauge"]

# y counts as out of reach when no coefficients come closer to it than this, relative.
RANGE_TOLERANCE = 1e-10
# Matrix products add a few units of rounding to those of the state itself.
ROUNDING_UNITS = 8.0


@dataclass(frozen=True, eq=False)
class FitGauge:
    """The reachable part of y, and the unit in which a misfit is measured."""

    task: Regression
    basis: Float  # orthonormal columns spanning the range of the columns that can move
    unit: float
    in_range: bool

    @classmethod
    def of(cls, task: Regression, start: Float, movable: Float | None = None) -> "FitGauge":
        """Gauge for a run from `start`; only the `movable` columns (1 or 0 each) can fit y."""
        columns = task.X if movable is None else task.X * movable
        left, singular_values, _ = np.linalg.svd(columns, full_matrices=False)
        cut = max(columns.shape) * np.finfo(np.float64).eps * singular_values[0]
        basis = left[:, singular_values > cut]
        reachable = basis @ (basis.T @ task.y)
        size = float(np.linalg.norm(task.y))
        outside = float(np.linalg.norm(task.y - reachable))
        unit = float(np.linalg.norm(reachable)) or float(np.linalg.norm(task.X @ start))
        return cls(task, basis, unit, outside <= RANGE_TOLERANCE * size)

    def misfit(self, coef: Float) -> float:
        """`‖P(y − Xβ)‖` relative to the reachable part of y (to the start if that is zero).

        P projects onto the range of X.
        """
        if self.unit == 0.0:
            return 0.0
        residual = self.basis.T @ (self.task.y - self.task.X @ coef)
        return float(np.linalg.norm(residual)) / self.unit

    def rounding(self, noise: Float) -> float:
        """The misfit that errors of this size in the coefficients can cause, on the same scale."""
        if self.unit == 0.0:
            return 0.0
        return ROUNDING_UNITS * float(np.linalg.norm(np.abs(self.task.X) @ noise)) / self.unit

    @property
    def arrived(self) -> Status:
        """The status of a run whose misfit has vanished."""
        return Status.CONVERGED if self.in_range else Status.LEAST_SQUARES
