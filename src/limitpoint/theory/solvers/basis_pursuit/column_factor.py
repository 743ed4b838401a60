"""A thin QR factorisation of a changing set of columns, and the projection of a target on it.

Columns are inserted at the end by Gram-Schmidt with reorthogonalisation and deleted anywhere by
Givens rotations: O(mp) each, against O(mp²) for a fresh factorisation. Both are backward stable,
so the factors stay those of columns within a few rounding errors of the given ones, even where
the Gram matrix (the square of the condition number) could not be inverted.

Notation: ``A = QR`` the columns, ``c = Qᵀ target``, ``r = target − Qc`` the residual.
"""

import numpy as np
from scipy import linalg
from scipy.linalg.blas import dtrsv

from limitpoint.foundation.arrays import Float
from limitpoint.theory.solvers.basis_pursuit.data_matrix import euclidean_norm

EPS = float(np.finfo(np.float64).eps)

# A column whose part outside the span is below this fraction of its norm is in the span: what is
# left is rounding error of the projection (a few EPS for a column that is exactly dependent).
DEPENDENCE_TOL = 100 * EPS
# Gram-Schmidt is repeated when one pass left less than this fraction of the vector (Daniel, Gragg,
# Kaufman & Stewart 1976: 1/√2). A lower one saves time and lets the orthogonality of Q decay, by
# the inverse of the fraction at every insertion.
REPEAT_RATIO = 0.7071
# Two passes suffice for a column not numerically in the span; the third covers columns at its edge.
MAX_PASSES = 3
# The residual is made orthogonal to Q again once its norm has fallen by this factor since the last
# time (errors of EPS·‖r‖ have then grown that much relative to r), or after that many deletions.
REPROJECT_RATIO = 8.0
REPROJECT_DELETIONS = 16
# The buffers grow by this many columns, or by a quarter. Small, because the triangular solve runs
# over the whole buffer (see `solve`).
GROWTH = 64

# SciPy wraps this function to loop over batches of matrices; the wrapper costs more than the call.
_qr_delete = getattr(linalg.qr_delete, "__wrapped__", linalg.qr_delete)


class ColumnFactor:
    """``A = QR`` for the columns inserted so far, in the order of insertion.

    Examples
    --------
    >>> factor = ColumnFactor(np.array([6.0, 9.0]))
    >>> factor.insert(np.array([3.0, 4.0])), factor.insert(np.array([6.0, 8.0]))
    (True, False)
    >>> factor.solve().round(12), factor.residual.round(12)
    (array([2.16]), array([-0.48,  0.36]))
    """

    def __init__(self, target: Float) -> None:
        self.size = 0
        self.target = target.copy()
        self.residual = target.copy()
        self.target_norm = self.residual_norm = self._projected_norm = euclidean_norm(target)
        self._deletions = 0
        # The last row of the first buffer is c: the rotations that update Q then update c too.
        # R sits in the corner of an identity matrix.
        self._q = np.zeros((len(target) + 1, 0), order="F")
        self._r = np.zeros((0, 0), order="F")

    @property
    def basis(self) -> Float:
        """Q: orthonormal columns, m × size (a view)."""
        return self._q[:-1, : self.size]

    def insert(self, column: Float) -> bool:
        """Append a column; return False, and change nothing, if it is in the span."""
        size = self.size
        if size == len(self.target):
            return False
        rest, weights, distance = self._split(column)
        if not distance > DEPENDENCE_TOL * euclidean_norm(column):
            return False
        self._reserve(size + 1)
        rest /= distance
        step = float(rest @ self.residual)
        self._q[:-1, size] = rest
        self._q[-1, size] = step
        self._r[:size, size] = weights
        self._r[size, size] = distance
        self.size = size + 1
        rest *= step
        self.residual -= rest
        self.residual_norm = euclidean_norm(self.residual)
        if self.residual_norm * REPROJECT_RATIO < self._projected_norm:
            self._reproject()
        return True

    def delete(self, position: int) -> None:
        """Remove the column at ``position``; the later ones move up by one."""
        last = self.size - 1
        if position < last:
            # Works inside the buffers: the views are Fortran-ordered, as LAPACK wants them.
            q, r = self._q[:, : self.size], self._r[: self.size, : self.size]
            _qr_delete(q, r, position, 1, "col", overwrite_qr=True, check_finite=False)
        # The rotations leave the direction that the span has lost in the last column.
        self.residual += self._q[-1, last] * self._q[:-1, last]
        self._r[:last, last] = self._r[last, :last] = 0.0
        self._r[last, last] = 1.0
        self.size = last
        self._deletions += 1
        if self._deletions >= REPROJECT_DELETIONS:
            self._reproject()
        else:
            self.residual_norm = euclidean_norm(self.residual)

    def truncate(self, size: int) -> None:
        """Forget all but the first ``size`` columns; the residual is left alone."""
        dropped = slice(size, self.size)
        self._r[: self.size, dropped] = 0.0
        self._r[dropped, : self.size] = 0.0
        np.fill_diagonal(self._r[dropped, dropped], 1.0)
        self.size = size

    def depends(self, columns: Float) -> bool:
        """Whether further columns are linearly dependent, among themselves or on those here."""
        size, residual, norm = self.size, self.residual.copy(), self._projected_norm
        independent = all(self.insert(column) for column in columns.T)
        self.truncate(size)
        self.residual, self._projected_norm = residual, norm
        self.residual_norm = euclidean_norm(residual)
        return not independent

    def shift_target(self, change: Float) -> None:
        """Add ``change`` to the target."""
        self.target += change
        self.target_norm = euclidean_norm(self.target)
        self._project()

    def refactor(self, columns: Float) -> None:
        """Factor afresh the columns already here, given again in the same order."""
        q, r = linalg.qr(columns, mode="economic", check_finite=False)
        self._q[:-1, : self.size] = q
        self._r[: self.size, : self.size] = r
        self._project()

    def solve(self) -> Float:
        """Return ``R⁻¹c``: the coefficients of the least-squares fit to the target."""
        return self._triangular(self._q[-1, : self.size], trans=0)

    def solve_for(self, target: Float) -> Float:
        """Return the coefficients of the least-squares fit to another target."""
        return self._triangular(self.basis.T @ target, trans=0)

    def outside(self, columns: Float) -> Float:
        """The parts of other columns outside the span."""
        return np.asarray(columns - self.basis @ (self.basis.T @ columns))

    def lift(self, defect: Float) -> Float:
        """Return the smallest v with ``Aᵀv = defect``: ``Q R⁻ᵀ defect``."""
        return np.asarray(self.basis @ self._triangular(defect, trans=1))

    def _triangular(self, rhs: Float, *, trans: int) -> Float:
        # The whole buffer, because BLAS would copy a corner of it; the rest is the identity.
        padded = np.zeros(self._r.shape[0])
        padded[: self.size] = rhs
        if self.size == 0:
            return padded[:0]
        return np.asarray(dtrsv(self._r, padded, trans=trans, overwrite_x=1)[: self.size])

    def _split(self, column: Float) -> tuple[Float, Float, float]:
        """Return the part outside the span, the coordinates in it, and the former's norm."""
        rest, basis = np.array(column), self.basis
        weights = np.zeros(self.size)
        before = after = euclidean_norm(rest)
        for _ in range(MAX_PASSES if self.size else 0):
            correction = basis.T @ rest
            rest -= basis @ correction
            weights += correction
            after = euclidean_norm(rest)
            if after > REPEAT_RATIO * before:
                break
            before = after
        return rest, weights, after

    def _project(self) -> None:
        c = self.basis.T @ self.target
        self._q[-1, : self.size] = c
        self.residual = self.target - self.basis @ c
        self._reproject()

    def _reproject(self) -> None:
        again = self.basis.T @ self.residual
        self.residual -= self.basis @ again
        self._q[-1, : self.size] += again
        self.residual_norm = self._projected_norm = euclidean_norm(self.residual)
        self._deletions = 0

    def _reserve(self, size: int) -> None:
        capacity = self._r.shape[0]
        if size <= capacity:
            return
        grown = min(len(self.target), capacity + max(GROWTH, capacity // 4))
        q, r = (
            np.zeros((len(self.target) + 1, grown), order="F"),
            np.zeros((grown, grown), order="F"),
        )
        q[:, :capacity] = self._q
        np.fill_diagonal(r, 1.0)
        r[:capacity, :capacity] = self._r
        self._q, self._r = q, r
