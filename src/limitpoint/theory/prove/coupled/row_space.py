"""The best fit of least norm, and what the data do not see of a vector: rational arithmetic."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flint import fmpq, fmpq_mat

from limitpoint.foundation.arrays import Float
from limitpoint.theory.prove.exact.numbers import entries, rational_matrix
from limitpoint.theory.prove.exact.row_reduction import independent, reduced_rows

__all__ = ["RowSpace", "square_norm"]


@dataclass(frozen=True)
class RowSpace:
    """A split along the row space of X, of `X⁺Y` and of other vectors.

    Attributes
    ----------
    least
        `X⁺Y`, one column per output.
    least_dual
        The N in the range of X with `XᵀN = X⁺Y`.
    hidden
        `P_null V`, what X does not see of the columns of V.
    seen_dual
        The N in the range of X with `XᵀN = V − P_null V`.
    rank
        Of X.
    fits
        Whether the data can be fitted exactly.
    """

    least: fmpq_mat
    least_dual: fmpq_mat
    hidden: fmpq_mat
    seen_dual: fmpq_mat
    rank: int
    fits: bool

    @classmethod
    def of(cls, X: Float, y: Float, vectors: fmpq_mat | None = None) -> "RowSpace":
        """Exactly, whatever the condition of X; without vectors, of `X⁺Y` alone."""
        matrix, outputs = rational_matrix(X), rational_matrix(y.reshape(len(y), -1))
        given = fmpq_mat(X.shape[1], 0) if vectors is None else vectors
        # Guesses: the systems say if they are wrong.
        for guess, split in ((X, _independent_rows), (X.T, _independent_columns)):
            if independent(guess):
                try:
                    return split(matrix, outputs, given)
                except ZeroDivisionError:
                    pass
        rows = reduced_rows(X, y)
        if not rows.kept:
            nothing = fmpq_mat(X.shape[1], outputs.ncols())
            none = fmpq_mat(len(y), given.ncols())
            return cls(nothing, fmpq_mat(len(y), outputs.ncols()), given, none, 0, rows.fits)
        kept = rational_matrix(X[rows.kept])
        found = _independent_rows(kept, rows.targets, given)
        duals = (rows.spread * dual for dual in (found.least_dual, found.seen_dual))
        least_dual, seen_dual = duals
        return cls(found.least, least_dual, found.hidden, seen_dual, len(rows.kept), rows.fits)


def _independent_rows(matrix: fmpq_mat, targets: fmpq_mat, vectors: fmpq_mat) -> RowSpace:
    """From `XXᵀN = (Y, XV)`."""
    transposed = matrix.transpose()
    right = _beside(targets, matrix * vectors)
    duals = (matrix * transposed).solve(right)
    least_dual, seen_dual = _parted(duals, targets.ncols())
    least, seen = _parted(transposed * duals, targets.ncols())
    return RowSpace(least, least_dual, vectors - seen, seen_dual, matrix.nrows(), True)


def _independent_columns(matrix: fmpq_mat, targets: fmpq_mat, vectors: fmpq_mat) -> RowSpace:
    """Nothing is hidden: `N = XW` with `(XᵀX)²W = XᵀX(B, V)`, and `XᵀXB = XᵀY`."""
    transposed = matrix.transpose()
    square = transposed * matrix
    weights = (square * square).solve(_beside(transposed * targets, square * vectors))
    least = square * _parted(weights, targets.ncols())[0]
    least_dual, seen_dual = _parted(matrix * weights, targets.ncols())
    nothing = fmpq_mat(vectors.nrows(), vectors.ncols())
    fits = matrix * least == targets
    return RowSpace(least, least_dual, nothing, seen_dual, matrix.ncols(), fits)


def _beside(one: fmpq_mat, other: fmpq_mat) -> fmpq_mat:
    """Two matrices of as many rows, one to the right of the other."""
    lines: Sequence[Any] = list(zip(one.tolist(), other.tolist(), strict=True))
    width = one.ncols() + other.ncols()
    return fmpq_mat(one.nrows(), width, [v for a, b in lines for v in (*a, *b)])


def _parted(matrix: fmpq_mat, first: int) -> tuple[fmpq_mat, fmpq_mat]:
    """The first columns, and the others."""
    lines = matrix.tolist()
    rows, columns = matrix.nrows(), matrix.ncols()
    return (
        fmpq_mat(rows, first, [v for line in lines for v in line[:first]]),
        fmpq_mat(rows, columns - first, [v for line in lines for v in line[first:]]),
    )


def square_norm(matrix: fmpq_mat) -> fmpq:
    """The sum of the squares of all entries, as a fast product of matrices."""
    flat = entries(matrix)
    return (fmpq_mat(1, len(flat), flat) * fmpq_mat(len(flat), 1, flat))[0, 0]
