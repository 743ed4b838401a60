"""Top singular vectors of one sample: a characteristic polynomial in fractions, roots by Sturm."""

import math
import re
from fractions import Fraction

from mpmath import iv, mp
from tests.oracles.proof_checker.arithmetic import (
    Rejected,
    contain,
    dot,
    flat,
    interval,
)
from tests.oracles.proof_checker.margins import signed, unit
from tests.oracles.proof_checker.polynomials import characteristic, real_roots

__all__ = ["singular_vectors"]


def singular_vectors(problem, exported):
    signed(problem)
    if len(problem["y"]) != 1 or exported["assumed"]:
        raise Rejected("not one sample")
    y = int(problem["y"][0])
    parts, first, second = _parts_and_layers(problem)
    x = [Fraction(one) for one in problem["X"][0]]
    A = [
        [sum(v * part[i][j] for v, part in zip(x, parts, strict=True)) for j in range(len(line))]
        for i, line in enumerate(parts[0])
    ]
    flipped = len(A) > len(A[0])
    if flipped:
        A, parts, first, second = _turned(A), [_turned(p) for p in parts], second, first
    G = [[dot(a, b) for b in A] for a in A]
    roots = _roots(G)
    ahead = [[dot(row, column) for row in A] for column in second]
    for root in roots:
        _check_lead(G, root, first, ahead, flipped)
    top = roots[0]
    root = _square_root(top.value)
    rational = isinstance(root, Fraction)
    grown = [
        [
            p + y * q / root if rational else _ball(p) + y * _ball(q) / root
            for p, q in zip(top.part(G, a), top.part(G, b), strict=True)
        ]
        for a, b in zip(first, ahead, strict=True)
    ]
    value, layers = _ball(root), [[_ball(a) for a in part] for part in grown]
    coef = _coefs(A, parts, [top.part(G, a) for a in (*first, *ahead)], top, y)
    if top.multiplicity > 1:
        coef = _coefs(A, parts, grown, top, y)
    contain(exported["coef"], coef)
    said = flat(exported["coef"].get("exact", []))
    if said and [Fraction(one) for one in said] != coef:
        raise Rejected("not the fractions")
    more = exported["more"]
    contain(more["direction"], unit(coef)[0])
    contain(more["singular value"], [value])
    contain(exported["dual"], [y / value])
    _check_layers(problem, more, _layers(A, layers, value, y, flipped))


def _layers(A, grown, value, y, flipped):
    length = iv.sqrt(sum((a**2 for part in grown for a in part), iv.mpf(0)) * value)
    left = [[a / length for a in part] for part in grown]
    right = [
        [y * dot([interval(v) for v in column], part) / value for column in zip(*A, strict=True)]
        for part in left
    ]
    return (right, left) if flipped else (left, right)


def _check_layers(problem, more, pair):
    """The first layer has a column, the second a row for each copy."""
    first, second = pair
    contain(more["first layer"], [one for row in zip(*first, strict=True) for one in row])
    contain(more["second layer"], [one for part in second for one in part])


def _ball(number):
    return interval(number) if isinstance(number, Fraction) else number


def _square_root(value):
    """A fraction if it is one."""
    if isinstance(value, Fraction):
        found = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
        if found**2 == value:
            return found
    return iv.sqrt(_ball(value))


def _turned(matrix):
    return [list(row) for row in zip(*matrix, strict=True)]


def _parts_and_layers(problem):
    """`A_i` with `f = Σ_c v₁cᵀ(Σ x_iA_i)v₂c`, and the layers, one vector for each copy c."""
    name, n = problem["network"], len(problem["X"][0])
    one, two = problem["direction"]
    spread = re.fullmatch(r"Convolutional\(filter_sizes=\((\d+), (\d+)\)\)", name)
    if spread:
        short, full = map(int, spread.groups())
        parts = [
            [[Fraction((a + b) % full == i) for b in range(full)] for a in range(short)]
            for i in range(n)
        ]
    elif name == "Diagonal(depth=2)":
        parts = [[[Fraction(a == b == i) for b in range(n)] for a in range(n)] for i in range(n)]
    elif name.startswith("Tensor"):
        parts = [[[Fraction(v) for v in row] for row in part] for part in problem["M"]]
    elif name.startswith("OrthogonalTensor"):
        U, V = ([[Fraction(v) for v in row] for row in part] for part in problem["U"])
        S = [[Fraction(v) for v in row] for row in problem["S"]]
        parts = [
            [[sum(s[i] * u * v for s, u, v in zip(S, a, b, strict=True)) for b in V] for a in U]
            for i in range(n)
        ]
    elif name.startswith("FullyConnected"):
        parts = [[[Fraction(a == i)] for a in range(n)] for i in range(n)]
        two = [[v] for v in two]
    elif name == "MatrixProduct(depth=2)":
        side = math.isqrt(n)
        parts = [
            [[Fraction(a * side + b == i) for b in range(side)] for a in range(side)]
            for i in range(n)
        ]
    else:
        raise Rejected("a network that is not known")
    if isinstance(one[0], list):
        return parts, _turned(_fractions(one)), _fractions(two)
    return parts, [[Fraction(v) for v in one]], [[Fraction(v) for v in two]]


def _fractions(rows):
    return [[Fraction(v) for v in row] for row in rows]


class _Root:
    """A distinct eigenvalue that is not zero, of the minimal polynomial h."""

    def __init__(self, value, minimal, multiplicity):
        self.value, self.multiplicity = value, multiplicity
        # Horner: h/(x − λ), and its value at λ, which is h'(λ).
        coefs = minimal if isinstance(value, Fraction) else [interval(c) for c in minimal]
        quotient = [coefs[0]]
        for c in coefs[1:-1]:
            quotient.append(c + value * quotient[-1])
        slope = quotient[0] * 0
        for c in quotient:
            slope = slope * value + c
        self.quotient = [c / slope for c in quotient]

    def part(self, G, vector):
        """`P_λ v`, by Horner's scheme on matrices."""
        rational = isinstance(self.value, Fraction)
        v = list(vector) if rational else [interval(one) for one in vector]
        matrix = G if rational else [[interval(one) for one in row] for row in G]
        found = [self.quotient[0] * one for one in v]
        for c in self.quotient[1:]:
            found = [dot(row, found) + c * one for row, one in zip(matrix, v, strict=True)]
        return found


def _check_lead(G, root, first, ahead, flipped):
    """`Σp² > Σq²`."""

    def weight(vectors):
        return sum(dot(root.part(G, v), [_like(root.value, one) for one in v]) for v in vectors)

    left, right = weight(first), weight(ahead) / root.value
    apart = right - left if flipped else left - right
    if not (apart > 0 if isinstance(apart, Fraction) else apart.a > 0):
        raise Rejected("the first layer does not lead")


def _coefs(A, parts, vectors, top, y):
    """`y Σ aᵀA_iAᵀa/(λ Σ‖a‖²)`; of one direction, with the longest of the vectors."""
    if top.multiplicity == 1:
        vectors = [max(vectors, key=lambda a: _middle(dot(a, a)))]
    square = sum(dot(a, a) for a in vectors)
    if not (square > 0 if isinstance(square, Fraction) else square.a > 0):
        raise Rejected("what grows is not shown to be there")
    value = top.value if isinstance(square, Fraction) else _ball(top.value)
    found = []
    for part in parts:
        total = square * 0
        for a in vectors:
            b = [
                sum((_like(a[0], v) * e for v, e in zip(c, a, strict=True)), a[0] * 0)
                for c in zip(*A, strict=True)
            ]
            for row, one in zip(part, a, strict=True):
                total += one * sum(
                    (_like(one, v) * e for v, e in zip(row, b, strict=True)), one * 0
                )
        found.append(y * total / (value * square))
    return found


def _like(number, value):
    """A fraction as it is, or as an interval where the other number is one."""
    return value if isinstance(number, Fraction) else interval(value)


def _middle(number):
    return (
        mp.mpf(number.numerator) / number.denominator
        if isinstance(number, Fraction)
        else mp.mpf(number.mid)
    )


def _roots(G):
    """The eigenvalues that are not zero, the largest first."""
    # One of them times the denominators of G is an algebraic integer: whole if rational.
    scale = math.lcm(*(one.denominator for row in G for one in row))
    minimal, roots = real_roots(characteristic(G), scale)
    found = [_Root(value, minimal, count) for value, count in roots if value != 0]
    if not found:
        raise Rejected("the matrix is zero")
    return found[::-1]
