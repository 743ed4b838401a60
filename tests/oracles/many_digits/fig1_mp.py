"""Gradient flow of zhao's Fig. 1 model with 200 digits, parameters as they are.

`k₁,₂ = 2ab + (a²+b²+c²)c` and `k₃,₄ = a·tanh a − (e^b−1)²`, loss `½‖Xk − y‖²` times a factor. With
200 digits nothing is lost at a scale of 1e-60: the plain equations are integrated, without
eigenbases, logarithms or mirror coordinates.

One step is seven modified-midpoint sums of 2, 4, … 14 substeps, extrapolated (Gragg, Bulirsch and
Stoer): order 14.
"""

from mpmath import mp, mpf

DIGITS = 200
SUBSTEPS = (2, 4, 6, 8, 10, 12, 14)


def flow(X, y, blocks, scale, times, step, loss_factor=1, digits=DIGITS):
    """The coefficients at the given times, as mp numbers; `scale` is a power of ten's exponent."""
    with mp.workdps(digits):
        X = [[mpf(float(x)) for x in row] for row in X]
        y = [mpf(float(v)) for v in y]
        state = [mpf(float(v)) * mpf(10) ** scale for block in blocks for v in block]
        now, recorded = mpf(0), []
        for time in times:
            span = mpf(float(time)) - now
            count = max(1, int(mp.ceil(span / mpf(step))))
            for _ in range(count):
                state = _step(X, y, state, span / count, mpf(loss_factor))
            now = mpf(float(time))
            recorded.append(_coefs(state))
        return recorded


def _coefs(state):
    values = []
    for i in range(4):
        a, b, c = state[3 * i : 3 * i + 3]
        if i < 2:
            values.append(2 * a * b + (a * a + b * b + c * c) * c)
        else:
            values.append(a * mp.tanh(a) - mp.expm1(b) ** 2)
    return values


def _velocity(X, y, state, factor):
    coefs = _coefs(state)
    gaps = [
        v - sum(x * k for x, k in zip(row, coefs, strict=True)) for v, row in zip(y, X, strict=True)
    ]
    velocity = []
    for i in range(4):
        neg_grad = factor * sum(row[i] * gap for row, gap in zip(X, gaps, strict=True))
        a, b, c = state[3 * i : 3 * i + 3]
        if i < 2:
            gradient = (
                2 * b + 2 * a * c,
                2 * a + 2 * b * c,
                a * a + b * b + 3 * c * c,
            )
        else:
            t = mp.tanh(a)
            e = mp.exp(b)
            gradient = (t + a * (1 - t * t), -2 * mp.expm1(b) * e, mpf(0))
        velocity += [neg_grad * part for part in gradient]
    return velocity


def _step(X, y, state, length, factor):
    first = _velocity(X, y, state, factor)
    rows = []
    for number in SUBSTEPS:
        h = length / number
        before = state
        now = [s + h * v for s, v in zip(state, first, strict=True)]
        for _ in range(number - 1):
            velocity = _velocity(X, y, now, factor)
            before, now = now, [b + 2 * h * v for b, v in zip(before, velocity, strict=True)]
        rows.append(now)
    # Aitken and Neville in h²: the even substep numbers leave even powers only.
    for level in range(1, len(rows)):
        for i in range(len(rows) - 1, level - 1, -1):
            ratio = (mpf(SUBSTEPS[i]) / SUBSTEPS[i - level]) ** 2 - 1
            rows[i] = [
                fine + (fine - coarse) / ratio
                for fine, coarse in zip(rows[i], rows[i - 1], strict=True)
            ]
    return rows[-1]
