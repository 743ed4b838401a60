"""ℓ1 margin problems in rational arithmetic: the solution, and whether it is the only one.

`min Σ_j |β_j|` with `⟨a_i, β⟩ ≥ 1` for all rows a_i, whose floats are taken as the exact numbers
they are. A tableau simplex on fractions with Bland's rule, which cannot cycle. None of this uses
limitpoint.
"""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class ExactSolution:
    """A vertex of the set of solutions, its dual, and the set's extent along every coefficient."""

    coef: tuple[Fraction, ...]
    multipliers: tuple[Fraction, ...]
    widths: tuple[Fraction, ...]

    @property
    def unique(self):
        return not any(self.widths)


def solve_exactly(rows):
    """The solution of separable rows; None where no β has all products positive."""
    exact = [[Fraction(entry) for entry in row] for row in rows]
    m, n = len(exact), len(exact[0])
    tableau = _Tableau.of(exact)
    if tableau.minimise([Fraction(0)] * (2 * n + m) + [Fraction(1)] * m) > 0:
        return None
    tableau.drop_artificial(2 * n + m)
    costs = [Fraction(1)] * (2 * n) + [Fraction(0)] * m
    tableau.minimise(costs)
    point = tableau.point()
    reduced = tableau.reduced(costs)
    # In every solution a variable whose reduced cost is positive is zero, and the rest is optimal.
    face = [cost == 0 for cost in reduced]
    coef = tuple(point[j] - point[n + j] for j in range(n))
    widths = []
    for j in range(n):
        along = [Fraction(0)] * (2 * n + m)
        along[j], along[n + j] = Fraction(1), Fraction(-1)
        lowest = tableau.minimise(along, face)
        highest = -tableau.minimise([-cost for cost in along], face)
        widths.append(highest - lowest)
    return ExactSolution(coef, tuple(reduced[2 * n :]), tuple(widths))


class _Tableau:
    """Rows `(B⁻¹A | B⁻¹b)` and the basis B."""

    def __init__(self, rows, basis):
        self.rows, self.basis = rows, basis

    @classmethod
    def of(cls, rows):
        """β = p − q with p, q ≥ 0; a surplus and an artificial variable for every row."""
        m, n = len(rows), len(rows[0])

        def unit(i, sign):
            return [Fraction(sign if i == k else 0) for k in range(m)]

        full = [
            [*row, *(-entry for entry in row), *unit(i, -1), *unit(i, 1), Fraction(1)]
            for i, row in enumerate(rows)
        ]
        return cls(full, [2 * n + m + i for i in range(m)])

    def reduced(self, costs):
        """Costs less what the basis pays for the same."""
        left = list(costs)
        for row, index in zip(self.rows, self.basis, strict=True):
            if costs[index]:
                left = [a - costs[index] * b for a, b in zip(left, row[:-1], strict=True)]
        return left

    def minimise(self, costs, allowed=None):
        """Pivot to the minimum over the variables allowed; its value."""
        reduced = self.reduced(costs)
        while True:
            enters = next(
                (j for j, c in enumerate(reduced) if c < 0 and (allowed is None or allowed[j])),
                None,
            )
            if enters is None:
                return sum(
                    (costs[j] * row[-1] for row, j in zip(self.rows, self.basis, strict=True)),
                    Fraction(0),
                )
            leaves = min(
                (i for i, row in enumerate(self.rows) if row[enters] > 0),
                key=lambda i: (self.rows[i][-1] / self.rows[i][enters], self.basis[i]),
            )
            self._pivot(leaves, enters)
            factor = reduced[enters]
            row = self.rows[leaves]
            reduced = [a - factor * b for a, b in zip(reduced, row[:-1], strict=True)]

    def drop_artificial(self, kept):
        """Pivot out what is left of the artificial variables, all zero, and forget them."""
        for i, index in enumerate(self.basis):
            if index >= kept:
                self._pivot(i, next(j for j in range(kept) if self.rows[i][j] != 0))
        self.rows = [[*row[:kept], row[-1]] for row in self.rows]

    def point(self):
        values = [Fraction(0)] * (len(self.rows[0]) - 1)
        for row, index in zip(self.rows, self.basis, strict=True):
            values[index] = row[-1]
        return values

    def _pivot(self, leaves, enters):
        head = self.rows[leaves][enters]
        pivot = [entry / head for entry in self.rows[leaves]]
        self.rows[leaves] = pivot
        for i, row in enumerate(self.rows):
            if i != leaves and row[enters]:
                factor = row[enters]
                self.rows[i] = [a - factor * b for a, b in zip(row, pivot, strict=True)]
        self.basis[leaves] = enters
