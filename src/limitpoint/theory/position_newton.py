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
# A position is a logarithm of parameters, and L times it one of the coefficient: a step of Newton's
# method that changes that by more is cut to this, since exponentials are linear over less.
LONGEST_STEP = 6.0
# The first λ changes no coefficient by more than this part of itself, to first order; if that
# fails, by so many times less, again and again.
FIRST_MOVE = 1.0
FIRST_SHRINKAGE = 10.0
FIRST_TRIALS = 8
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
# A method that has brought the misfit below that of the start of training (1, relative) but has not
# converged, or not halved the misfit in so many steps, suffers from the Hessian's rounding rather
# than from a bad guess: then the stable solve takes over.
NEAR = 1.0
SLOW_STEPS = 3
# Relative shift of the Hessian's diagonal: dormant coefficients make it singular to working
# precision, and in those directions any dual will do.
LEVENBERG_SHIFT = 1e-15
# Steps by which the coefficients are polished: the cheap solve first, then the stable one.
POLISHING = (False, True, True)
SHIFT_GROWTH = 10.0


@dataclass(frozen=True, eq=False)
class CurveSolution:
    """Positions and dual, in the whitened sample space and the map's unit of clocks.

    The coefficients are those of the positions, plus what the rounding of positions takes from
    them: from a start of size s^L, positions hold coefficients to eps·s^L, coefficients themselves
    to eps.
    """

    positions: Float
    coefs: Float
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
        return CurveSolution(start.positions, start.at.coefs, start.dual, mirror.log_scale, 0, True)
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
        self.two_sided = np.isneginf(mirror.lower) & np.isposinf(mirror.upper)
        coefs = mirror.along(np.zeros(features)).coefs
        self.initial = self.rows @ coefs
        self.target = data.target
        self.change = data.target - self.initial
        self.distance = _norm(self.change)
        self.is_trivial = self.distance <= EPS * (_norm(data.target) + _norm(coefs))
        self._goals = {0.0: (self.target, _norm(self.target))}
        self.start = _Point(self, np.zeros(features), np.zeros(samples), 0.0)

    def goal_in(self, log_part: float) -> tuple[Float, float]:
        """What `rows β` must be at this λ, in units of λ, and the size of what it is the sum of.

        At the end the data themselves, which a far larger start would drown.
        """
        if log_part not in self._goals:
            zeros = np.zeros(self.rows.shape[1])
            initial = self.rows @ self.mirror.along(zeros, log_part).coefs
            self._goals[log_part] = initial + self.change, _norm(initial) + self.distance
        return self._goals[log_part]


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
        arrived = point.log_part == 0.0
        coefs, dual = point.polished() if arrived else (point.at.coefs, point.dual)
        return CurveSolution(
            positions=point.positions,
            coefs=coefs,
            dual=dual,
            log_scale=mirror.log_scale,
            iterations=self.iterations,
            converged=self.converged,
        )

    def from_the_start(self) -> bool:
        """Follow from λ = 0, beginning where the linear map still holds."""
        # In the size of the start as unit nothing there vanishes in float64.
        problem, mirror = self.problem, self.problem.mirror
        log_unit = min(0.0, mirror.degree * mirror.log_scale)
        zeros = problem.start
        toward, along = self._tangent(_Point(problem, zeros.positions, zeros.dual, log_unit))
        fastest = mirror.degree * float(np.abs(along).max())
        if not 0.0 < fastest < math.inf:
            return False
        move = FIRST_MOVE / fastest
        for _ in range(FIRST_TRIALS):
            log_part = min(0.0, log_unit + math.log(move))
            part = math.exp(log_part - log_unit)
            point = _Point(problem, part * along, part * toward, log_part)
            if self.from_point(point, FIRST_STRIDE) or self.point.log_part > log_part:
                break
            move /= FIRST_SHRINKAGE
        return self.converged

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
            longest *= self.problem.mirror.degree
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
            goal, self._size = problem.goal_in(log_part)
            gap = goal - problem.rows @ at.coefs
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
                return self._stable_step()
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

    def polished(self) -> tuple[Float, Float]:
        """Coefficients and dual after last steps in the coefficients rather than the positions.

        The steps are within the rounding of the positions, which stay.
        """
        problem, coefs, dual = self._problem, self.at.coefs, self.dual
        misfit = _norm(problem.target - problem.rows @ coefs)
        good = EPS * (_norm(problem.target) + _norm(coefs))
        for stable in POLISHING:
            if misfit <= good:
                break
            gap = problem.target - problem.rows @ coefs
            with np.errstate(all="ignore"):
                if stable:
                    toward, step = self._fit(gap, np.zeros_like(coefs))
                else:
                    toward = self.solve(gap)
                    step = self.slopes * (toward @ problem.rows)
                better = coefs + step
                # On a half-line a coefficient stays where it is rather than cross its end.
                inside = problem.two_sided | (np.sign(better) == np.sign(coefs))
                better = np.where(inside & np.isfinite(step), better, coefs)
            left = _norm(problem.target - problem.rows @ better)
            if left < misfit:
                coefs, dual, misfit = better, dual + toward, left
        return coefs, dual

    def _stable_step(self) -> tuple[Float, Float]:
        """The same step, accurate however D is graded."""
        problem, at = self._problem, self.at
        toward, moved = self._fit(self.gap, self.lag)
        # The change `D (rowsᵀdν + l)` of the coefficients is also the residual of a least-squares
        # problem, which does not cancel where D is large: of both forms that with less rounding.
        by_dual = (toward @ problem.rows + self.lag) / at.clock_rates
        by_fit = moved / at.coef_rates
        noise_of_dual = (np.abs(toward) @ problem.moduli) / at.clock_rates
        noise_of_fit = np.sqrt(self.slopes) * _norm(moved / np.sqrt(self.slopes)) / at.coef_rates
        return toward, np.where(noise_of_fit < noise_of_dual, by_fit, by_dual)

    def _fit(self, gap: Float, lag: Float) -> tuple[Float, Float]:
        """`dν` and `dβ = D (rowsᵀdν + l)` by pivoted QR of `√D rowsᵀ`, its rows sorted.

        A dual that moves the misfit by less than rounding when the clocks run their full range is
        fixed by nothing; so much is added to D in every direction.
        """
        problem = self._problem
        rows, roots = problem.rows, np.sqrt(self.slopes)
        samples, features = rows.shape
        farthest = float(np.abs(self.at.clocks).max())
        if not (farthest > 0.0 and np.isfinite(roots).all()):
            return np.full(samples, np.nan), np.full(features, np.nan)
        floor = math.sqrt(EPS * problem.distance / farthest)
        matrix = np.vstack([(rows * roots).T, floor * np.eye(samples)])
        right = np.concatenate([-roots * lag, np.zeros(samples)])
        order = np.argsort(-np.einsum("ij,ij->i", matrix, matrix), kind="stable")
        basis, triangle, pivots = qr(matrix[order], mode="economic", pivoting=True)
        inside = basis.T @ right[order] + solve_triangular(triangle, gap[pivots], trans="T")
        toward = np.empty(samples)
        toward[pivots] = solve_triangular(triangle, inside)
        spread = np.empty(len(order))
        spread[order] = basis @ inside - right[order]
        return toward, roots * spread[:features]

    def _rounding(self) -> float:
        """The residual that rounding of positions and products alone can cause."""
        problem, at = self._problem, self.at
        moved = at.coef_rates * (problem.offsets + np.abs(self.positions)) + np.abs(at.coefs)
        size = self._size + _norm(moved)
        return ROUNDING_UNITS * EPS * size / problem.distance if problem.distance > 0 else 0.0


def _norm(vector: Float) -> float:
    return float(np.linalg.norm(vector))
