"""The flow of a classification in the layers themselves, their size in logarithms."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from limitpoint.dynamics.classification.charts import EPS, FINEST, NormalisedChart, norm, sharpening
from limitpoint.dynamics.integrate.until_converged import LARGEST_JACOBIAN
from limitpoint.foundation.arrays import Float
from limitpoint.networks import Network
from limitpoint.problem import Problem
from limitpoint.tasks import Classification

__all__ = ["polar_chart"]

# Entries of the layers are followed to the tolerance asked for, relative to themselves, while they
# are larger than this part of all; below it relative to that, far above their rounding.
SMALL_ENTRIES = 1e-2
# Compilation takes as long as a flow: what was compiled is kept, for so many networks and shapes of
# data. It holds no data, but the tensor of a network that is one.
COMPILED = 32
# Without optimisation it takes two thirds of the time, and what is made is as fast.
QUICKLY = {"xla_backend_optimization_level": 0}

Shapes = tuple[tuple[int, ...], ...]


def polar_chart(
    problem: Problem, rtol: float, atol: float, sharpness: float | None = None
) -> NormalisedChart:
    """The layers θ as `e^ℓ v`, state (v, ℓ), differentiated by JAX; `ρ = ‖θ‖^(L−2)`.

    v keeps its norm, which is 1: with `F = e^−ℓ dθ/ds`, `dℓ/ds = ⟨v, F⟩/‖v‖²` and
    `dv/ds = F − v dℓ/ds`. So float64 holds layers of any size, and errors are relative to it. With
    a sharpness the weights are those of margins of that size (see `far_charts`).
    """
    network, task, init = problem.network, problem.classification, problem.init
    degree = network.degree
    init.check_products(degree)
    shapes = tuple(layer.shape for layer in init.direction)
    whole = np.concatenate([np.ravel(layer) for layer in init.direction])
    size = norm(whole) or 1.0
    start = np.append(whole / size, init.log_scale + np.log(size))
    largest = float(np.abs(start[:-1]).max())
    far = sharpness is not None
    data = task.X, task.y, np.linalg.norm(task.X, axis=1), largest, sharpness or 1.0
    if network.is_linear:
        traced = _compiled(network, shapes, task.loss_name, far, task.X.shape)
    else:
        # How far kinks are rounded off is read from the data: they cannot be left open.
        traced = _Traced.of(_Polar(network, shapes, task.loss_name, far, fixed=task.X))
    log_factor = np.log(task.loss_factor)

    def motion(state: Float) -> Float:
        moved = _in_float64(traced.motion, state, data)
        moved[-1] -= log_factor
        return moved

    def margins_at(state: Float) -> Float:
        return _in_float64(traced.margins, state, data)

    def layers_at(states: Float) -> tuple[Float, ...]:
        with np.errstate(under="ignore", over="ignore"):
            return tuple(_split(np.exp(states[..., -1:]) * states[..., :-1], shapes))

    def signs_and_logs(states: Float) -> tuple[Float | None, Float | None]:
        if not network.is_homogeneous:
            return None, None
        shape = np.asarray(network.coef(_split(states[..., :-1], shapes)))
        with np.errstate(divide="ignore"):
            return np.sign(shape), np.log(np.abs(shape)) + degree * states[..., -1:]

    # Rounding of the velocity, relative to what it is made of.
    rounding = len(start) * degree * EPS

    def at_rest(state: Float) -> bool:
        """Neither turning nor growing; shrinking along a ray goes on for ever."""
        moved = motion(state)
        return norm(moved[:-2]) <= rounding and float(moved[-2]) <= rounding

    solvable = len(start) <= LARGEST_JACOBIAN
    return NormalisedChart(
        start=start,
        motion=motion,
        slope=(lambda state: _in_float64(traced.slope, state, data)) if solvable else None,
        margins=margins_at,
        log_loss=lambda state: float(task.log_loss(margins_at(state))),
        coefs=lambda states: np.asarray(network.coef(layers_at(states))),
        layers=layers_at,
        signs_and_logs=signs_and_logs,
        rtol=np.append(np.full(len(whole), rtol), FINEST),
        atol=np.append(np.full(len(whole), SMALL_ENTRIES * atol), rtol),
        at_rest=at_rest,
    )


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
            return y * network.smooth_outputs(_split(v, self.shapes), X, largest)
        scale = jnp.exp(log_size)
        outputs = network.smooth_outputs(_split(scale * v, self.shapes), X, scale * largest)
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


def _split(flat: Any, shapes: Shapes) -> list[Any]:
    """Layers from their entries, along the last axis."""
    ends = [0, *accumulate(prod(shape) for shape in shapes)]
    return [
        flat[..., first:last].reshape(*flat.shape[:-1], *shape)
        for (first, last), shape in zip(pairwise(ends), shapes, strict=True)
    ]
