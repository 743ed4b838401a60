"""Power networks `β = u^L − w^L` in many-digit arithmetic, one coefficient at a time.

Written from the layers: `u^(2−L)` falls by `L(L−2)ξ` and `w^(2−L)` rises by it (for signed u, w);
at L = 2 they run as `e^{±2ξ}`. Nothing is integrated and nothing is in logarithms: mpmath's
exponents are unbounded, and the digits outlast the cancellation near a pole, where a gap is
`e^(−kσ)` of the way.
"""

import numpy as np
from mpmath import mp, mpf
from scipy.integrate import solve_ivp

DIGITS = 60
# Positions beyond which no test goes, past the one at which a coefficient is of order one.
FAR = 50


class PrecisePower:
    """Ψ, its slope, inverse, potential and conjugate for the layers `e^log_scale · (u, w)`.

    Clocks are real, positions as `CurveMap` has them.
    """

    def __init__(self, u, w, depth, log_scale=0.0):
        self.depth, self.k = depth, depth - 2
        self.reach = FAR + max(-float(log_scale), 0.0)
        self.digits = DIGITS + int(self.k * self.reach / np.log(10))
        with mp.workdps(self.digits):
            self.scale = mp.exp(mpf(float(log_scale)))
            # (sign with which the power enters, value), without the zeros: they stay zero.
            layers = [(1, self.scale * mpf(float(u))), (-1, self.scale * mpf(float(w)))]
            self.layers = [(c, value) for c, value in layers if value != 0]
            # Where the clock takes each of them to infinity.
            self.poles = [
                value**-self.k / (c * self.depth * self.k) for c, value in self.layers if self.k
            ]

    @property
    def t_plus(self):
        return min([p for p in self.poles if p > 0], default=mp.inf)

    @property
    def t_minus(self):
        return min([-p for p in self.poles if p < 0], default=mp.inf)

    def values(self, clock):
        """The layers at a clock, with the signs with which their powers enter."""
        with mp.workdps(self.digits):
            clock = mpf(clock)
            if self.k == 0:
                return [(c, v * mp.exp(2 * c * clock)) for c, v in self.layers]
            found = []
            for c, v in self.layers:
                inverse = v**-self.k - c * self.depth * self.k * clock
                assert (inverse > 0) == (v**self.k > 0), "beyond the pole"
                found.append((c, mp.sign(v) * abs(inverse) ** (-mpf(1) / self.k)))
            return found

    def coef(self, clock):
        with mp.workdps(self.digits):
            return mp.fsum(c * v**self.depth for c, v in self.values(clock))

    def slope(self, clock):
        with mp.workdps(self.digits):
            power = 2 * self.depth - 2
            return self.depth**2 * mp.fsum(v**power for _, v in self.values(clock))

    def conjugate(self, clock):
        """`Σ v²/(2L)`, an antiderivative of the coefficient, less its value where that is 0."""
        with mp.workdps(self.digits):
            value = mp.fsum(v**2 for _, v in self.values(clock)) / (2 * self.depth)
            return value - self._lowest

    @property
    def _lowest(self):
        if mp.isinf(self.t_plus) or mp.isinf(self.t_minus):
            return mpf(0)  # one-sided: zero is where the layers vanish
        # The two moduli agree where each inverse power is half of their conserved sum.
        half = mp.fsum(abs(v) ** -self.k for _, v in self.layers) / 2
        return half ** (-mpf(2) / self.k) / self.depth

    def clock_at(self, position):
        """With poles on both sides `e^kσ = (1 + ξ/t⁻)/(1 − ξ/t⁺)`; an infinite t drops out."""
        with mp.workdps(self.digits):
            grown = mp.exp(self.k * mpf(position))
            return (grown - 1) / (1 / self.t_minus + grown / self.t_plus)

    def clock_rate_at(self, position):
        with mp.workdps(self.digits):
            grown = mp.exp(self.k * mpf(position))
            below, above = 1 / self.t_minus, 1 / self.t_plus
            return self.k * grown * (below + above) / (below + grown * above) ** 2

    def position(self, clock):
        with mp.workdps(self.digits):
            clock = mpf(clock)
            return (mp.log1p(clock / self.t_minus) - mp.log1p(-clock / self.t_plus)) / self.k

    def clock(self, coef):
        """By bisection in the position, polished by Newton's method in the clock."""
        with mp.workdps(self.digits):
            coef, low, high = mpf(coef), mpf(-self.reach), mpf(self.reach)
            for _ in range(60):
                middle = (low + high) / 2
                if self.coef(self.clock_at(middle)) < coef:
                    low = middle
                else:
                    high = middle
            position = (low + high) / 2
            for _ in range(8):
                clock = self.clock_at(position)
                rate = self.slope(clock) * self.clock_rate_at(position)
                position -= (self.coef(clock) - coef) / rate
            return self.clock_at(position)

    def potential(self, coef):
        with mp.workdps(self.digits):
            clock = self.clock(coef)
            return mpf(coef) * clock - self.conjugate(clock)


def integrated_layers(u, w, depth, clocks):
    """u and w at given clocks (from 0 outwards), by a general ODE solver: `v' = ±L v^(L−1)`."""
    signs = np.array([1.0, -1.0])

    def velocity(_, layers):
        return signs * depth * layers ** (depth - 1)

    run = solve_ivp(
        velocity, (0.0, clocks[-1]), [u, w], method="DOP853", t_eval=clocks, rtol=1e-12, atol=1e-14
    )
    assert run.success, run.message
    return run.y
