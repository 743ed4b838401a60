"""A flow in logarithmic coordinates, reparametrised by growth instead of time.

A deep network of tiny scale s goes from plateau to plateau. The coefficients that are visible sit
where the loss, without the others, is least; those grow by themselves, more and more quickly, as
`−log(T − t)/(L − 2)`. In time the one that activates would have to be followed through ever shorter
parts of a plateau of length `s^(2−L)`, some sixty steps for each factor e that is left. So the flow
is followed along

    dσ = ρ dt,    ρ = ‖velocities at a negative gradient of one‖,

with the time as one more number of the state: by that time change a growth that nothing hinders is
a straight line, however long. A visible coefficient moves up to `s^(2−L)` times as readily as an
inactive one, and would set ρ where it is at rest; so on a plateau what is visible is held, and ρ is
that of the others, until one of these becomes visible too.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from limitpoint.dynamics.classification.charts import norm
from limitpoint.dynamics.integrate.stepper import LARGEST_TRIAL
from limitpoint.foundation.arrays import Float
from limitpoint.mirror.charts.log_chart import LogChart

__all__ = ["LogTimeChange"]

# Coefficients are held when they are this close to their balance, relative: to themselves, and what
# is missing from the fit to the residual. The negative gradient in the others, and so the time at
# which the plateau ends, is then off by as much. As large a part of the residual is what the others
# may add to the fit before the held ones are let go. Both are what the integrator may be off by in
# a step.
BALANCED = 1e-10
# By so much more, relative, so that a place where it is can be found between others.
CLEARLY = 1e-3
# A residual this far below the data is the rounding of the fit: nothing is inactive behind it.
FITTED = 1e-10
# Coefficients are held where what is left moves this much less readily: else there is nothing to
# gain over the steps that it takes to start the integrator again.
SLOW = 1e-2
# Matrix products add a few units of rounding to those of the coefficients.
ROUNDING = 8.0 * float(np.finfo(np.float64).eps)

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LogTimeChange:
    """The motion of a state in logarithmic coordinates, the duals and, last, the time.

    Attributes
    ----------
    growth
        The coordinates.
    rows, target, factor
        Data: the negative gradient is `factor · rowsᵀ(target − rows β)`.
    owners
        The coefficient that each component of the growth belongs to.
    start_rate
        ρ at the start.
    held
        Which coefficients are held.
    """

    growth: LogChart
    rows: Float
    target: Float
    factor: float
    owners: NDArray[np.intp]
    start_rate: float
    held: Mask

    @classmethod
    def of(cls, growth: LogChart, rows: Float, target: Float, factor: float) -> "LogTimeChange":
        """From the start, where nothing is held."""
        n, start = rows.shape[1], np.zeros(growth.dimension)
        return cls(
            growth=growth,
            rows=rows,
            target=target,
            factor=factor,
            owners=np.argmax(growth.velocity(np.eye(n), start) != 0, axis=1),
            start_rate=norm(growth.velocity(np.ones(n), start)) or 1.0,
            held=np.zeros(n, dtype=bool),
        )

    @property
    def has_jacobian(self) -> bool:
        """Always: charts have derivatives of their own."""
        return True

    @property
    def starts_freely(self) -> bool:
        """No: what is let go is stiff, and its velocity the rounding of its balance."""
        return False

    def velocity(self, state: Float) -> Float:
        """`d state/dσ`, the last of it `dt/dσ = 1/ρ`."""
        return self._velocity_and_rates(state)[0]

    def jacobian(self, state: Float) -> Float:
        """Of the velocity v/ρ: `v'/ρ − v/ρ ⊗ (log ρ)'`."""
        growth, size = self.growth, len(self.owners)
        moved, rates = self._velocity_and_rates(state)
        rate = self._rate(rates)
        whole = np.zeros((len(state), len(state)))
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            # Divided beforehand: rates alone may be close to the largest float.
            change = growth.times_gradient(-self.factor * self.rows, state[:size])
            change = np.clip(change, -LARGEST_TRIAL, LARGEST_TRIAL) / rate
            neg_grad = self._neg_grad(self._coefs_and_residual(state)[1])
            whole[:size, :size] = growth.velocity(self.rows.T @ change, state[:size])
            whole[:size, :size] += growth.velocity_gradient(neg_grad / rate, state[:size])
            whole[:size][self._still] = 0.0
            whole[size:-1, :size] = change
            whole[:, :size] -= np.outer(moved, self._log_rate_gradient(state, rates))
        # In trial steps only, which are rejected for their error.
        return np.clip(np.nan_to_num(whole), -LARGEST_TRIAL, LARGEST_TRIAL)

    def reach(self, state: Float, after: Float) -> float:
        """Half the way, in logarithms, to the ρ of the start while ρ falls.

        A coefficient that has left shrinks along a straight line too, and turns at its start, where
        it grows on the other side; others that have waited grow meanwhile. A step across all of
        that would see the same slopes on both sides.
        """
        size = len(self.owners)
        if np.abs(after[:size] - state[:size]).max() <= 1:
            return np.inf
        moved, rates = self._velocity_and_rates(state)
        slope = float(self._log_rate_gradient(state, rates) @ moved[: len(rates)])
        if slope >= 0:
            return np.inf
        return max(1.0, 0.5 * float(np.log(self._rate(rates) / self.start_rate))) / -slope

    def overrun(self, state: Float) -> float:
        """Positive where one that is not held is clearly visible beside those that are."""
        return self._excess(state) - CLEARLY

    def reparametrised(self, state: Float) -> "LogTimeChange | None":
        """Hold what is visible where it is in balance; let go when something else is visible."""
        if self.held.any():
            return replace(self, held=np.zeros_like(self.held)) if self._excess(state) > 0 else None
        coefs, left = self._coefs_and_residual(state)
        visible = np.abs(coefs) * self._norms > BALANCED * norm(left)
        if not visible.any() or visible.all() or norm(left) <= FITTED * norm(self.target):
            return None
        rates = self._velocity_and_rates(state)[1]
        if norm(rates[~visible[self.owners]]) > SLOW * norm(rates):
            return None
        if not self._is_balanced(state, coefs, left, visible):
            return None
        return replace(self, held=visible)

    def _is_balanced(self, state: Float, coefs: Float, left: Float, visible: Mask) -> bool:
        """Whether these fit what they can of the data, up to rounding of the growth."""
        growth = state[: len(self.owners)]
        slopes = np.abs(self.growth.times_gradient(np.eye(len(coefs)), growth))
        rounding = ROUNDING * (np.abs(self.rows) @ (slopes @ (1.0 + np.abs(growth))))
        columns = self.rows[:, visible]
        inverse = np.linalg.pinv(columns)
        missing = inverse @ left
        if norm(columns @ missing) > BALANCED * norm(left) + norm(rounding):
            return False
        allowed = BALANCED * np.abs(coefs[visible]) + np.abs(inverse) @ rounding
        return bool((np.abs(missing) <= allowed).all())

    def _excess(self, state: Float) -> float:
        """Logarithm of the largest of what is not held, by what may be left out of account."""
        if not self.held.any():
            return -np.inf
        coefs, left = self._coefs_and_residual(state)
        most = float((np.abs(coefs) * self._norms)[~self.held].max())
        with np.errstate(divide="ignore"):
            return float(np.log(most) - np.log(BALANCED * norm(left)))

    def _velocity_and_rates(self, state: Float) -> tuple[Float, Float]:
        """`d state/dσ`, and the velocities in time where all negative gradients are 1."""
        left = self._coefs_and_residual(state)[1]
        neg_grad = self._neg_grad(left)
        # Of size one at most, as the other: products with rates do not overflow.
        size = float(np.abs(neg_grad).max()) or 1.0
        neg_grads = np.ones((len(neg_grad), 2))
        neg_grads[:, 0] = neg_grad / size
        both = self.growth.velocity(neg_grads, state[: len(self.owners)])
        moved, rates = both[:, 0], both[:, 1]
        moved[self._still] = 0.0
        rate = self._rate(rates)
        moved = moved / rate * size
        return np.concatenate([moved, self.factor / rate * left, [1.0 / rate]]), rates

    def _neg_grad(self, left: Float) -> Float:
        neg_grad: Float = self.factor * (left @ self.rows)
        return neg_grad

    def _coefs_and_residual(self, state: Float) -> tuple[Float, Float]:
        coefs = self.growth.coefs(state[: len(self.owners)])
        coefs = np.clip(coefs, -LARGEST_TRIAL, LARGEST_TRIAL)
        return coefs, self.target - self.rows @ coefs

    @cached_property
    def _still(self) -> Mask:
        """The components of the growth that are held."""
        still: Mask = self.held[self.owners]
        return still

    @cached_property
    def _norms(self) -> Float:
        norms: Float = np.linalg.norm(self.rows, axis=0)
        return norms

    def _log_rate_gradient(self, state: Float, rates: Float) -> Float:
        """The derivative of log ρ in the growth."""
        each, rate = np.ones(self.rows.shape[1]), self._rate(rates)
        bend = self.growth.velocity_gradient(each, state[: len(rates)])[~self._still]
        gradient: Float = (rates[~self._still] / rate) @ (bend / rate)
        return gradient

    def _rate(self, rates: Float) -> float:
        """ρ, of what is not held."""
        return norm(rates[~self._still]) or 1.0
