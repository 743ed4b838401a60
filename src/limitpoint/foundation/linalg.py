"""Linear algebra that no choice of units can fool: equilibration and rank, written once.

A row of X and its target may be in any unit, and so may a column and its coefficient. Rank, and
what counts as rounding, are therefore decided on `A = diag(r) X diag(c)`, with powers of two chosen
so that every row and every column has its largest entry near one: exact, and (but for those
powers) the same whatever the units were.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from limitpoint.foundation.arrays import Float

__all__ = [
    "EPS",
    "Equilibrated",
    "equilibrate",
    "exact_rank",
    "has_distinct_rows",
    "row_sorted_qr",
    "row_space",
]

EPS = float(np.finfo(np.float64).eps)
# Ruiz's sweeps halve the distance from one, in logarithms, each time: from e^700 to a factor 2
# takes ten.
SWEEPS = 12
# The largest prime below 2^31: products of two remainders fit into 64 bits.
PRIME = 2147483647
# A least-squares fit whose entries may be off by more, relative, is solved for exactly, if it is so
# small that integers of some thousand digits take no more than tenths of a second.
ROUGH = 1e-12
EXACT_RANK = 40
EXACT_PRODUCTS = 200_000
# Scales of rows and columns, in powers of two: entries may differ by more than float64 holds.
LOG_SCALES = (-1000.0, 1000.0)
# Scales stop moving, in powers of two.
UNMOVED = 0.25
# Eigenvalues of a Gram matrix are off by eps times the largest, some hundred times.
DISTINCT = 1e-10


def equilibrate(X: Float) -> tuple[Float, Float]:
    """Powers of two r, c such that rows and columns of `r[:, None] * X * c` have ∞-norm near 1.

    Ruiz's sweeps (2001), in logarithms. A row or a column of zeros keeps the scale 1.

    Examples
    --------
    >>> rows, columns = equilibrate(np.array([[1e8, 0.0], [1.0, 1e-16]]))
    >>> np.abs(rows[:, None] * [[1e8, 0.0], [1.0, 1e-16]] * columns).max(axis=0) >= 0.5
    array([ True,  True])
    """
    with np.errstate(divide="ignore"):
        logs = np.log2(np.abs(X))
    by_row, by_column = np.zeros(X.shape[0]), np.zeros(X.shape[1])
    for _ in range(SWEEPS):
        scaled = logs + by_row[:, None] + by_column
        down, across = _largest(scaled, 1), _largest(scaled, 0)
        by_row -= 0.5 * down
        by_column -= 0.5 * across
        if max(np.abs(down).max(initial=0.0), np.abs(across).max(initial=0.0)) <= UNMOVED:
            break
    by_row = np.round(by_row)
    by_column = np.round(by_column - _largest(logs + by_row[:, None] + by_column, 0))
    return np.exp2(np.clip(by_row, *LOG_SCALES)), np.exp2(np.clip(by_column, *LOG_SCALES))


def _largest(logs: Float, axis: int) -> Float:
    """Along an axis; 0 where there is nothing but zeros."""
    largest = logs.max(axis=axis, initial=-np.inf)
    return np.where(np.isneginf(largest), 0.0, largest)


def exact_rank(X: Float) -> int:
    """The rank of X with its floats taken as the exact numbers that they are.

    By elimination modulo a prime, after its entries have become integers. A prime divides a minor
    that is not zero, and so hides it, with odds of some 1 in 10^9: then the rank found is too low.

    Examples
    --------
    >>> [exact_rank(np.array([[0.1, 0.7], [c * 0.1, c * 0.7]])) for c in (2, 3)]
    [1, 2]
    """
    mantissas, exponents = np.frexp(X)
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    lowest = int(exponents.min(initial=0))
    powers = np.array(
        [pow(2, int(e) - lowest, PRIME) for e in range(lowest, int(exponents.max(initial=0)) + 1)]
    )
    left = (whole % PRIME) * powers[exponents - lowest] % PRIME
    rank = 0
    for column in range(left.shape[1]):
        candidates = np.flatnonzero(left[rank:, column])
        if not candidates.size:
            continue
        pivot = rank + int(candidates[0])
        left[[rank, pivot]] = left[[pivot, rank]]
        left[rank] = left[rank] * pow(int(left[rank, column]), -1, PRIME) % PRIME
        below = left[rank + 1 :, column].copy()
        left[rank + 1 :] = (left[rank + 1 :] - below[:, None] * left[rank] % PRIME) % PRIME
        rank += 1
        if rank == left.shape[0]:
            break
    return rank


@dataclass(frozen=True, eq=False)
class Equilibrated:
    """`diag(row_scales) X diag(column_scales) = left diag(values) rows`, cut at the rank.

    Attributes
    ----------
    row_scales, column_scales
        Powers of two.
    left, values, rows
        The compact singular value decomposition of the equilibrated matrix.
    """

    X: Float
    row_scales: Float
    column_scales: Float
    left: Float
    values: Float
    rows: Float

    @classmethod
    def of(cls, X: Float) -> "Equilibrated":
        """Rank by the usual cut, largest side × eps × σ₁, of the equilibrated matrix."""
        by_row, by_column = equilibrate(X)
        matrix = by_row[:, None] * X * by_column
        left, values, rows = np.linalg.svd(matrix, full_matrices=False)
        rank = int((values > max(X.shape) * EPS * values[0]).sum()) if values.size else 0
        return cls(X, by_row, by_column, left[:, :rank], values[:rank], rows[:rank])

    @property
    def rank(self) -> int:
        """How many rows, and columns, are independent."""
        return len(self.values)

    @property
    def has_full_row_rank(self) -> bool:
        """Whether every y is in the range of X."""
        return bool(self.rank == self.X.shape[0])

    @cached_property
    def rank_is_exact(self) -> bool:
        """Whether the rank is that of the data as exact numbers, not one that rounding hides."""
        return bool(self.rank == min(self.X.shape) or self.rank == exact_rank(self.X))

    @cached_property
    def _spanning(self) -> tuple[Float, Float, Float]:
        """Columns of the data that span their range, `B[:, p] = QT`; Q and T with that order.

        Largest rows first: accurate row by row.
        """
        _, _, order = qr(
            self.row_scales[:, None] * self.X * self.column_scales, mode="economic", pivoting=True
        )
        chosen = order[: self.rank]
        columns = self.X[:, chosen] * self.column_scales[chosen]
        basis, triangle, pivots = row_sorted_qr(columns)
        return columns[:, pivots], basis, triangle

    @property
    def range_basis(self) -> Float:
        """Orthonormal columns spanning the range of X, in the units of its rows."""
        return np.eye(self.X.shape[0]) if self.has_full_row_rank else self._spanning[1]

    def best_fit(self, y: Float) -> tuple[Float, Float]:
        """The point of the range nearest to y, and how far off each entry of it may be.

        Where rows that cannot be fitted together are larger than others by orders of magnitude,
        rounding of their residuals hides those, and the fit is solved for exactly.
        """
        if self.has_full_row_rank:
            return y, np.zeros_like(y)
        columns, basis, triangle = self._spanning
        inside = basis.T @ y
        # What is rounding of y counts as zero.
        rounding = 8 * EPS * (np.abs(basis).T @ np.abs(y))
        inside = np.where(np.abs(inside) <= rounding, 0.0, inside)
        if not inside.any():
            return np.zeros_like(y), np.zeros_like(y)
        weights = solve_triangular(triangle, inside, check_finite=False)
        fit: Float = columns @ weights
        # To first order an error of B moves w by (TᵀT)⁻¹ΔBᵀ(y − Bw), and each row of B is off by
        # rounding of its largest entry.
        inverse = np.abs(solve_triangular(triangle, np.eye(self.rank), check_finite=False))
        largest = np.abs(columns).max(axis=1, keepdims=True) * np.ones_like(columns)
        rounding = 8 * EPS * (largest.T @ np.abs(y - fit))
        off = np.abs(columns) @ (inverse @ (inverse.T @ rounding))
        off = off + 8 * EPS * (np.abs(columns) @ np.abs(weights))
        small = self.rank <= EXACT_RANK and len(y) * self.rank**2 <= EXACT_PRODUCTS
        if small and (off > ROUGH * (np.abs(columns) @ np.abs(weights) + np.abs(y))).any():
            fit = exact_fit(columns, y)
            off = EPS * np.abs(fit)
        return fit, off

    def coordinates(self, residual: Float) -> Float:
        """A vector in the range of X by what it asks of `rows @ (β / column_scales)`."""
        return ((self.left.T @ _by_row(self.row_scales, residual)).T / self.values).T

    def least_norm(self, fit: Float) -> Float:
        """The coefficients of least norm, in equilibrated units, with this fit."""
        return _by_row(self.column_scales, self.rows.T @ self.coordinates(fit))

    def sample_dual(self, dual: Float) -> Float:
        """The ν with `Xᵀν = rowsᵀ dual / column_scales`."""
        return _by_row(self.row_scales, self.left @ (dual.T / self.values).T)


def has_distinct_rows(X: Float) -> bool:
    """Whether rows are independent beyond doubt: by their Gram matrix, which is cheap.

    Examples
    --------
    >>> has_distinct_rows(np.array([[1.0, 2.0], [1.0, 3.0]]))
    True
    >>> has_distinct_rows(np.array([[1.0, 2.0], [1.0, 2.0]]))
    False
    """
    sizes = np.abs(X).max(axis=1, keepdims=True)
    if not (sizes > 0).all():
        return False
    rows = X / sizes
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    values = np.linalg.eigvalsh(rows @ rows.T)
    return bool(values[0] > DISTINCT * values[-1])


def exact_fit(columns: Float, y: Float) -> Float:
    """The least-squares fit of y by independent columns, exact but for its last rounding.

    With the floats taken as the exact numbers that they are: integers, once multiplied by powers of
    two, and the normal equations solved by elimination without fractions (Bareiss, 1968).

    Examples
    --------
    >>> exact_fit(np.array([[0.0], [1.0], [1.0]]), np.array([5.0, 1.0, 2.0])).tolist()
    [0.0, 1.5, 1.5]
    """
    targets = y.reshape(len(y), -1)
    matrix, _ = _integers(columns)
    right, other = _integers(targets)
    size, outputs = columns.shape[1], targets.shape[1]
    across = list(zip(*matrix, strict=True))
    table = [
        [sum(a * b for a, b in zip(one, two, strict=True)) for two in across]
        + [sum(a * b[k] for a, b in zip(one, right, strict=True)) for k in range(outputs)]
        for one in across
    ]
    before = 1
    for k in range(size):
        for i in range(size):
            if i == k:
                continue
            factor = table[i][k]
            table[i] = [
                (table[k][k] * a - factor * b) // before
                for a, b in zip(table[i], table[k], strict=True)
            ]
        before = table[k][k]
    weights = [
        [Fraction(row[size + c], row[i]) for c in range(outputs)] for i, row in enumerate(table)
    ]
    unit = Fraction(1, 2) ** other if other >= 0 else Fraction(2) ** -other
    fit = np.array(
        [
            [
                float(unit * sum(a * w[c] for a, w in zip(row, weights, strict=True)))
                for c in range(outputs)
            ]
            for row in matrix
        ]
    )
    return fit.reshape(y.shape)


def _integers(values: Float) -> tuple[list[list[int]], int]:
    """As integers, and the power of two that they were multiplied by."""
    ratios = [[float(v).as_integer_ratio() for v in row] for row in values]
    shift = max((d.bit_length() - 1 for row in ratios for _, d in row), default=0)
    return [[n << (shift - d.bit_length() + 1) for n, d in row] for row in ratios], shift


def _by_row(scales: Float, values: Float) -> Float:
    """Multiplied row by row; of a vector entry by entry."""
    return (scales * values.T).T


def row_space(X: Float) -> Float:
    """Orthonormal columns spanning the row space of X; the rank is that of the equilibrated X."""
    data = Equilibrated.of(X)
    basis: Float = row_sorted_qr((data.rows / data.column_scales).T)[0]
    return basis


def row_sorted_qr(matrix: Float) -> tuple[Float, Float, NDArray[np.intp]]:
    """`matrix[:, pivots] = Q T` with pivoting and rows taken largest first: accurate row by row.

    Householder's method so ordered is stable for each row of its own size (Cox and Higham, 1998).
    """
    order = np.argsort(-np.abs(matrix).max(axis=1, initial=0.0), kind="stable")
    basis, triangle, pivots = qr(matrix[order], mode="economic", pivoting=True, check_finite=False)
    unsorted = np.empty_like(basis)
    unsorted[order] = basis
    return unsorted, triangle, pivots
