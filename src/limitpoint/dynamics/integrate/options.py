"""What the options of the ways to integrate a flow may be."""

from dataclasses import fields
from typing import Any

import numpy as np

from limitpoint.dynamics.integrate.stepper import FINEST_RTOL
from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import as_number_within, as_whole_number

__all__ = ["check_options"]

# A relative error of 1 is as large as the state itself: no digit of it would be known.
NO_DIGIT = 1.0
# The relative residual of the start is of order 1, that of data which float64 fits is a rounding.
ROUNDING = float(np.finfo(np.float64).eps)


def check_options(way: Any) -> None:
    """Check those of `rtol`, `residual_tolerance` and `max_steps` that a frozen data class has.

    Plain floats and ints take their place: an integrator in C reads them as such, whatever wider
    or narrower number was given.

    Raises
    ------
    LimitpointError
        Naming the option.
    """
    checks = {
        "rtol": _checked_rtol,
        "residual_tolerance": _checked_tolerance,
        "max_steps": _checked_steps,
    }
    for field in fields(way):
        if field.name in checks:
            checked = checks[field.name](getattr(way, field.name))
            object.__setattr__(way, field.name, checked)


def _checked_rtol(value: Any) -> float | None:
    if value is None:
        return None
    why = "the integrators reach no smaller one, and at 1 no digit is right"
    return as_number_within(value, FINEST_RTOL, NO_DIGIT, why, "rtol", LimitpointError)


def _checked_tolerance(value: Any) -> float:
    why = "it is relative to the data: rounding leaves more than less, and the start misses by 1"
    return as_number_within(value, ROUNDING, NO_DIGIT, why, "residual_tolerance", LimitpointError)


def _checked_steps(value: Any) -> int:
    return as_whole_number(value, 1, "max_steps", LimitpointError)
