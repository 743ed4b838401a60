"""The linear systems of Newton's method, `rows D rowsᵀ`: singular if coefficients are dormant."""

import math

import numpy as np
from scipy.linalg.lapack import dposv

from limitpoint.arrays import Float

__all__ = ["solve_shifted"]

# Relative shift of the diagonal: dormant coefficients make the Hessian singular to working
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
