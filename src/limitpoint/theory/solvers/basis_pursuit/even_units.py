"""The same problem in units in which columns, targets and activation times are of order one.

A column times c, with its activation times times c and its bounds divided by c, is the same path:
kᵢ is divided by c and sᵢ multiplied. y times c divides all times; all activation times times c
multiply them, and the duals. Powers of two do all without rounding, so that units never matter;
what they spare is overflow. Rows are left alone: their units are the weights of the loss, and the
path depends on them.
"""

from dataclasses import dataclass

import numpy as np

from limitpoint.errors import DataError
from limitpoint.foundation.arrays import Float
from limitpoint.theory.solvers.basis_pursuit.data_matrix import Design
from limitpoint.theory.solvers.basis_pursuit.penalty import WeightedL1

# Columns with norms within this of one, up or down, are left as they are: squares and products of
# such numbers are far from the ends of float64, and scaling them would change no bit of the path.
HARMLESS = 2.0**40
# Units whose logarithm of base 2 is beyond this, up or down, leave float64 in a few products.
LARGEST_LOG2 = 1000


@dataclass(frozen=True, eq=False)
class Units:
    """By what columns are multiplied, and y and the activation times divided: powers of two."""

    columns: Float
    target: float
    time: float

    def design(self, design: Design) -> Design:
        """X in these units."""
        return design if (self.columns == 1.0).all() else design.scaled(self.columns)

    def penalty(self, penalty: WeightedL1) -> WeightedL1:
        """Activation times and bounds in these units."""
        coefs, times = self.columns * self.target, self.columns / self.time
        with np.errstate(over="ignore"):  # a bound that no coefficient comes near is none
            lower, upper = penalty.lower / coefs, penalty.upper / coefs
        return WeightedL1(penalty.t_plus * times, penalty.t_minus * times, lower, upper)


def even_units(design: Design, y: Float, penalty: WeightedL1) -> Units:
    """Units in which the largest target, activation time and every column are of order one.

    Raises
    ------
    DataError
        Where coefficients, or times, cannot be held in float64 in the units that were given.

    Examples
    --------
    >>> from limitpoint.theory.solvers.basis_pursuit.data_matrix import as_design
    >>> from limitpoint.theory.solvers.basis_pursuit.penalty import weighted_l1
    >>> units = even_units(as_design([[1e200, 3.0]]), np.array([5.0]), weighted_l1(2, [1e200, 1]))
    >>> units.target, units.time, (units.columns * [1e200, 3.0]).round(3).tolist()
    (4.0, 1.0, [1.306, 1.5])
    """
    largest = float(np.abs(y).max())
    norms = design.norms
    used = norms > 0
    columns = np.ones(len(norms))
    if used.any() and (norms[used].max() > HARMLESS or norms[used].min() < 1.0 / HARMLESS):
        columns = _inverse_power(norms)
    target = 1.0 / float(_inverse_power(np.array(largest)))
    if largest and (np.abs(np.log2(columns[used]) + np.log2(target)) > LARGEST_LOG2).any():
        raise DataError(
            "X and y must be nearer in size: float64 cannot hold coefficients that are their "
            "quotients. Rescale X or y"
        )
    time = _time_unit(columns[used], penalty.scale[used])
    if abs(np.log2(time) - np.log2(target)) > LARGEST_LOG2:
        raise DataError(
            "X and y must be nearer to 1 in size: float64 cannot hold the times of the path, which "
            "are activation times divided by products of X and y. Rescale X and y"
        )
    return Units(columns, target, time)


def _time_unit(columns: Float, times: Float) -> float:
    """The power of two by which the largest activation time comes to [1, 2), where that helps."""
    logs = np.log2(columns[times > 0]) + np.log2(times[times > 0])
    largest = float(np.floor(logs.max())) if logs.size else 0.0
    if abs(largest) > LARGEST_LOG2:
        raise DataError(
            "t_plus and t_minus must be nearer in size to the columns of X: float64 cannot hold "
            "their quotients. Rescale X or the activation times"
        )
    return float(np.exp2(largest)) if abs(largest) > np.log2(HARMLESS) else 1.0


def _inverse_power(sizes: Float) -> Float:
    """The power of two that brings each size to [1, 2); 1 for a size of zero."""
    return np.asarray(np.exp2(-np.floor(np.log2(np.where(sizes > 0, sizes, 1.0)))))
