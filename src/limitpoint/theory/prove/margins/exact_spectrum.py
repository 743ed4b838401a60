"""Eigenvalues of a symmetric rational matrix, ties decided exactly, and their projections.

Notation: G symmetric, `h(x) = Π (x − λ)` over its distinct eigenvalues, which has rational
coefficients. The projection on the eigenvectors of λ is `P_λ = q(G)/h'(λ)`, `q(x) = h(x)/(x − λ)`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from flint import arb, fmpq, fmpq_mat, fmpq_poly

from limitpoint.theory.prove.exact.numbers import ball, entries
from limitpoint.theory.prove.outcome import MorePrecision

__all__ = ["Eigenvalue", "eigenvalues", "projected", "weighed"]


@dataclass(frozen=True)
class Eigenvalue:
    """One of the distinct eigenvalues.

    Attributes
    ----------
    value
        A rational, or a ball around a number that is not rational.
    multiplicity
        How many eigenvectors it has.
    quotient
        The coefficients of `h(x)/((x − λ)h'(λ))`, the constant one first.
    """

    value: Any
    multiplicity: int
    quotient: list[Any]


def eigenvalues(matrix: fmpq_mat) -> list[Eigenvalue]:
    """The distinct eigenvalues, the largest first.

    Examples
    --------
    >>> [(one.value, one.multiplicity) for one in eigenvalues(fmpq_mat(2, 2, [2, 1, 1, 2]))]
    [(3, 1), (1, 1)]
    """
    size = matrix.nrows()
    factors = _factors(size, tuple(entries(matrix)))
    simple = fmpq_poly([1])
    for factor, _ in factors:
        simple = simple * factor
    roots = [(root, count) for factor, count in factors for root in _roots(factor)]
    roots.sort(key=lambda pair: ball(pair[0]).mid())
    for (one, _), (other, _) in pairwise(roots):
        if not ball(one) < ball(other):
            raise MorePrecision("two eigenvalues that differ cannot be told apart")
    return [Eigenvalue(root, count, _quotient(simple, root)) for root, count in roots[::-1]]


@lru_cache(maxsize=1)
def _factors(size: int, flat: tuple[fmpq, ...]) -> list[tuple[fmpq_poly, int]]:
    """The irreducible factors of the characteristic polynomial; they need no precision."""
    _, found = fmpq_mat(size, size, list(flat)).charpoly().factor()
    return list(found)


def _roots(factor: fmpq_poly) -> list[Any]:
    """All are real: the matrix is symmetric."""
    if factor.degree() == 1:
        return [-factor[0] / factor[1]]
    found: list[Any] = factor.complex_roots()
    return [arb(root.real) for root, _ in found]


def _quotient(polynomial: fmpq_poly, root: Any) -> list[Any]:
    """Horner's scheme, twice: the quotient, and its value at the root."""
    found = [polynomial[polynomial.degree()]]
    for k in range(polynomial.degree() - 1, 0, -1):
        found.append(polynomial[k] + root * found[-1])
    slope: Any = fmpq(0)
    for one in found:
        slope = slope * root + one
    if isinstance(slope, arb) and slope.contains(0):
        raise MorePrecision("two eigenvalues that differ cannot be told apart")
    return [one / slope for one in found[::-1]]


def projected(powers: Sequence[fmpq_mat], one: Eigenvalue) -> list[Any]:
    """`P_λ B` from `B, GB, G²B, …`, entry by entry."""
    lines = [entries(power) for power in powers[: len(one.quotient)]]
    return [
        sum((c * v for c, v in zip(one.quotient, values, strict=True)), 0 * one.quotient[0])
        for values in zip(*lines, strict=True)
    ]


def weighed(moments: Sequence[fmpq], one: Eigenvalue) -> Any:
    """`Σ BᵀP_λB` from the same sums with powers of G in place of the projection."""
    pairs = zip(one.quotient, moments[: len(one.quotient)], strict=True)
    return sum((c * m for c, m in pairs), 0 * one.quotient[0])
