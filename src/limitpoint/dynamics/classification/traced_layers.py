"""The same motion for networks that JAX differentiates: those that do not know their gradient."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from limitpoint.dynamics.classification.charts import sharpening
from limitpoint.foundation.arrays import Float
from limitpoint.foundation.extras import lazy_module
from limitpoint.networks import Network
from limitpoint.tasks import Classification

if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
else:
    jax, jnp = (lazy_module(name, "the flow of this network") for name in ("jax", "jax.numpy"))

__all__ = ["Shapes", "split_layers", "traced_polar"]

# Compilation takes as long as a flow: what was compiled is kept, for so many networks and shapes of
# data. It holds no data, but the tensor of a network that is one.
COMPILED = 32
# Without optimisation it takes two thirds of the time, and what is made is as fast.
QUICKLY = {"xla_backend_optimization_level": 0}

Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class TracedPolar:
    """The motion of one problem; `_Polar` has the formulas."""

    traced: "_Traced"
    data: tuple[Any, ...]
    log_factor: float

    def motion(self, state: Float) -> Float:
        """`d state/ds` and `log(dt/ds)`."""
        moved = _in_float64(self.traced.motion, state, self.data)
        moved[-1] -= self.log_factor
        return moved

    def slope(self, state: Float) -> Float:
        """The derivative of the motion."""
        return _in_float64(self.traced.slope, state, self.data)

    def margins(self, state: Float) -> Float:
        """The margins of the samples."""
        return _in_float64(self.traced.margins, state, self.data)


def traced_polar(
    network: Network,
    task: Classification,
    shapes: Shapes,
    largest: float,
    sharpness: float | None,
) -> TracedPolar:
    """Compiled, once for each network and shape of the data; `largest` is that of v's entries."""
    far = sharpness is not None
    data = task.X, task.y, np.linalg.norm(task.X, axis=1), largest, sharpness or 1.0
    if network.is_linear:
        traced = _compiled(network, shapes, task.loss_name, far, task.X.shape)
    else:
        # How far kinks are rounded off is read from the data: they cannot be left open.
        traced = _Traced.of(_Polar(network, shapes, task.loss_name, far, fixed=task.X))
    return TracedPolar(traced, data, float(np.log(task.loss_factor)))


@dataclass(frozen=True, eq=False)
class _Polar:
    """The motion as JAX traces it, with the data as arguments.

    These are X, y, the norms of the rows of X, the largest entry of v at the start, and the
    sharpness, which only a flow `far` out has. X is `fixed` where the network needs to know it
    while it is traced.
    """

    network: Network
    shapes: Shapes
    loss: str
    far: bool
    fixed: Float | None = None

    def margins(self, state: Any, data: Any) -> Any:
        """The margins of the samples at one state."""
        return jnp.exp(self.network.degree * state[-1]) * self._shape(state[:-1], state[-1], data)

    def motion(self, state: Any, data: Any) -> Any:
        """`d state/ds` and `log(dt/ds)`, the latter for a loss with the factor 1."""
        degree, norms = self.network.degree, data[2]
        # Any data will do: only its loss is asked for.
        log_loss = Classification([[1.0]], [1.0], self.loss).log_loss
        v, log_size = state[:-1], state[-1]
        shape, pullback = jax.vjp(lambda v: self._shape(v, log_size, data), v)
        margins = jnp.exp(degree * log_size) * shape
        seen = jax.lax.stop_gradient(sharpening(margins, data[4])) if self.far else 1.0
        weights = -jax.grad(log_loss)(seen * margins)
        square = v @ v
        square = jnp.where(square > 0, square, 1.0)  # layers that are all zero
        rate = (weights @ norms) * square ** (0.5 * degree - 1.0)
        push = pullback(weights)[0] / rate
        growth = (v @ push) / square
        log_time = -jnp.log(rate) - (degree - 2) * log_size - log_loss(margins)
        return jnp.concatenate([push - growth * v, jnp.stack([growth, log_time])])

    def _shape(self, v: Any, log_size: Any, data: Any) -> Any:
        """The margins in units of `e^(Lℓ)`."""
        network, (X, y, _, largest, _) = self.network, data
        X = X if self.fixed is None else self.fixed
        if network.is_homogeneous:
            return y * network.smooth_outputs(split_layers(v, self.shapes), X, largest)
        scale = jnp.exp(log_size)
        outputs = network.smooth_outputs(split_layers(scale * v, self.shapes), X, scale * largest)
        return y * outputs * jnp.exp(-network.degree * log_size)


@dataclass(frozen=True, eq=False)
class _Traced:
    """Compiled functions of a state and the data."""

    motion: Callable[..., Any]
    slope: Callable[..., Any]
    margins: Callable[..., Any]

    @classmethod
    def of(cls, polar: _Polar) -> "_Traced":
        """Compiled when they are first called."""
        return cls(
            motion=jax.jit(polar.motion, compiler_options=QUICKLY),
            slope=jax.jit(jax.jacfwd(polar.motion), compiler_options=QUICKLY),
            margins=jax.jit(polar.margins, compiler_options=QUICKLY),
        )


@lru_cache(maxsize=COMPILED)
def _compiled(
    network: Network, shapes: Shapes, loss: str, far: bool, data: tuple[int, ...]
) -> _Traced:
    """For one network and one shape of its layers and data; they were checked to fit."""
    return _Traced.of(_Polar(network, shapes, loss, far))


def _in_float64(function: Callable[..., Any], state: Float, data: Any) -> Float:
    with jax.enable_x64(True):
        return np.array(function(state, data))


def split_layers(flat: Any, shapes: Shapes) -> list[Any]:
    """Layers from their entries, along the last axis."""
    ends = [0, *accumulate(prod(shape) for shape in shapes)]
    return [
        flat[..., first:last].reshape(*flat.shape[:-1], *shape)
        for (first, last), shape in zip(pairwise(ends), shapes, strict=True)
    ]
