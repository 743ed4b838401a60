"""Conditions that several theorems share."""

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.conditions import Condition
from limitpoint.mirror import MirrorMap
from limitpoint.networks import Diagonal
from limitpoint.problem import Problem

__all__ = [
    "finite_scale",
    "is_diagonal",
    "listed",
    "scale_zero",
    "separable",
    "smallest_layer_is_unique",
]

# A detail names at most this many coordinates.
COORDINATES_NAMED = 5


def is_diagonal(problem: Problem) -> Condition:
    """The network is diagonal."""
    network = problem.network
    fits = isinstance(network, Diagonal)
    return Condition("diagonal network", fits, None, f"the network is {network}")


def separable(problem: Problem) -> tuple[tuple[Condition, ...], MirrorMap | None]:
    """At a finite scale every coefficient moves on a curve of its own; with the map, if so."""
    scale = finite_scale(problem)
    if not scale.holds:
        return (scale,), None
    mirror = problem.network.mirror_map(problem.init)
    detail = f"the network is {problem.network}"
    name = "every coefficient has its own mirror coordinate"
    return (scale, Condition(name, mirror is not None, None, detail)), mirror


def finite_scale(problem: Problem) -> Condition:
    """The scale is neither 0 nor infinity."""
    init = problem.init
    detail = f"log_scale is {init.log_scale:g}"
    return Condition("scale positive and finite", init.is_finite, None, detail)


def scale_zero(problem: Problem) -> Condition:
    """The scale is 0, the limit of vanishing initialisation."""
    log_scale = problem.init.log_scale
    return Condition("scale zero", log_scale == -np.inf, None, f"log_scale is {log_scale:g}")


def smallest_layer_is_unique(problem: Problem) -> Condition:
    """Assumption A of labarriere: in each coordinate one layer is strictly smallest in modulus.

    The margin is the smallest relative gap between the two smallest layers.
    """
    moduli = np.sort(np.abs(np.stack(problem.init.direction)), axis=0)
    with np.errstate(invalid="ignore"):
        gaps = np.where(moduli[1] > 0, 1 - moduli[0] / moduli[1], 0.0)
    tied = gaps <= 0
    if tied.any():
        detail = f"{int(tied.sum())} of {len(tied)} coordinates tie: {listed(tied)}"
    else:
        detail = f"smallest relative gap {gaps.min():.3g}, in coordinate {int(gaps.argmin())}"
    name = "one layer strictly smallest in each coordinate (A)"
    return Condition(name, not bool(tied.any()), float(gaps.min()), detail)


def listed(mask: NDArray[np.bool_]) -> str:
    """The first few coordinates of a mask, in words."""
    found = np.flatnonzero(mask)
    more = ", …" if len(found) > COORDINATES_NAMED else ""
    return ", ".join(str(i) for i in found[:COORDINATES_NAMED]) + more
