"""One sample and two layers: the series of the exponential, and a sign change of the output.

With ν the integral of the residual the layers are `exp(νJ)z`, `J = [[0, A], [Aᵀ, 0]]`. The output
never decreases in ν, so that it is y only between a point where it is below and one where it is
above. At scale 0 the part of z in one eigenspace of J is left, `q(J)z` with `q = m/(t − s)`, m the
minimal polynomial of z.
"""

from fractions import Fraction
from itertools import pairwise
from math import comb

from mpmath import iv, mp
from tests.oracles.proof_checker.arithmetic import (
    NotKnown,
    Rejected,
    claimed,
    contain,
    dot,
    exact,
    interval,
)
from tests.oracles.proof_checker.bilinear import forms_of

# Sums of more terms than this take minutes.
LONGEST = 256

__all__ = ["combination", "one_sample", "one_sample_at_zero"]


def one_sample(problem, exported):
    flow = _Flow(problem)
    (y,) = [Fraction(one) for one in problem["y"]]
    ((said, _),) = claimed(exported["dual"])
    centre = mp.mpf(said.numerator) / said.denominator
    # Sums whose terms cancel: their moduli grow by e^r at most where the layers may fall as e^{−r}.
    r = mp.mpf(flow.norm.b) * abs(centre)
    if r > LONGEST:
        raise NotKnown("a sum of more terms than are taken here")
    mp.prec = iv.prec = mp.prec + int(3 * r)
    flow = _Flow(problem)
    for _ in range(60):
        value, slope = (mp.mpf(one.mid) for one in flow.output(*flow.at(iv.mpf(centre))))
        if not slope > 0:
            raise Rejected("the layers do not move")
        step = (value - mp.mpf(y.numerator) / y.denominator) / slope
        if not abs(step) * mp.mpf(flow.norm.b) < 1:
            raise Rejected("the output is far from y there")
        centre -= step
        if abs(step) <= mp.mpf(2) ** (-mp.prec * 2 // 3) * abs(centre):
            break
    around = mp.mpf(2) ** (-mp.prec // 2) * abs(centre) or mp.mpf(2) ** -mp.prec
    low, high = centre - around, centre + around
    below, above = (flow.output(*flow.at(iv.mpf(one)))[0] for one in (low, high))
    if not exact(below.b) < y < exact(above.a):
        raise Rejected("the output does not pass y there")
    nu = iv.mpf([low, high])
    first, second = flow.at(nu)
    contain(exported["dual"], [nu])
    contain(exported["coef"], [_form(one, first, second) for one in flow.forms])
    layers = [exported["more"][f"layer {k}"] for k in (1, 2)]
    contain(layers[0], [one for row in zip(*first, strict=True) for one in row])
    # The second layer of a matrix product has the columns of V₂ as its rows.
    contain(layers[1], [one for column in second for one in column])


class _Flow:
    def __init__(self, problem):
        if len(problem["X"]) != 1:
            raise Rejected("several samples")
        self.forms, first, second = forms_of(problem)
        x = [Fraction(one) for one in problem["X"][0]]
        self.A = {}
        for one, form in zip(x, self.forms, strict=True):
            for place, value in form.items():
                self.A[place] = self.A.get(place, 0) + one * value
        log_scale = problem.get("log_scale")
        s = iv.exp(interval(log_scale)) if log_scale is not None else interval(problem["scale"])
        self.first = [[interval(one) * s for one in column] for column in first]
        self.second = [[interval(one) * s for one in column] for column in second]
        self.entries = {place: interval(value) for place, value in self.A.items()}
        # ‖J‖ ≤ √Σ A², since its blocks act on separate parts.
        self.norm = iv.sqrt(interval(sum(value**2 for value in self.A.values())))

    def moved(self, first, second):
        """`AV₂` and `AᵀV₁`."""
        ahead = [[iv.mpf(0)] * len(column) for column in first]
        back = [[iv.mpf(0)] * len(column) for column in second]
        for (a, b), value in self.entries.items():
            for k, (one, other) in enumerate(zip(first, second, strict=True)):
                ahead[k][a] += value * other[b]
                back[k][b] += value * one[a]
        return ahead, back

    def at(self, nu):
        """`Σ ν^k J^k z / k!`, and no more beyond than `2 ‖z‖ r^k/k!`, `r = |ν|‖J‖ < k/2`."""
        r, k = self.norm * abs(nu), 0
        term = total = (self.first, self.second)
        size = rest = iv.sqrt(sum(one**2 for part in term for row in part for one in row))
        while not (rest.b <= size.a * mp.mpf(2) ** -mp.prec and 2 * r.b < k):
            k += 1
            term = _each(lambda one, k=k: one * nu / k, self.moved(*term))
            total = tuple(
                [[a + b for a, b in zip(p, q, strict=True)] for p, q in zip(s, t, strict=True)]
                for s, t in zip(total, term, strict=True)
            )
            rest = rest * r / k
        wide = iv.mpf([-2 * rest.b, 2 * rest.b])
        return _each(lambda one: one + wide, total)

    def output(self, first, second):
        ahead, back = self.moved(first, second)
        value = sum(dot(p, q) for p, q in zip(first, ahead, strict=True))
        return value, sum(one**2 for part in (ahead, back) for row in part for one in row)


def _each(change, layers):
    return tuple([[change(one) for one in row] for row in part] for part in layers)


def _form(form, first, second):
    products = (
        interval(value) * p[a] * q[b]
        for (a, b), value in form.items()
        for p, q in zip(first, second, strict=True)
    )
    return sum(products, iv.mpf(0))


def one_sample_at_zero(problem, exported):
    if problem.get("scale") != 0:
        raise Rejected("the scale is not zero")
    flow = _Flow(problem)
    (y,) = [Fraction(one) for one in problem["y"]]
    if y == 0:
        contain(exported["coef"], [Fraction(0)] * len(flow.forms))
        return
    _, first, second = forms_of(problem)
    polynomial = _minimal_polynomial(flow.A, first, second)
    root = _outermost(polynomial, 1 if y > 0 else -1)
    # Horner: the coefficients of m/(t − s), then that polynomial of J on z.
    factor, carried = [], iv.mpf(0)
    for coefficient in polynomial[:0:-1]:
        carried = carried * root + interval(coefficient)
        factor.append(carried)
    one = [[[interval(v) for v in column] for column in part] for part in (first, second)]
    found = _each(lambda v: v * factor[0], one)
    for coefficient in factor[1:]:
        pairs = zip(flow.moved(*found), one, strict=True)
        found = tuple(
            [
                [a + coefficient * b for a, b in zip(p, q, strict=True)]
                for p, q in zip(s, t, strict=True)
            ]
            for s, t in pairs
        )
    value = flow.output(*found)[0]
    if 0 in value:
        raise Rejected("what is left cannot be told from nothing")
    contain(exported["coef"], [interval(y) * _form(form, *found) / value for form in flow.forms])


def _minimal_polynomial(A, first, second):
    """Coefficients, the lowest first and the last 1, of the first `J^k z` made of those before."""
    steps = []
    while True:
        vector = [one for part in (first, second) for column in part for one in column]
        relation = combination(steps, vector)
        if relation is not None:
            return [-one for one in relation] + [Fraction(1)]
        steps.append(vector)
        ahead = [[Fraction(0)] * len(column) for column in first]
        back = [[Fraction(0)] * len(column) for column in second]
        for (a, b), value in A.items():
            for k, (one, other) in enumerate(zip(first, second, strict=True)):
                ahead[k][a] += value * other[b]
                back[k][b] += value * one[a]
        first, second = ahead, back


def combination(steps, vector):
    """Numbers with `Σ c_k steps_k = vector`, or None; the steps are independent."""
    rows = [list(one) for one in zip(*steps, vector, strict=True)]
    for k in range(len(steps)):
        pivot = next(i for i in range(k, len(rows)) if rows[i][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [one / rows[k][k] for one in rows[k]]
        for i in range(len(rows)):
            if i != k and rows[i][k] != 0:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    if any(row[-1] for row in rows[len(steps) :]):
        return None
    return [row[-1] for row in rows[: len(steps)]]


def _outermost(polynomial, side):
    """Its largest root (the smallest for side −1), all being real: by bisection and Descartes."""
    turned = [c * side**k for k, c in enumerate(polynomial)]
    low, high = Fraction(0), 1 + max(abs(c / turned[-1]) for c in turned)
    if _roots_beyond(turned, low) == 0:
        raise Rejected("nothing grows towards y")
    while high - low > high / Fraction(2) ** mp.prec or _roots_beyond(turned, low) != 1:
        middle = (low + high) / 2
        low, high = (middle, high) if _roots_beyond(turned, middle) else (low, middle)
    return side * iv.mpf([interval(low).a, interval(high).b])


def _roots_beyond(polynomial, point):
    """Sign changes of `m(t + point)`: with real roots only, the number of those beyond."""
    size = range(len(polynomial))
    shifted = [
        sum(polynomial[k] * comb(k, j) * point ** (k - j) for k in size if k >= j) for j in size
    ]
    signs = [c > 0 for c in shifted if c]
    return sum(a != b for a, b in pairwise(signs))
