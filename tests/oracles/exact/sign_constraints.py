"""Best fits under sign constraints, over the rationals.

Columns come turned, so that a constraint is always `β_i ≥ 0`.
"""

from fractions import Fraction

from tests.oracles.exact.rational import best_fit, dot, independent, least_squares
from tests.oracles.exact.simplex import maximise


def constrained_fit(free, signed, target):
    """`Xβ` of the best fits with the coefficients of the columns `signed` not negative.

    Free columns are projected out; what is left is the method of Lawson and Hanson (1974), which
    ends after finitely many steps in exact arithmetic.
    """
    aside = best_fit(free, target)
    goal = [a - b for a, b in zip(target, aside, strict=True)]
    columns = []
    for column in signed:
        along = best_fit(free, column)
        columns.append([a - b for a, b in zip(column, along, strict=True)])
    fit = _not_negative(columns, goal)
    return [a + b for a, b in zip(aside, fit, strict=True)]


def _not_negative(columns, goal):
    coef = [Fraction(0)] * len(columns)
    passive = []
    while True:
        left = [g - f for g, f in zip(goal, _combined(columns, coef, len(goal)), strict=True)]
        # Scaled by the columns, so that the choice does not depend on their units.
        gains = {
            i: dot(column, left) ** 2 / dot(column, column)
            for i, column in enumerate(columns)
            if i not in passive and dot(column, left) > 0
        }
        if not gains:
            return _combined(columns, coef, len(goal))
        passive.append(max(gains, key=gains.get))
        while True:
            found = least_squares([columns[i] for i in passive], goal)
            if min(found) > 0:
                break
            shares = [
                coef[i] / (coef[i] - new) for i, new in zip(passive, found, strict=True) if new <= 0
            ]
            step = min(shares)
            for i, new in zip(passive, found, strict=True):
                coef[i] += step * (new - coef[i])
            passive = [i for i in passive if coef[i] > 0]
        coef = [Fraction(0)] * len(columns)
        for i, new in zip(passive, found, strict=True):
            coef[i] = new


def _combined(columns, coef, size):
    rows = zip(*columns, strict=True) if columns else [()] * size
    return [dot(row, coef) for row in rows]


def can_be_positive(free, signed, fit):
    """Which coefficients of `signed` are not zero in some best fit `Xβ = fit`."""
    alive = [False] * len(signed)
    rows = independent(list(zip(*free, *signed, strict=True)))
    if not rows:
        return [True] * len(signed)
    columns = [*free, *([-a for a in column] for column in free), *signed]
    columns = [[column[j] for j in rows] for column in columns]
    goal = [fit[j] for j in rows]
    for place in range(len(signed)):
        if alive[place]:
            continue
        gain = [Fraction(0)] * len(columns)
        gain[2 * len(free) + place] = Fraction(1)
        found = maximise(columns, goal, gain)
        for i, value in enumerate(found[2 * len(free) :]):
            alive[i] = alive[i] or value > 0
    return alive
