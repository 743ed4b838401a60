"""Activation times anew: sums of fractions times units, each unit in an interval; the first is one.

Where they are integrals `∫_x^∞ du/Π√(u²+Δ_j)`, these are added up from Taylor series, with
remainders by Cauchy's bound.
"""

from fractions import Fraction
from functools import lru_cache

from mpmath import iv, mp
from tests.oracles.proof_checker.arithmetic import Rejected, interval
from tests.oracles.proof_checker.mirror_maps import network_of

__all__ = ["Units", "plus", "tail_integral", "times_of"]

ONE = 0


class Units:
    """Numbers that are independent of each other as far as anybody here knows."""

    def __init__(self):
        self.values, self.keys = [iv.mpf(1)], ["1"]

    def of(self, key, value):
        if key not in self.keys:
            self.keys.append(key)
            self.values.append(value())
        return self.keys.index(key)

    def interval(self, parts):
        return sum((interval(v) * self.values[u] for u, v in parts.items()), iv.mpf(0))

    def sign(self, parts):
        if not parts:
            return 0
        if parts.keys() == {ONE}:
            return 1 if parts[ONE] > 0 else -1
        found = self.interval(parts)
        if found.a <= 0 <= found.b:
            raise Rejected("two times cannot be told apart")
        return 1 if found.a > 0 else -1


def plus(one, factor, two):
    """`one + factor · two` of sums, without what cancels."""
    found = dict(one)
    for unit, value in two.items():
        found[unit] = found.get(unit, 0) + factor * value
    return {unit: value for unit, value in found.items() if value}


def times_of(problem):
    """`(t⁺, t⁻)` of each coefficient; None for a side that does not exist."""
    units = Units()
    if problem["task"] == "saddle path":
        pairs = zip(problem["t_plus"], problem["t_minus"], strict=True)
        return units, [tuple(_fraction(t) for t in pair) for pair in pairs]
    if problem.get("scale") != 0 and problem.get("log_scale") != float("-inf"):
        raise Rejected("not of vanishing scale")
    name, depth = network_of(problem)
    rows = [[Fraction(one) for one in row] for row in zip(*problem["direction"], strict=True)]
    if name == "Diagonal" and depth > 2:
        return units, [_diagonal(row, units) for row in rows]
    return units, [_closed(name, depth, row) for row in rows]


def _fraction(value):
    if value is None or value == float("inf"):
        return None
    return {ONE: Fraction(value)} if value else {}


def _closed(name, depth, row):
    """Two layers grow as `e^{±κξ}`, from s²; powers have poles."""
    if name == "Paired":
        a, b, c, d = row
        both = (1 if a != -b or c != d else None), (1 if a != b or c != -d else None)
    elif name == "Diagonal":
        a, b = row
        both = (1 if a != -b else None), (1 if a != b else None)
    elif depth == 2:
        both = tuple(Fraction(1, 2) if one else None for one in (*row, 0)[:2])
    else:
        # Each of u^L and −w^L runs to infinity with its own sign, at |u|^{2−L}/(L(L−2)).
        sizes = {1: [], -1: []}
        for outer, one in zip((1, -1), row, strict=False):
            if one:
                sign = outer * (-1 if one < 0 and depth % 2 else 1)
                sizes[sign].append(1 / (abs(one) ** (depth - 2) * depth * (depth - 2)))
        both = tuple(min(sizes[sign], default=None) for sign in (1, -1))
    return tuple(_fraction(one) for one in both)


def _diagonal(row, units):
    """The smallest layer runs to ±∞; `∫` over the whole line is twice that over half of it."""
    order = sorted(row, key=abs)
    v, rest = order[0], order[1:]
    if v == 0 and rest[0] == 0:
        return None, None
    for one in rest:
        v = -v if one < 0 else v
    size, power = abs(rest[-1]), len(rest) - 1
    widths = [(one**2 - v**2) / size**2 for one in rest]

    def integral(x):
        if not any(widths):
            return {ONE: 1 / (power * (x * size) ** power)}
        unit = units.of((tuple(widths), x), lambda: tail_integral(x, widths))
        return {unit: 1 / size**power}

    towards = integral(abs(v) / size)
    away = None
    if all(widths):
        away = plus(plus({}, 2, integral(Fraction(0))), -1, towards)
    return (towards, away) if v >= 0 else (away, towards)


def tail_integral(x, widths):
    """`∫_x^∞ du/√Q(u)`, `Q = Π(u²+Δ_j)`, x ≥ 0; some Δ_j may be zero if x is not.

    The recurrence for the coefficients of a series widens intervals with every term: it is run with
    as many times the digits.
    """
    return _tail(Fraction(x), tuple(widths), iv.prec)


@lru_cache
def _tail(x, widths, precision):
    iv.prec = precision * (len(widths) + 2)
    try:
        return _added_up(x, widths)
    finally:
        iv.prec = precision


def _added_up(x, widths):
    total, low = iv.mpf(0), Fraction(x)
    smallest, largest = min(widths), max(widths)
    if low**2 * 9 < smallest:
        # From 0, a third of the way to the nearest singularity ±i√Δ.
        high = _root_below(smallest) / 3
        total += _integral(widths, Fraction(0), low, high, _root_below(smallest))
        low = high
    while low**2 < 4 * largest:
        # |c ± i√Δ| ≥ c = 3a/2, three times half of the width of [a, 2a].
        centre = low * 3 / 2
        total += _integral(widths, centre, low, 2 * low, centre)
        low = 2 * low
    # With w = 1/u: ∫_0^{1/a} w^{p−2} Π(1+Δw²)^{−1/2} dw, convergent for w < 1/√Δ.
    return total + _integral(widths, Fraction(0), Fraction(0), 1 / low, 2 / low, turned=True)


def _root_below(value):
    """A fraction slightly below a root."""
    root = mp.sqrt(mp.mpf(value.numerator) / value.denominator) * (1 - mp.mpf(2) ** -20)
    found = (
        Fraction(int(mp.floor(root * mp.mpf(2) ** 200)), 2**200)
        if root < 1
        else Fraction(int(mp.floor(root)))
    )
    if not 0 < found**2 <= value:
        raise Rejected("a layer too close to another one")
    return found


def _integral(widths, centre, low, high, radius, turned=False):
    """From low to high, by the series about a centre that converges within `radius` (or more)."""
    power = len(widths) - 2 if turned else 0
    Q = [interval(1)]
    for one in widths:
        quadratic = (1, 0, one) if turned else (centre**2 + one, 2 * centre, 1)
        Q = _product(Q, [interval(a) for a in quadratic])
    reach = max(abs(high - centre), abs(low - centre))
    # `Q g' = −½ Q' g` for g = Q^{−1/2}.
    # The remainder is bounded on a circle halfway between the two.
    count = int(mp.prec / mp.log(float((radius + reach) / (2 * reach)), 2)) + 10
    g = [1 / iv.sqrt(Q[0])]
    for n in range(count - 1):
        terms = range(1, min(n + 1, len(Q) - 1) + 1)
        left = sum(
            ((n + 1 - interval(Fraction(k, 2))) * Q[k] * g[n + 1 - k] for k in terms), iv.mpf(0)
        )
        g.append(-left / (Q[0] * (n + 1)))
    ends = [interval(end - centre) for end in (low, high)]
    total = iv.mpf(0)
    for n, coef in enumerate(g):
        m = n + power + 1
        total += coef * (ends[1] ** m - ends[0] ** m) / m
    return total + _remainder(widths, centre, low, high, reach, count, turned)


def _remainder(widths, centre, low, high, reach, count, turned):
    """`|g| ≤ M` on a circle makes its coefficients at most `M/ρⁿ`."""
    # Between the largest argument and the singularities, ±i√Δ, or ±i/√Δ in 1/u.
    if turned:
        nearest = 1 / iv.sqrt(interval(max(widths)))
        circle = (nearest.a + interval(reach).b) / 2
        bounds = [1 / iv.sqrt(1 - interval(one) * iv.mpf(circle) ** 2) for one in widths]
    else:
        distances = [iv.sqrt(interval(centre**2 + one)) for one in widths]
        circle = (min(one.a for one in distances) + interval(reach).b) / 2
        bounds = [1 / (one - iv.mpf(circle)) for one in distances]
    most = iv.mpf(1)
    for one in bounds:
        most *= one
    ratio = interval(reach) / iv.mpf(circle)
    if not (ratio.b < 1 and most.a > 0):
        raise Rejected("an integral is not enclosed")
    power = len(widths) - 2 if turned else 0
    size = most * interval(reach) ** power * interval(high - low) * ratio**count / (1 - ratio)
    return iv.mpf([-1, 1]) * size


def _product(one, two):
    found = [iv.mpf(0)] * (len(one) + len(two) - 1)
    for i, a in enumerate(one):
        for j, b in enumerate(two):
            found[i + j] += a * b
    return found
