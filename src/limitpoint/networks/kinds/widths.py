"""Widths of hidden layers."""

from collections.abc import Mapping
from numbers import Integral
from typing import Any

from limitpoint.errors import NetworkError
from limitpoint.foundation.arrays import MOST_LAYERS, as_several, as_whole_number, shown

__all__ = ["as_widths"]


def as_widths(value: Any) -> tuple[int, ...]:
    """Whole numbers, at least one; a single number is one hidden layer."""
    wanted = "the number of neurons of each hidden layer, at least one"
    one = isinstance(value, Integral) and not isinstance(value, bool)
    if isinstance(value, Mapping):
        raise NetworkError(f"widths must hold {wanted}; it is {shown(value)}")
    given = (value,) if one else as_several(value, wanted, "widths", NetworkError)
    if not given or len(given) >= MOST_LAYERS:
        raise NetworkError(
            f"widths must hold {wanted} and fewer than {MOST_LAYERS}; it holds {len(given)}"
        )
    return tuple(as_whole_number(width, 1, "widths", NetworkError) for width in given)
