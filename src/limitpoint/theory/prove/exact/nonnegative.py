"""Least squares with coefficients that may not be negative, in rationals.

The method of Lawson and Hanson (1974, chapter 23): every step ends at the least squares solution on
a set of independent columns, positive where it must be, and lowers the loss; there are finitely
many such sets, so that in exact arithmetic it ends. float64 guesses the first set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from flint import fmpq, fmpq_mat

from limitpoint.foundation.arrays import Float
from limitpoint.theory.prove.exact.numbers import column, entries, size_of, some_columns
from limitpoint.theory.prove.exact.row_reduction import pivots

__all__ = ["Fit", "best_fit", "positive_combination"]


@dataclass(frozen=True)
class Fit:
    """A best fit, and the proof that it is one.

    Attributes
    ----------
    used
        Independent columns: free ones, and those with positive coefficients.
    coef
        The coefficients of all columns; zero where not used.
    slopes
        `Aᵀ(y − Aβ)`: zero where used and where free, nowhere positive.
    """

    used: list[int]
    coef: list[fmpq]
    slopes: list[fmpq]


def best_fit(
    matrix: fmpq_mat,
    target: Sequence[fmpq],
    free: Sequence[int],
    *,
    guess: Sequence[int] = (),
    start: Mapping[int, fmpq] | None = None,
) -> Fit:
    """Minimise `‖Aβ − y‖` with `β_i ≥ 0` but for the free columns.

    Columns that may be used can be guessed, else float64 guesses them: nothing rests on it. Or what
    the method begins with is given: the coefficients of the best fit on some independent columns,
    positive where they must be.

    Examples
    --------
    >>> found = best_fit(fmpq_mat(2, 2, [1, 0, 0, 1]), [fmpq(2), fmpq(-3)], [])
    >>> found.used, found.coef, found.slopes
    ([0], [2, 0], [0, -3])
    """
    normal = _Normal(matrix, target, free)
    if start is not None:
        return normal.improved(dict(start))
    guesses = [guess] if guess else _guesses(matrix, target, free)
    used = max((normal.start(one) for one in guesses), key=normal.gain)
    return normal.improved(dict(zip(used, normal.solution(used), strict=True)))


def positive_combination(matrix: fmpq_mat) -> tuple[list[fmpq] | None, list[fmpq] | None]:
    """Either `d ≥ 0`, not zero, with `Kd = 0`, or `w` with `Kᵀw > 0` in all places (Gordan 1873).

    The best fit of `Kd = 0`, `Σd = 1` with `d ≥ 0` is the former, or its residual `(r, ρ)` has
    `Kᵀr + ρ ≤ 0` and `ρ > 0`, and `w = −r`. Rows and columns, the units of which do not matter,
    are first brought to size one.

    Examples
    --------
    >>> positive_combination(fmpq_mat(1, 2, [1, -2]))
    ([2/3, 1/3], None)
    >>> positive_combination(fmpq_mat(1, 2, [1, 2]))
    (None, [1/2])
    """
    rows, count = matrix.nrows(), matrix.ncols()
    across = [_unit([matrix[j, i] for j in range(rows)]) for i in range(count)]
    down = [_unit([matrix[j, i] * across[i] for i in range(count)]) for j in range(rows)]
    flat = [down[j] * matrix[j, i] * across[i] for j in range(rows) for i in range(count)]
    scaled = fmpq_mat(rows + 1, count, [*flat, *[fmpq(1)] * count])
    target = [*[fmpq(0)] * rows, fmpq(1)]
    found = best_fit(scaled, target, [])
    left = [t - v for t, v in zip(target, entries(scaled * column(found.coef)), strict=True)]
    if not any(left):
        sized = [d * unit for d, unit in zip(found.coef, across, strict=True)]
        total = sum(sized, fmpq(0))
        return [one / total for one in sized], None
    return None, [-r * unit for r, unit in zip(left[:rows], down, strict=True)]


class _Normal:
    """The normal equations of a set of columns: all that is needed of the data."""

    def __init__(self, matrix: fmpq_mat, target: Sequence[fmpq], free: Sequence[int]) -> None:
        self.matrix, self.free = matrix, set(free)
        transposed = matrix.transpose()
        self.gram, self.right = transposed * matrix, entries(transposed * column(target))
        self.known: dict[tuple[int, ...], list[fmpq]] = {(): []}

    def solution(self, used: Sequence[int]) -> list[fmpq]:
        """The least squares coefficients of independent columns."""
        key = tuple(used)
        if key not in self.known:
            square = fmpq_mat(len(key), len(key), [self.gram[i, k] for i in key for k in key])
            self.known[key] = entries(square.solve(column([self.right[i] for i in key])))
        return self.known[key]

    def gain(self, used: Sequence[int]) -> fmpq:
        """By how much `‖y‖²` falls with the best coefficients of these columns."""
        found = self.solution(used)
        return sum((self.right[i] * b for i, b in zip(used, found, strict=True)), fmpq(0))

    def slopes(self, used: Sequence[int], coef: Sequence[fmpq]) -> list[fmpq]:
        """`Aᵀ(y − Aβ)`."""
        count = self.matrix.ncols()
        if not used:
            return list(self.right)
        part = fmpq_mat(count, len(used), [self.gram[i, k] for i in range(count) for k in used])
        return [a - b for a, b in zip(self.right, entries(part * column(coef)), strict=True)]

    def start(self, guess: Sequence[int]) -> list[int]:
        """A set as the method has it, from a guess: what is not positive there is left out."""
        first = [*sorted(self.free), *(i for i in guess if i not in self.free)]
        used = independent_columns(self.matrix, first)
        while True:
            found = self.solution(used)
            left = [i for i, b in zip(used, found, strict=True) if i in self.free or b > 0]
            if len(left) == len(used):
                return used
            used = left

    def improved(self, coef: dict[int, fmpq]) -> Fit:
        """Let columns enter until no slope is positive."""
        used = list(coef)
        while True:
            slopes = self.slopes(used, [coef[i] for i in used])
            # By how much the loss falls with this column alone, whatever its units.
            gains = {i: s * s / self.gram[i, i] for i, s in enumerate(slopes) if s > 0}
            if not gains:
                full = [coef.get(i, fmpq(0)) for i in range(self.matrix.ncols())]
                return Fit(used, full, slopes)
            entering = max(gains, key=lambda i: gains[i])
            used, coef = self._moved([*used, entering], {**coef, entering: fmpq(0)})

    def _moved(self, used: list[int], coef: dict[int, fmpq]) -> tuple[list[int], dict[int, fmpq]]:
        """To the best coefficients of these columns, dropping those that meet zero on the way."""
        while True:
            trial = dict(zip(used, self.solution(used), strict=True))
            falling = [i for i in used if i not in self.free and trial[i] <= 0]
            if not falling:
                return used, trial
            part = min(coef[i] / (coef[i] - trial[i]) for i in falling)
            coef = {i: coef[i] + part * (trial[i] - coef[i]) for i in used}
            used = [i for i in used if i in self.free or coef[i] > 0]


def independent_columns(matrix: fmpq_mat, places: Sequence[int]) -> list[int]:
    """Those of the columns, in this order, that are no combination of the ones before."""
    if not places:
        return []
    reduced, rank = some_columns(matrix, places).rref()
    return [places[k] for k in pivots(reduced, rank)]


def _guesses(matrix: fmpq_mat, target: Sequence[fmpq], free: Sequence[int]) -> list[list[int]]:
    """Which columns float64 would use: with rows as they weigh, and with rows of size one.

    The second finds the set where y can be reached and rows are of very different sizes.
    """
    rows, count = matrix.nrows(), matrix.ncols()
    if not rows or not count:
        return [[]]
    units = [_unit([*(matrix[j, i] for i in range(count)), target[j]]) for j in range(rows)]
    largest = min(units)
    found = []
    for scales in ([largest] * rows, units):
        scaled = [[scales[j] * matrix[j, i] for i in range(count)] for j in range(rows)]
        across = [_unit([line[i] for line in scaled]) for i in range(count)]
        floats = np.array(
            [[float(a * u) for a, u in zip(line, across, strict=True)] for line in scaled]
        )
        goal = np.array([float(s * t) for s, t in zip(scales, target, strict=True)])
        found.append(_guess(floats, goal, free))
    return found if found[0] != found[1] else found[:1]


def _guess(matrix: Float, target: Float, free: Sequence[int]) -> list[int]:
    from scipy.optimize import nnls

    count = matrix.shape[1]
    if not target.any():
        return []
    try:
        coef, _ = nnls(np.hstack([matrix, -matrix[:, list(free)]]), target)
    except RuntimeError:  # it did not end
        return []
    return [int(i) for i in np.flatnonzero(coef[:count])]


def _unit(values: Sequence[fmpq]) -> fmpq:
    """The power of two that brings the largest of them to about one."""
    sizes = [size_of(value) for value in values if value != 0]
    return fmpq(2) ** -max(sizes) if sizes else fmpq(1)
