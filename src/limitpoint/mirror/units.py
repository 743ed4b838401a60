"""A mirror map in other units of its coefficients and mirror coordinates.

With coefficients `β/c` and mirror coordinates `dξ` in place of β and ξ the map is
`Ψ(ξ/d)/c`. A change of the units of the columns of X takes `d = c`, powers of two, so that nothing
is rounded; g equal columns from equal starts, which share one mirror coordinate, are one column
whose coefficient is counted g times, `c = 1/g` and `d = 1`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.mirror.activation_times import ActivationTimes
from limitpoint.mirror.closed_curve import ClosedCurve
from limitpoint.mirror.curve_map import CurveMap, CurvePoint
from limitpoint.mirror.mirror_map import MirrorMap, MirrorPoint

__all__ = ["as_curve", "in_units"]


@overload
def in_units(mirror: CurveMap, coef_units: Float, mirror_factors: Float) -> CurveMap: ...


@overload
def in_units(mirror: MirrorMap, coef_units: Float, mirror_factors: Float) -> MirrorMap: ...


def in_units(mirror: MirrorMap, coef_units: Float, mirror_factors: Float) -> MirrorMap:
    """The map from `mirror_factors · ξ` to `β / coef_units`.

    Examples
    --------
    >>> from limitpoint.mirror import ExponentialMap
    >>> one = ExponentialMap.from_layers(np.array([1.0]), np.array([0.0]), log_scale=0.0)
    >>> two = in_units(one, np.array([4.0]), np.array([4.0]))
    >>> float(4 * two.coefs(np.array([2.0]))[0] - one.coefs(np.array([0.5]))[0])
    0.0
    """
    if isinstance(mirror, CurveMap):
        return _CurveInUnits(mirror, coef_units, mirror_factors)
    return _MapInUnits(mirror, coef_units, mirror_factors)


def as_curve(mirror: MirrorMap) -> CurveMap:
    """A map along its curves, the curve parameter in the units of the map itself."""
    if isinstance(mirror, CurveMap):
        return mirror
    if isinstance(mirror, _MapInUnits):
        return in_units(as_curve(mirror.inner), mirror.coef_units, mirror.mirror_factors)
    return ClosedCurve(mirror)


class _InUnits:
    """What both kinds share: everything that a change of units leaves as it is."""

    inner: MirrorMap
    coef_units: Float
    mirror_factors: Float

    @property
    def log_scale(self) -> float:
        return self.inner.log_scale

    @property
    def degree(self) -> int:
        return self.inner.degree

    @property
    def lower(self) -> Float:
        return self.inner.lower / self.coef_units

    @property
    def upper(self) -> Float:
        return self.inner.upper / self.coef_units

    def activation_times(self) -> ActivationTimes:
        raise NotImplementedError("times in other units are asked of the map itself")

    def at_log_scale(self, log_scale: float) -> MirrorMap:
        return in_units(self.inner.at_log_scale(log_scale), self.coef_units, self.mirror_factors)

    def at_log_scales(self, log_scales: Sequence[float]) -> Iterator[MirrorMap]:
        for mirror in self.inner.at_log_scales(log_scales):
            yield in_units(mirror, self.coef_units, self.mirror_factors)

    def across(self, log_scales: Float) -> MirrorMap | None:
        together = self.inner.across(log_scales)
        if together is None:
            return None
        return in_units(together, self.coef_units, self.mirror_factors)


@dataclass(frozen=True, eq=False)
class _MapInUnits(_InUnits, MirrorMap):
    """Of a map that is given as a function of the mirror coordinate."""

    inner: MirrorMap
    coef_units: Float
    mirror_factors: Float

    def evaluate(self, xi: Float) -> MirrorPoint:
        point = self.inner.evaluate(xi / self.mirror_factors)
        with np.errstate(over="ignore", under="ignore"):
            return MirrorPoint(
                point.coefs / self.coef_units,
                point.slopes / (self.coef_units * self.mirror_factors),
                point.conjugates * (self.mirror_factors / self.coef_units),
            )

    def signs_and_logs(self, xi: Float) -> tuple[Float, Float]:
        signs, logs = self.inner.signs_and_logs(xi / self.mirror_factors)
        return signs, logs - np.log(self.coef_units)

    def mirror_coords(self, coefs: Float) -> Float:
        return self.inner.mirror_coords(coefs * self.coef_units) * self.mirror_factors

    def potential(self, coefs: Float) -> Float:
        ratio = self.mirror_factors / self.coef_units
        return self.inner.potential(coefs * self.coef_units) * ratio


@dataclass(frozen=True, eq=False)
class _CurveInUnits(_InUnits, CurveMap):
    """Of a map that is given along its curve: the curve parameter stays what it is."""

    inner: CurveMap
    coef_units: Float
    mirror_factors: Float

    @property
    def log_mirror_unit(self) -> float | Float:
        return self.inner.log_mirror_unit

    @property
    def is_scale_free(self) -> bool:
        return self.inner.is_scale_free

    @property
    def unknown(self) -> tuple[str, ...]:
        return self.inner.unknown

    @property
    def poles(self) -> tuple[Float, Float]:
        below, above = self.inner.poles
        return below * self.mirror_factors, above * self.mirror_factors

    @property
    def offsets(self) -> Float:
        return self.inner.offsets

    def along(self, curve_params: Float, log_unit: float = 0.0) -> CurvePoint:
        point = self.inner.along(curve_params, log_unit)
        with np.errstate(over="ignore", under="ignore"):
            return CurvePoint(
                point.coefs / self.coef_units,
                point.coef_rates / self.coef_units,
                point.mirror * self.mirror_factors,
                point.mirror_rates * self.mirror_factors,
            )

    def curve_params(self, xi: Float) -> Float:
        return self.inner.curve_params(xi / self.mirror_factors)

    def curve_params_of(self, coefs: Float) -> Float:
        return self.inner.curve_params_of(coefs * self.coef_units)

    def signs_and_logs_at(self, curve_params: Float) -> tuple[Float, Float]:
        signs, logs = self.inner.signs_and_logs_at(curve_params)
        return signs, logs - np.log(self.coef_units)

    def conjugates_at(self, curve_params: Float) -> Float:
        ratio = self.mirror_factors / self.coef_units
        return self.inner.conjugates_at(curve_params) * ratio
