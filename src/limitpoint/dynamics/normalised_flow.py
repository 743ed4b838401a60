"""The exact flow of a classification, in normalised time: to margins, and losses, of any size.

LSODA integrates it, as it does the flow of a regression: the weights of the samples with the
smallest margins relax at a rate like the margin, which is stiff.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import BDF, DOP853, LSODA, OdeSolver
from scipy.optimize import brentq

from limitpoint.arrays import Float
from limitpoint.dynamics.fitting import wrong_share
from limitpoint.dynamics.integrate import LARGEST_RECORD, LARGEST_TRIAL
from limitpoint.dynamics.normalised_charts import (
    FINEST,
    NormalisedChart,
    growth_chart,
    polar_chart,
)
from limitpoint.dynamics.trajectory import Trajectory
from limitpoint.errors import ScaleNotRepresentable
from limitpoint.networks import GrowthCoordinates
from limitpoint.problem import Problem
from limitpoint.status import Status

__all__ = ["flow_in_normalised_time"]

EPS = float(np.finfo(np.float64).eps)
# Without requested times the integrator's own steps are kept, at most about this many.
RECORDS = 500
# The clock's exponentials are cut off here inside the integrator's trial steps only.
LARGEST_EXPONENT = 300.0
# Weights are exponentials of margins: where errors of these come near one, the integrator's Newton
# iterations do not converge any more. At rtol · margin = 0.1 some do not, at 1 none.
MARGIN_ERROR = 1e-2
# A margin this far on the wrong side makes the loss fall by as much, in logarithms, in the time
# that the layers need to grow at all: the last power of ten whose time is still resolved.
LARGEST_MISS = 1e7
# A loss that has not fallen by more than rounding, some thousand of them, in so many steps, and
# a state that will stay where it is: nothing more will come.
FALLEN = 1e-12
STUCK_STEPS = 1000
# The integrator starts again after a failure with this part of its last step, so many times; and
# when its steps are too short, as a part of its time, to be told apart.
RESTART_STEP = 1e-3
MAX_RESTARTS = 100
FINEST_STEP = 1e-11


def flow_in_normalised_time(
    problem: Problem,
    t_end: float | None,
    times: Float | None,
    margin: float,
    rtol: float,
    max_steps: int,
) -> Trajectory:
    """Integrate until the smallest margin is as large as asked for, or to an end in true time."""
    task = problem.classification
    if t_end is None and times is None:
        rtol = min(rtol, MARGIN_ERROR / margin)
    growth = problem.network.growth_coordinates(problem.init)
    rtol = max(min(rtol, MARGIN_ERROR / _sensitivity(problem, growth)), FINEST)
    chart = polar_chart(problem, rtol) if growth is None else growth_chart(problem, growth, rtol)
    _check_start(problem, float(chart.margins(chart.start).min()))
    found = _integrate(chart, t_end, times, margin, rtol, max_steps)
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
    return Trajectory.build(
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
        misfit=wrong_share(margins[-1]),
    )


def _check_start(problem: Problem, smallest: float) -> None:
    """Refuse a start so far on the wrong side that no step is short enough for its loss."""
    if smallest < -LARGEST_MISS:
        raise ScaleNotRepresentable(
            f"at scale {problem.init.scale:g} the smallest margin starts at {smallest:.1g}, too "
            f"far on the wrong side to be followed; it must not be below {-LARGEST_MISS:g}. Use a "
            "smaller scale"
        )


def _sensitivity(problem: Problem, growth: GrowthCoordinates | None) -> float:
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


class _Flow:
    """The chart's state and, last, the clock `w = log(1 + t/T)`, T the first `dt/ds`.

    `dw/ds = (dt/ds)/(T + t)` is one at first and tends to `d log t/ds`, however large t is.
    """

    def __init__(self, chart: NormalisedChart, rtol: float) -> None:
        self.chart = chart
        self.start = np.append(chart.start, 0.0)
        self.log_unit = float(chart.motion(chart.start)[-1])
        self.rtol, self.atol = np.append(chart.rtol, rtol), np.append(chart.atol, rtol)

    def velocity(self, _: float, both: Float) -> Float:
        """Of the state and the clock."""
        motion = self.chart.motion(both[:-1])
        return np.append(motion[:-1], self._clock_rate(motion[-1], both[-1]))

    def jacobian(self, _: float, both: Float) -> Float:
        """Of the velocity."""
        assert self.chart.slope is not None
        slope = self.chart.slope(both[:-1])
        rate = self._clock_rate(self.chart.motion(both[:-1])[-1], both[-1])
        whole = np.zeros((len(both), len(both)))
        whole[:-1, :-1] = slope[:-1]
        whole[-1, :-1] = rate * slope[-1]
        whole[-1, -1] = -rate
        # In trial steps only, which are rejected for their error.
        return np.clip(np.nan_to_num(whole), -LARGEST_TRIAL, LARGEST_TRIAL)

    def log_times(self, clocks: Float) -> Float:
        """Logarithms of true times."""
        with np.errstate(divide="ignore"):
            # log(e^w − 1)
            log_times: Float = clocks + np.log(-np.expm1(-clocks)) + self.log_unit
        return log_times

    def clocks(self, times: Float) -> Float:
        """The clock at true times."""
        with np.errstate(divide="ignore"):
            clocks: Float = np.logaddexp(0.0, np.log(times) - self.log_unit)
        return clocks

    def solver(self, state: Float, first_step: float | None = None) -> OdeSolver:
        """An integrator from here; an explicit one where a Jacobian would be too large."""
        settings: dict[str, Any] = {
            "first_step": first_step,
            "rtol": self.rtol,
            "atol": self.atol,
        }
        if self.chart.slope is None:
            return DOP853(self.velocity, 0.0, state, np.inf, **settings)
        return LSODA(self.velocity, 0.0, state, np.inf, jac=self.jacobian, **settings)

    def stiff_solver(self, state: Float, first_step: float) -> OdeSolver:
        """An integrator to go on with where the flow is known to be stiff.

        LSODA begins with a method for flows that are not, and on plateaus, where the velocity is
        rounding error, finds no reason to change.
        """
        if self.chart.slope is None:
            return self.solver(state, first_step)
        return BDF(
            self.velocity,
            0.0,
            state,
            np.inf,
            jac=self.jacobian,
            first_step=first_step,
            rtol=FINEST,
            atol=self.atol + self.rtol * np.abs(state),
        )

    def _clock_rate(self, log_rate: float, clock: float) -> float:
        return float(np.exp(min(log_rate - self.log_unit - clock, LARGEST_EXPONENT)))


def _integrate(
    chart: NormalisedChart,
    t_end: float | None,
    times: Float | None,
    margin: float,
    rtol: float,
    max_steps: int,
) -> _Found:
    flow = _Flow(chart, rtol)
    wanted = None if times is None else flow.clocks(times)
    last = t_end if times is None else times[-1]
    end = np.inf if last is None else float(flow.clocks(np.asarray(last)))

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
    if not np.any(flow.velocity(0.0, flow.start)[:-1]):
        # At every time asked for it is where it started.
        states = [flow.start] * (1 if times is None else len(times))
        return result(states, Status.STATIONARY, times)
    walk = _Walk(flow)
    watch = _Watch(chart)

    def stopped(status: Status) -> _Found:
        """Before the end: what was asked for as far as it got, or else where it is."""
        if times is None or not kept:
            return result(_thinned([*kept, walk.state]), status)
        return result(kept, status, times[: len(kept)])

    for _ in range(max_steps):
        if not walk.advance():
            return stopped(Status.INTEGRATOR_FAILED)
        if wanted is not None:
            passed = (wanted > walk.before[-1]) & (wanted <= walk.state[-1])
            kept += [walk.at_clock(clock) for clock in wanted[passed]]
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


def _thinned(kept: list[Float]) -> list[Float]:
    """At most so many of the integrator's own steps."""
    keep = np.unique(np.linspace(0, len(kept) - 1, RECORDS).round().astype(int))
    return [kept[i] for i in keep]


class _Walk:
    """Steps of the integrator, started again where it fails or loses its place."""

    def __init__(self, flow: _Flow) -> None:
        self._flow = flow
        self._solver = flow.solver(flow.start)
        self._restarts = 0
        self._stride = 0.0
        self.before = self.state = flow.start

    def advance(self) -> bool:
        """One step; False where none can be taken."""
        while True:
            if 0.0 < self._stride < FINEST_STEP * float(self._solver.t):
                self._start_again()
            with warnings.catch_warnings():
                # What the integrator has to say ends up in the status.
                warnings.simplefilter("ignore", UserWarning)
                self._solver.step()
            if self._solver.status != "failed" and np.isfinite(self._solver.y).all():
                self.before, self.state = self.state, self._solver.y.copy()
                self._stride = float(self._solver.step_size)
                return True
            if self._restarts >= MAX_RESTARTS or self._stride == 0.0:
                return False
            self._restarts += 1
            self._stride *= RESTART_STEP
            self._start_again()

    def _start_again(self) -> None:
        # On a plateau the velocity of a stiff state is rounding error times a huge rate: a first
        # step must not take it along.
        fastest = float(np.abs(self._flow.velocity(0.0, self.state)).max())
        if fastest > 0:
            self._stride = min(self._stride, float(self._flow.atol.min()) / fastest)
        self._solver = self._flow.stiff_solver(self.state, self._stride)

    def at_clock(self, clock: float) -> Float:
        """The state within the last step at which the clock shows this."""
        return self.where(lambda both: float(both[-1]) - clock)

    def where(self, gap: Callable[[Float], float]) -> Float:
        """The state within the last step at which the gap closes, positive at the step's end."""
        between = self._solver.dense_output()
        first, last = float(self._solver.t_old), float(self._solver.t)

        def at(moment: float) -> float:
            return gap(between(moment))

        # Next to an end the interpolant may be on the other side by its own error.
        if at(first) >= 0:
            return self.before
        if at(last) <= 0:
            return self.state
        place = brentq(at, first, last, xtol=EPS * last, rtol=4 * EPS)
        located: Float = between(place)
        return located


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
        return self._still >= STUCK_STEPS and self._chart.at_rest(both[:-1])
