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
from limitpoint.theory.prove.exact.numbers import entries, rational, rational_matrix

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

    In the eigenvectors of K this is `Σ r(k_i)² z_i β*_i`: float64 puts roots at the eigenvalues of
    the most negative terms, until it is positive. It cannot become so where none of them is.
    """
    _, values, vectors = np.linalg.svd(X, full_matrices=False)
    squares = values**2
    z, target = (vectors @ _unit(vector) for vector in (along, least))
    terms: Float = z * target
    matrix, roots = rational_matrix(X), list[float]()
    for _ in range(len(squares)):
        if terms.sum() > 0 and _product(along, least) > 0:
            return roots
        worst = float(squares[int(np.argmin(terms))])
        roots.append(worst)
        along, least = (_applied(matrix, one) - rational(worst) * one for one in (along, least))
        factors = (squares - worst) ** 2
        terms = terms * factors / max(float(factors.max()), np.finfo(np.float64).tiny)
    return None


def _applied(matrix: fmpq_mat, vector: fmpq_mat) -> fmpq_mat:
    return matrix.transpose() * (matrix * vector)


def _product(one: fmpq_mat, other: fmpq_mat) -> fmpq:
    return (one.transpose() * other)[0, 0]


def _multiple(one: fmpq_mat, other: fmpq_mat) -> fmpq:
    """The c with `one = c · other`; 0 where there is none."""
    square = _product(other, other)
    if square == 0:
        return fmpq(0)
    share = _product(one, other) / square
    return share if one == share * other else fmpq(0)


def _unit(vector: fmpq_mat) -> Float:
    """As floats of modulus at most one."""
    largest = max(abs(one) for one in entries(vector))
    return np.array([float(arb(one / largest)) for one in entries(vector)])
