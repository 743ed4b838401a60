"""Networks whose one setting is their depth."""

from dataclasses import dataclass

from limitpoint.arrays import as_whole_number
from limitpoint.errors import NetworkError
from limitpoint.networks.base import Network

__all__ = ["LayeredNetwork"]


@dataclass(frozen=True)
class LayeredNetwork(Network):
    """A network of a given depth L ≥ 2, homogeneous of that degree."""

    depth: int = 2

    def __post_init__(self) -> None:
        depth = as_whole_number(self.depth, 2, "depth", NetworkError)
        object.__setattr__(self, "depth", depth)

    @property
    def degree(self) -> int:
        """The depth."""
        return self.depth
