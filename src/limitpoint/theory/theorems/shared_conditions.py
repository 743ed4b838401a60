"""Conditions that several theorems share."""

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.conditions import Condition
from limitpoint.mirror import MirrorMap
from limitpoint.networks import Diagonal
from limitpoint.problem import Problem

__all__ = [
    "BALANCED",
    "DIFFERENT_LAYERS",
    "IDENTITY",
    "ORTHOGONAL",
    "SEPARABLE_NETWORKS",
    "ZERO_LAST",
    "finite_scale",
    "has_mirror_map",
    "is_diagonal",
    "kind_of_network",
    "listed",
    "scale_zero",
    "separable",
    "smallest_layer_is_unique",
    "steps_multiply",
]

# A detail names at most this many coordinates.
COORDINATES_NAMED = 5

# What to change, where several conditions ask for the same.
SEPARABLE_NETWORKS = "use Diagonal, Power, SignedPower, Paired or General"
ZERO_LAST = "start from equal layers and a zero last one, Init.zero_last(...) or --zero-last"
BALANCED = "start from balanced layers, Init.balanced(...) or --balanced"
ORTHOGONAL = "start from orthonormal rows and zeros, Init.orthogonal(...) or --orthogonal"
IDENTITY = "start from the identity and a zero last layer, Init.zero_last(...) or --zero-last"
DIFFERENT_LAYERS = "start from layers that differ in every coordinate: Init.random(...)"


def kind_of_network(problem: Problem, name: str, holds: bool, change: str) -> Condition:
    """The network is of a certain kind."""
    return Condition(name, holds, None, f"the network is {problem.network}", change, "network")


def is_diagonal(problem: Problem) -> Condition:
    """The network is diagonal."""
    fits = isinstance(problem.network, Diagonal)
    return kind_of_network(problem, "diagonal network", fits, "use Diagonal(depth)")


def separable(problem: Problem) -> tuple[tuple[Condition, ...], MirrorMap | None]:
    """At a finite scale every coefficient moves on a curve of its own; with the map, if so."""
    scale, mirror = finite_scale(problem), _mirror_map(problem)
    conditions = (scale, _has_mirror_map(problem, mirror))
    return conditions, mirror if scale.holds else None


def has_mirror_map(problem: Problem) -> Condition:
    """Every coefficient moves on a curve of its own."""
    return _has_mirror_map(problem, _mirror_map(problem))


def _has_mirror_map(problem: Problem, mirror: MirrorMap | None) -> Condition:
    name = "every coefficient has its own mirror coordinate"
    return kind_of_network(problem, name, mirror is not None, SEPARABLE_NETWORKS)


def _mirror_map(problem: Problem) -> MirrorMap | None:
    """The map, at scales 0 and infinity that of scale 1: it exists at all scales or at none."""
    init = problem.init
    return problem.network.mirror_map(init if init.is_finite else init.at_scale(1.0))


def finite_scale(problem: Problem) -> Condition:
    """The scale is neither 0 nor infinity."""
    init = problem.init
    detail = f"log_scale is {init.log_scale:g}"
    change = "give a scale above 0 and below infinity, like scale=1e-3"
    return Condition("scale positive and finite", init.is_finite, None, detail, change)


def scale_zero(problem: Problem) -> Condition:
    """The scale is 0, the limit of vanishing initialisation."""
    log_scale = problem.init.log_scale
    detail = f"log_scale is {log_scale:g}"
    change = "take the limit of vanishing initialisation: scale=0"
    return Condition("scale zero", log_scale == -np.inf, None, detail, change)


def steps_multiply(problem: Problem) -> Condition:
    """A step multiplies layers, or their sums and differences, coefficient by coefficient."""
    init = problem.init
    chart = problem.network.log_chart(init if init.is_finite else init.at_scale(1.0))
    return kind_of_network(
        problem,
        "steps multiply layers or their sums and differences",
        chart is not None and chart.rates is not None,
        "use Diagonal(2), SignedPower(2), Power(2) or Paired",
    )


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
    return Condition(name, not bool(tied.any()), float(gaps.min()), detail, DIFFERENT_LAYERS)


def listed(mask: NDArray[np.bool_]) -> str:
    """The first few coordinates of a mask, in words."""
    found = np.flatnonzero(mask)
    left = len(found) - COORDINATES_NAMED
    more = f", … {left} more" if left > 0 else ""
    return ", ".join(str(i) for i in found[:COORDINATES_NAMED]) + more
