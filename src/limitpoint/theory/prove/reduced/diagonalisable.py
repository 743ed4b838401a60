"""Limits of networks that reduce to diagonal ones: the limit of the diagonal network, taken back.

Where that is what the network trains to is a matter of exact equalities (columns orthonormal, data
even, sensors that commute), which are checked in rationals; what holds to rounding only is assumed
and said to be.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx, fmpq, fmpq_mat, fmpq_poly

from limitpoint.problem import Problem
from limitpoint.theory.prove.exact.interval_newton import solved
from limitpoint.theory.prove.exact.numbers import as_balls, ball, ball_column, entries, scale_ball
from limitpoint.theory.prove.exact.row_reduction import reduced_rows
from limitpoint.theory.prove.outcome import CannotProve, Found, Hint, MorePrecision
from limitpoint.theory.prove.reduced.diagonal_within import DiagonalWithin, diagonal_within
from limitpoint.theory.prove.reduced.exact_data import AlgebraicData, Place
from limitpoint.theory.prove.separable.closed_form_maps import Exponential
from limitpoint.theory.prove.separable.deep_diagonal_map import DeepDiagonal
from limitpoint.theory.prove.separable.separable import minimiser
from limitpoint.theory.prove.separable.tail_integral import TailIntegral

__all__ = ["prove_diagonalisable"]

# Products that contribute less than this to every sample are left to the proof: least squares hold
# them to rounding times a condition number.
SEEN = 1e-10
# Beyond so many bits a root that is not found with data that are not rational is taken for none.
BITS_WITHOUT_ROOT = 2048


def prove_diagonalisable(problem: Problem, hint: Hint | None) -> Found:
    """Enclose the limit by way of the diagonal network within."""
    log_scale = problem.init.log_scale
    if log_scale == -np.inf:
        raise CannotProve(
            "limits at scale 0 of networks that reduce to diagonal ones are not proved so far"
        )
    within = diagonal_within(problem)
    inner = _lazy(problem, within) if log_scale == np.inf else _rooted(problem, within, hint)
    return replace(
        inner,
        coef=within.outer(inner.coef),
        sizes=_sizes(within, inner.coef),
        mirror=None,
        statement=f"for {within.words}: {inner.statement}",
        assumed=within.assumed,
        witness={**within.witness, **inner.witness},
    )


def _sizes(within: DiagonalWithin, products: Sequence[Any]) -> list[Any]:
    """What a coefficient is the sum of, in moduli."""
    moduli = [abs(ball(one)) for one in products]
    return [
        sum((abs(ball(s)) * r for s, r in zip(parts, moduli, strict=True)), arb(0))
        for parts in zip(*within.back, strict=True)
    ]


# ---------------------------------------------------------------- finite scales


def _rooted(problem: Problem, within: DiagonalWithin, hint: Hint | None) -> Found:
    """The root of the dual problem of the diagonal network."""
    scale = scale_ball(problem.init)
    maps = [
        _map(place, layers, scale, weight)
        for place, layers, weight in zip(within.places, within.layers, within.weights, strict=True)
    ]
    start = _start(within, scale ** len(within.layers[0]))
    try:
        found = minimiser(maps, within.data, problem.regression.y, start, _inner(within, hint))
    except MorePrecision:
        sided = any(one is not None and (one.lower or one.upper) for one in maps)
        if sided and isinstance(within.data, AlgebraicData) and ctx.prec > BITS_WITHOUT_ROOT:
            raise CannotProve(
                "products that keep their signs seem to be forced to zero, which is decided for "
                "rational data only"
            ) from None
        raise
    words = found.statement.replace("coefficient", "product").replace(
        "each of its products lies", "each coefficient that it gives lies"
    )
    kind = "products on a face" if "forced" in found.witness else "products"
    return replace(found, statement=words, kind=kind, theorem="")


def _inner(within: DiagonalWithin, hint: Hint | None) -> Hint | None:
    if hint is None or not np.isfinite(hint.coef).all():
        return None
    products = within.inner(hint.coef.ravel())
    # What no sample sees beside the others is rounding: far closer to zero.
    parts = np.abs(within.data.near * products)
    sizes = parts.sum(axis=1, keepdims=True)
    shares = np.divide(parts, sizes, out=np.zeros_like(parts), where=sizes > 0)
    products[shares.max(axis=0, initial=0.0) < SEEN] = 0.0
    with np.errstate(divide="ignore"):
        return Hint(np.sign(products), np.log(np.abs(products)), hint.dual)


def _start(within: DiagonalWithin, unit: arb) -> list[Any]:
    """The weighted products at the start."""
    found = _at_direction(within)
    return [one if one == 0 else ball(one) * unit for one in found]


def _at_direction(within: DiagonalWithin) -> list[Any]:
    triples = zip(within.places, within.layers, within.weights, strict=True)
    return [w * place.value(prod(layers, start=fmpq_poly([1]))) for place, layers, w in triples]


@dataclass(frozen=True)
class _Weighted:
    """A map times a positive number."""

    one: Any
    weight: fmpq

    @property
    def lower(self) -> bool:
        found: bool = self.one.lower
        return found

    @property
    def upper(self) -> bool:
        found: bool = self.one.upper
        return found

    def at(self, xi: arb) -> tuple[arb, arb]:
        value, slope = self.one.at(xi)
        return self.weight * value, self.weight * slope

    def mirror_of(self, sign: float, log_abs: float) -> Any:
        return self.one.mirror_of(sign, log_abs - float(arb(self.weight).log().mid()))


def _map(place: Place, layers: Sequence[fmpq_poly], scale: arb, weight: fmpq) -> Any:
    """The map of one product, its layers polynomials there; None if it never moves."""
    found: Any = None
    if len(layers) == 2:
        (a, b), square = layers, scale**2
        grows, decays = (place.value((a + c * b) * (a + c * b) / 4) for c in (1, -1))
        if grows != 0 or decays != 0:
            found = Exponential(ball(grows) * square, ball(decays) * square, 2)
    else:
        found = _deep(place, layers, scale)
    return found if found is None or weight == 1 else _Weighted(found, weight)


def _deep(place: Place, layers: Sequence[fmpq_poly], scale: arb) -> DeepDiagonal | None:
    """Three layers or more: the smallest, turned, and what the squares of the others exceed its."""
    order = sorted(layers, key=lambda one: float(abs(ball(place.value(one))).mid()))
    smallest, others = order[0], order[1:]
    if place.value(smallest) == 0 and place.value(others[0]) == 0:
        return None
    turned = ball(place.value(smallest))
    for one in others:
        turned = -turned if place.value(one) < 0 else turned
    excesses = tuple(ball(place.value(one * one - smallest * smallest)) for one in others)
    if not all(one >= 0 for one in excesses):
        raise MorePrecision("which layer is the smallest is not decided")
    return DeepDiagonal(turned, excesses, scale, TailIntegral(excesses))


# ---------------------------------------------------------------- infinite scale


def _lazy(problem: Problem, within: DiagonalWithin) -> Found:
    """`ρ = DAᵀν`, `ADAᵀν = c`, `D = Σ_l Π_{m≠l} η_m²` (weighted), A the data."""
    if any(one != 0 for one in _at_direction(within)):
        raise CannotProve("coefficients that do not start at zero have no limit at infinite scale")
    slopes = [
        weight * place.value(sum((_without(layers, k) for k in range(len(layers))), fmpq_poly([0])))
        for place, layers, weight in zip(within.places, within.layers, within.weights, strict=True)
    ]
    moving = [i for i, one in enumerate(slopes) if one != 0 and within.data.seen(i)]
    data, y = within.data.some(moving), problem.regression.y
    rows = reduced_rows(data.relations, y)
    if not rows.kept:
        raise CannotProve("no coefficient that can move reaches any sample")
    if data.rational is not None and all(isinstance(slopes[i], fmpq) for i in moving):
        flat = [data.rational[j, k] for j in rows.kept for k in range(len(moving))]
        matrix: Any = fmpq_mat(len(rows.kept), len(moving), flat)
        root = entries(_weighted(matrix, [slopes[i] for i in moving]).solve(rows.targets))
        dual = entries(rows.spread * fmpq_mat(len(root), 1, root))
        xi = entries(matrix.transpose() * fmpq_mat(len(root), 1, root))
    else:
        matrix = data.balls(rows.kept)
        targets = ball_column(as_balls(entries(rows.targets)))
        root = solved(_weighted(matrix, [ball(slopes[i]) for i in moving]), targets)
        dual = entries(arb_mat(rows.spread) * ball_column(root))
        xi = entries(matrix.transpose() * ball_column(root))
    products: list[Any] = [fmpq(0)] * len(slopes)
    for i, one in zip(moving, xi, strict=True):
        products[i] = slopes[i] * one
    return Found(
        coef=products,
        dual=dual,
        statement=(
            "the best fit of the data of least weighted norm ½ Σ ρ_i²/D_i gives these "
            "coefficients, each of which lies in its ball."
        ),
        method="the normal equations ADAᵀν = Aρ, in rationals or balls",
        fits=rows.fits,
        kind="products of least norm",
        witness={"rows": rows.kept},
    )


def _without(layers: Sequence[fmpq_poly], place: int) -> fmpq_poly:
    """The square of the product of the others."""
    found = prod([one for k, one in enumerate(layers) if k != place], start=fmpq_poly([1]))
    return found * found


def _weighted(matrix: Any, slopes: Sequence[Any]) -> Any:
    """`A diag(slopes) Aᵀ`."""
    rows, columns = matrix.nrows(), matrix.ncols()
    flat = [matrix[j, i] * slopes[i] for j in range(rows) for i in range(columns)]
    return type(matrix)(rows, columns, flat) * matrix.transpose()
