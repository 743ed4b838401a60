"""Least ℓ1 norms of the discrete Fourier transform: optimality conditions, enclosed anew.

All is made of the transforms themselves, complex numbers `ζ̂_k` as pairs of intervals, and the sums
of roots of unity that say what is exactly zero are Ramanujan's.
"""

import math
import re
from fractions import Fraction

from mpmath import iv, mp
from tests.oracles.proof_checker.arithmetic import (
    Rejected,
    claimed,
    contain,
    dot,
    interval,
    solve,
)
from tests.oracles.proof_checker.inclusion import inclusion
from tests.oracles.proof_checker.margins import CONVERGES, signed, unit

__all__ = ["fourier_margin"]


def fourier_margin(problem, exported):
    rows, witness = signed(problem), exported["witness"]
    n, m = len(rows[0]), len(rows)
    if not re.fullmatch(rf"Convolutional\(filter_sizes=\({n}, {n}\)\)", problem["network"]):
        raise Rejected("not a network of this norm")
    if exported["assumed"] != [CONVERGES]:
        raise Rejected("not what must be assumed")
    waves = _Waves(n)
    _check_start(problem, rows, waves)
    used, bound = witness["used"], witness["bound"]
    free = {int(i): Fraction(one) for i, one in witness["free"].items()}
    if len({*used}) != len(used) or len({*bound, *free}) != len(bound) + len(free):
        raise Rejected("a frequency or a sample twice")
    transforms = [[waves.transform(row, k) for k in range(n // 2 + 1)] for row in rows]
    system = _System(transforms, waves, used, bound, free)
    root = inclusion(system, _start(exported, waves, used, bound, system))
    tau, nu = root[: len(used)], system.multipliers(root[len(used) :])
    _check(rows, waves, (used, bound, free), system, root)
    zeta = [dot(nu, [interval(row[j]) for row in rows]) for j in range(n)]
    found = [system.coefficient(tau, zeta, j) for j in range(n)]
    if all(waves.count(k) == 1 for k in used):
        found = _rational(rows, used, bound, system.images(nu))
    contain(exported["coef"], found)
    contain(exported["more"]["direction"], unit(found)[0])
    root_n = iv.sqrt(iv.mpf(n))
    dual = [interval(y) * one * root_n for y, one in zip(problem["y"], nu, strict=True)]
    contain(exported["dual"], dual)
    contain(exported["mirror"], [one * root_n for one in zeta])
    assert m == len(dual)


class _Waves:
    """Cosines and sines of all multiples of 2π/n."""

    def __init__(self, n):
        self.n = n
        self.cosines = [iv.cos(2 * iv.pi * j / n) for j in range(n)]
        self.sines = [iv.sin(2 * iv.pi * j / n) for j in range(n)]

    def transform(self, row, k):
        places = [j * k % self.n for j in range(self.n)]
        values = [interval(one) for one in row]
        return (
            dot(values, [self.cosines[j] for j in places]),
            -dot(values, [self.sines[j] for j in places]),
        )

    def count(self, k):
        return 1 if 2 * k % self.n == 0 else 2


class _System:
    def __init__(self, transforms, waves, used, bound, free):
        self.transforms, self.waves = transforms, waves
        self.used, self.bound, self.free = used, bound, free

    def multipliers(self, parts):
        found = dict(zip(self.bound, parts, strict=True))
        found |= {i: interval(one) for i, one in self.free.items()}
        return [found.get(i, iv.mpf(0)) for i in range(len(self.transforms))]

    def images(self, nu):
        """`ζ̂_k = Σ_i ν_i â_ik` for all k."""
        return [
            tuple(dot(nu, [line[k][part] for line in self.transforms]) for part in (0, 1))
            for k in range(len(self.transforms[0]))
        ]

    def share(self, i, k, image):
        """`c_k Re(â_ik* ζ̂_k)`: what τ_k adds to the margin of a sample."""
        a = self.transforms[i][k]
        return self.waves.count(k) * (a[0] * image[0] + a[1] * image[1])

    def __call__(self, unknowns):
        count = len(self.used)
        tau, nu = unknowns[:count], self.multipliers(unknowns[count:])
        images = self.images(nu)
        values = [images[k][0] ** 2 + images[k][1] ** 2 - 1 for k in self.used]
        slopes = []
        for k in self.used:
            along = [2 * self.share(i, k, images[k]) / self.waves.count(k) for i in self.bound]
            slopes.append([iv.mpf(0)] * count + along)
        for i in self.bound:
            shares = [self.share(i, k, images[k]) for k in self.used]
            values.append(dot(tau, shares) - 1)
            across = [
                dot(tau, [self.share(i, k, self.transforms[other][k]) for k in self.used])
                for other in self.bound
            ]
            slopes.append([*shares, *across])
        return values, slopes

    def coefficient(self, tau, zeta, j):
        """`Σ_k τ_k c_k Σ_l cos(2πk(j − l)/n) ζ_l`."""
        n, total = self.waves.n, iv.mpf(0)
        for t, k in zip(tau, self.used, strict=True):
            waves = [self.waves.cosines[k * (j - one) % n] for one in range(n)]
            total += t * self.waves.count(k) * dot(waves, zeta)
        return total


def _start(exported, waves, used, bound, system):
    """From the claimed dual and coefficients."""
    root = mp.sqrt(waves.n)
    nu = [abs(mp.mpf(m.numerator) / m.denominator) / root for m, _ in claimed(exported["dual"])]
    coef = [m for m, _ in claimed(exported["coef"])]
    images = system.images([iv.mpf(one) for one in nu])
    tau = []
    for k in used:
        real, imaginary = waves.transform(coef, k)
        along = real * images[k][0] + imaginary * images[k][1]
        tau.append(mp.mpf(along.mid) / waves.n)
    return [*tau, *(nu[i] for i in bound)]


def _check(rows, waves, parts, system, root):
    used, bound, free = parts
    tau, nu = root[: len(used)], system.multipliers(root[len(used) :])
    if any(one.a <= 0 for one in tau) or any(nu[i].a <= 0 for i in (*bound, *free)):
        raise Rejected("a sign is not proved")
    images = system.images(nu)
    for k, (real, imaginary) in enumerate(images):
        if k not in used and not (real**2 + imaginary**2).b < 1:
            raise Rejected("another frequency could be used")
    for i in range(len(rows)):
        margin = dot(tau, [system.share(i, k, images[k]) for k in used])
        if i in bound or (i not in free and margin.a > 1):
            continue
        combined = _combined(rows, i, bound, {math.gcd(k, waves.n) for k in used}, waves.n)
        if combined < 1 or (i in free and combined != 1):
            raise Rejected("a margin is not what it must be")


def _combined(rows, i, bound, divisors, n):
    """The sum of the weights with which the samples bound make up sample i in these frequencies."""
    kernel = [sum(_ramanujan(n // g, j) for g in divisors) for j in range(n)]
    seen = [
        [sum(kernel[(j - one) % n] * row[one] for one in range(n)) for j in range(n)]
        for row in (*(rows[k] for k in bound), rows[i])
    ]
    *others, last = seen
    weights = solve([[dot(a, b) for b in others] for a in others], [dot(a, last) for a in others])
    if [dot(weights, column) for column in zip(*others, strict=True)] != last:
        raise Rejected("a sample is not made of those that decide")
    return sum(weights)


def _ramanujan(q, j):
    """The sum of the j-th powers of the primitive q-th roots of unity."""
    common = math.gcd(q, j)
    return sum(_moebius(q // d) * d for d in range(1, common + 1) if common % d == 0)


def _moebius(number):
    sign, prime = 1, 2
    while number > 1:
        if number % prime == 0:
            number //= prime
            sign = -sign
            if number % prime == 0:
                return 0
        prime += 1
    return sign


def _rational(rows, used, bound, images):
    """Where all frequencies are real the conditions are linear."""
    waves = [[Fraction(-1) ** (j if k else 0) for j in range(len(rows[0]))] for k in used]
    signs = [1 if images[k][0].a > 0 else -1 for k in used]
    matrix = [
        [sign * dot(rows[i], wave) for wave, sign in zip(waves, signs, strict=True)] for i in bound
    ]
    tau = solve(matrix, [Fraction(1)] * len(bound))
    return [
        sum(t * s * wave[j] for t, s, wave in zip(tau, signs, waves, strict=True))
        for j in range(len(rows[0]))
    ]


def _check_start(problem, rows, waves):
    """The moduli of the filters' transforms differ where a sample has a frequency."""
    layers = [[Fraction(one) for one in layer] for layer in problem["direction"]]
    if len(layers) != 2 or any(len(layer) != waves.n for layer in layers):
        raise Rejected("not two filters")
    for k in range(waves.n // 2 + 1):
        (a, b), (c, d) = (waves.transform(layer, k) for layer in layers)
        apart = a**2 + b**2 - c**2 - d**2
        kernel = [_ramanujan(waves.n // math.gcd(k, waves.n), j) for j in range(waves.n)]
        absent = all(
            sum(kernel[(j - one) % waves.n] * row[one] for one in range(waves.n)) == 0
            for row in rows
            for j in range(waves.n)
        )
        if not absent and apart.a <= 0 <= apart.b:
            raise Rejected("the filters are not shown to differ at some frequency")
