"""Newton's method for mirror maps given along their curve: positions and duals together.

The unknowns are the positions σ of the coefficients and the sample-space dual ν:

    rows β(σ) = target,        ξ(σ) = rowsᵀν.

Where clocks have a pole, `Ψ(rowsᵀν)` cannot be evaluated from ν in float64: a visible coefficient
sits within `s^{L−2}` of its pole. The positions hold it to all digits, and the second equation need
hold only as far as float64 resolves the clocks, like the dual constraint of an interior-point
method. With `D = β'/ξ'`, `r` the misfit of the first equation and `l` that of the second (the lag
of the clocks behind the dual), a step solves

    (rows D rowsᵀ) dν = r − rows D l,    dσ = (rowsᵀdν + l)/ξ'.

The solution is followed from the start of training, where σ = ν = 0, to the data: the target is
`rows β(0) + λ (target − rows β(0))`, λ from 0 to 1. For small scales λ covers many orders of
magnitude, and positions are linear in log λ but for the moments where a coefficient wakes up, so
that few steps suffice.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.linalg.lapack import dposv

from limitpoint.arrays import Float
from limitpoint.mirror import CurveMap
from limitpoint.theory.extrapolation import extrapolate
from limitpoint.theory.whitening import Whitened

__all__ = ["CurveSolution", "solve_on_curves"]

EPS = float(np.finfo(np.float64).eps)
# Misfits and lags are zero when they are so up to the rounding of both sides.
ROUNDING_UNITS = 8.0
# On the way to the data a point is good enough to go on from when its misfit, relative, and the
# next step are below this: Newton's method then doubles its digits.
ON_THE_WAY = 1e-3
# A position is a logarithm of parameters: a step of Newton's method that changes one by more is
# cut to this, since exponentials are linear over less.
LONGEST_STEP = 2.0
# The first λ moves no position by more than this, to first order.
FIRST_MOVE = 0.5
# Strides in log λ: the first, and their growth after a success (or shrinkage after a failure).
FIRST_STRIDE = 1.0
STRIDE_GROWTH = 3.0
SHORTEST_STRIDE = 1e-6
# A point extrapolated from other scales is worth correcting if its misfit is below this.
GOOD_GUESS = 0.1
# Newton steps allowed at one λ on the way, at the last one, and in all.
STEPS_ON_THE_WAY = 12
STEPS_AT_THE_END = 20
MAX_STEPS = 2000
# Below this misfit a method that has not converged, or not halved the misfit in so many steps,
# suffers from the Hessian's rounding rather than from its start.
NEAR = 1e-2
SLOW_STEPS = 3
# Relative shift of the Hessian's diagonal: dormant coefficients make it singular to working
# precision, and in those directions any dual will do.
LEVENBERG_SHIFT = 1e-15
SHIFT_GROWTH = 10.0


@dataclass(frozen=True, eq=False)
class CurveSolution:
    """Positions and dual, in the whitened sample space and the map's unit of clocks."""

    positions: Float
    dual: Float
    log_scale: float
    iterations: int
    converged: bool


def solve_on_curves(
    mirror: CurveMap, data: Whitened, near: Sequence[CurveSolution] = ()
) -> CurveSolution:
    """Solve both equations, from the start of training or from solutions at other scales."""
    problem = _Equations(mirror, data)
    if problem.is_trivial:
        start = problem.start
        return CurveSolution(start.positions, start.dual, mirror.log_scale, 0, True)
    continuation = _Continuation(problem)
    if near and mirror.is_scale_free:
        scales = [solution.log_scale for solution in near]
        guess = _Point(
            problem,
            extrapolate(scales, [solution.positions for solution in near], mirror.log_scale),
            extrapolate(scales, [solution.dual for solution in near], mirror.log_scale),
            0.0,
        )
        if guess.residual <= GOOD_GUESS and continuation.from_point(guess, 0.0):
            return continuation.result(mirror)
        # At this scale the last solution reaches the part (s/s')^L of the way.
        log_part = mirror.degree * (mirror.log_scale - near[-1].log_scale)
        point = _Point(problem, near[-1].positions, near[-1].dual, log_part)
        if continuation.from_point(point, abs(log_part)):
            return continuation.result(mirror)
    continuation.from_the_start()
    return continuation.result(mirror)


class _Equations:
    """Both equations, and the way from the start of training to the data."""

    def __init__(self, mirror: CurveMap, data: Whitened) -> None:
        self.mirror, self.rows, self.moduli = mirror, data.rows, np.abs(data.rows)
        samples, features = self.rows.shape
        self.offsets = mirror.offsets
        coefs = mirror.along(np.zeros(features)).coefs
        self.initial = self.rows @ coefs
        self.change = data.target - self.initial
        self.distance = _norm(self.change)
        self.is_trivial = self.distance <= EPS * (_norm(data.target) + _norm(coefs))
        self._initial = {0.0: self.initial}
        self.start = _Point(self, np.zeros(features), np.zeros(samples), 0.0)

    def initial_in(self, log_unit: float) -> Float:
        """The start in units of `e^log_unit`, also where float64 cannot hold it in units of 1."""
        if log_unit not in self._initial:
            zeros = np.zeros(self.rows.shape[1])
            self._initial = {log_unit: self.rows @ self.mirror.along(zeros, log_unit).coefs}
        return self._initial[log_unit]


class _Continuation:
    """Follows the solution along λ, counting Newton steps."""

    def __init__(self, problem: _Equations) -> None:
        self.problem = problem
        self.point = problem.start
        self.iterations = 0
        self.converged = False

    def result(self, mirror: CurveMap) -> CurveSolution:
        """Where it ended."""
        point = self.point
        return CurveSolution(
            point.positions, point.dual, mirror.log_scale, self.iterations, self.converged
        )

    def from_the_start(self) -> bool:
        """Follow from λ = 0, beginning where the linear map still holds."""
        # In the size of the start as unit nothing there vanishes in float64.
        problem, mirror = self.problem, self.problem.mirror
        log_unit = min(0.0, mirror.degree * mirror.log_scale)
        zeros = problem.start
        toward, along = self._tangent(_Point(problem, zeros.positions, zeros.dual, log_unit))
        fastest = float(np.abs(along).max())
        log_part = min(0.0, log_unit + math.log(FIRST_MOVE / fastest)) if fastest > 0 else 0.0
        part = math.exp(log_part - log_unit)
        point = _Point(problem, part * along, part * toward, log_part)
        return self.from_point(point, FIRST_STRIDE)

    def from_point(self, point: "_Point", stride: float) -> bool:
        """Follow from a point near the solution at its λ to λ = 1, from below or above."""
        self.point, good = self._correct(point)
        while good and self.point.log_part != 0.0 and self.iterations < MAX_STEPS:
            left = -self.point.log_part
            stride = min(stride, abs(left))
            ahead = self._predict(math.copysign(stride, left) if stride < abs(left) else left)
            found, accepted = self._correct(ahead)
            if accepted:
                self.point = found
                stride *= STRIDE_GROWTH
            else:
                stride /= STRIDE_GROWTH
                good = stride >= SHORTEST_STRIDE
        self.converged = good and self.point.log_part == 0.0
        return self.converged

    def _predict(self, stride: float) -> "_Point":
        toward, along = self._tangent(self.point)
        left = self.point.log_part + stride
        return _Point(
            self.problem,
            self.point.positions + stride * along,
            self.point.dual + stride * toward,
            0.0 if abs(left) < SHORTEST_STRIDE else left,
        )

    def _tangent(self, point: "_Point") -> tuple[Float, Float]:
        """Derivatives of dual and positions in log λ (at the start: in λ)."""
        self.iterations += 1
        toward = point.solve(self.problem.change)
        return toward, (toward @ self.problem.rows) / point.at.clock_rates

    def _correct(self, point: "_Point") -> tuple["_Point", bool]:
        """Newton's method at a fixed λ: cheaply first, then by the stable solve."""
        found, good = self._iterate(point, stable=False)
        if good or not found.residual <= NEAR:
            return found, good
        return self._iterate(found, stable=True)

    def _iterate(self, point: "_Point", stable: bool) -> tuple["_Point", bool]:
        last = point.log_part == 0.0
        slow = 0
        for _ in range(STEPS_AT_THE_END if last else STEPS_ON_THE_WAY):
            if last and point.is_solution:
                return point, True
            toward, along = point.step(stable)
            self.iterations += 1
            longest = float(np.abs(along).max())
            if not math.isfinite(longest):
                return point, False
            if not last and point.residual <= ON_THE_WAY and longest <= ON_THE_WAY:
                return point, True
            length = min(1.0, LONGEST_STEP / longest) if longest > 0 else 1.0
            following = _Point(
                self.problem,
                point.positions + length * along,
                point.dual + length * toward,
                point.log_part,
            )
            slow = slow + 1 if 0.5 * point.residual < following.residual < NEAR else 0
            point = following
            if slow == SLOW_STEPS and not stable:
                break
        return point, last and point.is_solution


class _Point:
    """Positions and dual, with the misfits of both equations at a part λ of the way."""

    def __init__(self, problem: _Equations, positions: Float, dual: Float, log_part: float) -> None:
        self.positions, self.dual, self.log_part = positions, dual, log_part
        self._problem = problem
        with np.errstate(all="ignore"):
            self.at = at = problem.mirror.along(positions, log_part)
            self._initial = problem.initial_in(log_part)
            gap = self._initial + problem.change - problem.rows @ at.coefs
            lag = dual @ problem.rows - at.clocks
            noise = np.abs(dual) @ problem.moduli + np.abs(at.clocks)
            self.slopes = at.coef_rates / at.clock_rates
            self.residual = _norm(gap) / problem.distance if problem.distance > 0 else 0.0
            # Misfits of rounding errors would only stir the duals that nothing visible fixes.
            self.gap = gap if self.residual > self._rounding() else np.zeros_like(gap)
            self.lag = np.where(np.abs(lag) <= ROUNDING_UNITS * EPS * noise, 0.0, lag)

    @property
    def is_solution(self) -> bool:
        """Whether both equations hold up to rounding."""
        return not (self.gap.any() or self.lag.any())

    def step(self, stable: bool) -> tuple[Float, Float]:
        """Newton's step for dual and positions."""
        rows = self._problem.rows
        with np.errstate(all="ignore"):
            if stable:
                toward = self._stable_solve()
            else:
                toward = self.solve(self.gap - rows @ (self.slopes * self.lag))
            return toward, (toward @ rows + self.lag) / self.at.clock_rates

    def solve(self, right: Float) -> Float:
        """Solve with the (slightly shifted) Hessian `rows D rowsᵀ`; NaN if it overflows."""
        rows = self._problem.rows
        hessian = (rows * self.slopes) @ rows.T
        diagonal = np.einsum("ii->i", hessian)
        shift = LEVENBERG_SHIFT * float(diagonal.sum())
        if not (shift > 0.0 and math.isfinite(shift)):
            return np.full_like(right, np.nan)
        while True:
            diagonal += shift
            _, solution, failed = dposv(hessian, right)
            if not failed:
                result: Float = solution
                return result
            shift *= SHIFT_GROWTH

    def _stable_solve(self) -> Float:
        """The same by pivoted QR of `√D rowsᵀ` with sorted rows: accurate however D is graded.

        A dual that moves the misfit by less than rounding when the clocks run their full range is
        fixed by nothing; so much is added to D in every direction.
        """
        problem = self._problem
        rows, roots = problem.rows, np.sqrt(self.slopes)
        farthest = float(np.abs(self.at.clocks).max())
        if not (farthest > 0.0 and np.isfinite(roots).all()):
            return np.full(len(rows), np.nan)
        floor = math.sqrt(EPS * problem.distance / farthest)
        matrix = np.vstack([(rows * roots).T, floor * np.eye(len(rows))])
        right = np.concatenate([-roots * self.lag, np.zeros(len(rows))])
        order = np.argsort(-np.einsum("ij,ij->i", matrix, matrix), kind="stable")
        basis, triangle, pivots = qr(matrix[order], mode="economic", pivoting=True)
        half = solve_triangular(triangle, self.gap[pivots], trans="T")
        solution = np.empty(len(rows))
        solution[pivots] = solve_triangular(triangle, basis.T @ right[order] + half)
        return solution

    def _rounding(self) -> float:
        """The residual that rounding of positions and products alone can cause."""
        problem, at = self._problem, self.at
        moved = at.coef_rates * (problem.offsets + np.abs(self.positions)) + np.abs(at.coefs)
        size = _norm(self._initial) + problem.distance + _norm(moved)
        return ROUNDING_UNITS * EPS * size / problem.distance if problem.distance > 0 else 0.0


def _norm(vector: Float) -> float:
    return float(np.linalg.norm(vector))
