"""A flow in some coordinates of parameter space, followed and recorded."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from limitpoint.dynamics.fit import measured_task
from limitpoint.dynamics.integrate.stepper import Motion
from limitpoint.dynamics.integrate.until_converged import STUCK_STEPS, integrate
from limitpoint.dynamics.relative_residual import RelativeResidual
from limitpoint.dynamics.trajectory import Trajectory
from limitpoint.foundation.arrays import Float
from limitpoint.problem import Problem

__all__ = ["Chart", "follow"]


@dataclass(frozen=True, eq=False)
class Chart:
    """The flow in some coordinates of parameter space."""

    start: Float
    unit: float | Float  # size of the state whose error is tolerated absolutely
    velocity: Callable[[Float], Float]
    jacobian: Callable[[Float], Float] | None  # None: too large
    coefs: Callable[[Float], Float]
    measured: Callable[[Float], Float]  # coefficients, or outputs where there are none
    errors_kept: Callable[[Float], Float]  # errors of what is measured that never decay
    loss: Callable[[Float], float]
    signs_and_logs: Callable[[Float], tuple[Float | None, Float | None]]
    layers: Callable[[Float], tuple[Float, ...]]
    lower: Float | None = None  # bounds of the coefficients; None: not known
    upper: Float | None = None
    duals: Callable[[Float], Float | None] = lambda states: None
    time_unit: float = 1.0
    time_change: Motion | None = None  # the chart's own, where it suits the flow better than time
    is_relative: bool = False  # whether errors of the state are relative to itself
    patience: int = STUCK_STEPS  # steps without progress, at the level of rounding, to the end
    share: float | Float = 1.0  # of the relative tolerance that each number of the state is given


def follow(
    problem: Problem,
    chart: Chart,
    kind: str,
    t_end: float | None,
    times: Float | None,
    rtol: float,
    residual_tolerance: float,
    max_steps: int,
) -> Trajectory:
    """Integrate in this chart until the data are fitted, or to the end that is asked for."""
    start = chart.measured(chart.start)
    measure = RelativeResidual.of(measured_task(problem), start, chart.lower, chart.upper)
    found = integrate(
        chart.velocity,
        chart.jacobian,
        chart.start,
        relative_residual=lambda state: measure.relative_residual(chart.measured(state)),
        rounding=lambda state: measure.rounding(chart.errors_kept(state)),
        residual_tolerance=residual_tolerance,
        arrived=measure.arrived,
        t_end=None if t_end is None else t_end / chart.time_unit,
        times=None if times is None else times / chart.time_unit,
        rtol=rtol * chart.share,
        atol=rtol * chart.unit,
        max_steps=max_steps,
        time_change=chart.time_change,
        is_relative=chart.is_relative,
        patience=chart.patience,
    )
    signs, logs = chart.signs_and_logs(found.states)
    return Trajectory.build(
        kind=kind,
        status=found.status,
        times=_asked_for(times, found.times * chart.time_unit),
        coefs=chart.coefs(found.states),
        losses=np.array([chart.loss(state) for state in found.states]),
        signs=signs,
        logs=logs,
        layers=chart.layers(found.states),
        duals=chart.duals(found.states),
        relative_residual=measure.relative_residual(chart.measured(found.states[-1])),
    )


def _asked_for(asked: Float | None, found: Float) -> Float:
    """The times asked for, as given, instead of what a change of units leaves of them."""
    if asked is None or not np.allclose(found, asked[: len(found)], rtol=1e-12, atol=0.0):
        return found
    return asked[: len(found)]
