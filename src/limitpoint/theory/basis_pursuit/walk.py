"""Algorithm 1: from saddle to saddle, exactly, to the limit of vanishing initialisation.

Notation (zhao, section 4): k coefficients, ``r = y − Xk``, ``u = Xᵀr``, ``ν = ∫ r dt`` and
``s = Xᵀν`` the clocks. A zero coefficient sleeps while ``−t⁻ < s < t⁺``; at a *wall* (s = t⁺ or
s = −t⁻) it wakes. Between two wakings k rests at a saddle and s moves along u, so the next time
is a minimum over the distances to the walls divided by the speeds u.

The state of a coefficient is the pair of walls around its clock:

=============  ===================  =========================================
coefficient    walls                at a wall it may move in
=============  ===================  =========================================
zero           (−t⁻, t⁺)            [0, upper] at t⁺, [lower, 0] at −t⁻
at ``upper``   (t⁺, ∞)              [0, upper]
at ``lower``   (−∞, −t⁻)            [lower, 0]
moving         none: (−∞, ∞)        (its clock stands still)
=============  ===================  =========================================

All coefficients at a wall (ties, and those that left and still stand there) take part in the
least-squares step. For a unique winner that is line 15 of Algorithm 1; in general it is the
inverse scale space flow of Burger, Möller, Benning & Osher (2013), whose ν and Xk are unique
whatever ties.
"""

from enum import Enum

import numpy as np
from numpy.typing import NDArray

from limitpoint.arrays import Float
from limitpoint.theory.basis_pursuit.active_set import ActiveSet
from limitpoint.theory.basis_pursuit.clocks import Clocks
from limitpoint.theory.basis_pursuit.design import Design
from limitpoint.theory.basis_pursuit.growth_penalty import GrowthPenalty

# A clock within this fraction of its growth time from a wall stands at the wall: clocks carry the
# rounding errors of a few hundred steps, and 100 times less than what the certificate allows.
TIE_TOL = 1e-11
# Clocks of moving coefficients that drifted off their wall by more than this fraction of the
# growth time are put back (ν is corrected); well below TIE_TOL.
CLOCK_DRIFT_TOL = 1e-13
# Cosine between r and a passive column above which the factors are computed afresh; exact factors
# give a few EPS.
FACTOR_DRIFT_TOL = 1e-13
# Drift grows slowly; it is looked for once in this many steps (and removed from the last saddle).
DRIFT_CHECK_INTERVAL = 8


class Step(Enum):
    """What one step of a walk found."""

    SADDLE = "a new saddle"
    FITTED = "the data are fitted: the walk is over"
    LEAST_SQUARES = "nothing that may move lowers the loss: the walk is over"
    LOST = "the active set cycles on rounding errors: the walk cannot go on"


class SaddleWalk:
    """The state of a path under way, for a y whose entries are of order one.

    Examples
    --------
    >>> from limitpoint.theory.basis_pursuit.design import as_design
    >>> from limitpoint.theory.basis_pursuit.growth_penalty import growth_penalty
    >>> walk = SaddleWalk(as_design([[2.0, 1.0]]), np.array([1.0]), growth_penalty(2))
    >>> walk.step().name, walk.time, walk.k, walk.step().name
    ('SADDLE', 0.5, array([0.5, 0. ]), 'FITTED')
    """

    def __init__(self, design: Design, y: Float, penalty: GrowthPenalty) -> None:
        n_features = design.shape[1]
        self.time = 0.0
        self.degenerate = False
        self.entered: tuple[int, ...] = ()
        self.left: tuple[int, ...] = ()
        self._steps = 0
        self._design, self._penalty = design, penalty
        self._active = ActiveSet(design, y)
        self._rest_walls = penalty.walls()
        self._wall = np.zeros(n_features)  # where the clock of a moving coefficient stands
        scale = _clock_scale(penalty, design)
        self._tie, self._drift = TIE_TOL * scale, CLOCK_DRIFT_TOL * scale
        self._clocks = Clocks(design, *self._rest_walls, self._tie)
        self._blocked: list[int] = []

    @property
    def nu(self) -> Float:
        """The sample-space dual at the present saddle (a live array)."""
        return self._clocks.nu

    @property
    def k(self) -> Float:
        """The coefficients at the present saddle (a live array)."""
        return self._active.k

    def support(self) -> NDArray[np.intp]:
        """The non-zero coefficients, in no particular order."""
        if self._penalty.is_bounded:
            return np.flatnonzero(self.k)
        return self._active.passive.copy()

    @property
    def residual_norm(self) -> float:
        """‖y − Xk‖ at the present saddle."""
        return self._active.residual_norm

    # 0/0 and x/0 are meant: a clock with speed 0 never gets anywhere.
    @np.errstate(divide="ignore", invalid="ignore")
    def step(self) -> Step:
        """Go on to the next saddle, or say why there is none."""
        # A round that wakes a coefficient for nothing is repeated with fresh factors; if that does
        # not help, its slope was rounding error, and it is blocked until k moves. So there are at
        # most n + 2 rounds.
        fresh = False
        while True:
            if self.is_fitted():
                return Step.FITTED
            if self._active.exhausted:
                return Step.LOST
            delta, winner = self._next_waking()
            if not np.isfinite(delta):
                return Step.LEAST_SQUARES
            self._move_clocks(delta)
            if self._wake(winner):
                self._unblock()
                self.degenerate = self._is_degenerate()
                return Step.SADDLE
            if fresh:
                self._block(winner)
            else:
                self._active.refactor()
                fresh = True

    def _block(self, j: int) -> None:
        self._blocked.append(j)
        self._clocks.place_walls(j, -np.inf, np.inf)

    def _unblock(self) -> None:
        for j in self._blocked:
            if not self._active.is_passive[j]:
                self._set_walls(j)
        self._blocked.clear()

    def settled_dual(self) -> Float:
        """ν with the clocks of the moving coefficients exactly at their walls."""
        passive = self._active.passive
        defect = self._wall[passive] - self._design.cross(passive.tolist(), self.nu)
        return self.nu + self._active.correction(defect)

    def is_fitted(self) -> bool:
        """Whether Xk = y, up to the rounding error of the residual."""
        return self._active.is_fitted

    def _next_waking(self) -> tuple[float, int]:
        """Min δ and its index, over the coefficients that are at rest."""
        active = self._active
        keep = active.passive
        if self._blocked:
            keep = np.append(keep, self._blocked)
        answer = self._clocks.next_arrival(active.residual, active.slope_tol, keep)
        if self._steps % DRIFT_CHECK_INTERVAL == 0:
            cosines = np.abs(self._clocks.slopes_at(active.passive)) / self.residual_norm
            if (cosines > FACTOR_DRIFT_TOL * self._design.norms[active.passive]).any():
                active.refactor()
                answer = self._clocks.next_arrival(active.residual, active.slope_tol, keep)
        return answer

    def _move_clocks(self, delta: float) -> None:
        self._clocks.advance(delta, self._active.residual)
        self.time += delta
        self._steps += 1
        if self._steps % DRIFT_CHECK_INTERVAL == 0:
            passive = self._active.passive
            defect = self._wall[passive] - self._clocks.at(passive)
            if (np.abs(defect) > self._drift[passive]).any():
                self._clocks.correct(self._active.correction(defect))

    def _wake(self, winner: int) -> bool:
        """Give every coefficient at a wall its box and go to the least-squares point."""
        candidates = self._clocks.arrived()
        was_zero = {j for j in candidates if self.k[j] == 0}
        for j in candidates:
            self._set_box(j)
        moved = self._active.minimise(candidates, first=winner)
        for j in self._active.resting:
            self._set_walls(j)
        for j in candidates:
            if self._active.is_passive[j]:
                self._clocks.place_walls(j, -np.inf, np.inf)
        self.entered = tuple(j for j in candidates if j in was_zero and self.k[j] != 0)
        resting = self._active.resting
        self.left = tuple(j for j in resting if j not in was_zero and self.k[j] == 0)
        return moved

    def _set_box(self, j: int) -> None:
        """Where coefficient j, whose clock is at a wall, may go."""
        penalty, s, tie = self._penalty, self._clocks.of(j), self._tie[j]
        grows, falls = penalty.t_plus[j] - s <= tie, s + penalty.t_minus[j] <= tie
        self._active.low[j] = penalty.lower[j] if falls else 0.0
        self._active.high[j] = penalty.upper[j] if grows else 0.0
        self._wall[j] = penalty.t_plus[j] if grows else -penalty.t_minus[j]

    def _set_walls(self, j: int) -> None:
        """The walls around the clock of coefficient j, which has come to rest."""
        k, penalty = self.k[j], self._penalty
        down, up = self._rest_walls
        if k != 0 and k >= penalty.upper[j]:
            self._clocks.place_walls(j, penalty.t_plus[j], np.inf)
        elif k != 0 and k <= penalty.lower[j]:
            self._clocks.place_walls(j, -np.inf, -penalty.t_minus[j])
        else:
            self._clocks.place_walls(j, down[j], up[j])

    def _is_degenerate(self) -> bool:
        """Whether other coefficients than k have the same fit, signs and clocks."""
        extra = [j for j in self._active.still if self._design.norms[j] > 0]
        return bool(extra) and self._active.is_ambiguous(extra)


def _clock_scale(penalty: GrowthPenalty, design: Design) -> Float:
    """The size of a clock: its larger growth time, or, if it has none, that of the others.

    A free coefficient borrows the largest t/‖x‖ of the rest, which is in units of ν.
    """
    penalised = (penalty.scale > 0) & (design.norms > 0)
    ratios = penalty.scale[penalised] / design.norms[penalised]
    borrowed = design.norms * (ratios.max() if ratios.size else 1.0)
    return np.where(penalty.scale > 0, penalty.scale, np.where(borrowed > 0, borrowed, 1.0))
