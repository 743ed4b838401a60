"""One Newton solver for every mirror map: `XΨ(Xᵀν) = y`.

It is the stationarity of the convex dual problem

    min_ν  Φ(ν) = Σ_i Ψ̂_i(x_iᵀν) − yᵀν,    ∇Φ = XΨ(Xᵀν) − y,    ∇²Φ = X diag(Ψ') Xᵀ,

m×m systems only. At tiny scale Φ is all but piecewise linear and Newton's method from far away
would crawl. There the scale is lowered step by step instead: for a network of degree L,
homogeneity gives `∂Ψ/∂log s = LΨ + (L−2)ξΨ'` at fixed ξ, hence along the solutions

    dν/d(log s) = −L (∇²Φ)⁻¹ Xβ − (L−2)ν,

and for scales below that of the data ν is linear in log s up to exponentially small terms, so
that few steps cross hundreds of orders of magnitude.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from limitpoint.arrays import Float
from limitpoint.mirror import MirrorMap
from limitpoint.theory.whitening import Whitened

__all__ = ["DualSolution", "solve_dual"]

EPS = float(np.finfo(np.float64).eps)

# Residuals are relative to the target plus the coefficients. The final one is pushed to this, or
# to the rounding level of the mirror map if that is higher.
RESIDUAL_TOLERANCE = 1e-14
# A clock x_iᵀν is rounded by EPS·‖x_i‖‖ν‖, which moves its coefficient by slope times that; the
# matrix products add a few more units.
ROUNDING_UNITS = 8.0
# Continuation steps need only to stay in the region of quadratic convergence.
CONTINUATION_TOLERANCE = 1e-2
# A continuation step is taken if the predicted point misses the data by no more than half of what
# the zero vector does: a point where everything is dormant again must not pass.
PREDICTION_TOLERANCE = 0.5
# Relative shift of the Hessian's diagonal: dormant coefficients make it singular to working
# precision, and in those directions any dual will do.
LEVENBERG_SHIFT = 1e-15
# Growth of the shift when rounding leaves the Hessian indefinite all the same.
SHIFT_GROWTH = 10.0
# Newton starts cold when the scale is within e^3 of the data's own; farther below, by continuation.
COLD_START_LOG_GAP = 3.0
# A slope that falls below this part of itself in one step belongs to a vanishing coefficient: a
# full Newton step takes an exponential to 1/e = 0.37 of itself.
FALLING_SLOPE = 0.5
SUFFICIENT_DECREASE = 1e-4
MAX_ITERATIONS = 400
MAX_HALVINGS = 60


@dataclass(frozen=True, eq=False)
class DualSolution:
    """The root found, in the whitened sample space."""

    dual: Float
    iterations: int
    residual: float
    converged: bool


def solve_dual(mirror: MirrorMap, data: Whitened) -> DualSolution:
    """Solve `rows Ψ(rowsᵀν) = target`, cold where that is safe, else by continuation in scale."""
    newton = _Newton(data)
    dual = np.zeros(data.rows.shape[0])
    if newton.target_norm == 0.0 and mirror.log_scale != 0.0:
        # Nothing but the scale sets the size of the coefficients: solve at scale 1, rescale.
        unit = solve_dual(mirror.at_log_scale(0.0), data)
        stretch = math.exp((2 - mirror.degree) * mirror.log_scale)
        return replace(unit, dual=stretch * unit.dual)
    natural = _natural_log_scale(mirror, data)
    if mirror.log_scale >= natural - COLD_START_LOG_GAP:
        dual, residual, converged = newton.minimise(mirror, dual, RESIDUAL_TOLERANCE)
        if converged:
            return DualSolution(dual, newton.iterations, residual, converged)
        dual = np.zeros_like(dual)
    current = mirror.at_log_scale(max(natural, mirror.log_scale))
    dual, residual, converged = newton.minimise(current, dual, CONTINUATION_TOLERANCE)
    while current.log_scale > mirror.log_scale and newton.iterations < MAX_ITERATIONS:
        step = newton.continuation_step(current, dual, mirror.log_scale)
        if step is None:
            break
        current, dual = step
        dual, residual, _ = newton.minimise(current, dual, CONTINUATION_TOLERANCE)
    dual, residual, converged = newton.minimise(mirror, dual, RESIDUAL_TOLERANCE)
    return DualSolution(dual, newton.iterations, residual, converged)


def _natural_log_scale(mirror: MirrorMap, data: Whitened) -> float:
    """Scale at which the map's own size matches the minimum-norm solution.

    The slope at the start grows as s^{2(L−1)} and coefficients as s^L, so a slope σ at scale 1
    stands for coefficients of size σ^{L/(2L−2)}.
    """
    size = float(np.abs(data.target @ data.rows).max(initial=0.0))
    slopes = mirror.at_log_scale(0.0).slopes(np.zeros(data.rows.shape[1]))
    slopes = slopes[slopes > 0]
    if size == 0.0 or slopes.size == 0:
        return mirror.log_scale
    degree = mirror.degree
    log_unit = degree / (2 * degree - 2) * math.log(float(np.median(slopes)))
    return (math.log(size) - log_unit) / degree


class _Newton:
    """Damped Newton on one whitened constraint, counting its linear solves."""

    def __init__(self, data: Whitened) -> None:
        self.rows = data.rows
        self.column_norms = np.linalg.norm(data.rows, axis=0)
        self.target = data.target
        self.target_norm = float(np.linalg.norm(data.target))
        self.iterations = 0

    def minimise(
        self, mirror: MirrorMap, dual: Float, tolerance: float
    ) -> tuple[Float, float, bool]:
        """Iterate from `dual`; returns the best point, its residual and whether it suffices."""
        point = _Point(self, mirror, dual)
        # A coefficient on its way to zero is an exponential of its clock: each Newton step takes
        # it down by a factor e only. While its slope keeps falling, its weight in the Hessian is
        # halved, which doubles its step; the line search guards the result.
        weights = np.ones(self.rows.shape[1])
        while self.iterations < MAX_ITERATIONS:
            if point.residual <= tolerance:
                return point.dual, point.residual, True
            step = point.solve(point.gap, weights)
            self.iterations += 1
            following = self._search(point, step)
            if following is not None:
                falling = following.slopes < FALLING_SLOPE * point.slopes
                weights = np.where(falling, weights / 2, 1.0)
            stalled = following is None or following.residual > 0.5 * point.residual
            if stalled and point.residual <= point.rounding_level():
                return point.dual, point.residual, True
            if following is None:
                break
            point = following
        return point.dual, point.residual, False

    def _search(self, point: "_Point", step: Float) -> "_Point | None":
        """Backtrack until the dual objective has fallen enough, up to its own rounding."""
        descent = float(point.gap @ step)
        length = 1.0
        for _ in range(MAX_HALVINGS):
            trial = _Point(self, point.mirror, point.dual + length * step)
            slack = EPS * (abs(point.objective) + point.magnitude)
            if trial.objective <= point.objective - SUFFICIENT_DECREASE * length * descent + slack:
                return trial
            length /= 2
        return None

    def continuation_step(
        self, mirror: MirrorMap, dual: Float, log_scale: float
    ) -> tuple[MirrorMap, Float] | None:
        """Move along the tangent as far towards `log_scale` as the prediction stays good."""
        point = _Point(self, mirror, dual)
        degree = mirror.degree
        tangent = -degree * point.solve(self.target - point.gap) - (degree - 2) * dual
        self.iterations += 1
        length = log_scale - mirror.log_scale
        for _ in range(MAX_HALVINGS):
            reached = mirror.at_log_scale(
                log_scale if length == log_scale - mirror.log_scale else mirror.log_scale + length
            )
            trial = _Point(self, reached, dual + length * tangent)
            if trial.misfit <= PREDICTION_TOLERANCE * self.target_norm:
                return reached, trial.dual
            length /= 2
        return None


class _Point:
    """A dual point with everything Newton needs there."""

    def __init__(self, newton: _Newton, mirror: MirrorMap, dual: Float) -> None:
        self.mirror = mirror
        self.dual = dual
        self._rows = newton.rows
        self._column_norms = newton.column_norms
        self.clocks = dual @ newton.rows
        self.coefs = mirror.coefs(self.clocks)
        self.slopes = mirror.slopes(self.clocks)
        with np.errstate(over="ignore", invalid="ignore"):
            self.gap = newton.target - newton.rows @ self.coefs
            conjugate = mirror.conjugate(self.clocks)
            self.magnitude = float(conjugate.sum())
            objective = self.magnitude - float(newton.target @ dual)
            self._size = newton.target_norm + float(np.linalg.norm(self.coefs))
            misfit = float(np.linalg.norm(self.gap))
        finite = math.isfinite(objective) and math.isfinite(misfit)
        self.objective = objective if finite else math.inf
        self.misfit = misfit if finite else math.inf
        self.residual = self.misfit / self._size if self.misfit > 0 else 0.0

    def rounding_level(self) -> float:
        """The residual that rounding of the clocks alone can cause."""
        moved = self.slopes * (self._column_norms * float(np.linalg.norm(self.dual)))
        size = float(np.linalg.norm(moved)) + self._size
        return ROUNDING_UNITS * EPS * size / self._size if self._size > 0 else 0.0

    def solve(self, right: Float, weights: Float | float = 1.0) -> Float:
        """Solve with the (slightly shifted) Hessian `rows diag(weights Ψ') rowsᵀ`."""
        hessian = (self._rows * (weights * self.slopes)) @ self._rows.T
        diagonal = np.einsum("ii->i", hessian)
        shift = LEVENBERG_SHIFT * float(diagonal.sum())
        if not shift > 0.0:
            return np.zeros_like(right)  # no coefficient can move
        while True:
            diagonal += shift
            try:
                solution: Float = cho_solve(cho_factor(hessian, lower=True), right)
            except np.linalg.LinAlgError:
                shift *= SHIFT_GROWTH
            else:
                return solution
