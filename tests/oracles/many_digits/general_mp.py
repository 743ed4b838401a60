"""The curve of a general two-layer block in 50-digit arithmetic, from the papers' formulas.

`dφ/dξ = ∇k(φ)`, `φ(0) = sθ*`, integrated by Taylor steps of high order: the coefficients of the
solution's power series come from recurrences for sums, products, tanh and exp. Gradients are
written out by hand.
"""

from mpmath import mp, mpf

DIGITS = 50
ORDER = 40


def product(x, y, n):
    """Coefficient n of the product of two series."""
    return mp.fsum(x[i] * y[n - i] for i in range(n + 1))


class PolynomialBlock:
    """`k = 2ab + (a²+b²+c²)c` (zhao §7, neurons 1 and 2)."""

    def value(self, z):
        a, b, c = z
        return 2 * a * b + (a * a + b * b + c * c) * c

    def gradient(self, z):
        a, b, c = z
        return [2 * b + 2 * a * c, 2 * a + 2 * b * c, a * a + b * b + 3 * c * c]

    def series(self, z, order):
        a, b, c = ([x] for x in z)
        for n in range(order):
            da = 2 * b[n] + 2 * product(a, c, n)
            db = 2 * a[n] + 2 * product(b, c, n)
            dc = product(a, a, n) + product(b, b, n) + 3 * product(c, c, n)
            for x, dx in ((a, da), (b, db), (c, dc)):
                x.append(dx / (n + 1))
        return [a, b, c]


class TanhExpBlock:
    """`k = a·tanh a − (e^b − 1)²` (zhao §7, neurons 3 and 4), with parameters left unused."""

    def value(self, z):
        return z[0] * mp.tanh(z[0]) - (mp.expm1(z[1])) ** 2

    def gradient(self, z):
        a, b = z[:2]
        t, e = mp.tanh(a), mp.exp(b)
        return [t + a * (1 - t * t), -2 * mp.expm1(b) * e] + [mpf(0)] * (len(z) - 2)

    def series(self, z, order):
        """With t = tanh a, q = 1−t², m = e^b−1: ȧ = t + aq, ṫ = qȧ, ḃ = −2m(1+m), ṁ = (1+m)ḃ."""
        a, b = [z[0]], [z[1]]
        t, m = [mp.tanh(z[0])], [mp.expm1(z[1])]
        q, e, da, db = [], [], [], []
        for n in range(order):
            q.append((1 if n == 0 else 0) - product(t, t, n))
            e.append((1 if n == 0 else 0) + m[n])
            da.append(t[n] + product(a, q, n))
            db.append(-2 * product(m, e, n))
            a.append(da[n] / (n + 1))
            b.append(db[n] / (n + 1))
            t.append(product(q, da, n) / (n + 1))
            m.append(product(e, db, n) / (n + 1))
        return [a, b] + [[x] + [mpf(0)] * order for x in z[2:]]


class CubicBlock:
    """`k = ab + a³`: its components are not multiples of themselves."""

    def value(self, z):
        return z[0] * z[1] + z[0] ** 3

    def gradient(self, z):
        return [z[1] + 3 * z[0] ** 2, z[0]]

    def series(self, z, order):
        a, b = ([x] for x in z)
        for n in range(order):
            da, db = b[n] + 3 * product(a, a, n), a[n]
            a.append(da / (n + 1))
            b.append(db / (n + 1))
        return [a, b]


class PreciseCurve:
    """`φ(ξ)`, k, its slope and its conjugate at increasing distances from the start."""

    def __init__(self, block, direction, log_scale):
        self.block = block
        with mp.workdps(DIGITS):
            scale = mp.exp(mpf(float(log_scale)))
            self.start = [scale * mpf(float(x)) for x in direction]

    def states(self, xi):
        """φ at these mirror coordinates, all of one sign and growing in modulus.

        A step is a quarter of the radius of convergence, judged by the roots of the last
        coefficients, so that what is left out of 40 terms is about 1e-24 of the sum.
        """
        with mp.workdps(DIGITS):
            z, now, found = list(self.start), mpf(0), []
            for one_xi in xi:
                target = mpf(float(one_xi))
                while now != target:
                    series = self.block.series(z, ORDER)
                    step = self._step(series)
                    left = target - now
                    step = left if abs(left) <= step else (step if left > 0 else -step)
                    z = [_polynomial(x, step) for x in series]
                    now = target if step == left else now + step
                found.append(list(z))
            return found

    def value(self, z):
        with mp.workdps(DIGITS):
            return self.block.value(z)

    def slope(self, z):
        with mp.workdps(DIGITS):
            return mp.fsum(x * x for x in self.block.gradient(z))

    @staticmethod
    def _step(series):
        """A quarter of the smallest radius that the last coefficients suggest."""
        size = mp.sqrt(mp.fsum(x[0] ** 2 for x in series))
        radii = []
        for n in (ORDER, ORDER - 1):
            last = mp.sqrt(mp.fsum(x[n] ** 2 for x in series))
            if last > 0:
                radii.append(mp.root(size / last, n))
        return min(radii) / 4


def _polynomial(coefs, at):
    """By Horner's rule, the constant first; mpmath's own has another order in every release."""
    value = mp.mpf(0)
    for coef in reversed(coefs):
        value = value * at + coef
    return value
