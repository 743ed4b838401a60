"""Networks none of whose coefficients has a clock of its own."""

from limitpoint.arrays import Float
from limitpoint.init import Init
from limitpoint.mirror import GrowthTimes, MirrorMap
from limitpoint.mirror.charts.log_chart import GrowthCoordinates
from limitpoint.networks.base import Network

__all__ = ["WithoutClocks"]


class WithoutClocks(Network):
    """A network whose coefficients, if it has any, are driven together."""

    def mirror_map(self, init: Init) -> MirrorMap | None:
        """None: no coefficient moves on a curve of its own."""
        return None

    def layers_at(self, init: Init, clocks: Float) -> tuple[Float, ...] | None:
        """None: there are no clocks."""
        return None

    def growth_times(self, init: Init) -> GrowthTimes | None:
        """None: no coefficient grows on its own."""
        return None

    def growth_coordinates(self, init: Init) -> GrowthCoordinates | None:
        """None: the layers are integrated as they are."""
        return None

    @property
    def affine_at_zero(self) -> bool:
        """No: balanced layers lie on a cone, which a gradient step leaves."""
        return False
