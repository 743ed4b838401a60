"""Mirror coordinates in the row space of the data."""

import numpy as np
from scipy.linalg import qr, solve_triangular

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.linalg import EPS
from limitpoint.theory.certificates.constraint import Constraint

__all__ = ["in_row_space"]

# Mirror coordinates below this part of the largest are as good as zero when the columns that carry
# the dual are chosen.
SMALLEST_MIRROR = 1e-30
# Each step takes what ν misses down by the condition number of the chosen columns times eps.
DUAL_STEPS = 3


def in_row_space(
    constraint: Constraint, xi: Float, terms: Float | float = 0.0
) -> tuple[Float, Float]:
    """Mirror coordinates in the row space of X that agree with these, and what they add up from.

    As many columns as X has rank determine ν: those with the smallest mirror coordinates (greedily,
    by pivoted QR of the columns divided by them), so that no term of the sums exceeds, but for the
    moderate factors of pivoting, the sum itself. `terms` are the sizes of what the given ones were
    added up from, where that is more than themselves.
    """
    rows, units = constraint.rows, constraint.units
    inside, sums = np.zeros_like(xi), np.zeros_like(xi)
    for k, given in enumerate(xi * units):
        sizes = np.maximum(np.abs(given), terms * units)
        largest = float(sizes.max(initial=0.0))
        if not 0.0 < largest < np.inf or not len(rows):
            inside[k] = np.where(np.isfinite(given), 0.0, np.nan)
            continue
        sizes = np.maximum(sizes, SMALLEST_MIRROR * largest)
        inside[k], sums[k] = _from_few(constraint, given, sizes)
    return inside / units, sums / units


def _from_few(constraint: Constraint, given: Float, sizes: Float) -> tuple[Float, Float]:
    """The same of one row of mirror coordinates, in the units of the constraint.

    By combining the chosen entries, or as `Xᵀν`, whichever adds up from less: orthonormal rows have
    lost what is far below one in X, and ν may be large where rows of X are nearly dependent.
    """
    rows = constraint.rows
    basis, triangle, order = qr(rows / sizes, mode="economic", pivoting=True, check_finite=False)
    rank = len(rows)
    chosen, square = order[:rank], triangle[:, :rank]
    if not np.diag(square).all():
        return np.full_like(given, np.nan), np.zeros_like(given)
    parts = np.empty_like(rows)
    parts[:, order] = solve_triangular(square, triangle, check_finite=False)
    parts *= sizes / sizes[chosen, None]
    few = given[chosen]
    inside, sums = few @ parts, np.abs(few) @ np.abs(parts)
    inverse = solve_triangular(square, np.eye(rank), check_finite=False)
    # Entries of the rows are off by E, rounding of one times the condition of the data, as that of
    # singular vectors is: what they add up to, `rowsᵀz`, by Eᵀz and, since z itself is such that
    # the chosen entries are met, by as much through the parts.
    lost = float(np.abs(basis @ (inverse.T @ (few / sizes[chosen]))).sum())
    lost *= float(constraint.data.values[0] / constraint.data.values[rank - 1])
    sums = sums + lost * (1.0 + np.abs(parts).sum(axis=0))
    columns = constraint.X * constraint.units
    dual, missing = np.zeros(len(columns)), few
    for _ in range(DUAL_STEPS):
        dual = dual + constraint.sample_dual(basis @ (inverse.T @ (missing / sizes[chosen])))
        missing = few - columns[:, chosen].T @ dual
    left = np.abs(missing) @ np.abs(parts) / EPS
    added, terms = columns.T @ dual, np.abs(columns).T @ np.abs(dual) + left
    inside, sums = np.where(terms < sums, added, inside), np.minimum(terms, sums)
    inside[chosen], sums[chosen] = few, np.abs(few)
    return inside, sums
