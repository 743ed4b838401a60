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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.mirror import MirrorMap
from limitpoint.theory.certificates.constraint import Constraint
from limitpoint.theory.solvers.mirror.extrapolation import extrapolate
from limitpoint.theory.solvers.mirror.shifted_hessian import solve_graded, solve_shifted

__all__ = ["DualSolution", "solve_dual"]

EPS = float(np.finfo(np.float64).eps)

# Residuals are relative to the target plus the coefficients. The final one is pushed to this, or
# to the rounding level of the mirror map if that is higher.
RESIDUAL_TOLERANCE = 1e-14
# A mirror coordinate x_iᵀν is rounded by EPS·|x_i|ᵀ|ν|, which moves its coefficient by slope times
# that; the matrix products add a few more units.
ROUNDING_UNITS = 8.0
# Continuation steps need only to stay in the region of quadratic convergence. Their residual is
# relative to the target alone: from starts of very different sizes the largest coefficients may
# exceed the data by orders of magnitude, and a residual relative to them would say nothing.
CONTINUATION_TOLERANCE = 1e-2
# A continuation step is taken if the predicted point misses the data by no more than half of what
# the zero vector does: a point where everything is inactive again must not pass.
PREDICTION_TOLERANCE = 0.5
# How far down in log s continuation tries to go first, and then relative to the last success:
# where nothing but the scale changes any more, the way down is crossed in few strides.
FIRST_STRIDE = 4.0
STRIDE_GROWTH = 8.0
# Newton starts cold when the scale is within e^3 of the data's own; farther below, by continuation.
COLD_START_LOG_GAP = 3.0
# A slope that falls below this part of itself in one step belongs to a vanishing coefficient: a
# full Newton step takes an exponential to 1/e = 0.37 of itself.
FALLING_SLOPE = 0.5
# A step is accepted if the objective falls by this part of what its slope promises (Armijo), or
# if the residual falls to this part of itself.
SUFFICIENT_DECREASE = 1e-4
SUFFICIENT_RESIDUAL = 0.5
# Linear solves allowed to a cold start, and again to a continuation. A few tens are usual.
MAX_ITERATIONS = 400
MAX_HALVINGS = 60
MAX_POLISHING = 8
# A row is fitted when it misses its target by this part of what is added up in it.
FITTED = RESIDUAL_TOLERANCE


@dataclass(frozen=True, eq=False)
class DualSolution:
    """The root found, in the reduced sample space."""

    dual: Float
    log_scale: float
    iterations: int
    residual: float
    converged: bool
    miss: float  # the worst of a row, relative to what is added up there
    # Where they are known to more digits than the dual gives them.
    mirror: Float | None = None
    coefs: Float | None = None


def solve_dual(
    mirror: MirrorMap, data: Constraint, near: Sequence[DualSolution] = ()
) -> DualSolution:
    """Solve `rows Ψ(rowsᵀν) = target`, cold where that is safe, else by continuation in scale.

    Solutions at other scales, if there are some, tell where to look; the last one is where the
    continuation starts, if its scale is larger.
    """
    newton = _Newton(data)
    cold = np.zeros(data.rows.shape[0])
    if newton.target_norm == 0.0 and mirror.log_scale != 0.0:
        # Nothing but the scale sets the size of the coefficients: solve at scale 1, rescale.
        unit = solve_dual(mirror.at_log_scale(0.0), data)
        stretch = math.exp((2 - mirror.degree) * mirror.log_scale)
        return replace(unit, dual=stretch * unit.dual, log_scale=mirror.log_scale)
    if near:
        scales = [solution.log_scale for solution in near]
        guess = extrapolate(scales, [solution.dual for solution in near], mirror.log_scale)
        point = _Point(newton, mirror, guess)
        close = point.primal_norm <= PREDICTION_TOLERANCE * newton.target_norm
        if not close and near[-1].log_scale >= mirror.log_scale:
            point = newton.follow(mirror, near[-1].log_scale, near[-1].dual)
        point, converged = newton.minimise(point)
        if converged:
            return newton.finish(point, data, converged)
        newton.allowed = newton.iterations + MAX_ITERATIONS
    natural = _natural_log_scale(mirror, data)
    converged = False
    if mirror.log_scale >= natural - COLD_START_LOG_GAP:
        point, converged = newton.minimise(_Point(newton, mirror, cold))
    if not converged:
        # From a larger scale, where the problem is closer to linear.
        newton.allowed = newton.iterations + MAX_ITERATIONS
        above = max(natural, mirror.log_scale + COLD_START_LOG_GAP)
        point = newton.follow(mirror, above, cold)
        point, converged = newton.minimise(point)
    return newton.finish(point, data, converged)


def _natural_log_scale(mirror: MirrorMap, data: Constraint) -> float:
    """Scale at which the map's own size matches the minimum-norm solution.

    The slope at the start grows as s^{2(L−1)} and coefficients as s^L, so a slope σ at scale 1
    stands for coefficients of size σ^{L/(2L−2)}. The largest in the rows counts: coefficients that
    start far above the data would hide these in their rounding, one that starts far below
    activates. Of degree 1 the map is linear at every scale: its own is as good as any.
    """
    if mirror.degree == 1:
        return mirror.log_scale
    size = float(np.abs(data.target @ data.rows).max(initial=0.0))
    slopes = mirror.at_log_scale(0.0).slopes(np.zeros(data.rows.shape[1]))
    degree = mirror.degree
    parts = np.abs(data.rows).max(axis=0, initial=0.0)
    with np.errstate(divide="ignore"):
        log_unit = float((degree / (2 * degree - 2) * np.log(slopes) + np.log(parts)).max())
    if size == 0.0 or log_unit == -math.inf:
        return mirror.log_scale
    return (math.log(size) - log_unit) / degree


class _Newton:
    """Damped Newton on one constraint, counting its linear solves."""

    def __init__(self, data: Constraint) -> None:
        self.rows = data.rows
        # A column of zeros moves nothing: the size of its coefficient must not count.
        self.seen = data.seen
        self.target = data.target
        self.target_norm = float(np.linalg.norm(data.target))
        self.iterations = 0
        self.allowed = MAX_ITERATIONS

    def minimise(self, point: "_Point") -> tuple["_Point", bool]:
        """Iterate from a point to the root; returns the last one and whether it is that."""
        return self._iterate(point, lambda point: point.residual <= RESIDUAL_TOLERANCE)

    def _approach(self, point: "_Point") -> "_Point":
        """Iterate from a point until continuation can go on."""
        near = CONTINUATION_TOLERANCE * self.target_norm
        return self._iterate(point, lambda point: point.primal_norm <= near)[0]

    def _iterate(
        self, point: "_Point", suffices: Callable[["_Point"], bool]
    ) -> tuple["_Point", bool]:
        # A coefficient on its way to zero is an exponential of its mirror coordinate: each Newton
        # step takes it down by a factor e only. While its slope keeps falling, its weight in the
        # Hessian is halved, which doubles its step; the line search guards the result.
        weights = np.ones(self.rows.shape[1])
        while self.iterations < self.allowed:
            if suffices(point):
                return point, True
            step = point.solve(point.primal_residual, weights)
            self.iterations += 1
            following = self._search(point, step)
            stalled = following is None or following.residual > 0.5 * point.residual
            if stalled and point.residual <= point.rounding_level():
                return point, True
            if following is None:
                break
            falling = following.slopes < FALLING_SLOPE * point.slopes
            weights = np.where(falling, weights / 2, 1.0)
            point = following
        return point, False

    def finish(self, point: "_Point", data: Constraint, converged: bool) -> DualSolution:
        """The last digits, and the result."""
        point, miss = self.polish(point, data)
        log_scale = point.mirror.log_scale
        residual = point.residual
        return DualSolution(point.dual, log_scale, self.iterations, residual, converged, miss)

    def polish(self, point: "_Point", data: Constraint) -> tuple["_Point", float]:
        """Further full steps while they halve the worst miss of a row, relative to its own terms.

        A miss that is rounding beside the largest target may be all of another one.
        """
        miss = data.missed(point.coefs)
        for _ in range(MAX_POLISHING):
            if not FITTED < miss < math.inf or not self.target_norm:
                break
            step = point.stable_step(data.primal_residual(point.coefs * data.units))
            trial = _Point(self, point.mirror, point.dual + step)
            self.iterations += 1
            left = data.missed(trial.coefs) if trial.primal_norm < math.inf else math.inf
            if not left <= SUFFICIENT_RESIDUAL * miss:
                break
            point, miss = trial, left
        return point, miss

    def _search(self, point: "_Point", step: Float) -> "_Point | None":
        """Backtrack until the dual objective has fallen enough, or the residual has.

        Near the solution the objective's own rounding hides its fall; the residual still shows it.
        """
        descent = float(point.primal_residual @ step)
        slack = EPS * (abs(point.objective) + point.magnitude)
        length = 1.0
        for _ in range(MAX_HALVINGS):
            trial = _Point(self, point.mirror, point.dual + length * step)
            wanted = point.objective - SUFFICIENT_DECREASE * length * descent + slack
            if (
                trial.objective <= wanted
                or trial.primal_norm <= SUFFICIENT_RESIDUAL * point.primal_norm
            ):
                return trial
            length /= 2
        return None

    def follow(self, mirror: MirrorMap, log_scale: float, dual: Float) -> "_Point":
        """Lower the scale from `log_scale` to the mirror map's own, near the solutions."""
        point = _Point(self, mirror.at_log_scale(log_scale), dual)
        point = self._approach(point)
        stride = FIRST_STRIDE
        while point.mirror.log_scale > mirror.log_scale and self.iterations < self.allowed:
            ahead = self._predict(point, mirror, stride)
            if ahead is None:
                return _Point(self, mirror, point.dual)
            stride = STRIDE_GROWTH * (point.mirror.log_scale - ahead.mirror.log_scale)
            point = self._approach(ahead)
        return point

    def _predict(self, point: "_Point", mirror: MirrorMap, stride: float) -> "_Point | None":
        """Move down along the tangent, by the stride or as far as the prediction stays good."""
        degree = mirror.degree
        tangent = (
            degree * point.solve(self.target - point.primal_residual) + (degree - 2) * point.dual
        )
        self.iterations += 1
        for _ in range(MAX_HALVINGS):
            log_scale = max(point.mirror.log_scale - stride, mirror.log_scale)
            stride = point.mirror.log_scale - log_scale
            ahead = _Point(self, mirror.at_log_scale(log_scale), point.dual + stride * tangent)
            if ahead.primal_norm <= PREDICTION_TOLERANCE * self.target_norm:
                return ahead
            stride /= 2
        return None


class _Point:
    """A dual point with everything Newton needs there."""

    def __init__(self, newton: _Newton, mirror: MirrorMap, dual: Float) -> None:
        self.mirror = mirror
        self.dual = dual
        self._newton = newton
        self.coefs, self.slopes, conjugates = mirror.evaluate(dual @ newton.rows)
        with np.errstate(over="ignore", invalid="ignore"):
            self.primal_residual = newton.target - newton.rows @ self.coefs
            self.magnitude = float(conjugates.sum())
            objective = self.magnitude - float(newton.target @ dual)
            primal_norm = _norm(self.primal_residual)
            self._size = newton.target_norm + _norm(self.coefs * newton.seen)
        finite = math.isfinite(objective) and math.isfinite(primal_norm)
        self.objective = objective if finite else math.inf
        self.primal_norm = primal_norm if finite else math.inf
        self.residual = self.primal_norm / self._size if self.primal_norm > 0 else 0.0

    def rounding_level(self) -> float:
        """The residual that rounding of the mirror coordinates alone can cause."""
        moved = _norm(self.slopes * (np.abs(self.dual) @ np.abs(self._newton.rows)))
        return ROUNDING_UNITS * EPS * (1.0 + moved / self._size) if self._size > 0 else 0.0

    def solve(self, right: Float, weights: Float | float = 1.0) -> Float:
        """Solve with the (slightly shifted) Hessian `rows diag(weights Ψ') rowsᵀ`."""
        rows = self._newton.rows
        solution = solve_shifted(rows, weights * self.slopes, right)
        return np.zeros_like(right) if solution is None else solution  # None: nothing can move

    def stable_step(self, right: Float) -> Float:
        """The same by the stable solve, where that is defined: accurate however Ψ' is graded."""
        rows, none = self._newton.rows, np.zeros_like(self.coefs)
        step, _ = solve_graded(rows, self.slopes, right, none, 0.0)
        return step if np.isfinite(step).all() else self.solve(right)


def _norm(vector: Float) -> float:
    """Euclidean norm; at these sizes half the time of the library's general one."""
    return math.sqrt(float(vector @ vector))
