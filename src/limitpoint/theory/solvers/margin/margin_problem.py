"""The one margin problem that all networks here lead to, and its solution.

`minimise Σ_g w_g‖ρ_g‖₂  subject to  Aρ ≥ b`, with ρ cut into groups of neighbouring coordinates.
Its dual is `maximise Σ_i b_iμ_i  subject to  μ ≥ 0, ‖(Aᵀμ)_g‖₂ ≤ w_g`. Groups of one coordinate
make it a weighted ℓ1 problem, one group of all of them an ℓ2 problem.

A sample may be in any unit (its row and its floor), and so may a group (its columns and its
weight): what is decided about a problem is decided on the equilibrated one.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.linalg import EPS, equilibrate

__all__ = ["Equilibration", "Integers", "MarginProblem", "MarginSolution"]

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class MarginSolution:
    """Coordinates ρ, multipliers μ of the samples, and the steps taken to polish them.

    The multipliers are `multipliers + corrections`, an unevaluated sum: where groups are in
    different units, large multipliers may cancel in the dual image of a group to what one float64
    for each does not hold.
    """

    coordinates: Float
    multipliers: Float
    corrections: Float
    iterations: int


@dataclass(frozen=True, eq=False)
class MarginProblem:
    """Rows `y_i x_i` in the coordinates ρ, the sizes of the groups, and their weights.

    `floors` are the b_i, 1 unless the samples have been rescaled. `rounding` bounds what each entry
    of the rows is off, where a transform has made them; entries below it are zero.
    """

    rows: Float
    sizes: Integers
    weights: Float
    floors: Float
    rounding: Float

    @classmethod
    def of(
        cls, rows: Float, sizes: Integers, weights: Float, rounding: Float | None = None
    ) -> "MarginProblem":
        """All margins at least 1."""
        off = np.zeros_like(rows) if rounding is None else np.broadcast_to(rounding, rows.shape)
        return cls(np.where(np.abs(rows) > off, rows, 0.0), sizes, weights, np.ones(len(rows)), off)

    @cached_property
    def starts(self) -> Integers:
        """Where each group begins."""
        starts: Integers = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        return starts

    @cached_property
    def group_of(self) -> Integers:
        """The group of each coordinate."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def row_norms(self) -> Float:
        """`‖A_ig‖` for every sample and group: what a unit of the group can do for the margin."""
        # The largest entries are taken out, so that squares neither overflow nor vanish.
        largest = np.maximum.reduceat(np.abs(self.rows), self.starts, axis=1)
        safe = np.where(largest > 0, largest, 1.0)
        squares = np.add.reduceat((self.rows / safe[:, self.group_of]) ** 2, self.starts, axis=1)
        norms: Float = largest * np.sqrt(squares)
        return norms

    def norms(self, vector: Float) -> Float:
        """`‖ρ_g‖` for every group."""
        largest = np.maximum.reduceat(np.abs(vector), self.starts)
        safe = np.where(largest > 0, largest, 1.0)
        squares = np.add.reduceat((vector / safe[self.group_of]) ** 2, self.starts)
        norms: Float = largest * np.sqrt(squares)
        return norms

    def value(self, coordinates: Float) -> float:
        """`Σ_g w_g‖ρ_g‖`."""
        return float(self.weights @ self.norms(coordinates))

    def excess(self, coordinates: Float) -> Float:
        """`Aρ − b`, relative to the size of what is added up in each."""
        excess: Float = (self.rows @ coordinates - self.floors) / self.margin_sizes(coordinates)
        return excess

    def margin_sizes(self, coordinates: Float) -> Float:
        """`b_i + |A_i||ρ|`: what is added up in each margin, to which its rounding is relative."""
        sizes: Float = self.floors + np.abs(self.rows) @ np.abs(coordinates)
        return sizes

    def dual_sizes(self, multipliers: Float) -> Float:
        """`w_g + Σ_i |μ_i|‖A_ig‖`: the same of the dual."""
        sizes: Float = self.weights + np.abs(multipliers) @ self.row_norms
        return sizes

    def contributions(self, coordinates: Float) -> Float:
        """What each group contributes to the margin to which it contributes most, a share."""
        shares = self.row_norms * self.norms(coordinates)
        return np.asarray((shares / self.margin_sizes(coordinates)[:, None]).max(axis=0))

    def forces(self, multipliers: Float) -> Float:
        """What each sample contributes to the dual image to which it contributes most, a share."""
        shares = np.abs(multipliers)[:, None] * self.row_norms
        return np.asarray((shares / self.dual_sizes(multipliers)).max(axis=1))

    def reduced(self) -> tuple["MarginProblem", Float] | None:
        """One group in as few coordinates as there are samples, and the basis of these; or None.

        The norm is that of any rotation. Features are taken largest first and samples by pivoting,
        so that each feature is rounded in its own size (Cox and Higham, 1998).
        """
        m, n = self.rows.shape
        if len(self.sizes) != 1 or n <= m:
            return None
        by_row = np.exp2(-np.round(np.log2(np.where(self.row_norms > 0, self.row_norms, 1.0))))
        columns = (by_row * self.rows).T
        order = np.argsort(-np.abs(columns).max(axis=1), kind="stable")
        sorted_basis, triangle, pivots = qr(columns[order], mode="economic", pivoting=True)
        basis = np.empty_like(sorted_basis)
        basis[order] = sorted_basis
        rows = np.empty((m, m))
        rows[pivots] = triangle.T
        # Householder's method rounds by some eps of a row's length for every column of it.
        off = (m * EPS * np.linalg.norm(rows, axis=1, keepdims=True) + np.zeros((m, m))) / by_row
        sizes = np.array([m], dtype=np.int64)
        return replace(self, rows=rows / by_row, sizes=sizes, rounding=off), basis

    def equilibrated(self) -> "Equilibration":
        """The same problem in units in which rows and groups have entries near 1."""
        by_row, by_group = equilibrate(self.row_norms)
        by_column = by_group[self.group_of]
        scaled = MarginProblem(
            rows=by_row[:, None] * self.rows * by_column,
            sizes=self.sizes,
            weights=by_group * self.weights,
            floors=by_row * self.floors,
            rounding=by_row[:, None] * self.rounding * by_column,
        )
        return Equilibration(scaled, by_row, by_column)


@dataclass(frozen=True, eq=False)
class Equilibration:
    """`problem` is the given one with samples and columns times powers of two: exactly the same."""

    problem: MarginProblem
    by_row: Float
    by_column: Float

    def inside(self, solution: MarginSolution) -> MarginSolution:
        """A solution of the given problem as one of the equilibrated problem."""
        return replace(
            solution,
            coordinates=solution.coordinates / self.by_column,
            multipliers=solution.multipliers / self.by_row,
            corrections=solution.corrections / self.by_row,
        )

    def outside(self, solution: MarginSolution) -> MarginSolution:
        """A solution in the units of the caller."""
        return replace(
            solution,
            coordinates=solution.coordinates * self.by_column,
            multipliers=solution.multipliers * self.by_row,
            corrections=solution.corrections * self.by_row,
        )
