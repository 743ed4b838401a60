"""From the user's blocks to the layers of a network, and back: a linear map that keeps the flow.

Notation: θ are the trained entries, `E` the map to all entries of the layers, and
`EᵀE = μP` with P a projection: E keeps lengths up to `√μ`, but for what it leaves out, which has no
influence on the coefficients. With `β(θ) = G(Eθ)` the flow of θ under a loss ℓ is

    d(Eθ)/dt = −EEᵀ∇(ℓ∘G) = −μ∇(ℓ∘G),

wherever gradients of G lie in the range of E: the flow of the layers on the loss times μ, step by
step that of gradient descent as well. Where layers are copies of one block, the range of E is
where they are equal, and gradients of a function that is symmetric in them lie in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from scipy import sparse

from limitpoint.foundation.arrays import Float
from limitpoint.own.model import Places

__all__ = ["LayerMap", "gathered"]

# Weights like √2 are rounded, and their squares with them.
ROUNDED = 1e-14

Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class LayerMap:
    """`E`, a row for every entry of the layers, a column for every trained entry."""

    matrix: Any
    shapes: Shapes

    @classmethod
    def stacked(cls, parts: Sequence[Any], shapes: Shapes) -> "LayerMap":
        """One matrix for each layer, dense or sparse."""
        whole = sparse.csr_array(sparse.vstack([sparse.csr_array(part) for part in parts]))
        return cls(whole, shapes)

    @property
    def factor(self) -> float:
        """μ, by which the loss is multiplied."""
        gram = self.matrix.T @ self.matrix
        # A generic vector within the range of P.
        direction = gram @ np.cos(np.arange(gram.shape[0]) + 1.0)
        factor = float(np.linalg.norm(gram @ direction) / np.linalg.norm(direction))
        return 1.0 if abs(factor - 1.0) <= ROUNDED else factor

    def layers(self, flat: Float) -> tuple[Float, ...]:
        """`Eθ`."""
        values = self.matrix @ flat
        cuts = [0, *accumulate(int(np.prod(shape)) for shape in self.shapes)]
        pairs = zip(cuts, cuts[1:], self.shapes, strict=False)
        return tuple(values[a:b].reshape(shape) for a, b, shape in pairs)

    def flat(self, layers: Sequence[Float], start: Float) -> Float:
        """`Eᵀ(layers)/μ`, and what E leaves out as it starts."""
        values = np.concatenate([np.ravel(layer) for layer in layers])
        back = self.matrix.T / self.factor
        kept = start - back @ (self.matrix @ start)
        return np.asarray(back @ values + kept)


def gathered(entries: Places, size: int, weights: Float | float = 1.0) -> Any:
    """The part of E for a layer whose entries are these entries of θ, times weights."""
    rows = np.arange(entries.size)
    values = np.broadcast_to(np.asarray(weights, dtype=np.float64), entries.shape)
    return sparse.csr_array((values.ravel(), (rows, entries.ravel())), shape=(entries.size, size))
