"""Which coefficients can be other than zero in a best fit that keeps their signs.

Decided by linear programs in units in which neither rows nor columns have any: rows in units of
their targets, columns in units of what they contribute. What a program says is proved by its
multipliers: coefficients vanish in every such fit if some ν has `x_iᵀν = 0` for those that do not
and `±x_iᵀν > 0`, on their side, for those that do (Farkas).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog, lsq_linear

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.linalg import equilibrate
from limitpoint.mirror import MirrorMap
from limitpoint.theory.certificates.constraint import Constraint
from limitpoint.theory.solvers.sign_constraints.exact_signs import ExactSigns, is_small

__all__ = ["Face", "ScaledData"]

# Programs are solved to this (HiGHS), in the units below.
PROGRAM_TOLERANCE = 1e-10
HIGHS = {
    "primal_feasibility_tolerance": PROGRAM_TOLERANCE,
    "dual_feasibility_tolerance": PROGRAM_TOLERANCE,
}
# A coefficient is at its bound if it contributes less than this part of every target: a hundred
# times what a program leaves open.
AT_BOUND = 100 * PROGRAM_TOLERANCE
# The active set of the constrained least squares is found to this, relative.
LEAST_SQUARES_TOLERANCE = 1e-14
# Rows smaller than this part of the largest: where there are so many samples and features that
# rational arithmetic is too slow, rounding of the large rows' residuals may hide them.
GRADED = 1e-6
# A slope counts as one if it is above this part of the terms that it is added up from.
PROVED = 1e-9

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ScaledData:
    """`matrix @ (β / units) = target`: rows in units of their targets, columns equilibrated."""

    matrix: Float
    target: Float
    units: Float

    @classmethod
    def of(cls, X: Float, fit: Float, y: Float) -> "ScaledData":
        """Rows whose target is zero are equilibrated too."""
        by_row, by_column = equilibrate(X)
        sizes = np.abs(y)
        with np.errstate(divide="ignore"):
            scales = np.where(sizes > 0, 1.0 / sizes, by_row)
        matrix = scales[:, None] * X
        largest = np.abs(matrix).max(axis=0, initial=0.0)
        units = np.divide(1.0, largest, out=by_column.copy(), where=largest > 0)
        return cls(matrix * units, scales * fit, units)

    def interior(self, mirror: MirrorMap) -> float:
        """How far inside all bounds a fit can be, at most 1; −∞ if none is within them.

        A linear program in (b, t): max t with `matrix b = target`, and b at least t from every
        bound that is finite.
        """
        movable = mirror.lower < mirror.upper
        below = np.flatnonzero(movable & np.isfinite(mirror.lower))
        above = np.flatnonzero(movable & np.isfinite(mirror.upper))
        n = len(self.units)
        if below.size + above.size == 0:
            return 1.0
        apart = np.zeros((below.size + above.size, n + 1))
        apart[np.arange(below.size), below] = -1.0
        apart[below.size + np.arange(above.size), above] = 1.0
        apart[:, n] = 1.0
        bounds = np.concatenate([-mirror.lower[below], mirror.upper[above]])
        found = linprog(
            np.append(np.zeros(n), -1.0),
            A_ub=apart,
            b_ub=bounds / self.units[np.concatenate([below, above])],
            A_eq=np.hstack([self.matrix, np.zeros((len(self.target), 1))]),
            b_eq=self.target,
            bounds=[(None, None)] * n + [(None, 1.0)],
            method="highs",
            options=HIGHS,
        )
        return float(found.x[n]) if found.success else -np.inf

    def grown(self, signs: Float, open_: Mask, waiting: NDArray[np.intp]) -> "_Grown | None":
        """How far from zero the waiting coefficients can be together, each counted up to 1.

        Coefficients keep their signs (0: free), those that are not open stay zero. None: no fit
        does.
        """
        n = len(self.units)
        pick = np.zeros((waiting.size, n + waiting.size))
        pick[np.arange(waiting.size), waiting] = -signs[waiting]
        pick[np.arange(waiting.size), n + np.arange(waiting.size)] = 1.0
        within = [
            (0.0, 0.0)
            if not can
            else (0.0, None)
            if s > 0
            else (None, 0.0)
            if s < 0
            else (None, None)
            for s, can in zip(signs, open_, strict=True)
        ]
        found = linprog(
            np.concatenate([np.zeros(n), -np.ones(waiting.size)]),
            A_ub=pick,
            b_ub=np.zeros(waiting.size),
            A_eq=np.hstack([self.matrix, np.zeros((len(self.target), waiting.size))]),
            b_eq=self.target,
            bounds=[*within, *[(None, 1.0)] * waiting.size],
            method="highs",
            options=HIGHS,
        )
        if not found.success:
            return None
        return _Grown(np.asarray(found.x[n:]), -np.asarray(found.eqlin.marginals))


@dataclass(frozen=True, eq=False)
class _Grown:
    reached: Float
    multipliers: Float


@dataclass(frozen=True, eq=False)
class Face:
    """The coefficients that are not zero in some best fit which keeps their signs.

    Attributes
    ----------
    alive
        Which these are.
    fits
        Whether y itself is such a fit.
    unproved
        What is left of a proof that the others vanish in all of them: at most rounding. None where
        none is needed, because the loss would grow with each of them.
    """

    alive: Mask
    fits: bool
    unproved: float | None

    @classmethod
    def of(cls, X: Float, y: Float, mirror: MirrorMap) -> "Face":
        """Of coefficients that are bounded by zero on one side, or not at all."""
        movable = mirror.lower < mirror.upper
        X = X * movable
        signs = np.where(mirror.lower == 0, 1.0, np.where(mirror.upper == 0, -1.0, 0.0)) * movable
        seen = movable & X.any(axis=0)
        scaled = ScaledData.of(X, y, y)
        if scaled.grown(signs, movable, np.flatnonzero(seen & (signs != 0))) is not None:
            return cls._grow(scaled, signs, movable, movable & (signs == 0) | ~seen, True)
        return cls._least_squares(X, y, signs, movable, mirror)

    @classmethod
    def _grow(
        cls, scaled: ScaledData, signs: Float, open_: Mask, alive: Mask, fits: bool
    ) -> "Face":
        """While some coefficient at zero can leave it, move as many as possible.

        Convex combinations of fits are fits, so that what was once alive stays so.
        """
        alive = alive.copy()
        while True:
            waiting = np.flatnonzero(open_ & ~alive)
            if not waiting.size:
                return cls(alive, fits, None)
            found = scaled.grown(signs, open_, waiting)
            if found is None:
                return cls(alive, fits, np.inf)
            joined = waiting[found.reached > AT_BOUND]
            if not joined.size:
                left = _unproved(scaled.matrix, found.multipliers, signs, alive, waiting)
                return cls(alive, fits, left)
            alive[joined] = True

    @classmethod
    def _least_squares(
        cls, X: Float, y: Float, signs: Float, movable: Mask, mirror: MirrorMap
    ) -> "Face":
        """Where no coefficients of these signs fit y: the best fit is unique, its face is not."""
        seen = X.any(axis=0)
        if is_small(X):
            exact = ExactSigns.of(X[:, seen], y, signs[seen])
            used, held = np.zeros(len(signs), np.bool_), np.zeros(len(signs), np.bool_)
            used[seen], held[seen] = exact.used, exact.held
            used |= movable & (signs == 0)
            fit = Constraint.of(X * used, y).fit
            hidden = False
        else:
            used, held, fit, hidden = _by_floats(X, y, signs, movable, mirror)
        face = cls._grow(ScaledData.of(X, fit, fit), signs, movable & ~held, used | ~seen, False)
        return replace(face, unproved=np.inf) if hidden else face


def _by_floats(
    X: Float, y: Float, signs: Float, movable: Mask, mirror: MirrorMap
) -> tuple[Mask, Mask, Float, bool]:
    """What is used and what is held at zero, the fit, and whether rounding hides some slope.

    Columns in units of what they contribute; rows are as given, they weigh as they do.
    """
    units = ScaledData.of(X, y, y).units
    scale = float(np.abs(X * units).max()) or 1.0
    low, high = np.where(movable, mirror.lower, -np.inf), np.where(movable, mirror.upper, np.inf)
    found = lsq_linear(
        X * units / scale,
        y / (float(np.linalg.norm(y)) or 1.0),
        bounds=(low / units, high / units),
        method="bvls",
        tol=LEAST_SQUARES_TOLERANCE,
    )
    used = movable & ((signs == 0) | (found.x != 0.0))
    fit = Constraint.of(X * used, y).fit
    slopes = X.T @ (y - fit)
    # What is held at zero by a slope that points there stays zero in all best fits.
    held = ~used & (signs * slopes < -PROVED * (np.abs(X).T @ (np.abs(y) + np.abs(fit))))
    sizes = np.abs(X).max(axis=1, initial=0.0)
    sizes = sizes[sizes > 0]
    return used, held, fit, bool(sizes.size and sizes.min() < GRADED * sizes.max())


def _unproved(
    matrix: Float, multipliers: Float, signs: Float, alive: Mask, waiting: NDArray[np.intp]
) -> float:
    """The largest `|x_iᵀν|` of those alive, relative; infinite if some other has next to none."""
    slopes = multipliers @ matrix
    terms = np.abs(multipliers) @ np.abs(matrix)
    shares = np.divide(slopes, terms, out=np.zeros_like(slopes), where=terms > 0)
    if not (signs[waiting] * shares[waiting] > PROVED).all():
        return np.inf
    return float(np.abs(shares[alive]).max(initial=0.0))
