"""The saddles of a walk, collected in the units of the caller."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from limitpoint.foundation.arrays import Float
from limitpoint.theory.solvers.basis_pursuit.even_units import Units
from limitpoint.theory.solvers.basis_pursuit.saddle_path import Saddle
from limitpoint.theory.solvers.basis_pursuit.walk import SaddleWalk


class SaddleRecord:
    """Grows by one row per saddle; row 0 is the start.

    ``units`` are those of the walk; what is noted is in the units of the caller.
    """

    def __init__(self, walk: SaddleWalk, units: Units) -> None:
        self._unit, self._columns, self._time = units.target, units.columns, units.time
        self._n_features = len(walk.k)
        self._supports: list[NDArray[np.intp]] = []
        self._values: list[Float] = []
        self.times: list[float] = []
        self.losses: list[float] = []
        self.duals: list[Float] = []
        self.degenerate: list[bool] = []
        self.entered: list[tuple[int, ...]] = []
        self.left: list[tuple[int, ...]] = []
        self.add(walk)

    @property
    def n_saddles(self) -> int:
        """The number of saddles, not counting the start."""
        return len(self.times) - 1

    def add(self, walk: SaddleWalk) -> None:
        """Note the saddle at which the walk now is."""
        support = walk.support()
        self._supports.append(support)
        self._values.append(walk.k[support] * self._unit * self._columns[support])
        self.times.append(walk.time / self._unit * self._time)
        norm = walk.residual_norm * self._unit
        self.losses.append(0.5 * norm * norm)  # infinite, not an error, for ‖r‖ above 1e154
        self.duals.append(walk.nu * self._time)
        self.degenerate.append(walk.degenerate)
        self.entered.append(walk.entered)
        self.left.append(walk.left)

    def refine_dual(self, dual: Float) -> None:
        """Replace the last dual by a more accurate one."""
        self.duals[-1] = dual * self._time

    def last(self) -> Saddle:
        """The latest saddle, for a stop function."""
        order = np.argsort(self._supports[-1])
        return Saddle(
            number=self.n_saddles,
            time=self.times[-1],
            loss=self.losses[-1],
            support=self._supports[-1][order],
            values=self._values[-1][order],
            entered=self.entered[-1],
            left=self.left[-1],
        )

    def coefs(self) -> sparse.csr_array:
        """All rows as one sparse array."""
        pointers = np.concatenate([[0], np.cumsum([len(support) for support in self._supports])])
        entries = (np.concatenate(self._values), np.concatenate(self._supports), pointers)
        coefs = sparse.csr_array(entries, shape=(len(self.times), self._n_features))
        coefs.sort_indices()
        return coefs
