"""Networks whose coefficients are driven together: a first layer on the data, and the rest."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.mirror import RadialMap
from limitpoint.networks.kinds.without_mirror_map import WithoutMirrorMap
from limitpoint.tasks import Task

__all__ = ["BALANCE_TOLERANCE", "CoupledNetwork", "in_own_units"]

# Layers count as balanced when what balance demands to vanish is below this, relative to the size
# of a layer: some thousand roundings, as many as products of wide layers collect. It moves the
# limit by about as much.
BALANCE_TOLERANCE = 1e-12


class CoupledNetwork(WithoutMirrorMap):
    """A network `β = (first layer)·(outer layers)`.

    Only the first layer meets the data, so that its gradient lies in the row space of X. No
    coefficient has a mirror coordinate of its own.
    """

    @abstractmethod
    def outer(self, layers: Sequence[Any]) -> Any:
        """The product of all layers but the first; a number where that is a vector."""

    @abstractmethod
    def balanced_layers(
        self, task: Task, direction: Float, rng: np.random.Generator
    ) -> tuple[Float, ...]:
        """Balanced layers of norm 1 with coefficients along this unit vector; inner ones drawn."""

    @abstractmethod
    def imbalance(self, layers: Sequence[Float]) -> float:
        """How far from balanced the layers are, relative to their squared norms; 0 at best."""

    @abstractmethod
    def radial_map(self, init: Init) -> RadialMap | None:
        """The map from the first layer to the coefficients, where the start determines one."""

    @abstractmethod
    def layers_along(self, init: Init, inputs: Float) -> tuple[Float, ...]:
        """The layers where the radial map's z is `inputs` (times × n)."""


def in_own_units(layers: Sequence[Float]) -> list[Float]:
    """Layers divided by a power of two, the largest entry to [1, 2): their squares are finite."""
    largest = max(float(np.abs(layer).max(initial=0.0)) for layer in layers)
    unit = float(np.exp2(np.floor(np.log2(largest)))) if 0.0 < largest < np.inf else 1.0
    return [layer / unit for layer in layers]
