"""One coefficient of a diagonal network of depth 3 and beyond, at the present precision.

With v the layer smallest at the start, turned by the sign of the product of the others, and
`Δ_j = a_j² − v²` of these at the start,

    dv/dξ = Π_j √(v² + Δ_j),    β = v Π_j √(v² + Δ_j).

`T(v) = ∫_v^∞ dx/Π√(x² + Δ_j)` is what is left of ξ to the pole. Above and below all `√Δ_j` it is a
power series; between them Gauss-Legendre quadrature in log x, in which the integrand is analytic in
a strip of half-width π/2. Where no Δ vanishes, T is finite at 0 and v takes both signs.
"""

from functools import cache
from itertools import pairwise

from mpmath import mp, mpf

# Panels of the quadrature have this length in log x; the Bernstein ellipse that the strip leaves
# has the parameter ρ = π + √(π² + 1), so that digits/(2 log₁₀ρ) nodes have all digits.
PANEL = 1
DIGITS_PER_NODE = 1.617
# The series are summed where their ratio is at most this.
RATIO = mpf(1) / 4
DIGITS_PER_TERM = 0.602
SPARE = 8  # nodes and terms beyond
MAX_STEPS = 200


class DeepCurve:
    """The coefficient of the layers `entries`, three or more numbers."""

    def __init__(self, *entries):
        ranked = sorted(entries, key=abs)
        turn = mpf(1)
        for a in ranked[1:]:
            turn *= -1 if a < 0 else 1
        self.start = turn * ranked[0]
        self.depth = len(ranked)
        square = ranked[0] ** 2
        self.gaps = sorted(a**2 - square for a in ranked[1:])
        self.tied = self.gaps[0] == 0
        if self.tied and self.start == 0:
            self.side = None
            return
        self.side = int(mp.sign(self.start)) if self.tied else 0
        self._prepare()
        if self.tied:
            self.left = self.tail(abs(self.start))
            ends = (-mp.inf, self.left)
            self.low, self.high = ends if self.side > 0 else (-self.left, mp.inf)
        else:
            self.whole = self.tail(mpf(0))
            begun = mp.sign(self.start) * self.passed(abs(self.start))
            self.begun = begun
            self.low, self.high = -self.whole - begun, self.whole - begun
        self.last = mp.log(abs(self.start)) if self.start else mp.log(self.lowest)

    # The integrals.

    def _prepare(self):
        positive = [gap for gap in self.gaps if gap > 0]
        self.zeros = len(self.gaps) - len(positive)
        self.above = mp.sqrt(positive[-1] / RATIO) if positive else mpf(0)
        self.lowest = mp.sqrt(positive[0] * RATIO) if positive else mpf(0)
        terms = int(mp.dps / DIGITS_PER_TERM) + SPARE
        # Π(1 + Δ_j z)^{−1/2} with z = 1/x², and Π(1 + z/Δ_j)^{−1/2} with z = x².
        k, m = self.depth - 2, self.zeros - 1
        far = _series(positive, terms) if positive else [mpf(1)]
        near = _series([1 / gap for gap in positive], terms) if positive else []
        # Integrated term by term; one may be a logarithm.
        self.far = [c / (k + 2 * place) for place, c in enumerate(far)]
        self.near = [c / (2 * place - m) if 2 * place != m else 0 for place, c in enumerate(near)]
        self.of_logarithm = near[m // 2] if near and m >= 0 and m % 2 == 0 else 0
        self.head = 1 / mp.sqrt(mp.fprod(positive))
        self.panels = []
        if positive:
            low, high = mp.log(self.lowest), mp.log(self.above)
            count = int(mp.ceil((high - low) / PANEL))
            edges = [low + (high - low) * k / count for k in range(count + 1)]
            total = mpf(0)
            for a, b in pairwise(edges):
                self.panels.append((a, total))
                total += self._quadrature(a, b)
            self.middle, self.edges = total, edges
            self.far_from = self._far(self.above)

    def _quadrature(self, a, b):
        half, centre = (b - a) / 2, (a + b) / 2
        total = mpf(0)
        for node, weight in _rule(mp.prec):
            for t in (node, -node) if node else (node,):
                x = mp.exp(centre + half * t)
                square = x * x
                product = mpf(1)
                for gap in self.gaps:
                    product *= square + gap
                total += weight * x / mp.sqrt(product)
        return half * total

    def _far(self, v):
        """T above all √Δ_j: `Σ c_k v^{2−L−2k}/(L − 2 + 2k)`."""
        return _sum(self.far, 1 / (v * v)) * v ** (2 - self.depth)

    def _near(self, a, b):
        """From a to b, both below all √Δ_j; from 0 where nothing is tied."""
        total = _sum(self.near, b * b) * b ** (1 - self.zeros)
        if a:
            total -= _sum(self.near, a * a) * a ** (1 - self.zeros)
        if self.of_logarithm:
            total += self.of_logarithm * mp.log(b / a)
        return self.head * total

    def _between(self, v):
        """From the lowest edge to v, between the edges."""
        y = mp.log(v)
        a, before = next(p for p in reversed(self.panels) if p[0] <= y or p is self.panels[0])
        return before + self._quadrature(a, y)

    def tail(self, v):
        """T(v), v ≥ 0."""
        if v >= self.above:
            return self._far(v)
        if v >= self.lowest:
            return self.far_from + self.middle - self._between(v)
        return self.far_from + self.middle + self._near(v, self.lowest)

    def passed(self, v):
        """`∫_0^v`, v ≥ 0, where nothing is tied."""
        if v <= self.lowest:
            return self._near(mpf(0), v)
        if v < self.above:
            return self._near(mpf(0), self.lowest) + self._between(v)
        return self.whole - self._far(v)

    # The curve.

    def until(self, xi, sign, most):
        return mp.inf

    def at(self, xi):
        """Coefficient and slope."""
        if self.tied:
            side, v = self.side, self._inverse(self.tail, self.left - self.side * xi)
        else:
            g = xi + self.begun
            side = mp.sign(g)
            if 2 * abs(g) > self.whole:
                v = self._inverse(self.tail, self.whole - abs(g))
            else:
                v = self._inverse(self.passed, abs(g)) if g else mpf(0)
        squares = [v * v, *(v * v + gap for gap in self.gaps)]
        whole = mp.fprod(squares)
        if v == 0:
            return mpf(0), mp.fprod(squares[1:])
        return side * mp.sqrt(whole), whole * mp.fsum(1 / s for s in squares)

    def _inverse(self, integral, wanted):
        """`integral(v) = wanted` by Newton in logarithms, where both integrals are nearly lines.

        Both are concave or convex there, so that Newton goes one way after its first step. Only
        where one layer ties, T itself is a line in log v near zero, and not its logarithm.
        """
        rising = 1 if integral == self.passed else -1
        plain = self.zeros == 1 and wanted > integral(self.lowest)
        goal, y = (wanted if plain else mp.log(wanted)), self.last
        if plain:
            y = mp.log(self.lowest)
        for _ in range(MAX_STEPS):
            v = mp.exp(y)
            value = integral(v)
            product = mp.fprod(v * v + gap for gap in self.gaps)
            slope = rising * v / mp.sqrt(product)
            step = (goal - value) / slope if plain else (goal - mp.log(value)) * value / slope
            y += step
            # Quadratic: what the next step would be is its square, times a slope of order L.
            if abs(step) <= mpf(10) ** (-mp.dps // 2 - 2) * max(1, abs(y) if plain else 1):
                self.last = y
                return mp.exp(y)
        raise RuntimeError("no root found on the curve")


def _sum(coefficients, z):
    """`Σ c_k z^k`, as far as it matters; the c_k alternate and z is small enough."""
    total, power, least = mpf(0), mpf(1), mp.eps / 1024
    for place, c in enumerate(coefficients):
        term = c * power
        total += term
        if place > 3 and abs(term) <= least * abs(total):
            break
        power *= z
    return total


def _series(values, terms):
    """Coefficients of `Π_j (1 + d_j z)^{−1/2}`, from `2Pf' + P'f = 0`, P the product."""
    poly = [mpf(1)]
    for d in values:
        poly = [a + d * b for a, b in zip([*poly, mpf(0)], [mpf(0), *poly], strict=True)]
    found = [mpf(1)]
    for k in range(1, terms):
        # Of z^{k−1}: 2k f_k + Σ_i p_i (2(k−i) + i) f_{k−i} = 0, i ≥ 1.
        total = mp.fsum(
            p * (2 * (k - i) + i) * found[k - i] for i, p in enumerate(poly[: k + 1]) if i
        )
        found.append(-total / (2 * k))
    return found


@cache
def _rule(prec):
    """Nodes at and above zero of a Gauss-Legendre rule, with weights, for this precision."""
    count = int(mp.dps / DIGITS_PER_NODE) + SPARE
    found = []
    with mp.workprec(prec + 20):
        for place in range((count + 1) // 2):
            x = mp.cos(mp.pi * (place + mpf(3) / 4) / (count + mpf(1) / 2))
            if 2 * place + 1 == count:
                x = mpf(0)
            for _ in range(100):
                p, before = mpf(1), mpf(0)
                for k in range(count):
                    p, before = ((2 * k + 1) * x * p - k * before) / (k + 1), p
                slope = count * (before - x * p) / (1 - x * x)
                step = p / slope
                x -= step
                if abs(step) < mpf(2) ** (-prec // 2 - 5) or x == 0:
                    break
            p, before = mpf(1), mpf(0)
            for k in range(count):
                p, before = ((2 * k + 1) * x * p - k * before) / (k + 1), p
            slope = count * (before - x * p) / (1 - x * x)
            found.append((x, 2 / ((1 - x * x) * slope * slope)))
    return found
