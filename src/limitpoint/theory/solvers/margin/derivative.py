"""The derivative of the optimality conditions on a face, in units in which it can be solved with.

    K = [[−C, G], [Gᵀ, 0]],    C_g = (w_g/‖ρ_g‖)(I − ρ_gρ_gᵀ/‖ρ_g‖²),

where G is what the unknowns gain on the margins of the samples.
"""

from dataclasses import dataclass

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.linalg import EPS, equilibrate
from limitpoint.theory.solvers.margin.margin_problem import Integers

__all__ = ["Derivative"]

# Singular values count as zero below this many eps, times the size of an equilibrated matrix whose
# entries are rounded by a few.
RANK_UNITS = 8.0


@dataclass(frozen=True, eq=False)
class Derivative:
    """`K = diag(1/by_row) matrix diag(1/by_column)`, with entries of the matrix near 1."""

    matrix: Float
    by_row: Float
    by_column: Float

    @classmethod
    def of(cls, radial: Float, stiffness: Float, group: Integers, gains: Float) -> "Derivative":
        """From `ρ_g/‖ρ_g‖`, `w_g/‖ρ_g‖` and g of the coordinates in use, and all gains.

        Further unknowns, after these, have no curvature.
        """
        s, turning = len(gains), len(group)
        alike = group[:, None] == group
        curvature = alike * ((np.eye(turning) - np.outer(radial, radial)) * stiffness[:, None])
        matrix = np.zeros((s + gains.shape[1], s + gains.shape[1]))
        matrix[:turning, :turning] = -curvature
        matrix[:s, s:], matrix[s:, :s] = gains, gains.T
        # Curvature first: in units in which it is 1, where there is any, and then what is left.
        unit = np.ones(len(matrix))
        unit[:turning] = np.where(alike.sum(axis=0) > 1, _power_of_two(1 / np.sqrt(stiffness)), 1.0)
        largest = np.abs(gains * unit[:s, None]).max(axis=0, initial=0.0)
        unit[s:] = _power_of_two(1 / np.where(largest > 0, largest, 1.0))
        by_row, by_column = equilibrate(unit[:, None] * matrix * unit)
        by_row, by_column = unit * by_row, unit * by_column
        return cls(by_row[:, None] * matrix * by_column, by_row, by_column)

    @property
    def cut(self) -> float:
        """Below this part of the largest, a singular value is rounding."""
        return RANK_UNITS * EPS * len(self.matrix)


def _power_of_two(value: Float) -> Float:
    return np.asarray(np.exp2(np.round(np.log2(value))))
