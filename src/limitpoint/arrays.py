"""Turn what users pass (lists, integers, float32, pandas frames) into checked float64 arrays."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from limitpoint.errors import LimitpointError

Float = NDArray[np.float64]

# Kinds of NumPy types that are real numbers; objects are tried one by one (pandas has such).
REAL_KINDS = "biufO"


def as_float_array(
    value: ArrayLike, name: str, error: type[LimitpointError], ndim: tuple[int, ...]
) -> Float:
    """Return a read-only float64 copy of `value`, or raise `error` naming `name`.

    Parameters
    ----------
    value
        Anything NumPy can turn into a real array.
    name
        The argument's name, for the message.
    error
        The class to raise.
    ndim
        The admissible numbers of dimensions.
    """
    if np.ma.is_masked(value):
        raise error(f"{name} must not have masked entries; fill or drop them first")
    try:
        raw = np.asarray(value)
        if raw.dtype.kind not in REAL_KINDS:
            raise TypeError
        array = np.array(raw, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise error(
            f"{name} must be an array of real numbers; it could not be read as one"
        ) from None
    if array.ndim not in ndim:
        wanted = " or ".join(str(d) for d in ndim)
        raise error(f"{name} must have {wanted} dimension(s); it has shape {array.shape}")
    finite = np.isfinite(array)
    if not finite.all():
        where: Any = tuple(int(i) for i in np.argwhere(~finite)[0])
        where = where[0] if len(where) == 1 else where
        raise error(
            f"{name} must be finite; {int((~finite).sum())} entries are not, "
            f"the first at index {where} is {array[where]}"
        )
    checked: Float = read_only(array)
    return checked


def as_number(value: Any, rule: str, error: type[LimitpointError]) -> float:
    """Return `value` as a float, or raise `error` with the rule it breaks."""
    if isinstance(value, bool) or not isinstance(value, Real) or np.isnan(float(value)):
        raise error(f"{rule}; it is {value!r}")
    return float(value)


def as_positive(value: Any, name: str, error: type[LimitpointError]) -> float:
    """Return `value` as a positive, finite float, or raise `error` naming `name`."""
    rule = f"{name} must be a positive number"
    found = as_number(value, rule, error)
    if not (np.isfinite(found) and found > 0):
        raise error(f"{rule}; it is {found}")
    return found


def as_whole_number(value: Any, least: int, name: str, error: type[LimitpointError]) -> int:
    """Return `value` as an int that is at least `least`, or raise `error` naming `name`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise error(f"{name} must be a whole number, at least {least}; it is {value!r}")
    return int(value)


def read_only(array: Any) -> Any:
    """Mark an array as read-only and return it: results are immutable values."""
    array.setflags(write=False)
    return array
