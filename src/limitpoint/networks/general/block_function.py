"""A user's k, differentiated by JAX, as NumPy functions that the tables can call."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from limitpoint.errors import NetworkError
from limitpoint.foundation.arrays import Float, check_numbers
from limitpoint.foundation.extras import lazy_module
from limitpoint.mirror.general.block_model import BlockModel

if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
else:
    jax, jnp = (
        lazy_module("jax", "a General network"),
        lazy_module("jax.numpy", "a General network"),
    )

__all__ = ["BlockFunction", "block_function"]

# Functions are compiled once for each number of rows: few of them, or chunks of many.
FEW_ROWS, MANY_ROWS = 256, 8192
# ∇k(0) is zero up to rounding of derivatives of order 1.
ZERO_GRADIENT = 1e-14
# Series and formula of a smooth k agree far better; those of `|a|b` do not agree at all.
SMOOTH = 1e-8


@dataclass(frozen=True, eq=False)
class BlockFunction:
    """One k: the function itself, its size at zero, and its model for the tables."""

    k: Callable[[Any], Any]
    size: int
    gradient_at_zero: float
    model: BlockModel

    @property
    def is_regular(self) -> bool:
        """Whether zero is a critical point of k, and k smooth there."""
        finite = all(np.isfinite(tensor).all() for tensor in self.model.tensors)
        return (
            finite
            and bool(np.isfinite(self.model.eigenvalues).all())
            and self.gradient_at_zero <= ZERO_GRADIENT
            and self.model.disagreement <= SMOOTH
        )


@lru_cache(maxsize=256)
def block_function(k: Callable[[Any], Any], size: int) -> BlockFunction:
    """Differentiate k and compare its Taylor series at zero with itself."""
    check_numbers(size**5, "block_size", "the fifth derivatives of k at zero", NetworkError)
    gradient = jax.grad(k)
    hessian = jax.hessian(k)

    def at_zero(zero: "jax.Array") -> "tuple[jax.Array, ...]":
        derivatives = [gradient, hessian]
        for _ in range(3):
            derivatives.append(jax.jacfwd(derivatives[-1]))
        return tuple(derivative(zero) for derivative in derivatives)

    with jax.enable_x64(True):
        slope, *tensors = (np.asarray(part) for part in jax.jit(at_zero)(jnp.zeros(size)))
    regular = all(np.isfinite(tensor).all() for tensor in tensors)
    model = BlockModel.of(
        hessian_at_zero=tensors[0] if regular else np.zeros((size, size)),
        tensors=tensors[1:],
        value=_in_chunks(k),
        gradient=_in_chunks(gradient),
        hessian=_in_chunks(hessian),
    )
    norm = float(np.linalg.norm(slope))
    return BlockFunction(k, size, norm if np.isfinite(norm) else np.inf, model)


def _in_chunks(function: Callable[[Any], Any]) -> Callable[[Float], Float]:
    """The function of one block as a NumPy function of many, (N, p), compiled for two sizes."""
    compiled = jax.jit(jax.vmap(function))

    def evaluate(blocks: Float) -> Float:
        count = len(blocks)
        chunk = FEW_ROWS if count <= FEW_ROWS else MANY_ROWS
        padded = np.zeros((-(-count // chunk) * chunk, blocks.shape[1]))
        padded[:count] = blocks
        with jax.enable_x64(True):
            parts = [
                np.asarray(compiled(padded[first : first + chunk]))
                for first in range(0, len(padded), chunk)
            ]
        return np.concatenate(parts)[:count]

    return evaluate
