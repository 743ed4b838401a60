"""Newton's method for mirror maps given along their curve: curve parameters and duals together.

Where mirror coordinates have a pole, `Ψ(rowsᵀν)` cannot be evaluated from ν in float64: a visible
coefficient sits within `s^{L−2}` of its pole. The curve parameters σ hold it to all digits, and the
equation `ξ(σ) = rowsᵀν` need hold only as far as float64 resolves the mirror coordinates, like the
dual constraint of an interior-point method (`limitpoint.theory.solvers.mirror.curve_equations`).

The solution is followed from the start of training, where σ = ν = 0, to the data: the target is
`rows β(0) + λ (target − rows β(0))`, λ from 0 to 1. For small scales λ covers many orders of
magnitude, and curve parameters are linear in log λ but for the moments where a coefficient
activates, so that few steps suffice. Where the start is far larger than the data, what is left of
the change, `μ = 1 − λ`, is followed in its logarithm instead.

That is done cheaply first. Where a coefficient activates whose start is smaller than the others by
orders of magnitude, mirror coordinates differ by the inverse powers of that, and nearly all of the
way happens at one λ: then the same ways are gone with the dual in graded coordinates, stable
solves, and as many steps at one λ as it takes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.mirror import CurveMap
from limitpoint.theory.certificates.constraint import Constraint
from limitpoint.theory.solvers.mirror.curve_equations import Equations, Place, Point, norm
from limitpoint.theory.solvers.mirror.extrapolation import extrapolate
from limitpoint.theory.solvers.mirror.polishing import error_of, polished

__all__ = ["CurveSolution", "solve_on_curves"]

# On the way to the data a point is good enough to go on from when its relative residual
# and the next step are below this: Newton's method then doubles its digits.
ON_THE_WAY = 1e-3
# A curve parameter is a logarithm of parameters, and L times it one of the coefficient: a step of
# Newton's method that changes that by more is cut to this, since exponentials are linear over less.
LONGEST_STEP = 6.0
# In graded coordinates it may grow by this factor as long as the equations are nearly linear all
# the same: a coefficient next to zero falls by hundreds in the logarithm, and nothing feels it.
STEP_GROWTH = 2.0
# The first λ changes no coefficient by more than this part of itself, to first order; if that
# fails, by so many times less, again and again.
FIRST_MOVE = 1.0
FIRST_SHRINKAGE = 10.0
FIRST_TRIALS = 8
# Strides in log λ: the first, and their growth after a success (or shrinkage after a failure).
FIRST_STRIDE = 1.0
STRIDE_GROWTH = 3.0
SHORTEST_STRIDE = 1e-6
# A point extrapolated from other scales is worth correcting if its primal and dual residuals are
# below this: a dual that nothing fixes may be anywhere at each scale, and beyond the poles once
# extrapolated.
GOOD_GUESS = 0.1
# The last step from a larger start is tried once what is left of it is below this part of the data.
SHRUNK = 0.3
# A solution in which an equation is off by more, relative, is sought again with graded coordinates.
POOR = 1e-10
# Newton steps allowed at one λ on the way, and at the last one.
STEPS_ON_THE_WAY = 12
STEPS_AT_THE_END = 20
# The same in graded coordinates: the logarithms of float64 run over some 700 in either direction,
# and a step that is cut takes one of them LONGEST_STEP ahead.
STEPS_IF_GRADED = 120
# And where coefficients that vanish do not hold the others back.
STEPS_IN_TURN = 400
# In all on one way.
MAX_STEPS = 2000
# A method that has brought the residual below that of the start of training (1, relative) but has
# not converged suffers from the Hessian's rounding rather than from a bad guess: then the stable
# solve takes over. At once if below the second value the residual has not halved in so many steps,
# or if it has grown from there to beyond the first.
NEAR = 1.0
VERY_NEAR = 1e-2
SLOW_STEPS = 3


@dataclass(frozen=True, eq=False)
class CurveSolution:
    """Curve parameters and dual, in the reduced sample space and the map's unit of ξ.

    The coefficients are those of the curve parameters, plus what the rounding of curve parameters
    takes from them: from a start of size s^L, curve parameters hold coefficients to eps·s^L,
    coefficients themselves to eps. The mirror coordinates are those of the dual, plus what its
    rounding takes from the small ones.
    """

    curve_params: Float
    coefs: Float
    mirror: Float
    dual: Float
    log_scale: float
    iterations: int
    converged: bool
    error: float  # of both equations, relative


def solve_on_curves(
    mirror: CurveMap,
    data: Constraint,
    near: Sequence[CurveSolution] = (),
    *,
    graded_only: bool = False,
) -> CurveSolution:
    """Solve both equations, from the start of training or from solutions at other scales.

    At once in graded coordinates of the dual if it is known that others will not do.
    """
    problem = Equations(mirror, data)
    continuation = _Continuation(problem)
    if problem.is_trivial:
        continuation.converged = True
        return continuation.result()
    if near:
        scales = [solution.log_scale for solution in near]
        dual = extrapolate(scales, [solution.dual for solution in near], mirror.log_scale)
        curve_params = (
            extrapolate(scales, [solution.curve_params for solution in near], mirror.log_scale)
            if mirror.is_scale_free
            else mirror.curve_params(dual @ data.rows)
        )
        guess = Point(problem, curve_params, dual, problem.end)
        near_enough = guess.residual <= GOOD_GUESS and guess.largest_dual_residual <= GOOD_GUESS
        if near_enough and continuation.from_point(guess, 0.0):
            return continuation.result()
    if near and mirror.is_scale_free:
        # At this scale the last solution reaches the part (s/s')^L of the way.
        log_part = mirror.degree * (mirror.log_scale - near[-1].log_scale)
        last = Point(problem, near[-1].curve_params, near[-1].dual, problem.grown(log_part))
        if continuation.from_point(last, abs(log_part)):
            return continuation.result()
    # The last two: without holding back for coefficients that vanish, which then take turns.
    modes = [
        (False, False, STEPS_ON_THE_WAY),
        (True, False, STEPS_IF_GRADED),
        (True, True, STEPS_IF_GRADED),
        (True, True, STEPS_IN_TURN),
    ]
    found = None
    for continuation.graded, continuation.felt_only, continuation.patience in modes[graded_only:]:
        if continuation.from_the_start() or continuation.from_a_larger_start():
            again = continuation.result()
            found = again if found is None or again.error < found.error else found
            if found.error <= POOR:
                break
    return continuation.result() if found is None else found


class _Continuation:
    """Follows the solution on its way to the data, counting Newton steps."""

    def __init__(self, problem: Equations) -> None:
        self.problem = problem
        self._point: Point | None = None
        self.iterations = 0
        self.converged = False
        self.graded = self.felt_only = False
        self.patience = STEPS_ON_THE_WAY

    @property
    def point(self) -> Point:
        """Where it is; the start of training before anything else."""
        if self._point is None:
            self._point = Point(self.problem, *self.problem.zeros, self.problem.end)
        return self._point

    @point.setter
    def point(self, point: Point) -> None:
        self._point = point

    def result(self) -> CurveSolution:
        """The solution where the method ended."""
        point = polished(self.point) if self.point.place.is_end else self.point
        error = error_of(point) if self.point.place.is_end else np.inf
        return CurveSolution(
            curve_params=point.curve_params,
            coefs=np.where(self.problem.seen, point.coefs, self.problem.start),
            mirror=point.mirror,
            dual=point.coordinates.orthonormal(point.dual),
            log_scale=self.problem.mirror.log_scale,
            iterations=self.iterations,
            converged=self.converged,
            error=error,
        )

    def from_the_start(self) -> bool:
        """Follow from λ = 0, beginning where the linear map still holds."""
        # In the size of the start as unit nothing there vanishes in float64.
        problem, mirror = self.problem, self.problem.mirror
        log_unit = min(0.0, mirror.degree * mirror.log_scale)
        start = Point(problem, *problem.zeros, problem.grown(log_unit))
        start = start.graded() if self.graded else start
        toward, along = self._tangent(start, problem.change)
        fastest = mirror.degree * float(np.abs(along).max())
        if not 0.0 < fastest < math.inf:
            return False
        move = FIRST_MOVE / fastest
        for _ in range(FIRST_TRIALS):
            log_part = min(0.0, log_unit + math.log(move))
            part = math.exp(log_part - log_unit)
            place = problem.grown(log_part)
            if self.from_point(start.moved(part * along, part * toward, place), FIRST_STRIDE):
                break
            if self.point.place is not place and self.point.place.log_unit > log_part:
                break
            move /= FIRST_SHRINKAGE
        return self.converged

    def from_point(self, point: Point, stride: float) -> bool:
        """Follow from a point near the solution at its λ to λ = 1, from below or above."""
        problem, limit = self.problem, self.iterations + MAX_STEPS
        self.point, good = self._correct(point)
        while good and not self.point.place.is_end and self.iterations < limit:
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
        problem, limit = self.problem, self.iterations + MAX_STEPS
        self.point = Point(problem, *problem.zeros, problem.shrunk(1.0))
        part, stride = 1.0, FIRST_STRIDE
        while self.iterations < limit and stride >= SHORTEST_STRIDE:
            change = part * problem.change
            close = part * problem.distance <= SHRUNK * norm(problem.target)
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

    def _advance(self, change: Float, stride: float, place: Place) -> bool:
        """Predict along the tangent and correct; whether that succeeded."""
        point = self.point.graded() if self.graded else self.point
        toward, along = self._tangent(point, change)
        ahead = point.moved(stride * along, stride * toward, place)
        if self.graded and not ahead.is_finite:
            # Where all of the way happens at one λ, the tangent leads anywhere but there.
            stride *= LONGEST_STEP / (self.problem.mirror.degree * float(np.abs(along).max()))
            ahead = point.moved(stride * along, stride * toward, place)
        found, good = self._correct(ahead)
        if good:
            self.point = found
        return good

    def _tangent(self, point: Point, change: Float) -> tuple[Float, Float]:
        """Derivatives of dual and curve parameters when the goal changes at this rate."""
        self.iterations += 1
        return point.tangent(change, stable=self.graded)

    def _correct(self, point: Point) -> tuple[Point, bool]:
        """Newton's method at a fixed λ: cheaply first, then by the stable solve."""
        if self.graded:
            return self._iterate(point, stable=True)
        found, good = self._iterate(point, stable=False)
        if good:
            return found, True
        # A point that was near enough before is so still.
        nearer = point if point.residual <= VERY_NEAR else found
        if not nearer.residual <= NEAR:
            return found, False
        return self._iterate(nearer, stable=True)

    def _iterate(self, point: Point, stable: bool) -> tuple[Point, bool]:
        last = point.place.is_end
        slow, nearest, longest_step = 0, point.residual, LONGEST_STEP
        for _ in range(self._most_steps(last)):
            if point.is_solution:
                return point, True
            point = point.graded() if self.graded else point
            toward, along = point.step(stable)
            self.iterations += 1
            if not np.isfinite(along).all():
                return point, False
            longest = float(np.abs(point.felt(along) if self.felt_only else along).max())
            if not math.isfinite(longest) or (self.graded and not point.is_finite):
                return point, False
            if not last and point.residual <= ON_THE_WAY and longest <= ON_THE_WAY:
                return point, True
            longest *= self.problem.mirror.degree
            length = min(1.0, longest_step / longest) if longest > 0 else 1.0
            following = point.moved(length * along, length * toward, point.place)
            if self.graded:
                if point.is_linear_to(following):
                    longest_step *= STEP_GROWTH
                elif longest_step > LONGEST_STEP:
                    longest_step = LONGEST_STEP
                    continue
            slow = slow + 1 if 0.5 * point.residual < following.residual < VERY_NEAR else 0
            point = following
            lost = nearest <= VERY_NEAR and not following.residual <= NEAR
            if (slow == SLOW_STEPS or lost) and not stable:
                break
        return point, point.is_solution

    def _most_steps(self, last: bool) -> int:
        if self.graded:
            return self.patience
        return STEPS_AT_THE_END if last else STEPS_ON_THE_WAY
