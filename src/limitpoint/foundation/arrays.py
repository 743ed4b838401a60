"""Turn what users pass (lists, integers, float32, frames, tensors) into checked float64 arrays.

Every check names the argument as the caller wrote it, says what was wrong and what would be right.
"""

from collections.abc import Iterable
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from limitpoint.errors import LimitpointError
from limitpoint.foundation.frames import as_plain

Float = NDArray[np.float64]
T = TypeVar("T")

# Kinds of NumPy types that are real numbers; objects are tried one by one (pandas has such).
REAL_KINDS = "biufO"
# What is shown of a wrong value in a message: more would hide the message.
LONGEST_SHOWN = 80
LONGEST_REASON = 200
# NumPy has no arrays of more axes than this; lists are searched for masked rows as deep.
MOST_AXES = 64
# The largest whole number that NumPy and JAX hold in an integer, and the largest seed.
LARGEST_INTEGER = 2**63 - 1
# Arrays whose sizes the caller chooses may have so many numbers: 2 GiB. Beyond, the machine is more
# likely to come to a halt than to answer.
LARGEST_ARRAY = 2**28
# Products of more layers than this leave float64 even where every entry is 1/2: 2^−1022 is its
# smallest number with all digits.
MOST_LAYERS = -int(np.finfo(np.float64).minexp)


# Seeds drawn from a generator are below this: NumPy and JAX take them all.
LARGEST_SEED = 2**63


def as_float_array(
    value: ArrayLike, name: str, error: type[LimitpointError], ndim: tuple[int, ...] | range
) -> Float:
    """Return a read-only float64 copy of `value`, all finite, or raise `error` naming `name`.

    Parameters
    ----------
    value
        Anything NumPy can turn into a real array.
    name
        The argument's name, for the message.
    error
        The class to raise.
    ndim
        The admissible numbers of dimensions; a range from the least that is.
    """
    array = as_real_array(value, name, error, ndim)
    _refuse(~np.isfinite(array), array, f"{name} must be finite", error)
    return array


def as_number_array(
    value: ArrayLike, name: str, error: type[LimitpointError], ndim: tuple[int, ...] | range
) -> Float:
    """As `as_float_array`, where infinity is a number too and NaN alone is none."""
    array = as_real_array(value, name, error, ndim)
    _refuse(np.isnan(array), array, f"{name} must hold numbers, not NaN", error)
    return array


def as_real_array(
    value: ArrayLike, name: str, error: type[LimitpointError], ndim: tuple[int, ...] | range
) -> Float:
    """As `as_float_array`, where infinity and NaN may be results of a run that diverged."""
    check_masks(value, name, error)
    try:
        value = as_plain(value, name, error)
        with np.errstate(over="ignore"):  # of a wider float: it is infinite then
            raw = np.asarray(value)
            if raw.dtype.kind not in REAL_KINDS:
                raise TypeError
            if raw.dtype.kind == "O":
                _check_objects(raw)
            array = np.array(raw, dtype=np.float64)
        if raw.dtype.itemsize > array.itemsize and (np.isinf(array) != np.isinf(raw)).any():
            raise OverflowError
    except LimitpointError:
        raise
    except OverflowError:
        raise error(
            f"{name} must be an array of real numbers that a float can hold; one is too large"
        ) from None
    except Exception:  # whatever an object of another library raises when it is converted
        raise error(
            f"{name} must be an array of real numbers; it could not be read as one: {shown(value)}"
        ) from None
    if array.ndim not in ndim:
        listed = " or ".join(str(d) for d in ndim)
        wanted = f"at least {ndim.start}" if isinstance(ndim, range) else listed
        raise error(f"{name} must have {wanted} dimension(s); it has shape {array.shape}")
    checked: Float = read_only(array)
    return checked


def as_number(value: Any, rule: str, error: type[LimitpointError]) -> float:
    """Return `value` as a float, or raise `error` with the rule it breaks."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise error(f"{rule}; it is {shown(value)}")
    try:
        with np.errstate(over="ignore"):
            found = float(value)
        # Too large for a float: an error of Python's, infinite by NumPy's wider floats.
        overflows = np.isinf(found) and not bool(value == found)
    except OverflowError:
        overflows = True
    if overflows:
        raise error(f"{rule}; it is {shown(value)}, too large for a float")
    if np.isnan(found):
        raise error(f"{rule}; it is {shown(value)}")
    return found


def as_positive(value: Any, name: str, error: type[LimitpointError]) -> float:
    """Return `value` as a positive, finite float, or raise `error` naming `name`."""
    rule = f"{name} must be a positive number"
    found = as_number(value, rule, error)
    if not (np.isfinite(found) and found > 0):
        raise error(f"{rule}; it is {found}")
    return found


def as_number_within(
    value: Any, least: float, below: float, why: str, name: str, error: type[LimitpointError]
) -> float:
    """Return `value` as a float in [least, below), or raise `error` with the reason for both."""
    rule = f"{name} must be a number, at least {least:.3g} and below {below:g}"
    found = as_number(value, rule, error)
    if not least <= found < below:
        raise error(f"{rule}: {why}; it is {found:g}")
    return found


def as_whole_number(
    value: Any,
    least: int,
    name: str,
    error: type[LimitpointError],
    *,
    most: int = LARGEST_INTEGER,
) -> int:
    """Return `value` as an int from `least` to `most`, or raise `error` naming `name`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise error(f"{name} must be a whole number, at least {least}; it is {shown(value)}")
    if int(value) > most:
        raise error(f"{name} must be a whole number, at most {most}; it is {shown(value)}")
    return int(value)


def as_seed(value: Any, name: str, error: type[LimitpointError]) -> int:
    """Return `value` as the seed of random numbers, or raise `error` naming `name`.

    From a `numpy.random.Generator` one is drawn.
    """
    if isinstance(value, np.random.Generator):
        return int(value.integers(LARGEST_SEED))
    return as_whole_number(value, 0, name, error)


def as_depth(value: Any, error: type[LimitpointError]) -> int:
    """Return the number of layers, at least two, or raise `error`."""
    return as_whole_number(value, 2, "depth", error, most=MOST_LAYERS)


def as_truth(value: Any, name: str, error: type[LimitpointError]) -> bool:
    """Return `value` as a bool, which it must be, or raise `error` naming `name`."""
    if not isinstance(value, bool | np.bool_):
        raise error(f"{name} must be True or False; it is {shown(value)}")
    return bool(value)


def as_kind(
    value: Any,
    kind: type[T] | tuple[type[T], ...],
    wanted: str,
    name: str,
    error: type[LimitpointError],
) -> T:
    """Return `value`, which must be of this class, or raise `error` naming `name`.

    `wanted` says what would be right, as in "a Limit, like predict(problem)".
    """
    if not isinstance(value, kind):
        raise error(f"{name} must be {wanted}; it is {shown(value)}")
    return value


def as_several(value: Any, wanted: str, name: str, error: type[LimitpointError]) -> tuple[Any, ...]:
    """Return what can be gone through as a tuple, or raise `error` naming `name`."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise error(f"{name} must hold {wanted}; it is {shown(value)}")
    try:
        return tuple(value)
    except TypeError:  # an array without axes is iterable by name only
        raise error(f"{name} must hold {wanted}; it is {shown(value)}") from None


def as_path(value: Any, name: str, error: type[LimitpointError]) -> Path:
    """Return the name of a file as a path, or raise `error` naming the argument."""
    if not isinstance(value, str | PathLike) or "\0" in str(value):
        raise error(f"{name} must be the name of a file; it is {shown(value)}")
    return Path(value)


def check_masks(value: Any, name: str, error: type[LimitpointError]) -> None:
    """Raise `error` naming `name` where entries are masked: NumPy would drop the mask."""
    if _is_masked(value):
        raise error(f"{name} must not have masked entries; fill or drop them first")


def check_numbers(count: int, name: str, what: str, error: type[LimitpointError]) -> None:
    """Raise `error` naming `name` where it asks for an array that no memory holds."""
    if count > LARGEST_ARRAY:
        raise error(
            f"{name} is too large: {what} would be {count:.3g} numbers, {8e-9 * count:.3g} GB; "
            f"at most {LARGEST_ARRAY} are made"
        )


def shown(value: Any) -> str:
    """A wrong value in a message: one line, not too long; its class where it cannot be shown."""
    kind = type(value).__name__
    if isinstance(value, Integral) and abs(int(value)) > LARGEST_INTEGER:
        # Python refuses to write very long numbers.
        digits = int(int(value).bit_length() * np.log10(2)) + 1
        return f"a whole number of about {digits} digits"
    try:
        text = repr(value)
    except Exception:
        return f"a {kind} that cannot be shown"
    line = " ".join(text.split())
    if len(line) <= LONGEST_SHOWN:
        return line
    return f"a {kind}, {line[:LONGEST_SHOWN]}…"


def one_line(error: BaseException) -> str:
    """What an error of another library says, in one line; its class where it says nothing."""
    line = " ".join(str(error).split())
    if not line:
        return type(error).__name__
    return line if len(line) <= LONGEST_REASON else f"{line[:LONGEST_REASON]}…"


def read_only(array: Any) -> Any:
    """Mark an array as read-only and return it: results are immutable values."""
    array.setflags(write=False)
    return array


def _refuse(
    wrong: NDArray[np.bool_], array: Float, rule: str, error: type[LimitpointError]
) -> None:
    """Raise `error` if something is wrong, with how many entries are and where the first is."""
    if not wrong.any():
        return
    if array.ndim == 0:
        raise error(f"{rule}; it is {array}")
    where: Any = tuple(int(i) for i in np.argwhere(wrong)[0])
    where = where[0] if len(where) == 1 else where
    raise error(
        f"{rule}; {int(wrong.sum())} entries are not, the first at index {where} is {array[where]}"
    )


def _is_masked(value: Any, depth: int = 0) -> bool:
    """Whether entries of an array, or of the rows of a list, are masked."""
    if isinstance(value, np.ma.MaskedArray):
        return bool(np.ma.is_masked(value))
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "O" and any(_is_masked(one, MOST_AXES) for one in value.flat)
    if isinstance(value, list | tuple) and depth < MOST_AXES:
        return any(_is_masked(one, depth + 1) for one in value)
    return False


def _check_objects(array: NDArray[Any]) -> None:
    """Raise `TypeError` for objects that float() reads, or NumPy takes for NaN, but no numbers."""
    for one in array.flat:
        if one is None or isinstance(one, str | bytes) or not hasattr(one, "__float__"):
            raise TypeError
