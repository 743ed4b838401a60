"""Saddle paths and weighted ℓ1 minimisers, in fractions and sums of fractions times units.

All that is used of the proof is of which columns each saddle is made. Where coefficients may be
positive or negative is decided by their mirror coordinates alone: at t⁺, at −t⁻.
"""

from fractions import Fraction

from mpmath import iv, mp
from tests.oracles.exact.rational import best_fit
from tests.oracles.exact.simplex import Infeasible, maximise
from tests.oracles.proof_checker.activation import ONE, plus, times_of
from tests.oracles.proof_checker.arithmetic import Rejected, contain, dot, flat, interval, solve

__all__ = ["least_weighted_l1", "saddle_path", "two_minimisers"]


# Bits beyond those of the digits asked for.
SPARE_BITS = 100


def saddle_path(problem, exported):
    iv.prec = mp.prec = 4 * exported["digits"] + SPARE_BITS
    path = _Path(problem, exported["witness"]["supports"])
    if path.other_is_open():
        raise Rejected("another minimiser is not excluded")
    if exported["fits"] is not (not any(path.residual)):
        raise Rejected("not as well fitted as it says")
    _same(exported["coef"], path.saddles[-1])
    _same(exported["more"]["path_times"], [path.number(one) for one in path.times])
    _same(exported["mirror"], [path.number(one) for one in path.mirror])
    _same(exported["dual"], [path.number(one) for one in path.dual])
    if set(exported["more"]) - {"path_times"} == {"saddles"}:
        _same(exported["more"]["saddles"], [one for row in path.saddles for one in row])
    else:
        _same(exported["more"]["saddle_fits"], [one for row in path.fits for one in row])


def two_minimisers(problem, exported):
    """A refusal: the path ends at the one, and the other has the same fit and the same cost."""
    witness = exported["witness"]
    path = _Path(problem, witness["supports"])
    one, two = ([Fraction(v) for v in witness[name]] for name in ("minimiser", "other"))
    if one != path.saddles[-1] or one == two:
        raise Rejected("not two minimisers")
    if [dot(row, two) for row in path.rows] != path.fits[-1]:
        raise Rejected("the other does not fit as well")
    difference = {}
    for a, b, pair in zip(one, two, path.pairs, strict=True):
        for value, factor in ((a, -1), (b, 1)):
            if value:
                time = pair[0] if value > 0 else pair[1]
                if time is None:
                    raise Rejected("the other has a sign that it cannot have")
                difference = plus(difference, factor * abs(value), time)
    if path.units.sign(difference) != 0:
        raise Rejected("the other costs more")


def least_weighted_l1(problem, exported):
    """`x_iᵀν = ±t` on independent columns, strictly between elsewhere."""
    iv.prec = mp.prec = 4 * exported["digits"] + SPARE_BITS
    X, y = _data(problem)
    units, pairs = times_of(problem)
    support = exported["witness"]["support"]
    columns = list(zip(*X, strict=True))
    coef = _least_squares(columns, y, support)
    residual = [b - dot(row, coef) for row, b in zip(X, y, strict=True)]
    if exported["fits"] is not (not any(residual)):
        raise Rejected("not as well fitted as it says")
    wanted = {}
    for i, (value, x, pair) in enumerate(zip(coef, columns, pairs, strict=True)):
        slope = dot(x, residual)
        if (slope > 0 and pair[0] is not None) or (slope < 0 and pair[1] is not None):
            raise Rejected("not a best fit")
        if i in support:
            time = pair[0] if value > 0 else pair[1]
            if time is None or (value == 0 and pair != ({}, {})):
                raise Rejected("a coefficient has a sign that it cannot have")
            wanted[i] = units.interval(time) if value > 0 else -units.interval(time)
    dual = _corrected(columns, support, wanted, exported["witness"]["dual"])
    mirror = [dot([interval(one) for one in x], dual) for x in columns]
    for i, (s, x, pair) in enumerate(zip(mirror, columns, pairs, strict=True)):
        if i in support or not any(x):
            continue
        below = pair[0] is None or s.b < units.interval(pair[0]).a
        above = pair[1] is None or s.a > -units.interval(pair[1]).a
        if not (below and above):
            raise Rejected("another minimiser is not excluded")
    _same(exported["coef"], coef)
    if exported["mirror"] or exported["dual"] or exported["more"]:
        raise Rejected("more is said than is proved")


class _Path:
    """Followed anew; every support that is claimed is checked by the optimality of its saddle."""

    def __init__(self, problem, supports):
        self.rows, self.y = _data(problem)
        self.units, self.pairs = times_of(problem)
        self.columns = list(zip(*self.rows, strict=True))
        self.mirror = [{} for _ in self.columns]
        self.dual = [{} for _ in self.y]
        self.times, self.saddles, self.fits = [{}], [], []
        coef = [Fraction(0)] * len(self.columns)
        self._come_to(coef)
        first = _least_squares(self.columns, self.y, supports[0])
        if any(first):
            raise Rejected("it does not start at zero")
        for support in supports[1:]:
            wait = self._next() if self._is_optimal() else {}
            if wait is None:
                raise Rejected("the path is over before")
            self._wait(wait)
            coef = _least_squares(self.columns, self.y, support)
            if coef == self.saddles[-1]:
                raise Rejected("a saddle twice")
            self._come_to(coef)
            if not self._is_optimal():
                raise Rejected("not the least-squares point under its signs")
        if not self._is_optimal() or self._next() is not None:
            raise Rejected("the path is not over")

    def _come_to(self, coef):
        self.saddles.append(coef)
        self.fits.append([dot(row, coef) for row in self.rows])
        self.residual = [b - a for a, b in zip(self.fits[-1], self.y, strict=True)]
        self.slopes = [dot(x, self.residual) for x in self.columns]

    def _wait(self, wait):
        self.times.append(plus(self.times[-1], 1, wait))
        self.mirror = [plus(s, u, wait) for s, u in zip(self.mirror, self.slopes, strict=True)]
        self.dual = [plus(nu, r, wait) for nu, r in zip(self.dual, self.residual, strict=True)]

    def _stands(self, i):
        """Whether at t⁺, and at −t⁻."""
        up, down = self.pairs[i]
        at_up = up is not None and self.units.sign(plus(self.mirror[i], -1, up)) == 0
        return at_up, down is not None and self.units.sign(plus(self.mirror[i], 1, down)) == 0

    def _is_optimal(self):
        """Of the least-squares problem under the signs that are open."""
        for i, (value, slope) in enumerate(zip(self.saddles[-1], self.slopes, strict=True)):
            at_up, at_down = self._stands(i)
            if (value > 0 and not at_up) or (value < 0 and not at_down) or (value and slope):
                return False
            if (slope > 0 and at_up) or (slope < 0 and at_down):
                return False
        return True

    def _next(self):
        """The shortest wait until a mirror coordinate is at an activation time; None if none is."""
        best = None
        for i, slope in enumerate(self.slopes):
            goal = self.pairs[i][0 if slope > 0 else 1]
            if slope == 0 or goal is None:
                continue
            wait = plus({}, 1 / abs(slope), goal)
            wait = plus(wait, -1 / slope, self.mirror[i])
            if self.units.sign(wait) <= 0:
                raise Rejected("a mirror coordinate is beyond its activation time")
            if best is None or self.units.sign(plus(wait, -1, best)) < 0:
                best = wait
        return best

    def other_is_open(self):
        """Whether `Xd = 0` for some d that is open to all coefficients and not zero."""
        coef = self.saddles[-1]
        free, sided = [], []
        for i, x in enumerate(self.columns):
            at_up, at_down = self._stands(i)
            if not any(x) or not (at_up or at_down):
                continue
            if coef[i] or (at_up and at_down):
                free.append(x)
            elif self.slopes[i] == 0:
                sided.append([a if at_up else -a for a in x])
        gram = [[dot(a, b) for b in free] for a in free]
        if free:
            solve(gram, [Fraction(0)] * len(free))
        if not sided:
            return False
        # What those of one side leave beside the span of the others must not add up to zero.
        left = [[a - b for a, b in zip(x, best_fit(free, x), strict=True)] for x in sided]
        try:
            goal = [Fraction(0)] * len(self.y) + [Fraction(1)]
            maximise([[*x, Fraction(1)] for x in left], goal, [0] * len(left))
        except Infeasible:
            return False
        return True

    def number(self, parts):
        if parts.keys() <= {ONE}:
            return parts.get(ONE, Fraction(0))
        return self.units.interval(parts)


def _data(problem):
    X = [[Fraction(one) for one in row] for row in problem["X"]]
    return X, [Fraction(one) for one in problem["y"]]


def _least_squares(columns, y, support):
    coef = [Fraction(0)] * len(columns)
    if len(set(support)) != len(support) or any(not 0 <= i < len(columns) for i in support):
        raise Rejected("not a support")
    if support:
        gram = [[dot(columns[i], columns[k]) for k in support] for i in support]
        found = solve(gram, [dot(columns[i], y) for i in support])
        for i, value in zip(support, found, strict=True):
            coef[i] = value
    return coef


def _corrected(columns, support, wanted, near):
    """The claimed dual, moved in the span of the support to where it must be."""
    dual = [interval(one) for one in near]
    if not support:
        return dual
    gram = [[dot(columns[i], columns[k]) for k in support] for i in support]
    size = range(len(support))
    inverse = [solve(gram, [Fraction(int(i == k)) for i in size]) for k in size]
    missing = [wanted[i] - dot([interval(a) for a in columns[i]], dual) for i in support]
    weights = [dot([interval(row[k]) for k in size], missing) for row in inverse]
    for k, i in enumerate(support):
        dual = [a + weights[k] * interval(b) for a, b in zip(dual, columns[i], strict=True)]
    return dual


def _same(balls, found):
    """Each ball contains its number, and each fraction is it."""
    contain(balls, [one if isinstance(one, Fraction) else iv.mpf(one) for one in found])
    for said, one in zip(flat(balls.get("exact", [])), found, strict=False):
        if not isinstance(one, Fraction) or Fraction(said) != one:
            raise Rejected("a fraction is wrong")
