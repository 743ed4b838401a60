"""The mirror map of every coefficient of a separable network, in balls."""

from typing import Any

from limitpoint.networks import Diagonal
from limitpoint.problem import Problem
from limitpoint.theory.prove.exact.numbers import as_rationals, scale_ball
from limitpoint.theory.prove.separable.closed_form_maps import closed_form_maps
from limitpoint.theory.prove.separable.deep_diagonal_map import deep_diagonal_map

__all__ = ["mirror_maps"]


def mirror_maps(problem: Problem) -> list[Any]:
    """The map of every coefficient, exact but for the scale; None for one that never moves.

    Each has `at(ξ)`, the coefficient and its derivative on a ball; `mirror_of(sign, log_abs)`,
    about where a coefficient is that; and `lower`, `upper`: whether it cannot become negative, or
    positive.
    """
    network, init = problem.network, problem.init
    if isinstance(network, Diagonal) and network.depth > 2:
        columns = [as_rationals(layer.tolist()) for layer in init.direction]
        scale = scale_ball(init)
        return [deep_diagonal_map(row, scale) for row in zip(*columns, strict=True)]
    return list(closed_form_maps(problem))
