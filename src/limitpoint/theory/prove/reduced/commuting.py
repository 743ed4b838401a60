"""Symmetric matrices that commute, as polynomials of one of them, in rationals.

Notation: C a rational combination of all of them, m its minimal polynomial, whose roots are real
and simple. Matrices `g(C)` have the eigenvalues g(λ), and the projector onto the eigenspace of λ is
`q_λ(C)/m'(λ)`, `q_λ = m/(t − λ)`: its entries are polynomials in λ too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import acb, fmpq, fmpq_mat, fmpq_poly

from limitpoint.foundation.arrays import Float
from limitpoint.networks import joint_eigenbasis
from limitpoint.problem import Problem
from limitpoint.theory.prove.exact.numbers import entries, rational_matrix
from limitpoint.theory.prove.exact.row_reduction import pivots
from limitpoint.theory.prove.reduced.exact_data import Place

__all__ = ["Commuting", "commuting_of", "near_basis", "off_basis"]

# Combinations that are tried: one in which different common eigenspaces share an eigenvalue by
# chance is no use, and most share none.
TRIES = 4


@dataclass(frozen=True)
class Commuting:
    """Matrices (of sensors, then layers) as polynomials of one.

    Attributes
    ----------
    combination
        C is the sum of the matrices times these whole numbers, each matrix over its largest entry.
    polynomials
        `g(C)` is the matrix.
    projector
        Row by row, each entry of the projector onto an eigenspace as a polynomial in λ.
    factors
        Of the characteristic polynomial, with their multiplicities.
    """

    combination: list[int]
    polynomials: list[fmpq_poly]
    projector: list[fmpq_poly]
    factors: list[tuple[fmpq_poly, int]]

    def places(self) -> list[Place]:
        """All eigenvalues, in the precision of the moment."""
        found = []
        for factor, _ in self.factors:
            roots: list[tuple[acb, int]] = list(factor.numer().complex_roots())  # type: ignore[arg-type]
            found += [Place(factor, root.real) for root, _ in roots]
        return found

    def dimension(self, place: Place) -> fmpq:
        """Of the eigenspace."""
        return next(fmpq(power) for factor, power in self.factors if factor == place.factor)


def commuting_of(problem: Problem) -> Commuting | None:
    """Sensors and layers as polynomials of one matrix; None unless they are, exactly."""
    side = len(problem.init.direction[0])
    floats = [*problem.task.X.reshape(-1, side, side), *problem.init.direction]
    matrices = [rational_matrix(np.ascontiguousarray(one)) for one in floats]
    if any(one != one.transpose() for one in matrices):
        return None
    units = [one / (max(map(abs, entries(one))) or 1) for one in matrices]
    if any(a * b != b * a for k, a in enumerate(units) for b in units[:k]):
        return None
    rng = np.random.default_rng(0)
    for _ in range(TRIES):
        combination = [int(one) for one in rng.integers(1, 100, len(units))]
        C = fmpq_mat(side, side)
        for factor, one in zip(combination, units, strict=True):
            C = C + one * factor
        found = _polynomials(C, matrices)
        if found is not None:
            return Commuting(combination, found, _projector(C), _factors(C))
    return None


def _polynomials(C: fmpq_mat, matrices: Sequence[fmpq_mat]) -> list[fmpq_poly] | None:
    """Each matrix as a polynomial of C, or None where one is none."""
    powers = _powers(C)
    degree = len(powers)
    columns = [entries(one) for one in [*powers, *matrices]]
    reduced, rank = fmpq_mat(columns).transpose().rref()
    if pivots(reduced, rank) != list(range(degree)):
        return None
    return [
        fmpq_poly([reduced[k, degree + i] for k in range(degree)]) for i in range(len(matrices))
    ]


def _powers(C: fmpq_mat) -> list[fmpq_mat]:
    """`1, C, C², …`, one less than the degree of m."""
    size = C.nrows()
    found = [fmpq_mat(size, size, [int(i == j) for i in range(size) for j in range(size)])]
    for _ in range(C.minpoly().degree() - 1):
        found.append(found[-1] * C)
    return found


def _projector(C: fmpq_mat) -> list[fmpq_poly]:
    """`Σ_j C^j h_j(λ)/m'(λ)` with `q_λ(t) = Σ_j t^j h_j(λ)`, `h_j = Σ_{k>j} m_k λ^{k−j−1}`."""
    minimal = C.minpoly()
    _, inverse, _ = minimal.derivative().xgcd(minimal)
    inverse = inverse / (inverse * minimal.derivative() % minimal)[0]
    coefs = minimal.coeffs()
    parts = [fmpq_poly(coefs[j + 1 :]) * inverse % minimal for j in range(minimal.degree())]
    powers = [entries(one) for one in _powers(C)]
    return [
        sum((part * value for part, value in zip(parts, values, strict=True)), fmpq_poly([0]))
        for values in zip(*powers, strict=True)
    ]


def _factors(C: fmpq_mat) -> list[tuple[fmpq_poly, int]]:
    return [(fmpq_poly(one), power) for one, power in C.charpoly().factor()[1]]


def near_basis(problem: Problem) -> Float:
    """Vectors in which sensors and layers are nearly diagonal: a choice, and no more."""
    side = len(problem.init.direction[0])
    return joint_eigenbasis(
        np.concatenate([problem.task.X.reshape(-1, side, side), problem.init.direction])
    )


def off_basis(problem: Problem, basis: Float) -> fmpq:
    """How far they are from orthonormal ones, and the matrices from diagonal ones, at most.

    The largest entry that should vanish, of a matrix relative to its largest entry.
    """
    V = rational_matrix(basis)
    side = V.nrows()
    identity = fmpq_mat(side, side, [int(i == j) for i in range(side) for j in range(side)])
    worst: fmpq = max(map(abs, entries(V.transpose() * V - identity)))
    for one in [*problem.task.X.reshape(-1, side, side), *problem.init.direction]:
        matrix = rational_matrix(np.ascontiguousarray(one))
        turned = entries(V.transpose() * matrix * V)
        off = max((abs(a) for k, a in enumerate(turned) if k % (side + 1)), default=fmpq(0))
        size = max(map(abs, entries(matrix)))
        worst = max(worst, off / size) if size else worst
    return worst
