"""The check that a flow keeps what it should, with what errors of its layers may do to that."""

import numpy as np

from limitpoint.dynamics import Trajectory
from limitpoint.foundation.arrays import Float
from limitpoint.networks import Network, WithoutMirrorMap
from limitpoint.verify.verdict import Check

__all__ = ["drift_check"]


def drift_check(
    name: str, network: Network, run: Trajectory, error: float, reason: str
) -> Check | None:
    """The conserved quantity that has moved furthest beyond what it may, or nearest to it.

    At any time it may have moved by what an error of this size, relative, in a layer, either way,
    has done to it up to then at most. Differences of squares have errors relative to the largest
    of the squares so far: that of the coefficient whose quantity it is, or of the whole layers
    where it belongs to none. Others can be worse to tell than the layers: where u and w of opposite
    signs both vanish, `u⁻¹ + w⁻¹` is a small difference of large numbers, and its angle is lost in
    the end.

    None where the network has no conserved quantity that is known.
    """
    layers = run.layers
    assert layers is not None, "a flow in parameter space records its layers"
    unit = 1.0
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        values = network.invariants(layers)
        if not values.size:
            return None
        moved = np.nan_to_num(np.abs(values - values[:, :1]), nan=np.inf)
        allowed = _perturbation(network, layers, error)
        if network.invariants_cancel:
            squares = _squares(network, layers)
            unit = float(squares.max()) if 0 < squares.max() < np.inf else 1.0
            allowed = np.maximum(allowed, error * squares.reshape(_aligned(squares, values)))
        allowed = np.maximum.accumulate(np.nan_to_num(allowed, nan=0.0), axis=1)
        ratios = np.nan_to_num(moved / allowed, nan=0.0, posinf=np.inf)
        ratios[np.isinf(moved)] = np.inf
    worst = np.unravel_index(int(np.argmax(ratios)), moved.shape)
    allowance = float(allowed[worst]) / unit
    return Check(
        name, float(moved[worst]) / unit, allowance if np.isfinite(allowance) else error, reason
    )


def _squares(network: Network, layers: tuple[Float, ...]) -> Float:
    """The largest squares at every time: of each coefficient's entries, or of whole layers."""
    if isinstance(network, WithoutMirrorMap):
        norms = [np.sum(layer.reshape(len(layer), -1) ** 2, axis=-1) for layer in layers]
        return np.asarray(np.max(norms, axis=0))
    return np.asarray(np.max([layer**2 for layer in layers], axis=0))


def _aligned(squares: Float, values: Float) -> tuple[int, ...]:
    """The shape in which squares, times × coefficients or times, meet quantities × times × …."""
    return (1, *squares.shape, *[1] * (values.ndim - 1 - squares.ndim))


def _perturbation(network: Network, layers: tuple[Float, ...], error: float) -> Float:
    """The change of each quantity at every time by such an error of every layer."""
    values = network.invariants(layers)
    total = np.zeros_like(values)
    for index, layer in enumerate(layers):
        ways = []
        for factor in (1.0 - error, 1.0 + error):
            perturbed = [*layers[:index], factor * layer, *layers[index + 1 :]]
            ways.append(np.abs(network.invariants(perturbed) - values))
        total += np.maximum(*ways)
    return total
