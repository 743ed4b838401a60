"""Coefficients as functions of their mirror coordinates, in interval arithmetic."""

import re
from fractions import Fraction
from math import prod

from mpmath import iv, mp
from tests.oracles.proof_checker.arithmetic import NotKnown, Rejected, interval

__all__ = ["diagonal_map", "maps_of", "network_of", "starts_of"]


def network_of(problem):
    found = re.fullmatch(r"(\w+)\((?:depth=(\d+))?\)", problem["network"])
    if found is None or found[1] not in ("Diagonal", "Paired", "Power", "SignedPower"):
        raise Rejected("not a separable network")
    return found[1], int(found[2] or 2)


def maps_of(problem):
    """`ξ ↦ (β, β')` of each coefficient, by what MATH 1.1 and 1.2 say; None if it never moves."""
    name, depth = network_of(problem)
    s = _scale(problem)
    made = []
    for exact_row in zip(*problem["direction"], strict=True):
        row = [interval(one) for one in exact_row]
        if name == "Paired":
            a, b, c, d = row
            grows, decays = (a + b) ** 2 + (c - d) ** 2, (a - b) ** 2 + (c + d) ** 2
            made.append(_exponential(grows * s**2 / 4, decays * s**2 / 4, 2))
        elif name == "Diagonal":
            made.append(diagonal_map([Fraction(one) for one in exact_row], s))
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


def diagonal_map(layers, s):
    """Of layers in units of s, fractions or intervals; None if it never moves."""
    if len(layers) == 2:
        a, b = (one * s if isinstance(one, iv.mpf) else interval(one) * s for one in layers)
        return None if not any(layers) else _exponential((a + b) ** 2 / 4, (a - b) ** 2 / 4, 2)
    if len(layers) != 3:
        raise NotKnown("no depth that is known here")
    smallest, *others = sorted(layers, key=lambda one: abs(mp.mpf(_wide(one).mid)))
    if smallest == 0 and any(one == 0 for one in others):
        return None
    return _three(smallest, others, s)


def _wide(one):
    return one if isinstance(one, iv.mpf) else interval(one)


def _three(smallest, others, s):
    """`β = s³ w √((w²+a)(w²+b))`, `sξ = H(w) − H(w(0))`, `H' = 1/√((w²+a)(w²+b))`.

    `H(w) = w R_F(ab, b(a+w²), a(b+w²))`, by `x = t^{−1/2}` in the integral.
    """
    if not all(isinstance(one, Fraction) for one in (smallest, *others)):
        smallest, *others = (_wide(one) for one in (smallest, *others))
    a, b = (_wide(one * one - smallest * smallest) for one in others)
    if not (a.a > 0 and b.a > 0):
        raise NotKnown("two smallest layers that tie are not known here")
    turns = [one < 0 for one in others]
    if None in turns:
        raise Rejected("the sign of a layer is not decided")
    start = _wide(smallest) * (-1 if sum(turns) % 2 else 1)

    def height(w):
        return w * _carlson(a * b, b * (a + w * w), a * (b + w * w))

    def steep(w):
        return iv.sqrt((w * w + a) * (w * w + b))

    zero = height(start)

    def at(xi):
        goal = s * xi + zero
        w = _inverse(height, steep, goal, start)
        square = w * w
        slope = (square + a) * (square + b) + square * (2 * square + a + b)
        return s**3 * w * steep(w), s**4 * slope

    return at


def _carlson(x, y, z):
    """R_F by duplication and its series (DLMF 19.36.1), whose remainder is below `ε⁶`, ε < 1/2."""
    while True:
        mean = (x + y + z) / 3
        X, Y, Z = (1 - one / mean for one in (x, y, z))
        off = max(abs(mp.mpf(end)) for one in (X, Y, Z) for end in (one.a, one.b))
        if not min(mp.mpf(one.a) for one in (x, y, z)) > 0:
            raise Rejected("an argument of an integral is not positive")
        wide = max(mp.mpf(one.delta) for one in (X, Y, Z))
        if off < 0.5 and off**6 <= max(mp.mpf(2) ** -mp.prec, wide):
            pairs, triple = X * Y + Y * Z + Z * X, X * Y * Z
            series = 1 - pairs / 10 + triple / 14 + pairs**2 / 24 - 3 * pairs * triple / 44
            return (series + iv.mpf([-(off**6), off**6])) / iv.sqrt(mean)
        p, q, r = (iv.sqrt(one) for one in (x, y, z))
        shift = p * q + q * r + r * p
        x, y, z = ((one + shift) / 4 for one in (x, y, z))


def _inverse(height, steep, goal, start):
    """All w with `H(w)` in an interval: H rises, so that two signs are a proof."""
    w, before = mp.mpf(start.mid), None
    for _ in range(300):
        step = mp.mpf(((goal - height(iv.mpf(w))) * steep(iv.mpf(w))).mid)
        # Far out H levels off before its pole: no step more than doubles what is there.
        most = 1 + abs(w) if abs(w) < 1 else abs(w)
        step = max(-most, min(most, step))
        w += step
        if abs(step) <= abs(w) * mp.mpf(2) ** (-mp.prec * 3 // 4):
            break
        if (
            before is not None
            and abs(step) < abs(w) * mp.mpf(2) ** (-mp.prec // 3)
            and (abs(step) >= before)
        ):
            break
        before = abs(step)
    else:
        raise Rejected("beyond a pole")
    middle = iv.mpf(w)
    off = (goal - height(middle)) * steep(middle)
    reach = 4 * max(abs(mp.mpf(off.a)), abs(mp.mpf(off.b))) + abs(w) * mp.mpf(2) ** (8 - mp.prec)
    box = iv.mpf([w - reach, w + reach])
    if not (height(iv.mpf(box.a)).b < goal.a and goal.b < height(iv.mpf(box.b)).a):
        raise Rejected("beyond a pole")
    found = middle + (goal - height(middle)) * steep(box)
    return iv.mpf([max(found.a, box.a), min(found.b, box.b)])
