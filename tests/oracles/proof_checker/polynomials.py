"""Characteristic polynomials in fractions, and their roots by Sturm's theorem.

A polynomial is the list of its coefficients, the leading one first.
"""

from fractions import Fraction
from itertools import pairwise

from mpmath import iv, mp
from tests.oracles.proof_checker.arithmetic import Rejected, dot, exact, interval

__all__ = ["characteristic", "real_roots"]


def real_roots(p, scale):
    """The polynomial of its distinct roots, and these in rising order with their multiplicities.

    A root is a fraction if it is rational, with a denominator that divides `scale`.
    """
    rest = _common(p, _slope(p))
    minimal = _divided(p, rest)
    # What occurs k times at least: in the part of the polynomial that is common to its derivatives.
    layers = [minimal]
    while len(rest) > 1:
        common = _common(rest, _slope(rest))
        layers.append(_divided(rest, common))
        rest = common
    chains = [_sturm(layer) for layer in layers]
    return minimal, [
        (_refined(minimal, low, high, scale), sum(_count(chain, low, high) for chain in chains))
        for low, high in _isolated(minimal)
    ]


def characteristic(G):
    """By Faddeev and LeVerrier."""
    n, coefs = len(G), [Fraction(1)]
    M = [[Fraction(0)] * n for _ in range(n)]
    for k in range(1, n + 1):
        M = [
            [dot(G[i], [row[j] for row in M]) + (coefs[-1] if i == j else 0) for j in range(n)]
            for i in range(n)
        ]
        coefs.append(-sum(dot(G[i], [row[i] for row in M]) for i in range(n)) / k)
    return coefs


def _slope(p):
    n = len(p) - 1
    return [c * (n - k) for k, c in enumerate(p[:-1])] or [Fraction(0)]


def _remainder(p, q):
    p, quotient = list(p), []
    while len(p) >= len(q):
        factor = p[0] / q[0]
        quotient.append(factor)
        p = [a - factor * b for a, b in zip(p, [*q, *[0] * (len(p) - len(q))], strict=True)][1:]
    while len(p) > 1 and p[0] == 0:
        p = p[1:]
    return quotient, p


def _divided(p, q):
    return _remainder(p, q)[0]


def _common(p, q):
    while any(q):
        p, q = q, (_remainder(p, q)[1] if len(q) > 1 else [Fraction(0)])
        while len(q) > 1 and q[0] == 0:
            q = q[1:]
    return [c / p[0] for c in p]


def _value(p, x):
    total = x * 0
    for c in p:
        total = total * x + c
    return total


def _sturm(p):
    chain = [p, _slope(p)]
    while len(chain[-1]) > 1:
        rest = [-c for c in _remainder(chain[-2], chain[-1])[1]]
        if not any(rest):
            break
        chain.append(rest)
    return chain


def _count(chain, low, high):
    """Distinct roots in (low, high]."""

    def changes(x):
        signs = [v > 0 for v in (_value(p, x) for p in chain) if v]
        return sum(a != b for a, b in pairwise(signs))

    return changes(low) - changes(high)


def _isolated(p):
    """Half-open intervals with one root each, in rising order; all are real, none negative."""
    chain, high = _sturm(p), 1 + sum(abs(c / p[0]) for c in p[1:])
    open_, found = [(Fraction(-1), high)], []
    while open_:
        low, high = open_.pop()
        count = _count(chain, low, high)
        if count == 1:
            found.append((low, high))
        elif count > 1:
            middle = (low + high) / 2
            open_ += [(low, middle), (middle, high)]
    if len(found) != len(p) - 1:
        raise Rejected("the roots are not all real")
    return sorted(found)


def _refined(p, low, high, scale):
    """The root in (low, high]: a fraction if it is one, else an interval of all digits."""
    for point in (high, Fraction(0)):
        if low < point <= high and _value(p, point) == 0:
            return point
    sign = _value(p, high) > 0
    while high - low > abs(high) * Fraction(1, 2**64):
        middle = (low + high) / 2
        low, high = (low, middle) if (_value(p, middle) > 0) == sign else (middle, high)
    start = mp.mpf(high.numerator) / high.denominator
    coefs = [mp.mpf(c.numerator) / c.denominator for c in p]
    slopes = [mp.mpf(c.numerator) / c.denominator for c in _slope(p)]
    for _ in range(40):
        start -= _value(coefs, start) / _value(slopes, start)
    middle, width = exact(start), abs(exact(start)) / 2 ** (mp.prec // 2)
    whole = Fraction(round(middle * scale), scale)
    if low < whole <= high and _value(p, whole) == 0:
        return whole
    a, b = middle - width, middle + width
    if not low <= a < b <= high or (_value(p, a) > 0) == (_value(p, b) > 0):
        raise Rejected("a root is not enclosed")
    return iv.mpf([interval(a).a, interval(b).b])
