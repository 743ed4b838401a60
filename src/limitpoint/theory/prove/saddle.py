"""Whether a balanced start leaves the saddle at zero, where it lies in the row space of X.

In the time `dτ = Ξ dt` it is `dz/dτ = K(β* − Ξz)`, `K = XᵀX`, `β* = X⁺y`. Backwards from zero
`η = −z` has `dη/ds = K(β* + Ξη)`, so that the one curve of starts that end at zero is
`z = −Kφ(K)β*` with `φ(k) = ∫ exp(k∫Ξ) > 0`. For any polynomial r, therefore,
`(r(K)z)ᵀ(r(K)β*) ≤ 0` on the curve: where it is positive, training leaves zero. If `Xᵀy` is an
eigenvector of K, the curve is a straight line, `z = −cXᵀy`. All this is decided in rationals.
"""

import numpy as np
from flint import arb, fmpq, fmpq_mat

from limitpoint.foundation.arrays import Float
from limitpoint.theory.prove.numbers import entries, rational, rational_matrix

__all__ = ["ends_at_zero", "leaves_zero", "points_back"]


def points_back(X: Float, y: Float, along: fmpq_mat) -> bool:
    """Whether a vector is `−cXᵀy`, c > 0."""
    target = rational_matrix(X).transpose() * rational_matrix(y.reshape(-1, 1))
    return _multiple(along, target) < 0


def ends_at_zero(X: Float, y: Float, along: fmpq_mat) -> bool:
    """Whether the curve is a straight line and a vector, of any length, is on it."""
    return points_back(X, y, along) and _multiple(_applied(rational_matrix(X), along), along) > 0


def leaves_zero(X: Float, along: fmpq_mat, least: fmpq_mat) -> list[float] | None:
    """The roots of a polynomial r with `(r(K)z)ᵀ(r(K)β*) > 0`; None if none is found.

    Float64 finds the eigenvalue at which z and β* agree most in sign, and takes r to vanish near
    all others.
    """
    if _along(along, least) > 0:
        return []
    with np.errstate(over="ignore", invalid="ignore"):
        _, values, vectors = np.linalg.svd(X, full_matrices=False)
        z, target = (vectors @ _unit(vector) for vector in (along, least))
        squares = [float(value) for value in values**2]
        agreement = z * target
    best = int(np.argmax(agreement))
    if not agreement[best] > 0 or not np.isfinite(squares).all():
        return None
    roots = sorted({one for one in squares if one != squares[best]})
    for root in roots:
        along, least = (_minus(X, one, rational(root)) for one in (along, least))
    return roots if _along(along, least) > 0 else None


def _minus(X: Float, vector: fmpq_mat, root: fmpq) -> fmpq_mat:
    return _applied(rational_matrix(X), vector) - root * vector


def _applied(matrix: fmpq_mat, vector: fmpq_mat) -> fmpq_mat:
    return matrix.transpose() * (matrix * vector)


def _along(one: fmpq_mat, other: fmpq_mat) -> fmpq:
    return (one.transpose() * other)[0, 0]


def _multiple(one: fmpq_mat, other: fmpq_mat) -> fmpq:
    """The c with `one = c · other`; 0 where there is none."""
    square = _along(other, other)
    if square == 0:
        return fmpq(0)
    share = _along(one, other) / square
    return share if one == share * other else fmpq(0)


def _unit(vector: fmpq_mat) -> Float:
    """As floats of modulus at most one."""
    largest = max(abs(one) for one in entries(vector))
    return np.array([float(arb(one / largest)) for one in entries(vector)])
