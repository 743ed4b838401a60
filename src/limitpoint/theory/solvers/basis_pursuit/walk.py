"""Algorithm 1: from saddle to saddle, exactly, to the limit of vanishing initialisation.

Notation (zhao, section 4): k coefficients, ``r = y − Xk``, ``u = Xᵀr``, ``ν = ∫ r dt`` and
``s = Xᵀν`` the mirror coordinates. A zero coefficient is inactive while ``−t⁻ < s < t⁺``; at a
*threshold* (s = t⁺ or s = −t⁻) it activates. Between two activations k rests at a saddle and s
moves along u, so the next time is a minimum over the distances to the thresholds divided by the
speeds u.

The state of a coefficient is the pair of thresholds around its mirror coordinate:

=============  ===================  =========================================
coefficient    thresholds           at a threshold it may move in
=============  ===================  =========================================
zero           (−t⁻, t⁺)            [0, upper] at t⁺, [lower, 0] at −t⁻
at ``upper``   (t⁺, ∞)              [0, upper]
at ``lower``   (−∞, −t⁻)            [lower, 0]
moving         none: (−∞, ∞)        (its mirror coordinate stands still)
=============  ===================  =========================================

All coefficients at a threshold (ties, and those that left and still stand there) take part in the
least-squares step. For a unique winner that is line 15 of Algorithm 1; in general it is the
inverse scale space flow of Burger, Möller, Benning & Osher (2013), whose ν and Xk are unique
whatever ties.
"""

from enum import Enum

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float
from limitpoint.theory.certificates.compensated import residuals
from limitpoint.theory.solvers.basis_pursuit.active_set import POLISHED, POLISHING_STEPS, ActiveSet
from limitpoint.theory.solvers.basis_pursuit.data_matrix import Design, euclidean_norm
from limitpoint.theory.solvers.basis_pursuit.mirror_coordinates import TIE_TOL, MirrorCoordinates
from limitpoint.theory.solvers.basis_pursuit.penalty import WeightedL1

# Cosine between r and a passive column above which the factors are computed afresh; exact factors
# give a few EPS.
FACTOR_DRIFT_TOL = 1e-13
# Drift grows slowly; it is looked for once in this many steps.
DRIFT_CHECK_INTERVAL = 8
# The loss falls at every saddle, though perhaps by less than its rounding, where small rows are
# being fitted. So many saddles in a row, per row and column, without a new lowest loss go round in
# circles.
IDLE_PER_DIMENSION = 2


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
    >>> from limitpoint.theory.solvers.basis_pursuit.data_matrix import as_design
    >>> from limitpoint.theory.solvers.basis_pursuit.penalty import weighted_l1
    >>> walk = SaddleWalk(as_design([[2.0, 1.0]]), np.array([1.0]), weighted_l1(2))
    >>> walk.step().name, walk.time, walk.k, walk.step().name
    ('SADDLE', 0.5, array([0.5, 0. ]), 'FITTED')
    """

    def __init__(self, design: Design, y: Float, penalty: WeightedL1) -> None:
        n_features = design.shape[1]
        self.time = 0.0
        self.degenerate = False
        self.entered: tuple[int, ...] = ()
        self.left: tuple[int, ...] = ()
        self._steps = self._idle = 0
        self._lowest = np.inf
        self._design, self._penalty = design, penalty
        self._active = ActiveSet(design, y)
        self._rest_thresholds = penalty.thresholds()
        # Where the mirror coordinate of a moving coefficient stands.
        self._threshold = np.zeros(n_features)
        tie = TIE_TOL * _mirror_scale(penalty, design)
        self._mirror = MirrorCoordinates(design, *self._rest_thresholds, tie)
        self._blocked: list[int] = []

    @property
    def nu(self) -> Float:
        """The sample-space dual at the present saddle (a live array)."""
        return self._mirror.nu

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

    # 0/0 and x/0 are meant: a mirror coordinate with speed 0 never gets anywhere.
    @np.errstate(divide="ignore", invalid="ignore")
    def step(self) -> Step:
        """Go on to the next saddle, or say why there is none."""
        # A round that activates a coefficient for nothing is repeated with fresh factors; if that
        # does not help, its slope was rounding error, and it is blocked until k moves. So there are
        # at most n + 2 rounds.
        fresh = False
        while True:
            fitted = self.is_fitted()
            self._rest_dropped()
            if fitted:
                return Step.FITTED
            if self._active.exhausted:
                return Step.LOST
            delta, winner = self._next_activation()
            if not np.isfinite(delta):
                if self._active.is_graded or not self._is_open_by_rows():
                    return Step.LEAST_SQUARES
                self._active.grade()
                self._unblock()
                continue
            self._move_mirror(delta, winner)
            if self._activate(winner):
                self._count_progress()
                if self._idle > IDLE_PER_DIMENSION * sum(self._design.shape):
                    return Step.LOST
                self._unblock()
                self.degenerate = self._is_degenerate()
                return Step.SADDLE
            if fresh:
                self._block(winner)
            else:
                self._active.refactor()
                fresh = True

    def _rest_dropped(self) -> None:
        """Give thresholds to what came to rest outside a least-squares step."""
        for j in self._active.dropped:
            if not self._active.is_passive[j]:
                self._set_thresholds(j)
                self._mirror.put(j, self._threshold[j])
        self._active.dropped = []

    def _count_progress(self) -> None:
        """Count the saddles since the loss was last lower than ever before."""
        self._idle += 1
        if self.residual_norm < self._lowest:
            self._lowest, self._idle = self.residual_norm, 0

    def _block(self, j: int) -> None:
        self._blocked.append(j)
        self._mirror.place_thresholds(j, -np.inf, np.inf)

    def _unblock(self) -> None:
        for j in self._blocked:
            if not self._active.is_passive[j]:
                self._set_thresholds(j)
        self._blocked.clear()

    def refine_dual(self) -> None:
        """Remove from the last dual the rounding errors that float64 can do without.

        ν is put so that the mirror coordinates of the moving coefficients stand exactly at their
        thresholds.
        """
        passive = self._active.passive
        columns = self._design.columns(passive.tolist())
        for _ in range(POLISHING_STEPS):
            defect = residuals(columns.T, self.nu, self._threshold[passive])
            change = self._active.correction(defect)
            self._mirror.nu += change
            if euclidean_norm(change) <= POLISHED * euclidean_norm(self.nu):
                break

    def _is_open_by_rows(self) -> bool:
        """Whether some slope that is nothing beside the largest rows is something in its own."""
        active = self._active
        rounding = active.slope_rounding(by_rows=True)
        return bool(
            np.isfinite(self._mirror.next_arrival(active.residual, rounding, self._keep())[0])
        )

    def is_fitted(self) -> bool:
        """Whether Xk = y, up to the rounding error of the residual."""
        return self._active.is_fitted()

    def _keep(self) -> NDArray[np.intp]:
        """The columns to be watched whatever their mirror coordinates."""
        passive = self._active.passive
        return np.append(passive, self._blocked) if self._blocked else passive

    def _next_activation(self) -> tuple[float, int]:
        """Min δ and its index, over the coefficients that are at rest."""
        active, keep = self._active, self._keep()
        answer = self._mirror.next_arrival(active.residual, active.slope_rounding(), keep)
        if self._steps % DRIFT_CHECK_INTERVAL == 0 and not active.is_graded:
            cosines = np.abs(self._mirror.slopes_at(active.passive)) / self.residual_norm
            if (cosines > FACTOR_DRIFT_TOL * self._design.norms[active.passive]).any():
                active.refactor()
                answer = self._mirror.next_arrival(active.residual, active.slope_rounding(), keep)
        return answer

    def _move_mirror(self, delta: float, winner: int) -> None:
        self._mirror.advance(delta, self._active.residual, winner)
        self.time += delta
        self._steps += 1

    def _activate(self, winner: int) -> bool:
        """Give every coefficient at a threshold its box and go to the least-squares point."""
        candidates = self._mirror.arrived()
        was_zero = {j for j in candidates if self.k[j] == 0}
        for j in candidates:
            self._set_box(j)
        moved = self._active.minimise(candidates, first=winner)
        if self._active.fitted:
            self._active.polish()
        # The mirror coordinate of a coefficient that moves, or has moved, stands at its threshold,
        # exactly.
        for j in self._active.resting:
            self._set_thresholds(j)
            if j not in candidates:
                self._mirror.put(j, self._threshold[j])
        for j in candidates:
            if self._active.is_passive[j]:
                self._mirror.place_thresholds(j, -np.inf, np.inf)
                self._mirror.put(j, self._threshold[j])
        self.entered = tuple(j for j in candidates if j in was_zero and self.k[j] != 0)
        resting = self._active.resting
        self.left = tuple(j for j in resting if j not in was_zero and self.k[j] == 0)
        return moved

    def _set_box(self, j: int) -> None:
        """Where coefficient j, whose mirror coordinate is at a threshold, may go."""
        penalty = self._penalty
        down, up = -float(penalty.t_minus[j]), float(penalty.t_plus[j])
        falls, grows = self._mirror.stands_at(j, down, up)
        self._active.low[j] = penalty.lower[j] if falls else 0.0
        self._active.high[j] = penalty.upper[j] if grows else 0.0
        self._threshold[j] = penalty.t_plus[j] if grows else -penalty.t_minus[j]

    def _set_thresholds(self, j: int) -> None:
        """The thresholds around the mirror coordinate of coefficient j, which has come to rest."""
        k, penalty = self.k[j], self._penalty
        down, up = self._rest_thresholds
        if k != 0 and k >= penalty.upper[j]:
            self._mirror.place_thresholds(j, float(penalty.t_plus[j]), np.inf)
        elif k != 0 and k <= penalty.lower[j]:
            self._mirror.place_thresholds(j, -np.inf, -float(penalty.t_minus[j]))
        else:
            self._mirror.place_thresholds(j, float(down[j]), float(up[j]))

    def _is_degenerate(self) -> bool:
        """Whether other coefficients than k have the same fit, signs and mirror coordinates."""
        extra = [j for j in self._active.still if self._design.norms[j] > 0]
        return bool(extra) and self._active.is_ambiguous(extra)


def _mirror_scale(penalty: WeightedL1, design: Design) -> Float:
    """The size of s: its larger activation time, or, if it has none, that of the others.

    A free coefficient borrows the largest t/‖x‖ of the rest, which is in units of ν.
    """
    penalised = (penalty.scale > 0) & (design.norms > 0)
    ratios = penalty.scale[penalised] / design.norms[penalised]
    borrowed = design.norms * (ratios.max() if ratios.size else 1.0)
    return np.where(penalty.scale > 0, penalty.scale, np.where(borrowed > 0, borrowed, 1.0))
