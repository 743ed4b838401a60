"""The default coordinates of a flow, with another tolerance."""

from dataclasses import replace

from limitpoint.dynamics.coordinates import Coordinates, default_coordinates
from limitpoint.problem import Problem

__all__ = ["coordinates"]


def coordinates(problem: Problem, rtol: float) -> Coordinates:
    """Those that `flow` takes by itself, followed to this local error."""
    return replace(default_coordinates(problem), rtol=rtol)
