"""Limits of vanishing initialisation: Algorithm 1 followed exactly, to its end.

At its end `s = Xᵀν` is a subgradient of `Σ t⁺k⁺ + t⁻k⁻` at k, and k is a best fit under the signs
that activation times allow: k is a minimiser among these (zhao, Corollary 4.6), and the only one
where no other coefficients with the same signs open have the same fit.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx, fmpq, fmpq_mat
from numpy.typing import NDArray

from limitpoint.problem import Problem
from limitpoint.theory.prove.exact.numbers import (
    as_rationals,
    ball_column,
    entries,
    midpoints,
    rational_matrix,
    some_columns,
)
from limitpoint.theory.prove.outcome import CannotProve, Found, Hint, MorePrecision
from limitpoint.theory.prove.vanishing.activation import Times, activation_times
from limitpoint.theory.prove.vanishing.saddle_walk import SaddleWalk
from limitpoint.theory.prove.vanishing.unit_sums import ONE, Parts, combined

__all__ = ["prove_saddles", "prove_vanishing"]

# Comparisons of the path that balls of so many bits do not decide are left open, and the end alone
# is proved: more digits than numbers that differ would share by chance, in data of any size.
BITS_OF_PATH = 1024
# So many bits of the dual of the end are kept; it is then made exact on the support.
BITS_OF_DUAL = 128
# Rationals with numerators and denominators of more bits than this are given as balls: nobody reads
# them, and exact sums of them take long.
READABLE_BITS = 640


def prove_vanishing(problem: Problem, hint: Hint | None) -> Found:
    """The limit of a problem at scale 0, with the saddles on the way. It needs no hint."""
    task = problem.regression
    if task.y.ndim > 1:
        raise CannotProve("several outputs have no activation times of their own")
    return prove_saddles(
        rational_matrix(task.X), as_rationals(task.y.tolist()), activation_times(problem)
    )


def prove_saddles(matrix: fmpq_mat, target: Sequence[fmpq], times: Times) -> Found:
    """The saddle path of data and activation times, and its end."""
    try:
        walk = SaddleWalk(matrix, target, times)
    except MorePrecision:
        if ctx.prec < BITS_OF_PATH:
            raise
        return _end_alone(SaddleWalk(matrix, target, times, lenient=True))
    if walk.end.other is not None:
        raise CannotProve(
            "the minimiser is not unique: the witness has another one",
            kind="two minimisers",
            witness={**_supports(walk), **_both(walk)},
        )
    waits = _waits(walk)
    passed = _sums(waits)
    return Found(
        coef=walk.end.coef,
        statement=_statement(walk),
        method="Algorithm 1 with rational saddles, its comparisons decided exactly",
        kind="saddle path",
        assumed=_assumed(walk),
        fits=not any(walk.end.residual),
        mirror=_mirror(walk, waits),
        dual=_dual(walk, waits),
        more={**_saddles(walk), "path_times": _array(passed)},
        witness=_supports(walk),
        also=passed,
    )


# ---------------------------------------------------------------- what is told of a walk


def _statement(walk: SaddleWalk) -> str:
    among = _among(walk)
    alone = "" if all(one.other is None for one in walk.saddles) else "the fits at "
    return (
        f"{among} exactly one minimises Σ t⁺β⁺ + t⁻β⁻, and it consists of these rational numbers; "
        f"Algorithm 1 comes there by {alone}these saddles, at these times (in units of h(s))."
    )


def _among(walk: SaddleWalk) -> str:
    one_sided = any((plus is None) != (minus is None) for plus, minus in walk.times.pairs)
    if not any(walk.end.residual):
        signs = " and keep their signs" if one_sided else ""
        return f"of all coefficients that fit the data{signs},"
    signs = " under their signs" if one_sided else ""
    return f"of all best fits of the data{signs},"


def _assumed(walk: SaddleWalk) -> tuple[str, ...]:
    """The theorem supposes that one coefficient activates at a time."""
    ties = [str(p) for p, one in enumerate(walk.arrivals, start=1) if len(one.columns) > 1]
    if not ties:
        return ()
    places = ", ".join(ties)
    return (f"coefficients that activate at the same time do so together, as at saddle {places}",)


def _saddles(walk: SaddleWalk) -> dict[str, NDArray[Any]]:
    """The coefficients of all saddles, where all are determined; else what they fit."""
    if any(one.other is not None for one in walk.saddles):
        left = [
            [t - r for t, r in zip(walk.target, one.residual, strict=True)] for one in walk.saddles
        ]
        return {"saddle_fits": _array(left)}
    return {"saddles": _array([one.coef for one in walk.saddles])}


def _supports(walk: SaddleWalk) -> dict[str, Any]:
    """What a checker needs: the columns of which each saddle is made."""
    return {"supports": [list(one.used) for one in walk.saddles]}


def _both(walk: SaddleWalk) -> dict[str, Any]:
    other = walk.end.other
    assert other is not None, "it has been found"
    return {"minimiser": [str(one) for one in walk.end.coef], "other": [str(one) for one in other]}


def _array(values: Sequence[Any]) -> NDArray[Any]:
    return np.array(values, dtype=object)


# ---------------------------------------------------------------- numbers linear in the times


def _waits(walk: SaddleWalk) -> list[Any]:
    """All δ: as rationals where they are and can be read, else in balls."""
    if walk.times.units.rational:
        exact = []
        for q in range(len(walk.arrivals)):
            exact.append(walk.exact_wait(q).get(ONE, fmpq(0)))
            if not _readable(exact[-1]):
                break
        else:
            return exact
    return [one.wait for one in walk.arrivals]


def _readable(value: fmpq) -> bool:
    return max(int(value.p).bit_length(), int(value.q).bit_length()) <= READABLE_BITS


def _sums(waits: Sequence[Any]) -> list[Any]:
    passed: list[Any] = [fmpq(0)]
    for wait in waits:
        passed.append(passed[-1] + wait)
    return passed


def _dual(walk: SaddleWalk, waits: Sequence[Any]) -> list[Any]:
    """`ν = Σ δ r`."""
    found: list[Any] = [fmpq(0)] * len(walk.target)
    for wait, saddle in zip(waits, walk.saddles, strict=False):
        found = [a + wait * r for a, r in zip(found, saddle.residual, strict=True)]
    return found


def _mirror(walk: SaddleWalk, waits: Sequence[Any]) -> list[Any]:
    """s: exactly at the activation times, else as it was followed."""
    units, count = walk.times.units, walk.matrix.ncols()
    if all(isinstance(wait, fmpq) for wait in waits):
        return [walk.exact_mirror(i).get(ONE, fmpq(0)) for i in range(count)]
    return [
        units.ball(walk.exact_mirror(i)) if i in walk.sides else walk.mirror[i]
        for i in range(count)
    ]


# ---------------------------------------------------------------- the end alone


def _end_alone(walk: SaddleWalk) -> Found:
    """The end of a walk that rests on a guess, by the conditions that it must satisfy.

    `x_iᵀν = ±t` on independent columns, strictly between elsewhere: then the coefficients are the
    only minimiser, and no other support has them.
    """
    end, pairs = walk.end, walk.times.pairs
    tie = f"which of two coefficients activates first is not decided by balls of {ctx.prec} bits"
    for slope, (plus, minus) in zip(end.slopes, pairs, strict=True):
        if (slope > 0 and plus is not None) or (slope < 0 and minus is not None):
            raise CannotProve(tie)
    support = end.used
    with ctx.workprec(BITS_OF_DUAL):
        near = midpoints(+one for one in _dual(walk, [arb(one.wait) for one in walk.arrivals]))
    dual = _corrected(walk, support, near)
    mirror = entries(_balls(walk.matrix.transpose()) * ball_column(dual))
    for i in walk.seen:
        if i not in support and not _strictly_inside(walk, mirror[i], *pairs[i]):
            raise CannotProve(f"{tie}, nor are two minimisers told apart")
    return Found(
        coef=end.coef,
        statement=(
            f"{_among(walk)} exactly one minimises Σ t⁺β⁺ + t⁻β⁻, and it consists of these "
            "rational numbers (which of two coefficients of the saddle path activates first is not "
            "decided)."
        ),
        method="the optimality conditions of the weighted ℓ1 problem, with strict complementarity",
        kind="least weighted l1",
        assumed=("coefficients that activate at the same time, if any do, do so together",),
        fits=not any(end.residual),
        witness={"support": support, "dual": [str(_rational(one)) for one in near]},
    )


def _at_end(walk: SaddleWalk, i: int) -> Parts:
    plus, minus = walk.times.pairs[i]
    time, sign = (plus, fmpq(1)) if walk.end.coef[i] > 0 else (minus, fmpq(-1))
    assert time is not None, "the coefficient has this sign"
    return combined({}, sign, time)


def _corrected(walk: SaddleWalk, support: Sequence[int], near: list[arb]) -> list[Any]:
    """The dual next to this one with the right mirror coordinates on the support."""
    if not support:
        return near
    part = some_columns(walk.matrix, support)
    transposed = part.transpose()
    wanted = [walk.times.units.ball(_at_end(walk, i)) for i in support]
    there = entries(_balls(transposed) * ball_column(near))
    missing = ball_column([w - t for w, t in zip(wanted, there, strict=True)])
    lift = _balls(part * (transposed * part).inv())
    return [g + c for g, c in zip(near, entries(lift * missing), strict=True)]


def _rational(value: arb) -> fmpq:
    """What an exact ball is."""
    mantissa, exponent = value.man_exp()
    return fmpq(mantissa) * fmpq(2) ** int(exponent)


def _strictly_inside(
    walk: SaddleWalk, mirror: arb, plus: Parts | None, minus: Parts | None
) -> bool:
    ball = walk.times.units.ball
    below = plus is None or bool(mirror < ball(plus))
    return below and (minus is None or bool(mirror > -ball(minus)))


def _balls(matrix: fmpq_mat) -> arb_mat:
    return arb_mat(matrix.nrows(), matrix.ncols(), [arb(one) for one in entries(matrix)])
