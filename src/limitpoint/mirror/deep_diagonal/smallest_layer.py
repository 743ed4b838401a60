"""A coordinate of a diagonal network, reduced to its smallest layer.

Gradient flow conserves the differences of the squared layers, so all L layers of a coordinate
follow from the one that starts smallest in modulus: with v that layer, turned by the sign of the
product of the others, and `Δ_j = a_j(0)² − v(0)² ≥ 0`, the coefficient is `β = v Π_j √(v² + Δ_j)`,
and v alone can change its sign.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float

__all__ = ["SmallestLayer", "smallest_layer"]


@dataclass(frozen=True, eq=False)
class SmallestLayer:
    """The turned smallest layer of each coordinate and its distance from the others.

    Attributes
    ----------
    value
        v at the start.
    widths
        `√Δ_j` of the other L − 1 layers, (L − 1) × n, the smallest first. Not Δ_j itself, which
        vanishes in float64 for layers below 1e-162 and would make ties of them.
    """

    value: Float
    widths: Float

    @property
    def gaps(self) -> Float:
        """`Δ_j`, as far as float64 holds it."""
        with np.errstate(over="ignore", under="ignore"):
            gaps: Float = self.widths * self.widths
        return gaps

    @property
    def depth(self) -> int:
        """Number of layers."""
        return len(self.widths) + 1

    @property
    def tied(self) -> NDArray[np.bool_]:
        """Where another layer is as small: v can then not cross zero."""
        tied: NDArray[np.bool_] = self.widths[0] == 0
        return tied

    @property
    def frozen(self) -> NDArray[np.bool_]:
        """Where two layers or more are zero: nothing moves."""
        frozen: NDArray[np.bool_] = self.tied & (self.value == 0)
        return frozen


def smallest_layer(layers: Sequence[Float]) -> SmallestLayer:
    """Reduce the layers of a diagonal network.

    Examples
    --------
    >>> import numpy as np
    >>> reduced = smallest_layer([np.array([-2.0]), np.array([1.0]), np.array([3.0])])
    >>> reduced.value.tolist(), reduced.gaps.round(12).tolist()
    ([-1.0], [[3.0], [8.0]])
    """
    stack = np.stack(layers)
    smallest = np.argmin(np.abs(stack), axis=0)
    columns = np.arange(stack.shape[1])
    signs = np.sign(stack)
    signs[smallest, columns] = 1.0
    value = stack[smallest, columns] * np.prod(signs, axis=0)
    others = np.abs(stack)
    others[smallest, columns] = np.inf
    others = np.sort(others, axis=0)[:-1]
    # √(a_j² − v²), without cancellation
    return SmallestLayer(value, np.sqrt(others - np.abs(value)) * np.sqrt(others + np.abs(value)))
