"""How far from fitting the data a run is."""

from dataclasses import dataclass

import numpy as np

from limitpoint.arrays import Float
from limitpoint.status import Status
from limitpoint.tasks import Regression

__all__ = ["FitGauge"]

# y counts as out of reach when no coefficients come closer to it than this, relative.
RANGE_TOLERANCE = 1e-10
# A start far larger than y leaves its rounding errors, some tens of eps, in the fit: so much of it
# counts as part of y when misfits of 1e-10 are asked for.
START_WEIGHT = 1e-4


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
        begun = float(np.linalg.norm(np.abs(task.X) @ np.abs(start)))
        unit = max(float(np.linalg.norm(reachable)), START_WEIGHT * begun)
        return cls(task, basis, unit, outside <= RANGE_TOLERANCE * size)

    def misfit(self, coef: Float) -> float:
        """`‖P(y − Xβ)‖` relative to the reachable part of y; P projects onto the range of X."""
        if self.unit == 0.0:
            return 0.0
        residual = self.basis.T @ (self.task.y - self.task.X @ coef)
        return float(np.linalg.norm(residual)) / self.unit

    @property
    def arrived(self) -> Status:
        """The status of a run whose misfit has vanished."""
        return Status.CONVERGED if self.in_range else Status.LEAST_SQUARES
