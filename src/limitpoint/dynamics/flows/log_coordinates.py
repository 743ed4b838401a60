"""The exact flow in logarithms of the parameters' growth: at any scale, by a chart.

At depth 2 the sum of the two logarithms of a coefficient never moves, and beyond it all layers
follow from the smallest by what the flow conserves. So it holds what float64 loses of the layers
themselves at tiny scale, but shares those conserved quantities with the mirror map.
"""

import numpy as np

from limitpoint.dynamics.flows.charted import Chart, follow
from limitpoint.dynamics.integrate.log_time_change import LogTimeChange
from limitpoint.dynamics.integrate.until_converged import LARGEST_TRIAL
from limitpoint.dynamics.relative_residual import RelativeResidual
from limitpoint.dynamics.trajectory import Trajectory
from limitpoint.foundation.arrays import Float
from limitpoint.mirror.charts.log_chart import LogChart
from limitpoint.problem import Problem

__all__ = ["flow_in_log_coordinates"]

EPS = float(np.finfo(np.float64).eps)
# In time each factor e of the rate takes 65 steps as a pole is approached, or left; by its own time
# change a growth takes about a thousand in all, of which starting again, and again when it is
# visible. So a growth is followed by its own time change where there are more of these factors than
# this.
FAR_APART = 18.0


def flow_in_log_coordinates(
    problem: Problem,
    growth: LogChart,
    t_end: float | None,
    times: Float | None,
    rtol: float,
    residual_tolerance: float,
    max_steps: int,
) -> Trajectory:
    """Integrate in the network's logarithmic coordinates."""
    return follow(
        problem,
        _log_chart(problem, growth),
        "gradient flow in logarithmic coordinates",
        t_end,
        times,
        rtol,
        residual_tolerance,
        max_steps,
    )


def _log_chart(problem: Problem, growth: LogChart) -> Chart:
    """Logarithms of growing combinations of the parameters: exact at any scale.

    The duals `∫(y − Xβ)dt`, in the reachable part of sample space, are integrated along with them.
    """
    task, size = problem.regression, growth.dimension
    start_coefs = growth.coefs(np.zeros(size))
    basis = RelativeResidual.of(task, start_coefs, growth.lower, growth.upper).basis
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
    return Chart(
        start=start,
        unit=unit,
        velocity=velocity,
        jacobian=jacobian,
        coefs=lambda both: growth.coefs(both[..., :size]),
        measured=lambda both: growth.coefs(both[..., :size]),
        loss=lambda both: float(task.loss(growth.coefs(both[:size]))),
        errors_kept=lambda both: (
            EPS * np.abs(growth.times_gradient(each, both[:size])) @ (1.0 + np.abs(both[:size]))
        ),
        signs_and_logs=lambda both: growth.signs_and_logs(both[..., :size]),
        layers=lambda both: growth.layers(both[..., :size]),
        lower=growth.lower,
        upper=growth.upper,
        duals=lambda both: time_unit * (both[..., size:] @ basis.T),
        time_unit=time_unit,
        time_change=_time_change(problem, growth, rows, target, largest),
    )


def _time_change(
    problem: Problem, growth: LogChart, rows: Float, target: Float, largest: float
) -> LogTimeChange | None:
    """A time change, where the rates of what is inactive and of what is visible are far apart.

    A layer x moves at `x^(L−2)`: with two layers all have one rate, and time itself is as good.
    """
    degree = problem.network.degree
    rates = growth.velocity(np.ones(rows.shape[1]), np.zeros(growth.dimension))
    inactive = float(np.abs(rates).max(initial=0.0))
    if degree == 2 or largest == 0.0 or inactive == 0.0:
        return None
    visible = growth.log_time_unit + (1 - 2 / degree) * np.log(largest)
    if visible - np.log(inactive) < FAR_APART:
        return None
    return LogTimeChange.of(growth, rows, target, problem.regression.loss_factor)
