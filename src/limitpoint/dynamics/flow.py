"""Exact gradient flow."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from limitpoint.arrays import Float, as_float_array, as_number, as_positive, shown
from limitpoint.dynamics.log_flow import flow_in_log_coordinates
from limitpoint.dynamics.normalised_flow import follow_in_normalised_time
from limitpoint.dynamics.options import check_options
from limitpoint.dynamics.parameter_flow import flow_in_parameter_space
from limitpoint.dynamics.radial_flow import flow_in_row_space, safe_radial_map
from limitpoint.dynamics.sample_flow import flow_in_sample_space
from limitpoint.dynamics.trajectory import Trajectory
from limitpoint.dynamics.two_layer_flow import check_resolved, flow_of_two_layers
from limitpoint.errors import InitError, LimitpointError
from limitpoint.mirror import MirrorMap
from limitpoint.networks import TwoLayer
from limitpoint.problem import Problem, as_problem
from limitpoint.tasks import Classification

__all__ = ["LogCoordinates", "NormalisedTime", "ParameterSpace", "SampleSpace", "flow"]

# Local error per step, relative. The end point corrects itself (the root is unique), so this
# governs the times of events along the way.
RTOL = 1e-10
# A flow that was given no end stops when its misfit, relative, has fallen to this.
MISFIT_TOLERANCE = 1e-10
MAX_STEPS = 200_000
# A flow of a classification that was given no end stops at this margin, a loss of e^−1000000. Its
# direction is then about as far from its limit as the inverse, or the root of that.
MARGIN = 1e6
# Nothing corrects its errors on the way to that: a tenth of the tolerance of a flow that converges
# leaves times, and losses, to 1e-8.
MARGIN_RTOL = 1e-11
# Margins beyond this are rounded to a thousandth, which is then the error of every sample's weight;
# the integrator fails a little later.
LARGEST_MARGIN = 1e12
# Steps towards an earlier end vanish: a thousandth of it must be a float with some digits.
EARLIEST = 1e-300


@dataclass(frozen=True)
class SampleSpace:
    """Integrate `dν/dt = loss_factor (y − XΨ(Xᵀν))`: m numbers.

    Needs a mirror map whose clocks float64 resolves: any scale for two layers, `scale^(2−L)` up to
    100 for deeper networks. Rank-one networks, and balanced dense ones, have a map of all
    coefficients together, `dν/dt = loss_factor Ξ (y − Xβ)`, `β = Ξ(z(0) + Xᵀν)`, at any scale.
    `TwoLayer` networks are integrated in the directions that move: as many as X has rank on the
    side of the features, that and the number of outputs at most on the side of the neurons.

    Parameters
    ----------
    rtol
        Local error per step, relative: at least 1e-13, which is what the integrators can do.
    misfit_tolerance
        Stop when the relative misfit has fallen to this, unless an end is given.
    max_steps
        Stop after so many steps of the integrator.
    """

    rtol: float = RTOL
    misfit_tolerance: float = MISFIT_TOLERANCE
    max_steps: int = MAX_STEPS

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True)
class ParameterSpace:
    """Integrate the parameters themselves, as plain numbers. Any network.

    No logarithms, no mirror map, and nothing is eliminated by what the flow conserves, so that the
    conserved quantities can drift, and show what the integration is worth. Where each coefficient
    has parameters of its own they are turned to an orthonormal basis, which no gradient flow
    notices: two layers as `(a ± b)/√2`, each to `rtol` of itself. Two layers are then held down to
    scales of about 1e-150, where `a − b` underflows; deep products as long as float64 holds the
    differences of the squared layers beside these, to about 1e-6. Below take `LogCoordinates()`.
    """

    rtol: float = RTOL
    misfit_tolerance: float = MISFIT_TOLERANCE
    max_steps: int = MAX_STEPS

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True)
class LogCoordinates:
    """Integrate logarithms of the parameters' growth: exact at any scale, in another chart.

    For networks that have such coordinates (`Diagonal`, `Power`, `SignedPower`, `Paired`,
    `General`). It inverts no mirror map, but it uses what the flow conserves: at depth 2 the
    logarithms of `a + b` and `a − b` move by opposite amounts, and beyond it the other layers
    follow from the smallest by the differences of their squares. So it is no independent test of
    a prediction; `ParameterSpace()` is.
    """

    rtol: float = RTOL
    misfit_tolerance: float = MISFIT_TOLERANCE
    max_steps: int = MAX_STEPS

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True)
class NormalisedTime:
    """Integrate the parameters of a classification, `dθ/dτ = −∇ log loss`, `dτ = loss dt`.

    Losses far below the smallest float are reached, and times far beyond the largest, which the
    trajectory has in logarithms.

    Parameters
    ----------
    margin
        Stop when the smallest margin is as large as this, unless an end is given; at most 1e12:
        beyond, rounding of the margins blurs which samples weigh how much.
    rtol
        Local error per step, relative; a hundredth of `1/margin` where that is smaller.
    max_steps
        Stop after so many steps of the integrator.
    own_layers
        Integrate the layers themselves, divided by their norm, where by default (`Diagonal`,
        `Power`, `SignedPower`, `Paired`, `General`) logarithms of their growth are. Those use what
        the flow conserves, and are exact at any scale; layers are held down to about 1e-9.
    """

    margin: float = MARGIN
    rtol: float = MARGIN_RTOL
    max_steps: int = MAX_STEPS
    own_layers: bool = False

    def __post_init__(self) -> None:
        margin = as_positive(self.margin, "margin", LimitpointError)
        if margin > LARGEST_MARGIN:
            raise LimitpointError(
                f"margin must be at most {LARGEST_MARGIN:g}, to which float64 holds margins to a "
                f"thousandth; it is {margin:g}"
            )
        object.__setattr__(self, "margin", margin)
        if not isinstance(self.own_layers, bool | np.bool_):
            raise LimitpointError(
                f"own_layers must be True or False; it is {shown(self.own_layers)}"
            )
        object.__setattr__(self, "own_layers", bool(self.own_layers))
        check_options(self)


def flow(
    problem: Problem,
    *,
    t_end: float | None = None,
    times: ArrayLike | None = None,
    space: SampleSpace | ParameterSpace | LogCoordinates | NormalisedTime | None = None,
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
    space
        `SampleSpace()` (default where the network has a mirror map whose clocks float64 resolves,
        or a radial map), `LogCoordinates()` (default for the other networks that have them) or
        `ParameterSpace()` (default for the rest). A classification has one way only,
        `NormalisedTime(margin=1e6)`.

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
    >>> run = lp.flow(problem, space=lp.NormalisedTime(margin=1e8))
    >>> run.directions[-1].round(3).tolist(), float(run.log_losses[-1]) < -1e8
    ([0.0, 1.0], True)
    """
    as_problem(problem)
    if not problem.init.is_finite:
        raise InitError(
            "flow needs a positive, finite scale; at scale 0 or infinity nothing moves in finite "
            "time (log_scale=-2302.6 is 10^-1000)"
        )
    t_end, recorded = _checked_times(t_end, times)
    if isinstance(problem.task, Classification):
        if not isinstance(space, NormalisedTime | None):
            raise LimitpointError(
                "the flow of a classification runs in normalised time: space must be "
                f"NormalisedTime(margin=1e6); it is {shown(space)}"
            )
        space = NormalisedTime() if space is None else space
        return follow_in_normalised_time(
            problem,
            t_end,
            recorded,
            space.margin,
            space.rtol,
            space.max_steps,
            space.own_layers,
        )[0]
    if isinstance(space, NormalisedTime):
        raise LimitpointError(
            "normalised time is for a classification; of a regression space must be "
            f"SampleSpace(), ParameterSpace() or LogCoordinates(); it is {space!r}"
        )
    mirror = problem.network.mirror_map(problem.init)
    radial = safe_radial_map(problem)
    two_layers = isinstance(problem.network, TwoLayer)
    if two_layers:
        check_resolved(problem)
    if space is None:
        mapped = radial is not None or (mirror is not None and _resolved(problem, mirror))
        space = SampleSpace() if mapped or two_layers else _without_a_map(problem)
    if isinstance(space, ParameterSpace):
        return flow_in_parameter_space(
            problem, t_end, recorded, space.rtol, space.misfit_tolerance, space.max_steps
        )
    if isinstance(space, LogCoordinates):
        growth = problem.network.growth_coordinates(problem.init)
        if growth is None:
            raise InitError(
                f"{problem.network} has no logarithmic coordinates from this start; use "
                "space=ParameterSpace()"
            )
        return flow_in_log_coordinates(
            problem, growth, t_end, recorded, space.rtol, space.misfit_tolerance, space.max_steps
        )
    if not isinstance(space, SampleSpace):
        raise LimitpointError(
            "space must be SampleSpace(), ParameterSpace() or LogCoordinates(); it is "
            f"{shown(space)}"
        )
    if two_layers:
        return flow_of_two_layers(
            problem, t_end, recorded, space.rtol, space.misfit_tolerance, space.max_steps
        )
    if radial is not None:
        return flow_in_row_space(
            problem, radial, t_end, recorded, space.rtol, space.misfit_tolerance, space.max_steps
        )
    if mirror is None:
        raise InitError(
            f"{problem.network} has no mirror map from this start; use space=ParameterSpace()"
        )
    if not _resolved(problem, mirror):
        raise InitError(
            f"at log_scale={problem.init.log_scale:.6g} float64 does not resolve the clocks of "
            f"{problem.network} near their poles, for coefficients of size "
            f"{problem.regression.fit_size:.1g}; use space=LogCoordinates()"
        )
    return flow_in_sample_space(
        problem, mirror, t_end, recorded, space.rtol, space.misfit_tolerance, space.max_steps
    )


def _without_a_map(problem: Problem) -> LogCoordinates | ParameterSpace:
    """The way of a network whose clocks are not resolved, or that has none."""
    growth = problem.network.growth_coordinates(problem.init)
    return ParameterSpace() if growth is None else LogCoordinates()


def _resolved(problem: Problem, mirror: MirrorMap) -> bool:
    """Whether float64 clocks give the coefficients that fit the data."""
    return mirror.resolves(problem.regression.fit_size)


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
