"""The flow of a classification far out, where nothing counts but the direction.

At margins beyond κ only the samples with the smallest ones count, and their weights follow from
differences of order one between numbers of order κ, which float64 does not hold for long. The
direction does not ask for them: with the weights of margins divided so that the smallest is κ,
`w_i ∝ e^{−κ m_i/min m}`, its velocity is off by O(1/κ) and does not depend on the size of the
layers any more, if the network is homogeneous. So margins may grow beyond all floats. κ is called
the sharpness.
"""

from abc import ABC, abstractmethod

import numpy as np

from limitpoint.dynamics.classification.charts import FINEST, NormalisedChart, norm
from limitpoint.dynamics.classification.in_log_coordinates import logarithmic_chart
from limitpoint.dynamics.classification.in_polar_layers import polar_chart
from limitpoint.foundation.arrays import Float
from limitpoint.mirror.charts.log_chart import LogChart
from limitpoint.problem import Problem

__all__ = ["FarChart", "far_chart"]

# A weight is e^{−κ m/min m}: states must be right to this part of 1/κ for weights to be.
MARGIN_ERROR = 1e-2
# Coefficients are taken in units of e^(this times a whole number), and stay far from overflow.
UNIT = 50.0
# And no larger ones, in logarithms, are followed: their growth is rounded to 1e-9.
FARTHEST = 1e7
# Logarithmic coordinates of deep networks have velocities `e^{(L−2)·growth}`, and their starts
# times `s^{2−L}`: both are finite up to this exponent.
LARGEST_GROWTH = 600.0


class FarChart(ABC):
    """The near flow's state followed on, and what is seen of it.

    Attributes
    ----------
    rtol, atol
        Tolerances of the state.
    farthest
        The logarithm of the largest margin that the chart holds.
    """

    rtol: float
    atol: float
    farthest: float

    @abstractmethod
    def velocity(self, _: float, state: Float) -> Float:
        """`d state/ds`, by the time change of the near flow."""

    @abstractmethod
    def slope(self, _: float, state: Float) -> Float:
        """Its derivative in the state."""

    @abstractmethod
    def seen(self, state: Float) -> tuple[float, Float]:
        """The logarithm of the smallest margin, and the direction of the coefficients."""

    def layers(self, state: Float) -> tuple[Float, ...] | None:
        """The layers divided by the norm of all of them, where they are the state."""
        return None


class FarLogChart(FarChart):
    """In logarithmic coordinates.

    They count from the start, and a start of another scale grows alike: the chart of one so small
    that the coefficients are of order one is exact.
    """

    def __init__(self, problem: Problem, growth: LogChart, sharpness: float) -> None:
        self._problem, self._growth, self._sharpness = problem, growth, sharpness
        self._charts: dict[int, NormalisedChart] = {}
        self.rtol, self.atol = FINEST, MARGIN_ERROR / sharpness
        degree = problem.network.degree
        # The layers have grown from s to the L-th root of the margin.
        room = LARGEST_GROWTH / (degree - 2) if degree > 2 else np.inf
        self.farthest = degree * (room + min(problem.init.log_scale, 0.0))

    def velocity(self, _: float, state: Float) -> Float:
        """By the chart of the unit that suits the state."""
        return self._chart(self._unit(state)).motion(state)[:-1]

    def slope(self, _: float, state: Float) -> Float:
        """By the chart of the unit that suits the state."""
        slope = self._chart(self._unit(state)).slope
        assert slope is not None, "a far flow has its Jacobian"
        return np.nan_to_num(slope(state)[:-1])  # overflow in trial steps, which are rejected

    def seen(self, state: Float) -> tuple[float, Float]:
        """In that unit, which is then added."""
        unit = self._unit(state)
        chart = self._chart(unit)
        return _seen(chart.margins(state), chart.coefs(state), unit * UNIT)

    def _unit(self, state: Float) -> int:
        """The largest coefficient in units of e^UNIT."""
        largest = float(self._growth.signs_and_logs(state)[1].max())
        # Trial steps may go anywhere.
        largest = min(np.nan_to_num(largest, nan=0.0), self.farthest, FARTHEST)
        return max(0, int(largest // UNIT))

    def _chart(self, unit: int) -> NormalisedChart:
        if unit not in self._charts:
            network, init = self._problem.network, self._problem.init
            smaller = init.at_scale(log_scale=init.log_scale - unit * UNIT / network.degree)
            growth = network.log_chart(smaller)
            assert growth is not None, "as at the scale of the problem"
            self._charts[unit] = logarithmic_chart(
                self._problem, growth, self.atol, self._sharpness
            )
        return self._charts[unit]


class FarPolar(FarChart):
    """In the layers `e^ℓ v`: the velocity is that at ℓ = 0."""

    farthest = np.inf

    def __init__(self, problem: Problem, sharpness: float) -> None:
        self.rtol = self.atol = MARGIN_ERROR / sharpness
        self._chart = polar_chart(problem, self.rtol, self.atol, sharpness)
        self._degree = problem.network.degree

    def velocity(self, _: float, state: Float) -> Float:
        """Of v and of ℓ."""
        return self._chart.motion(_at_size_one(state))[:-1]

    def slope(self, _: float, state: Float) -> Float:
        """With nothing that depends on ℓ."""
        assert self._chart.slope is not None, "a far flow has its Jacobian"
        slope = np.nan_to_num(self._chart.slope(_at_size_one(state))[:-1])
        slope[:, -1] = 0.0
        return slope

    def seen(self, state: Float) -> tuple[float, Float]:
        """At size one, whose logarithm is then added."""
        place = _at_size_one(state)
        margins, coefs = self._chart.margins(place), self._chart.coefs(place)
        return _seen(margins, coefs, self._degree * float(state[-1]))

    def layers(self, state: Float) -> tuple[Float, ...]:
        """Of norm one as they are."""
        return self._chart.layers(_at_size_one(state))


def far_chart(problem: Problem, sharpness: float) -> FarChart:
    """The chart whose states are those of the near flow."""
    growth = problem.network.log_chart(problem.init)
    if growth is None:
        return FarPolar(problem, sharpness)
    return FarLogChart(problem, growth, sharpness)


def _at_size_one(state: Float) -> Float:
    return np.append(state[:-1], 0.0)


def _seen(margins: Float, coefs: Float, log_unit: float) -> tuple[float, Float]:
    smallest, size = float(margins.min()), norm(coefs)
    log_margin = float(np.log(smallest)) + log_unit if smallest > 0 else -np.inf
    return log_margin, coefs / size if 0 < size < np.inf else np.full_like(coefs, np.nan)
