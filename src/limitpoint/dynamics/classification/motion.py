"""The flow of a classification as integrators want it, in any chart and by any time change."""

from copy import copy

import numpy as np

from limitpoint.dynamics.classification.charts import FINEST, NormalisedChart
from limitpoint.dynamics.integrate.until_converged import LARGEST_TRIAL
from limitpoint.foundation.arrays import Float

__all__ = ["LARGEST_EXPONENT", "NormalisedMotion"]

# The logarithmic time's exponentials are cut off here inside the integrator's trial steps only.
LARGEST_EXPONENT = 300.0


class NormalisedMotion:
    """The chart's state and, last, the logarithmic time `w = log(1 + t/T)`.

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
        # The rounding of the start's log loss is one of log(dt/ds), and so of the logarithmic time.
        self.rtol = np.append(chart.rtol, rtol)
        self.atol = np.append(chart.atol, max(rtol, FINEST * depth))

    @property
    def has_jacobian(self) -> bool:
        """Unless it would be too large."""
        return self.chart.slope is not None

    @property
    def starts_freely(self) -> bool:
        """Velocities are at most about one by any time change.

        No bound on the first step is needed.
        """
        return True

    def reach(self, state: Float, after: Float) -> float:
        """No bound but the integrator's."""
        return np.inf

    def overrun(self, state: Float) -> float:
        """A time change that suits no longer is seen when another is asked for."""
        return -np.inf

    def reparametrised(self, state: Float) -> "NormalisedMotion | None":
        """By another time change if one suits this state better: nothing but s changes."""
        chart = self.chart.reparametrised(state[:-1])
        if chart is None:
            return None
        other = copy(self)
        other.chart = chart
        return other

    def velocity(self, both: Float) -> Float:
        """Of the state and the logarithmic time."""
        motion = self.chart.motion(both[:-1])
        return np.append(motion[:-1], self._log_time_rate(motion[-1], both[-1]))

    def jacobian(self, both: Float) -> Float:
        """The derivative of the velocity in the state."""
        assert self.chart.slope is not None
        slope = self.chart.slope(both[:-1])
        rate = self._log_time_rate(self.chart.motion(both[:-1])[-1], both[-1])
        whole = np.zeros((len(both), len(both)))
        whole[:-1, :-1] = slope[:-1]
        # Overflows in trial steps only, which are rejected for their error.
        with np.errstate(over="ignore", invalid="ignore"):
            whole[-1, :-1] = rate * slope[-1]
        whole[-1, -1] = -rate
        return np.clip(np.nan_to_num(whole), -LARGEST_TRIAL, LARGEST_TRIAL)

    def log_times(self, scaled_log_times: Float) -> Float:
        """Logarithms of true times."""
        with np.errstate(divide="ignore"):
            # log(e^w − 1)
            log_times: Float = (
                scaled_log_times + np.log(-np.expm1(-scaled_log_times)) + self.log_unit
            )
        return log_times

    def scaled_log_times(self, times: Float) -> Float:
        """The logarithmic time at true times."""
        with np.errstate(divide="ignore"):
            scaled_log_times: Float = np.logaddexp(0.0, np.log(times) - self.log_unit)
        return scaled_log_times

    def _log_time_rate(self, log_rate: float, log_time: float) -> float:
        return float(np.exp(min(log_rate - self.log_unit - log_time, LARGEST_EXPONENT)))
