"""What every check needs: claimed balls as fractions, intervals, and rational linear algebra."""

from fractions import Fraction

import mpmath
from mpmath import iv

__all__ = [
    "NotKnown",
    "Rejected",
    "claimed",
    "contain",
    "dot",
    "exact",
    "flat",
    "interval",
    "solve",
]


class Rejected(Exception):
    """The proof is not one of this problem, or a ball does not contain what it should."""


class NotKnown(Rejected):
    """Nothing is known here by which the proof could be checked."""


def claimed(balls):
    middles, radii = flat(balls["midpoint"]), flat(balls["radius"])
    return [(Fraction(m), Fraction(r)) for m, r in zip(middles, radii, strict=True)]


def flat(nested):
    """All entries of nested lists, row by row."""
    return [one for part in nested for one in flat(part)] if isinstance(nested, list) else [nested]


def contain(balls, found):
    """Each claimed ball contains the interval (or fraction) found here."""
    said = claimed(balls)
    if len(said) != len(found):
        raise Rejected("of another length")
    for (middle, radius), one in zip(said, found, strict=True):
        low, high = (one, one) if isinstance(one, Fraction) else (exact(one.a), exact(one.b))
        if radius == 0 and low < middle < high:
            raise NotKnown("an exact number, which intervals cannot tell")
        if not middle - radius <= low <= high <= middle + radius:
            raise Rejected("a ball does not contain its number")


def exact(number):
    sign, mantissa, exponent, _ = mpmath.mpf(number)._mpf_
    value = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return -value if sign else value


def interval(value):
    value = Fraction(value)
    return iv.mpf(int(value.numerator)) / iv.mpf(int(value.denominator))


def solve(matrix, right):
    """The solution of a regular system of fractions."""
    rows = [[*line, b] for line, b in zip(matrix, right, strict=True)]
    n = len(rows)
    for k in range(n):
        pivot = next((i for i in range(k, n) if rows[i][k] != 0), None)
        if pivot is None:
            raise Rejected("a matrix is singular")
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [one / rows[k][k] for one in rows[k]]
        for i in range(n):
            if i != k and rows[i][k] != 0:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [line[n] for line in rows]


def dot(a, b):
    return sum((p * q for p, q in zip(a, b, strict=True)), a[0] * 0)
