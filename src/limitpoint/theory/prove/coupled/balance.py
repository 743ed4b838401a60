"""Starts of rank-one and dense networks in rationals: how far from balanced, and what pairs keep.

Balance is a set of equations between products of the floats of the start, and of such it holds to
rounding only, unless the floats are chosen for it.
"""

from dataclasses import dataclass
from itertools import pairwise

from flint import fmpq, fmpq_mat

from limitpoint.init import Init
from limitpoint.networks import FullyConnected, RankOne
from limitpoint.problem import Problem
from limitpoint.theory.prove.exact.numbers import (
    as_rationals,
    column,
    entries,
    largest,
    rational_matrix,
)
from limitpoint.theory.prove.outcome import CannotProve

__all__ = ["ROUNDING", "Pair", "Start", "start_of"]

# What is off by no more than this, relative, counts as rounding, to be assumed away by name: some
# hundred thousand roundings. It decides between an assumption and a refusal, never what is proved.
ROUNDING = fmpq(1, 2**36)


@dataclass(frozen=True)
class Pair:
    """What two inner vectors keep: `δ = ‖u‖² + ‖v‖² − 2‖v₁‖²`, `c² = ‖u+v‖²‖u−v‖²`."""

    offset: fmpq
    square: fmpq


@dataclass(frozen=True)
class Start:
    """The start of a network, at scale 1.

    Attributes
    ----------
    along
        The direction of `z(0)`: ±v₁ of a rank-one network, the coefficients of a dense one.
    degree
        Of the coefficients in the layers.
    pairs
        Of a rank-one network; None for a dense one.
    imbalance
        How far from balanced, relative to `‖v₁‖²` or `‖w_L‖²`: 0 only if exactly balanced.
    """

    along: fmpq_mat
    degree: int
    pairs: tuple[Pair, ...] | None
    imbalance: fmpq


def start_of(problem: Problem) -> Start:
    """Of a rank-one or a dense network, whose coefficients must not be zero."""
    network, init = problem.network, problem.init
    if isinstance(network, RankOne):
        return _rank_one(init, network.degree)
    if isinstance(network, FullyConnected):
        return _dense(init, network.degree)
    raise CannotProve(f"the coefficients of {network} do not follow from one vector")


def _rank_one(init: Init, degree: int) -> Start:
    first, *inner = (as_rationals(layer.tolist()) for layer in init.direction)
    square = _dot(first, first)
    product, pairs, off = fmpq(1), [], fmpq(0)
    for u, v in zip(inner[::2], inner[1::2], strict=True):
        squares = _dot(u, u), _dot(v, v)
        plus, minus = (
            [a + sign * b for a, b in zip(u, v, strict=True)] for sign in (fmpq(1), fmpq(-1))
        )
        pairs.append(Pair(sum(squares) - 2 * square, _dot(plus, plus) * _dot(minus, minus)))
        across = _dot(u, v)
        if across == 0:
            raise CannotProve(
                "a pair of inner vectors is orthogonal at the start: its sign is open"
            )
        product *= across
        # What v has orthogonal to u, in units of a square.
        rest = (squares[0] * b - across * a for a, b in zip(u, v, strict=True))
        aside = max(abs(one) for one in rest) / max(abs(one) for one in u)
        off = max(off, aside, *(abs(one - square) for one in squares))
    if square == 0:
        raise CannotProve("the coefficients are zero at the start")
    sign = 1 if product > 0 else -1
    return Start(column([sign * one for one in first]), degree, tuple(pairs), off / square)


def _dense(init: Init, degree: int) -> Start:
    matrices = [rational_matrix(layer) for layer in init.direction[:-1]]
    last = column(as_rationals(init.direction[-1].tolist()))
    along = last
    for matrix in reversed(matrices):
        along = matrix * along
    if all(one == 0 for one in entries(along)):
        raise CannotProve("the coefficients are zero at the start")
    size = (last.transpose() * last)[0, 0]
    differences = [a.transpose() * a - b * b.transpose() for a, b in pairwise([*matrices, last])]
    off = max(largest(difference) for difference in differences)
    return Start(along, degree, None, off / size)


def _dot(a: list[fmpq], b: list[fmpq]) -> fmpq:
    return sum((p * q for p, q in zip(a, b, strict=True)), fmpq(0))
