"""Least squares under sign constraints, in rational arithmetic.

Where rows are larger than others by many orders of magnitude, rounding of their residuals hides on
which side of zero a slope is, and with it which coefficients vanish. With the floats taken as the
exact numbers that they are nothing is hidden: Lawson and Hanson's method (1974), which ends after
finitely many steps.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float

__all__ = ["ExactSigns", "is_small"]

# Entries of the data, times their smaller side: beyond, rational arithmetic takes seconds.
LARGEST = 1500

Vector = list[Fraction]


def is_small(X: Float) -> bool:
    """Whether rational arithmetic takes no more than a second or so."""
    return bool(X.size * min(X.shape) <= LARGEST)


@dataclass(frozen=True, eq=False)
class ExactSigns:
    """Which coefficients a best fit uses, and the slopes of the loss in the others.

    Attributes
    ----------
    used
        Not zero in the best fit that was found.
    held
        At zero, and the loss would rise with it: zero in every best fit.
    fits
        Whether y itself is fitted.
    """

    used: NDArray[np.bool_]
    held: NDArray[np.bool_]
    fits: bool

    @classmethod
    def of(cls, X: Float, y: Float, signs: Float) -> "ExactSigns":
        """Coefficients keep their signs; of sign 0 they are free.

        Examples
        --------
        >>> found = ExactSigns.of(np.eye(2), np.array([1.0, -1.0]), np.ones(2))
        >>> found.used.tolist(), found.held.tolist(), found.fits
        ([True, False], [False, True], False)
        """
        # A free coefficient is the difference of two that are not.
        sides = [
            (i, s) for i, sign in enumerate(signs) for s in ((1, -1) if sign == 0 else (sign,))
        ]
        columns = [[Fraction(float(s * v)) for v in X[:, i]] for i, s in sides]
        targets = [Fraction(float(v)) for v in y]
        passive, residual = _best_fit(columns, targets)
        slopes = [_dot(column, residual) for column in columns]
        used, held = np.zeros(len(signs), dtype=np.bool_), np.zeros(len(signs), dtype=np.bool_)
        for k, (i, _) in enumerate(sides):
            used[i] |= k in passive
            held[i] |= signs[i] != 0 and slopes[k] < 0
        return cls(used, held & ~used, not any(residual))


def _best_fit(columns: list[Vector], y: Vector) -> tuple[list[int], Vector]:
    """The columns with positive coefficients in the best fit, and its residual."""
    passive: list[int] = []
    coefs: dict[int, Fraction] = {}
    residual = y
    while True:
        slopes = {k: _dot(c, residual) for k, c in enumerate(columns) if k not in passive}
        rising = {k: s * s / _dot(columns[k], columns[k]) for k, s in slopes.items() if s > 0}
        if not rising:
            return passive, residual
        passive.append(max(rising, key=lambda k: rising[k]))
        coefs[passive[-1]] = Fraction(0)
        while True:
            trial = _solve([columns[k] for k in passive], y)
            if all(value > 0 for value in trial):
                break
            # Back to where the first coefficient meets zero.
            parts = [
                coefs[k] / (coefs[k] - value)
                for k, value in zip(passive, trial, strict=True)
                if value <= 0
            ]
            part = min(parts)
            for k, value in zip(passive, trial, strict=True):
                coefs[k] += part * (value - coefs[k])
            passive = [k for k in passive if coefs[k] > 0]
        coefs = dict(zip(passive, trial, strict=True))
        residual = [
            t - sum((coefs[k] * columns[k][j] for k in passive), Fraction(0))
            for j, t in enumerate(y)
        ]


def _solve(columns: list[Vector], y: Vector) -> Vector:
    """Least squares by the normal equations of independent columns."""
    table = [[_dot(a, b) for b in columns] + [_dot(a, y)] for a in columns]
    for k, pivot in enumerate(table):
        for i, row in enumerate(table):
            if i != k and row[k]:
                factor = row[k] / pivot[k]
                table[i] = [a - factor * b for a, b in zip(row, table[k], strict=True)]
    return [row[-1] / row[k] for k, row in enumerate(table)]


def _dot(one: Vector, two: Vector) -> Fraction:
    return sum((a * b for a, b in zip(one, two, strict=True)), Fraction(0))
