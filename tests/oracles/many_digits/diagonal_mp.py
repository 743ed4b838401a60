"""One coefficient of a diagonal network of any depth in 50-digit arithmetic, and yun's Lemma 4.

Written from the conservation laws: with v the layer smallest at the start, turned by the sign of
the others, `Δ_j = a_j² − v²` and `dv/dξ = Π_j √(v²+Δ_j)`, so that

    ξ = F(v) = ∫_{v(0)}^{v} dx / Π_j √(x²+Δ_j),    β = v Π_j √(v²+Δ_j).

In `x = c·sinh τ`, c² the least Δ, the integrand is `1/Π' √(x²+Δ_j)` over the others, analytic in a
strip of half-width at most π/2, and bends only where x passes a √Δ_j: the subdivision ends there.
Where the two smallest layers are tied (c = 0), `x = ±e^τ` and v keeps its sign.
"""

from itertools import pairwise

from mpmath import mp, mpf

DIGITS = 50
# Working digits beyond, for the roots of F and differences of it.
GUARD = 15
# Longest piece of τ between two nodes: short against the strip of analyticity, so that each piece
# of the quadrature (tanh-sinh would do worse than Gauss-Legendre here) converges geometrically.
PIECE = mpf(1)


def precisely(function):
    """Run a method with `DIGITS + GUARD` digits."""

    def wrapped(*args, **kwargs):
        with mp.workdps(DIGITS + GUARD):
            return +function(*args, **kwargs)

    wrapped.__doc__ = function.__doc__
    return wrapped


class PreciseDiagonal:
    """Ψ, its slope, inverse, potential, conjugate and poles for the layer entries `layers`.

    `layers` are numbers or strings that mpmath takes exactly, `e^log_scale` times them the start.
    `piece` shortens the quadrature's pieces, to check that they were short enough.
    """

    def __init__(self, layers, log_scale=0, piece=PIECE):
        with mp.workdps(DIGITS + GUARD):
            scale = mp.exp(mpf(log_scale))
            entries = sorted((mpf(a) * scale for a in layers), key=abs)
            smallest, others = entries[0], entries[1:]
            sign = mpf(1)
            for a in others:
                sign *= mp.sign(a) if a else 1
            self.depth = len(entries)
            self.piece = mpf(piece)
            self.v0 = sign * smallest
            self.gaps = [(abs(a) - abs(smallest)) * (abs(a) + abs(smallest)) for a in others]
            self.least = mp.sqrt(self.gaps[0])
            self.tied = self.least == 0
            if self.tied and self.v0 == 0:
                raise ValueError("two layers are zero: the coefficient never moves")
            self.side = mp.sign(self.v0)

    # The variable τ of the quadrature.

    def _v(self, tau):
        return self.side * mp.exp(tau) if self.tied else self.least * mp.sinh(tau)

    def _tau(self, v):
        return mp.log(v / self.side) if self.tied else mp.asinh(v / self.least)

    def _integrand(self, tau):
        """`dξ/dτ`: positive, but for ties on the negative side."""
        square = self._v(tau) ** 2
        product = mpf(1)
        for gap in self.gaps[1:]:
            product *= square + gap
        return (self.side if self.tied else 1) / mp.sqrt(product)

    def _integral(self, low, high):
        """The mirror coordinate between two τ, in pieces that end where x passes a √Δ_j."""
        if low == high:
            return mpf(0)
        if low > high:
            return -self._integral(high, low)
        kinks = [mp.sqrt(gap) for gap in self.gaps[1:] if gap > 0]
        sides = [self.side] if self.tied else [mpf(1), mpf(-1)]
        inner = sorted(
            t for t in (self._tau(s * k) for s in sides for k in kinks) if low < t < high
        )
        total, ends = mpf(0), [low, *inner, high]
        for a, b in pairwise(ends):
            pieces = int(mp.ceil((b - a) / self.piece))
            total += mp.quad(
                self._integrand, mp.linspace(a, b, pieces + 1), method="gauss-legendre"
            )
        return total

    def _to_infinity(self, tau):
        """The ξ from τ to the outer end: `∞` at depth 2, else cut where the tail is nothing.

        Outside all √Δ_j the integrand falls as `e^{−(L−2)τ}`; a tail that starts where it is
        `10^−(digits+guard+10)` of the first value is dropped.
        """
        if self.depth == 2:
            return mp.inf
        outer = max(
            [tau]
            + [
                self._tau(self.side * mp.sqrt(g)) if self.tied else self._tau(mp.sqrt(g))
                for g in self.gaps
                if g > 0
            ]
        )
        span = (DIGITS + GUARD + 10) * mp.log(10) / (self.depth - 2)
        return self._integral(tau, outer + span)

    # The map.

    @precisely
    def mirror_of_v(self, v):
        """F(v)."""
        return self._integral(self._tau(self.v0), self._tau(mpf(v)))

    @precisely
    def pole(self, sign):
        """`t⁺ = F(+∞)` for sign 1, `t⁻ = −F(−∞)` for −1; infinite where there is none.

        Under a sign constraint the mirror coordinate runs to infinity at v = 0.
        """
        if self.tied:
            if sign != self.side:
                return mp.inf
            return abs(self._to_infinity(self._tau(self.v0)))
        start = self._tau(self.v0)
        # The integrand is even in τ.
        return self._to_infinity(start) if sign > 0 else self._to_infinity(-start)

    @precisely
    def gap_of_v(self, v, sign=1):
        """What is left of ξ to the pole, `t⁺ − ξ` or `t⁻ + ξ`, without cancellation."""
        if self.tied:
            return abs(self._to_infinity(self._tau(mpf(v)))) if sign == self.side else mp.inf
        tau = self._tau(mpf(v))
        return self._to_infinity(tau) if sign > 0 else self._to_infinity(-tau)

    @precisely
    def v_of_mirror(self, xi):
        """The inverse of F: Newton in τ, where F is smooth, kept inside a bracket."""
        xi = mpf(xi)
        if xi >= self.pole(1) or -xi >= self.pole(-1):
            raise ValueError("the mirror coordinate is beyond the pole")
        turn = self.side if self.tied else mpf(1)
        low = high = self._tau(self.v0)
        at_low = at_high = mpf(0)
        step = mpf(1)
        while at_high * turn < xi * turn:
            low, at_low = high, at_high
            high = low + step
            at_high = at_low + self._integral(low, high)
            step *= 2
        step = mpf(1)
        while at_low * turn > xi * turn:
            high, at_high = low, at_low
            low = high - step
            at_low = at_high - self._integral(low, high)
            step *= 2
        tau, at = low, at_low
        for _ in range(1000):
            change = (xi - at) / self._integrand(tau)
            if abs(change) <= mpf(10) ** -(DIGITS + GUARD - 5) * max(1, abs(tau)):
                return self._v(tau + change)
            new = tau + change
            if not low <= new <= high:
                new = (low + high) / 2
            at += self._integral(tau, new)
            tau = new
            if at * turn < xi * turn:
                low = tau
            else:
                high = tau
        raise RuntimeError("no root of F found")

    @precisely
    def coef_of_v(self, v):
        """`v Π √(v²+Δ_j)`."""
        product = mpf(v)
        for gap in self.gaps:
            product *= mp.sqrt(mpf(v) ** 2 + gap)
        return product

    @precisely
    def v_of_coef(self, coef):
        """The root of `β(v)`, by bisection and Newton in log|v|."""
        coef = mpf(coef)
        if coef == 0:
            return mpf(0)
        if self.tied and mp.sign(coef) != self.side:
            raise ValueError("the coefficient cannot have that sign")
        goal = 2 * mp.log(abs(coef))

        def relative_residual(w):
            squares = [mp.exp(2 * w) + gap for gap in self.gaps]
            value = 2 * w + sum(mp.log(q) for q in squares) - goal
            return value, 2 + sum(2 * mp.exp(2 * w) / q for q in squares)

        # log β² is convex in w = log|v|, and v ≤ |β|^{1/L}: Newton comes down monotonically.
        w = mp.log(abs(coef)) / self.depth
        for _ in range(1000):
            value, slope = relative_residual(w)
            w -= value / slope
            if abs(value / slope) <= mpf(10) ** -(DIGITS + GUARD - 5) * max(1, abs(w)):
                return mp.sign(coef) * mp.exp(w)
        raise RuntimeError("no root of β(v) found")

    @precisely
    def coef(self, xi):
        """Ψ(ξ)."""
        return self.coef_of_v(self.v_of_mirror(xi))

    @precisely
    def slope(self, xi):
        """`Ψ' = Σ_l Π_{k≠l} a_k²`."""
        v = self.v_of_mirror(xi)
        squares = [v**2] + [v**2 + gap for gap in self.gaps]
        return sum(
            mp.fprod(q for k, q in enumerate(squares) if k != left_out)
            for left_out in range(self.depth)
        )

    @precisely
    def mirror_of_coef(self, coef):
        """`Q'(β) = F(v(β))`."""
        return self.mirror_of_v(self.v_of_coef(coef))

    @precisely
    def conjugate(self, xi):
        """`½v²`, an antiderivative of Ψ: `d(½v²)/dξ = v·dv/dξ = β`."""
        return self.v_of_mirror(xi) ** 2 / 2

    @precisely
    def potential(self, coef):
        """`Q = βξ − ½v²`, with `Q' = ξ` (not shifted to vanish anywhere)."""
        v = self.v_of_coef(coef)
        return mpf(coef) * self.mirror_of_v(v) - v**2 / 2


# Lemma 4 of Yun, Krishnan and Mobahi (2021): `p' = p^{L−2}q`, `q' = p^{L−1}`, p(0) = 1, q(0) = 0.
# `p² − q²` is conserved, so `p = √(1+q²)`, and the system is one quadrature,
# `t = ∫_0^q (1+x²)^{−(L−1)/2} dx = q·₂F₁(½, (L−1)/2; 3/2; −q²)`.


@precisely
def lemma4_time(depth, q):
    """The time at which the second function is q."""
    q = mpf(q)
    return q * mp.hyp2f1(mpf(1) / 2, mpf(depth - 1) / 2, mpf(3) / 2, -(q**2))


@precisely
def lemma4_end(depth):
    """`c_L = ½B(½, (L−2)/2)`, the end of the interval of existence; infinite at L = 2."""
    return mp.inf if depth == 2 else mp.beta(mpf(1) / 2, mpf(depth - 2) / 2) / 2


@precisely
def lemma4_q(depth, time):
    """q at a time: Newton in `asinh q`."""
    time = mpf(time)
    if abs(time) >= lemma4_end(depth):
        raise ValueError("the time is outside the interval of existence")
    if time < 0:
        return -lemma4_q(depth, -time)
    # t(τ) is concave for τ = asinh q > 0, and t ≤ τ: Newton from τ = t goes up monotonically.
    tau = time
    for _ in range(10_000):
        change = (time - lemma4_time(depth, mp.sinh(tau))) * mp.cosh(tau) ** (depth - 2)
        tau += change
        if abs(change) <= mpf(10) ** -(DIGITS + GUARD - 8) * max(tau, mpf(10) ** -DIGITS):
            return mp.sinh(tau)
    raise RuntimeError("no root of the time of Lemma 4 found")


@precisely
def lemma4_h(depth, time):
    """`h_L = p^{L−1}q`."""
    q = lemma4_q(depth, time)
    return (1 + q**2) ** (mpf(depth - 1) / 2) * q


@precisely
def lemma4_h_inverse(depth, x):
    """`h_L⁻¹(x)`, by the root q of `p^{L−1}q = x`."""
    return lemma4_time(depth, _lemma4_q_of_h(depth, mpf(x)))


@precisely
def lemma4_potential(depth, x):
    """`H_L(x) = x·h_L⁻¹(x) − ½q²`."""
    x = mpf(x)
    return x * lemma4_h_inverse(depth, x) - _lemma4_q_of_h(depth, x) ** 2 / 2


def _lemma4_q_of_h(depth, x):
    if x == 0:
        return mpf(0)
    # log h is convex in w = log q, and q ≤ min(x, x^{1/L}): Newton comes down monotonically.
    w = min(mp.log(abs(x)), mp.log(abs(x)) / depth)
    for _ in range(1000):
        square = mp.exp(2 * w)
        value = w + (depth - 1) * mp.log1p(square) / 2 - mp.log(abs(x))
        change = value / (1 + (depth - 1) * square / (1 + square))
        w -= change
        if abs(change) <= mpf(10) ** -(DIGITS + GUARD - 5) * max(1, abs(w)):
            return mp.sign(x) * mp.exp(w)
    raise RuntimeError("no root of h found")
