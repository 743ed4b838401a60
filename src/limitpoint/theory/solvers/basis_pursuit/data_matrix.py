"""The data matrix behind one small interface: dense, sparse or matrix-free.

The path algorithm needs four things of X (m × n): ``Xᵀv``, single columns, ``Xᵀv`` on a few
columns, and the column norms (the scale of rounding errors in ``Xᵀv``).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.linalg.blas import dnrm2
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from limitpoint.errors import DataError
from limitpoint.foundation.arrays import Float, as_float_array
from limitpoint.foundation.values import Value

# A sparse array or a LinearOperator is Any to the type checker: SciPy ships no types.
Matrix: TypeAlias = ArrayLike | Any

# Column norms of a matrix-free X are estimated from this many Gaussian probes. The relative
# standard deviation of the estimate is 1/sqrt(2·32) = 12 %; they only scale rounding thresholds.
NORM_PROBES = 32
# A sum of squares below (above) this is recomputed with scaled entries: squares of numbers
# below 1e-154 (above 1e154) leave the range of float64.
SQUARES_TOO_SMALL = 1e-280
SQUARES_TOO_LARGE = 1e280
# Columns squared at a time.
BLOCK = 64


@dataclass(frozen=True, eq=False)
class Design(Value):
    """X with float64 entries, stored so that ``Xᵀv`` and single columns are both fast.

    Examples
    --------
    >>> design = as_design([[1, 0], [2, 3]])
    >>> design.rmatvec(np.array([1.0, 1.0]))
    array([3., 3.])
    """

    data: Any  # Fortran-ordered ndarray, csc_array, or LinearOperator
    shape: tuple[int, int]

    def rmatvec(self, v: Float) -> Float:
        """Return ``Xᵀv``."""
        if isinstance(self.data, LinearOperator):
            return np.asarray(self.data.rmatvec(v), dtype=np.float64).reshape(-1)
        return np.asarray(self.data.T @ v)

    def matvec(self, k: Float) -> Float:
        """Return ``Xk``."""
        if isinstance(self.data, LinearOperator):
            return np.asarray(self.data.matvec(k), dtype=np.float64).reshape(-1)
        return np.asarray(self.data @ k)

    def column(self, j: int) -> Float:
        """Return column j (it may be a view: do not write to it)."""
        if isinstance(self.data, np.ndarray):
            return self.data[:, j]
        if isinstance(self.data, LinearOperator):
            unit = np.zeros(self.shape[1])
            unit[j] = 1.0
            return self.matvec(unit)
        column = np.zeros(self.shape[0])
        inside = slice(self.data.indptr[j], self.data.indptr[j + 1])
        column[self.data.indices[inside]] = self.data.data[inside]
        return column

    def columns(self, indices: Sequence[int]) -> Float:
        """Return the columns ``indices`` as a dense Fortran-ordered array."""
        if isinstance(self.data, np.ndarray):
            return np.asfortranarray(self.data[:, list(indices)])
        block = np.empty((self.shape[0], len(indices)), order="F")
        for position, j in enumerate(indices):
            block[:, position] = self.column(j)
        return block

    def dense(self) -> Float | None:
        """X as an array; None where it is matrix-free."""
        if isinstance(self.data, LinearOperator):
            return None
        whole = self.data if isinstance(self.data, np.ndarray) else self.data.toarray()
        return np.ascontiguousarray(whole)

    def cross(self, indices: Sequence[int], v: Float) -> Float:
        """Return ``Xᵀv`` at ``indices`` only."""
        if not len(indices):
            return np.zeros(0)
        if isinstance(self.data, LinearOperator) and len(indices) > 1:
            return self.rmatvec(v)[list(indices)]
        if isinstance(self.data, np.ndarray) or len(indices) == 1:
            return np.array([self.column(j) @ v for j in indices])
        return np.asarray(self.data[:, list(indices)].T @ v)

    def scaled(self, scales: Float) -> "Design":
        """The design whose columns are those of X times ``scales``."""
        if isinstance(self.data, LinearOperator):
            return Design(self.data @ aslinearoperator(sparse.diags_array(scales)), self.shape)
        if isinstance(self.data, np.ndarray):
            return Design(np.asfortranarray(self.data * scales), self.shape)
        return Design(sparse.csc_array(self.data @ sparse.diags_array(scales)), self.shape)

    @cached_property
    def moduli(self) -> "Design | None":
        """|X|, entry by entry; None where X is matrix-free."""
        if isinstance(self.data, LinearOperator):
            return None
        return Design(abs(self.data), self.shape)

    def moduli_products(self, v: Float) -> Float:
        """``|X|ᵀ|v|``, or the bound ``‖xᵢ‖‖v‖`` on it where X is matrix-free."""
        if self.moduli is None:
            return np.asarray(self.norms * euclidean_norm(v))
        return self.moduli.rmatvec(np.abs(v))

    def row_spread(self) -> float:
        """How much larger the largest row is than the smallest that is not zero.

        Columns count in units in which each has norm one. A matrix-free X is taken to be even.
        """
        if isinstance(self.data, LinearOperator):
            return 1.0
        weights = 1.0 / np.where(self.norms > 0, self.norms, 1.0)
        if isinstance(self.data, np.ndarray):
            squares = np.zeros(self.shape[0])
            for start in range(0, self.shape[1], BLOCK):  # a block at a time stays in the cache
                part = slice(start, start + BLOCK)
                squares += np.square(self.data[:, part]) @ np.square(weights[part])
        else:
            squares = np.asarray(self.data.multiply(self.data) @ np.square(weights)).reshape(-1)
        sizes = np.sqrt(squares)
        for j in np.flatnonzero(squares < SQUARES_TOO_SMALL):
            sizes[j] = euclidean_norm(self.row(int(j)) * weights)
        sizes = sizes[sizes > 0]
        return float(sizes.max() / sizes.min()) if sizes.size else 1.0

    def row(self, j: int) -> Float:
        """Row j of an X that is not matrix-free."""
        row = self.data[j] if isinstance(self.data, np.ndarray) else self.data[[j], :].toarray()
        return np.asarray(row).reshape(-1)

    @cached_property
    def norms(self) -> Float:
        """The Euclidean norm of every column (an estimate where X is matrix-free)."""
        if isinstance(self.data, LinearOperator):
            return _estimated_norms(self.data)
        if isinstance(self.data, np.ndarray):
            squares = np.einsum("ij,ij->j", self.data, self.data)
        else:
            squares = np.asarray(self.data.multiply(self.data).sum(axis=0)).reshape(-1)
        norms: Float = np.sqrt(squares)
        for j in np.flatnonzero((squares < SQUARES_TOO_SMALL) | (squares > SQUARES_TOO_LARGE)):
            norms[j] = euclidean_norm(self.column(int(j)))
        return norms


def euclidean_norm(v: Float) -> float:
    """‖v‖, safe from overflow and underflow (NumPy's is not), and several times faster."""
    return float(dnrm2(v))


def as_design(X: Matrix) -> Design:
    """Check X and convert it once to float64, in the layout that suits column access."""
    if isinstance(X, LinearOperator):
        _require_samples(X.shape)
        if X.dtype is not None:
            _require_real(X.dtype)
        return Design(X, (int(X.shape[0]), int(X.shape[1])))
    data: Any = X
    if sparse.issparse(X):
        _require_real(data.dtype)
        if data.ndim != 2:
            raise DataError(f"X must have 2 dimension(s); it has shape {data.shape}")
        data = sparse.csc_array(data).astype(np.float64)
        data.sum_duplicates()
        entries = data.data
    else:
        # A plain array is spared a copy: the data may be large.
        plain = type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2
        raw = X if plain else as_float_array(X, "X", DataError, ndim=(2,))
        entries = data = np.asfortranarray(raw)
    _require_samples(data.shape)
    # The sum is finite only if all entries are (or overflows, and then the full test decides).
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(entries.sum())
    if suspicious and not np.isfinite(entries).all():
        raise DataError("X must be finite; some entries are NaN or infinite")
    design = Design(data, (int(data.shape[0]), int(data.shape[1])))
    with np.errstate(over="ignore"):
        if not np.isfinite(design.norms).all():
            raise DataError("X has a column whose norm overflows; rescale it")
    if ((design.norms > 0) & (design.norms < np.finfo(np.float64).tiny)).any():
        raise DataError("X has a column whose norm is below the smallest float; rescale it")
    return design


def _require_real(dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "biuf":
        raise DataError(f"X must hold real numbers, not dtype {dtype}")


def _require_samples(shape: tuple[int, ...]) -> None:
    if shape[0] == 0 or shape[1] == 0:
        raise DataError(f"X must have at least one sample and one feature, not {shape}")


def _estimated_norms(operator: LinearOperator) -> Float:
    probes = np.random.default_rng(0).standard_normal((operator.shape[0], NORM_PROBES))
    squares = np.zeros(operator.shape[1])
    try:
        for probe in probes.T:
            squares += np.asarray(operator.rmatvec(probe), dtype=np.float64).reshape(-1) ** 2
    except NotImplementedError:
        raise DataError("X must have rmatvec, where it is a LinearOperator; it has none") from None
    norms = np.sqrt(squares / NORM_PROBES)
    if not np.isfinite(norms).all():
        raise DataError("X (a LinearOperator) returned a NaN or infinite product")
    return norms
