"""Classifications in exact numbers: signed samples, and whether any direction separates them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from limitpoint.foundation.display import counted
from limitpoint.problem import Problem
from limitpoint.theory.prove.exact.nonnegative import positive_combination
from limitpoint.theory.prove.exact.numbers import (
    as_balls,
    column,
    entries,
    primitive,
    rational_matrix,
)
from limitpoint.theory.prove.outcome import CannotProve, MorePrecision

__all__ = ["check_separable", "directions", "in_data", "signed_rows"]

# Samples that a refusal names at most.
NAMED = 5


def signed_rows(problem: Problem) -> fmpq_mat:
    """The rows `y_i x_i`: margins are their products with the coefficients."""
    return rational_matrix(np.ascontiguousarray(problem.classification.signed))


def check_separable(rows: fmpq_mat) -> list[fmpq]:
    """A vector with which all rows have positive products, or the proof that there is none.

    Either some `w` has `Aw > 0`, or some `d ≥ 0`, not zero, has `Aᵀd = 0` (Gordan 1873).

    Examples
    --------
    >>> check_separable(fmpq_mat(2, 2, [1, 2, 0, 3]))
    [3/7, 3/7]
    >>> check_separable(fmpq_mat(2, 1, [1, -2]))
    Traceback (most recent call last):
    ...
    limitpoint.theory.prove.outcome.CannotProve: the classes are proved not to be separable...
    """
    weights, vector = positive_combination(rows.transpose())
    if weights is None:
        assert vector is not None, "one of the two exists"
        return vector
    whole = primitive(weights)
    used = [i for i, one in enumerate(whole) if one != 0]
    named = ", ".join(f"{i} ({float(weights[i]):.3g})" for i in used[:NAMED])
    more = f" and {len(used) - NAMED} more" if len(used) > NAMED else ""
    raise CannotProve(
        "the classes are proved not to be separable by a hyperplane through the origin: the "
        f"y_i x_i of {counted(len(used), 'sample')} add up to zero exactly with positive weights, "
        f"{named}{more}",
        kind="not separable",
        witness={"weights": [str(one) for one in whole]},
    )


def directions(coef: Sequence[Any]) -> NDArray[Any]:
    """The coefficients divided by their norm, in balls; exact zeros stay exact."""
    balls = as_balls(coef)
    norm = sum((one * one for one in balls), 0 * balls[0]).sqrt()
    if not norm > 0:
        raise MorePrecision("the norm of the coefficients cannot be told from zero")
    found = np.empty(len(balls), dtype=object)
    for i, one in enumerate(balls):
        found[i] = one / norm
    return found


def in_data(problem: Problem, multipliers: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The dual `y ⊙ μ` and the mirror coordinates `Xᵀ(y ⊙ μ)`."""
    classes = [int(one) for one in problem.task.y]
    dual = [sign * one for sign, one in zip(classes, multipliers, strict=True)]
    if all(isinstance(one, fmpq) for one in multipliers):
        return dual, entries(signed_rows(problem).transpose() * column(multipliers))
    X = problem.task.X
    lines = [[fmpq(*float(v).as_integer_ratio()) for v in line] for line in X.T]
    return dual, [
        sum((one * x for one, x in zip(dual, line, strict=True)), 0 * dual[0]) for line in lines
    ]
