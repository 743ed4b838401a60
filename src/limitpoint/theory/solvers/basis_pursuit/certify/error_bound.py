"""How far coefficients are from those that they stand for, to first order.

In units in which every coefficient is one and every row adds up to about one, the columns that move
are the matrix of contributions ``Mⱼᵢ = xⱼᵢkᵢ/zⱼ``, ``z = |X||k| + |y|``: no unit is left in it.
With the residual r computed in twice the digits, the relative error of the coefficients is
``d = M⁺(r/z)``, and it matters by what it contributes, ``|Mⱼᵢdᵢ|``. Solving for d makes errors of
its own, of EPS times the condition of M, relative to d: they are added. What is left of r outside
the span of these columns, which others would have to fit, counts as it is.
"""

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.theory.solvers.basis_pursuit.column_factor import EPS
from limitpoint.theory.solvers.basis_pursuit.graded_factor import RowwiseQR

# Backward error of a QR factorisation of p columns, in EPS, per column: the constants of Higham
# (2002, section 19.3) without their worst-case growth.
UNITS_PER_COLUMN = 4.0
# A solve whose relative error is above this says nothing about d, not even to first order.
LARGEST_SOLVE_ERROR = 0.1


def fit_error(columns: Float, values: Float, left: Float, sizes: Float) -> float:
    """Bound ``|xⱼᵢΔkᵢ|/zⱼ`` where y is fitted: rows may then be put into any unit.

    Examples
    --------
    >>> X, k = np.array([[2.0, 1.0], [0.0, 1e-9]]), np.array([0.5, 1.0])
    >>> float(f"{fit_error(X, k, np.array([0.0, 1e-15]), np.array([2.0, 1e-9])):.6g}")
    1e-06
    """
    if not len(values):
        return _outside(left, sizes)
    contributions = _contributions(columns, values, sizes)
    return _bound(contributions, RowwiseQR(contributions), left, sizes, 0.0)


def least_squares_error(
    columns: Float, values: Float, factor: RowwiseQR, left: Float, sizes: Float
) -> float:
    """The same where k is a least-squares fit, whose rows weigh what they do.

    ``factor`` is that of the columns. Rounding of the columns shifts a least-squares fit also by
    ``(AᵀA)⁻¹ΔAᵀr``, in proportion to the residual that is left.
    """
    if not len(values):
        return 0.0
    rest = np.abs(factor.outside(left[:, None])[:, 0])
    inverse = np.abs(factor.inverse())
    units = UNITS_PER_COLUMN * len(values) * EPS
    turned = units * (inverse @ (inverse.T @ (np.abs(columns).T @ rest)))
    relative = turned / np.abs(values)
    # Only what lies in the span moves the coefficients: the rest is the least-squares residual.
    error = factor.solve(left)
    inside = columns @ error
    contributions = _contributions(columns, values, sizes)
    return _bound(contributions, RowwiseQR(contributions), inside, sizes, relative)


def _contributions(columns: Float, values: Float, sizes: Float) -> Float:
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = (columns * values) / np.where(sizes > 0, sizes, 1.0)[:, None]
    return np.nan_to_num(scaled, nan=0.0)


def _bound(M: Float, factor: RowwiseQR, left: Float, sizes: Float, more: Float | float) -> float:
    if not factor.is_regular:
        return float("inf")
    relative = left / np.where(sizes > 0, sizes, 1.0)
    inverse, largest = np.abs(factor.inverse()), np.abs(M).max(axis=0)
    units = UNITS_PER_COLUMN * M.shape[1] * EPS
    condition = float((largest * inverse.sum(axis=1)).max())
    if not units * condition <= LARGEST_SOLVE_ERROR:
        return float("inf")
    d = factor.solve(relative)
    rounding = units * (inverse @ (np.abs(M) @ np.abs(d) + np.abs(relative)))
    worst = float((largest * (np.abs(d) + rounding + more)).max())
    return max(worst, _outside(left - (M @ d) * sizes, sizes))


def _outside(left: Float, sizes: Float) -> float:
    """The largest part of a row that is not fitted."""
    return float(np.divide(np.abs(left), sizes, out=np.zeros_like(left), where=left != 0).max())
