"""The equations of Newton's method in curve parameters, and their residuals at a point.

The unknowns are the curve parameters σ of the coefficients and the sample-space dual ν:

    rows β(σ) = target,        ξ(σ) = rowsᵀν.

With `D = β'/ξ'`, the primal residual `r = target − rows β` and the dual residual `l = rowsᵀν − ξ`,
a step of Newton's method solves

    (rows D rowsᵀ) dν = r − rows D l,    dσ = (rowsᵀdν + l)/ξ'.
"""

import math
from dataclasses import dataclass

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.mirror import CurveMap
from limitpoint.theory.certificates.constraint import Constraint
from limitpoint.theory.solvers.mirror.dual_coordinates import DualCoordinates
from limitpoint.theory.solvers.mirror.shifted_hessian import solve_graded, solve_shifted

__all__ = ["Equations", "Place", "Point"]

EPS = float(np.finfo(np.float64).eps)
# Primal and dual residuals are zero when they are so up to the rounding of both sides.
ROUNDING_UNITS = 8.0
# A tangent that misses more than this part of the change it should make does not lead anywhere: the
# Hessian is too graded for the cheap solve.
GOOD_TANGENT = 0.5
# Equations count as nearly linear if they depart by no more than this part of their change.
NEARLY_LINEAR = 0.5
# A residual of rounding size moves no mirror coordinate by more than this part of how far they run.
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
    """Curve parameters and dual, with the residuals of both equations at a place on the way.

    Coefficients may be given beside the curve parameters, which hold them to fewer digits where the
    start is far larger than they are.
    """

    def __init__(
        self,
        problem: Equations,
        curve_params: Float,
        dual: Float,
        place: Place,
        coordinates: DualCoordinates | None = None,
        coefs: Float | None = None,
    ) -> None:
        self.problem, self.curve_params, self.dual, self.place = problem, curve_params, dual, place
        self.coordinates = coordinates or problem.coordinates
        self._given = coefs
        with np.errstate(all="ignore"):
            self.at = at = problem.mirror.along(curve_params, place.log_unit)
            self.coefs = np.where(problem.seen, at.coefs, 0.0) if coefs is None else coefs
            self.mirror = dual @ self.coordinates.rows
            primal_residual = place.goal - problem.rows @ self.coefs
            dual_residual = self.mirror - at.mirror
            rounding = np.abs(dual) @ self.coordinates.moduli + np.abs(at.mirror)
            # A coefficient that float64 no longer tells from zero has no rate either, maybe 0/0.
            moving = problem.seen & (at.coef_rates > 0.0)
            self.coef_rates = np.where(moving, at.coef_rates, 0.0)
            self.slopes = self.coef_rates / at.mirror_rates
            primal_norm = norm(primal_residual)
            self.residual = primal_norm / problem.distance if problem.distance > 0 else 0.0
            # Residuals of rounding size would only stir the duals that nothing visible fixes.
            self.rounding = ROUNDING_UNITS * EPS * self._size()
            self.primal_residual = (
                np.zeros_like(primal_residual) if primal_norm <= self.rounding else primal_residual
            )
            # A mirror coordinate that float64 does not hold is never the dual's: next to a bound,
            # mirror coordinates end.
            within = (np.abs(dual_residual) <= ROUNDING_UNITS * EPS * rounding) & np.isfinite(
                at.mirror
            )
            self.dual_residual = np.where(within, 0.0, dual_residual)

    @property
    def is_solution(self) -> bool:
        """Whether both equations hold up to rounding."""
        return not (self.primal_residual.any() or self.dual_residual.any())

    @property
    def is_finite(self) -> bool:
        """Whether float64 holds the mirror coordinates."""
        return bool(np.isfinite(self.at.mirror).all() and np.isfinite(self.mirror).all())

    @property
    def largest_dual_residual(self) -> float:
        """Relative to how far the mirror coordinates run."""
        return float(np.abs(self.dual_residual).max()) / self._farthest()

    def moved(self, along: Float, toward: Float, place: Place) -> "Point":
        """The point at these distances in curve parameters and dual."""
        return Point(
            self.problem, self.curve_params + along, self.dual + toward, place, self.coordinates
        )

    def graded(self) -> "Point":
        """The same point with its dual in graded coordinates; itself if that overflows."""
        sizes = np.maximum(np.abs(self.at.mirror), np.abs(self.mirror))
        sizes = np.maximum(sizes, self.problem.mirror.smallest_mirror(self.at))
        if not (np.isfinite(sizes).all() and (sizes > 0.0).all()):
            return self
        coordinates = DualCoordinates.graded(self.problem.rows, sizes)
        if coordinates is None:
            return self
        dual = self.mirror[coordinates.columns]
        return Point(self.problem, self.curve_params, dual, self.place, coordinates, self._given)

    def felt(self, along: Float) -> Float:
        """A step without those of coefficients that vanish at a bound, where nothing feels them.

        There curve parameters are logarithms of what is left, and may have to fall by any number.
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
            along = other.curve_params - self.curve_params
            xi = self.at.mirror_rates * along
            bent = np.abs(other.at.mirror - self.at.mirror - xi)
            fit = self.problem.rows @ (self.coef_rates * along)
            off = self.problem.rows @ (other.at.coefs - self.at.coefs) - fit
            good = bool((bent <= NEARLY_LINEAR * np.abs(xi)).all())
            return good and norm(off) <= NEARLY_LINEAR * norm(fit)

    def tangent(self, change: Float, stable: bool) -> tuple[Float, Float]:
        """Derivatives of dual and curve parameters when the goal changes at this rate."""
        rows = self.coordinates.rows
        with np.errstate(all="ignore"):
            if not stable:
                toward = self.solve(change)
                xi = toward @ rows
                moved = self.slopes * xi
                if norm(self.problem.rows @ moved - change) <= GOOD_TANGENT * norm(change):
                    return toward, xi / self.at.mirror_rates
            return self._stable(change, np.zeros_like(self.dual_residual))

    def step(self, stable: bool) -> tuple[Float, Float]:
        """Newton's step for dual and curve parameters; if stable, accurate however D is graded."""
        with np.errstate(all="ignore"):
            if stable:
                return self._stable(self.primal_residual, self.dual_residual)
            toward = self.solve(
                self.primal_residual - self.problem.rows @ (self.slopes * self.dual_residual)
            )
            return toward, (
                toward @ self.coordinates.rows + self.dual_residual
            ) / self.at.mirror_rates

    def _stable(self, right: Float, dual_residual: Float) -> tuple[Float, Float]:
        """`dν` and `dσ` by the stable solve.

        The change `D (rowsᵀdν + l)` of the coefficients is also the residual of a least-squares
        problem, which does not cancel where D is large: of both forms that with less rounding.
        """
        at, roots = self.at, np.sqrt(self.slopes)
        toward, moved = self.solve_stably(right, dual_residual)
        by_dual = (toward @ self.coordinates.rows + dual_residual) / at.mirror_rates
        by_fit = moved / self.coef_rates
        rounding_of_dual = (np.abs(toward) @ self.coordinates.moduli) / at.mirror_rates
        # A coefficient that float64 no longer tells from zero does not move: it has no part in it.
        spread = norm(np.divide(moved, roots, out=np.zeros_like(moved), where=roots > 0.0))
        rounding_of_fit = roots * spread / self.coef_rates
        return toward, np.where(rounding_of_fit < rounding_of_dual, by_fit, by_dual)

    def solve(self, right: Float) -> Float:
        """Solve with the (slightly shifted) Hessian `rows D rowsᵀ`; NaN if it overflows."""
        turned = self.coordinates.turned(right)
        solution = solve_shifted(self.coordinates.rows, self.slopes, turned)
        return np.full_like(right, np.nan) if solution is None else solution

    def solve_stably(self, right: Float, dual_residual: Float) -> tuple[Float, Float]:
        """`dν` and `dβ = D (rowsᵀdν + l)`.

        A dual that moves the residual by less than rounding when the mirror coordinates run their
        full range is fixed by nothing; so much is added to D in every direction.
        """
        shift = self.rounding / (MOVED_BY_ROUNDING * self._farthest())
        turned = self.coordinates.turned(right)
        return solve_graded(self.coordinates.rows, self.slopes, turned, dual_residual, shift)

    def _farthest(self) -> float:
        """How far the mirror coordinates run, or would with curve parameters of order one.

        NaN if nowhere.
        """
        return float(max(np.abs(self.at.mirror).max(), self.at.mirror_rates.max())) or np.nan

    def _size(self) -> float:
        """The size of what rounds the residual: coefficients, or their curve parameters."""
        sizes = np.abs(self.coefs)
        if self._given is None:
            sizes += self.coef_rates * (self.problem.offsets + np.abs(self.curve_params))
        return self.place.size + norm(sizes)


def norm(vector: Float) -> float:
    """The Euclidean norm, as a float."""
    return math.sqrt(float(vector @ vector))
