"""One sample and two layers (yun, Theorem 6), from the layers themselves.

`f = v₁ᵀMv₂`, and with the integral ν of the residual `v₁' = Mv₂`, `v₂' = Mᵀv₁`. Along singular
vectors `p ± q` run as `e^{±sν}`; what is orthogonal to them stays.
"""

from mpmath import mp, mpf
from tests.oracles.exact.rational import dot, transposed
from tests.oracles.exact.separable import ExactLimit, NotSolved, number

DIGITS = 120
ACCURACY = mpf(10) ** -80
MAX_STEPS = 2000


def one_sample_limit(tensor, first, second, x, y):
    """`β_i = v₁ᵀM_iv₂` at the limit; M (n, k₁, k₂), layers and data as fractions."""
    with mp.workdps(DIGITS):
        modes = _singular(_at(tensor, x))
        v1, v2 = [number(a) for a in first], [number(a) for a in second]
        terms = [(s, mp.fdot(u, v1), mp.fdot(w, v2)) for s, u, w in modes]
        nu = _root([(s, p + q, p - q) for s, p, q in terms], number(y))
        for (s, p, q), (_, u, w) in zip(terms, modes, strict=True):
            grown, shrunk = (p + q) * mp.exp(s * nu), (p - q) * mp.exp(-s * nu)
            up, down = (grown + shrunk) / 2 - p, (grown - shrunk) / 2 - q
            v1 = [a + up * b for a, b in zip(v1, u, strict=True)]
            v2 = [a + down * b for a, b in zip(v2, w, strict=True)]
        coef = [_form(v1, M, v2) for M in tensor]
        _check(coef, x, y)
    return ExactLimit(coef, True)


def vanishing_one_sample_limit(tensor, x, y):
    """At scale zero only the singular vectors of the largest value are left: `β_i = (y/s)uᵀM_iw`.

    Unless the largest two tie, or the start is orthogonal to what grows.
    """
    with mp.workdps(DIGITS):
        modes = sorted(_singular(_at(tensor, x)), key=lambda mode: mode[0])
        s, u, w = modes[-1]
        coef = [number(y) / s * _form(u, M, w) for M in tensor]
        _check(coef, x, y)
        return ExactLimit(coef, True, len(modes) == 1 or modes[-2][0] < s * (1 - mpf(10) ** -50))


def _at(tensor, x):
    """`M(x) = Σ x_i M_i`."""
    return [
        [dot(x, entries) for entries in zip(*rows, strict=True)]
        for rows in zip(*tensor, strict=True)
    ]


def _form(u, matrix, w):
    """`uᵀMw`."""
    return mp.fsum(
        a * number(entry) * b
        for a, row in zip(u, matrix, strict=True)
        for entry, b in zip(row, w, strict=True)
        if entry
    )


def dense_one_sample_limit(W, w, x, y):
    """`β = Ww`: along x the layers are a = Wᵀx/‖x‖ and w, and `a ± w` run as `e^{±‖x‖ν}`."""
    with mp.workdps(DIGITS):
        size = mp.sqrt(number(dot(x, x)))
        a = [number(dot(x, column)) / size for column in transposed(W)]
        w = [number(entry) for entry in w]
        plus = [p + q for p, q in zip(a, w, strict=True)]
        minus = [p - q for p, q in zip(a, w, strict=True)]
        norms = [mp.sqrt(mp.fdot(v, v)) for v in (plus, minus)]
        nu = _root([(size, *norms)], number(y))
        grown, shrunk = mp.exp(size * nu), mp.exp(-size * nu)
        along = [(p * grown + q * shrunk) / 2 for p, q in zip(plus, minus, strict=True)]
        w = [(p * grown - q * shrunk) / 2 for p, q in zip(plus, minus, strict=True)]
        gain = mp.fsum((b - c) * d for b, c, d in zip(along, a, w, strict=True)) / size
        coef = [
            mp.fsum(number(e) * d for e, d in zip(row, w, strict=True)) + gain * number(entry)
            for row, entry in zip(W, x, strict=True)
        ]
        _check(coef, x, y)
    return ExactLimit(coef, True)


def _singular(matrix):
    """Singular values with their vectors, zero ones left out; by the smaller Gram matrix."""
    flipped = len(matrix) > len(matrix[0])
    rows = transposed(matrix) if flipped else matrix
    with mp.workdps(2 * DIGITS):
        gram = mp.matrix([[number(dot(a, b)) for b in rows] for a in rows])
        squares, vectors = mp.eigsy(gram)
        found = []
        largest = max(abs(squares[k]) for k in range(len(rows)))
        for k in range(len(rows)):
            if squares[k] <= mpf(10) ** -DIGITS * largest:
                continue  # the moduli of these are rounding: no mode
            s = mp.sqrt(squares[k])
            u = [vectors[i, k] for i in range(len(rows))]
            w = [mp.fdot(u, [number(a) for a in column]) / s for column in transposed(rows)]
            found.append((s, w, u) if flipped else (s, u, w))
    return found


def _root(terms, goal):
    """ν with `Σ ¼s(P²e^{2sν} − N²e^{−2sν}) = goal`, increasing in ν."""

    def relative_residual(nu):
        value = slope = mpf(0)
        for s, plus, minus in terms:
            grown = mp.exp(2 * s * nu)
            up, down = s * plus**2 * grown / 4, s * minus**2 / grown / 4
            value += up - down
            slope += 2 * s * (up + down)
        return value - goal, slope

    step = 1 / max(s for s, _, _ in terms)
    low, high, reach = mpf(0), mpf(0), step
    while relative_residual(high)[0] < 0:
        high, reach = high + reach, 2 * reach
    reach = step
    while relative_residual(low)[0] > 0:
        low, reach = low - reach, 2 * reach
    nu = (low + high) / 2
    for _ in range(MAX_STEPS):
        value, slope = relative_residual(nu)
        low, high = (nu, high) if value < 0 else (low, nu)
        new = nu - value / slope
        if abs(new - nu) <= ACCURACY * step:
            return new
        nu = new if low < new < high else (low + high) / 2
    raise NotSolved("no root of the output")


def _check(coef, x, y):
    """The output is y: the one equation there is."""
    terms = [number(a) * b for a, b in zip(x, coef, strict=True)]
    size = mp.fsum(abs(t) for t in terms) + abs(number(y))
    if abs(mp.fsum(terms) - number(y)) > mpf(10) ** -50 * size:
        raise NotSolved("the limit misses the sample")
