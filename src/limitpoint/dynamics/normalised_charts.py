"""Charts of parameter space for the flow of a classification in normalised time.

Normalised time τ has `dτ = loss dt`, so that the flow reads `dθ/dτ = −∇ log loss`. It is integrated
along a third time s that runs as the parameters grow, relative to themselves: `dτ/ds` is the pace,

    pace = 1 / (N ρ),    N = Σ_i w_i ‖x_i‖,    w_i = −∂ log loss/∂m_i ≥ 0,

with ρ the rate at which a pull of one moves the parameters relative to themselves: `‖θ‖^(L−2)` of
layers as they are. Both N and ρ are positive wherever the flow gets to. A pace by the velocity
itself, arc length, would be all rounding on plateaus, and break down where the flow comes to rest.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from limitpoint.arrays import Float
from limitpoint.dynamics.integrate import LARGEST_JACOBIAN, LARGEST_TRIAL
from limitpoint.networks import GrowthCoordinates
from limitpoint.problem import Problem
from limitpoint.tasks import Classification

__all__ = ["FINEST", "NormalisedChart", "growth_chart", "polar_chart"]

EPS = float(np.finfo(np.float64).eps)
# The integrator accepts no smaller relative tolerance than this, 100 roundings.
FINEST = 100 * EPS
# Entries of the layers are followed to the tolerance asked for, relative to themselves, while they
# are larger than this part of all; below it relative to that, far above their rounding.
SMALL_ENTRIES = 1e-2
# Pulls of many samples that cancel to this, relative, at a standstill of the loss, are no pull.
PULLED = 1e-8


@dataclass(frozen=True, eq=False)
class NormalisedChart:
    """The flow in some coordinates of parameter space, by the pace s.

    Attributes
    ----------
    start
        The state at the start.
    motion
        From a state, `d state/ds` and, last, `log(dt/ds)`.
    slope
        The derivative of all that in the state, (d + 1, d); None: too large.
    margins, log_loss
        Of one state.
    coefs, layers, signs_and_logs
        Of states; the state is the last axis.
    rtol, atol
        Tolerances of the state, in units of the tolerance asked for.
    at_rest
        Whether a state whose loss is at a standstill will stay there.
    """

    start: Float
    motion: Callable[[Float], Float]
    slope: Callable[[Float], Float] | None
    margins: Callable[[Float], Float]
    log_loss: Callable[[Float], float]
    coefs: Callable[[Float], Float]
    layers: Callable[[Float], tuple[Float, ...]]
    signs_and_logs: Callable[[Float], tuple[Float | None, Float | None]]
    rtol: Float
    atol: Float
    at_rest: Callable[[Float], bool]


def growth_chart(problem: Problem, growth: GrowthCoordinates, rtol: float) -> NormalisedChart:
    """Logarithms of growing combinations of the parameters: exact at any scale.

    Their velocity is linear in the pull `Σ_i w_i y_i x_i`; ρ is the norm of that at a pull of one
    on every coefficient.
    """
    task = problem.classification
    signed, norms = task.signed, np.linalg.norm(task.X, axis=1)
    each = np.ones(task.n_features)

    def margins_at(state: Float) -> Float:
        coefs = np.clip(growth.coefs(state), -LARGEST_TRIAL, LARGEST_TRIAL)
        margins: Float = signed @ coefs
        return margins

    def motion(state: Float) -> Float:
        margins = margins_at(state)
        weights = task.weights(margins)
        size, unit = float(weights @ norms), growth.velocity(each, state)
        rate = _norm(unit)
        moved = growth.velocity(signed.T @ (weights / size), state) / (rate or 1.0)
        log_pace = -np.log(size) - (np.log(rate) if rate > 0 else 0.0)
        return np.append(moved, growth.log_time_unit + log_pace - task.log_loss(margins))

    def slope(state: Float) -> Float:
        margins = margins_at(state)
        weights = task.weights(margins)
        size, unit = float(weights @ norms), growth.velocity(each, state)
        rate = _norm(unit) or 1.0
        change = growth.times_gradient(signed, state)
        change = np.clip(change, -LARGEST_TRIAL, LARGEST_TRIAL)
        turned = _curvature(task, margins, weights) @ change
        log_size = norms @ turned / size
        log_rate = (unit / rate) @ (growth.velocity_gradient(each, state) / rate)
        pull = signed.T @ (weights / size)
        moved = growth.velocity(pull, state) / rate
        whole = growth.velocity(signed.T @ (turned / size), state)
        whole += growth.velocity_gradient(pull, state)
        whole /= rate
        whole -= np.outer(moved, log_size + log_rate)
        return np.vstack([whole, weights @ change - log_size - log_rate])

    def at_rest(state: Float) -> bool:
        """No coefficient is pulled, other than towards a bound that it never reaches."""
        weights = task.weights(margins_at(state))
        pull, held = weights @ signed, PULLED * (weights @ np.abs(signed))
        rising = (pull > held) & (growth.upper > 0)
        falling = (pull < -held) & (growth.lower < 0)
        return not (rising | falling).any()

    dimension = growth.dimension
    return NormalisedChart(
        start=np.zeros(dimension),
        motion=motion,
        slope=slope if dimension <= LARGEST_JACOBIAN else None,
        margins=margins_at,
        log_loss=lambda state: float(task.log_loss(margins_at(state))),
        coefs=growth.coefs,
        layers=growth.layers,
        signs_and_logs=growth.signs_and_logs,
        # A growth off by δ, however long it was, moves a coefficient by a multiple of δ of itself.
        rtol=np.full(dimension, FINEST),
        atol=np.full(dimension, rtol),
        at_rest=at_rest,
    )


def polar_chart(problem: Problem, rtol: float) -> NormalisedChart:
    """The layers θ as `e^ℓ v`, state (v, ℓ), differentiated by JAX; `ρ = ‖θ‖^(L−2)`.

    v keeps its norm, which is 1: with `F = e^−ℓ dθ/ds`, `dℓ/ds = ⟨v, F⟩/‖v‖²` and
    `dv/ds = F − v dℓ/ds`. So float64 holds layers of any size, and errors are relative to it.
    """
    network, task, init = problem.network, problem.classification, problem.init
    degree = network.degree
    init.check_products(degree)
    shapes = [layer.shape for layer in init.direction]
    cuts = np.cumsum([layer.size for layer in init.direction])[:-1]
    whole = np.concatenate([np.ravel(layer) for layer in init.direction])
    size = _norm(whole) or 1.0
    start = np.append(whole / size, init.log_scale + np.log(size))
    largest = float(np.abs(start[:-1]).max())
    norms = np.linalg.norm(task.X, axis=1)

    def split(flat: Any) -> list[Any]:
        """Layers from their entries, along the last axis."""
        ends = [0, *cuts, flat.shape[-1]]
        return [
            flat[..., first:last].reshape(*flat.shape[:-1], *shape)
            for (first, last), shape in zip(pairwise(ends), shapes, strict=True)
        ]

    def shape_of_margins(v: jax.Array, log_size: Any) -> jax.Array:
        """The margins in units of `e^(Lℓ)`."""
        if network.is_homogeneous:
            outputs = network.smooth_outputs(split(v), task.X, largest)
        else:
            scale: Any = jnp.exp(log_size)
            outputs = network.smooth_outputs(split(scale * v), task.X, scale * largest)
            outputs = outputs * jnp.exp(-degree * log_size)
        margins: jax.Array = task.y * outputs
        return margins

    def traced_margins(state: jax.Array) -> jax.Array:
        grown: jax.Array = jnp.exp(degree * state[-1]) * shape_of_margins(state[:-1], state[-1])
        return grown

    def traced_motion(state: jax.Array) -> jax.Array:
        v, log_size = state[:-1], state[-1]
        shape, pull_back = jax.vjp(lambda v: shape_of_margins(v, log_size), v)
        margins = jnp.exp(degree * log_size) * shape
        weights = -jax.grad(task.log_loss)(margins)
        square = v @ v
        square = jnp.where(square > 0, square, 1.0)  # layers that are all zero
        rate = (weights @ norms) * square ** (0.5 * degree - 1.0)
        push = pull_back(weights)[0] / rate
        growth = (v @ push) / square
        clock = -jnp.log(rate) - (degree - 2) * log_size - task.log_loss(margins)
        return jnp.concatenate([push - growth * v, jnp.stack([growth, clock])])

    def in_float64(function: Callable[[jax.Array], jax.Array]) -> Callable[[Float], Float]:
        compiled = jax.jit(function)

        def called(state: Float) -> Float:
            with jax.enable_x64(True):
                return np.asarray(compiled(state))

        return called

    def layers_at(states: Float) -> tuple[Float, ...]:
        with np.errstate(under="ignore", over="ignore"):
            return tuple(split(np.exp(states[..., -1:]) * states[..., :-1]))

    def signs_and_logs(states: Float) -> tuple[Float | None, Float | None]:
        if not network.is_homogeneous:
            return None, None
        shape = np.asarray(network.coef(split(states[..., :-1])))
        with np.errstate(divide="ignore"):
            return np.sign(shape), np.log(np.abs(shape)) + degree * states[..., -1:]

    motion, margins_at = in_float64(traced_motion), in_float64(traced_margins)
    # Rounding of the velocity, relative to what it is made of.
    noise = len(start) * degree * EPS

    def at_rest(state: Float) -> bool:
        """Neither turning nor growing; shrinking along a ray goes on for ever."""
        moved = motion(state)
        return _norm(moved[:-2]) <= noise and float(moved[-2]) <= noise

    exact = np.append(np.full(len(whole), rtol), FINEST)
    return NormalisedChart(
        start=start,
        motion=motion,
        slope=in_float64(jax.jacfwd(traced_motion)) if len(start) <= LARGEST_JACOBIAN else None,
        margins=margins_at,
        log_loss=lambda state: float(task.log_loss(margins_at(state))),
        coefs=lambda states: np.asarray(network.coef(layers_at(states))),
        layers=layers_at,
        signs_and_logs=signs_and_logs,
        rtol=exact,
        atol=np.append(np.full(len(whole), SMALL_ENTRIES * rtol), rtol),
        at_rest=at_rest,
    )


def _curvature(task: Classification, margins: Float, weights: Float) -> Float:
    """`∂w_i/∂m_j` of the weights `w_i = −∂ log loss/∂m_i`."""
    bend: float | Float = 1.0
    if task.loss_name == "logistic":
        with np.errstate(over="ignore"):
            bend = 1.0 / (1.0 + np.exp(-margins))
    return np.outer(weights, weights) - np.diag(weights * bend)


def _norm(vector: Float) -> float:
    """Euclidean norm, of entries whose squares may overflow or vanish."""
    largest = float(np.abs(vector).max(initial=0.0))
    if largest == 0.0 or not np.isfinite(largest):
        return largest
    return largest * float(np.linalg.norm(vector / largest))
