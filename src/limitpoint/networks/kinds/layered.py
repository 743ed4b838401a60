"""Networks whose one setting is their depth."""

from dataclasses import dataclass

from limitpoint.errors import NetworkError
from limitpoint.foundation.arrays import as_depth
from limitpoint.networks.network import Network

__all__ = ["LayeredNetwork"]


@dataclass(frozen=True)
class LayeredNetwork(Network):
    """A network of a given depth L ≥ 2, homogeneous of that degree."""

    depth: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "depth", as_depth(self.depth, NetworkError))

    @property
    def degree(self) -> int:
        """The depth."""
        return self.depth
