"""Logarithmic coordinates of two factors: the logarithms of their sum and their difference."""

from dataclasses import dataclass

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.mirror.charts.log_chart import LogChart

__all__ = ["SumsAndDifferences"]

# exp of this is still finite.
LARGEST_LOG = 709.0
# Below this ratio of the layers artanh loses nothing; above it their sum and difference differ by a
# factor of 3 and more, and so do not lose their logarithms' difference.
BALANCED = 0.5


@dataclass(frozen=True, eq=False)
class SumsAndDifferences(LogChart):
    """The parameters of `β = a·b` as `a + b = p₀e^w` and `a − b = r₀e^z`, state (w, z).

    In these coordinates the flow reads `ẇ = u`, `ż = −u` with `u = −∇_β loss`, and
    `β = ((a+b)² − (a−b)²)/4`.

    Attributes
    ----------
    sum_sign, sum_log
        Sign and log-modulus of `p₀`.
    difference_sign, difference_log
        The same of `r₀`.
    start_gap
        `2 log|p₀/r₀| = 4 artanh(b/a)` for `|b| ≤ |a|`: at large scale, where β is a small
        difference of large squares, the two logarithms would lose it.
    """

    sum_sign: Float
    sum_log: Float
    difference_sign: Float
    difference_log: Float
    start_gap: Float

    @classmethod
    def of(cls, init: Init) -> "SumsAndDifferences":
        """The coordinates that start at this initialisation."""
        a, b = init.direction
        larger, smaller = np.maximum(np.abs(a), np.abs(b)), np.minimum(np.abs(a), np.abs(b))
        with np.errstate(divide="ignore", invalid="ignore"):
            sums, differences = np.log(np.abs(a + b)), np.log(np.abs(a - b))
            part = np.sign(a) * np.sign(b) * (smaller / larger)
            # Layers that nearly tie are told apart by their difference, which is exact.
            balanced = np.abs(part) < BALANCED
            gap = np.where(balanced, 4 * np.arctanh(part), 2 * (sums - differences))
            return cls(
                sum_sign=np.sign(a + b),
                sum_log=sums + init.log_scale,
                difference_sign=np.sign(a - b),
                difference_log=differences + init.log_scale,
                start_gap=gap,
            )

    @property
    def dimension(self) -> int:
        """Two numbers per coefficient."""
        return 2 * len(self.sum_sign)

    @property
    def movable(self) -> Float:
        """Zero where both layers start at zero."""
        return (np.isfinite(self.sum_log) | np.isfinite(self.difference_log)).astype(np.float64)

    @property
    def lower(self) -> Float:
        """Zero where the layers start equal."""
        return np.where(self.difference_sign == 0, 0.0, -np.inf)

    @property
    def upper(self) -> Float:
        """Zero where the layers start opposite."""
        return np.where(self.sum_sign == 0, 0.0, np.inf)

    @property
    def log_time_unit(self) -> float:
        """Time as it is."""
        return 0.0

    @property
    def rates(self) -> Float | None:
        """One for the sum, minus one for the difference; zero for one that is zero."""
        return np.concatenate([np.abs(self.sum_sign), -np.abs(self.difference_sign)])

    def velocity(self, neg_grad: Float, state: Float) -> Float:
        """`(u, −u)`, wherever the state is."""
        moved = (neg_grad.T * self.movable).T
        return np.concatenate([moved, -moved])

    def velocity_gradient(self, neg_grad: Float, state: Float) -> Float:
        """Zero: the velocity does not depend on the state."""
        return np.zeros((self.dimension, self.dimension))

    def coefs(self, states: Float) -> Float:
        """`((a+b)² − (a−b)²)/4`."""
        signs, logs = self.signs_and_logs(states)
        with np.errstate(under="ignore"):
            return signs * np.exp(np.minimum(logs, LARGEST_LOG))

    def times_gradient(self, matrix: Float, state: Float) -> Float:
        """The derivative is `½(a+b)²` in w and `−½(a−b)²` in z."""
        sums, differences = self._log_squares(state)
        with np.errstate(under="ignore", over="ignore"):
            by_sum = 2 * np.exp(np.minimum(sums, LARGEST_LOG))
            by_difference = 2 * np.exp(np.minimum(differences, LARGEST_LOG))
            return np.hstack([matrix * by_sum, -matrix * by_difference])

    def signs_and_logs(self, states: Float) -> tuple[Float, Float]:
        """Of the difference of two squares, from the logarithms of both."""
        grown, shrunk = np.split(states, 2, axis=-1)
        high = np.maximum(*self._log_squares(states))
        frozen = np.isneginf(high)
        with np.errstate(invalid="ignore", divide="ignore", under="ignore"):
            gap = 2 * (grown - shrunk) + self.start_gap
            logs = np.where(frozen, -np.inf, high + np.log(-np.expm1(-np.abs(gap))))
            signs = np.where(frozen, 0.0, np.sign(gap))
        return signs, logs

    def layers(self, states: Float) -> tuple[Float, ...]:
        """Half the sum and half the difference of `a + b` and `a − b`."""
        grown, shrunk = np.split(states, 2, axis=-1)
        with np.errstate(under="ignore"):
            sums = self.sum_sign * np.exp(np.minimum(self.sum_log + grown, LARGEST_LOG))
            differences = self.difference_sign * np.exp(
                np.minimum(self.difference_log + shrunk, LARGEST_LOG)
            )
        return (sums + differences) / 2, (sums - differences) / 2

    def _log_squares(self, states: Float) -> tuple[Float, Float]:
        """`log((a±b)²/4)`."""
        grown, shrunk = np.split(states, 2, axis=-1)
        return (
            2 * (self.sum_log + grown) - np.log(4.0),
            2 * (self.difference_log + shrunk) - np.log(4.0),
        )
