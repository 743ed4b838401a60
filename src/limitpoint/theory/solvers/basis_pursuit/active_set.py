"""Least squares over a box, for the few coefficients that may move at a saddle.

``min ½‖Xk − y‖²`` over ``lowᵢ ≤ kᵢ ≤ highᵢ`` for the candidates, all other coefficients fixed:
line 15 of Algorithm 1 (zhao), where a box is ``[0, ∞)`` or ``(−∞, 0]``. The method is that of
Lawson & Hanson (1974, chapter 23) and Stark & Parker (1995), started from the previous saddle:
the *passive* coefficients are free, the others sit at an end of their box.

Notation: P passive set, ``target = y − Σ_{i∉P} xᵢkᵢ``, ``r = y − Xk``.
"""

from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from limitpoint.foundation.arrays import Float
from limitpoint.theory.certificates.compensated import residuals
from limitpoint.theory.solvers.basis_pursuit.certify.row_scales import row_scales
from limitpoint.theory.solvers.basis_pursuit.column_factor import EPS, ColumnFactor
from limitpoint.theory.solvers.basis_pursuit.data_matrix import Design
from limitpoint.theory.solvers.basis_pursuit.graded_factor import GradedFactor
from limitpoint.theory.solvers.basis_pursuit.mirror_coordinates import Rounding

# |xᵢᵀr| below this fraction of ‖xᵢ‖‖r‖ is rounding error: r is orthogonal to the passive columns to
# a few EPS·‖r‖, and the dot product adds at most about √m·EPS (random signs) of ‖xᵢ‖‖r‖.
ORTHOGONALITY_TOL = 64 * EPS
# A residual below this fraction of ‖y‖ (or of ‖target‖) is the rounding error of its projection;
# row by row, one below this fraction of what is added up in the row.
RESIDUAL_TOL = 64 * EPS
# Rounding of the terms of a row, in EPS: theirs and that of their sum. Well below RESIDUAL_TOL, so
# that a path does not end before the rows are fitted.
ROUNDING_UNITS = 4.0
# Rows that differ in size by more than this are factorised row by row from the start:
# `ColumnFactor` is accurate to EPS of the largest row, 1e-13 of one that is smaller by this. Mirror
# coordinates are asked 1e-11.
GRADED_ROWS = 2.0**9
# A passive coefficient that lands within this fraction of the way it came from an end of its box
# has landed on it: the difference is rounding error of the triangular solve.
LANDING_TOL = 64 * EPS
# Unit columns whose combination is shorter than this add up to zero: the projections are accurate
# to a few EPS, and non-negative least squares to about its square root of a sum of squares.
AMBIGUITY_TOL = 1e-10
# The last saddle is corrected this many times, and only by changes smaller than this fraction of
# each coefficient: each time the error falls by EPS times the condition number, so that a change
# of that size means that nothing is gained.
POLISHING_STEPS = 2
POLISHING_REACH = 1e-3
# After a change smaller than this, another would be below EPS.
POLISHED = 1e-8
# An inner solve that needs more exchanges than this per candidate is cycling on rounding errors.
MAX_EXCHANGES_PER_CANDIDATE = 10


class ActiveSet:
    """The present point k and the factorised columns of its passive coefficients.

    Examples
    --------
    >>> from limitpoint.theory.solvers.basis_pursuit.data_matrix import as_design
    >>> active = ActiveSet(as_design([[1.0, 0.7], [0.5, 0.1]]), np.array([1.0, 0.0]))
    >>> active.low[:], active.high[:] = 0.0, np.inf
    >>> active.minimise([0]) and active.minimise([0, 1])
    True
    >>> active.k.round(12)
    array([0. , 1.4])
    """

    def __init__(self, design: Design, y: Float) -> None:
        n_samples, n_features = design.shape
        self.design = design
        self.k = np.zeros(n_features)
        self.low = np.zeros(n_features)
        self.high = np.zeros(n_features)
        # +1 for the box [0, ∞), −1 for (−∞, 0], 0 for any other; set when a column becomes passive.
        self._side = np.zeros(n_features)
        self.is_passive = np.zeros(n_features, dtype=bool)
        self.resting: list[int] = []  # candidates of the last step that ended at rest
        self.still: list[int] = []  # those of them whose slope is zero
        self.dropped: list[int] = []  # what came to rest when rows were told apart
        self.fitted = False  # whether the last step ended with Xk = y
        self.exhausted = False
        self._slope_tol = ORTHOGONALITY_TOL * float(np.sqrt(n_samples))
        self._norm_tol = self._slope_tol * design.norms
        # Whether the columns are factorised row by row.
        self.is_graded = design.row_spread() > GRADED_ROWS
        self._factor: ColumnFactor | GradedFactor
        self._factor = GradedFactor(y) if self.is_graded else ColumnFactor(y)
        self._y, self._y_norm = y, self._factor.target_norm
        self._order = np.zeros(min(n_samples, n_features), dtype=np.intp)

    @property
    def passive(self) -> NDArray[np.intp]:
        """The passive coefficients, in the order of the factor (a view)."""
        return self._order[: self._factor.size]

    @property
    def residual(self) -> Float:
        """R = y − Xk (live: do not write to it)."""
        return self._factor.residual

    @property
    def residual_norm(self) -> float:
        """‖y − Xk‖."""
        return self._factor.residual_norm

    def grade(self) -> None:
        """From here on, factorise row by row; ``dropped`` came to rest by that."""
        columns = self.design.columns(self.passive.tolist())
        self._factor, self.is_graded = GradedFactor(self._factor.target, columns), True
        self.dropped = self._finish()

    def is_fitted(self) -> bool:
        """Whether Xk = y, in every row up to the rounding error of what is added up in it.

        If all that is left is rounding of the largest rows, but not of others, the columns are
        factorised row by row from here on.
        """
        if not self.is_graded:
            factor = self._factor
            if factor.residual_norm > RESIDUAL_TOL * max(self._y_norm, factor.target_norm):
                return False
            if self._is_fitted_in_rows():
                return True
            self.grade()
        return self._is_fitted_in_rows()

    def _is_fitted_in_rows(self) -> bool:
        return bool((np.abs(self.residual) <= RESIDUAL_TOL * self._row_sizes()).all())

    def slope_rounding(self, *, by_rows: bool = False) -> Rounding:
        """The size below which a slope ``xᵢᵀr`` is zero, for every column.

        Relative to ``‖xᵢ‖‖r‖``, or, with rows of different size, to what rounding may have put
        into each row of r.
        """
        if isinstance(self._factor, GradedFactor):
            turned, followed = self._factor.residual_rounding(self._row_sizes())
            rounding = ROUNDING_UNITS * EPS * turned + self._slope_tol * followed
            return Rounding(self.design.moduli_products(rounding), 1.0)
        if by_rows:
            return Rounding(self._slope_tol * self.design.moduli_products(self.residual), 1.0)
        return Rounding(self._norm_tol, self.residual_norm)

    def _row_sizes(self) -> Float:
        """The sum of the moduli of what each row adds up."""
        columns = np.abs(self.design.columns(self.passive.tolist()))
        terms = columns @ np.abs(self.k[self.passive])
        return np.asarray(self._row_scales + np.abs(self._factor.target) + terms)

    @cached_property
    def _row_scales(self) -> Float:
        return row_scales(self.design, self._y)

    def minimise(self, candidates: Iterable[int], *, first: int | None = None) -> bool:
        """Move to the least-squares point over the boxes; return whether k moved.

        ``first`` is a candidate already known to lower the loss by moving into its box.
        """
        waiting = {j for j in candidates if not self.is_passive[j]}
        rejected: set[int] = set()
        moved = False
        budget = MAX_EXCHANGES_PER_CANDIDATE * (len(waiting) + self._factor.size + 1)
        for _ in range(budget):
            fitted = self.is_fitted()
            waiting.update(j for j in self.dropped if not self.is_passive[j])
            if fitted:  # nothing left but rounding errors: no slope means anything
                break
            j = first if first in waiting else self._most_violating(waiting - rejected)
            first = None
            if j is None:
                break
            start = self.k[j]
            if not self._insert(j):
                rejected.add(j)
                continue
            waiting.discard(j)
            dropped = self._finish()
            waiting.update(dropped)
            # Thrown back to where it was: its slope was rounding error. Not to be tried again here.
            thrown_back = j in dropped and self.k[j] == start
            if thrown_back:
                rejected.add(j)
            moved = moved or not (thrown_back and len(dropped) == 1)
        else:
            self.exhausted = True
        self.fitted = self.is_fitted()
        waiting.update(j for j in self.dropped if not self.is_passive[j])
        self.resting = sorted(waiting)
        # Rejected ones lie in the span, or nearly: their slopes are zero too.
        self.still = self.resting if self.fitted else sorted(rejected.union(self.still))
        return moved

    def correction(self, defect: Float) -> Float:
        """Return the smallest v with ``X_Pᵀv = defect``."""
        return self._factor.lift(defect)

    def polish(self) -> None:
        """Correct the passive coefficients by what their fit leaves, computed in twice the digits.

        Only while it helps, and no sign changes.
        """
        passive = self.passive
        columns = self.design.columns(passive.tolist())
        for _ in range(POLISHING_STEPS):
            here = self.k[passive]
            left = residuals(columns, here, self._factor.target)
            change = self._factor.solve_for(left)
            if not (np.abs(change) < POLISHING_REACH * np.abs(here)).all():
                break
            self.k[passive] = here + change
            if not (np.abs(change) > POLISHED * np.abs(here)).any():
                break

    def is_ambiguous(self, extra: list[int]) -> bool:
        """Whether resting coefficients with zero slope could move without changing the fit.

        That is, whether ``Σ wᵢdᵢ(xᵢ − proj_P xᵢ) = 0`` for some w ≥ 0, w ≠ 0, where dᵢ = ±1 is a
        direction open to coefficient i; the passive ones, inside their boxes, make up for it.
        """
        up = [j for j in extra if self.k[j] < self.high[j]]
        down = [j for j in extra if self.k[j] > self.low[j]]
        if not self._factor.depends(self.design.columns(extra)):
            return False
        columns = np.hstack([self.design.columns(up), -self.design.columns(down)])
        columns /= self.design.norms[up + down]
        outside = self._factor.outside(columns)
        # The weights sum to 1 in the last row; the rest of the residual is then the sum above.
        system = np.vstack([outside, np.ones(outside.shape[1])])
        _, distance = nnls(system, np.append(np.zeros(len(outside)), 1.0))
        return bool(distance <= AMBIGUITY_TOL)

    def refactor(self) -> None:
        """Factor the passive columns afresh and put k on their least-squares point."""
        self._factor.refactor(self.design.columns(self.passive.tolist()))
        self.k[self.passive] = self._factor.solve()

    def _most_violating(self, waiting: set[int]) -> int | None:
        """The candidate that lowers the loss fastest by moving into its box, if any."""
        self.still = []
        if not waiting:
            return None
        if len(waiting) == 1:  # nearly every step: no need for arrays
            (j,) = waiting
            return j if self._violates(j) else None
        indices = sorted(waiting)
        slopes = self.design.cross(indices, self.residual)
        k, low, high = self.k[indices], self.low[indices], self.high[indices]
        rounding = self.slope_rounding()
        moves = np.abs(slopes) > rounding.units[indices] * rounding.size
        self.still = [j for j, moving in zip(indices, moves, strict=True) if not moving]
        can_move = np.where(slopes > 0, k < high, k > low) & moves
        cosines = np.zeros(len(indices))
        np.divide(np.abs(slopes), self.design.norms[indices], out=cosines, where=can_move)
        best = int(np.argmax(cosines))
        return indices[best] if cosines[best] > 0 else None

    def _violates(self, j: int) -> bool:
        slope = float(self.design.column(j) @ self.residual)
        rounding = self.slope_rounding()
        if not abs(slope) > rounding.units[j] * rounding.size:
            self.still = [j]
            return False
        return bool(self.k[j] < self.high[j] if slope > 0 else self.k[j] > self.low[j])

    def _insert(self, j: int) -> bool:
        column = self.design.column(j)
        size = self._factor.size
        if not self._factor.insert(column):
            return False
        self._order[size] = j
        self.is_passive[j] = True
        low, high = self.low[j], self.high[j]
        self._side[j] = float(low == 0 and high == np.inf) - float(high == 0 and low == -np.inf)
        if self.k[j] != 0.0:
            self._factor.shift_target(self.k[j] * column)
        return True

    def _finish(self) -> list[int]:
        """Go to the least-squares point of the passive set, fixing what hits its box."""
        dropped: list[int] = []
        while self._factor.size:
            passive = self.passive
            here, goal = self.k[passive], self._factor.solve()
            # Positive if k keeps clear of 0 on its side: all there is to a half-open box.
            clear = (goal - LANDING_TOL * here) * self._side[passive]
            if clear.min() > 0:
                self.k[passive] = goal
                break
            low, high = self.low[passive], self.high[passive]
            inside = (goal > low) & (goal < high) & (np.abs(goal) > LANDING_TOL * np.abs(here))
            if inside.all():
                self.k[passive] = goal
                break
            step, hit = _first_hit(here, goal, low, high, (~inside).nonzero()[0].tolist())
            self.k[passive] = here + step * (goal - here)
            for position, end in hit.items():
                self.k[passive[position]] = end
            if not hit:
                break
            dropped.extend(int(passive[position]) for position in hit)
            self._drop(sorted(hit, reverse=True))
        return dropped

    def _drop(self, positions: list[int]) -> None:
        """Take columns out of the passive set; positions in decreasing order."""
        for position in positions:
            j = int(self._order[position])
            last = self._factor.size - 1
            self._order[position:last] = self._order[position + 1 : last + 1]
            self._factor.delete(position)
            self.is_passive[j] = False
            if self.k[j] != 0.0:
                self._factor.shift_target(-self.k[j] * self.design.column(j))


def _first_hit(
    here: Float, goal: Float, low: Float, high: Float, outside: list[int]
) -> tuple[float, dict[int, float]]:
    """How far to go from here to the goal, and which positions then hit which end of their box.

    ``outside`` are the positions that can be hit: few, so this loop is faster than arrays.
    """
    ratios: dict[int, float] = {}
    ends: dict[int, float] = {}
    for position in outside:
        start, finish = float(here[position]), float(goal[position])
        ends[position] = float(low[position] if finish < start else high[position])
        way, room = abs(finish - start), abs(ends[position] - start)
        if way > 0 and way > room * (1 - LANDING_TOL):
            ratios[position] = room / way
    step = min([1.0, *ratios.values()])
    limit = step * (1 + LANDING_TOL)
    return step, {position: ends[position] for position, at in ratios.items() if at <= limit}
