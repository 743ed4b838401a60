"""The best fits of the data as `X_R β = c` with independent rows, by rational arithmetic alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import fmpq, fmpq_mat

from limitpoint.foundation.arrays import Float
from limitpoint.theory.prove.exact.numbers import entries, primitive, rational_matrix, some_columns

__all__ = ["Rows", "determined", "independent", "null_space", "pivots", "reduced_rows"]


@dataclass(frozen=True)
class Rows:
    """Independent rows of X, the targets that the best fits have there, and the way back.

    Attributes
    ----------
    kept
        Which rows.
    targets
        What all best fits of the data give in those rows, one column per output.
    spread
        From numbers per kept row to the dual: the one in the range of X with the same `Xᵀν`.
    fits
        Whether the data can be fitted exactly.
    """

    kept: list[int]
    targets: fmpq_mat
    spread: fmpq_mat
    fits: bool


def reduced_rows(X: Float | fmpq_mat, y: Float) -> Rows:
    """Least squares, exactly: `X = T X_R`, and the best fits have `TᵀT (X_R β) = Tᵀ y`."""
    matrix = X if isinstance(X, fmpq_mat) else rational_matrix(X)
    reduced, rank = matrix.transpose().rref()
    kept = pivots(reduced, rank)
    # In the reduced transpose, column j holds what row j of X is made of.
    combine = fmpq_mat(
        matrix.nrows(), rank, [reduced[k, j] for j in range(matrix.nrows()) for k in range(rank)]
    )
    square = combine.transpose() * combine
    outputs = rational_matrix(y.reshape(len(y), -1))
    right = combine.transpose() * outputs
    targets = square.solve(right) if rank else right
    spread = combine * square.inv() if rank else combine
    missed = combine * targets - outputs
    fits = all(one == 0 for one in entries(missed))
    return Rows(kept, targets, spread, fits)


def pivots(reduced: fmpq_mat, rank: int) -> list[int]:
    """The column of the first entry that is not zero in each of the first rows."""
    found: list[int] = []
    for k in range(rank):
        start = found[-1] + 1 if found else 0
        found.append(next(j for j in range(start, reduced.ncols()) if reduced[k, j] != 0))
    return found


def null_space(matrix: fmpq_mat, places: Sequence[int]) -> fmpq_mat:
    """Rows that span what is orthogonal to these columns."""
    size = matrix.nrows()
    reduced, rank = some_columns(matrix, places).transpose().rref()
    bound = pivots(reduced, rank)
    found = []
    for j in (j for j in range(size) if j not in bound):
        row = [fmpq(0)] * size
        row[j] = fmpq(1)
        for k, place in enumerate(bound):
            row[place] = -reduced[k, j]
        found += primitive(row)
    return fmpq_mat(size - rank, size, found)


def determined(X: fmpq_mat, kept: list[int], targets: fmpq_mat) -> dict[int, fmpq]:
    """The coefficients that all best fits share, as rationals: those the rows determine alone."""
    rows, columns = len(kept), X.ncols()
    beside = fmpq_mat(
        rows,
        columns + 1,
        [
            targets[k, 0] if i == columns else X[j, i]
            for k, j in enumerate(kept)
            for i in range(columns + 1)
        ],
    )
    reduced, rank = beside.rref()
    found = {}
    for k, pivot in enumerate(pivots(reduced, rank)):
        if all(reduced[k, i] == 0 for i in range(pivot + 1, columns)):
            found[pivot] = reduced[k, columns]
    return found


def independent(X: Float) -> bool:
    """Whether X clearly has independent rows, by its singular values: a guess, to save time."""
    if X.shape[0] > X.shape[1]:
        return False
    sizes = np.abs(X).max(axis=1, initial=0.0)
    if not sizes.all():
        return False
    values = np.linalg.svd(X / sizes[:, None], compute_uv=False)
    return bool(values[-1] > 1e-6 * values[0])
