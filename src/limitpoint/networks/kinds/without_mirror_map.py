"""Networks none of whose coefficients has a mirror coordinate of its own."""

from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.mirror import ActivationTimes, MirrorMap
from limitpoint.mirror.charts.log_chart import LogChart
from limitpoint.networks.network import Network

__all__ = ["WithoutMirrorMap"]


class WithoutMirrorMap(Network):
    """A network whose coefficients, if it has any, are driven together."""

    def mirror_map(self, init: Init) -> MirrorMap | None:
        """None: no coefficient moves on a curve of its own."""
        return None

    def layers_at(self, init: Init, xi: Float) -> tuple[Float, ...] | None:
        """None: there are no mirror coordinates."""
        return None

    def activation_times(self, init: Init) -> ActivationTimes | None:
        """None: no coefficient grows on its own."""
        return None

    def log_chart(self, init: Init) -> LogChart | None:
        """None: the layers are integrated as they are."""
        return None

    @property
    def affine_at_zero(self) -> bool:
        """No: balanced layers lie on a cone, which a gradient step leaves."""
        return False
