"""Which exponentials a linear flow from one start is made of, in rationals.

Notation: J symmetric and rational, z the start. The *minimal polynomial of z* is the monic m of
least degree with `m(J)z = 0`; its roots are the eigenvalues of J to whose eigenvectors z is not
orthogonal, each once and all real.
"""

from itertools import pairwise

from flint import fmpq, fmpq_mat, fmpq_poly

from limitpoint.theory.prove.exact.numbers import entries
from limitpoint.theory.prove.exact.row_reduction import pivots

__all__ = ["has_positive_root", "minimal_polynomial", "mirrored"]


def minimal_polynomial(A: fmpq_mat, first: fmpq_mat, second: fmpq_mat) -> fmpq_poly:
    """Of the start `(V₁, V₂)` under `J = [[0, A], [Aᵀ, 0]]`, all its columns together."""
    most = 2 * min(A.nrows(), A.ncols()) + 1
    steps = [entries(first) + entries(second)]
    for _ in range(most):
        first, second = A * second, A.transpose() * first
        steps.append(entries(first) + entries(second))
    reduced, rank = fmpq_mat(steps).transpose().rref()
    kept = pivots(reduced, rank)
    # The first power that is made of those before it; these are independent.
    degree = next((k for k in range(rank) if kept[k] != k), rank)
    return fmpq_poly([-reduced[k, degree] for k in range(degree)] + [fmpq(1)])


def mirrored(polynomial: fmpq_poly) -> fmpq_poly:
    """`m(−t)`, up to its sign."""
    return fmpq_poly([-c if k % 2 else c for k, c in enumerate(polynomial.coeffs())])


def has_positive_root(polynomial: fmpq_poly) -> bool:
    """All roots are real, and then as many are positive as coefficients change sign (Descartes)."""
    signs = [c > 0 for c in polynomial.coeffs() if c != 0]
    return any(a != b for a, b in pairwise(signs))
