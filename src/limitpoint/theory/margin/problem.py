"""The one margin problem that all networks here lead to, and its solution.

`minimise Σ_g w_g‖ρ_g‖₂  subject to  Aρ ≥ b`, with ρ cut into groups of neighbouring coordinates.
Its dual is `maximise Σ_i b_iμ_i  subject to  μ ≥ 0, ‖(Aᵀμ)_g‖₂ ≤ w_g`. Groups of one coordinate
make it a weighted ℓ1 problem, one group of all of them an ℓ2 problem.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from limitpoint.arrays import Float

__all__ = ["Integers", "MarginProblem", "MarginSolution"]

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class MarginProblem:
    """Rows `y_i x_i` in the coordinates ρ, the sizes of the groups, and their weights.

    `floors` are the b_i, 1 unless the samples have been rescaled.
    """

    rows: Float
    sizes: Integers
    weights: Float
    floors: Float

    @classmethod
    def of(cls, rows: Float, sizes: Integers, weights: Float) -> "MarginProblem":
        """All margins at least 1."""
        return cls(rows, sizes, weights, np.ones(len(rows)))

    @property
    def starts(self) -> Integers:
        """Where each group begins."""
        starts: Integers = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        return starts

    @property
    def group_of(self) -> Integers:
        """The group of each coordinate."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def norms(self, vector: Float) -> Float:
        """`‖ρ_g‖` for every group."""
        # The largest entry is taken out, so that squares neither overflow nor vanish.
        largest = float(np.abs(vector).max()) or 1.0
        squares = np.add.reduceat((vector / largest) ** 2, self.starts)
        norms: Float = largest * np.sqrt(squares)
        return norms

    def value(self, coordinates: Float) -> float:
        """`Σ_g w_g‖ρ_g‖`."""
        return float(self.weights @ self.norms(coordinates))

    def excess(self, coordinates: Float) -> Float:
        """`Aρ − b`, relative to the size of what is added up in each."""
        size = self.floors + np.abs(self.rows) @ np.abs(coordinates)
        excess: Float = (self.rows @ coordinates - self.floors) / size
        return excess


@dataclass(frozen=True, eq=False)
class MarginSolution:
    """Coordinates ρ, multipliers μ of the samples, and the steps taken to polish them."""

    coordinates: Float
    multipliers: Float
    iterations: int
