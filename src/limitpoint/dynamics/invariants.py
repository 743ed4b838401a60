"""Drift of the quantities that gradient flow conserves."""

from dataclasses import dataclass

import numpy as np

from limitpoint.arrays import Float
from limitpoint.dynamics.trajectory import Trajectory
from limitpoint.networks import Network

__all__ = ["Drift", "drift"]


@dataclass(frozen=True)
class Drift:
    """How far the conserved quantities moved along a trajectory.

    Attributes
    ----------
    total
        Sum over all of them of the largest change at any time.
    relative
        The largest single change, relative to the largest squared parameter reached.
    """

    total: float
    relative: float


def drift(network: Network, trajectory: Trajectory) -> Drift:
    """Measure the drift of `network.invariants` along a trajectory that recorded its layers."""
    layers = trajectory.layers
    if layers is None:
        raise ValueError("the trajectory has no layers, so its conserved quantities are unknown")
    with np.errstate(over="ignore", invalid="ignore"):  # a diverged run has infinite drift
        values: Float = network.invariants(layers)  # invariants × times × …
        moved = np.nan_to_num(np.abs(values - values[:, :1]), nan=np.inf)
        largest = moved.max(axis=1)
        size = max(float(np.max(layer**2)) for layer in layers)
    relative = float(largest.max()) / size if 0 < size < np.inf else float(largest.max())
    return Drift(total=float(largest.sum()), relative=relative)
