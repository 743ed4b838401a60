"""`min ‖β‖₁` with all margins at least 1: the simplex method in rationals.

Notation: rows a_i; `β = p − q` and the surplus s of the margins, all `z = (p, q, s) ≥ 0`, with
`Mz = 1`, `M = (A, −A, −I)`, and costs c of 1, 1 and 0. Reduced costs are `c − Mᵀμ`: `1 ∓ ⟨A_j, μ⟩`,
and μ itself for s. A basis is a set of independent columns as many as rows.

The dual simplex method begins where no reduced cost is negative, which the surpluses alone are, and
by Bland's rule it ends. Where the solution is the only one some multipliers prove it: all reduced
costs are positive but those of what it uses, whose columns are independent (Goldman and Tucker
1956).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import fmpq, fmpq_mat

from limitpoint.foundation.arrays import Float
from limitpoint.theory.prove.exact.nonnegative import independent_columns, positive_combination
from limitpoint.theory.prove.exact.numbers import column, entries, some_columns
from limitpoint.theory.prove.exact.row_reduction import null_space
from limitpoint.theory.prove.margins.signed_rows import check_separable
from limitpoint.theory.prove.outcome import CannotProve

__all__ = ["LeastSum", "least_sum", "not_unique"]


@dataclass(frozen=True)
class LeastSum:
    """A solution, and whether it is the only one.

    Attributes
    ----------
    coef, multipliers
        β and μ; if the solution is the only one, μ is strictly complementary.
    other
        Another solution, or None where there is none.
    """

    coef: list[fmpq]
    multipliers: list[fmpq]
    other: list[fmpq] | None


def least_sum(rows: fmpq_mat, guess: Float | None = None) -> LeastSum:
    """Solve it; the guess is of the multipliers, and nothing rests on it.

    Examples
    --------
    >>> found = least_sum(fmpq_mat(2, 2, [1, 2, 0, 3]))
    >>> found.coef, found.multipliers, found.other
    ([0, 1/2], [1/2, 0], None)
    >>> found = least_sum(fmpq_mat(1, 2, [1, 1]))
    >>> found.coef, found.other
    ([1, 0], [1/2, 1/2])
    """
    program = _Program(rows)
    basis = program.surpluses
    if guess is not None and np.isfinite(guess).all():
        guessed = program.near(guess)
        if min(program.reduced(program.prices(guessed))) >= 0:
            basis = guessed
    return program.told_apart(program.improved(basis))


class _Program:
    """The linear program of some rows."""

    def __init__(self, rows: fmpq_mat) -> None:
        self.rows, (m, n) = rows, (rows.nrows(), rows.ncols())
        flat = entries(rows)
        self.matrix = fmpq_mat(
            m,
            2 * n + m,
            [
                one
                for i in range(m)
                for part in (
                    flat[i * n : (i + 1) * n],
                    [-a for a in flat[i * n : (i + 1) * n]],
                    [fmpq(-(i == k)) for k in range(m)],
                )
                for one in part
            ],
        )
        self.transposed = self.matrix.transpose()
        self.costs = [fmpq(1)] * (2 * n) + [fmpq(0)] * m
        self.surpluses = list(range(2 * n, 2 * n + m))

    def near(self, guess: Float) -> list[int]:
        """The independent columns whose reduced costs are nearest to zero."""
        floats = np.array([float(one) for one in entries(self.rows)]).reshape(len(guess), -1)
        largest = np.abs(floats).max(axis=1)
        shares = np.abs(guess) * largest
        slopes = np.abs(guess) @ floats
        slack = np.concatenate([1 - slopes, 1 + slopes, shares / (shares.max() or 1.0)])
        order = np.argsort(slack, kind="stable").tolist()
        count = self.matrix.nrows()
        first = independent_columns(self.matrix, order[: 2 * count])
        return first if len(first) == count else independent_columns(self.matrix, order)

    def prices(self, basis: Sequence[int]) -> list[fmpq]:
        """The multipliers with which the columns of a basis have no reduced costs."""
        square = some_columns(self.matrix, basis).transpose()
        return entries(square.solve(column([self.costs[k] for k in basis])))

    def reduced(self, multipliers: Sequence[fmpq]) -> list[fmpq]:
        """`c − Mᵀμ`."""
        paid = entries(self.transposed * column(multipliers))
        return [c - one for c, one in zip(self.costs, paid, strict=True)]

    def improved(self, basis: list[int]) -> list[int]:
        """Pivot until no variable is negative; no reduced cost ever is."""
        ones = column([fmpq(1)] * self.matrix.nrows())
        while True:
            basis = sorted(basis)
            inverse = some_columns(self.matrix, basis).inv()
            negative = [r for r, one in enumerate(entries(inverse * ones)) if one < 0]
            if not negative:
                return basis
            # The smallest of what may leave and of what may enter: Bland's rule.
            leaves = negative[0]
            line = [inverse[leaves, k] for k in range(len(basis))]
            slopes = entries(self.transposed * column(line))
            costs = self.reduced(self.prices(basis))
            ratios = [(costs[k] / -s, k) for k, s in enumerate(slopes) if s < 0 and k not in basis]
            if not ratios:
                check_separable(self.rows)
                raise AssertionError("without a solution the samples are not separable")
            basis[leaves] = min(ratios)[1]

    def told_apart(self, basis: Sequence[int]) -> LeastSum:
        """The solution of a basis, with multipliers that prove it the only one, or another one."""
        square = some_columns(self.matrix, basis)
        values = entries(square.solve(column([fmpq(1)] * len(basis))))
        point = dict(zip(basis, values, strict=True))
        used = [k for k in basis if point[k] > 0]
        multipliers = self.prices(basis)
        costs = self.reduced(multipliers)
        tied = [k for k, one in enumerate(costs) if one == 0 and k not in used]
        coef = self._coef(point)
        if not tied:
            return LeastSum(coef, multipliers, None)
        # A direction that keeps `Mz = 1` and lets those that tie grow; or a price on all of them.
        null = null_space(self.matrix, used)
        gains, price = positive_combination(null * some_columns(self.matrix, tied))
        if gains is not None:
            return LeastSum(coef, multipliers, self._moved(point, used, tied, gains))
        assert price is not None, "one of the two exists"
        risen = entries(null.transpose() * column(price))
        rises = entries(self.transposed * column(risen))
        limits = [c / -r for c, r in zip(costs, rises, strict=True) if c > 0 and r < 0]
        share = min(limits) / 2 if limits else fmpq(1)
        return LeastSum(
            coef, [m - share * r for m, r in zip(multipliers, risen, strict=True)], None
        )

    def _moved(
        self,
        point: dict[int, fmpq],
        used: Sequence[int],
        tied: Sequence[int],
        gains: Sequence[fmpq],
    ) -> list[fmpq]:
        """Another solution: half of the way to where the first one that is used meets zero."""
        shift = some_columns(self.matrix, tied) * column(list(gains))
        part = some_columns(self.matrix, used)
        transposed = part.transpose()
        against = entries((transposed * part).solve(transposed * shift)) if used else []
        limits = [point[k] / one for k, one in zip(used, against, strict=True) if one > 0]
        share = min(limits) / 2 if limits else fmpq(1)
        moved = {k: point[k] - share * one for k, one in zip(used, against, strict=True)}
        moved |= {k: share * one for k, one in zip(tied, gains, strict=True)}
        return self._coef(moved)

    def _coef(self, point: dict[int, fmpq]) -> list[fmpq]:
        n, zero = self.rows.ncols(), fmpq(0)
        return [point.get(j, zero) - point.get(n + j, zero) for j in range(n)]


def not_unique(found: LeastSum, what: str) -> CannotProve:
    """The refusal, with two solutions."""
    assert found.other is not None, "there are two"
    pairs = zip(found.coef, found.other, strict=True)
    place = next(j for j, (a, b) in enumerate(pairs) if a != b)
    return CannotProve(
        f"the {what} of least ℓ1 norm are proved not to be unique: number {place} may be "
        f"{float(found.coef[place]):.6g} or {float(found.other[place]):.6g}, with the same norm "
        "and all margins at least 1",
        kind="not unique",
        witness={
            "one": [str(one) for one in found.coef],
            "other": [str(one) for one in found.other],
            "multipliers": [str(one) for one in found.multipliers],
        },
    )
