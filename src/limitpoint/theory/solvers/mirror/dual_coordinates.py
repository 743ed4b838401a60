"""Coordinates of the sample-space dual that keep mirror coordinates of very different sizes apart.

The mirror coordinates are `ξ = rowsᵀν`. In orthonormal rows every mirror coordinate carries the
rounding of the largest one. Where mirror coordinates of 1e13 stand beside others of 1e-2, as they
do when a coefficient starts very close to zero and the data need it all the same, the small ones
are lost, and with them what decides between coefficients.

Any m independent columns may serve as basis instead: the dual is then given by their mirror
coordinates, and all others are sums of them. With the columns of the smallest mirror coordinates as
basis (greedily: pivoted QR of the columns divided by the sizes of their mirror coordinates) no term
of a sum exceeds, but for the moderate factors of pivoting, the size of the sum's own mirror
coordinate: each mirror coordinate is accurate relative to its size.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from limitpoint.foundation.arrays import Float

__all__ = ["DualCoordinates"]


@dataclass(frozen=True, eq=False)
class DualCoordinates:
    """Rows of which ξ is a combination, and how they come from the orthonormal ones.

    Attributes
    ----------
    rows
        `ξ = rowsᵀ dual`.
    turn
        The matrix that takes the orthonormal rows to these; None if they are the same.
    columns
        The columns whose mirror coordinates the coordinates are, if there are such.

    Examples
    --------
    >>> coordinates = DualCoordinates.graded(np.array([[0.6, 0.8]]), np.array([1e9, 1.0]))
    >>> coordinates.columns.tolist(), coordinates.rows.round(12).tolist()
    ([1], [[0.75, 1.0]])
    """

    rows: Float
    turn: Float | None = None
    columns: NDArray[np.int_] | None = None

    @classmethod
    def graded(cls, rows: Float, sizes: Float) -> "DualCoordinates | None":
        """Accurate relative to the given sizes of the mirror coordinates (positive).

        None if that overflows.
        """
        samples = len(rows)
        with np.errstate(all="ignore"):
            scaled = rows / sizes
            if not np.isfinite(scaled).all():
                return None
            basis, triangle, order = qr(scaled, mode="economic", pivoting=True)
            columns, square = order[:samples], triangle[:, :samples]
            if not (np.isfinite(triangle).all() and np.diag(square).all()):
                return None
            graded = np.empty_like(rows)
            graded[:, order] = solve_triangular(square, triangle)
            graded *= sizes / sizes[columns, None]
            graded[:, columns] = np.eye(samples)
            turn = solve_triangular(square, basis.T) / sizes[columns, None]
        if not (np.isfinite(graded).all() and np.isfinite(turn).all()):
            return None
        return cls(graded, turn, columns)

    @cached_property
    def moduli(self) -> Float:
        """The moduli of the rows, by which rounding is judged."""
        return np.abs(self.rows)

    def turned(self, right: Float) -> Float:
        """The same combination of these rows' equations as of the orthonormal ones."""
        return right if self.turn is None else self.turn @ right

    def orthonormal(self, dual: Float) -> Float:
        """The coordinates of the same dual in the orthonormal rows."""
        return dual if self.turn is None else dual @ self.turn
