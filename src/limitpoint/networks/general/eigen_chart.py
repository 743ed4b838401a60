"""A chart of the parameters of a general network in which float64 holds the flow at any scale.

Each block is taken in the eigenbasis of `H = ∇²k(0)`. A component whose plane `z_j = 0` the flow
never leaves keeps its sign, and is given by the logarithm of its growth:

    z_j = z_j(0) e^{w_j},    ẇ_j = u ∂_jk/z_j.

Any other component (say one with eigenvalue zero, driven by the squares of the growing ones) may
cross zero, and is given relative to what drives it, with r² = Σ z_i² over the former ones,

    z_j = E sinh(τ_j),    E² = ε² + (r²/ρ)²,    ε = (s‖θ*‖)^{4/3} ρ^{-1/3},

ρ the length at which k is no longer quadratic: as long as `r < ρ^{1/3}ε^{1/2}` a component z_j
shrinks freely like the inverse of r, down to ε; from there on it is of the order of r²/ρ.
Nothing here uses the tables of the mirror map.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.extras import lazy_module
from limitpoint.mirror.charts.log_chart import LogChart
from limitpoint.mirror.general.linear_stage import ZERO_COMPONENT
from limitpoint.networks.general.block_function import BlockFunction

if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
else:
    jax, jnp = (
        lazy_module("jax", "a General network"),
        lazy_module("jax.numpy", "a General network"),
    )

__all__ = ["EigenChart"]

# exp of this is still finite, and so is its square root's fourth power.
LARGEST_LOG = 700.0
# Below this part of ρ the mean of ∂_jj k along a component replaces ∂_jk/z_j: four Gauss points
# leave (z_j/ρ)^8, and above it the quotient has lost no more than a digit or two.
SMALL_COMPONENT = 0.05
GAUSS_POINTS = 4
# A logarithm that stands for that of zero and can be differentiated.
LOG_OF_ZERO = -1e8
# Components of ∇k out of a plane that are below this part of ∇k are rounding.
NO_DRIVE = 1e-12
TRIALS = 8

# Compilation takes longer than a flow of a few hundred steps: half as long without optimisation.
QUICKLY_COMPILED = {"xla_backend_optimization_level": 0}

Parameters = dict[str, Any]


@dataclass(frozen=True, eq=False)
class _Compiled:
    """What a block does at given states (N, p): compiled for all blocks with one k."""

    motion: Callable[[Any, Parameters], tuple[Any, ...]]
    coef: Callable[[Float, Parameters], Float]
    sign_and_log: Callable[[Float, Parameters], tuple[Float, Float]]
    components: Callable[[Float, Parameters], Float]


class _Motion(NamedTuple):
    """All blocks at one state: k, its gradient, the velocity at `−∇_β loss = 1`, its gradient."""

    coef: Float
    coef_gradient: Float
    velocity: Float
    velocity_gradient: Float


@dataclass(frozen=True, eq=False)
class EigenChart(LogChart):
    """The chart of all blocks; the state is (n, p), flattened, and zero at the start."""

    functions: tuple[BlockFunction, ...]
    columns: tuple[NDArray[np.intp], ...]
    parameters: tuple[Parameters, ...]
    movable_: Float
    size: int

    @classmethod
    def of(
        cls, functions: Sequence[BlockFunction], blocks: Float, log_scale: float
    ) -> "EigenChart | None":
        """The chart, or None where a component that grows by itself is driven by others too."""
        distinct = list(dict.fromkeys(functions))
        columns = tuple(
            np.flatnonzero([one is function for one in functions]) for function in distinct
        )
        parameters = []
        for function, where in zip(distinct, columns, strict=True):
            found = _parameters(function, blocks[where], log_scale)
            if found is None:
                return None
            parameters.append(found)
        return cls(
            functions=tuple(distinct),
            columns=columns,
            parameters=tuple(parameters),
            movable_=(blocks != 0).any(axis=1).astype(np.float64),
            size=blocks.shape[1],
        )

    @property
    def dimension(self) -> int:
        """One number for each parameter."""
        return self.size * len(self.movable_)

    @property
    def movable(self) -> Float:
        """Zero for blocks that start at zero."""
        return self.movable_

    @property
    def log_time_unit(self) -> float:
        """Time is as it is."""
        return 0.0

    def velocity(self, neg_grad: Float, state: Float) -> Float:
        """`u_i` times the velocity of block i under a negative gradient of 1."""
        unit = self._motion(state).velocity
        product = unit.reshape(unit.shape + (1,) * (neg_grad.ndim - 1)) * neg_grad[:, None]
        return np.asarray(product.reshape(self.dimension, *neg_grad.shape[1:]))

    def velocity_gradient(self, neg_grad: Float, state: Float) -> Float:
        """Block diagonal: the velocity of a block depends on its own state only."""
        each = self._motion(state).velocity_gradient
        n, p = len(self.movable_), self.size
        result = np.zeros((n, p, n, p))
        result[np.arange(n), :, np.arange(n), :] = each * neg_grad[:, None, None]
        return result.reshape(self.dimension, self.dimension)

    def coefs(self, states: Float) -> Float:
        """The value of k at every block."""
        if states.ndim == 1:
            return self._motion(states).coef
        return self._each(lambda one: one.coef, states, ())

    def times_gradient(self, matrix: Float, state: Float) -> Float:
        """Each coefficient depends on its own block only."""
        each = self._motion(state).coef_gradient
        with np.errstate(under="ignore", over="ignore"):
            return np.asarray((matrix[:, :, None] * each).reshape(len(matrix), self.dimension))

    def signs_and_logs(self, states: Float) -> tuple[Float, Float]:
        """Of k; by its Taylor series near zero."""
        return (
            self._each(lambda one: lambda s, q: one.sign_and_log(s, q)[0], states, ()),
            self._each(lambda one: lambda s, q: one.sign_and_log(s, q)[1], states, ()),
        )

    def layers(self, states: Float) -> tuple[Float, ...]:
        """The blocks, as far as float64 holds them."""
        return (self._each(lambda one: one.components, states, (self.size,)),)

    def _motion(self, state: Float) -> "_Motion":
        """Everything about one state, from one call; the last is kept, it is asked for often."""
        key = state.tobytes()
        if key not in self._last:
            n, p = len(self.movable_), self.size
            blocks = np.asarray(state, dtype=np.float64).reshape(n, p)
            found = _Motion(np.empty(n), np.empty((n, p)), np.empty((n, p)), np.empty((n, p, p)))
            with jax.enable_x64(True):
                for function, where, parameters in zip(
                    self.functions, self.columns, self._on_device, strict=True
                ):
                    parts = _compiled(function).motion(blocks[where], parameters)
                    for whole, part in zip(found, parts, strict=True):
                        whole[where] = np.asarray(part)
            self._last.clear()
            self._last[key] = found
        return self._last[key]

    @cached_property
    def _last(self) -> "dict[bytes, _Motion]":
        return {}

    @cached_property
    def _on_device(self) -> tuple[Parameters, ...]:
        with jax.enable_x64(True):
            return tuple(
                {name: jnp.asarray(value) for name, value in parameters.items()}
                for parameters in self.parameters
            )

    def _each(
        self,
        pick: Callable[[_Compiled], Callable[[Float, Parameters], Float]],
        states: Float,
        shape: tuple[int, ...],
    ) -> Float:
        """A function of the blocks' states, (..., n·p) → (..., n) + shape."""
        n, p = len(self.movable_), self.size
        blocks = np.asarray(states, dtype=np.float64).reshape(*states.shape[:-1], n, p)
        result = np.empty((n, *blocks.shape[:-2], *shape))
        for function, where, parameters in zip(
            self.functions, self.columns, self.parameters, strict=True
        ):
            part = blocks[..., where, :]
            count = part.size // p
            tiled = {
                name: np.broadcast_to(value, (*part.shape[:-1], *value.shape[1:])).reshape(
                    count, *value.shape[1:]
                )
                for name, value in parameters.items()
            }
            with jax.enable_x64(True):
                values = np.asarray(pick(_compiled(function))(part.reshape(count, p), tiled))
            shaped = values.reshape(*part.shape[:-1], *shape)
            result[where] = np.moveaxis(shaped, part.ndim - 2, 0)
        return np.moveaxis(result, 0, blocks.ndim - 2)


def _parameters(function: BlockFunction, blocks: Float, log_scale: float) -> Parameters | None:
    """Signs and logs of the start, and which of the two kinds each component is of."""
    model = function.model
    z = blocks @ model.basis
    norms = np.linalg.norm(blocks, axis=1, keepdims=True)
    z = np.where(np.abs(z) <= ZERO_COMPONENT * norms, 0.0, z)
    keeps_sign = _keeps_sign(function)
    if (~keeps_sign & (model.eigenvalues != 0)).any():
        return None
    rho = math.log(model.nonlinear_length)
    with np.errstate(divide="ignore"):
        logs = np.where(z != 0, np.log(np.abs(z)) + log_scale, LOG_OF_ZERO)
        sizes = np.where(norms > 0, np.log(norms) + log_scale, 0.0)
        log_eps = np.broadcast_to((4 * sizes - rho) / 3, z.shape)
        free = np.where(keeps_sign & (z != 0), 2 * logs, -np.inf)
        driving = np.logaddexp.reduce(free, axis=1)[:, None] - rho
        log_floor = np.logaddexp(2 * log_eps, 2 * driving) / 2
    ratio = logs - log_floor
    start = np.sign(z) * np.where(
        ratio < 300, np.arcsinh(np.exp(np.minimum(ratio, 300))), ratio + math.log(2)
    )
    return {
        "sign": np.sign(z),
        "log": logs,
        "log_eps": np.ascontiguousarray(log_eps),
        "start": np.where(z != 0, start, 0.0),
        "grows": keeps_sign & (z != 0),
        "driven": np.broadcast_to(~keeps_sign, z.shape) & (norms > 0),
    }


def _keeps_sign(function: BlockFunction) -> NDArray[np.bool_]:
    """Components that nothing drives away from zero, judged at random points of that plane."""
    model = function.model
    rng = np.random.default_rng(0)
    points = rng.standard_normal((TRIALS, model.size)) * model.nonlinear_length / 2
    keeps = np.ones(model.size, dtype=bool)
    for j in range(model.size):
        plane = points.copy()
        plane[:, j] = 0.0
        gradient = model.gradient(plane)
        size = np.linalg.norm(gradient, axis=1)
        keeps[j] = bool((np.abs(gradient[:, j]) <= NO_DRIVE * size).all())
    return keeps


@lru_cache(maxsize=256)
def _compiled(function: BlockFunction) -> _Compiled:
    """Compile what a block does, for all blocks with this k at once."""
    block = _Block(function)

    def each(one: Callable[..., Any]) -> Any:
        return jax.jit(jax.vmap(one), compiler_options=QUICKLY_COMPILED)

    return _Compiled(
        motion=each(
            lambda state, at: (
                *jax.value_and_grad(block.coef)(state, at),
                block.velocity(state, at),
                jax.jacfwd(block.velocity)(state, at),
            )
        ),
        coef=each(block.coef),
        sign_and_log=each(block.sign_and_log),
        components=each(lambda state, at: block.basis @ block.components(state, at)),
    )


class _Block:
    """One block, as functions of its state (p,), traced by JAX."""

    def __init__(self, function: BlockFunction) -> None:
        model = function.model
        self.basis, self.eigenvalues = model.basis, model.eigenvalues
        self.tensors = model.tensors
        self.taylor_radius = model.taylor_radius
        self.length = model.nonlinear_length
        self.k: Callable[[Any], Any] = lambda z: function.k(self.basis @ z)
        nodes, weights = np.polynomial.legendre.leggauss(GAUSS_POINTS)
        self.nodes, self.weights = (nodes + 1) / 2, weights / 2

    def components(self, state: Any, at: Parameters) -> Any:
        """z, as far as float64 holds it."""
        scaled, log_unit, _, _ = self._scaled(state, at)
        return scaled * jnp.exp(log_unit)

    def coef(self, state: Any, at: Parameters) -> Any:
        """The coefficient of the block at this state."""
        scaled, _, near, unit = self._scaled(state, at)
        series = self._series(scaled, jnp.where(near, unit, 0.0)) * unit**2
        return jnp.where(near, series, self.k(jnp.where(near, 0.0, unit * scaled)))

    def sign_and_log(self, state: Any, at: Parameters) -> tuple[Any, Any]:
        """Sign and log-modulus of k."""
        scaled, log_unit, near, unit = self._scaled(state, at)
        series = self._series(scaled, jnp.where(near, unit, 0.0))
        value = jnp.where(near, series, self.k(jnp.where(near, 0.0, unit * scaled)))
        return jnp.sign(value), jnp.log(jnp.abs(value)) + jnp.where(near, 2 * log_unit, 0.0)

    def velocity(self, state: Any, at: Parameters) -> Any:
        """Of the state, under a negative gradient of 1."""
        scaled, log_unit, near, unit = self._scaled(state, at)
        z = unit * scaled
        growth = jnp.where(at["grows"], self._quotients(z), 0.0)
        tau, log_floor, log_drive = self._driven(state, at)
        # d log E/dt, of which the drive r²/ρ is a part.
        squares = jnp.where(at["grows"], scaled**2, 0.0)
        mean = (squares * growth).sum() / jnp.maximum(squares.sum(), np.finfo(float).tiny)
        floor_growth = jnp.exp(2 * (log_drive - log_floor)) * 2 * mean
        log_width = log_floor + jnp.logaddexp(tau, -tau) - math.log(2)  # log(E cosh τ)
        slope = self.eigenvalues * jnp.tanh(tau)
        for power, tensor in enumerate(self.tensors, start=2):
            size = jnp.exp(jnp.where(near, jnp.minimum(power * log_unit - log_width, 60.0), -60.0))
            slope = slope + size * _contract(tensor, scaled, 1) / math.factorial(power)
        far = jax.grad(self.k)(jnp.where(near, 0.0, z)) * jnp.exp(jnp.where(near, 0.0, -log_width))
        driven = jnp.where(near, slope, far) - floor_growth * jnp.tanh(tau)
        return growth + jnp.where(at["driven"], driven, 0.0)

    def _scaled(self, state: Any, at: Parameters) -> tuple[Any, Any, Any, Any]:
        """The components by their largest, that unit (log and itself), and whether r is small.

        The unit is a constant for derivatives: nothing depends on its choice.
        """
        tau, log_floor, _ = self._driven(state, at)
        logs = jnp.where(at["grows"], at["log"] + state, LOG_OF_ZERO)
        log_unit = jnp.max(
            jnp.where(at["driven"], jnp.maximum(logs, log_floor + jnp.abs(tau)), logs)
        )
        log_unit = jax.lax.stop_gradient(jnp.clip(log_unit, LOG_OF_ZERO / 2, LARGEST_LOG))
        grown = at["sign"] * jnp.exp(jnp.minimum(logs - log_unit, LARGEST_LOG))
        small = jnp.abs(tau) < 1.0
        sinh = jnp.where(
            small,
            jnp.exp(log_floor - log_unit) * jnp.sinh(jnp.where(small, tau, 0.0)),
            0.5 * (jnp.exp(log_floor - log_unit + tau) - jnp.exp(log_floor - log_unit - tau)),
        )
        scaled = jnp.where(at["grows"], grown, jnp.where(at["driven"], sinh, 0.0))
        norm = jax.lax.stop_gradient(jnp.sqrt((scaled**2).sum()))
        unit = jnp.exp(log_unit)
        return scaled, log_unit, norm * unit < self.taylor_radius, unit

    def _driven(self, state: Any, at: Parameters) -> tuple[Any, Any, Any]:
        """τ, log E and log(r²/ρ) of the driven components."""
        logs = jnp.where(at["grows"], 2 * (at["log"] + state), 2 * LOG_OF_ZERO)
        log_drive = jax.nn.logsumexp(logs) - math.log(self.length)
        log_floor = jnp.logaddexp(2 * at["log_eps"], 2 * log_drive) / 2
        return jnp.where(at["driven"], at["start"] + state, 0.0), log_floor, log_drive

    def _series(self, scaled: Any, unit: Any) -> Any:
        """`k(uz)/u²` by the Taylor series."""
        value = 0.5 * (self.eigenvalues * scaled**2).sum()
        for order, tensor in enumerate(self.tensors, start=3):
            term = _contract(tensor, scaled, 0) / math.factorial(order)
            value = value + unit ** (order - 2) * term
        return value

    def _quotients(self, z: Any) -> Any:
        """`∂_jk/z_j`, for the components whose plane is invariant."""

        def curvature(axis: Any, node: Any) -> Any:
            """The second derivative along an axis, with that component cut to a part."""
            at = z - (1 - node) * (axis @ z) * axis

            def slope(place: Any) -> Any:
                return jax.jvp(self.k, (place,), (axis,))[1]

            return jax.jvp(slope, (at,), (axis,))[1]

        # Traced once for all axes and nodes: compilation takes longer than the flow.
        everywhere = jax.vmap(jax.vmap(curvature, (None, 0)), (0, None))
        means = everywhere(jnp.eye(len(self.eigenvalues)), jnp.asarray(self.nodes)) @ self.weights
        small = jnp.abs(z) < SMALL_COMPONENT * self.length
        quotient = jax.grad(self.k)(z) / jnp.where(small, 1.0, z)
        return jnp.where(small, means, quotient)


def _contract(tensor: Any, vector: Any, left: int) -> Any:
    """`T[v, …, v]` with this many axes left."""
    result = jnp.asarray(tensor)
    for _ in range(tensor.ndim - left):
        result = result @ vector
    return result
