"""How far from the exact limit a certified answer can be, to first order.

Notation: A the equilibrated columns and b = β/units their coefficients, D the slopes `db/dξ`. An
answer misses the data by r and its own mirror coordinates by e (in coefficients), where both
include what rounding hides. The exact limit is then at `b + Δb` with

    A Δb = r,    Δb = e + D Aᵀ Δν,    hence    Δb = K r + (I − KA) e,    K = D Aᵀ(A D Aᵀ)⁻¹.

Next to a pole D is so large that rounding of the mirror coordinate, δ, can be any coefficient.
Those coefficients are fixed by the fit instead, D → ∞: with `A_F = Q₁R` their columns, Q₂ the rest
of sample space and N the other columns,

    A_Fᵀ Δν = δ,    Q₂ᵀ A_N Δb_N = Q₂ᵀ r,    R Δb_F = Q₁ᵀ (r − A_N Δb_N).
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.linalg import EPS, row_sorted_qr
from limitpoint.theory.certificates.constraint import Constraint

__all__ = ["contributions", "error_bounds"]

# A column takes part in a combination that vanishes if its share is more than rounding.
NULL_COMPONENT = 1e-8
# Coefficients bounded together, so that the matrices of large problems do not fill the memory.
BLOCK = 8192


def contributions(X: Float, y: Float, coef: Float) -> Float:
    """What one unit of each coefficient contributes at most: `max_j |x_ji| / (|x_j|ᵀ|β| + |y_j|)`.

    Infinite where a column meets a row whose terms are all zero.
    """
    sizes = np.abs(X) @ np.abs(coef) + np.abs(y)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        parts = np.abs(X) / sizes[:, None]
    return np.asarray(np.nan_to_num(parts, nan=0.0, posinf=np.inf).max(axis=0, initial=0.0))


def error_bounds(
    constraint: Constraint,
    slopes: Float,
    missed: Float,
    strayed: Float,
    blurred: NDArray[np.bool_],
    deltas: Float,
    allowed: Float,
) -> tuple[Float, NDArray[np.bool_]]:
    """Bounds on `|Δb|`, in the units of the constraint; and which were left to the fit.

    Parameters
    ----------
    slopes
        D, of the coefficients that are not blurred; positive where these can move at all.
    missed
        r row by row, in the units of the data, rounding included.
    strayed
        e, rounding included.
    blurred
        Which coefficients the fit determines.
    deltas
        δ of those.
    allowed
        Coefficients that the δ of others move by more than this, through ν, are left to the fit
        too.
    """
    columns = constraint.rows
    # From what each row misses to what the orthonormal rows do.
    into = (constraint.data.left.T * constraint.data.row_scales) / constraint.data.values[:, None]
    fixed = np.flatnonzero(blurred)
    if not fixed.size:
        return _by_slopes(columns, slopes, into, missed, strayed), blurred
    while True:
        inverse, outside, open_ = _split(columns[:, fixed])
        others = np.ones(columns.shape[1])
        others[fixed] = 0.0
        moved = np.abs(columns.T @ (inverse.T @ np.diag(deltas[fixed]))).sum(axis=1)
        more = np.flatnonzero(others * slopes * moved > allowed)
        if not more.size:
            break
        fixed = np.union1d(fixed, more)
    strayed = others * (strayed + slopes * moved)
    rest = outside.T @ columns * others
    bounds = _by_slopes(rest, slopes * others, outside.T @ into, missed, strayed) * others
    through = np.abs(inverse @ columns) * others
    bounds[fixed] = np.abs(inverse @ into) @ missed + through @ bounds
    bounds[fixed[open_]] = np.inf
    return bounds, others == 0.0


def _by_slopes(columns: Float, slopes: Float, into: Float, missed: Float, strayed: Float) -> Float:
    """`|K into| missed + e + |K| |A| e`, K by a factorisation that is accurate however D is."""
    if not len(columns):
        return strayed.copy()
    roots = np.sqrt(slopes)
    basis, triangle, pivots = row_sorted_qr((columns * roots).T)
    if not (np.diag(triangle) != 0.0).all():
        return np.full(columns.shape[1], np.inf)
    size = len(columns)
    inverse = solve_triangular(triangle, np.eye(size), trans="T", check_finite=False)
    spread = np.abs(columns) @ strayed
    onto_rows, onto_self = inverse @ into[pivots], inverse[:, np.argsort(pivots)]
    bounds = np.empty(columns.shape[1])
    for first in range(0, len(bounds), BLOCK):
        part = slice(first, first + BLOCK)
        gain = roots[part, None] * basis[part]
        bounds[part] = np.abs(gain @ onto_rows) @ missed + np.abs(gain @ onto_self) @ spread
    return bounds + strayed


def _split(fixed: Float) -> tuple[Float, Float, NDArray[np.bool_]]:
    """Pseudo-inverse of some columns, the complement of their range, and who is not determined.

    A column that takes part in a combination that vanishes is determined by nothing.
    """
    left, values, right = np.linalg.svd(fixed)
    rank = int((values > max(fixed.shape) * EPS * values[0]).sum())
    inverse = (right[:rank].T / values[:rank]) @ left[:, :rank].T
    open_ = (np.abs(right[rank:]) > NULL_COMPONENT).any(axis=0)
    return inverse, left[:, rank:], np.asarray(open_)
