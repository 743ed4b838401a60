"""The dual simplex method for weighted ℓ1 margin problems whose units no solver's tolerances suit.

`min Σ w_j|ρ_j|  subject to  Aρ ≥ b`, as `ρ = p − q` with surpluses s: `(A, −A, −I)(p, q, s) = b`.
Without any coordinate the duals are feasible, which is where it starts. Signs are decided against
the rounding of what is added up, sample by sample and column by column, never against a tolerance
for all: weights and floors may span any number of orders of magnitude.
"""

from dataclasses import dataclass

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.linalg import EPS
from limitpoint.theory.solvers.margin.margin_problem import Integers, MarginProblem

__all__ = ["dual_simplex"]

# What a product with an inverse is rounded by, in units of eps times the sum of the moduli.
ROUNDING_UNITS = 16.0
# The inverse of the basis is computed anew after as many exchanges.
REFRESHED_AFTER = 16
# Exchanges for every row and column; random problems take one or two for every row.
EXCHANGES = 20


def dual_simplex(problem: MarginProblem) -> tuple[Float, Float] | None:
    """Coordinates and multipliers of a vertex of an equilibrated problem; None without success."""
    basis = _Basis.empty(problem)
    m, n = problem.rows.shape
    for exchange in range(EXCHANGES * (m + n)):
        leaves = basis.most_violated(problem.floors)
        if leaves is None:
            return basis.solution(problem)
        enters = basis.entering(leaves)
        if enters is None:
            return None
        found = basis.exchanged(leaves, enters, refresh=exchange % REFRESHED_AFTER == 0)
        if found is None:
            return None
        basis = found
    return None


@dataclass(frozen=True, eq=False)
class _Basis:
    """Which variables are in the basis, and its inverse."""

    columns: Float  # (A, −A, −I)
    costs: Float
    members: Integers
    inverse: Float

    @classmethod
    def empty(cls, problem: MarginProblem) -> "_Basis":
        """The start of the method: the basis of all surpluses."""
        m, n = problem.rows.shape
        columns = np.hstack([problem.rows, -problem.rows, -np.eye(m)])
        costs = np.concatenate([problem.weights, problem.weights, np.zeros(m)])
        return cls(columns, costs, np.arange(2 * n, 2 * n + m), -np.eye(m))

    def most_violated(self, floors: Float) -> int | None:
        """The basic variable that is most negative, relative to what is added up in it."""
        values, sizes = self.inverse @ floors, np.abs(self.inverse) @ floors
        shares = values / np.where(sizes > 0, sizes, 1.0)
        worst = int(np.argmin(shares))
        return worst if shares[worst] < -ROUNDING_UNITS * len(floors) * EPS else None

    def entering(self, leaves: int) -> int | None:
        """The variable whose reduced cost vanishes first as the one that leaves grows to zero."""
        row = self.inverse[leaves]
        slopes = row @ self.columns
        blurs = ROUNDING_UNITS * len(row) * EPS * (np.abs(row) @ np.abs(self.columns))
        slopes[self.members] = 0.0
        candidates = np.flatnonzero(slopes < -blurs)
        if len(candidates) == 0:
            return None
        prices = (self.inverse @ self.columns[:, candidates]).T * self.costs[self.members]
        left = self.costs[candidates] - prices.sum(axis=1)
        rounding = self.costs[candidates] + np.abs(prices).sum(axis=1)
        left[left < ROUNDING_UNITS * len(row) * EPS * rounding] = 0.0
        ratios = left / -slopes[candidates]
        # Of those that tie, the one that the exchange is most certain of.
        tied = ratios <= ratios.min() * (1 + ROUNDING_UNITS * EPS)
        sure = -slopes[candidates] / blurs[candidates]
        return int(candidates[np.argmax(np.where(tied, sure, -np.inf))])

    def exchanged(self, leaves: int, enters: int, refresh: bool) -> "_Basis | None":
        """With one variable in another's place; None if the basis is singular."""
        members = self.members.copy()
        members[leaves] = enters
        if refresh:
            try:
                inverse: Float = np.linalg.inv(self.columns[:, members]).astype(np.float64)
            except np.linalg.LinAlgError:
                return None
        else:
            column = self.inverse @ self.columns[:, enters]
            pivot = self.inverse[leaves] / column[leaves]
            inverse = self.inverse - np.outer(column, pivot)
            inverse[leaves] = pivot
        return _Basis(self.columns, self.costs, members, inverse)

    def solution(self, problem: MarginProblem) -> tuple[Float, Float] | None:
        """Coordinates and multipliers of the basis, from an inverse of its own."""
        n = problem.rows.shape[1]
        try:
            inverse = np.linalg.inv(self.columns[:, self.members])
        except np.linalg.LinAlgError:
            return None
        values = np.zeros(self.columns.shape[1])
        values[self.members] = inverse @ problem.floors
        return values[:n] - values[n : 2 * n], self.costs[self.members] @ inverse
