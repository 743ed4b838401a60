"""How far from the predicted limit a run may end, given what is known of its errors.

Notation: D the slopes of the mirror map at the limit, r the residual with which the run ended. To
first order a residual moves the coefficients by `K r`, `K = DXᵀ(XDXᵀ)⁻¹`, and relative errors ε of
the map or of the limit itself by at most `ε (|β| + |K||X||β|)`.
"""

from abc import ABC, abstractmethod

import numpy as np

from limitpoint.dynamics import RelativeResidual
from limitpoint.foundation.arrays import Float
from limitpoint.mirror import CurveMap, MirrorMap, RadialMap
from limitpoint.networks import CoupledNetwork, Tensor, TwoLayer
from limitpoint.problem import Problem
from limitpoint.theory import Limit
from limitpoint.theory.solvers.one_sample import OneSample
from limitpoint.theory.theorems.diagonalisable import Reduction, reduction_of

__all__ = ["ACCUMULATION", "EPS", "SAFETY", "Sensitivity", "sensitivity_of"]

EPS = float(np.finfo(np.float64).eps)
# First-order error estimates are doubled before they serve as tolerances.
SAFETY = 2.0
# Accumulated error of an integration, in units of its tolerance per step.
ACCUMULATION = 100.0
# Matrix products add a few units of rounding to those of the mirror coordinates themselves.
ROUNDING_UNITS = 8.0


class Sensitivity(ABC):
    """First-order sensitivity of a predicted limit to the errors of a run.

    Attributes
    ----------
    size
        Norm of the limit, the unit of distances.
    measure
        What can be fitted, and residuals relative to it.
    longest_growth
        By how much, in logarithms, the parameters have grown.
    """

    longest_growth: float

    def __init__(
        self, problem: Problem, limit: Limit, measure: RelativeResidual, terms: Float | None = None
    ) -> None:
        self._task = problem.regression
        self.limit = limit
        # The sums of moduli to which errors of the coefficients are relative.
        self._terms = np.abs(limit.coef) if terms is None else terms
        self.size = float(np.linalg.norm(limit.coef)) or 1.0
        self.measure = measure
        self._range, self._target = measure.basis, measure.target
        # That of the diagonal network within, where there is one.
        self.within: Sensitivity = self

    def distance(self, coef: Float) -> float:
        """Distance from the limit, relative to its norm."""
        return float(np.linalg.norm(coef - self.limit.coef)) / self.size

    def tolerance(self, coef: Float, map_error: float = 0.0) -> float:
        """Relative distance from the limit that the run's own residual and errors explain."""
        with np.errstate(over="ignore", invalid="ignore"):
            residual = self._target - self._range.T @ (self._task.X @ coef)
        if not np.isfinite(residual).all():
            return 0.0  # nothing explains a run that diverged
        gain = self._gain(coef)
        spread = self._terms + np.abs(gain) @ np.abs(self._range.T @ self._task.X) @ self._terms
        relative = max(
            map_error, self.limit.certificate.tolerance, EPS * (1.0 + self.longest_growth)
        )
        moved = float(np.linalg.norm(gain @ residual)) + relative * float(np.linalg.norm(spread))
        return SAFETY * moved / self.size

    def moves(self, coef: Float, map_error: float = 0.0) -> Float:
        """Distance of every coefficient from its limit that the run's own errors explain."""
        with np.errstate(over="ignore", invalid="ignore"):
            residual = self._target - self._range.T @ (self._task.X @ coef)
        if not np.isfinite(residual).all():
            return np.zeros_like(self._terms)  # nothing explains a run that diverged
        gain = self._gain(coef)
        spread = self._terms + np.abs(gain) @ np.abs(self._range.T @ self._task.X) @ self._terms
        relative = max(
            map_error, self.limit.certificate.tolerance, EPS * (1.0 + self.longest_growth)
        )
        moves: Float = np.abs(gain @ residual) + relative * spread
        return moves

    def relative_residual(self, coef: Float) -> float:
        """Distance of the fit from the best that can be reached, as a run measures it."""
        gap = self._target - self._range.T @ (self._task.X @ coef)
        return self.measure.relative(self._range @ gap)

    @property
    def terms(self) -> Float:
        """The sums of moduli to which rounding of the coefficients is relative."""
        return self._terms

    def rounding_residual(self) -> float:
        """The relative residual that rounding of ξ or of curve parameters can cause."""
        moved = np.abs(self._task.X) @ self._rounding()
        fit = float(np.linalg.norm(self._task.X @ self.limit.coef))
        return self.measure.relative(moved) if fit > float(np.linalg.norm(moved)) else 0.0

    @abstractmethod
    def _gain(self, coef: Float) -> Float:
        """`K` in the range of X."""

    @abstractmethod
    def _rounding(self) -> Float:
        """Rounding errors of the coefficients."""


def sensitivity_of(problem: Problem, limit: Limit) -> Sensitivity:
    """The sensitivity of a limit, by the map that its network has."""
    network = problem.network
    mirror = network.mirror_map(problem.init)
    if mirror is not None:
        return _Separable(problem, limit, mirror)
    if isinstance(network, TwoLayer):
        return _MinimumNorm(problem, limit)
    radial = network.radial_map(problem.init) if isinstance(network, CoupledNetwork) else None
    if radial is not None:
        return _Radial(problem, limit, radial)
    reduction = reduction_of(problem)
    inner = None if reduction is None else reduction.inner_limit()
    if reduction is not None and inner is not None:
        return _Reduced(limit, reduction, inner)
    sample = OneSample.of(problem)
    if sample is None or limit.layers is None:
        raise TypeError(f"{network} has no map from this start, so no sensitivity is known")
    return _OneSample(limit, limit.layers, sample)


def _inverse(matrix: Float) -> Float:
    """Pseudo-inverse of a matrix whose rows may be in any units."""
    sizes = np.linalg.norm(matrix, axis=1)
    sizes[sizes == 0] = 1.0
    inverse: Float = np.linalg.pinv(matrix / sizes[:, None]) / sizes
    return inverse


class _Separable(Sensitivity):
    """Every coefficient moves on its own: D is diagonal."""

    def __init__(self, problem: Problem, limit: Limit, mirror: MirrorMap) -> None:
        start = mirror.start_coefs()
        super().__init__(
            problem,
            limit,
            RelativeResidual.of(problem.regression, start, mirror.lower, mirror.upper),
        )
        self._mirror = mirror
        # A coefficient that vanishes, or that float64 cannot hold, says nothing about accuracy.
        with np.errstate(invalid="ignore"):
            grown = np.abs(mirror.growth_of(limit.coef))
        seen = np.isfinite(grown) & (limit.coef != 0)
        self._growth = np.where(seen, grown, 0.0)
        self.longest_growth = float(self._growth.max())

    def _rounding(self) -> Float:
        rounding = self._rates() * (1.0 + self._growth)
        if self._mirror.resolves(self._task.fit_size):
            # The flow in sample space holds mirror coordinates, each the sum of a start's, of the
            # size of the unit, and of the duals' parts, which may cancel.
            rows, dual = self._range.T @ self._task.X, self._range.T @ self.limit.dual
            parts = np.exp(self._mirror.log_mirror_unit) + np.abs(dual) @ np.abs(rows)
            rounding = np.fmax(rounding, self._slopes() * parts)
        return ROUNDING_UNITS * EPS * np.where(np.isfinite(rounding), rounding, 0.0)

    def _slopes(self) -> Float:
        """How fast coefficients change with their mirror coordinates.

        Zero where they have ended.
        """
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(self._mirror.slopes_of(self.limit.coef), posinf=0.0)

    def _rates(self) -> Float:
        """How fast coefficients change with their growth."""
        if isinstance(self._mirror, CurveMap):
            with np.errstate(all="ignore"):
                rates = self._mirror.along(self._mirror.curve_params_of(self.limit.coef)).coef_rates
            return np.nan_to_num(rates)
        return self._mirror.slopes(self.limit.mirror)

    def _gain(self, coef: Float) -> Float:
        """With every coefficient active that is so in the run or the limit.

        A coefficient that is inactive at the limit but not yet in the run still takes part in
        closing the run's residual.
        """
        with np.errstate(invalid="ignore"):  # a coefficient of the forbidden sign has no ξ
            reached = self._mirror.slopes_of(coef)
            slopes = np.fmax(self._mirror.slopes_of(self.limit.coef), reached)
        roots = np.sqrt(np.where(np.isfinite(slopes), slopes, 0.0))
        gain: Float = roots[:, None] * _inverse(self._range.T @ (self._task.X * roots))
        return gain


class _Radial(Sensitivity):
    """All coefficients move together: `D = Ξ (I + 2(log Ξ)' z zᵀ)`."""

    def __init__(self, problem: Problem, limit: Limit, radial: RadialMap) -> None:
        start = radial.coef(radial.start)
        super().__init__(problem, limit, RelativeResidual.of(problem.regression, start))
        self._radial = radial
        sizes = [float(np.linalg.norm(coef)) for coef in (limit.coef, start)]
        seen = min(sizes) > 0
        self.longest_growth = abs(float(np.log(sizes[0]) - np.log(sizes[1]))) if seen else 0.0

    def _rounding(self) -> Float:
        return ROUNDING_UNITS * EPS * np.abs(self.limit.coef)

    def _gain(self, coef: Float) -> Float:
        rows = self._range.T @ self._task.X
        if not self.limit.coef.any():  # the map is flat there, and says nothing
            return _inverse(rows)
        response = self._radial.jacobian_times(self._radial.inverse(self.limit.coef), rows.T)
        gain: Float = response @ _inverse(rows @ response)
        return gain


class _MinimumNorm(Sensitivity):
    """Coefficients stay in the row space of X: D is the projector on it."""

    def __init__(self, problem: Problem, limit: Limit) -> None:
        start = np.zeros_like(limit.coef)
        super().__init__(problem, limit, RelativeResidual.of(problem.regression, start))
        # The layers grow from the size of the first to that of the limit's square root.
        sizes = (float(np.sqrt(self.size)), float(np.abs(problem.init.layers[0]).max()))
        self.longest_growth = abs(float(np.log(sizes[0]) - np.log(sizes[1])))

    def _rounding(self) -> Float:
        return ROUNDING_UNITS * EPS * np.abs(self.limit.coef)

    def _gain(self, coef: Float) -> Float:
        return _inverse(self._range.T @ self._task.X)


class _Reduced(Sensitivity):
    """A diagonal network within: D is diagonal there, and `β = Sᵀρ`."""

    def __init__(self, limit: Limit, reduction: Reduction, inner: Limit) -> None:
        mirror = reduction.diagonal.network.mirror_map(reduction.diagonal.init)
        if mirror is None:
            raise TypeError(f"{reduction.diagonal.network} has no mirror map")
        self._within = _Separable(reduction.diagonal, inner, mirror)
        self._form = reduction.form
        # |S|, (r, n): coefficients may be small differences of large products.
        self._moduli = np.abs(self._form.outer_coefs(np.eye(len(inner.coef))))
        terms = np.abs(inner.coef) @ self._moduli
        super().__init__(reduction.problem, limit, self._within.measure, terms)
        self.within = self._within
        self.longest_growth = self._within.longest_growth

    def _rounding(self) -> Float:
        rounding: Float = self._within._rounding() @ self._moduli
        return rounding

    def _gain(self, coef: Float) -> Float:
        products = self._form.inner_coefs(coef)
        within = self._within.limit.coef if products is None else products
        gain: Float = self._form.outer_coefs(self._within._gain(within).T).T
        return gain


class _OneSample(Sensitivity):
    """One dual ν moves all coefficients: D has rank one.

    Along ν the layers move as `M(x)v₂` and `M(x)ᵀv₁`, and coefficients are linear in each layer.
    """

    def __init__(self, limit: Limit, layers: tuple[Float, ...], sample: OneSample) -> None:
        problem, network = sample.problem, sample.problem.network
        first, second = layers
        # All other tensors have no negative entries.
        positive = Tensor(np.abs(network.M)) if isinstance(network, Tensor) else network
        terms = np.asarray(positive.coef((np.abs(first), np.abs(second))))
        start = np.asarray(network.coef(problem.init.layers))
        super().__init__(problem, limit, RelativeResidual.of(problem.regression, start), terms)
        ahead, back = sample.spectrum.times(layers)
        self._along = np.asarray(network.coef((ahead, second))) + network.coef((first, back))
        # p ± q grow as e^{±sν}.
        self.longest_growth = float(np.abs(limit.mirror).max())

    def _rounding(self) -> Float:
        return ROUNDING_UNITS * EPS * self._terms

    def _gain(self, coef: Float) -> Float:
        slope = self._range.T @ (self._task.X @ self._along)
        gain: Float = np.outer(self._along, slope) / float(slope @ slope)
        return gain
