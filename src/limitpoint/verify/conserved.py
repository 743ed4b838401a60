"""The check that a flow keeps what it should, with what errors of its layers may do to that."""

import numpy as np

from limitpoint.arrays import Float
from limitpoint.dynamics import Trajectory, drift
from limitpoint.networks import Network
from limitpoint.verify.verdict import Check

__all__ = ["drift_check"]


def drift_check(name: str, network: Network, run: Trajectory, error: float, reason: str) -> Check:
    """The conserved quantity that has moved furthest beyond what it may, or nearest to it.

    Quadratic ones move by no more than the relative error of the layers, in units of their largest
    square. Others can be worse to tell than the layers: where u and w of opposite signs both
    vanish, `u⁻¹ + w⁻¹` is a small difference of large numbers, and its angle is lost in the end.
    So each may move by what an error of this size in a layer, either way, does to it.
    """
    found = drift(network, run)
    unit = found.size if 0 < found.size < np.inf else 1.0
    if not found.moved.size:
        return Check(name, found.relative, error, reason)
    allowed = np.maximum(error, _shaken(network, run, error) / unit)
    moved = found.moved / unit
    with np.errstate(invalid="ignore"):  # infinite beside infinite: a run that diverged
        ratios = np.nan_to_num(moved / allowed, nan=np.inf, posinf=np.inf)
    worst = np.unravel_index(int(np.argmax(ratios)), moved.shape)
    allowance = float(allowed[worst])
    return Check(name, float(moved[worst]), allowance if np.isfinite(allowance) else error, reason)


def _shaken(network: Network, run: Trajectory, error: float) -> Float:
    """The largest change of each quantity, at any time, by such an error of every layer."""
    layers = run.layers
    assert layers is not None, "a flow in parameter space records its layers"
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        values = network.invariants(layers)
        total = np.zeros_like(values)
        for index, layer in enumerate(layers):
            ways = []
            for factor in (1.0 - error, 1.0 + error):
                shaken = [*layers[:index], factor * layer, *layers[index + 1 :]]
                ways.append(np.abs(network.invariants(shaken) - values))
            total += np.maximum(*ways)
    largest: Float = np.nan_to_num(total, nan=0.0).max(axis=1)
    return largest
