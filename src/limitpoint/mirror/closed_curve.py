"""The map of networks of degree 2 along its curve: the curve parameter is the mirror coordinate.

Solvers that work along curves keep mirror coordinates of very different sizes apart, as columns of
X in very different units make them.
"""

from dataclasses import dataclass

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.mirror.activation_times import ActivationTimes
from limitpoint.mirror.curve_map import CurveMap, CurvePoint
from limitpoint.mirror.mirror_map import MirrorMap

__all__ = ["ClosedCurve"]


@dataclass(frozen=True, eq=False)
class ClosedCurve(CurveMap):
    """A closed map, given along its curve.

    Examples
    --------
    >>> from limitpoint.mirror import ExponentialMap
    >>> closed = ExponentialMap.from_layers(np.array([1.0]), np.array([0.0]), log_scale=0.0)
    >>> point = ClosedCurve(closed).along(np.array([0.5]))
    >>> bool(point.coefs == closed.coefs(np.array([0.5]))), point.mirror.tolist()
    (True, [0.5])
    """

    inner: MirrorMap

    @property
    def log_scale(self) -> float:
        """Of the map itself."""
        return self.inner.log_scale

    @property
    def degree(self) -> int:
        """Of the map itself."""
        return self.inner.degree

    @property
    def lower(self) -> Float:
        """Bounds of the coefficients."""
        return self.inner.lower

    @property
    def upper(self) -> Float:
        """Bounds of the coefficients."""
        return self.inner.upper

    @property
    def log_mirror_unit(self) -> float | Float:
        """Mirror coordinates are in no unit."""
        return 0.0

    def along(self, curve_params: Float, log_unit: float = 0.0) -> CurvePoint:
        """Of degree 2: coefficients in another unit are those from another scale."""
        inner = self.inner
        if log_unit:
            inner = inner.at_log_scale(inner.log_scale - log_unit / inner.degree)
        coefs, slopes = inner.coefs_and_slopes(curve_params)
        return CurvePoint(coefs, slopes, np.array(curve_params), np.ones_like(curve_params))

    def curve_params(self, xi: Float) -> Float:
        """The mirror coordinates."""
        return np.array(xi)

    def curve_params_of(self, coefs: Float) -> Float:
        """The mirror coordinates of these coefficients."""
        return self.inner.mirror_coords(coefs)

    def signs_and_logs_at(self, curve_params: Float) -> tuple[Float, Float]:
        """Of the coefficients there."""
        return self.inner.signs_and_logs(curve_params)

    def conjugates_at(self, curve_params: Float) -> Float:
        """Of the map itself."""
        return self.inner.evaluate(curve_params).conjugates

    def activation_times(self) -> ActivationTimes:
        """Of the map itself."""
        return self.inner.activation_times()

    def at_log_scale(self, log_scale: float) -> MirrorMap:
        """The same at another scale."""
        return ClosedCurve(self.inner.at_log_scale(log_scale))
