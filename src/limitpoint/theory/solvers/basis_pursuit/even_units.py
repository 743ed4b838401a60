"""The same problem in units in which columns and targets are of order one.

A column times c, with its activation times times c and its bounds divided by c, is the same path:
kᵢ is divided by c and sᵢ multiplied. y times c divides all times. Powers of two do both without
rounding, so that units never matter; what they spare is overflow. Rows are left alone: their units
are the weights of the loss, and the path depends on them.
"""

from dataclasses import dataclass

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.theory.solvers.basis_pursuit.data_matrix import Design
from limitpoint.theory.solvers.basis_pursuit.penalty import WeightedL1

# Columns with norms within this of one, up or down, are left as they are: squares and products of
# such numbers are far from the ends of float64, and scaling them would change no bit of the path.
HARMLESS = 2.0**40


@dataclass(frozen=True, eq=False)
class Units:
    """By what columns are multiplied, and y divided: powers of two."""

    columns: Float
    target: float

    def design(self, design: Design) -> Design:
        """X in these units."""
        return design if (self.columns == 1.0).all() else design.scaled(self.columns)

    def penalty(self, penalty: WeightedL1) -> WeightedL1:
        """Activation times and bounds in these units."""
        coefs = self.columns * self.target
        return WeightedL1(
            penalty.t_plus * self.columns,
            penalty.t_minus * self.columns,
            penalty.lower / coefs,
            penalty.upper / coefs,
        )


def even_units(design: Design, y: Float) -> Units:
    """Units in which the largest target and every column are of order one.

    Examples
    --------
    >>> from limitpoint.theory.solvers.basis_pursuit.data_matrix import as_design
    >>> units = even_units(as_design([[1e200, 3.0]]), np.array([5.0]))
    >>> units.target, (units.columns * [1e200, 3.0]).round(3).tolist()
    (4.0, [1.306, 1.5])
    """
    largest = float(np.abs(y).max())
    norms = design.norms
    used = norms[norms > 0]
    if used.size and (used.max() > HARMLESS or used.min() < 1.0 / HARMLESS):
        columns = _inverse_power(norms)
    else:
        columns = np.ones(len(norms))
    return Units(columns, 1.0 / float(_inverse_power(np.array(largest))))


def _inverse_power(sizes: Float) -> Float:
    """The power of two that brings each size to [1, 2); 1 for a size of zero."""
    return np.asarray(np.exp2(-np.floor(np.log2(np.where(sizes > 0, sizes, 1.0)))))
