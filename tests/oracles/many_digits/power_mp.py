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

    Mirror coordinates are real, positions as `CurveMap` has them.
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
            # Where the mirror coordinate takes each of them to infinity.
            self.poles = [
                value**-self.k / (c * self.depth * self.k) for c, value in self.layers if self.k
            ]

    @property
    def t_plus(self):
        return min([p for p in self.poles if p > 0], default=mp.inf)

    @property
    def t_minus(self):
        return min([-p for p in self.poles if p < 0], default=mp.inf)

    def values(self, xi):
        """The layers at a mirror coordinate, with the signs with which their powers enter."""
        with mp.workdps(self.digits):
            xi = mpf(xi)
            if self.k == 0:
                return [(c, v * mp.exp(2 * c * xi)) for c, v in self.layers]
            found = []
            for c, v in self.layers:
                inverse = v**-self.k - c * self.depth * self.k * xi
                assert (inverse > 0) == (v**self.k > 0), "beyond the pole"
                found.append((c, mp.sign(v) * abs(inverse) ** (-mpf(1) / self.k)))
            return found

    def coef(self, xi):
        with mp.workdps(self.digits):
            return mp.fsum(c * v**self.depth for c, v in self.values(xi))

    def slope(self, xi):
        with mp.workdps(self.digits):
            power = 2 * self.depth - 2
            return self.depth**2 * mp.fsum(v**power for _, v in self.values(xi))

    def conjugate(self, xi):
        """`Σ v²/(2L)`, an antiderivative of the coefficient, less its value where that is 0."""
        with mp.workdps(self.digits):
            value = mp.fsum(v**2 for _, v in self.values(xi)) / (2 * self.depth)
            return value - self._lowest

    @property
    def _lowest(self):
        if mp.isinf(self.t_plus) or mp.isinf(self.t_minus):
            return mpf(0)  # one-sided: zero is where the layers vanish
        # The two moduli agree where each inverse power is half of their conserved sum.
        half = mp.fsum(abs(v) ** -self.k for _, v in self.layers) / 2
        return half ** (-mpf(2) / self.k) / self.depth

    def mirror_at(self, curve_param):
        """With poles on both sides `e^kσ = (1 + ξ/t⁻)/(1 − ξ/t⁺)`; an infinite t drops out."""
        with mp.workdps(self.digits):
            grown = mp.exp(self.k * mpf(curve_param))
            return (grown - 1) / (1 / self.t_minus + grown / self.t_plus)

    def mirror_rate_at(self, curve_param):
        with mp.workdps(self.digits):
            grown = mp.exp(self.k * mpf(curve_param))
            below, above = 1 / self.t_minus, 1 / self.t_plus
            return self.k * grown * (below + above) / (below + grown * above) ** 2

    def curve_param(self, xi):
        with mp.workdps(self.digits):
            xi = mpf(xi)
            return (mp.log1p(xi / self.t_minus) - mp.log1p(-xi / self.t_plus)) / self.k

    def mirror_coords(self, coef):
        """By bisection in the position, polished by Newton's method in the mirror coordinate."""
        with mp.workdps(self.digits):
            coef, low, high = mpf(coef), mpf(-self.reach), mpf(self.reach)
            for _ in range(60):
                middle = (low + high) / 2
                if self.coef(self.mirror_at(middle)) < coef:
                    low = middle
                else:
                    high = middle
            curve_param = (low + high) / 2
            for _ in range(8):
                xi = self.mirror_at(curve_param)
                rate = self.slope(xi) * self.mirror_rate_at(curve_param)
                curve_param -= (self.coef(xi) - coef) / rate
            return self.mirror_at(curve_param)

    def potential(self, coef):
        with mp.workdps(self.digits):
            xi = self.mirror_coords(coef)
            return mpf(coef) * xi - self.conjugate(xi)


def integrated_layers(u, w, depth, xi):
    """u and w at given mirror coordinates (from 0 outwards), by a general ODE solver.

    `v' = ±L v^(L−1)`.
    """
    signs = np.array([1.0, -1.0])

    def velocity(_, layers):
        return signs * depth * layers ** (depth - 1)

    run = solve_ivp(
        velocity, (0.0, xi[-1]), [u, w], method="DOP853", t_eval=xi, rtol=1e-12, atol=1e-14
    )
    assert run.success, run.message
    return run.y
