"""Scale zero, a weighted ℓ1 problem, and scale infinity, a weighted ℓ2 problem."""

from fractions import Fraction

from mpmath import mp, mpf
from tests.oracles.exact.rational import dot, exact, independent, least_norm, solve, transposed
from tests.oracles.exact.separable import ExactLimit, NotSolved, best_fit_of, number
from tests.oracles.exact.simplex import is_unique, maximise

DIGITS = 120
# In equilibrated units and with irrational weights, numbers of modulus below this count as zero.
ZERO = mpf(10) ** -80


def vanishing_limit(weights, X, y):
    """`min Σ t⁺β⁺ + t⁻β⁻` among the best fits; weights are pairs, an infinite one forbids a side.

    Weights are fractions, or mpmath numbers where they are irrational.
    """
    rows, target = exact(X), exact(y)
    columns = transposed(rows)
    with mp.workdps(DIGITS):
        sides = [_side(plus, minus) for plus, minus in weights]
        fit = best_fit_of(columns, sides, target)
        coef = [mpf(0)] * len(columns)
        signed, costs, owners = [], [], []
        for i, pair in enumerate(weights):
            for sign, weight in zip((1, -1), pair, strict=True):
                if weight != mp.inf and any(columns[i]):
                    signed.append([sign * a for a in columns[i]])
                    costs.append(-weight)
                    owners.append((i, sign))
        places = independent(transposed(signed)) if signed else []
        if not places:
            return ExactLimit(coef, fit == target)
        goal = [fit[j] for j in places]
        kept = [[column[j] for j in places] for column in signed]
        rational = all(isinstance(cost, Fraction) for cost in costs)
        if not rational:
            kept, goal, costs, units = _in_units(kept, goal, costs)
        zero = 0 if rational else ZERO
        found = maximise(kept, goal, costs, zero)
        if not rational:
            found = [x * unit for x, unit in zip(found, units, strict=True)]
        for value, (i, sign) in zip(found, owners, strict=True):
            coef[i] += sign * (number(value) if rational else value)
        return ExactLimit(coef, fit == target, is_unique(kept, goal, costs, zero))


def _side(plus, minus):
    if plus == mp.inf:
        return None if minus == mp.inf else -1
    return 1 if minus == mp.inf else 0


def _in_units(columns, goal, costs):
    """Columns, goal and costs as numbers, the largest entry of each row and column near one."""
    columns = [[number(a) for a in column] for column in columns]
    across = [mpf(1)] * len(columns)
    rows = [max(abs(a) for a in row) for row in zip(*columns, strict=True)]
    for _ in range(20):
        scaled = [
            [abs(a) * unit / r for a, r in zip(column, rows, strict=True)]
            for column, unit in zip(columns, across, strict=True)
        ]
        across = [unit / mp.sqrt(max(column)) for unit, column in zip(across, scaled, strict=True)]
        rows = [
            r * mp.sqrt(max(row)) for r, row in zip(rows, zip(*scaled, strict=True), strict=True)
        ]
    kept = [
        [a * unit / r for a, r in zip(column, rows, strict=True)]
        for column, unit in zip(columns, across, strict=True)
    ]
    goal = [number(g) / r for g, r in zip(goal, rows, strict=True)]
    largest = max(abs(g) for g in goal) or mpf(1)
    costs = [c * unit for c, unit in zip(costs, across, strict=True)]
    most = max(abs(c) for c in costs) or mpf(1)
    return (
        kept,
        [g / largest for g in goal],
        [c / most for c in costs],
        [unit * largest for unit in across],
    )


def lazy_limit(slopes, X, y):
    """`min Σ β²/D` among the best fits, D fractions; a coefficient with D = 0 stays zero."""
    rows, target = exact(X), exact(y)
    columns = transposed(rows)
    fit = best_fit_of(columns, [0 if d else None for d in slopes], target)
    # β = Dz with z of least norm in the metric D: Σ over rows of X D Xᵀ ν = fit.
    places = independent([[a * d for a, d in zip(row, slopes, strict=True)] for row in rows])
    if not places:
        return ExactLimit([mpf(0)] * len(columns), fit == target)
    nu = _weighted(rows, slopes, places, fit)
    coef = [
        d * sum((rows[j][i] * v for j, v in zip(places, nu, strict=True)), Fraction(0))
        for i, d in enumerate(slopes)
    ]
    for row, wanted in zip(rows, fit, strict=True):
        if sum((a * b for a, b in zip(row, coef, strict=True)), Fraction(0)) != wanted:
            raise NotSolved("the lazy limit misses its fit")
    with mp.workdps(DIGITS):
        return ExactLimit([number(b) for b in coef], fit == target)


def _weighted(rows, slopes, places, fit):
    chosen = [rows[j] for j in places]
    weighted = [[a * d for a, d in zip(row, slopes, strict=True)] for row in chosen]
    gram = [[dot(a, b) for b in chosen] for a in weighted]
    return solve(gram, [fit[j] for j in places])


def least_norm_limit(X, y):
    """`X⁺y`, column by column where there are several outputs."""
    rows, targets = exact(X), exact(y)
    with mp.workdps(DIGITS):
        if not isinstance(targets[0], list):
            coef, fits = least_norm(rows, targets)
            return ExactLimit([number(b) for b in coef], fits)
        found = [least_norm(rows, list(column)) for column in zip(*targets, strict=True)]
        coef = [
            [number(b) for b in entries] for entries in zip(*(c for c, _ in found), strict=True)
        ]
        return ExactLimit(coef, all(fits for _, fits in found))
