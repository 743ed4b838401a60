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
that few steps suffice. Where the start is far larger than the data, what is left of the change,
`μ = 1 − λ`, is followed in its logarithm instead.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, solve_triangular

from limitpoint.arrays import Float
from limitpoint.mirror import CurveMap
from limitpoint.theory.extrapolation import extrapolate
from limitpoint.theory.shifted_hessian import solve_shifted
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
# A tangent that misses more than this part of the change it should make does not lead anywhere: the
# Hessian is too graded for the cheap solve.
GOOD_TANGENT = 0.5
# The last step from a larger start is tried once what is left of it is below this part of the data.
SHRUNK = 0.3
# Newton steps allowed at one λ on the way, at the last one, and in all.
STEPS_ON_THE_WAY = 12
STEPS_AT_THE_END = 20
MAX_STEPS = 2000
# A method that has brought the misfit below that of the start of training (1, relative) but has not
# converged suffers from the Hessian's rounding rather than from a bad guess: then the stable solve
# takes over. At once if below the second value the misfit has not halved in so many steps.
NEAR = 1.0
VERY_NEAR = 1e-2
SLOW_STEPS = 3
# Steps by which the coefficients are polished: the cheap solve first, then the stable one.
POLISHING = (False, True, True)
# They are taken while the misfit is above this, relative: far below what a certificate asks for.
POLISHED = 1e-12
# The dual follows such a step if no clock moves by more than this part of the largest.
SHORT_STEP = 1e-4


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
    continuation = _Continuation(problem)
    if problem.is_trivial:
        continuation.converged = True
        return continuation.result(mirror)
    if near and mirror.is_scale_free:
        scales = [solution.log_scale for solution in near]
        guess = _Point(
            problem,
            extrapolate(scales, [solution.positions for solution in near], mirror.log_scale),
            extrapolate(scales, [solution.dual for solution in near], mirror.log_scale),
            problem.end,
        )
        if guess.residual <= GOOD_GUESS and continuation.from_point(guess, 0.0):
            return continuation.result(mirror)
        # At this scale the last solution reaches the part (s/s')^L of the way.
        log_part = mirror.degree * (mirror.log_scale - near[-1].log_scale)
        last = _Point(problem, near[-1].positions, near[-1].dual, problem.grown(log_part))
        if continuation.from_point(last, abs(log_part)):
            return continuation.result(mirror)
    if not continuation.from_the_start():
        continuation.from_a_larger_start()
    return continuation.result(mirror)


@dataclass(frozen=True, eq=False)
class _Place:
    """A target on the way from the start of training to the data.

    Attributes
    ----------
    log_unit
        Logarithm of the unit in which coefficients are measured there.
    goal
        What `rows β` must be, in that unit.
    size
        Size of the numbers of which the goal is the sum.
    is_end
        Whether it is the data.
    """

    log_unit: float
    goal: Float
    size: float
    is_end: bool


class _Equations:
    """Both equations, and the places on the way."""

    def __init__(self, mirror: CurveMap, data: Whitened) -> None:
        self.mirror, self.rows, self.moduli = mirror, data.rows, np.abs(data.rows)
        self.offsets = mirror.offsets
        self.two_sided = np.isneginf(mirror.lower) & np.isposinf(mirror.upper)
        samples, features = self.rows.shape
        self.zeros = np.zeros(features), np.zeros(samples)
        coefs = mirror.along(self.zeros[0]).coefs
        self.initial = self.rows @ coefs
        self.target = data.target
        self.change = data.target - self.initial
        self.distance = _norm(self.change)
        self.is_trivial = self.distance <= EPS * (_norm(data.target) + _norm(coefs))
        # The data themselves, not the start plus the change: a far larger start would drown them.
        self.end = _Place(0.0, self.target, _norm(self.target), is_end=True)

    def grown(self, log_part: float) -> _Place:
        """The part λ of the change added to the start, in units of λ; λ may exceed 1."""
        if log_part == 0.0:
            return self.end
        initial = self.rows @ self.mirror.along(self.zeros[0], log_part).coefs
        size = _norm(initial) + self.distance
        return _Place(log_part, initial + self.change, size, is_end=False)

    def shrunk(self, part: float) -> _Place:
        """All but the part μ of the change added to the start."""
        goal = self.target - part * self.change
        return _Place(0.0, goal, _norm(self.target) + part * self.distance, is_end=False)


class _Continuation:
    """Follows the solution on its way to the data, counting Newton steps."""

    def __init__(self, problem: _Equations) -> None:
        self.problem = problem
        self._point: _Point | None = None
        self.iterations = 0
        self.converged = False

    @property
    def point(self) -> "_Point":
        """Where it is; the start of training before anything else."""
        if self._point is None:
            self._point = _Point(self.problem, *self.problem.zeros, self.problem.end)
        return self._point

    @point.setter
    def point(self, point: "_Point") -> None:
        self._point = point

    def result(self, mirror: CurveMap) -> CurveSolution:
        """Where it ended."""
        point = self.point
        arrived = point.place.is_end
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
        start = _Point(problem, *problem.zeros, problem.grown(log_unit))
        toward, along = self._tangent(start, problem.change)
        fastest = mirror.degree * float(np.abs(along).max())
        if not 0.0 < fastest < math.inf:
            return False
        move = FIRST_MOVE / fastest
        for _ in range(FIRST_TRIALS):
            log_part = min(0.0, log_unit + math.log(move))
            part = math.exp(log_part - log_unit)
            place = problem.grown(log_part)
            if self.from_point(_Point(problem, part * along, part * toward, place), FIRST_STRIDE):
                break
            if self.point.place is not place and self.point.place.log_unit > log_part:
                break
            move /= FIRST_SHRINKAGE
        return self.converged

    def from_point(self, point: "_Point", stride: float) -> bool:
        """Follow from a point near the solution at its λ to λ = 1, from below or above."""
        problem = self.problem
        self.point, good = self._correct(point)
        while good and not self.point.place.is_end and self.iterations < MAX_STEPS:
            left = -self.point.place.log_unit
            stride = min(stride, abs(left))
            move = left if abs(left) - stride < SHORTEST_STRIDE else math.copysign(stride, left)
            place = problem.end if move == left else problem.grown(move - left)
            if self._advance(problem.change, move, place):
                stride *= STRIDE_GROWTH
            else:
                stride /= STRIDE_GROWTH
                good = stride >= SHORTEST_STRIDE
        self.converged = good and self.point.place.is_end
        return self.converged

    def from_a_larger_start(self) -> bool:
        """Follow along log μ instead, where the start is far larger than the data.

        Coefficients then shrink by orders of magnitude, which λ between ½ and 1 does not resolve.
        """
        problem = self.problem
        self.point = _Point(problem, *problem.zeros, problem.shrunk(1.0))
        part, stride = 1.0, FIRST_STRIDE
        while self.iterations < 2 * MAX_STEPS and stride >= SHORTEST_STRIDE:
            change = part * problem.change
            close = part * problem.distance <= SHRUNK * _norm(problem.target)
            if close and self._advance(change, 1.0, problem.end):
                self.converged = True
                return True
            smaller = part * math.exp(-stride)
            if self._advance(change, stride, problem.shrunk(smaller)):
                part = smaller
                stride *= STRIDE_GROWTH
            else:
                stride /= STRIDE_GROWTH
        return False

    def _advance(self, change: Float, stride: float, place: _Place) -> bool:
        """Predict along the tangent and correct; whether that succeeded."""
        toward, along = self._tangent(self.point, change)
        ahead = _Point(
            self.problem,
            self.point.positions + stride * along,
            self.point.dual + stride * toward,
            place,
        )
        found, good = self._correct(ahead)
        if good:
            self.point = found
        return good

    def _tangent(self, point: "_Point", change: Float) -> tuple[Float, Float]:
        """Derivatives of dual and positions when the goal changes at this rate."""
        self.iterations += 1
        return point.tangent(change)

    def _correct(self, point: "_Point") -> tuple["_Point", bool]:
        """Newton's method at a fixed λ: cheaply first, then by the stable solve."""
        found, good = self._iterate(point, stable=False)
        if good or not found.residual <= NEAR:
            return found, good
        return self._iterate(found, stable=True)

    def _iterate(self, point: "_Point", stable: bool) -> tuple["_Point", bool]:
        last = point.place.is_end
        slow = 0
        for _ in range(STEPS_AT_THE_END if last else STEPS_ON_THE_WAY):
            if point.is_solution:
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
                point.place,
            )
            slow = slow + 1 if 0.5 * point.residual < following.residual < VERY_NEAR else 0
            point = following
            if slow == SLOW_STEPS and not stable:
                break
        return point, point.is_solution


class _Point:
    """Positions and dual, with the misfits of both equations at a place on the way."""

    def __init__(self, problem: _Equations, positions: Float, dual: Float, place: _Place) -> None:
        self.positions, self.dual, self.place = positions, dual, place
        self._problem = problem
        with np.errstate(all="ignore"):
            self.at = at = problem.mirror.along(positions, place.log_unit)
            gap = place.goal - problem.rows @ at.coefs
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

    def tangent(self, change: Float) -> tuple[Float, Float]:
        """Derivatives of dual and positions along solutions whose goal changes at this rate."""
        rows = self._problem.rows
        with np.errstate(all="ignore"):
            toward = self.solve(change)
            moved = self.slopes * (toward @ rows)
            if not _norm(rows @ moved - change) <= GOOD_TANGENT * _norm(change):
                toward, moved = self._fit(change, np.zeros_like(self.lag))
                return toward, moved / self.at.coef_rates
            return toward, (toward @ rows) / self.at.clock_rates

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
        solution = solve_shifted(self._problem.rows, self.slopes, right)
        return np.full_like(right, np.nan) if solution is None else solution

    def polished(self) -> tuple[Float, Float]:
        """Coefficients and dual after last steps in the coefficients rather than the positions.

        The steps are within the rounding of the positions, which stay.
        """
        problem, coefs, dual = self._problem, self.at.coefs, self.dual
        misfit = _norm(problem.target - problem.rows @ coefs)
        good = POLISHED * _norm(problem.target)
        farthest = float(np.abs(self.at.clocks).max())
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
                coefs, misfit = better, left
                # A long step of the dual comes from directions that nothing fixes.
                if float(np.abs(toward @ problem.rows).max()) <= SHORT_STEP * farthest:
                    dual = dual + toward
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
        farthest = float(max(np.abs(self.at.clocks).max(), self.at.clock_rates.max()))
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
        size = self.place.size + _norm(moved)
        return ROUNDING_UNITS * EPS * size / problem.distance if problem.distance > 0 else 0.0


def _norm(vector: Float) -> float:
    return float(np.linalg.norm(vector))
