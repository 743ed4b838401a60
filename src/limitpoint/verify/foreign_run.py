"""Runs that were made elsewhere: coefficients or layers, of one moment or of several."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from limitpoint.dynamics import Trajectory
from limitpoint.errors import LimitpointError, ScaleNotRepresentable
from limitpoint.foundation.arrays import Float, as_real_array, shown
from limitpoint.problem import Problem
from limitpoint.status import Status

__all__ = ["READERS", "ForeignRun", "as_foreign_run"]

EPS = float(np.finfo(np.float64).eps)
# Rounding of a number type, by what its name ends with.
ROUNDING = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23}
WANTED = (
    "run must be coefficients, layers in the order of the network's, a list of checkpoints of "
    "either, a Trajectory or, where limitpoint.torch is imported, a PyTorch module or state_dict"
)
# How objects of other libraries are read, by the full name of their class or of one that it
# inherits from, with "mapping of" before it for what holds such: as coefficients or layers, and the
# rounding of the numbers that they were made in.
# Filled by the rooms that know these libraries.
READERS: dict[str, Callable[[Problem, Any], tuple[Any, float]]] = {}


@dataclass(frozen=True, eq=False)
class ForeignRun:
    """A run as coefficients and, where they are known, layers.

    Attributes
    ----------
    record
        The start, where it is held in float64, and what was given.
    eps
        The rounding of the numbers that it was made in.
    """

    record: Trajectory
    eps: float


def as_foreign_run(problem: Problem, run: Any) -> ForeignRun:
    """Return the argument `run`, whatever it is given as, or raise `LimitpointError`."""
    if isinstance(run, Trajectory):
        _check(problem, run.coefs[-1:], "run")
        return ForeignRun(run, EPS)
    given, rounding = _read(problem, run)
    if isinstance(given, Mapping):
        given = given["coef"] if "coef" in given else list(given.values())
    points = _points(problem, given)
    layers = [one for one in points if not isinstance(one, np.ndarray)]
    if layers and len(layers) < len(points):
        raise LimitpointError("run has checkpoints of coefficients and others of layers")
    network = problem.network
    coefs = np.stack([np.asarray(network.coef(one)) for one in layers] if layers else points)
    _check(problem, coefs, "run")
    return ForeignRun(_record(problem, coefs, layers), max(rounding, _rounding_of(given)))


def _read(problem: Problem, given: Any) -> tuple[Any, float]:
    """What is an object of another library, or a list of such, as arrays, and their rounding."""
    if isinstance(given, list | tuple):
        found = [_read(problem, each) for each in given]
        return [value for value, _ in found], max((eps for _, eps in found), default=EPS)
    # A mapping is known by what it holds.
    first = next(iter(given.values()), None) if isinstance(given, Mapping) else given
    for kind in type(first).__mro__:
        name = f"{kind.__module__}.{kind.__qualname__}"
        reader = READERS.get(name if first is given else f"mapping of {name}")
        if reader is not None:
            return reader(problem, given)
    return given, EPS


def _points(problem: Problem, given: Any) -> list[Any]:
    """One moment or several, each an array of coefficients or a tuple of layers."""
    one = _point(problem, given)
    if one is not None:
        return [one]
    several = isinstance(given, Sequence) or getattr(given, "ndim", 0) > 1
    found = [_point(problem, each) for each in given] if several else []
    if not found or any(each is None for each in found):
        shapes = ", ".join(map(str, problem.network.layer_shapes(problem.task)))
        raise LimitpointError(
            f"{WANTED}: coefficients have shape {problem.regression.coef_shape}, the layers "
            f"{shapes}; it is {shown(given)}"
        )
    return found


def _point(problem: Problem, given: Any) -> Any:
    """Coefficients, or a tuple of layers where the shapes are those; else None."""
    shapes = problem.network.layer_shapes(problem.task)
    if isinstance(given, Sequence) and not isinstance(given, str) and len(given) == len(shapes):
        try:
            layers = tuple(_numbers(layer) for layer in given)
        except (LimitpointError, TypeError, ValueError):
            return None
        if tuple(layer.shape for layer in layers) == shapes:
            return layers
    try:
        found = _numbers(given)
    except (LimitpointError, TypeError, ValueError):
        return None
    return found if found.shape == problem.regression.coef_shape else None


def _numbers(given: Any) -> Float:
    return np.array(as_real_array(given, "run", LimitpointError, ndim=(0, 1, 2, 3)), float)


def _check(problem: Problem, coefs: Float, name: str) -> None:
    if coefs.shape[1:] != problem.regression.coef_shape:
        raise LimitpointError(
            f"{name} has coefficients of shape {coefs.shape[1:]}; the problem has "
            f"{problem.regression.coef_shape}"
        )


def _record(problem: Problem, coefs: Float, layers: list[tuple[Float, ...]]) -> Trajectory:
    """With the start before it, where float64 holds that."""
    try:
        start = problem.init.layers
    except ScaleNotRepresentable:
        start = None
    if start is not None:
        coefs = np.concatenate([np.asarray(problem.network.coef(start))[None], coefs])
        layers = [start, *layers] if layers else []
    with np.errstate(over="ignore", invalid="ignore"):
        losses = np.array([float(problem.regression.loss(coef)) for coef in coefs])
    finite = bool(np.isfinite(losses[-1]))
    return Trajectory.build(
        kind="a run made elsewhere",
        status=Status.REACHED_END if finite else Status.DIVERGED,
        times=np.arange(len(coefs), dtype=float),
        coefs=coefs,
        losses=losses,
        relative_residual=np.nan,
        layers=tuple(np.stack(each) for each in zip(*layers, strict=True)) if layers else None,
    )


def _rounding_of(given: Any) -> float:
    """The coarsest number type in it."""
    if isinstance(given, list | tuple):
        return max((_rounding_of(one) for one in given), default=EPS)
    name = str(getattr(given, "dtype", ""))
    return next((eps for kind, eps in ROUNDING.items() if name.endswith(kind)), EPS)
