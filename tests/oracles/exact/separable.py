"""Limits of networks whose coefficients move on curves of their own, by Newton on the dual.

At the limit `β_i = Ψ_i(x_iᵀν)` with `Xβ` the best fit of y that the signs allow. The dual function
`Σ Φ_i(x_iᵀν) − bᵀν`, `Φ_i' = Ψ_i`, is strictly convex on independent rows, so that there is one
root and damped Newton finds it from `ν = 0`.
"""

from dataclasses import dataclass

from mpmath import mp, mpf
from tests.oracles.exact.rational import best_fit, dot, exact, independent, transposed
from tests.oracles.exact.sign_constraints import can_be_positive, constrained_fit

# Digits of the first attempt; each further one doubles them.
DIGITS = 40
ATTEMPTS = 6
LEAST_DIGITS = 100  # of the undamped steps
# Newton steps change what a coefficient contributes to a row, relative to |x_j|ᵀ|β| + |y_j|, by
# less than this when they hand over to the undamped ones …
HANDED_OVER = mpf(10) ** -12
# … and those, with twice the digits, end below this.
ACCURACY = mpf(10) ** -55
MAX_DAMPED = 2000
MAX_UNDAMPED = 12
# A step may go so much of the way to a pole, and make a coefficient so much larger than targets.
SHORT_OF_POLE = mpf("0.999")
LARGE = mpf(10) ** 6


class NotSolved(RuntimeError):
    """The oracle could not verify its own answer."""


class _BeyondPole(Exception):
    """A mirror coordinate outside of its interval."""


@dataclass(frozen=True)
class ExactLimit:
    """Coefficients (mpmath numbers), and whether they fit the data exactly and are unique."""

    coef: list
    fits: bool
    unique: bool = True


def separable_limit(curves_of, X, y, turned=None):
    """The limit from the curves that `curves_of()` makes at the precision of the moment.

    `turned(rows)` gives the data in the coordinates of the curves, where these are not the features
    (then no curve may have a side); the limit is in those coordinates too.
    """
    rows, target = exact(X), exact(y)
    columns = transposed(rows)
    if turned is not None:
        fit = best_fit(columns, target)
        places = independent(rows)

        def rows_of():
            return turned(_some(_numbers(rows), places))

        return ExactLimit(_solved(curves_of, rows_of, _some(fit, places)), fit == target)
    with mp.workdps(LEAST_DIGITS):  # squares of products of floats are exact
        sides = [curve.side for curve in curves_of()]
    fit = best_fit_of(columns, sides, target)
    alive = _alive(columns, sides, target, fit)
    coef = [mpf(0)] * len(columns)
    if alive:
        kept = [_some(row, alive) for row in rows]
        places = independent(kept)
        found = _solved(
            lambda: _some(curves_of(), alive),
            lambda: _numbers(_some(kept, places)),
            _some(fit, places),
        )
        for i, value in zip(alive, found, strict=True):
            coef[i] = value
    return ExactLimit(coef, fit == target)


def _some(values, places):
    return [values[i] for i in places]


def best_fit_of(columns, sides, target):
    """`Xβ` of the best fits, where coefficients with a side keep their sign and None stays zero."""
    free = [c for c, side in zip(columns, sides, strict=True) if side == 0]
    signed = [[side * a for a in c] for c, side in zip(columns, sides, strict=True) if side]
    signed = [c for c in signed if any(c)]
    fit = constrained_fit(free, signed, target) if signed else best_fit(free, target)
    left = [a - b for a, b in zip(target, fit, strict=True)]
    # What no coefficient can improve is best, the problem being convex; that the fit itself can be
    # reached is seen when it is solved for.
    improved = any(dot(c, left) for c in free) or any(dot(c, left) > 0 for c in signed)
    if improved or dot(fit, left):
        raise NotSolved("the best fit is none")
    return fit


def _alive(columns, sides, target, fit):
    """Coefficients that are not zero in every best fit, or not seen by the data at all."""
    left = [a - b for a, b in zip(target, fit, strict=True)]
    free = [i for i, side in enumerate(sides) if side == 0]
    # Where the fit is held back by a sign, the coefficient is zero.
    signed = [i for i, side in enumerate(sides) if side and dot(columns[i], left) == 0]
    if not signed:
        return free
    turned = [[sides[i] * a for a in columns[i]] for i in signed]
    positive = can_be_positive([columns[i] for i in free], turned, fit)
    return sorted(free + [i for i, some in zip(signed, positive, strict=True) if some])


def _solved(curves_of, rows_of, goal):
    """Coefficients with `rows β = goal`, rows independent, on the curves."""
    if not goal:
        with mp.workdps(DIGITS):
            return [curve.at(mpf(0))[0] for curve in curves_of()]
    nu, digits = [mpf(0)] * len(goal), DIGITS
    for _ in range(ATTEMPTS):
        try:
            with mp.workdps(digits):
                nu, near = _System(curves_of(), rows_of(), goal).damped(nu)
            with mp.workdps(max(2 * digits, LEAST_DIGITS)):
                found = _System(curves_of(), rows_of(), goal).undamped(nu) if near else None
            if found is not None:
                return found
        except _BeyondPole:
            nu = [mpf(0)] * len(goal)  # too few digits to tell a ξ from its pole
        digits *= 2
    raise NotSolved(f"no root found with {digits} digits")


class _System:
    """`rows Ψ(rowsᵀν) = goal` at the present precision."""

    def __init__(self, curves, rows, goal):
        self.curves = curves
        self.rows = rows
        self.columns = transposed(self.rows)
        self.goal = [number(g) for g in goal]
        # Coefficients that alone exceed the targets of all rows by far.
        size = [abs(g) for g in self.goal]
        self.most = [
            LARGE * max((g / abs(a) for g, a in zip(size, column, strict=True) if a), default=1)
            for column in self.columns
        ]

    def xi(self, nu):
        return [mp.fdot(column, nu) for column in self.columns]

    def values(self, nu):
        found = []
        for curve, xi in zip(self.curves, self.xi(nu), strict=True):
            if not curve.low < xi < curve.high:
                raise _BeyondPole
            found.append(curve.at(xi))
        return [value for value, _ in found], [slope for _, slope in found]

    def left(self, coef):
        return [g - mp.fdot(row, coef) for g, row in zip(self.goal, self.rows, strict=True)]

    def step(self, coef, slopes, ridge=False):
        """The Newton step of ν, of ξ, and how much it changes contributions, relative.

        None where the Hessian is not positive definite at this precision; with a ridge on top it is
        a direction of descent, no more.
        """
        size = range(len(self.goal))
        hessian = mp.matrix(len(self.goal))
        for j in size:
            weighted = [a * s for a, s in zip(self.rows[j], slopes, strict=True)]
            for k in range(j + 1):
                hessian[j, k] = hessian[k, j] = mp.fdot(weighted, self.rows[k])
        # Scaled to a unit diagonal: the precision then answers for the rest.
        root = [mp.sqrt(hessian[j, j]) for j in size]
        left = self.left(coef)
        for j in size:
            for k in size:
                hessian[j, k] /= root[j] * root[k]
            if ridge:
                hessian[j, j] += mpf(10) ** (-mp.dps // 2)
        try:
            found = mp.cholesky_solve(hessian, mp.matrix([left[j] / root[j] for j in size]))
        except ValueError:
            return None if ridge else self.step(coef, slopes, ridge=True)
        step = [found[j] / root[j] for j in size]
        along = self.xi(step)
        change = [abs(s * a) for s, a in zip(slopes, along, strict=True)]
        return step, along, mp.inf if ridge else self.relative(coef, change)

    def relative(self, coef, change):
        worst = mpf(0)
        for row, goal in zip(self.rows, self.goal, strict=True):
            terms = mp.fsum(abs(a * b) for a, b in zip(row, coef, strict=True)) + abs(goal)
            most = max(abs(a) * c for a, c in zip(row, change, strict=True))
            worst = max(worst, most / terms if terms else most)
        return worst

    def damped(self, nu):
        """Where damped steps lead, and whether that is near the root."""
        for _ in range(MAX_DAMPED):
            coef, slopes = self.values(nu)
            found = self.step(coef, slopes)
            if found is None:
                return nu, False
            step, along, change = found
            if change <= HANDED_OVER:
                return [a + b for a, b in zip(nu, step, strict=True)], True
            length = self.length(nu, step, along, self.left(coef))
            if length is None:
                return nu, False
            nu = [a + length * b for a, b in zip(nu, step, strict=True)]
        return nu, False

    def length(self, nu, step, along, left):
        """A step after which the derivative along it is at most half of what it was.

        The derivative of a convex function along a line increases: halve what oversteps.
        """
        longest = mpf(1)
        for curve, xi, d, most in zip(self.curves, self.xi(nu), along, self.most, strict=True):
            if d == 0:
                continue
            end = curve.high if d > 0 else curve.low
            if not mp.isinf(end):
                longest = min(longest, SHORT_OF_POLE * (end - xi) / d)
            else:
                longest = min(longest, curve.until(xi, d, most) / abs(d))
        before = mp.fdot(step, left)
        low, high, length = mpf(0), longest, longest
        for _ in range(200):
            coef, _ = self.values([a + length * b for a, b in zip(nu, step, strict=True)])
            now = mp.fdot(step, self.left(coef))
            if abs(now) <= before / 2 or (now > 0 and length == longest):
                return length
            low, high = (length, high) if now > 0 else (low, length)
            length = (low + high) / 2
        return None

    def undamped(self, nu):
        """The coefficients, if Newton verifies them; else None."""
        for _ in range(MAX_UNDAMPED):
            coef, slopes = self.values(nu)
            found = self.step(coef, slopes)
            if found is None or not found[2] < 1:
                return None
            step, along, change = found
            nu = [a + b for a, b in zip(nu, step, strict=True)]
            if change <= ACCURACY:
                coef = [b + s * a for b, s, a in zip(coef, slopes, along, strict=True)]
                return coef if self.fitted(coef) else None
        return None

    def fitted(self, coef):
        """Whether every row is fitted to the accuracy."""
        for row, goal, left in zip(self.rows, self.goal, self.left(coef), strict=True):
            terms = mp.fsum(abs(a * b) for a, b in zip(row, coef, strict=True)) + abs(goal)
            if abs(left) > ACCURACY * terms:
                return False
        return True


def number(fraction):
    """A fraction at the present precision."""
    return mpf(fraction.numerator) / mpf(fraction.denominator)


def _numbers(rows):
    return [[number(a) for a in row] for row in rows]
