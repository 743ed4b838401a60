"""Best fits under sign constraints: which coefficients are zero in all of them, in rationals.

Notation: `σ_i = +1` if `β_i ≥ 0` is required, −1 if `β_i ≤ 0`, 0 if β_i is free;
`F = argmin ‖Xβ − y‖` under these, `r = y − Xβ` the residual that all of F share.

A coefficient is *forced* if it is zero in all of F. There is one vector w with `x_iᵀw = 0` for all
others and `σ_i x_iᵀw > 0` for all that are forced (Goldman and Tucker 1956); and it proves it, with
`x_iᵀr = 0` for the others and `σ_i x_iᵀr ≤ 0` for the forced: `Xβ = y − r` on F, which is
orthogonal to w. The others can be strictly inside together (Borwein and Wolkowicz 1981: the face).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq, fmpq_mat

from limitpoint.theory.prove.exact.nonnegative import (
    best_fit,
    independent_columns,
    positive_combination,
)
from limitpoint.theory.prove.exact.numbers import column, entries, primitive, size_of, some_columns
from limitpoint.theory.prove.exact.row_reduction import null_space

__all__ = ["Face", "reduce_to_face"]


@dataclass(frozen=True)
class Face:
    """The smallest face of the sign constraints that holds all best fits.

    Attributes
    ----------
    alive, forced
        The coefficients that can be strictly inside, all together; and those that are zero in every
        best fit.
    targets
        `Xβ` of the best fits.
    fits
        Whether that is y.
    interior
        A best fit with all coefficients that are alive strictly inside.
    farkas
        `x_iᵀw = 0` for those alive, `σ_i x_iᵀw > 0` for those forced: integers; zeros if none is.
    """

    alive: list[int]
    forced: list[int]
    targets: list[fmpq]
    fits: bool
    interior: list[fmpq]
    farkas: list[fmpq]


def reduce_to_face(X: fmpq_mat, y: Sequence[fmpq], sides: Sequence[int]) -> Face:
    """Find the coefficients that their signs force to zero in every best fit.

    Parameters
    ----------
    X, y
        The data.
    sides
        For each coefficient 1 (it may not be negative), −1 (not positive) or 0 (free).

    Examples
    --------
    >>> face = reduce_to_face(fmpq_mat(1, 3, [1, 2, -1]), [fmpq(0)], [1, 1, 1])
    >>> face.alive, face.interior
    ([0, 1, 2], [3/8, 1/16, 1/2])
    >>> face = reduce_to_face(fmpq_mat(1, 3, [1, 2, -1]), [fmpq(0)], [1, 1, -1])
    >>> face.forced, face.farkas
    ([0, 1, 2], [1])
    """
    turned = _turned(X, sides)
    free = [i for i, side in enumerate(sides) if side == 0]
    found = best_fit(turned, y, free)
    targets = entries(turned * column(found.coef))
    residual = [a - b for a, b in zip(y, targets, strict=True)]
    growing = _Growing(turned, free, found.used, found.coef)
    # A slope that points out of the constraint forces its coefficient; the others are undecided.
    vector = growing.until_proved([i for i, s in enumerate(found.slopes) if s == 0])
    interior = [
        -b if side < 0 else b for b, side in zip(growing.shortened(targets), sides, strict=True)
    ]
    forced = [i for i in range(len(sides)) if i not in growing.alive]
    farkas = [fmpq(0)] * len(residual)
    if forced:
        farkas = _combined(turned, vector, residual, found.slopes)
    return Face(
        alive=sorted(growing.alive),
        forced=forced,
        targets=targets,
        fits=not any(residual),
        interior=interior,
        farkas=farkas,
    )


class _Growing:
    """A best fit that is moved away from zero as far as it can be.

    All columns are turned, so that no coefficient but the free ones may be negative.
    """

    def __init__(
        self, matrix: fmpq_mat, free: Sequence[int], used: Sequence[int], coef: Sequence[fmpq]
    ) -> None:
        self.matrix, self.free, self.coef = matrix, set(free), list(coef)
        self.alive, self.basis = {*free, *used}, list(used)

    def until_proved(self, open_: Sequence[int]) -> list[fmpq] | None:
        """Let all coefficients leave zero that can; w, if some of those given cannot.

        Those alive are free to move both ways, a little. The others can leave zero together if some
        `d ≥ 0` of them is made up for by those alive: `Kd = 0`, K their columns modulo the span of
        those. If there is none, some w has `Kᵀw > 0`.
        """
        while True:
            waiting = [i for i in open_ if i not in self.alive]
            if not waiting:
                return None
            null = null_space(self.matrix, self.basis)
            quotient = null * some_columns(self.matrix, waiting)
            rows = range(quotient.nrows())
            spanned = [k for k in range(len(waiting)) if not any(quotient[j, k] for j in rows)]
            if spanned:
                self._move({waiting[k]: self._unit(waiting[k]) for k in spanned})
                continue
            direction, vector = positive_combination(quotient)
            if direction is None:
                assert vector is not None, "one of the two exists"
                short = _shorter(quotient, vector)
                return entries(null.transpose() * column(short))
            self._move({i: d for i, d in zip(waiting, direction, strict=True) if d > 0})

    def _move(self, direction: dict[int, fmpq]) -> None:
        """Add a part of it that leaves all that are alive strictly inside."""
        places = list(direction)
        shift = some_columns(self.matrix, places) * column([direction[i] for i in places])
        against = self._in_basis(shift)
        limits = [
            self.coef[i] / c
            for i, c in zip(self.basis, against, strict=True)
            if i not in self.free and c > 0
        ]
        # No more than half of the way to where the first one meets zero.
        part = fmpq(2) ** (size_of(min(limits)) - 2) if limits else fmpq(1)
        for i, d in direction.items():
            self.coef[i] += part * d
        for i, c in zip(self.basis, against, strict=True):
            self.coef[i] -= part * c
        self.alive |= direction.keys()
        self.basis = independent_columns(self.matrix, [*self.basis, *sorted(direction)])

    def _in_basis(self, vector: fmpq_mat) -> list[fmpq]:
        """The coefficients of a vector in the span of the basis, by its normal equations.

        A direction of Gordan's kind is in the span of the basis although its parts are not.
        """
        if not self.basis:
            return []
        part = some_columns(self.matrix, self.basis)
        transposed = part.transpose()
        return entries((transposed * part).solve(transposed * vector))

    def _unit(self, place: int) -> fmpq:
        sizes = [
            size_of(self.matrix[j, place])
            for j in range(self.matrix.nrows())
            if self.matrix[j, place] != 0
        ]
        return fmpq(2) ** -max(sizes, default=0)

    def shortened(self, targets: Sequence[fmpq]) -> list[fmpq]:
        """Nearly the same fit in shorter fractions: floats, but for the coefficients of a basis."""
        rest = [i for i in sorted(self.alive) if i not in self.basis]
        found = [fmpq(0)] * len(self.coef)
        for i in rest:
            found[i] = _rounded(self.coef[i])
        left = column(targets)
        if rest:
            left = left - some_columns(self.matrix, rest) * column([found[i] for i in rest])
        for i, value in zip(self.basis, self._in_basis(left), strict=True):
            found[i] = value
        inside = all(found[i] > 0 for i in self.alive - self.free)
        return found if inside else self.coef


def _turned(X: fmpq_mat, sides: Sequence[int]) -> fmpq_mat:
    rows = range(X.nrows())
    flat = [-X[j, i] if side < 0 else X[j, i] for j in rows for i, side in enumerate(sides)]
    return fmpq_mat(X.nrows(), len(sides), flat)


def _shorter(quotient: fmpq_mat, vector: list[fmpq]) -> list[fmpq]:
    """Rounded to floats, if `Kᵀw > 0` still holds."""
    unit = fmpq(2) ** -max(size_of(one) for one in vector if one != 0)
    short = [_rounded(one * unit) for one in vector]
    held = all(one > 0 for one in entries(quotient.transpose() * column(short)))
    return short if held else vector


def _rounded(value: fmpq) -> fmpq:
    """To a float's digits, whatever its size."""
    if value == 0:
        return value
    unit = fmpq(2) ** size_of(value)
    return fmpq(*float(value / unit).as_integer_ratio()) * unit


def _combined(
    matrix: fmpq_mat, vector: list[fmpq] | None, residual: list[fmpq], slopes: Sequence[fmpq]
) -> list[fmpq]:
    """One vector for all: w, and so much of −r that it prevails where −r is positive."""
    if vector is None:
        return primitive([-r for r in residual])
    vector = primitive(vector)
    if not any(residual):
        return vector
    against = entries(matrix.transpose() * column(vector))
    needed = [-a / -s for a, s in zip(against, slopes, strict=True) if s < 0]
    # Twice what is needed at least, as a power of two.
    share = fmpq(2) ** (size_of(max(needed)) + 2) if needed and max(needed) > 0 else fmpq(1)
    return primitive([w - share * r for w, r in zip(vector, residual, strict=True)])
