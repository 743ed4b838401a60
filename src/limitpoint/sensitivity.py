"""How far from the predicted limit a run may end, given what is known of its errors.

Notation: D the slopes of the mirror map at the limit, r the misfit with which the run ended. To
first order a misfit moves the coefficients by `K r`, `K = DXᵀ(XDXᵀ)⁻¹`, and relative errors ε of
the map or of the limit itself by at most `ε (|β| + |K||X||β|)`.
"""

from abc import ABC, abstractmethod

import numpy as np

from limitpoint.arrays import Float
from limitpoint.dynamics import FitGauge
from limitpoint.mirror import CurveMap, MirrorMap, RadialMap
from limitpoint.networks import CoupledNetwork, TwoLayer
from limitpoint.problem import Problem
from limitpoint.theory import Limit

__all__ = ["ACCUMULATION", "EPS", "SAFETY", "Sensitivity", "sensitivity_of"]

EPS = float(np.finfo(np.float64).eps)
# First-order error estimates are doubled before they serve as tolerances.
SAFETY = 2.0
# Accumulated error of an integration, in units of its tolerance per step.
ACCUMULATION = 100.0
# Matrix products add a few units of rounding to those of the clocks themselves.
ROUNDING_UNITS = 8.0


class Sensitivity(ABC):
    """First-order sensitivity of a predicted limit to the errors of a run.

    Attributes
    ----------
    size
        Norm of the limit, the unit of distances.
    longest_growth
        By how much, in logarithms, the parameters have grown.
    """

    longest_growth: float

    def __init__(self, problem: Problem, limit: Limit, gauge: FitGauge) -> None:
        self._task = problem.regression
        self.limit = limit
        self.size = float(np.linalg.norm(limit.coef)) or 1.0
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
        moved = float(np.linalg.norm(np.abs(self._task.X) @ self._noise()))
        fit = float(np.linalg.norm(self._task.X @ self.limit.coef))
        return moved / fit if fit > moved else 0.0

    @abstractmethod
    def _gain(self, coef: Float) -> Float:
        """`K` in the range of X."""

    @abstractmethod
    def _noise(self) -> Float:
        """Rounding errors of the coefficients."""


def sensitivity_of(problem: Problem, limit: Limit) -> Sensitivity:
    """The sensitivity of a limit, by the map that its network has."""
    network = problem.network
    mirror = network.mirror_map(problem.init)
    if mirror is not None:
        return _OwnClocks(problem, limit, mirror)
    if isinstance(network, TwoLayer):
        return _MinimumNorm(problem, limit)
    radial = network.radial_map(problem.init) if isinstance(network, CoupledNetwork) else None
    if radial is None:
        raise TypeError(f"{network} has no map from this start, so no sensitivity is known")
    return _Radial(problem, limit, radial)


class _OwnClocks(Sensitivity):
    """Every coefficient moves on its own: D is diagonal."""

    def __init__(self, problem: Problem, limit: Limit, mirror: MirrorMap) -> None:
        start = mirror.start_coefs()
        super().__init__(
            problem, limit, FitGauge.of(problem.regression, start, mirror.lower, mirror.upper)
        )
        self._mirror = mirror
        # A coefficient that vanishes, or that float64 cannot hold, says nothing about accuracy.
        with np.errstate(invalid="ignore"):
            grown = np.abs(mirror.growth_of(limit.coef))
        seen = np.isfinite(grown) & (limit.coef != 0)
        self._growth = np.where(seen, grown, 0.0)
        self.longest_growth = float(self._growth.max())

    def _noise(self) -> Float:
        return ROUNDING_UNITS * EPS * self._rates() * (1.0 + self._growth)

    def _rates(self) -> Float:
        """How fast coefficients change with their growth."""
        if isinstance(self._mirror, CurveMap):
            with np.errstate(all="ignore"):
                rates = self._mirror.along(self._mirror.positions_of(self.limit.coef)).coef_rates
            return np.nan_to_num(rates)
        return self._mirror.slopes(self.limit.clocks)

    def _gain(self, coef: Float) -> Float:
        """With every coefficient awake that is so in the run or the limit.

        A coefficient that is dormant at the limit but not yet in the run still takes part in
        closing the run's misfit.
        """
        with np.errstate(invalid="ignore"):  # a coefficient beyond its half-line has no clock
            reached = self._mirror.slopes_of(coef)
            slopes = np.fmax(self._mirror.slopes_of(self.limit.coef), reached)
        roots = np.sqrt(np.where(np.isfinite(slopes), slopes, 0.0))
        gain: Float = roots[:, None] * np.linalg.pinv(self._range.T @ (self._task.X * roots))
        return gain


class _Radial(Sensitivity):
    """All coefficients move together: `D = Ξ (I + 2(log Ξ)' z zᵀ)`."""

    def __init__(self, problem: Problem, limit: Limit, radial: RadialMap) -> None:
        start = radial.coef(radial.start)
        super().__init__(problem, limit, FitGauge.of(problem.regression, start))
        self._radial = radial
        sizes = [float(np.linalg.norm(coef)) for coef in (limit.coef, start)]
        seen = min(sizes) > 0
        self.longest_growth = abs(float(np.log(sizes[0]) - np.log(sizes[1]))) if seen else 0.0

    def _noise(self) -> Float:
        return ROUNDING_UNITS * EPS * np.abs(self.limit.coef)

    def _gain(self, coef: Float) -> Float:
        rows = self._range.T @ self._task.X
        if not self.limit.coef.any():  # the map is flat there, and says nothing
            flat: Float = np.asarray(np.linalg.pinv(rows), dtype=np.float64)
            return flat
        response = self._radial.jacobian_times(self._radial.inverse(self.limit.coef), rows.T)
        gain: Float = response @ np.linalg.pinv(rows @ response)
        return gain


class _MinimumNorm(Sensitivity):
    """Coefficients stay in the row space of X: D is the projector on it."""

    def __init__(self, problem: Problem, limit: Limit) -> None:
        start = np.zeros_like(limit.coef)
        super().__init__(problem, limit, FitGauge.of(problem.regression, start))
        # The layers grow from the size of the first to that of the limit's square root.
        sizes = (float(np.sqrt(self.size)), float(np.abs(problem.init.layers[0]).max()))
        self.longest_growth = abs(float(np.log(sizes[0]) - np.log(sizes[1])))

    def _noise(self) -> Float:
        return ROUNDING_UNITS * EPS * np.abs(self.limit.coef)

    def _gain(self, coef: Float) -> Float:
        gain: Float = np.asarray(np.linalg.pinv(self._range.T @ self._task.X), dtype=np.float64)
        return gain
