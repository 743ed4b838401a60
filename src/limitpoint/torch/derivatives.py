"""A module that is none of the known networks, as a function that JAX can differentiate.

Notation: `β(θ)` the outputs for unit samples, one after the other, of all parameters θ. PyTorch
computes β, `J = ∂β/∂θ` and `H = ∂J/∂θ`, and JAX is told that `dβ = J dθ` and `dJ = H dθ`: linear in
dθ, so that both of its modes of differentiation get to second derivatives.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.extras import lazy_module
from limitpoint.torch.twin import Twin
from limitpoint.torch.undisturbed import undisturbed

if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
    import torch
else:
    jax, jnp = (lazy_module(name, "training a PyTorch module") for name in ("jax", "jax.numpy"))
    torch = lazy_module("torch", "limitpoint.torch")

__all__ = ["Differentiated"]

# The highest derivative that flow and training take.
HIGHEST = 2


@dataclass(frozen=True, eq=False)
class Differentiated:
    """Outputs of a module, from blocks and data that JAX traces."""

    twin: Twin
    features: int

    def __call__(self, blocks: Sequence[Any], X: Any) -> Any:
        """`X β(θ)`, of the shape of the module's outputs."""
        flat = jnp.concatenate([jnp.ravel(block) for block in blocks])
        shape = self._derivative(0, np.concatenate([np.ravel(b) for b in self.twin.start])).shape
        return jnp.asarray(X) @ self._traced(0, (*shape, flat.size), flat)

    def _traced(self, order: int, shape: tuple[int, ...], flat: Any) -> Any:
        """The derivative of this order, of the shape of β and one axis of θ for each order."""
        size = shape[-1]
        result = jax.ShapeDtypeStruct((*shape[:-1], *(size,) * order), np.float64)  # type: ignore[no-untyped-call]

        def value(at: Any) -> Any:
            return jax.pure_callback(
                lambda point: self._derivative(order, np.asarray(point)),
                result,
                at,
                vmap_method="sequential",
            )

        if order == HIGHEST:
            return value(flat)
        found = jax.custom_jvp(value)

        @found.defjvp
        def _(points: Any, tangents: Any) -> Any:
            slope = self._traced(order + 1, shape, points[0])
            return found(points[0]), slope @ tangents[0]

        return found(flat)

    def _derivative(self, order: int, point: Float) -> Float:
        """By PyTorch, row by row: not all of its functions can be differentiated at once."""
        units = np.eye(self.features)
        cuts = [0, *accumulate(block.size for block in self.twin.start)]

        def outputs(flat: Any) -> Any:
            parts = [
                flat[first:last].reshape(block.shape)
                for (first, last), block in zip(pairwise(cuts), self.twin.start, strict=True)
            ]
            return self.twin.run(parts, units)

        def derivative(order: int) -> Any:
            if order == 0:
                return outputs
            below = derivative(order - 1)
            return lambda flat: torch.autograd.functional.jacobian(
                below, flat, create_graph=True, vectorize=True
            )

        with undisturbed(), torch.enable_grad():
            found = derivative(order)(torch.tensor(point, dtype=torch.float64))
        values: Float = found.detach().numpy()
        return values
