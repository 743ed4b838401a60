"""All mirror coordinates, the thresholds around them, and the next one to arrive.

Notation: ν in sample space, mirror coordinates ``s = Xᵀν``, which move along ``u = Xᵀr``;
thresholds ``down ≤ s ≤ up``. Time to the next arrival: the minimum of (threshold − s)/u.

Only some columns are *watched*. A mirror coordinate moves by at most ``‖xᵢ‖·‖ν − ν₀‖`` while ν
moves from ν₀ (Cauchy-Schwarz), so a column whose threshold is farther than that needs no look; when
ν comes near the end of that reach, all mirror coordinates are brought up to date and the columns
nearest to their thresholds are watched from there. The answer is the same, at a fraction of the m·n
cost of ``Xᵀr``.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float
from limitpoint.theory.solvers.basis_pursuit.data_matrix import Design, euclidean_norm

# Watching fewer columns makes steps cheaper and renewals more frequent; on Gaussian data this
# fraction (and the moving ones) lasts for 10 to 30 saddles. With more than half, watching all is
# simpler and as fast.
WATCHED_FRACTION = 0.15
MAX_WATCHED_FRACTION = 0.5
# Below this many entries of X, the product Xᵀr costs no more than the bookkeeping.
MIN_ENTRIES = 100_000
# After a step that went out of reach at once (mirror coordinates move far at the start of a path),
# all columns are watched for this many steps.
WIDE_STEPS = 8
# Reach is reduced by this fraction, for rounding errors in the mirror coordinates and in the
# distance.
REACH_MARGIN = 1e-6
# A mirror coordinate within this fraction of a threshold's value from the threshold stands at it:
# mirror coordinates carry the rounding errors of a few hundred steps, and 100 times less than what
# the certificate allows.
TIE_TOL = 1e-11


class Rounding(NamedTuple):
    """Slopes of at most ``units · size``, column by column, are rounding errors."""

    units: Float
    size: float


class MirrorCoordinates:
    """ν, s and the thresholds.

    A mirror coordinate stands at a threshold when it is within `TIE_TOL` of the threshold's value
    from it; at a threshold of value 0, which has no size of its own, when it is within ``tie``.

    Examples
    --------
    >>> from limitpoint.theory.solvers.basis_pursuit.data_matrix import as_design
    >>> xi = MirrorCoordinates(as_design([[2.0, 1.0]]), -np.ones(2), np.ones(2), np.full(2, 1e-11))
    >>> r = np.array([1.0])
    >>> xi.next_arrival(r, Rounding(np.zeros(2), 0.0), keep=np.array([], dtype=int))
    (0.5, 0)
    >>> xi.advance(0.5, r, 0)
    >>> xi.arrived(), xi.nu, xi.of(1)
    ([0], array([0.5]), 0.5)
    """

    def __init__(self, design: Design, down: Float, up: Float, tie: Float) -> None:
        n_samples, n_features = design.shape
        self.nu = np.zeros(n_samples)
        self._design, self._tie = design, tie
        # The distances from the thresholds, where there are any, that count as being there.
        near = np.stack([_near_thresholds(down, tie), _near_thresholds(up, tie)])
        self._nearest = np.where(np.isinf([down, up]), np.inf, near).min(axis=0)
        self._all = _Thresholds(np.zeros(n_features), down.copy(), up.copy(), tie)
        self._watched = self._all
        self._indices: NDArray[np.intp] | None = None  # None: all columns are watched
        self._position = np.arange(n_features)
        self._rows = self._buffer = np.zeros((0, n_samples))
        self._offset = np.zeros(n_samples)  # ν − ν₀
        self._reach = np.inf
        dense = isinstance(design.data, np.ndarray) and design.data.size >= MIN_ENTRIES
        self._wide_steps = 0 if dense else -1  # -1: always watch all
        self._u = np.zeros(n_features)
        self._rounding = Rounding(np.zeros(n_features), 0.0)
        self._sharpness: tuple[Float, float] | None = None

    def of(self, j: int) -> float:
        """The mirror coordinate of one watched column (everything kept or arrived is watched)."""
        return float(self._watched.s[self._position[j]])

    def at(self, indices: NDArray[np.intp]) -> Float:
        """The mirror coordinates of watched columns."""
        return np.asarray(self._watched.s[self._position[indices]])

    def slopes_at(self, indices: NDArray[np.intp]) -> Float:
        """The slopes of watched columns, as of the last `next_arrival`."""
        return np.asarray(self._u[self._position[indices]])

    def next_arrival(
        self, residual: Float, rounding: Rounding, keep: NDArray[np.intp]
    ) -> tuple[float, int]:
        """The time to the next arrival at a threshold, and who arrives.

        Slopes within ``rounding`` count as zero; ``keep`` are columns to be watched in any case.
        """
        if self._indices is None and self._wide_steps == 0:
            self._watch_nearest(keep)
        delta, winner = self._soonest(residual, rounding)
        if self._indices is not None and not self._is_within_reach(delta, residual):
            stale = bool(self._offset.any())
            self._update_all()
            if stale:
                self._watch_nearest(keep)
            else:
                self._watch_all()
            delta, winner = self._soonest(residual, rounding)
            if not self._is_within_reach(delta, residual):
                self._watch_all()
                delta, winner = self._soonest(residual, rounding)
        return delta, winner

    def advance(self, delta: float, residual: Float, winner: int) -> None:
        """Let the time δ pass until the winner of the last `next_arrival` is at its threshold.

        Slopes that are rounding errors move nothing: over a time long enough for a column in large
        units they would carry one in small units across its threshold.
        """
        thresholds, position = self._watched, self._position[winner]
        move = delta * self._u
        if self._rounding_moves(delta):
            move[self._is_rounding()] = 0.0
        thresholds.s += move
        thresholds.s[position] = (thresholds.up if self._u[position] > 0 else thresholds.down)[
            position
        ]
        change = delta * residual
        self.nu += change
        self._offset += change
        if self._wide_steps > 0:
            self._wide_steps -= 1

    def put(self, j: int, xi: float) -> None:
        """Set the mirror coordinate of column j, which is watched, to what it is known to be."""
        self._watched.s[self._position[j]] = xi

    def arrived(self) -> list[int]:
        """The columns whose mirror coordinate is at a threshold."""
        positions = self._watched.arrived()
        if self._indices is not None:
            positions = self._indices[positions]
        arrived: list[int] = positions.tolist()
        return arrived

    def stands_at(self, j: int, down: float, up: float) -> tuple[bool, bool]:
        """Whether s of column j, which is watched, is at (or beyond) each of two thresholds."""
        s, tie = self.of(j), float(self._tie[j])
        return s <= down + _near(down, tie), s >= up - _near(up, tie)

    def place_thresholds(self, j: int, down: float, up: float) -> None:
        """Set the thresholds of column j, which is watched."""
        tie = float(self._tie[j])
        self._all.place(j, down, up, tie)
        if self._indices is not None:
            self._watched.place(int(self._position[j]), down, up, tie)

    def _soonest(self, residual: Float, rounding: Rounding) -> tuple[float, int]:
        indices, thresholds = self._indices, self._watched
        if indices is None:
            u = self._u = self._design.rmatvec(residual)
        else:
            u = self._u = self._rows @ residual
        delta = np.where(u >= 0, thresholds.up, thresholds.down)
        delta -= thresholds.s
        delta /= u
        self._rounding = rounding
        position = int(delta.argmin())
        winner = position if indices is None else int(indices[position])
        if not abs(u[position]) > rounding.units[winner] * rounding.size:
            # Rare, so only now: leave out the slopes that are rounding errors.
            delta[self._is_rounding()] = np.inf
            position = int(delta.argmin())
            winner = position if indices is None else int(indices[position])
        # A mirror coordinate may have overshot its threshold by a rounding error.
        return max(0.0, float(delta[position])), winner

    def _is_rounding(self) -> NDArray[np.bool_]:
        """Which of the watched columns have a slope that is a rounding error."""
        units, size = self._rounding
        return np.abs(self._u) <= (units if self._indices is None else units[self._indices]) * size

    def _rounding_moves(self, delta: float) -> bool:
        """Whether slopes that are rounding errors could carry s across a tie in a time δ."""
        units, size = self._rounding
        if self._sharpness is None or self._sharpness[0] is not units:
            sharpest = float(np.divide(units, self._nearest, where=units > 0, out=0 * units).max())
            self._sharpness = (units, sharpest)
        return delta * size * self._sharpness[1] > 1.0

    def _is_within_reach(self, delta: float, residual: Float) -> bool:
        if np.isinf(self._reach):
            return True
        return euclidean_norm(self._offset + delta * residual) < self._reach

    def _update_all(self) -> None:
        """Bring the mirror coordinates of the unwatched columns up to date."""
        xi = self._all.s
        if self._offset.any():
            xi += self._design.rmatvec(self._offset)
        xi[self._indices] = self._watched.s
        self._offset[:] = 0.0

    def _watch_all(self) -> None:
        if self._indices is not None:
            self._update_all()
        self._indices, self._watched, self._reach = None, self._all, np.inf
        self._offset[:] = 0.0
        self._position = np.arange(len(self._tie))
        if self._wide_steps >= 0:
            self._wide_steps = WIDE_STEPS

    def _watch_nearest(self, keep: NDArray[np.intp]) -> None:
        """Watch the columns in ``keep`` and those nearest to their thresholds, from here on."""
        n_features = len(self._tie)
        count = max(1, int(WATCHED_FRACTION * n_features))
        if len(keep) + count > MAX_WATCHED_FRACTION * n_features:
            self._watch_all()
            return
        thresholds, norms = self._all, self._design.norms
        room = np.minimum(thresholds.near_up - thresholds.s, thresholds.s - thresholds.near_down)
        distance = np.divide(room, norms, out=np.full(n_features, np.inf), where=norms > 0)
        distance[keep] = -np.inf
        order = np.argpartition(distance, len(keep) + count)
        self._indices = np.sort(order[: len(keep) + count])
        self._reach = (1 - REACH_MARGIN) * float(distance[order[len(keep) + count]])
        self._offset[:] = 0.0
        self._position[self._indices] = np.arange(len(self._indices))
        self._copy_rows(self._indices)
        self._watched = thresholds.select(self._indices, self._tie)

    def _copy_rows(self, indices: NDArray[np.intp]) -> None:
        """Copy the watched columns of X, one after the other, into a buffer that is kept."""
        if len(self._buffer) < len(indices):
            # For the most that can be watched: memory fresh from the system is slow to touch.
            size = int(MAX_WATCHED_FRACTION * len(self._tie)) + 1
            self._buffer = np.empty((size, len(self.nu)))
        self._rows = self._buffer[: len(indices)]
        # Indices are in range; "clip" only lets NumPy write straight into the buffer.
        np.take(self._design.data.T, indices, axis=0, out=self._rows, mode="clip")


class _Thresholds:
    """s and the thresholds of some columns, with the limits that count as having arrived."""

    def __init__(self, s: Float, down: Float, up: Float, tie: Float) -> None:
        self.s, self.down, self.up = s, down, up
        self.near_down, self.near_up = (
            down + _near_thresholds(down, tie),
            up - _near_thresholds(up, tie),
        )

    def select(self, indices: NDArray[np.intp], tie: Float) -> "_Thresholds":
        return _Thresholds(self.s[indices], self.down[indices], self.up[indices], tie[indices])

    def place(self, position: int, down: float, up: float, tie: float) -> None:
        self.down[position], self.near_down[position] = down, down + _near(down, tie)
        self.up[position], self.near_up[position] = up, up - _near(up, tie)

    def arrived(self) -> NDArray[np.intp]:
        there = self.s >= self.near_up
        there |= self.s <= self.near_down
        return there.nonzero()[0]


def _near(threshold: float, tie: float) -> float:
    """How far from a threshold counts as being there."""
    if threshold == 0.0:
        return tie
    return TIE_TOL * abs(threshold) if abs(threshold) < math.inf else 0.0


def _near_thresholds(thresholds: Float, ties: Float) -> Float:
    """The same of many thresholds."""
    distances = np.where(thresholds == 0, ties, TIE_TOL * np.abs(thresholds))
    return np.where(np.isinf(thresholds), 0.0, distances)
