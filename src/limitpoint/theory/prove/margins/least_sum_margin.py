"""Directions of diagonal and orthogonally decomposable networks: least ℓ1 norms, in rationals."""

from collections.abc import Sequence

import numpy as np
from flint import fmpq, fmpq_mat

from limitpoint.networks import OrthogonalTensor
from limitpoint.problem import Problem
from limitpoint.theory.prove.exact.numbers import as_rationals, column, entries, rational_matrix
from limitpoint.theory.prove.margins.direction_starts import (
    CONVERGENCE,
    check_diagonal_start,
    orthonormal_to,
)
from limitpoint.theory.prove.margins.exact_simplex import least_sum, not_unique
from limitpoint.theory.prove.margins.signed_rows import directions, in_data, signed_rows
from limitpoint.theory.prove.outcome import CannotProve, Found, Hint

__all__ = ["prove_sparse_margin", "prove_transformed_margin"]


def prove_sparse_margin(problem: Problem, hint: Hint | None) -> Found:
    """The direction of a diagonal network of two layers: the least ℓ1 norm of β."""
    rows = signed_rows(problem)
    layers = [as_rationals(layer.tolist()) for layer in problem.init.direction]
    check_diagonal_start(layers, rows)
    return _least(problem, rows, None, hint, ())


def prove_transformed_margin(problem: Problem, hint: Hint | None) -> Found:
    """That of an orthogonally decomposable network: the least ℓ1 norm of ρ, `β = Sᵀρ`."""
    network = problem.network
    assert isinstance(network, OrthogonalTensor), "a condition of the theorem"
    transform = rational_matrix(network.S)
    if transform.rank() < network.S.shape[1]:
        raise CannotProve("S is proved not to have full column rank")
    rows = signed_rows(problem) * transform.transpose()
    bases = [rational_matrix(one) for one in network.U]
    layers = [
        entries(basis.transpose() * column(as_rationals(layer.tolist())))
        for basis, layer in zip(bases, problem.init.direction, strict=True)
    ]
    check_diagonal_start(layers, rows)
    return _least(problem, rows, transform, hint, orthonormal_to(bases))


def _least(
    problem: Problem,
    rows: fmpq_mat,
    transform: fmpq_mat | None,
    hint: Hint | None,
    assumed: Sequence[str],
) -> Found:
    found = least_sum(rows, None if hint is None else np.abs(hint.dual))
    of = "coefficients" if transform is None else "coordinates ρ"
    if found.other is not None:
        raise not_unique(found, of)
    coef = found.coef
    if transform is not None:
        coef = entries(transform.transpose() * column(found.coef))
    support = [j for j, one in enumerate(found.coef) if one != 0]
    dual, mirror = in_data(problem, found.multipliers)
    with_these = "these rational numbers" if transform is None else "some ρ with Sᵀρ = β, β these,"
    have = "have" if transform is None else "has"
    return Found(
        coef=coef,
        dual=dual,
        mirror=mirror,
        more={"direction": directions(coef), **_coordinates(found.coef, transform)},
        statement=(
            f"of all {of} with margins of at least 1, {with_these} {have} the least ℓ1 norm, and "
            "there are no others; the layers differ at the start as the theorem needs it."
        ),
        method=(
            "the simplex method in rationals; the solution is the only one by multipliers that "
            "are strictly complementary to it"
        ),
        kind="ℓ1 margin",
        assumed=(CONVERGENCE, *assumed),
        witness={
            "support": support,
            "signs": [int(found.coef[j] > 0) - int(found.coef[j] < 0) for j in support],
            "multipliers": [str(one) for one in found.multipliers],
        },
    )


def _coordinates(found: Sequence[fmpq], transform: fmpq_mat | None) -> dict[str, np.ndarray]:
    if transform is None:
        return {}
    array = np.empty(len(found), dtype=object)
    array[:] = found
    return {"coordinates": array}
