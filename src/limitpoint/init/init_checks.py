"""What the constructors of `Init` ask of their arguments and of the network."""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from limitpoint.errors import InitError, NetworkError
from limitpoint.foundation.arrays import (
    Float,
    as_float_array,
    as_number,
    as_seed,
    as_several,
    check_numbers,
    shown,
)
from limitpoint.tasks import as_task

if TYPE_CHECKING:
    from limitpoint.networks import CoupledNetwork, Network
    from limitpoint.tasks import Task

__all__ = [
    "LARGEST_ENTRY",
    "LARGEST_LOG",
    "both_scales",
    "cancels",
    "checked_layers",
    "coef_at",
    "common",
    "coupled",
    "orthonormal_rows",
    "scale_of_gamma",
    "scale_of_norm",
    "shapes_of",
    "starts",
    "stream_of",
    "unit_vector",
]

# exp of this is still finite.
LARGEST_LOG = 709.0
# Entries of a direction: larger starts are made by the scale.
LARGEST_ENTRY = 1e200
# Balanced starts draw from a stream of their own: a direction that met data drawn from the same
# seed again would lie in their row space, where nothing depends on it.
BALANCED_STREAM = 7_305_011


def both_scales(scale: float | None, log_scale: float | None) -> tuple[float, float]:
    """Return the scale and its logarithm from whichever was given (scale 1 by default)."""
    if scale is not None and log_scale is not None:
        raise InitError("give scale or log_scale, not both")
    if log_scale is not None:
        log_scale = as_number(log_scale, "log_scale must be a number", InitError)
        return (math.inf if log_scale > LARGEST_LOG else math.exp(log_scale)), log_scale
    rule = "scale must be a number in [0, inf]"
    scale = 1.0 if scale is None else as_number(scale, rule, InitError)
    if scale < 0:
        raise InitError(f"{rule}; it is {scale}")
    return scale, (-math.inf if scale == 0 else math.log(scale))


Shapes = Sequence[tuple[int, ...]]


def checked_layers(layers: Iterable[ArrayLike], name: str) -> tuple[Float, ...]:
    """One array per layer, under the name of the argument that holds them."""
    given = as_several(layers, "one array per layer", name, InitError)
    if not given:
        raise InitError(f"{name} must hold one array per layer; it is empty")
    arrays = tuple(
        as_float_array(layer, f"{name}[{i}]", InitError, ndim=(1, 2))
        for i, layer in enumerate(given)
    )
    for i, array in enumerate(arrays):
        largest = float(np.abs(array).max(initial=0.0))
        if largest > LARGEST_ENTRY:
            raise InitError(
                f"{name}[{i}] must have entries of at most {LARGEST_ENTRY:g} in modulus; the "
                f"largest is {largest:g}. The scale makes a start larger"
            )
    return arrays


def shapes_of(network: "Network", task: "Task") -> tuple[tuple[int, ...], ...]:
    """The shapes of the network's layers for this task: arguments of the named starts.

    Networks lie above, so that one is told by what it can do.
    """
    if isinstance(network, type) or not hasattr(network, "layer_shapes"):
        raise NetworkError(f"network must be like Diagonal(); it is {shown(network)}")
    shapes = network.layer_shapes(as_task(task))
    count = sum(math.prod(shape) for shape in shapes)
    check_numbers(count, "network", f"all layers of {network} on this task", NetworkError)
    return shapes


def coef_at(network: "Network", shapes: Shapes, entries: Sequence[float]) -> Float:
    """Coefficients of layers that are constant: how the network combines its layers."""
    layers = [np.full(shape, entry) for shape, entry in zip(shapes, entries, strict=True)]
    return np.asarray(network.coef(layers))


def cancels(network: "Network", shapes: Shapes) -> bool:
    """Whether equal layers give coefficients of zero."""
    several = len(shapes) > 1 and len(set(shapes)) == 1
    return several and not coef_at(network, shapes, [1.0] * len(shapes)).any()


def starts(network: "Network", shapes: Shapes) -> str:
    """What to use instead of an initialisation that does not suit the network."""
    if cancels(network, shapes):
        return "Init.unbiased(network, task, scale)"
    if len(shapes) > 1 and not coef_at(network, shapes, [1.0] * (len(shapes) - 1) + [0.0]).any():
        return "Init.zero_last(network, task, scale)"
    return "Init.random(network, task, scale, seed=0) or Init(direction, scale)"


def common(shapes: Shapes, direction: ArrayLike | None, name: str, network: "Network") -> Float:
    """The direction that layers share: as given, or ones."""
    if len(set(shapes)) != 1:
        raise InitError(
            f"{name} needs a network whose layers all have one shape; "
            f"{network} has layers of shapes {tuple(shapes)}"
        )
    if direction is None:
        return np.ones(shapes[0])
    return as_float_array(direction, "direction", InitError, ndim=(1, 2))


def coupled(network: "Network", name: str) -> "CoupledNetwork":
    """The network, if it is one that can start balanced."""
    if not hasattr(network, "balanced_layers"):
        raise InitError(
            f"{name} needs a rank-one or dense network, like RankOne() or FullyConnected(); "
            f"it is {network}"
        )
    return network  # type: ignore[return-value]  # what has the method is one


def scale_of_norm(
    network: "Network", norm: float | None, scale: float | None, log_scale: float | None
) -> tuple[float | None, float | None]:
    """The scale that gives coefficients of this norm, where the norm is given."""
    if norm is None:
        return scale, log_scale
    if scale is not None or log_scale is not None:
        raise InitError("give norm, scale or log_scale, not two of them")
    rule = "norm must be a number in [0, inf]"
    value = as_number(norm, rule, InitError)
    if value < 0:
        raise InitError(f"{rule}; it is {value}")
    if value in (0.0, math.inf):
        return value, None
    return None, math.log(value) / network.degree


def unit_vector(direction: ArrayLike | None, size: int, rng: np.random.Generator) -> Float:
    """The direction with norm 1, or a random one."""
    vector = (
        rng.standard_normal(size)
        if direction is None
        else as_float_array(direction, "direction", InitError, ndim=(1,))
    )
    if vector.shape != (size,):
        raise InitError(f"direction must have one entry per feature, {size}; it has {vector.size}")
    largest = float(np.abs(vector).max())
    if largest == 0.0:
        raise InitError("direction must not be zero: balanced layers would all be zero")
    vector = vector / largest  # squares of the entries need not be representable
    unit: Float = vector / float(np.linalg.norm(vector))
    return unit


def stream_of(seed: int) -> np.random.Generator:
    """The random numbers of a balanced start."""
    return np.random.default_rng([BALANCED_STREAM, as_seed(seed, "seed", InitError)])


def scale_of_gamma(
    gamma: float | None, scale: float | None, log_scale: float | None
) -> float | None:
    """The scale `√(2γ)`, where γ is given."""
    if gamma is None:
        return scale
    if scale is not None or log_scale is not None:
        raise InitError("give gamma, scale or log_scale, not two of them")
    rule = "gamma must be a number in [0, inf]"
    value = as_number(gamma, rule, InitError)
    if value < 0:
        raise InitError(f"{rule}; it is {value}")
    return math.sqrt(2) * math.sqrt(value)


def orthonormal_rows(count: int, length: int, rng: np.random.Generator) -> Float:
    """Orthonormal rows, uniformly distributed (signs of the triangular factor made positive)."""
    columns, triangle = np.linalg.qr(rng.standard_normal((length, count)))
    rows: Float = (columns * np.sign(np.diag(triangle))).T
    return rows
