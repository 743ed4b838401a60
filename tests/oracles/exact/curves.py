"""How one coefficient moves with its mirror coordinate ξ: closed forms, at the present precision.

Each curve has `low` and `high`, the open interval of ξ, `side` (0 where the coefficient takes both
signs, else the one sign it keeps, None where it never moves), and `at(ξ)`, coefficient and slope.
"""

from mpmath import mp, mpf
from tests.oracles.exact.deep_curve import DeepCurve


class Exponentials:
    """`β = P e^{rξ} − M e^{−rξ}`."""

    low, high = -mp.inf, mp.inf

    def __init__(self, plus, minus, rate):
        self.plus, self.minus, self.rate = plus, minus, mpf(rate)
        sides = {(True, True): 0, (True, False): 1, (False, True): -1, (False, False): None}
        self.side = sides[plus > 0, minus > 0]

    def until(self, xi, sign, most):
        """How far ξ may go in a direction until a coefficient is as large as `most`."""
        end = self.plus if sign > 0 else self.minus
        if not end:
            return mp.inf
        growth = self.rate * abs(xi) * mp.sign(xi * sign)
        return max(mp.log(most / end) - growth, mpf(2)) / self.rate if most else 2 / self.rate

    def at(self, xi):
        grown = mp.exp(self.rate * xi)
        up, down = self.plus * grown, self.minus / grown
        return up - down, self.rate * (up + down)


class Powers:
    """`β = Σ c v^L`, L ≥ 3, where `v^{2−L}` falls by `cL(L−2)ξ`; c = ±1."""

    def __init__(self, terms, depth):
        self.depth, self.k = depth, depth - 2
        self.terms = [(c, v) for c, v in terms if v]
        ends = [v**-self.k / (c * depth * self.k) for c, v in self.terms]
        self.high = min((end for end in ends if end > 0), default=mp.inf)
        self.low = max((end for end in ends if end < 0), default=-mp.inf)
        # Towards an infinite end every layer vanishes, towards a pole one of them is all there is.
        self.side = {(True, True): 0, (True, False): 1, (False, True): -1, (False, False): None}[
            self.high < mp.inf, self.low > -mp.inf
        ]

    def until(self, xi, sign, most):
        """No coefficient grows towards an infinite end."""
        return mp.inf

    def at(self, xi):
        value = slope = mpf(0)
        for c, v in self.terms:
            inverse = abs(v**-self.k - c * self.depth * self.k * xi)
            now = mp.sign(v) * inverse ** (-mpf(1) / self.k)
            value += c * now**self.depth
            slope += self.depth**2 * now ** (2 * self.depth - 2)
        return value, slope


class Quartic:
    """`k = a²/2 + a⁴/4 − b²/2 − b⁴/4`: `w = a²` has `w/(1 + w) = Ce^{2ξ}`, that of b decays."""

    side = 0

    def __init__(self, a, b):
        self.shares = [x**2 / (1 + x**2) for x in (a, b)]
        self.high, self.low = -mp.log(self.shares[0]) / 2, mp.log(self.shares[1]) / 2

    def at(self, xi):
        value = slope = mpf(0)
        for sign, share in zip((1, -1), self.shares, strict=True):
            part = share * mp.exp(2 * sign * xi)
            w = part / (1 - part)
            value += sign * (w / 2 + w**2 / 4)
            slope += w * (1 + w) ** 2
        return value, slope


class Hyperbolic:
    """`k = cosh a − cosh b`: `tanh(a/2)` grows as e^ξ, `tanh(b/2)` decays."""

    side = 0

    def __init__(self, a, b):
        self.halves = [abs(mp.tanh(x / 2)) for x in (a, b)]
        self.high, self.low = -mp.log(self.halves[0]), mp.log(self.halves[1])

    def at(self, xi):
        value = slope = mpf(0)
        for sign, half in zip((1, -1), self.halves, strict=True):
            t = half * mp.exp(sign * xi)
            value += sign * 2 * t**2 / (1 - t**2)
            slope += (2 * t / (1 - t**2)) ** 2
        return value, slope


def diagonal(*layers):
    """The product of the layers; of two, their sum runs as e^ξ and their difference as e^−ξ."""
    if len(layers) > 2:
        return DeepCurve(*layers)
    a, b = layers
    return Exponentials((a + b) ** 2 / 4, (a - b) ** 2 / 4, 2)


def power(u, depth):
    return Exponentials(u**2, mpf(0), 4) if depth == 2 else Powers([(1, u)], depth)


def signed_power(u, w, depth):
    if depth == 2:
        return Exponentials(u**2, w**2, 4)
    return Powers([(1, u), (-1, w)], depth)


def paired(u_plus, v_plus, u_minus, v_minus):
    plus = (u_plus + v_plus) ** 2 + (u_minus - v_minus) ** 2
    minus = (u_plus - v_plus) ** 2 + (u_minus + v_minus) ** 2
    return Exponentials(plus / 4, minus / 4, 2)
