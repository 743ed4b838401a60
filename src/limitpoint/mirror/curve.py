"""Mirror maps given along their curve rather than as functions of the clock.

Where the clock of a coefficient has a pole (a finite clock takes it to infinity, as in networks of
three layers and more), or where the map is known from an ODE only, both the coefficient and the
clock are functions of a third number: the position σ on the coefficient's own curve, zero at the
start and growing like the logarithm of the parameters. Positions stay of order log(1/scale) where
a clock as a float64 would run into its pole, so solvers work with positions; clocks follow.

Clocks along the curve are given in units of `e^log_clock_unit` (for a network of degree L ≥ 3 that
is `s^(2−L)`), in which they are of order 1 at every scale.
"""

import math
from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from limitpoint.arrays import Float
from limitpoint.mirror.base import MirrorMap, MirrorPoint

__all__ = ["CurveMap", "CurvePoint"]

# A coefficient of order 1 stands at a distance of order 1 from its pole, and a flow resolves clocks
# (of the size of their unit) to 1e-12 relative at tolerable cost: where clocks are longer than this
# many distances, it would not reach the relative accuracy 1e-10.
LONGEST_RESOLVED = float(np.log(1e2))
# Clocks below this part of the largest are as good as zero.
SMALLEST = 1e-30


class CurvePoint(NamedTuple):
    """Where each coefficient is on its curve, and how fast it moves along it.

    Attributes
    ----------
    coefs
        Coefficients, in the unit asked for.
    coef_rates
        Their derivatives in the position, in the same unit; positive.
    clocks
        Clocks, in units of `e^log_clock_unit`.
    clock_rates
        Their derivatives in the position; positive.
    """

    coefs: Float
    coef_rates: Float
    clocks: Float
    clock_rates: Float


class CurveMap(MirrorMap):
    """A mirror map whose coefficients and clocks are functions of a position.

    Positions have the coefficient as their last axis, like clocks and coefficients. A frozen
    coefficient (one that can never move) has the coefficient rate 0, and its position is its clock.
    """

    @property
    @abstractmethod
    def log_clock_unit(self) -> float | Float:
        """Logarithm of the unit of the clocks along the curve."""

    @abstractmethod
    def along(self, positions: Float, log_unit: float = 0.0) -> CurvePoint:
        """Coefficients (in units of `e^log_unit`), clocks, and their derivatives.

        Accurate relative to their size: clocks near the start, where they vanish, and coefficients
        and rates up to the pole.
        """

    @abstractmethod
    def positions(self, clocks: Float) -> Float:
        """Positions at given clocks, in units of `e^log_clock_unit`; ±∞ at and beyond a pole."""

    @abstractmethod
    def positions_of(self, coefs: Float) -> Float:
        """Positions of given coefficients; NaN for what the coefficient cannot be."""

    @abstractmethod
    def signs_and_logs_at(self, positions: Float) -> tuple[Float, Float]:
        """Signs and log-moduli of the coefficients at given positions."""

    @abstractmethod
    def conjugates_at(self, positions: Float) -> Float:
        """`Ψ̂` at given positions, zero where the coefficient is zero."""

    @property
    def is_scale_free(self) -> bool:
        """Whether one position is the same multiple of the start at every scale."""
        return True

    def resolves(self, size: float) -> bool:
        """Whether clocks, next to a pole, are resolved beyond the tolerance of a flow.

        A coefficient is the power `−L/(L−2)` of the distance from its pole.
        """
        power = (self.degree - 2) / self.degree
        length = self.log_clock_unit + power * math.log(max(size, 1.0))
        return bool(np.all(length <= LONGEST_RESOLVED))

    @property
    def poles(self) -> tuple[Float, Float]:
        """Clocks, in their unit, at which the coefficients are −∞ and ∞; else infinite themselves.

        As far as they are known: a table may have others beyond its end.
        """
        return np.full_like(self.lower, -np.inf), np.full_like(self.upper, np.inf)

    def smallest_clocks(self, point: CurvePoint) -> Float:
        """Below these sizes, at a point on the curves, clocks need no digits of their own.

        From a large start coefficients change over clocks far below what a step of one along the
        curve makes of them: only what is nothing beside the largest counts as zero.
        """
        return np.full_like(point.clocks, SMALLEST * float(np.abs(point.clocks).max(initial=0.0)))

    @property
    def unknown(self) -> tuple[str, ...]:
        """Where curves end before their coefficients do, and why: a sentence part for each."""
        return ()

    @property
    def offsets(self) -> Float:
        """The numbers to which positions are added in float64, in modulus: they set its rounding.

        Zero where a coefficient near its start is as exact as its position is.
        """
        return np.ones_like(self.lower)

    @property
    def clock_unit(self) -> float | Float:
        """Unit of the clocks along the curve; infinite where float64 cannot hold it."""
        with np.errstate(over="ignore", under="ignore"):
            unit: float | Float = np.exp(self.log_clock_unit)
        return unit

    def evaluate(self, clocks: Float) -> MirrorPoint:
        """`Ψ`, `Ψ'` and `Ψ̂` by way of the positions."""
        with np.errstate(all="ignore"):
            positions = self.positions(np.asarray(clocks) / self.clock_unit)
            coefs, slopes = self._at(positions)
            return MirrorPoint(coefs, slopes, self.conjugates_at(positions))

    def coefs_and_slopes(self, clocks: Float) -> tuple[Float, Float]:
        """`Ψ` and `Ψ'` by way of the positions."""
        with np.errstate(all="ignore"):
            return self._at(self.positions(np.asarray(clocks) / self.clock_unit))

    def _at(self, positions: Float) -> tuple[Float, Float]:
        point = self.along(positions)
        slopes = point.coef_rates / (point.clock_rates * self.clock_unit)
        beyond = np.isinf(positions) & np.isinf(point.coefs)
        return point.coefs, np.where(beyond, np.inf, slopes)

    def signs_and_logs(self, clocks: Float) -> tuple[Float, Float]:
        """Signs and log-moduli of `Ψ(ξ)`."""
        return self.signs_and_logs_at(self.positions(np.asarray(clocks) / self.clock_unit))

    def start_coefs(self) -> Float:
        """The coefficients at position 0."""
        return self.along(np.zeros_like(self.lower)).coefs

    def slopes_of(self, coefs: Float) -> Float:
        """`Ψ'` by way of the positions, which are accurate next to a pole too."""
        with np.errstate(all="ignore"):
            point = self.along(self.positions_of(coefs))
            slopes: Float = point.coef_rates / (point.clock_rates * self.clock_unit)
        return slopes

    def growth_of(self, coefs: Float) -> Float:
        """The positions."""
        return self.positions_of(coefs)

    def clocks(self, coefs: Float) -> Float:
        """`ξ = Q'(β)` by way of the positions."""
        return self.clocks_and_potential(coefs)[0]

    def potential(self, coefs: Float) -> Float:
        """`Q = βξ − Ψ̂`."""
        return self.clocks_and_potential(coefs)[1]

    def clocks_and_potential(self, coefs: Float) -> tuple[Float, Float]:
        """Both from one inversion."""
        return self.clocks_potential_and_slopes(coefs)[:2]

    def clocks_potential_and_slopes(self, coefs: Float) -> tuple[Float, Float, Float]:
        """All three from one inversion."""
        positions = self.positions_of(coefs)
        with np.errstate(all="ignore"):
            point = self.along(positions)
            along = point.clocks
            slopes: Float = point.coef_rates / (point.clock_rates * self.clock_unit)
            clocks: Float = self.clock_unit * along
            linear = np.asarray(coefs * clocks)
            # Float64 may hold that product where it does not hold the clock.
            held = np.isfinite(linear) & (linear != 0)
            logs = np.log(np.abs(coefs)) + np.log(np.abs(along)) + self.log_clock_unit
            signs = np.sign(coefs) * np.sign(along)
            linear = np.where(held, linear, signs * np.exp(logs))
            linear = np.where(np.asarray(coefs) == 0, 0.0, linear)
            return clocks, np.asarray(linear - self.conjugates_at(positions)), slopes
