"""Coefficients as functions of their mirror coordinates, in interval arithmetic."""

import re
from fractions import Fraction
from math import prod

from mpmath import iv, mp
from tests.oracles.proof_checker.arithmetic import NotKnown, Rejected, interval

__all__ = ["maps_of", "network_of", "starts_of"]


def network_of(problem):
    found = re.fullmatch(r"(\w+)\((?:depth=(\d+))?\)", problem["network"])
    if found is None:
        raise Rejected("a network that is not separable")
    name, depth = found.groups()
    return name, int(depth or 2)


def maps_of(problem):
    """`ξ ↦ (β, β')` of each coefficient, by what MATH 1.1 and 1.2 say; None if it never moves."""
    name, depth = network_of(problem)
    s = _scale(problem)
    rows = [[interval(one) for one in row] for row in zip(*problem["direction"], strict=True)]
    made = []
    for row in rows:
        if name == "Diagonal" and depth == 2:
            a, b = row
            made.append(_exponential((a + b) ** 2 * s**2 / 4, (a - b) ** 2 * s**2 / 4, 2))
        elif name == "Paired":
            a, b, c, d = row
            grows, decays = (a + b) ** 2 + (c - d) ** 2, (a - b) ** 2 + (c + d) ** 2
            made.append(_exponential(grows * s**2 / 4, decays * s**2 / 4, 2))
        elif name in ("Power", "SignedPower") and depth == 2:
            last = row[1] if len(row) > 1 else iv.mpf(0)
            made.append(_exponential((row[0] * s) ** 2, (last * s) ** 2, 4))
        elif name in ("Power", "SignedPower"):
            made.append(_powers([one * s for one in row], depth))
        else:
            raise NotKnown(f"the mirror maps of {problem['network']}")
    return made


def starts_of(problem):
    """The coefficients at the start: `s^L` times rational numbers."""
    name, depth = network_of(problem)
    found = []
    for row in zip(*problem["direction"], strict=True):
        row = [Fraction(one) for one in row]
        if name == "Diagonal":
            found.append(prod(row))
        elif name == "Paired":
            found.append(row[0] * row[1] - row[2] * row[3])
        else:
            found.append(sum(sign * one**depth for sign, one in zip((1, -1), row, strict=False)))
    unit = _scale(problem) ** depth
    return [interval(one) * unit if one else Fraction(0) for one in found]


def _scale(problem):
    log_scale = problem.get("log_scale")
    return iv.exp(interval(log_scale)) if log_scale is not None else interval(problem["scale"])


def _exponential(grows, decays, rate):
    if grows == 0 and decays == 0:
        return None

    def at(x):
        up, down = grows * iv.exp(rate * x), decays * iv.exp(-rate * x)
        return up - down, rate * (up + down)

    return at


def _powers(starts, depth):
    return None if all(one == 0 for one in starts) else Powers(starts, depth)


class Powers:
    """`u' = Lu^{L−1}` upwards, `w' = −Lw^{L−1}`: `u^{2−L} = u(0)^{2−L} − L(L−2)ξ`, w at −ξ."""

    def __init__(self, starts, depth):
        self.depth, self.terms = depth, []
        for start, outer in zip(starts, (1, -1), strict=False):
            if start == 0:
                continue
            negative = start < 0
            size = -start if negative else start
            # With |u|: d|u|/dξ = ±L|u|^{L−1}, downwards for a negative odd power.
            sign = -outer if negative and depth % 2 else outer
            self.terms.append((sign, 1 / size ** (depth - 2)))

    def __call__(self, x):
        depth = self.depth
        return self._sum([left - sign * depth * (depth - 2) * x for sign, left in self.terms])

    def along(self, side, log):
        """`ξ, dξ/dτ, β, dβ/dτ`, τ the logarithm of the term that grows to this side first."""
        depth = self.depth
        first = min(
            (one for sign, one in self.terms if sign == side), key=lambda one: mp.mpf(one.mid)
        )
        left = iv.exp(-(depth - 2) * log)
        x = side * (first - left) / (depth * (depth - 2))
        lefts = [
            # Equal terms stay equal.
            left
            if (sign, one.a, one.b) == (side, first.a, first.b)
            else one - sign * depth * (depth - 2) * x
            for sign, one in self.terms
        ]
        value, slope = self._sum(lefts)
        turn = side * left / depth
        return x, turn, value, slope * turn

    def _sum(self, lefts):
        depth = self.depth
        value = slope = iv.mpf(0)
        for (sign, _), left in zip(self.terms, lefts, strict=True):
            if not left.a > 0:
                raise Rejected("beyond a pole")
            size = iv.exp(-iv.log(left) / (depth - 2))
            value += sign * size**depth
            slope += (depth * size ** (depth - 1)) ** 2
        return value, slope
