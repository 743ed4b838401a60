"""The linear systems of Newton's method, `rows D rowsᵀ`: singular if coefficients are inactive."""

import math

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.linalg.lapack import dposv

from limitpoint.foundation.arrays import Float

__all__ = ["solve_graded", "solve_shifted"]

# Relative shift of the diagonal: inactive coefficients make the Hessian singular to working
# precision, and in those directions any dual will do.
LEVENBERG_SHIFT = 1e-15
# Growth of the shift when rounding leaves the Hessian indefinite all the same.
SHIFT_GROWTH = 10.0


def solve_shifted(rows: Float, slopes: Float, right: Float) -> Float | None:
    """Solve with `rows diag(slopes) rowsᵀ`, slightly shifted; None if it is zero or overflows.

    Examples
    --------
    >>> solve_shifted(np.eye(2), np.array([1.0, 4.0]), np.array([1.0, 2.0])).round(12).tolist()
    [1.0, 0.5]
    """
    hessian = (rows * slopes) @ rows.T
    diagonal = np.einsum("ii->i", hessian)
    shift = LEVENBERG_SHIFT * float(diagonal.sum())
    if not 0.0 < shift < math.inf:
        return None
    while True:
        diagonal += shift
        _, solution, failed = dposv(hessian, right)
        if not failed:
            result: Float = solution
            return result
        shift *= SHIFT_GROWTH


def solve_graded(
    rows: Float, slopes: Float, right: Float, dual_residual: Float, shift: float
) -> tuple[Float, Float]:
    """The step `dν` and the change `dβ = D (rowsᵀdν + l)`, accurate however D is graded.

    Solves `rows D rowsᵀ dν = right − rows D l`, l the dual residual, by pivoted QR of `√D rowsᵀ`,
    its rows sorted; `shift` is added to the diagonal. NaN if the system is singular or overflows.

    Examples
    --------
    >>> toward, moved = solve_graded(
    ...     np.eye(2), np.array([1.0, 1e-40]), np.array([1.0, 1e-20]), np.zeros(2), 0.0
    ... )
    >>> toward.tolist(), moved.tolist()
    ([1.0, 1e+20], [1.0, 1e-20])
    """
    samples, features = rows.shape
    failed = np.full(samples, np.nan), np.full(features, np.nan)
    with np.errstate(all="ignore"):
        roots = np.sqrt(slopes)
        matrix = np.vstack([(rows * roots).T, math.sqrt(shift) * np.eye(samples)])
        behind = np.concatenate([-roots * dual_residual, np.zeros(samples)])
    if not (np.isfinite(matrix).all() and np.isfinite(behind).all() and np.isfinite(right).all()):
        return failed
    order = np.argsort(-np.einsum("ij,ij->i", matrix, matrix), kind="stable")
    basis, triangle, pivots = qr(matrix[order], mode="economic", pivoting=True, check_finite=False)
    if triangle[-1, -1] == 0.0:
        return failed
    inside = basis.T @ behind[order]
    inside += solve_triangular(triangle, right[pivots], trans="T", check_finite=False)
    toward = np.empty(samples)
    toward[pivots] = solve_triangular(triangle, inside, check_finite=False)
    spread = basis @ inside - behind[order]
    # Where D is large, dual residuals of rounding size drown the change: what the change must add
    # up to is known, and puts it right.
    defect = right[pivots] - matrix[order][:, pivots].T @ spread
    spread += basis @ solve_triangular(triangle, defect, trans="T", check_finite=False)
    unsorted = np.empty(len(order))
    unsorted[order] = spread
    return toward, roots * unsorted[:features]
