"""Exact gradient flow."""

import numpy as np
from numpy.typing import ArrayLike

from limitpoint.dynamics.classification.flow_to_margin import MARGIN, as_margin, flow_to_margin
from limitpoint.dynamics.coordinates import (
    Coordinates,
    LogCoordinates,
    ParameterSpace,
    SampleSpace,
    default_coordinates,
    is_resolved,
    tolerance_of,
)
from limitpoint.dynamics.flows.log_coordinates import flow_in_log_coordinates
from limitpoint.dynamics.flows.parameter_space import flow_in_parameter_space
from limitpoint.dynamics.flows.radial_flow import flow_in_row_space, safe_radial_map
from limitpoint.dynamics.flows.sample_space import flow_in_sample_space
from limitpoint.dynamics.flows.two_layers import check_resolved, flow_of_two_layers
from limitpoint.dynamics.trajectory import Trajectory
from limitpoint.errors import InitError, LimitpointError
from limitpoint.foundation.arrays import Float, as_float_array, as_number, shown
from limitpoint.foundation.labels import carries_names
from limitpoint.mirror.charts.log_chart import LogChart
from limitpoint.networks import TwoLayer
from limitpoint.problem import Problem, as_problem
from limitpoint.tasks import Classification

__all__ = ["flow"]

# Steps towards an earlier end vanish: a thousandth of it must be a float with some digits.
EARLIEST = 1e-300


@carries_names
def flow(
    problem: Problem,
    *,
    t_end: float | None = None,
    times: ArrayLike | None = None,
    margin: float | None = None,
    space: Coordinates | None = None,
) -> Trajectory:
    """Simulate exact gradient flow.

    Parameters
    ----------
    problem
        Network, initialisation and task; the scale must be positive and finite.
    t_end
        Stop at this time; by default when the data are fitted, or separated by a large margin.
    times
        Record exactly at these times (increasing, the last one is the end); by default at the
        integrator's own steps, which crowd where the coefficients change.
    margin
        Of a classification: stop when the smallest margin is as large as this (1e6 by default, at
        most 1e12: beyond, rounding of the margins blurs which samples weigh how much), unless an
        end is given. It is followed by `dθ/dτ = −∇ log loss`, `dτ = loss dt`, to losses far below
        the smallest float and times far beyond the largest, which the trajectory has in logarithms.
    space
        The coordinates: `SampleSpace()` (default where the network has a mirror map that float64
        resolves, or a radial map), `LogCoordinates()` (default for the other networks that have
        them, and for their classifications) or `ParameterSpace()` (default for the rest).

    Raises
    ------
    ScaleNotRepresentable
        If no end was given and none can be reached: the coefficients start so far above the data
        that their rounding hides these.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task = lp.Regression([[1.0, 2.0]], [1.0])
    >>> network = lp.Diagonal(depth=2)
    >>> problem = lp.Problem(network, lp.Init.zero_last(network, task, scale=1e-100), task)
    >>> lp.flow(problem).coef.round(6).tolist()
    [0.0, 0.5]

    Of a classification what converges is the direction, and that like a power of the margin:

    >>> task = lp.Classification([[1, 2], [0, -3]], [1, -1])
    >>> problem = lp.Problem(network, lp.Init.zero_last(network, task, scale=0.1), task)
    >>> run = lp.flow(problem, margin=1e8)
    >>> run.directions[-1].round(3).tolist(), float(run.log_losses[-1]) < -1e8
    ([0.0, 1.0], True)
    """
    as_problem(problem)
    if not problem.init.is_finite:
        raise InitError(
            "flow needs a positive, finite scale; at scale 0 or infinity nothing moves in finite "
            "time. Simulate a small scale instead: log_scale (--log-scale) -2302.6 is 10^-1000"
        )
    t_end, recorded = _checked_times(t_end, times)
    if not isinstance(space, Coordinates | None):
        raise LimitpointError(
            "space must be SampleSpace(), ParameterSpace() or LogCoordinates(); it is "
            f"{shown(space)}"
        )
    if isinstance(problem.task, Classification):
        return _classification_flow(problem, t_end, recorded, margin, space)
    if margin is not None:
        raise LimitpointError(
            "margin is for a classification; the flow of a regression stops at t_end, or when the "
            "data are fitted"
        )
    mirror = problem.network.mirror_map(problem.init)
    radial = safe_radial_map(problem)
    two_layers = isinstance(problem.network, TwoLayer)
    if two_layers:
        check_resolved(problem)
    if space is None:
        space = default_coordinates(problem)
    rtol = tolerance_of(space, problem)
    if isinstance(space, ParameterSpace):
        return flow_in_parameter_space(
            problem, t_end, recorded, rtol, space.residual_tolerance, space.max_steps
        )
    if isinstance(space, LogCoordinates):
        chart = _log_chart(problem)
        return flow_in_log_coordinates(
            problem, chart, t_end, recorded, rtol, space.residual_tolerance, space.max_steps
        )
    if two_layers:
        return flow_of_two_layers(
            problem, t_end, recorded, rtol, space.residual_tolerance, space.max_steps
        )
    if radial is not None:
        return flow_in_row_space(
            problem, radial, t_end, recorded, rtol, space.residual_tolerance, space.max_steps
        )
    if mirror is None:
        raise InitError(
            f"{problem.network} has no mirror map from this start; use space=ParameterSpace()"
        )
    if not is_resolved(problem, mirror):
        raise InitError(
            f"at log_scale={problem.init.log_scale:.6g} float64 does not resolve the mirror "
            f"coordinates of {problem.network} near their poles, for coefficients of size "
            f"{problem.regression.fit_size:.1g}; use space=LogCoordinates()"
        )
    return flow_in_sample_space(
        problem, mirror, t_end, recorded, rtol, space.residual_tolerance, space.max_steps
    )


def _classification_flow(
    problem: Problem,
    t_end: float | None,
    times: Float | None,
    margin: float | None,
    space: Coordinates | None,
) -> Trajectory:
    """To the margin asked for, in logarithmic coordinates or in the layers themselves."""
    if isinstance(space, SampleSpace):
        raise LimitpointError(
            "the flow of a classification runs in LogCoordinates() or ParameterSpace(): in sample "
            "space its mirror coordinates grow for ever"
        )
    if isinstance(space, LogCoordinates):
        _log_chart(problem)
    space = default_coordinates(problem) if space is None else space
    return flow_to_margin(
        problem,
        t_end,
        times,
        as_margin(MARGIN if margin is None else margin),
        tolerance_of(space, problem),
        space.max_steps,
        isinstance(space, ParameterSpace),
    )[0]


def _log_chart(problem: Problem) -> LogChart:
    chart = problem.network.log_chart(problem.init)
    if chart is None:
        raise InitError(
            f"{problem.network} has no logarithmic coordinates from this start; use "
            "space=ParameterSpace()"
        )
    return chart


def _checked_times(
    t_end: float | None, times: ArrayLike | None
) -> tuple[float | None, Float | None]:
    """Check the requested end and moments."""
    if t_end is not None and times is not None:
        raise LimitpointError("give t_end or times, not both")
    if t_end is not None:
        rule = "t_end must be a finite time, 0 or later"
        t_end = as_number(t_end, rule, LimitpointError)
        if not (np.isfinite(t_end) and t_end >= 0):
            raise LimitpointError(f"{rule}; it is {t_end}")
        if 0 < t_end < EARLIEST:
            raise LimitpointError(f"t_end must be 0, or at least {EARLIEST:.3g}; it is {t_end:g}")
    if times is None:
        return t_end, None
    recorded = as_float_array(times, "times", LimitpointError, ndim=(1,))
    if recorded.size == 0 or recorded[0] < 0 or (np.diff(recorded) <= 0).any():
        raise LimitpointError("times must be increasing, 0 or later, and not empty")
    if ((recorded > 0) & (recorded < EARLIEST)).any():
        raise LimitpointError(f"times must be 0, or at least {EARLIEST:.3g}; one is earlier")
    return None, recorded
