"""The equations of Newton's method in positions, and their residuals at a point.

The unknowns are the positions σ of the coefficients and the sample-space dual ν:

    rows β(σ) = target,        ξ(σ) = rowsᵀν.

With `D = β'/ξ'`, `r` the misfit of the first equation and `l` that of the second (the lag of the
clocks behind the dual), a step of Newton's method solves

    (rows D rowsᵀ) dν = r − rows D l,    dσ = (rowsᵀdν + l)/ξ'.
"""

import math
from dataclasses import dataclass

import numpy as np

from limitpoint.arrays import Float
from limitpoint.mirror import CurveMap
from limitpoint.theory.certificates.constraint import Constraint
from limitpoint.theory.solvers.mirror.dual_coordinates import DualCoordinates
from limitpoint.theory.solvers.mirror.shifted_hessian import solve_graded, solve_shifted

__all__ = ["Equations", "Place", "Point"]

EPS = float(np.finfo(np.float64).eps)
# Misfits and lags are zero when they are so up to the rounding of both sides.
ROUNDING_UNITS = 8.0
# A tangent that misses more than this part of the change it should make does not lead anywhere: the
# Hessian is too graded for the cheap solve.
GOOD_TANGENT = 0.5
# Equations count as nearly linear if they depart by no more than this part of their change.
NEARLY_LINEAR = 0.5
# A misfit of rounding size moves no clock by more than this part of how far the clocks run.
MOVED_BY_ROUNDING = 0.1
# A coefficient that vanishes is not felt if all that its step would change is below this part.
UNFELT = 1e-6


@dataclass(frozen=True, eq=False)
class Place:
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


class Equations:
    """Both equations, and the places on the way."""

    def __init__(self, mirror: CurveMap, data: Constraint) -> None:
        self.mirror, self.rows, self.data = mirror, data.rows, data
        self.coordinates = DualCoordinates(data.rows)
        self.offsets = mirror.offsets
        self.lengths = np.linalg.norm(data.rows, axis=0)
        # A column of zeros moves nothing: its coefficient stays at its start and has no part in the
        # equations, nor in the size that rounding is relative to.
        self.seen = data.seen
        samples, features = self.rows.shape
        self.zeros = np.zeros(features), np.zeros(samples)
        self.start = mirror.along(self.zeros[0]).coefs
        coefs = self.start * self.seen
        self.initial = self.rows @ coefs
        self.target = data.target
        self.change = data.target - self.initial
        self.distance = norm(self.change)
        self.is_trivial = self.distance <= EPS * (norm(data.target) + norm(coefs))
        # The data themselves, not the start plus the change: a far larger start would drown them.
        self.end = Place(0.0, self.target, norm(self.target), is_end=True)

    def grown(self, log_part: float) -> Place:
        """The part λ of the change added to the start, in units of λ; λ may exceed 1."""
        if log_part == 0.0:
            return self.end
        initial = self.rows @ self.mirror.along(self.zeros[0], log_part).coefs
        size = norm(initial) + self.distance
        return Place(log_part, initial + self.change, size, is_end=False)

    def shrunk(self, part: float) -> Place:
        """All but the part μ of the change added to the start."""
        goal = self.target - part * self.change
        return Place(0.0, goal, norm(self.target) + part * self.distance, is_end=False)


class Point:
    """Positions and dual, with the misfits of both equations at a place on the way.

    Coefficients may be given beside the positions, which hold them to fewer digits where the start
    is far larger than they are.
    """

    def __init__(
        self,
        problem: Equations,
        positions: Float,
        dual: Float,
        place: Place,
        coordinates: DualCoordinates | None = None,
        coefs: Float | None = None,
    ) -> None:
        self.problem, self.positions, self.dual, self.place = problem, positions, dual, place
        self.coordinates = coordinates or problem.coordinates
        self._given = coefs
        with np.errstate(all="ignore"):
            self.at = at = problem.mirror.along(positions, place.log_unit)
            self.coefs = np.where(problem.seen, at.coefs, 0.0) if coefs is None else coefs
            self.clocks = dual @ self.coordinates.rows
            gap = place.goal - problem.rows @ self.coefs
            lag = self.clocks - at.clocks
            noise = np.abs(dual) @ self.coordinates.moduli + np.abs(at.clocks)
            # A coefficient that float64 no longer tells from zero has no rate either, maybe 0/0.
            moving = problem.seen & (at.coef_rates > 0.0)
            self.coef_rates = np.where(moving, at.coef_rates, 0.0)
            self.slopes = self.coef_rates / at.clock_rates
            misfit = norm(gap)
            self.residual = misfit / problem.distance if problem.distance > 0 else 0.0
            # Misfits of rounding errors would only stir the duals that nothing visible fixes.
            self.rounding = ROUNDING_UNITS * EPS * self._size()
            self.gap = np.zeros_like(gap) if misfit <= self.rounding else gap
            # A clock that float64 does not hold is never the dual's: next to a bound, clocks end.
            within = (np.abs(lag) <= ROUNDING_UNITS * EPS * noise) & np.isfinite(at.clocks)
            self.lag = np.where(within, 0.0, lag)

    @property
    def is_solution(self) -> bool:
        """Whether both equations hold up to rounding."""
        return not (self.gap.any() or self.lag.any())

    @property
    def is_finite(self) -> bool:
        """Whether float64 holds the clocks."""
        return bool(np.isfinite(self.at.clocks).all() and np.isfinite(self.clocks).all())

    @property
    def largest_lag(self) -> float:
        """Relative to how far the clocks run."""
        return float(np.abs(self.lag).max()) / self._farthest()

    def moved(self, along: Float, toward: Float, place: Place) -> "Point":
        """The point at these distances in positions and dual."""
        return Point(
            self.problem, self.positions + along, self.dual + toward, place, self.coordinates
        )

    def graded(self) -> "Point":
        """The same point, its dual in coordinates that suit its clocks; itself if it overflows."""
        sizes = np.maximum(np.abs(self.at.clocks), np.abs(self.clocks))
        sizes = np.maximum(sizes, self.problem.mirror.smallest_clocks(self.at))
        if not (np.isfinite(sizes).all() and (sizes > 0.0).all()):
            return self
        coordinates = DualCoordinates.graded(self.problem.rows, sizes)
        if coordinates is None:
            return self
        dual = self.clocks[coordinates.columns]
        return Point(self.problem, self.positions, dual, self.place, coordinates, self._given)

    def felt(self, along: Float) -> Float:
        """A step without those of coefficients that vanish at a bound, where nothing feels them.

        There positions are logarithms of what is left, and may have to fall by any number.
        """
        mirror = self.problem.mirror
        down, up = np.isfinite(mirror.lower) & (along < 0), np.isfinite(mirror.upper) & (along > 0)
        with np.errstate(all="ignore"):
            change = self.coef_rates * np.abs(along) * self.problem.lengths
        vanishing = (down | up) & (change <= UNFELT * self.place.size)
        return np.where(vanishing, 0.0, along)

    def is_linear_to(self, other: "Point") -> bool:
        """Whether both equations change up to there as their derivatives here say, by and large."""
        with np.errstate(all="ignore"):
            along = other.positions - self.positions
            clocks = self.at.clock_rates * along
            bent = np.abs(other.at.clocks - self.at.clocks - clocks)
            fit = self.problem.rows @ (self.coef_rates * along)
            off = self.problem.rows @ (other.at.coefs - self.at.coefs) - fit
            good = bool((bent <= NEARLY_LINEAR * np.abs(clocks)).all())
            return good and norm(off) <= NEARLY_LINEAR * norm(fit)

    def tangent(self, change: Float, stable: bool) -> tuple[Float, Float]:
        """Derivatives of dual and positions along solutions whose goal changes at this rate."""
        rows = self.coordinates.rows
        with np.errstate(all="ignore"):
            if not stable:
                toward = self.solve(change)
                clocks = toward @ rows
                moved = self.slopes * clocks
                if norm(self.problem.rows @ moved - change) <= GOOD_TANGENT * norm(change):
                    return toward, clocks / self.at.clock_rates
            return self._stable(change, np.zeros_like(self.lag))

    def step(self, stable: bool) -> tuple[Float, Float]:
        """Newton's step for dual and positions; if stable, accurate however D is graded."""
        with np.errstate(all="ignore"):
            if stable:
                return self._stable(self.gap, self.lag)
            toward = self.solve(self.gap - self.problem.rows @ (self.slopes * self.lag))
            return toward, (toward @ self.coordinates.rows + self.lag) / self.at.clock_rates

    def _stable(self, right: Float, lag: Float) -> tuple[Float, Float]:
        """`dν` and `dσ` by the stable solve.

        The change `D (rowsᵀdν + l)` of the coefficients is also the residual of a least-squares
        problem, which does not cancel where D is large: of both forms that with less rounding.
        """
        at, roots = self.at, np.sqrt(self.slopes)
        toward, moved = self.solve_stably(right, lag)
        by_dual = (toward @ self.coordinates.rows + lag) / at.clock_rates
        by_fit = moved / self.coef_rates
        noise_of_dual = (np.abs(toward) @ self.coordinates.moduli) / at.clock_rates
        # A coefficient that float64 no longer tells from zero does not move: it has no part in it.
        spread = norm(np.divide(moved, roots, out=np.zeros_like(moved), where=roots > 0.0))
        noise_of_fit = roots * spread / self.coef_rates
        return toward, np.where(noise_of_fit < noise_of_dual, by_fit, by_dual)

    def solve(self, right: Float) -> Float:
        """Solve with the (slightly shifted) Hessian `rows D rowsᵀ`; NaN if it overflows."""
        turned = self.coordinates.turned(right)
        solution = solve_shifted(self.coordinates.rows, self.slopes, turned)
        return np.full_like(right, np.nan) if solution is None else solution

    def solve_stably(self, right: Float, lag: Float) -> tuple[Float, Float]:
        """`dν` and `dβ = D (rowsᵀdν + l)`.

        A dual that moves the misfit by less than rounding when the clocks run their full range is
        fixed by nothing; so much is added to D in every direction.
        """
        shift = self.rounding / (MOVED_BY_ROUNDING * self._farthest())
        turned = self.coordinates.turned(right)
        return solve_graded(self.coordinates.rows, self.slopes, turned, lag, shift)

    def _farthest(self) -> float:
        """How far the clocks run, or would with positions of order one; NaN if nowhere."""
        return float(max(np.abs(self.at.clocks).max(), self.at.clock_rates.max())) or np.nan

    def _size(self) -> float:
        """Of the numbers whose rounding the misfit carries: of coefficients or their positions."""
        sizes = np.abs(self.coefs)
        if self._given is None:
            sizes += self.coef_rates * (self.problem.offsets + np.abs(self.positions))
        return self.place.size + norm(sizes)


def norm(vector: Float) -> float:
    """Euclidean."""
    return math.sqrt(float(vector @ vector))
