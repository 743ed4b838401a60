"""The best fit of least norm, and what the data do not see of a vector: rational arithmetic."""

from dataclasses import dataclass
from typing import Any

from flint import fmpq, fmpq_mat

from limitpoint.foundation.arrays import Float
from limitpoint.theory.prove.numbers import entries, rational_matrix
from limitpoint.theory.prove.row_reduction import independent, reduced_rows

__all__ = ["RowSpace", "beside", "some_rows", "square_norm"]


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
    rows
        Independent rows of X from which the others follow.
    fits
        Whether the data can be fitted exactly.
    """

    least: fmpq_mat
    least_dual: fmpq_mat
    hidden: fmpq_mat
    seen_dual: fmpq_mat
    rows: list[int]
    fits: bool

    @classmethod
    def of(cls, X: Float, y: Float, vectors: fmpq_mat) -> "RowSpace":
        """Solve `X_R X_Rᵀ N = (c, X_R V)`: exactly, whatever the condition of X."""
        if independent(X):  # a guess: the system says if it is wrong
            try:
                everything = list(range(X.shape[0]))
                return _split(rational_matrix(X), _outputs(y), vectors, everything)
            except ZeroDivisionError:
                pass
        rows = reduced_rows(X, y)
        kept = some_rows(rational_matrix(X), rows.kept)
        found = _split(kept, rows.targets, vectors, rows.kept)
        return cls(
            found.least,
            rows.spread * found.least_dual,
            found.hidden,
            rows.spread * found.seen_dual,
            rows.kept,
            rows.fits,
        )


def _split(matrix: fmpq_mat, targets: fmpq_mat, vectors: fmpq_mat, rows: list[int]) -> RowSpace:
    """With independent rows, and what the best fits give there."""
    transposed, outputs = matrix.transpose(), targets.ncols()
    right = beside(targets, matrix * vectors)
    solved = (matrix * transposed).solve(right) if rows else right
    duals = [
        fmpq_mat(len(rows), stop - start, [solved[j, k] for j in range(len(rows)) for k in places])
        for start, stop in ((0, outputs), (outputs, solved.ncols()))
        for places in [range(start, stop)]
    ]
    least, seen = (transposed * dual for dual in duals)
    return RowSpace(least, duals[0], vectors - seen, duals[1], rows, True)


def beside(one: fmpq_mat, other: fmpq_mat) -> fmpq_mat:
    """Two matrices of as many rows, one to the right of the other."""
    lines = zip(one.tolist(), other.tolist(), strict=True)
    return fmpq_mat(
        one.nrows(), one.ncols() + other.ncols(), [v for a, b in lines for v in (*a, *b)]
    )


def some_rows(matrix: fmpq_mat, places: list[int]) -> fmpq_mat:
    """The rows of a matrix at these places, in this order."""
    columns = range(matrix.ncols())
    return fmpq_mat(len(places), matrix.ncols(), [matrix[j, i] for j in places for i in columns])


def square_norm(matrix: fmpq_mat) -> fmpq:
    """The sum of the squares of all entries."""
    found: Any = sum((one * one for one in entries(matrix)), fmpq(0))
    return fmpq(found)


def _outputs(y: Float) -> fmpq_mat:
    return rational_matrix(y.reshape(len(y), -1))
