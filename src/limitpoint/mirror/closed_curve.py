"""The map of networks of degree 2 along its curve: the curve parameter is the mirror coordinate.

Solvers that work along curves keep mirror coordinates of very different sizes apart, as columns of
X in very different units make them.
"""

from dataclasses import dataclass

import numpy as np

from limitpoint.arrays import Float
from limitpoint.mirror.activation import GrowthTimes
from limitpoint.mirror.base import MirrorMap
from limitpoint.mirror.curve import CurveMap, CurvePoint

__all__ = ["ClosedCurve"]


@dataclass(frozen=True, eq=False)
class ClosedCurve(CurveMap):
    """A closed map, given along its curve.

    Examples
    --------
    >>> from limitpoint.mirror import ExponentialMap
    >>> closed = ExponentialMap.from_layers(np.array([1.0]), np.array([0.0]), log_scale=0.0)
    >>> point = ClosedCurve(closed).along(np.array([0.5]))
    >>> bool(point.coefs == closed.coefs(np.array([0.5]))), point.clocks.tolist()
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
    def log_clock_unit(self) -> float | Float:
        """Mirror coordinates are in no unit."""
        return 0.0

    def along(self, positions: Float, log_unit: float = 0.0) -> CurvePoint:
        """Of degree 2: coefficients in another unit are those from another scale."""
        inner = self.inner
        if log_unit:
            inner = inner.at_log_scale(inner.log_scale - log_unit / inner.degree)
        coefs, slopes = inner.coefs_and_slopes(positions)
        return CurvePoint(coefs, slopes, np.array(positions), np.ones_like(positions))

    def positions(self, clocks: Float) -> Float:
        """The mirror coordinates."""
        return np.array(clocks)

    def positions_of(self, coefs: Float) -> Float:
        """The mirror coordinates of these coefficients."""
        return self.inner.clocks(coefs)

    def signs_and_logs_at(self, positions: Float) -> tuple[Float, Float]:
        """Of the coefficients there."""
        return self.inner.signs_and_logs(positions)

    def conjugates_at(self, positions: Float) -> Float:
        """Of the map itself."""
        return self.inner.evaluate(positions).conjugates

    def growth_times(self) -> GrowthTimes:
        """Of the map itself."""
        return self.inner.growth_times()

    def at_log_scale(self, log_scale: float) -> MirrorMap:
        """The same at another scale."""
        return ClosedCurve(self.inner.at_log_scale(log_scale))
