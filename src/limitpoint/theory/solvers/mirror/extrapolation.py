"""Guess the solution at the next scale from those at the last few."""

import math
from collections.abc import Sequence

import numpy as np

from limitpoint.foundation.arrays import Float

__all__ = ["POINTS_KEPT", "extrapolate"]

# A polynomial through five points: more would amplify their rounding, fewer cost a Newton step.
POINTS_KEPT = 5


def extrapolate(places: Sequence[float], values: Sequence[Float], place: float) -> Float:
    """The polynomial through the given points at another place, by Lagrange's formula.

    Examples
    --------
    >>> squares = [np.array([x**2]) for x in (1.0, 2.0, 3.0)]
    >>> extrapolate([1.0, 2.0, 3.0], squares, 4.0).tolist()
    [16.0]
    """
    weights = [
        math.prod((place - other) / (node - other) for j, other in enumerate(places) if j != i)
        for i, node in enumerate(places)
    ]
    return np.asarray(weights) @ np.stack(values)
