"""Where Newton's method for `XΨ(Xᵀν) = c` may start: nothing rests on it but success.

From the dual of a coefficient that is far off, a step in the dual overshoots as exponentials and
poles do, and one in the coefficients passes through zero. Here each coefficient takes the step in
which it is nearly linear: that of its mirror coordinate where it shrinks, its own where it grows.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from flint import arb, arb_mat

from limitpoint.foundation.arrays import Float
from limitpoint.theory.prove.exact.interval_newton import solved
from limitpoint.theory.prove.exact.numbers import as_balls, ball_column, entries, midpoints
from limitpoint.theory.prove.exact.rough_inverse import rough_inverse
from limitpoint.theory.prove.outcome import MorePrecision

__all__ = ["from_coefs", "least_norm", "near_a_root", "quick_start"]

# Steps, and the change of all logarithms below which Newton's method in the dual takes over.
STEPS, NEAR = 200, 1e-3


class System(Protocol):
    """`X` (independent rows), its transpose, the targets c, and a map for each coefficient."""

    maps: list[Any]
    floats: Float
    matrix: arb_mat
    transposed: arb_mat
    targets: arb_mat

    def weighted(self, slopes: Sequence[arb]) -> arb_mat:
        """`X diag(slopes) Xᵀ`."""
        ...


def from_coefs(system: System, signs: Sequence[float], logs: Sequence[float]) -> list[arb]:
    """A Newton step from coefficients: `X D Xᵀ ν = c − Xβ + X D ξ(β)`, `D = Ψ'(ξ(β))`."""
    return _dual(system, *_at(system, signs, logs))


def quick_start(
    system: System, signs: Sequence[float], logs: Sequence[float]
) -> tuple[list[arb], arb_mat]:
    """The same step as `from_coefs`, by an inverse in float64, and that inverse."""
    xi, values, slopes = _at(system, signs, logs)
    inverse = rough_inverse(system.floats, slopes)
    return entries(inverse * _right(system, xi, values, slopes)), inverse


def near_a_root(system: System, coef: Sequence[Any]) -> list[arb]:
    """About the dual of the limit, from some coefficients that fit."""
    dual: list[arb] = []
    signs, logs = _signs_and_logs(as_balls(coef))
    for _ in range(STEPS):
        xi, values, slopes = _at(system, signs, logs)
        dual = _dual(system, xi, values, slopes)
        wanted = midpoints(entries(system.transposed * ball_column(dual)))
        moved = [
            _moved(one, w, old, old + d * (w - x), most)
            for one, w, x, old, d, most in zip(
                system.maps, wanted, xi, values, slopes, _sizes(system, values), strict=True
            )
        ]
        before = logs
        signs, logs = _signs_and_logs(moved)
        if all(a == b or abs(a - b) < NEAR for a, b in zip(logs, before, strict=True)):
            break
    return dual


def least_norm(system: System) -> list[arb]:
    """About the fit of least norm, columns in units of their largest entries."""
    count = system.matrix.nrows()
    flat = [abs(one) for one in entries(system.transposed)]
    lines = [flat[i : i + count] for i in range(0, len(flat), count)]
    weights = [1 / max(line, key=lambda one: one.mid()) ** 2 for line in lines]
    dual = midpoints(solved(system.weighted(weights), system.targets))
    xi = entries(system.transposed * ball_column(dual))
    return [(w * x).mid() for w, x in zip(weights, xi, strict=True)]


def _at(
    system: System, signs: Sequence[float], logs: Sequence[float]
) -> tuple[list[arb], list[arb], list[arb]]:
    """Mirror coordinates, coefficients and their derivatives near given coefficients."""
    xi = [
        one.mirror_of(sign, log).mid()
        for one, sign, log in zip(system.maps, signs, logs, strict=True)
    ]
    pairs = [one.at(x) for one, x in zip(system.maps, xi, strict=True)]
    return xi, [b for b, _ in pairs], [d for _, d in pairs]


def _dual(
    system: System, xi: Sequence[arb], values: Sequence[arb], slopes: Sequence[arb]
) -> list[arb]:
    return midpoints(solved(system.weighted(slopes), _right(system, xi, values, slopes)))


def _right(
    system: System, xi: Sequence[arb], values: Sequence[arb], slopes: Sequence[arb]
) -> arb_mat:
    shifted = [d * x - b for d, x, b in zip(slopes, xi, values, strict=True)]
    return system.targets + system.matrix * ball_column(shifted)


def _moved(one: Any, mirror: arb, old: arb, new: arb, seen: arb) -> arb:
    """Where the mirror coordinate says, but no further than its own step or than can be seen."""
    try:
        there: arb = one.at(mirror)[0].mid()
    except MorePrecision:  # beyond a pole
        there = arb("nan")
    same = bool(old > 0 and new > 0) or bool(old < 0 and new < 0)
    most = (max(abs(new), seen) if same else min(abs(old), seen)).mid()
    if there.is_finite() and not abs(there) > most:
        return there
    return most if (new > 0 if same else new > old) else -most


def _sizes(system: System, coef: Sequence[arb]) -> list[arb]:
    """The smallest over rows of `(|x_j|ᵀ|β| + |c_j|) / |x_ji|`: more would be seen in that row."""
    rows, columns = system.matrix.nrows(), system.matrix.ncols()
    flat = [abs(one) for one in entries(system.matrix)]
    sums = entries(arb_mat(rows, columns, flat) * ball_column([abs(one) for one in coef]))
    totals = [a + abs(c) for a, c in zip(sums, entries(system.targets), strict=True)]
    found = []
    for i in range(columns):
        ratios = [total / x for total, x in zip(totals, flat[i::columns], strict=True) if x != 0]
        found.append(min(one.mid() for one in ratios))
    return found


def _signs_and_logs(balls: Sequence[arb]) -> tuple[list[float], list[float]]:
    signs = [float(one > 0) - float(one < 0) for one in balls]
    logs = [
        float(abs(one).log().mid()) if sign else -np.inf
        for one, sign in zip(balls, signs, strict=True)
    ]
    return signs, logs
