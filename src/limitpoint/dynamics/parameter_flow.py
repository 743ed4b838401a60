"""The exact flow of the parameters themselves. Shares nothing with the mirror map.

SciPy's LSODA integrates it rather than a Runge–Kutta method: on these flows it needs a tenth of
the time of an implicit one, and explicit ones stop at the first slow tail. The flow of a ReLU
network slides along kinks; they are rounded off, and LSODA follows what is then stiff.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from limitpoint.arrays import Float
from limitpoint.dynamics.fitting import gauged, gauged_task, loss_at, smooth_loss_at
from limitpoint.dynamics.gauge import FitGauge
from limitpoint.dynamics.growth_pace import GrowthPace
from limitpoint.dynamics.integrate import EXPLICIT_SHARE, LARGEST_JACOBIAN, LARGEST_TRIAL, integrate
from limitpoint.dynamics.steps import Motion
from limitpoint.dynamics.trajectory import Trajectory
from limitpoint.networks import GrowthCoordinates, MultilinearNetwork
from limitpoint.problem import Problem

__all__ = ["flow_in_parameter_space"]

EPS = float(np.finfo(np.float64).eps)
# In time each factor e of the rate takes 65 steps as a pole is approached, or left; by its own pace
# a growth takes about a thousand in all, of which starting again, and again when it is visible. So
# a growth is followed by its own pace where there are more of these factors than this.
FAR_APART = 18.0


@dataclass(frozen=True, eq=False)
class _Chart:
    """The flow in some coordinates of parameter space."""

    start: Float
    unit: float | Float  # size of the state whose error is tolerated absolutely
    velocity: Callable[[Float], Float]
    jacobian: Callable[[Float], Float] | None  # None: too large
    coefs: Callable[[Float], Float]
    gauged: Callable[[Float], Float]  # coefficients, or outputs where there are none
    noise: Callable[[Float], Float]  # errors of what is gauged that never decay
    loss: Callable[[Float], float]
    signs_and_logs: Callable[[Float], tuple[Float | None, Float | None]]
    layers: Callable[[Float], tuple[Float, ...]]
    lower: Float | None = None  # bounds of the coefficients; None: not known
    upper: Float | None = None
    duals: Callable[[Float], Float | None] = lambda states: None
    time_unit: float = 1.0
    pace: Motion | None = None  # the chart's own, where it suits the flow better than time


def flow_in_parameter_space(
    problem: Problem,
    t_end: float | None,
    times: Float | None,
    rtol: float,
    misfit_tolerance: float,
    max_steps: int,
) -> Trajectory:
    """Integrate in the network's growth coordinates where it has them, else in plain ones."""
    growth = problem.network.growth_coordinates(problem.init)
    chart = _plain_chart(problem, rtol) if growth is None else _growth_chart(problem, growth)
    start = chart.gauged(chart.start)
    gauge = FitGauge.of(gauged_task(problem), start, chart.lower, chart.upper)
    found = integrate(
        chart.velocity,
        chart.jacobian,
        chart.start,
        misfit=lambda state: gauge.misfit(chart.gauged(state)),
        rounding=lambda state: gauge.rounding(chart.noise(state)),
        misfit_tolerance=misfit_tolerance,
        arrived=gauge.arrived,
        t_end=None if t_end is None else t_end / chart.time_unit,
        times=None if times is None else times / chart.time_unit,
        rtol=rtol,
        atol=rtol * chart.unit,
        max_steps=max_steps,
        pace=chart.pace,
    )
    signs, logs = chart.signs_and_logs(found.states)
    return Trajectory.build(
        kind="gradient flow in parameter space",
        status=found.status,
        times=_asked_for(times, found.times * chart.time_unit),
        coefs=chart.coefs(found.states),
        losses=np.array([chart.loss(state) for state in found.states]),
        signs=signs,
        logs=logs,
        layers=chart.layers(found.states),
        duals=chart.duals(found.states),
        misfit=gauge.misfit(chart.gauged(found.states[-1])),
    )


def _asked_for(asked: Float | None, found: Float) -> Float:
    """The times asked for, as given, instead of what a change of units leaves of them."""
    if asked is None or not np.allclose(found, asked[: len(found)], rtol=1e-12, atol=0.0):
        return found
    return asked[: len(found)]


def _growth_chart(problem: Problem, growth: GrowthCoordinates) -> _Chart:
    """Logarithms of growing combinations of the parameters: exact at any scale.

    The duals `∫(y − Xβ)dt`, in the reachable part of sample space, are integrated along with them.
    """
    task, size = problem.regression, growth.dimension
    start_coefs = growth.coefs(np.zeros(size))
    basis = FitGauge.of(task, start_coefs, growth.lower, growth.upper).basis
    rows, target = basis.T @ task.X, basis.T @ task.y
    factor, time_unit = task.loss_factor, float(np.exp(growth.log_time_unit))

    def residual(state: Float) -> Float:
        coefs = np.clip(growth.coefs(state), -LARGEST_TRIAL, LARGEST_TRIAL)
        result: Float = factor * (target - rows @ coefs)
        return result

    def velocity(both: Float) -> Float:
        state = both[:size]
        left = residual(state)
        return np.concatenate([growth.velocity(left @ rows, state), left])

    def jacobian(both: Float) -> Float:
        state = both[:size]
        change = growth.times_gradient(-factor * rows, state)
        change = np.clip(change, -LARGEST_TRIAL, LARGEST_TRIAL)
        whole = np.zeros((len(both), len(both)))
        whole[:size, :size] = growth.velocity(rows.T @ change, state)
        whole[:size, :size] += growth.velocity_gradient(residual(state) @ rows, state)
        whole[size:, :size] = change
        return whole

    # A growth off by δ moves a visible coefficient by 2δ of itself; at large scale by
    # δ · |∂β/∂state|, relative to coefficients of the size of the minimum-norm solution.
    start = np.zeros(size + len(target))
    each = np.eye(task.n_features)
    steepest = float(np.abs(growth.times_gradient(each, start[:size])).max())
    largest = float(np.abs(np.linalg.lstsq(task.X, task.y, rcond=None)[0]).max())
    unit = min(1.0, largest / steepest) if largest > 0 and steepest > 0 else 1.0
    return _Chart(
        start=start,
        unit=unit,
        velocity=velocity,
        jacobian=jacobian,
        coefs=lambda both: growth.coefs(both[..., :size]),
        gauged=lambda both: growth.coefs(both[..., :size]),
        loss=lambda both: float(task.loss(growth.coefs(both[:size]))),
        noise=lambda both: (
            EPS * np.abs(growth.times_gradient(each, both[:size])) @ (1.0 + np.abs(both[:size]))
        ),
        signs_and_logs=lambda both: growth.signs_and_logs(both[..., :size]),
        layers=lambda both: growth.layers(both[..., :size]),
        lower=growth.lower,
        upper=growth.upper,
        duals=lambda both: time_unit * (both[..., size:] @ basis.T),
        time_unit=time_unit,
        pace=_pace(problem, growth, rows, target, largest),
    )


def _pace(
    problem: Problem, growth: GrowthCoordinates, rows: Float, target: Float, largest: float
) -> GrowthPace | None:
    """The growth's own pace, where that of what is asleep and of what is visible are far apart.

    A layer x moves at `x^(L−2)`: with two layers all have one rate, and time is as good a pace.
    """
    degree = problem.network.degree
    rates = growth.velocity(np.ones(rows.shape[1]), np.zeros(growth.dimension))
    asleep = float(np.abs(rates).max(initial=0.0))
    if degree == 2 or largest == 0.0 or asleep == 0.0:
        return None
    visible = growth.log_time_unit + (1 - 2 / degree) * np.log(largest)
    if visible - np.log(asleep) < FAR_APART:
        return None
    return GrowthPace.of(growth, rows, target, problem.regression.loss_factor)


def _plain_chart(problem: Problem, rtol: float) -> _Chart:
    """The parameters as they are, differentiated by JAX."""
    network, layers = problem.network, problem.init.layers
    problem.init.check_products(network.degree)
    shapes = [layer.shape for layer in layers]
    cuts = np.cumsum([layer.size for layer in layers])[:-1]

    def split(state: Float) -> tuple[Float, ...]:
        """Layers from states; the state is the last axis."""
        parts = np.split(state, cuts, axis=-1)
        return tuple(
            part.reshape(*state.shape[:-1], *shape)
            for part, shape in zip(parts, shapes, strict=True)
        )

    start = np.concatenate([np.ravel(layer) for layer in layers])
    size = float(np.abs(start).max())

    def traced_loss(state: jax.Array) -> jax.Array:
        parts = jnp.split(state, cuts)
        shaped = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
        loss: jax.Array = smooth_loss_at(problem, shaped, size)
        return loss

    gradient = jax.jit(jax.grad(traced_loss))
    hessian = jax.jit(jax.hessian(traced_loss))

    def in_float64(function: Callable[[Float], jax.Array]) -> Callable[[Float], Float]:
        def negated(state: Float) -> Float:
            with jax.enable_x64(True):
                return -np.asarray(function(state))

        return negated

    solvable = start.size <= LARGEST_JACOBIAN
    # An explicit method keeps errors of its tolerance; else only rounding is left at the end.
    held = EPS if solvable else EXPLICIT_SHARE * rtol

    def noise(state: Float) -> Float:
        parts = split(state)
        measured = gauged(problem, parts)
        errors: Float = held * network.degree * np.abs(measured)
        if isinstance(network, MultilinearNetwork):
            # Coefficients are sums that may cancel: their rounding is that of the terms.
            errors = held * network.degree * network.moduli(parts)
        if not network.is_linear:
            smooth = np.asarray(network.smooth_outputs(parts, problem.regression.X, size))
            errors += np.abs(smooth - measured)
        return errors

    return _Chart(
        start=start,
        unit=_units(problem, layers, size),
        velocity=in_float64(gradient),
        jacobian=in_float64(hessian) if solvable else None,
        coefs=lambda states: np.asarray(network.coef(split(states))),
        gauged=lambda state: gauged(problem, split(state)),
        noise=noise,
        loss=lambda state: float(loss_at(problem, split(state))),
        signs_and_logs=lambda states: (None, None),
        layers=split,
    )


def _units(problem: Problem, layers: tuple[Float, ...], size: float) -> Float:
    """Each layer's own size at the start, relative to which its entries must be right.

    One that starts at zero becomes as large as the others, or smaller where these are large: then
    what it is multiplied by is given, and the product is as large as the coefficients.
    """
    task = problem.regression
    wanted = float(np.abs(np.linalg.lstsq(task.X, task.y, rcond=None)[0]).max())
    with np.errstate(over="ignore", under="ignore"):
        grown = wanted / size ** (problem.network.degree - 1) if size > 0 else 0.0
    late = min(size, grown) if grown > 0 else size
    own = [float(np.abs(layer).max(initial=0.0)) or late for layer in layers]
    return np.concatenate(
        [np.full(layer.size, unit) for layer, unit in zip(layers, own, strict=True)]
    )
