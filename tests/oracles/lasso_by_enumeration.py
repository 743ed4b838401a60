"""All minimisers of a small lasso that use independent columns, in fractions, by trying all signs.

Shares nothing with the package: for every choice of a sign or zero for each coefficient, the
normal equations of those that are not zero, and then the conditions of Karush, Kuhn and Tucker.
"""

from fractions import Fraction
from itertools import product

__all__ = ["minimisers"]


def minimisers(X, y, weight, allowed):
    """Of `½‖Xβ − y‖² + weight Σ|β_i|`, β_i of a sign in `allowed[i]` or zero: the vertices.

    One if the minimiser is unique; all others are convex combinations of them.
    """
    columns = [[Fraction(v) for v in column] for column in zip(*X, strict=True)]
    target, tau = [Fraction(v) for v in y], Fraction(weight)
    found = []
    for signs in product(*[(0, *sides) for sides in allowed]):
        used = [i for i, sign in enumerate(signs) if sign]
        rows = [
            [*(dot(columns[i], columns[k]) for k in used), dot(columns[i], target) - tau * signs[i]]
            for i in used
        ]
        solved = solution(rows)
        if solved is None or any(v * signs[i] <= 0 for i, v in zip(used, solved, strict=True)):
            continue
        coef = [Fraction(0)] * len(columns)
        for i, value in zip(used, solved, strict=True):
            coef[i] = value
        left = [
            t - sum(c[j] * b for c, b in zip(columns, coef, strict=True))
            for j, t in enumerate(target)
        ]
        if all(
            side * dot(column, left) <= tau
            for column, sides in zip(columns, allowed, strict=True)
            for side in sides
        ):
            found.append(coef)
    return found


def dot(one, two):
    return sum((a * b for a, b in zip(one, two, strict=True)), Fraction(0))


def solution(rows):
    """Of linear equations by elimination; None if they are singular."""
    size = len(rows)
    for k in range(size):
        pivot = next((i for i in range(k, size) if rows[i][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(size):
            if i != k and rows[i][k]:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[-1] / row[k] for k, row in enumerate(rows)]
