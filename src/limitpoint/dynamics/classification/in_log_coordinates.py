"""The flow of a classification in logarithmic coordinates, in the time of those that lead.

A deep network of tiny scale s goes from plateau to plateau: the coefficients that are visible sit
where the loss, without the others, is least, while those grow from s by themselves, more and more
quickly, as `−log(T − t)/(L − 2)`. A visible coordinate moves `s^(2−L)` times as readily as an
inactive one. By its time change the one that activates would have to be followed through ever
shorter parts of a plateau of length `s^(2−L)`: some hundred steps for each factor e that is left.
So on a plateau what is in balance is held, until its balance is disturbed, and ρ is taken over the
coordinates that lead. By that time change a growth that nothing hinders is a straight line, however
long.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from limitpoint.dynamics.classification.charts import FINEST, NormalisedChart, norm, sharpening
from limitpoint.dynamics.integrate.until_converged import LARGEST_JACOBIAN, LARGEST_TRIAL
from limitpoint.foundation.arrays import Float
from limitpoint.mirror.charts.log_chart import LogChart
from limitpoint.problem import Problem
from limitpoint.tasks import Classification

__all__ = ["logarithmic_chart"]

# A negative gradient whose terms cancel to this, relative, at a standstill of the loss, is zero.
DRIVEN = 1e-8
# A negative gradient that has cancelled to this, relative, holds its coordinate in place; and one
# that has changed by as much lets it go. What is held is off by as much, relative, for the last
# e-fold of the growth that disturbs it: in the plateau's length an error far smaller still.
# Rounding of a growth of 700 at margins of 30 leaves 1e-11 of a balance.
BALANCED = 1e-10
# Coordinates are held where what is left then moves this much less readily: else there is little to
# gain.
SLOW = 1e-3

Mask = NDArray[np.bool_]


def logarithmic_chart(
    problem: Problem, growth: LogChart, atol: float, sharpness: float | None = None
) -> NormalisedChart:
    """Logarithms of growing combinations of the parameters: exact at any scale.

    Their velocity is linear in the negative gradient `Σ_i w_i y_i x_i`; ρ is the norm of that at a
    negative gradient of one in every coefficient. With a sharpness the weights are those of margins
    of that size (see `far_charts`).
    """
    task, everything = problem.classification, np.ones(growth.dimension, dtype=bool)
    return _LogChart(task, growth, atol, everything, np.zeros(task.n_features), sharpness).chart


@dataclass(frozen=True, eq=False)
class _LogChart:
    """The motion of the components that lead, by their time change; the others are held.

    Attributes
    ----------
    leading
        Which components lead.
    at_hold
        What was left of each coefficient's negative gradient, relative to its terms, when the
        others were held.
    """

    task: Classification
    growth: LogChart
    atol: float
    leading: Mask
    at_hold: Float
    sharpness: float | None = None

    @property
    def chart(self) -> NormalisedChart:
        """As the integrator wants it."""
        growth, dimension = self.growth, self.growth.dimension
        return NormalisedChart(
            start=np.zeros(dimension),
            motion=self.motion,
            slope=self.slope if dimension <= LARGEST_JACOBIAN else None,
            margins=self.margins,
            log_loss=lambda state: float(self.task.log_loss(self.margins(state))),
            coefs=growth.coefs,
            layers=growth.layers,
            signs_and_logs=growth.signs_and_logs,
            # A growth off by δ, however long it was, moves a coefficient by a multiple of δ of
            # itself.
            rtol=np.full(dimension, FINEST),
            atol=np.full(dimension, self.atol),
            at_rest=self.at_rest,
            reparametrised=self.reparametrised,
        )

    def margins(self, state: Float) -> Float:
        """The margins of the samples at one state."""
        coefs = np.clip(self.growth.coefs(state), -LARGEST_TRIAL, LARGEST_TRIAL)
        margins: Float = self._signed @ coefs
        return margins

    def motion(self, state: Float) -> Float:
        """`d state/ds` and `log(dt/ds)`."""
        margins = self.margins(state)
        weights = self.task.weights(self._seen(margins) * margins)
        size, rate = float(weights @ self._norms), self._rate(self._rates(state))
        moved = self.growth.velocity(self._signed.T @ (weights / size), state)
        log_time = self.growth.log_time_unit - np.log(size) - np.log(rate)
        return np.append(
            np.where(self.leading, moved, 0.0) / rate, log_time - self.task.log_loss(margins)
        )

    def slope(self, state: Float) -> Float:
        """The derivative of the motion."""
        growth, margins = self.growth, self.margins(state)
        seen = self._seen(margins)
        weights = self.task.weights(seen * margins)
        size, rates = float(weights @ self._norms), self._rates(state)
        rate = self._rate(rates)
        change = growth.times_gradient(self._signed, state)
        change = np.clip(change, -LARGEST_TRIAL, LARGEST_TRIAL)
        turned = seen * (_curvature(self.task, seen * margins, weights) @ change)
        log_size = self._norms @ turned / size
        bend = growth.velocity_gradient(self._each, state)[self.leading]
        log_rate = (rates[self.leading] / rate) @ (bend / rate)
        neg_grad = self._signed.T @ (weights / size)
        moved = np.where(self.leading, growth.velocity(neg_grad, state), 0.0) / rate
        # Divided beforehand where rates alone may be close to the largest float.
        large, small = max(rate, 1.0), min(rate, 1.0)
        whole = growth.velocity(self._signed.T @ (turned / size / large), state)
        whole += growth.velocity_gradient(neg_grad / large, state)
        whole = np.where(self.leading[:, None], whole, 0.0) / small
        whole -= np.outer(moved, log_size + log_rate)
        return np.vstack([whole, weights @ change - log_size - log_rate])

    def at_rest(self, state: Float) -> bool:
        """No coefficient is driven, other than towards a bound that it never reaches."""
        weights = self.task.weights(self.margins(state))
        neg_grad, held = weights @ self._signed, DRIVEN * (weights @ np.abs(self._signed))
        rising = (neg_grad > held) & (self.growth.upper > 0)
        falling = (neg_grad < -held) & (self.growth.lower < 0)
        return not (rising | falling).any()

    def reparametrised(self, state: Float) -> NormalisedChart | None:
        """Hold what is in balance if nothing else moves readily; let go what is so no more."""
        weights = self.task.weights(self.margins(state))
        most = weights @ np.abs(self._signed)
        share = (weights @ self._signed) / np.where(most > 0, most, 1.0)
        if not self.leading.all():
            disturbed = np.abs(share - self.at_hold) > BALANCED
            if (self._moved_by(disturbed, state) & ~self.leading).any():
                everything = np.ones_like(self.leading)
                return replace(self, leading=everything, at_hold=0.0 * share).chart
        rates = self._rates(state)
        leading = self.leading & self._moved_by(np.abs(share) > BALANCED, state)
        if not leading.any() or norm(rates[leading]) > SLOW * self._rate(rates):
            return None
        return replace(self, leading=leading, at_hold=share).chart

    def _moved_by(self, driven: Mask, state: Float) -> Mask:
        """Which components of the state move when these coefficients are driven."""
        return np.asarray(self.growth.velocity(driven.astype(np.float64), state) != 0)

    def _seen(self, margins: Float) -> float:
        """What the margins are multiplied by before the weights are told of them."""
        return 1.0 if self.sharpness is None else float(sharpening(margins, self.sharpness))

    @cached_property
    def _signed(self) -> Float:
        return self.task.signed

    @cached_property
    def _norms(self) -> Float:
        norms: Float = np.linalg.norm(self.task.X, axis=1)
        return norms

    @cached_property
    def _each(self) -> Float:
        return np.ones(self.task.n_features)

    def _rates(self, state: Float) -> Float:
        """Velocities at a negative gradient of one in every coefficient."""
        return self.growth.velocity(self._each, state)

    def _rate(self, rates: Float) -> float:
        """ρ, of what leads."""
        return norm(rates[self.leading]) or 1.0


def _curvature(task: Classification, margins: Float, weights: Float) -> Float:
    """`∂w_i/∂m_j` of the weights `w_i = −∂ log loss/∂m_i`."""
    bend: float | Float = 1.0
    if task.loss_name == "logistic":
        with np.errstate(over="ignore"):
            bend = 1.0 / (1.0 + np.exp(-margins))
    return np.outer(weights, weights) - np.diag(weights * bend)
