"""`min ½‖β‖²` with all margins at least 1, in rationals.

Notation: rows `a_i = y_i x_i`; the solution is `β = Aᵀμ`, `μ ≥ 0`, with `μ_i = 0` where the margin
`⟨a_i, β⟩` exceeds 1. It is the only one, whatever ties: the norm is strictly convex.

By least distance programming (Lawson and Hanson 1974, chapter 23): the best fit of
`Aᵀu = 0, t Σu = 1` with `u ≥ 0` leaves a residual `(−w, ρ)` with `⟨a_i, w⟩ ≥ tρ`, equal where
`u_i > 0`, so that `β = w/(tρ)` and `μ = u/(tρ)`; it leaves none if the samples are not separable.
"""

from collections.abc import Sequence

import numpy as np
from flint import fmpq, fmpq_mat

from limitpoint.problem import Problem
from limitpoint.theory.prove.exact.nonnegative import best_fit
from limitpoint.theory.prove.exact.numbers import ball, column, entries, size_of
from limitpoint.theory.prove.margins.direction_starts import loss_of_chain
from limitpoint.theory.prove.margins.signed_rows import (
    check_separable,
    directions,
    in_data,
    signed_rows,
)
from limitpoint.theory.prove.outcome import Found, Hint

__all__ = ["least_euclidean", "prove_euclidean_margin"]


def prove_euclidean_margin(problem: Problem, hint: Hint | None) -> Found:
    """The direction of a dense or rank-one network."""
    why, assumed, start = loss_of_chain(problem)
    rows = signed_rows(problem)
    coef, multipliers = least_euclidean(rows, hint)
    norm = sum((ball(one) ** 2 for one in coef), 0 * ball(0)).sqrt()
    # Of the norm itself, as of the limit: those of half its square, divided by it.
    dual, mirror = in_data(problem, [ball(one) / norm for one in multipliers])
    return Found(
        coef=coef,
        dual=dual,
        mirror=mirror,
        more={"direction": directions(coef)},
        statement=(
            "of all coefficients with margins y_i⟨x_i, β⟩ of at least 1, these rational numbers "
            f"have the least ℓ2 norm, and there are no others; {why}."
        ),
        method=(
            "least distance programming in rationals: multipliers that are not negative, and zero "
            "where the margin exceeds 1"
        ),
        kind="ℓ2 margin",
        assumed=assumed,
        witness={"multipliers": [str(one) for one in multipliers], **start},
    )


def least_euclidean(rows: fmpq_mat, hint: Hint | None = None) -> tuple[list[fmpq], list[fmpq]]:
    """The solution and its multipliers.

    Examples
    --------
    >>> least_euclidean(fmpq_mat(2, 2, [1, 2, 0, 3]))
    ([1/5, 2/5], [1/5, 0])
    """
    m, n = rows.nrows(), rows.ncols()
    transposed = rows.transpose()
    unit = _unit(rows)
    flat = [*entries(transposed), *[unit] * m]
    guess = [] if hint is None else np.flatnonzero(np.nan_to_num(hint.dual)).tolist()
    found = best_fit(fmpq_mat(n + 1, m, flat), [*[fmpq(0)] * n, fmpq(1)], [], guess=guess)
    left = 1 - unit * sum(found.coef, fmpq(0))
    if left == 0:
        check_separable(rows)
    multipliers = [one / (unit * left) for one in found.coef]
    return entries(transposed * column(multipliers)), multipliers


def _unit(rows: fmpq_mat) -> fmpq:
    """About the smallest length of a row, with which those that decide are of a size."""
    m, n = rows.nrows(), rows.ncols()
    lines: list[Sequence[fmpq]] = [[rows[i, j] for j in range(n)] for i in range(m)]
    sizes = [max((size_of(one) for one in line if one != 0), default=0) for line in lines]
    return fmpq(2) ** min(sizes)
