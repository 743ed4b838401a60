"""Directions of one sample and two layers: the top singular vectors, as the start shares them.

Notation: `G = AAᵀ` with distinct eigenvalues `λ = s²` and projections P_λ; `p = U₁ᵀv₁` and
`q = U₂ᵀv₂` along singular vectors of s > 0, so that `Σp² = v₁ᵀP_λv₁` and
`Σq² = (Av₂)ᵀP_λ(Av₂)/λ` over those that tie. The start leads if `Σp² > Σq²` for every λ > 0 (the
vectors of a tie can be turned so that all share alike). The layers then end along
`a = P_λ(v₁ + yAv₂/s)` and `yAᵀa/s`, for the largest λ, and `β_i = y aᵀA_iAᵀa/(λ‖a‖²)`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import arb, arb_mat, fmpq, fmpq_mat

from limitpoint.problem import Problem
from limitpoint.theory.prove.exact.numbers import ball, ball_column, column, entries
from limitpoint.theory.prove.margins.exact_spectrum import (
    Eigenvalue,
    eigenvalues,
    projected,
    weighed,
)
from limitpoint.theory.prove.margins.one_sample_matrices import (
    Layered,
    Spread,
    as_layers,
    layered,
    spread,
)
from limitpoint.theory.prove.margins.signed_rows import directions
from limitpoint.theory.prove.outcome import CannotProve, Found, Hint, MorePrecision

__all__ = ["prove_one_sample_direction"]

Pair = tuple[list[Any], list[Any]]

NOTHING = "the sample meets the layers through a matrix that is zero"
LEAD = "the first layer is not the larger one along a singular vector, p² > q²"


def prove_one_sample_direction(problem: Problem, hint: Hint | None) -> Found:
    """Enclose the coefficients of margin 1 along the limit direction, and the layers."""
    exact = spread(problem)
    if exact is not None:
        return _of_a_diagonal(problem, exact)
    inside, y = layered(problem), int(problem.task.y[0])
    every = eigenvalues(inside.matrix * inside.matrix.transpose())
    found = [one for one in every if _positive(one.value)]
    if not found:
        raise CannotProve(NOTHING)
    powers = _Powers(inside, len(every))
    for one in found:
        _check_lead(inside, powers, one)
    top = found[0]
    grown, copies = _grown(powers, top, y), inside.first.ncols()
    # Of a value that does not tie any vector of its space will do for the coefficients.
    columns = [_alone(powers, top)]
    if top.multiplicity > 1:
        columns = [grown[c::copies] for c in range(copies)]
    return _found(problem, inside, top, (grown, _coefs(inside, columns, top, y)), y)


def _positive(value: Any) -> bool:
    """Whether an eigenvalue of G is not zero: zero is rational, and none is negative."""
    if isinstance(value, arb) and not value > 0:
        raise MorePrecision("an eigenvalue cannot be told from zero")
    return bool(value > 0)


class _Powers:
    """`G^k` times the layers as the left space of A sees them, and the sums of their products."""

    def __init__(self, inside: Layered, count: int) -> None:
        square = inside.matrix * inside.matrix.transpose()
        self.first, self.second = [inside.first], [inside.matrix * inside.second]
        for _ in range(count - 1):
            self.first.append(square * self.first[-1])
            self.second.append(square * self.second[-1])
        self.squares = [_product(self.first[0], one) for one in self.first]
        self.others = [_product(self.second[0], one) for one in self.second]


def _product(one: fmpq_mat, other: fmpq_mat) -> fmpq:
    pairs = zip(entries(one), entries(other), strict=True)
    return sum((a * b for a, b in pairs), fmpq(0))


def _check_lead(inside: Layered, powers: _Powers, one: Eigenvalue) -> None:
    """`Σp² > Σq²` along the singular vectors of one value."""
    left, right = weighed(powers.squares, one), weighed(powers.others, one) / one.value
    p, q = (right, left) if inside.flipped else (left, right)
    if p > q:
        return
    if isinstance(one.value, fmpq) or p < q:
        raise CannotProve(LEAD)
    raise MorePrecision(LEAD)


def _alone(powers: _Powers, top: Eigenvalue) -> list[Any]:
    """One of the layers in the space of a value, in rationals if that is rational: the largest."""
    copies = powers.first[0].ncols()
    columns = [
        values[c::copies]
        for values in (projected(powers.first, top), projected(powers.second, top))
        for c in range(copies)
    ]
    return max(columns, key=lambda one: ball(sum(v * v for v in one)).mid())


def _grown(powers: _Powers, top: Eigenvalue, y: int) -> list[Any]:
    """`P_λ(v₁ + yAv₂/s)`, row by row."""
    value = ball(top.value).sqrt()
    pairs = zip(projected(powers.first, top), projected(powers.second, top), strict=True)
    return [ball(a) + y * ball(b) / value for a, b in pairs]


def _coefs(inside: Layered, columns: Sequence[list[Any]], top: Eigenvalue, y: int) -> list[Any]:
    """`y Σ aᵀA_iAᵀa/(λ Σ‖a‖²)`."""
    square = _square([v for values in columns for v in values])
    pairs = [(values, _turned(inside.matrix, values)) for values in columns]
    return [
        y * sum((_form(part, a, b) for a, b in pairs), 0 * square) / (top.value * square)
        for part in inside.parts
    ]


def _turned(matrix: fmpq_mat, vector: Sequence[Any]) -> list[Any]:
    """`Aᵀa`."""
    zero = 0 * vector[0]
    return [
        sum((matrix[i, j] * a for i, a in enumerate(vector)), zero) for j in range(matrix.ncols())
    ]


def _form(matrix: fmpq_mat, a: Sequence[Any], b: Sequence[Any]) -> Any:
    """`aᵀFb`."""
    terms = [
        matrix[i, j] * one * other
        for i, one in enumerate(a)
        for j, other in enumerate(b)
        if matrix[i, j] != 0
    ]
    return sum(terms, 0 * a[0])


def _square(vector: Sequence[Any]) -> Any:
    """`‖a‖²`, which is not zero."""
    square = sum((one * one for one in vector), 0 * vector[0])
    if not square > 0:
        raise MorePrecision("the layers that grow cannot be told from zero")
    return square


def _of_a_diagonal(problem: Problem, exact: Spread) -> Found:
    """All is rational: where |s_j| is largest `|ρ_j|` is as `(p_j + y sign(s_j) q_j)²`."""
    y, values = int(problem.task.y[0]), exact.values
    sizes = sorted({abs(one) for one in values if one != 0}, reverse=True)
    if not sizes:
        raise CannotProve(NOTHING)
    for size in sizes:
        alike = [j for j, one in enumerate(values) if abs(one) == size]
        if not sum((exact.first[j] ** 2 - exact.second[j] ** 2 for j in alike), fmpq(0)) > 0:
            raise CannotProve(LEAD)
    top = [j for j, one in enumerate(values) if abs(one) == sizes[0]]
    turns = {j: y if values[j] > 0 else -y for j in top}
    grown = {j: exact.first[j] + turns[j] * exact.second[j] for j in top}
    unit = sizes[0] * _square(list(grown.values()))
    zero = fmpq(0)
    products = [turns[j] * grown[j] ** 2 / unit if j in grown else zero for j in range(len(values))]
    root = ball(unit).sqrt()
    pair = [
        [ball(grown[j] * turn[j]) / root if j in grown else arb(0) for j in range(len(values))]
        for turn in (dict.fromkeys(top, 1), turns)
    ]
    coef = products
    if exact.transform is not None and exact.bases is not None:
        coef = entries(exact.transform.transpose() * column(products))
        pair = [
            entries(arb_mat(basis) * ball_column(one))
            for basis, one in zip(exact.bases, pair, strict=True)
        ]
    return _outcome(
        problem, coef, as_layers(problem, pair[0], pair[1], 1), ball(sizes[0]), None, len(top)
    )


def _found(problem: Problem, inside: Layered, top: Eigenvalue, ends: Pair, y: int) -> Found:
    """With the layers `a/(‖a‖√s)` and `yAᵀa/(s‖a‖√s)`, which have margin 1."""
    grown, coef = ends
    value, copies = ball(top.value).sqrt(), inside.first.ncols()
    unit = (_square(grown) * value).sqrt()
    first = [one / unit for one in grown]
    turned = [_turned(inside.matrix, first[c::copies]) for c in range(copies)]
    second = [y * one / value for row in zip(*turned, strict=True) for one in row]
    pair = (second, first) if inside.flipped else (first, second)
    sizes = [sum((arb(v) ** 2 for v in entries(part)), arb(0)).sqrt() for part in inside.parts]
    return _outcome(
        problem,
        coef,
        as_layers(problem, *pair, copies),
        value,
        [one / value for one in sizes],
        top.multiplicity,
    )


def _outcome(
    problem: Problem,
    coef: list[Any],
    layers: dict[str, Any],
    value: arb,
    sizes: list[Any] | None,
    tied: int,
) -> Found:
    """Coefficients are measured by the most that layers of this size can give."""
    shares = "" if tied == 1 else f", which {tied} pairs of them share as the start decides"
    return Found(
        coef=coef,
        dual=[int(problem.task.y[0]) / value],
        more={
            "direction": directions(coef),
            **layers,
            "singular value": np.array([value], dtype=object),
        },
        statement=(
            "the first layer starts larger along every pair of singular vectors of M(x), and the "
            "layers that are top singular vectors with the signs of the start and margin 1 have "
            f"these coefficients{shares}."
        ),
        method=(
            "the characteristic polynomial of M(x)M(x)ᵀ in rationals, its roots and the "
            "projections on their spaces in balls; ties are decided exactly"
        ),
        kind="top singular vectors",
        sizes=sizes,
    )
