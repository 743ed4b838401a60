"""Rank-one and balanced dense networks: one scalar root (MATH: `v₁ = P_null v₁(0) + X⁺y/ξ`)."""

from mpmath import mp, mpf
from tests.oracles.exact.rational import dot, exact, least_norm, null_part
from tests.oracles.exact.separable import ExactLimit, NotSolved, number

DIGITS = 150
ACCURACY = mpf(10) ** -100
MAX_STEPS = 500


def rank_one_limit(layers, X, y):
    """From layers v₁, u₁, v₂, …, u_{L−1}, v_L (fractions) that keep the signs of their products.

    Each pair conserves `δ = ‖u‖² + ‖v‖² − 2‖v₁‖²` and `c² = ‖u+v‖²‖u−v‖²`, so that
    `4(uᵀv)² = (2ρ + δ)² − c²` at `ρ = ‖v₁‖²`.
    """
    first, *inner = layers
    square = dot(first, first)
    pairs, sign = [], 1
    for u, v in zip(inner[::2], inner[1::2], strict=True):
        plus = [a + b for a, b in zip(u, v, strict=True)]
        minus = [a - b for a, b in zip(u, v, strict=True)]
        delta = dot(u, u) + dot(v, v) - 2 * square
        pairs.append((delta, dot(plus, plus) * dot(minus, minus)))
        sign *= 1 if dot(u, v) > 0 else -1
    kept = null_part(exact(X), first)

    def log_square(rho):
        """`log ξ²` and its derivative in ρ."""
        value = slope = mpf(0)
        for delta, cross in pairs:
            psi = 2 * rho + number(delta)
            rest = psi**2 - number(cross)
            value += mp.log(rest / 4)
            slope += 4 * psi / rest
        return value, slope

    return _limit(kept, sign, log_square, X, y)


def can_turn(layers, X):
    """Whether some pair could become orthogonal: then the limit is not known."""
    first, *inner = layers
    kept = null_part(exact(X), first)
    floor = dot(kept, kept)
    for u, v in zip(inner[::2], inner[1::2], strict=True):
        plus = [a + b for a, b in zip(u, v, strict=True)]
        minus = [a - b for a, b in zip(u, v, strict=True)]
        psi = 2 * floor + dot(u, u) + dot(v, v) - 2 * dot(first, first)
        if psi <= 0 or psi**2 <= dot(plus, plus) * dot(minus, minus):
            return True
    return False


def balanced_limit(start, degree, X, y):
    """A balanced network of L layers: `β = ‖z‖^{L−1} z`, from the coefficients at the start."""
    with mp.workdps(DIGITS):
        norm = mp.sqrt(number(dot(start, start)))
        shrink = norm ** (mpf(1) / degree - 1)

        def log_square(rho):
            return (degree - 1) * mp.log(rho), (degree - 1) / rho

        kept = [shrink * number(a) for a in null_part(exact(X), start)]
    return _limit(kept, 1, log_square, X, y)


def _limit(kept, sign, log_square, X, y):
    """`X⁺y + ξ P_null v₁(0)` with `e ξ²(a² + e) = b²`, e what ‖v₁‖² has in the row space."""
    least, fits = least_norm(exact(X), exact(y))
    with mp.workdps(DIGITS):
        kept = [a if isinstance(a, mpf) else number(a) for a in kept]
        least = [number(a) for a in least]
        floor, wanted = mp.fdot(kept, kept), mp.fdot(least, least)
        if wanted == 0:
            if floor == 0:
                return ExactLimit([mpf(0)] * len(kept), fits)
            xi = mp.exp(log_square(floor)[0] / 2)
        else:
            xi = mp.exp((mp.log(wanted) - _root(log_square, floor, mp.log(wanted))) / 2)
        coef = [sign * xi * a + b for a, b in zip(kept, least, strict=True)]
    return ExactLimit(coef, fits)


def _root(log_square, floor, goal):
    """`t = log e` with `t + log ξ²(a² + e^t) = goal`: increasing in t; Newton inside a bracket."""

    def relative_residual(t):
        e = mp.exp(t)
        value, slope = log_square(floor + e)
        return t + value - goal, 1 + e * slope

    low = high = mpf(0)
    step = mpf(1)
    while relative_residual(high)[0] < 0:
        high, step = high + step, 2 * step
    step = mpf(1)
    while relative_residual(low)[0] > 0:
        low, step = low - step, 2 * step
    t = (low + high) / 2
    for _ in range(MAX_STEPS):
        value, slope = relative_residual(t)
        low, high = (t, high) if value < 0 else (low, t)
        new = t - value / slope
        if abs(new - t) <= ACCURACY * max(1, abs(t)):
            return new
        t = new if low < new < high else (low + high) / 2
    raise NotSolved("no root of the radial equation")
