"""Steps of an integrator along the flow of a classification, in any chart and at any pace."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import BDF, DOP853, LSODA, OdeSolver
from scipy.optimize import brentq

from limitpoint.arrays import Float
from limitpoint.dynamics.integrate import LARGEST_TRIAL
from limitpoint.dynamics.normalised_charts import EPS, FINEST, NormalisedChart

__all__ = ["LARGEST_EXPONENT", "NormalisedFlow", "Walk"]

# The clock's exponentials are cut off here inside the integrator's trial steps only.
LARGEST_EXPONENT = 300.0
# The integrator starts again after a failure with this part of its last step, so many times; and
# when its steps are too short, as a part of its time, to be told apart.
RESTART_STEP = 1e-3
MAX_RESTARTS = 100
FINEST_STEP = 1e-11
# Whether another pace would be better is asked after so many steps: it costs as much as one.
SAME_PACE = 10


class NormalisedFlow:
    """The chart's state and, last, the clock `w = log(1 + t/T)`.

    `dw/ds = (dt/ds)/(T + t)` tends to `d log t/ds`, however large t is. T is about the time in
    which the log loss changes at first by itself, or by one: the first `dt/ds`, or less where
    margins are more sensitive than large.
    """

    def __init__(self, chart: NormalisedChart, rtol: float, sensitivity: float) -> None:
        self.chart = chart
        self.start = np.append(chart.start, 0.0)
        depth = max(1.0, abs(chart.log_loss(chart.start)))
        shorter = max(1.0, sensitivity / depth)
        self.log_unit = float(chart.motion(chart.start)[-1] - np.log(shorter))
        # The rounding of the start's log loss is one of log(dt/ds), and so of the clock.
        self.rtol = np.append(chart.rtol, rtol)
        self.atol = np.append(chart.atol, max(rtol, FINEST * depth))

    def repace(self, state: Float) -> bool:
        """Go on by another pace if one suits this state better: nothing but s changes."""
        chart = self.chart.repaced(state[:-1])
        if chart is not None:
            self.chart = chart
        return chart is not None

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


class Walk:
    """Steps of the integrator, started again where it fails or loses its place."""

    def __init__(self, flow: NormalisedFlow) -> None:
        self._flow = flow
        self._solver = flow.solver(flow.start)
        self._restarts = 0
        self._stride = 0.0
        self._steps = 0
        self.before = self.state = flow.start

    def advance(self) -> bool:
        """One step; False where none can be taken."""
        self._steps += 1
        if self._steps % SAME_PACE == 0 and self._flow.repace(self.state):
            self._solver = self._flow.solver(self.state)
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
