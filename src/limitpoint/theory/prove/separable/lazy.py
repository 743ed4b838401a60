"""The limit of infinite initialisation: a weighted least norm, in rationals."""

from math import prod

import numpy as np
from flint import fmpq, fmpq_mat

from limitpoint.networks import Diagonal, Paired
from limitpoint.problem import Problem
from limitpoint.theory.prove.exact.numbers import as_rationals, entries, rational_matrix
from limitpoint.theory.prove.exact.row_reduction import reduced_rows
from limitpoint.theory.prove.outcome import CannotProve, Found, Hint
from limitpoint.theory.prove.separable.closed_form_maps import coefs_of_direction

__all__ = ["prove_lazy"]


def prove_lazy(problem: Problem, hint: Hint | None) -> Found:
    """`β = DXᵀν`, `XDXᵀν = c`, D the squared norms of the gradients at the direction."""
    task = problem.regression
    columns = [as_rationals(layer.tolist()) for layer in problem.init.direction]
    rows = list(zip(*columns, strict=True))
    if any(one != 0 for one in coefs_of_direction(problem)):
        raise CannotProve("coefficients that do not start at zero have no limit at infinite scale")
    weights = [_squared_gradient(problem, row) for row in rows]
    moving = [i for i, weight in enumerate(weights) if weight != 0]
    reduced = reduced_rows(np.ascontiguousarray(task.X[:, moving]), task.y)
    if not reduced.kept:
        raise CannotProve("no coefficient that can move reaches any sample")
    matrix = rational_matrix(np.ascontiguousarray(task.X[np.ix_(reduced.kept, moving)]))
    transposed = matrix.transpose()
    weighted = fmpq_mat(
        len(moving),
        len(reduced.kept),
        [
            weights[i] * transposed[k, j]
            for k, i in enumerate(moving)
            for j in range(matrix.nrows())
        ],
    )
    root = (matrix * weighted).solve(reduced.targets)
    xi, moved = entries(transposed * root), entries(weighted * root)
    coef, mirror = [fmpq(0)] * len(weights), [fmpq(0)] * len(weights)
    for i, value, position in zip(moving, moved, xi, strict=True):
        coef[i], mirror[i] = value, position
    return Found(
        coef=coef,
        mirror=mirror,
        dual=entries(reduced.spread * root),
        statement=(
            "these rational numbers are the best fit of the data of least weighted norm "
            "½ Σ β_i²/D_i, and there is no other."
        ),
        method="solving the normal equations XDXᵀν = Xβ in rationals",
        fits=reduced.fits,
        kind="weighted least norm",
        witness={"rows": reduced.kept},
    )


def _squared_gradient(problem: Problem, row: tuple[fmpq, ...]) -> fmpq:
    """`‖∇β‖²` in the parameters of one coefficient, at the direction."""
    network = problem.network
    if isinstance(network, Paired):
        return sum((one**2 for one in row), fmpq(0))
    if isinstance(network, Diagonal):
        others = (row[:k] + row[k + 1 :] for k in range(len(row)))
        return sum((prod(rest, start=fmpq(1)) ** 2 for rest in others), fmpq(0))
    depth = network.degree
    return sum((depth**2 * one ** (2 * depth - 2) for one in row), fmpq(0))
