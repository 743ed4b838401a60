"""Two-layer networks with many outputs: `X⁺Y` in rationals, and the singular values in balls.

From `W₁(0) = √(2γ)P`, `PPᵀ = I`, `W₂(0) = 0` the layers end with `σ(W₁)² = √(σ²+γ²) + γ` and
`σ(W₂)² = √(σ²+γ²) − γ`, σ those of `β = X⁺Y` and zero beyond them. The eigenvalues σ² of the
smaller Gram matrix of β are the roots of its characteristic polynomial, which is rational: how
often each occurs, and which are zero, is decided exactly.
"""

from typing import Any, cast

import numpy as np
from flint import acb, acb_mat, arb, arb_mat, ctx, fmpq, fmpq_mat

from limitpoint.networks import TwoLayer
from limitpoint.problem import Problem
from limitpoint.theory.prove.coupled.balance import ROUNDING
from limitpoint.theory.prove.coupled.row_space import RowSpace
from limitpoint.theory.prove.exact.numbers import (
    entries,
    largest,
    object_array,
    rational_matrix,
    scale_ball,
)
from limitpoint.theory.prove.outcome import CannotProve, Found, Hint, MorePrecision

__all__ = ["prove_two_layer"]

# Roots of a polynomial, and how often each occurs.
Roots = list[tuple[acb, int]]


def prove_two_layer(problem: Problem, hint: Hint | None) -> Found:
    """The coefficients as rationals, and three lists of singular values, falling."""
    task, network = problem.regression, problem.network
    if not isinstance(network, TwoLayer):
        raise CannotProve(f"{network} is not a two-layer network with any number of outputs")
    square, off = _rows_of_start(problem)
    space = RowSpace.of(task.X, task.y)
    values = _singular_values(space.least)
    gamma = _gamma(problem, square)
    n, outputs = space.least.nrows(), space.least.ncols()
    beta = values + [fmpq(0)] * (min(n, outputs) - len(values))
    which = "fit" if space.fits else "best fit"
    return Found(
        coef=entries(space.least),
        mirror=entries(space.least),
        mirror_shape=task.y.shape[1:] and (n, outputs),
        dual=entries(space.least_dual),
        dual_shape=task.y.shape,
        shape=(n, *task.y.shape[1:]),
        more={
            "singular values of the coefficients": object_array(beta),
            "singular values of the first layer": object_array(
                [_first(value, gamma) for value in values + [fmpq(0)] * (n - len(values))]
            ),
            "singular values of the second layer": object_array(
                [
                    _second(value, gamma)
                    for value in values + [fmpq(0)] * (min(network.width, outputs) - len(values))
                ]
            ),
        },
        statement=(
            f"these rational numbers are the {which} of the data of least ℓ2 norm, X⁺Y, there is "
            "no other, and the singular values of the coefficients and of the layers lie in their "
            "balls."
        ),
        method=(
            "solving the normal equations in rationals, and isolating the roots of the exact "
            "characteristic polynomial of the smaller Gram matrix of X⁺Y"
        ),
        assumed=_assumed(off, space.rank == n),
        fits=space.fits,
        kind="two-layer spectrum",
        witness={"orthonormal": "assumed" if off else "exact"},
    )


def _rows_of_start(problem: Problem) -> tuple[fmpq, fmpq]:
    """2γ at scale 1, the mean square of the rows of `W₁(0)`; and how far they are from orthonormal.

    The largest entry of `W₁(0)W₁(0)ᵀ − 2γI`, relative to 2γ.
    """
    first, second = problem.init.direction
    if second.any():
        raise CannotProve("the second layer does not start at zero")
    rows = rational_matrix(first)
    gram = rows * rows.transpose()
    n = gram.nrows()
    square = sum((gram[k, k] for k in range(n)), fmpq(0)) / n
    if square == 0:
        raise CannotProve("both layers start at zero")
    diagonal = [square if i == k else fmpq(0) for i in range(n) for k in range(n)]
    off = largest(gram - fmpq_mat(n, n, diagonal))
    if off > ROUNDING * square:
        raise CannotProve("the rows of the first layer are not orthonormal up to a common factor")
    return square, off / square


def _gamma(problem: Problem, square: fmpq) -> arb:
    """γ: 0 at scale 0."""
    if problem.init.log_scale == -np.inf:
        return arb(0)
    return scale_ball(problem.init) ** 2 * arb(square) / 2


def _assumed(off: fmpq, determined: bool) -> tuple[str, ...]:
    if off == 0:
        return ()
    rest = (
        "; the coefficients do not depend on it, since the data determine them"
        if determined
        else ""
    )
    return (
        "the start is W₁(0) = √(2γ)P with orthonormal rows, 2γ their mean square, which the floats "
        f"are up to {float(arb(off)):.1e}, relative{rest}",
    )


def _singular_values(coef: fmpq_mat) -> list[Any]:
    """Those that are not zero, falling, each as often as it occurs."""
    lying = coef if coef.nrows() <= coef.ncols() else coef.transpose()
    found: list[arb] = []
    for value, times in _simple(lying) or _with_multiplicities(lying * lying.transpose()):
        if value.real == 0:
            continue
        if not (value.imag.contains(0) and value.real > 0):
            raise MorePrecision("an eigenvalue of a Gram matrix is not told from zero")
        found += [value.real.sqrt()] * times
    return sorted(found, key=lambda one: one.mid(), reverse=True)


def _simple(lying: fmpq_mat) -> Roots | None:
    """The eigenvalues of the Gram matrix in balls, if they are simple and none is zero.

    One alone in a ball around a real number is real, since its conjugate is there too. None where
    balls of this precision do not tell, or where one has lost digits beside a large one.
    """
    wanted = ctx.prec
    try:
        with ctx.workprec(2 * wanted):
            balls = arb_mat(lying)
            found = acb_mat(balls * balls.transpose()).eig()
    except ValueError:
        return None
    sharp = all(one.real > 0 and one.real.rel_accuracy_bits() >= wanted for one in found)
    return [(one, 1) for one in found] if sharp else None


def _with_multiplicities(gram: fmpq_mat) -> Roots:
    """The roots of the characteristic polynomial."""
    return cast(Roots, gram.charpoly().numer().complex_roots())


def _first(value: Any, gamma: arb) -> Any:
    """`√(√(σ²+γ²) + γ)`."""
    if isinstance(value, fmpq) and gamma == 0:
        return fmpq(0)
    return (_reach(value, gamma) + gamma).sqrt()


def _second(value: Any, gamma: arb) -> Any:
    """`√(√(σ²+γ²) − γ)`, without its cancellation."""
    if isinstance(value, fmpq):
        return fmpq(0)
    return arb(value) / (_reach(value, gamma) + gamma).sqrt()


def _reach(value: Any, gamma: arb) -> arb:
    return (arb(value) ** 2 + gamma**2).sqrt()
