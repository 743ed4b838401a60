"""Least squares on columns whose rows differ in size by many orders of magnitude.

Rows in small units are fitted only after the large ones, and by then what is left of a large row is
far below the rounding of its own target: 1e-32 of it where the rows differ by 1e16. It still
counts, since large entries carry it into the slopes. Orthogonality to the columns determines it; so
float64 gives it by a factorisation whose errors are small *row by row*: Householder's QR with the
rows sorted by size and the columns pivoted (Powell & Reid 1969; Cox & Higham 1998, "Stability of
Householder QR factorization for weighted least squares problems"). It is made afresh whenever the
columns change, O(mp²) against the O(mp) of `ColumnFactor`, whose interface this class has.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular

from limitpoint.foundation.arrays import Float
from limitpoint.theory.certificates.compensated import residuals
from limitpoint.theory.solvers.basis_pursuit.column_factor import DEPENDENCE_TOL, EPS
from limitpoint.theory.solvers.basis_pursuit.data_matrix import euclidean_norm


class GradedFactor:
    """The columns inserted so far, factorised row by row, and the projection of a target on them.

    Examples
    --------
    The second row is 1e-20 of the first, and the first column has nothing for it:

    >>> factor = GradedFactor(np.array([1.0, 1e-20]))
    >>> factor.insert(np.array([2.0, 0.0])), factor.insert(np.array([2.0, 1e-20]))
    (True, True)
    >>> factor.solve().round(12), factor.residual
    (array([-0.5,  1. ]), array([0., 0.]))
    """

    def __init__(self, target: Float, columns: Float | None = None) -> None:
        self.target = target.copy()
        self.target_norm = euclidean_norm(target)
        self.columns = np.zeros((len(target), 0)) if columns is None else np.array(columns)
        self._project()

    @property
    def size(self) -> int:
        """The number of columns."""
        return int(self.columns.shape[1])

    def insert(self, column: Float) -> bool:
        """Append a column; return False, and change nothing, if it is in the span."""
        if self.size == len(self.target) or not self._is_outside(column):
            return False
        grown = np.column_stack([self.columns, column])
        # A row that only rounding fills looks outside; a pivot of zero says that nothing is.
        if not RowwiseQR(grown).is_regular:
            return False
        self.columns = grown
        self._project()
        return True

    def delete(self, position: int) -> None:
        """Remove the column at ``position``; the later ones move up by one."""
        self.columns = np.delete(self.columns, position, axis=1)
        self._project()

    def depends(self, columns: Float) -> bool:
        """Whether further columns are linearly dependent, among themselves or on those here."""
        grown = GradedFactor(self.target, self.columns)
        return not all(grown.insert(column) for column in columns.T)

    def outside(self, columns: Float) -> Float:
        """The parts of other columns outside the span, each row relative to its largest entry."""
        parts = self._qr.outside(columns)
        sizes = np.abs(np.hstack([self.columns, columns])).max(axis=1)
        return np.asarray(parts / np.where(sizes > 0, sizes, 1.0)[:, None])

    def shift_target(self, change: Float) -> None:
        """Add ``change`` to the target."""
        self.target = self.target + change
        self.target_norm = euclidean_norm(self.target)
        self._project()

    def refactor(self, columns: Float) -> None:
        """Nothing to do: the factors are always fresh."""

    def solve(self) -> Float:
        """Return the coefficients of the least-squares fit to the target."""
        return self._qr.solve(self.target) + self._qr.solve(self._left)

    def solve_for(self, target: Float) -> Float:
        """Return the coefficients of the least-squares fit to another target."""
        return self._qr.solve(target)

    def lift(self, defect: Float) -> Float:
        """Return the smallest v with ``Aᵀv = defect``."""
        return self._qr.lift(defect)

    def residual_rounding(self, sizes: Float) -> tuple[Float, Float]:
        """What rounding may have put into each row of the residual (see `RowwiseQR`)."""
        return self._qr.residual_rounding(self.residual, self._left, sizes)

    def _is_outside(self, column: Float) -> bool:
        """Whether some row of the column is more than rounding of what fits it."""
        if not self.size:
            return bool(column.any())
        fit = np.abs(self.columns) @ np.abs(self.solve_for(column))
        rest = np.abs(self._qr.outside(column[:, None])[:, 0])
        return bool((rest > DEPENDENCE_TOL * np.maximum(fit, np.abs(column))).any())

    def _project(self) -> None:
        # What is left of the target is already so small in the rows that are fitted that projecting
        # it makes no errors to speak of: they are EPS of it, not of the target.
        self._qr = RowwiseQR(self.columns)
        self._left = residuals(self.columns, self._qr.solve(self.target), self.target)
        self.residual = self._qr.outside(self._left[:, None])[:, 0]
        self.residual_norm = euclidean_norm(self.residual)


class RowwiseQR:
    """``A = QR`` with sorted rows and pivoted columns, for m × p matrices of rank p ≤ m.

    Factorised on first use.
    """

    def __init__(self, A: Float) -> None:
        self._A, self._shape = A, A.shape

    @cached_property
    def _scales(self) -> Float:
        sizes = np.abs(self._A).max(axis=0, initial=0.0)
        return np.asarray(np.exp2(-np.floor(np.log2(np.where(sizes > 0, sizes, 1.0)))))

    @cached_property
    def _rows(self) -> NDArray[np.intp]:
        sizes = np.abs(self._A * self._scales).max(axis=1, initial=0.0)
        return np.argsort(-sizes, kind="stable")

    @cached_property
    def _factors(self) -> tuple[Float, Float, NDArray[np.intp]]:
        """R and the reflections below it, their factors, and the order of the columns."""
        qr, pivots, tau, _, _ = lapack.dgeqp3((self._A * self._scales)[self._rows])
        return qr, tau, pivots - 1

    @property
    def is_regular(self) -> bool:
        """Whether the columns are independent, as far as pivots that are not zero can tell."""
        m, p = self._shape
        return p == 0 or (p <= m and bool((np.diagonal(self._factors[0])[:p] != 0).all()))

    def solve(self, target: Float) -> Float:
        """The least-squares coefficients of one target."""
        p = self._shape[1]
        if not p:
            return np.zeros(0)
        triangle, _, pivots = self._factors
        coordinates = self._apply(target[self._rows][:, None], "T")[:p, 0]
        found = np.empty(p)
        found[pivots] = solve_triangular(triangle[:p], coordinates, check_finite=False)
        return found * self._scales

    def lift(self, defect: Float) -> Float:
        """The smallest v with ``Aᵀv = defect``."""
        m, p = self._shape
        lifted = np.zeros((m, 1))
        if p:
            triangle, _, pivots = self._factors
            scaled = (defect * self._scales)[pivots]
            lifted[:p, 0] = solve_triangular(triangle[:p], scaled, trans=1, check_finite=False)
            lifted = self._apply(lifted, "N")
        return self._unsorted(lifted)[:, 0]

    def inverse(self) -> Float:
        """The pseudo-inverse, p × m."""
        m, p = self._shape
        if not p:
            return np.zeros((0, m))
        triangle, _, pivots = self._factors
        found = np.empty((p, m))
        basis = self._apply(np.eye(m, p), "N")
        found[pivots] = solve_triangular(triangle[:p], basis.T, check_finite=False)
        unsorted = np.empty_like(found)
        unsorted[:, self._rows] = found
        return np.asarray(unsorted * self._scales[:, None])

    def outside(self, columns: Float) -> Float:
        """The parts of columns orthogonal to A."""
        m, p = self._shape
        if not p:
            return np.array(columns)
        if p == m:
            return np.zeros_like(columns)
        turned = self._apply(columns[self._rows], "T")
        turned[:p] = 0.0
        return self._unsorted(self._apply(turned, "N"))

    def residual_rounding(self, residual: Float, left: Float, sizes: Float) -> tuple[Float, Float]:
        """What rounding may have put into each row of a residual r, in units of EPS.

        ``r = (I − AA⁺)·left``, with ``left`` computed in twice the digits from terms of the given
        ``sizes``. Two parts, to first order (Cox & Higham): ``|I − AA⁺|·(|left| + EPS·sizes)``, and
        ``|r| + |A⁺|ᵀ|A|ᵀ|r|`` from rounding of the columns to which r is made orthogonal. Rows that
        share no column with others keep their zeros.
        """
        turned = np.abs(self.outside(np.eye(len(sizes)))) @ (np.abs(left) + EPS * sizes)
        slopes = np.abs(self._A).T @ np.abs(residual)
        return turned, np.abs(residual) + np.abs(self.inverse()).T @ slopes

    def _unsorted(self, rows: Float) -> Float:
        found = np.empty_like(rows)
        found[self._rows] = rows
        return found

    def _apply(self, columns: Float, trans: str) -> Float:
        """Multiply by Qᵀ or Q."""
        work = max(1, columns.shape[1]) * 64
        qr, tau, _ = self._factors
        turned, _, _ = lapack.dormqr("L", trans, qr, tau, columns, work)
        return np.asarray(turned)
