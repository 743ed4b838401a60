"""The exact flow of a classification, in normalised time: to margins, and losses, of any size.

LSODA integrates it, as it does the flow of a regression: the weights of the samples with the
smallest margins relax at a rate like the margin, which is stiff.
"""

from dataclasses import dataclass

import numpy as np

from limitpoint.dynamics.classification.charts import FINEST, NormalisedChart
from limitpoint.dynamics.classification.in_log_coordinates import logarithmic_chart
from limitpoint.dynamics.classification.in_polar_layers import polar_chart
from limitpoint.dynamics.classification.motion import LARGEST_EXPONENT, NormalisedMotion
from limitpoint.dynamics.fit import wrong_share
from limitpoint.dynamics.integrate.stepper import Steps
from limitpoint.dynamics.integrate.until_converged import LARGEST_RECORD
from limitpoint.dynamics.trajectory import Trajectory
from limitpoint.errors import LimitpointError, ScaleNotRepresentable
from limitpoint.foundation.arrays import Float, as_positive
from limitpoint.foundation.progress import Job, job
from limitpoint.mirror.charts.log_chart import LogChart
from limitpoint.problem import Problem
from limitpoint.status import Status

__all__ = ["MARGIN", "as_margin", "flow_to_margin"]

# A flow of a classification that was given no end stops at this margin, a loss of e^−1000000. Its
# direction is then about as far from its limit as the inverse, or the root of that.
MARGIN = 1e6
# Margins beyond this are rounded to a thousandth, which is then the error of every sample's weight;
# the integrator fails a little later.
LARGEST_MARGIN = 1e12

# Without requested times the integrator's own steps are kept, at most about this many.
RECORDS = 500
# Weights are exponentials of margins: where errors of these come near one, the integrator's Newton
# iterations do not converge any more. At rtol · margin = 0.1 some do not, at 1 none.
MARGIN_ERROR = 1e-2
# Margins that are sums of larger numbers than this are rounded to a thousandth, and their samples'
# weights with them: the same bound as that of the margin to stop at.
LARGEST_TERMS = 1e12
# Samples whose margins are larger by this have no weight at all in float64.
WEIGHTLESS = 745.0
# A loss that has not fallen by more than rounding, some thousand of them, in so many steps, and
# a state that will stay where it is: nothing more will come.
FALLEN = 1e-12
STUCK_STEPS = 1000
# So many are enough where the layers shrink along a ray and margins have become zero in float64:
# steps then grow with nothing to hold them, until the layers' logarithm is all rounding.
SHRUNK_STEPS = 50


def flow_to_margin(
    problem: Problem,
    t_end: float | None,
    times: Float | None,
    margin: float,
    rtol: float,
    max_steps: int,
    own_layers: bool = False,
) -> tuple[Trajectory, Float]:
    """Integrate until the smallest margin is as large as asked for, or to an end in true time.

    In logarithmic coordinates where there are such, unless the layers themselves are asked for.
    Returns the record, and the last state of the chart, from where others may go on.
    """
    task = problem.classification
    if t_end is None and times is None:
        rtol = min(rtol, MARGIN_ERROR / margin)
    growth = None if own_layers else problem.network.log_chart(problem.init)
    # Relative tolerances end at rounding; absolute ones do not, of numbers that start at zero.
    sensitivity = _sensitivity(problem, growth)
    fine = min(rtol, MARGIN_ERROR / sensitivity)
    rtol = max(fine, FINEST)
    if growth is None:
        chart = polar_chart(problem, rtol, fine)
    else:
        chart = logarithmic_chart(problem, growth, fine)
    if t_end is not None or times is not None or chart.margins(chart.start).min() < margin:
        _check_start(problem, chart)
    flow = NormalisedMotion(chart, rtol, sensitivity)
    with job("gradient flow") as steps:
        found = _integrate(flow, t_end, times, margin, max_steps, steps)
    margins = np.stack([chart.margins(state) for state in found.states])
    signs, logs = chart.signs_and_logs(found.states)
    with np.errstate(over="ignore", divide="ignore"):
        log_times, reached = found.log_times, np.exp(found.log_times)
        if found.at_times is not None:
            # As they were asked for, instead of what logarithms leave of them.
            count = len(found.at_times)
            reached[-count:], log_times[-count:] = found.at_times, np.log(found.at_times)
    log_losses = np.asarray(task.log_loss(margins))
    with np.errstate(over="ignore"):
        losses = np.exp(log_losses)
    record = Trajectory.build(
        kind="gradient flow in normalised time",
        status=found.status,
        times=reached,
        log_times=log_times,
        coefs=chart.coefs(found.states),
        losses=losses,
        log_losses=log_losses,
        margins=margins,
        signs=signs,
        logs=logs,
        layers=chart.layers(found.states),
        relative_residual=wrong_share(margins[-1]),
    )
    return record, found.states[-1]


def _check_start(problem: Problem, chart: NormalisedChart) -> None:
    """Refuse a start whose weights, exponentials of the margins, are all rounding."""
    margins, coefs = chart.margins(chart.start), chart.coefs(chart.start)
    terms = np.abs(margins)
    if problem.network.is_linear:
        terms = np.abs(problem.classification.X) @ np.abs(coefs)
    largest = float(terms[margins <= margins.min() + WEIGHTLESS].max())
    if largest > LARGEST_TERMS:
        raise ScaleNotRepresentable(
            f"at scale {problem.init.scale:g} the smallest margin starts at {margins.min():.1g}, a "
            f"sum of terms of {largest:.1g}; beyond {LARGEST_TERMS:g} float64 rounds margins too "
            "coarsely to tell which samples weigh how much. Use a smaller scale"
        )


def _sensitivity(problem: Problem, growth: LogChart | None) -> float:
    """How much the state's errors, relative to it, are magnified in the margins of the start.

    At least 1: smaller ones, of small starts, ask for nothing.
    """
    task, init = problem.classification, problem.init
    if growth is not None:
        changes = growth.times_gradient(task.signed, np.zeros(growth.dimension))
        return max(1.0, float(np.abs(changes).max()))
    size = float(np.sqrt(sum(float((layer**2).sum()) for layer in init.direction))) or 1.0
    longest = float(np.linalg.norm(task.X, axis=1).max())
    log_product = problem.network.degree * (init.log_scale + float(np.log(size)))
    return max(1.0, longest * float(np.exp(min(log_product, LARGEST_EXPONENT))))


@dataclass(frozen=True, eq=False)
class _Found:
    """Recorded states, the logarithms of their times, and how the integration ended."""

    log_times: Float
    states: Float
    status: Status
    at_times: Float | None  # the true times of the last of them, where they were asked for


def _integrate(
    flow: NormalisedMotion,
    t_end: float | None,
    times: Float | None,
    margin: float,
    max_steps: int,
    steps: Job,
) -> _Found:
    chart = flow.chart
    wanted = None if times is None else flow.scaled_log_times(times)
    last = t_end if times is None else times[-1]
    end = np.inf if last is None else float(flow.scaled_log_times(np.asarray(last)))

    def gap(both: Float) -> float:
        """How far the end is off: positive once it is reached."""
        if np.isfinite(end):
            return float(both[-1] - end)
        return float(chart.margins(both[:-1]).min()) / margin - 1.0

    def result(states: list[Float], status: Status, at_times: Float | None = None) -> _Found:
        both = np.array(states)
        return _Found(flow.log_times(both[:, -1]), both[:, :-1], status, at_times)

    def ended(states: list[Float]) -> _Found:
        """At the end in time that was asked for, or else at the margin."""
        if not np.isfinite(end):
            return result(states, Status.SEPARATED)
        large = chart.margins(states[-1][:-1]).min() >= margin
        return result(
            states,
            Status.SEPARATED if large else Status.REACHED_END,
            np.array([t_end]) if times is None else times,
        )

    kept = [flow.start] if wanted is None or wanted[0] == 0.0 else []
    if gap(flow.start) >= 0:
        return ended([flow.start])
    if not np.any(flow.velocity(flow.start)[:-1]):
        # At every time asked for it is where it started.
        states = [flow.start] * (1 if times is None else len(times))
        return result(states, Status.STATIONARY, times)
    walk = Steps(flow, flow.start, np.inf, flow.rtol, flow.atol)
    log_time = 0.0
    watch = _Watch(chart)

    def stopped(status: Status) -> _Found:
        """Before the end: what was asked for as far as it got, or else where it is."""
        if times is None or not kept:
            return result(_thinned([*kept, walk.state]), status)
        return result(kept, status, times[: len(kept)])

    for _ in range(max_steps):
        if not walk.advance():
            return stopped(Status.INTEGRATOR_FAILED)
        steps.advance()
        if wanted is not None:
            passed = wanted[(wanted > log_time) & (wanted <= walk.state[-1])]
            kept += [_at_log_time(walk, at) for at in passed]
            log_time = float(walk.state[-1])
        if gap(walk.state) >= 0:
            if wanted is None:
                kept.append(walk.where(gap))
            return ended(kept if wanted is not None else _thinned(kept))
        if wanted is None:
            kept.append(walk.state)
            if len(kept) * len(flow.start) > LARGEST_RECORD:
                # Every other one, the first and the last among them.
                del kept[-2:0:-2]
        if not np.isfinite(end) and watch.stuck(walk.state):
            return stopped(Status.AT_REST)
    return stopped(Status.STEP_LIMIT)


def _at_log_time(walk: Steps, log_time: float) -> Float:
    """The state within the last step at which the logarithmic time is this."""
    return walk.where(lambda both: float(both[-1]) - log_time)


def _thinned(kept: list[Float]) -> list[Float]:
    """At most so many of the integrator's own steps."""
    keep = np.unique(np.linspace(0, len(kept) - 1, RECORDS).round().astype(int))
    return [kept[i] for i in keep]


class _Watch:
    """Tells from step to step whether the loss still falls."""

    def __init__(self, chart: NormalisedChart) -> None:
        self._chart = chart
        self._best = np.inf
        self._still = 0

    def stuck(self, both: Float) -> bool:
        """Whether nothing has happened for long, and nothing moves."""
        log_loss = self._chart.log_loss(both[:-1])
        if log_loss < self._best - FALLEN * (1.0 + abs(log_loss)):
            self._best, self._still = log_loss, 0
        else:
            self._still += 1
        if self._still < SHRUNK_STEPS:
            return False
        if self._still < STUCK_STEPS and self._chart.margins(both[:-1]).any():
            return False
        return self._chart.at_rest(both[:-1])


def as_margin(margin: float) -> float:
    """A margin at which a flow can stop, or `LimitpointError`."""
    margin = as_positive(margin, "margin", LimitpointError)
    if margin > LARGEST_MARGIN:
        raise LimitpointError(
            f"margin must be at most {LARGEST_MARGIN:g}, to which float64 holds margins to a "
            f"thousandth; it is {margin:g}"
        )
    return margin
