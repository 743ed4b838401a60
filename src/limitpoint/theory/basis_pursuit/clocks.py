"""The clocks of all coefficients, the walls around them, and the next one to arrive.

Notation: ν in sample space, clocks ``s = Xᵀν``, which move along ``u = Xᵀr``; walls
``down ≤ s ≤ up``. Time to the next arrival: the minimum of (wall − s)/u.

Only some columns are *watched*. A clock moves by at most ``‖xᵢ‖·‖ν − ν₀‖`` while ν moves from ν₀
(Cauchy-Schwarz), so a column whose wall is farther than that needs no look; when ν comes near the
end of that reach, all clocks are brought up to date and the columns nearest to their walls are
watched from there. The answer is the same, at a fraction of the m·n cost of ``Xᵀr``.
"""

import numpy as np
from numpy.typing import NDArray

from limitpoint.arrays import Float
from limitpoint.theory.basis_pursuit.design import Design, euclidean_norm

# Watching fewer columns makes steps cheaper and renewals more frequent; on Gaussian data this
# fraction (and the moving ones) lasts for 10 to 30 saddles. With more than half, watching all is
# simpler and as fast.
WATCHED_FRACTION = 0.15
MAX_WATCHED_FRACTION = 0.5
# Below this many entries of X, the product Xᵀr costs no more than the bookkeeping.
MIN_ENTRIES = 100_000
# After a step that went out of reach at once (clocks move far at the start of a path), all columns
# are watched for this many steps.
WIDE_STEPS = 8
# Reach is reduced by this fraction, for rounding errors in the clocks and in the distance.
REACH_MARGIN = 1e-6


class Clocks:
    """ν, s and the walls; ``tie`` is the distance from a wall that counts as being there.

    Examples
    --------
    >>> from limitpoint.theory.basis_pursuit.design import as_design
    >>> clocks = Clocks(as_design([[2.0, 1.0]]), -np.ones(2), np.ones(2), np.full(2, 1e-11))
    >>> r = np.array([1.0])
    >>> clocks.next_arrival(r, np.zeros(2), keep=np.array([], dtype=int))
    (0.5, 0)
    >>> clocks.advance(0.5, r)
    >>> clocks.arrived(), clocks.nu, clocks.of(1)
    ([0], array([0.5]), 0.5)
    """

    def __init__(self, design: Design, down: Float, up: Float, tie: Float) -> None:
        n_samples, n_features = design.shape
        self.nu = np.zeros(n_samples)
        self._design, self._tie = design, tie
        self._all = _Walls(np.zeros(n_features), down.copy(), up.copy(), tie)
        self._watched = self._all
        self._indices: NDArray[np.intp] | None = None  # None: all columns are watched
        self._position = np.arange(n_features)
        self._rows = self._buffer = np.zeros((0, n_samples))
        self._offset = np.zeros(n_samples)  # ν − ν₀
        self._reach = np.inf
        dense = isinstance(design.data, np.ndarray) and design.data.size >= MIN_ENTRIES
        self._wide_steps = 0 if dense else -1  # -1: always watch all
        self._u = np.zeros(n_features)

    def of(self, j: int) -> float:
        """The clock of one watched column (everything kept or arrived is watched)."""
        return float(self._watched.s[self._position[j]])

    def at(self, indices: NDArray[np.intp]) -> Float:
        """The clocks of watched columns."""
        return np.asarray(self._watched.s[self._position[indices]])

    def slopes_at(self, indices: NDArray[np.intp]) -> Float:
        """The slopes of watched columns, as of the last `next_arrival`."""
        return np.asarray(self._u[self._position[indices]])

    def next_arrival(
        self, residual: Float, slope_tol: Float, keep: NDArray[np.intp]
    ) -> tuple[float, int]:
        """The time to the next arrival at a wall, and who arrives.

        Slopes below ``slope_tol`` times the norm of the residual are zero; ``keep`` are columns to
        be watched in any case.
        """
        if self._indices is None and self._wide_steps == 0:
            self._watch_nearest(keep)
        delta, winner = self._soonest(residual, slope_tol)
        if self._indices is not None and not self._is_within_reach(delta, residual):
            stale = bool(self._offset.any())
            self._update_all()
            if stale:
                self._watch_nearest(keep)
            else:
                self._watch_all()
            delta, winner = self._soonest(residual, slope_tol)
            if not self._is_within_reach(delta, residual):
                self._watch_all()
                delta, winner = self._soonest(residual, slope_tol)
        return delta, winner

    def advance(self, delta: float, residual: Float) -> None:
        """Let the time δ pass, with the slopes of the last `next_arrival`."""
        self._watched.s += delta * self._u
        move = delta * residual
        self.nu += move
        self._offset += move
        if self._wide_steps > 0:
            self._wide_steps -= 1

    def correct(self, change: Float) -> None:
        """Add a (tiny) correction to ν and compute all clocks afresh."""
        self.nu += change
        self._watch_all()
        self._all.s[:] = self._design.rmatvec(self.nu)

    def arrived(self) -> list[int]:
        """The columns whose clock is at a wall."""
        positions = self._watched.arrived()
        if self._indices is not None:
            positions = self._indices[positions]
        arrived: list[int] = positions.tolist()
        return arrived

    def place_walls(self, j: int, down: float, up: float) -> None:
        """Set the walls of column j, which is watched."""
        tie = self._tie[j]
        self._all.place(j, down, up, tie)
        if self._indices is not None:
            self._watched.place(int(self._position[j]), down, up, tie)

    def _soonest(self, residual: Float, slope_tol: Float) -> tuple[float, int]:
        indices, walls = self._indices, self._watched
        if indices is None:
            u = self._u = self._design.rmatvec(residual)
        else:
            u = self._u = self._rows @ residual
        delta = np.where(u >= 0, walls.up, walls.down)
        delta -= walls.s
        delta /= u
        position = int(delta.argmin())
        winner = position if indices is None else int(indices[position])
        norm = euclidean_norm(residual)
        if not abs(u[position]) > slope_tol[winner] * norm:
            # Rare, so only now: leave out the slopes that are rounding errors.
            noise = norm * (slope_tol if indices is None else slope_tol[indices])
            delta[~(np.abs(u) > noise)] = np.inf
            position = int(delta.argmin())
            winner = position if indices is None else int(indices[position])
        # A clock may have overshot its wall by a rounding error.
        return max(0.0, float(delta[position])), winner

    def _is_within_reach(self, delta: float, residual: Float) -> bool:
        if np.isinf(self._reach):
            return True
        return euclidean_norm(self._offset + delta * residual) < self._reach

    def _update_all(self) -> None:
        """Bring the clocks of the unwatched columns up to date."""
        clocks = self._all.s
        if self._offset.any():
            clocks += self._design.rmatvec(self._offset)
        clocks[self._indices] = self._watched.s
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
        """Watch the columns in ``keep`` and those nearest to their walls, from here on."""
        n_features = len(self._tie)
        count = max(1, int(WATCHED_FRACTION * n_features))
        if len(keep) + count > MAX_WATCHED_FRACTION * n_features:
            self._watch_all()
            return
        walls, norms = self._all, self._design.norms
        room = np.minimum(walls.near_up - walls.s, walls.s - walls.near_down)
        distance = np.divide(room, norms, out=np.full(n_features, np.inf), where=norms > 0)
        distance[keep] = -np.inf
        order = np.argpartition(distance, len(keep) + count)
        self._indices = np.sort(order[: len(keep) + count])
        self._reach = (1 - REACH_MARGIN) * float(distance[order[len(keep) + count]])
        self._offset[:] = 0.0
        self._position[self._indices] = np.arange(len(self._indices))
        self._copy_rows(self._indices)
        self._watched = walls.select(self._indices, self._tie)

    def _copy_rows(self, indices: NDArray[np.intp]) -> None:
        """Copy the watched columns of X, one after the other, into a buffer that is kept."""
        if len(self._buffer) < len(indices):
            # For the most that can be watched: memory fresh from the system is slow to touch.
            size = int(MAX_WATCHED_FRACTION * len(self._tie)) + 1
            self._buffer = np.empty((size, len(self.nu)))
        self._rows = self._buffer[: len(indices)]
        # Indices are in range; "clip" only lets NumPy write straight into the buffer.
        np.take(self._design.data.T, indices, axis=0, out=self._rows, mode="clip")


class _Walls:
    """Clocks and walls of some columns, with the limits that count as having arrived."""

    def __init__(self, s: Float, down: Float, up: Float, tie: Float) -> None:
        self.s, self.down, self.up = s, down, up
        self.near_down, self.near_up = down + tie, up - tie

    def select(self, indices: NDArray[np.intp], tie: Float) -> "_Walls":
        return _Walls(self.s[indices], self.down[indices], self.up[indices], tie[indices])

    def place(self, position: int, down: float, up: float, tie: float) -> None:
        self.down[position], self.near_down[position] = down, down + tie
        self.up[position], self.near_up[position] = up, up - tie

    def arrived(self) -> NDArray[np.intp]:
        there = self.s >= self.near_up
        there |= self.s <= self.near_down
        return there.nonzero()[0]
