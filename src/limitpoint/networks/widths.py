"""Widths of hidden layers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from limitpoint.arrays import as_whole_number
from limitpoint.errors import NetworkError

__all__ = ["as_widths"]


def as_widths(value: Any) -> tuple[int, ...]:
    """Whole numbers, at least one; a single number is one hidden layer."""
    given = (value,) if isinstance(value, (int, np.integer)) else value
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray) or not len(given):
        raise NetworkError(
            "widths must hold the number of neurons of each hidden layer, at least one; "
            f"it is {value!r}"
        )
    return tuple(as_whole_number(width, 1, "widths", NetworkError) for width in given)
