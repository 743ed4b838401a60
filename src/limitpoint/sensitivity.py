"""How far from the predicted limit a run may end, given what is known of its errors.

Notation: D the slopes of the mirror map at the limit, r the misfit with which the run ended. To
first order a misfit moves the coefficients by `K r`, `K = DXᵀ(XDXᵀ)⁻¹`, and relative errors ε of
the map or of the limit itself by at most `ε (|β| + |K||X||β|)`.
"""

import numpy as np

from limitpoint.arrays import Float
from limitpoint.dynamics import FitGauge
from limitpoint.mirror import CurveMap
from limitpoint.problem import Problem
from limitpoint.theory import Limit

__all__ = ["ACCUMULATION", "EPS", "SAFETY", "Sensitivity"]

EPS = float(np.finfo(np.float64).eps)
# First-order error estimates are doubled before they serve as tolerances.
SAFETY = 2.0
# Accumulated error of an integration, in units of its tolerance per step.
ACCUMULATION = 100.0
# Matrix products add a few units of rounding to those of the clocks themselves.
ROUNDING_UNITS = 8.0


class Sensitivity:
    """First-order sensitivity of a predicted limit to the errors of a run."""

    def __init__(self, problem: Problem, limit: Limit) -> None:
        mirror = problem.network.mirror_map(problem.init)
        if mirror is None:
            raise TypeError(f"{problem.network} has no mirror map, so no sensitivity is known")
        self._mirror = mirror
        self._task = problem.task
        self.limit = limit
        self.size = float(np.linalg.norm(limit.coef)) or 1.0
        # A coefficient that vanishes, or that float64 cannot hold, says nothing about accuracy.
        with np.errstate(invalid="ignore"):
            grown = np.abs(mirror.growth_of(limit.coef))
        seen = np.isfinite(grown) & (limit.coef != 0)
        self._growth = np.where(seen, grown, 0.0)
        self.longest_growth = float(self._growth.max())
        gauge = FitGauge.of(self._task, mirror.start_coefs(), mirror.lower, mirror.upper)
        self._range, self._target = gauge.basis, gauge.target

    def distance(self, coef: Float) -> float:
        """Distance from the limit, relative to its norm."""
        return float(np.linalg.norm(coef - self.limit.coef)) / self.size

    def tolerance(self, coef: Float, map_error: float = 0.0) -> float:
        """Relative distance from the limit that the run's own misfit and errors explain."""
        with np.errstate(over="ignore", invalid="ignore"):
            misfit = self._target - self._range.T @ (self._task.X @ coef)
        if not np.isfinite(misfit).all():
            return 0.0  # nothing explains a run that diverged
        gain = self._gain(coef)
        size = np.abs(self.limit.coef)
        spread = size + np.abs(gain) @ np.abs(self._range.T @ self._task.X) @ size
        relative = max(
            map_error, self.limit.certificate.tolerance, EPS * (1.0 + self.longest_growth)
        )
        moved = float(np.linalg.norm(gain @ misfit)) + relative * float(np.linalg.norm(spread))
        return SAFETY * moved / self.size

    def rounding_misfit(self) -> float:
        """The misfit, relative to the fit, that rounding of clocks or positions can cause."""
        noise = ROUNDING_UNITS * EPS * self._rates() * (1.0 + self._growth)
        moved = float(np.linalg.norm(np.abs(self._task.X) @ noise))
        fit = float(np.linalg.norm(self._task.X @ self.limit.coef))
        return moved / fit if fit > moved else 0.0

    def _rates(self) -> Float:
        """How fast coefficients change with their growth."""
        if isinstance(self._mirror, CurveMap):
            with np.errstate(all="ignore"):
                rates = self._mirror.along(self._mirror.positions_of(self.limit.coef)).coef_rates
            return np.nan_to_num(rates)
        return self._mirror.slopes(self.limit.clocks)

    def _gain(self, coef: Float) -> Float:
        """`K` in the range of X, with every coefficient awake that is so in the run or the limit.

        A coefficient that is dormant at the limit but not yet in the run still takes part in
        closing the run's misfit.
        """
        with np.errstate(invalid="ignore"):  # a coefficient beyond its half-line has no clock
            reached = self._mirror.slopes_of(coef)
            slopes = np.fmax(self._mirror.slopes_of(self.limit.coef), reached)
        roots = np.sqrt(np.where(np.isfinite(slopes), slopes, 0.0))
        gain: Float = roots[:, None] * np.linalg.pinv(self._range.T @ (self._task.X * roots))
        return gain
