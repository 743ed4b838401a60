"""Mirror maps given along their curve rather than as functions of the mirror coordinate.

Where the mirror coordinate of a coefficient has a pole (a finite mirror coordinate takes it to
infinity, as in networks of three layers and more), or where the map is known from an ODE only, both
the coefficient and the mirror coordinate are functions of a third number: the curve parameter σ on
the coefficient's own curve, zero at the start and growing like the logarithm of the parameters.
Curve parameters stay of order log(1/scale) where a mirror coordinate as a float64 would run into
its pole, so solvers work with curve parameters; mirror coordinates follow.

Mirror coordinates along the curve are given in units of `e^log_mirror_unit` (for a network of
degree L ≥ 3 that is `s^(2−L)`), in which they are of order 1 at every scale.
"""

import math
from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.mirror.mirror_map import MirrorMap, MirrorPoint

__all__ = ["CurveMap", "CurvePoint"]

# A coefficient of order 1 stands at a distance of order 1 from its pole, and a flow resolves mirror
# coordinates (of the size of their unit) to 1e-12 relative at tolerable cost: where they
# are larger than this many distances, it would not reach the relative accuracy 1e-10.
LONGEST_RESOLVED = float(np.log(1e2))
# Mirror coordinates below this part of the largest are as good as zero.
SMALLEST = 1e-30


class CurvePoint(NamedTuple):
    """Where each coefficient is on its curve, and how fast it moves along it.

    Attributes
    ----------
    coefs
        Coefficients, in the unit asked for.
    coef_rates
        Their derivatives in the curve parameter, in the same unit; positive.
    mirror
        Mirror coordinates, in units of `e^log_mirror_unit`.
    mirror_rates
        Their derivatives in the curve parameter; positive.
    """

    coefs: Float
    coef_rates: Float
    mirror: Float
    mirror_rates: Float


class CurveMap(MirrorMap):
    """A mirror map whose coefficients and mirror coordinates are functions of a curve parameter.

    Curve parameters have the coefficient as their last axis, like mirror coordinates and
    coefficients. A frozen coefficient (one that can never move) has the coefficient rate 0, and its
    curve parameter is its mirror coordinate.
    """

    @property
    @abstractmethod
    def log_mirror_unit(self) -> float | Float:
        """Logarithm of the unit of the mirror coordinates along the curve."""

    @abstractmethod
    def along(self, curve_params: Float, log_unit: float = 0.0) -> CurvePoint:
        """Coefficients (in units of `e^log_unit`), mirror coordinates, and their derivatives.

        Accurate relative to their size: mirror coordinates near the start, where they vanish, and
        coefficients and rates up to the pole.
        """

    @abstractmethod
    def curve_params(self, xi: Float) -> Float:
        """Curve parameters at given mirror coordinates, in units of `e^log_mirror_unit`.

        ±∞ at and beyond a pole.
        """

    @abstractmethod
    def curve_params_of(self, coefs: Float) -> Float:
        """Curve parameters of given coefficients; NaN for what the coefficient cannot be."""

    @abstractmethod
    def signs_and_logs_at(self, curve_params: Float) -> tuple[Float, Float]:
        """Signs and log-moduli of the coefficients at given curve parameters."""

    @abstractmethod
    def conjugates_at(self, curve_params: Float) -> Float:
        """`Ψ̂` at given curve parameters, zero where the coefficient is zero."""

    @property
    def is_scale_free(self) -> bool:
        """Whether one curve parameter is the same multiple of the start at every scale."""
        return True

    def resolves(self, size: float) -> bool:
        """Whether mirror coordinates, next to a pole, are resolved beyond the tolerance of a flow.

        A coefficient is the power `−L/(L−2)` of the distance from its pole.
        """
        power = (self.degree - 2) / self.degree
        length = self.log_mirror_unit + power * math.log(max(size, 1.0))
        return bool(np.all(length <= LONGEST_RESOLVED))

    @property
    def poles(self) -> tuple[Float, Float]:
        """Mirror coordinates, in their unit, at which coefficients are −∞ and ∞; else infinite.

        As far as they are known: a table may have others beyond its end.
        """
        return np.full_like(self.lower, -np.inf), np.full_like(self.upper, np.inf)

    def smallest_mirror(self, point: CurvePoint) -> Float:
        """Sizes below which mirror coordinates, at a point, need no digits of their own.

        From a large start coefficients change over mirror coordinates far below what a step of one
        along the curve makes of them: only what is nothing beside the largest counts as zero.
        """
        return np.full_like(point.mirror, SMALLEST * float(np.abs(point.mirror).max(initial=0.0)))

    @property
    def unknown(self) -> tuple[str, ...]:
        """Where curves end before their coefficients do, and why: a sentence part for each."""
        return ()

    @property
    def offsets(self) -> Float:
        """The numbers to which curve parameters are added, in modulus: they set their rounding.

        Zero where a coefficient near its start is as exact as its curve parameter is.
        """
        return np.ones_like(self.lower)

    @property
    def mirror_unit(self) -> float | Float:
        """Unit of the mirror coordinates along the curve; infinite where float64 cannot hold it."""
        with np.errstate(over="ignore", under="ignore"):
            unit: float | Float = np.exp(self.log_mirror_unit)
        return unit

    def evaluate(self, xi: Float) -> MirrorPoint:
        """`Ψ`, `Ψ'` and `Ψ̂` by way of the curve parameters."""
        with np.errstate(all="ignore"):
            curve_params = self.curve_params(np.asarray(xi) / self.mirror_unit)
            coefs, slopes = self._at(curve_params)
            return MirrorPoint(coefs, slopes, self.conjugates_at(curve_params))

    def coefs_and_slopes(self, xi: Float) -> tuple[Float, Float]:
        """`Ψ` and `Ψ'` by way of the curve parameters."""
        with np.errstate(all="ignore"):
            return self._at(self.curve_params(np.asarray(xi) / self.mirror_unit))

    def _at(self, curve_params: Float) -> tuple[Float, Float]:
        point = self.along(curve_params)
        slopes = point.coef_rates / (point.mirror_rates * self.mirror_unit)
        beyond = np.isinf(curve_params) & np.isinf(point.coefs)
        return point.coefs, np.where(beyond, np.inf, slopes)

    def signs_and_logs(self, xi: Float) -> tuple[Float, Float]:
        """Signs and log-moduli of `Ψ(ξ)`."""
        return self.signs_and_logs_at(self.curve_params(np.asarray(xi) / self.mirror_unit))

    def start_coefs(self) -> Float:
        """The coefficients at curve parameter 0."""
        return self.along(np.zeros_like(self.lower)).coefs

    def slopes_of(self, coefs: Float) -> Float:
        """`Ψ'` by way of the curve parameters, which are accurate next to a pole too."""
        with np.errstate(all="ignore"):
            point = self.along(self.curve_params_of(coefs))
            slopes: Float = point.coef_rates / (point.mirror_rates * self.mirror_unit)
        return slopes

    def growth_of(self, coefs: Float) -> Float:
        """The curve parameters."""
        return self.curve_params_of(coefs)

    def mirror_coords(self, coefs: Float) -> Float:
        """`ξ = Q'(β)` by way of the curve parameters."""
        return self.mirror_and_potential(coefs)[0]

    def potential(self, coefs: Float) -> Float:
        """`Q = βξ − Ψ̂`."""
        return self.mirror_and_potential(coefs)[1]

    def mirror_and_potential(self, coefs: Float) -> tuple[Float, Float]:
        """Both from one inversion."""
        return self.mirror_potential_and_slopes(coefs)[:2]

    def mirror_potential_and_slopes(self, coefs: Float) -> tuple[Float, Float, Float]:
        """All three from one inversion."""
        curve_params = self.curve_params_of(coefs)
        with np.errstate(all="ignore"):
            point = self.along(curve_params)
            along = point.mirror
            slopes: Float = point.coef_rates / (point.mirror_rates * self.mirror_unit)
            xi: Float = self.mirror_unit * along
            linear = np.asarray(coefs * xi)
            # Float64 may hold that product where it does not hold the mirror coordinate.
            held = np.isfinite(linear) & (linear != 0)
            logs = np.log(np.abs(coefs)) + np.log(np.abs(along)) + self.log_mirror_unit
            signs = np.sign(coefs) * np.sign(along)
            linear = np.where(held, linear, signs * np.exp(logs))
            linear = np.where(np.asarray(coefs) == 0, 0.0, linear)
            return xi, np.asarray(linear - self.conjugates_at(curve_params)), slopes
