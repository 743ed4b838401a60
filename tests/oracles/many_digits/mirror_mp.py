"""The depth-2 mirror map in 50-digit arithmetic, one coefficient at a time.

Written from the layers: `a ± b` run as `e^{±ξ}` and `β = a·b`. Exponents of mpmath numbers are
unbounded, so nothing here needs logarithms.
"""

from mpmath import mp, mpf

DIGITS = 50


class PreciseMap:
    """Ψ, its slope, inverse, potential and conjugate for the layers `e^log_scale · (a, b)`."""

    def __init__(self, a, b, log_scale):
        with mp.workdps(DIGITS):
            scale = mp.exp(mpf(float(log_scale)))
            self.a, self.b = scale * mpf(float(a)), scale * mpf(float(b))
            self.delta = abs(self.a**2 - self.b**2)

    def layers(self, xi):
        with mp.workdps(DIGITS):
            grown = (self.a + self.b) * mp.exp(mpf(float(xi)))
            shrunk = (self.a - self.b) * mp.exp(-mpf(float(xi)))
            return (grown + shrunk) / 2, (grown - shrunk) / 2

    def coef(self, xi):
        with mp.workdps(DIGITS):
            a, b = self.layers(xi)
            return a * b

    def slope(self, xi):
        with mp.workdps(DIGITS):
            a, b = self.layers(xi)
            return a**2 + b**2

    def mirror_coords(self, coef):
        """`e^{2ξ}` is the positive root z of `(a+b)²z² − 4βz − (a−b)² = 0`."""
        with mp.workdps(DIGITS):
            coef = mpf(coef)
            plus, minus = (self.a + self.b) ** 2, (self.a - self.b) ** 2
            root = mp.sqrt(4 * coef**2 + plus * minus)
            z = (2 * coef + root) / plus if coef > 0 else minus / (root - 2 * coef)
            return mp.log(z) / 2

    def potential(self, coef):
        """`¼[2β asinh(2β/Δ) − √(4β²+Δ²) + Δ] − ½cβ` (MATH 1.1)."""
        with mp.workdps(DIGITS):
            coef, start, delta = mpf(coef), self.a * self.b, self.delta
            if delta == 0:
                return abs(coef) * (mp.log(coef / start) - 1) / 2
            centre = mp.asinh(2 * start / delta)
            bend = mp.sqrt(4 * coef**2 + delta**2) - delta
            return (2 * coef * mp.asinh(2 * coef / delta) - bend) / 4 - centre * coef / 2

    def conjugate(self, xi):
        """`max_β (ξβ − Q(β))`, attained at `β = Ψ(ξ)`."""
        with mp.workdps(DIGITS):
            coef = self.coef(xi)
            return mpf(float(xi)) * coef - self.potential(coef)
