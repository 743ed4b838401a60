"""Data of other libraries: frames, series, tensors, labelled and sparse arrays.

None of these libraries is imported: what an object is like decides, not where it comes from.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limitpoint.errors import LimitpointError

__all__ = ["as_plain", "listed", "names_of"]

# A sparse matrix is made dense up to this many numbers: 256 MiB.
LARGEST_DENSE = 2**25
# What pandas and others put where a number is missing.
MISSING = ("NAType", "NaTType", "NoneType")
# A message names at most this many columns.
COLUMNS_NAMED = 5


def as_plain(value: Any, name: str, error: type[LimitpointError]) -> Any:
    """What NumPy can read, from data of other libraries; other values as they are.

    Raises `error` naming `name`, and the columns of a frame, where entries are missing or are no
    real numbers.
    """
    kind = type(value)
    if kind in (np.ndarray, list, tuple, float, int):
        return value
    if hasattr(kind, "data_vars"):
        raise error(f"{name} must be one array of numbers; choose one of this Dataset's variables")
    if hasattr(kind, "collect") and hasattr(kind, "columns"):
        raise error(f"{name} must hold numbers; call collect() on this {kind.__name__} first")
    if hasattr(kind, "tocsr") and hasattr(kind, "toarray"):
        _check_dense(value.shape, name, "toarray", error)
        return value.toarray()
    if hasattr(kind, "detach") and hasattr(kind, "cpu"):
        return _of_tensor(value, name, error)
    columns = _columns(value)
    if columns is not None:
        return _of_columns(columns, len(value), name, error)
    if hasattr(kind, "to_numpy") and hasattr(value, "name") and not hasattr(kind, "dims"):
        return _of_columns([(None, value)], len(value), name, error)[:, 0]
    return value


def names_of(value: Any) -> tuple[str, ...] | None:
    """The names of the columns, where they are words; those of the last axis of a labelled array.

    Columns that are only numbered have no names.
    """
    kind = type(value)
    found: Any = None
    if hasattr(kind, "column_names"):
        found = value.column_names
    elif hasattr(kind, "columns") and not hasattr(kind, "collect"):
        found = value.columns
    elif hasattr(kind, "dims") and hasattr(kind, "coords") and len(value.dims) == 2:
        last = value.dims[-1]
        found = value.coords[last].values if last in value.coords else None
    if found is None:
        return None
    listed = tuple(found)
    return tuple(str(one) for one in listed) if all(isinstance(n, str) for n in listed) else None


def _columns(value: Any) -> list[tuple[Any, Any]] | None:
    """The columns of a frame with their labels, or None where it is none."""
    kind = type(value)
    if hasattr(kind, "get_columns"):  # polars
        return [(one.name, one) for one in value.get_columns()]
    if hasattr(kind, "column_names"):  # Arrow
        return list(zip(value.column_names, value.columns, strict=True))
    if hasattr(kind, "columns") and hasattr(kind, "items"):  # pandas
        return list(value.items())
    return None


def _of_columns(
    columns: list[tuple[Any, Any]], rows: int, name: str, error: type[LimitpointError]
) -> NDArray[np.float64]:
    """The numbers of columns, each of which may have a type of its own."""
    found = np.empty((rows, len(columns)))
    words: list[str] = []
    for j, (label, column) in enumerate(columns):
        raw = np.asarray(column)
        missing = _missing(raw)
        if missing.any():
            of = "" if label is None else f" of column {label!r}"
            raise error(
                f"{name} must not have missing entries; {int(missing.sum())}{of} are, the first at "
                f"index {int(np.argmax(missing))}"
            )
        if not _is_real(raw):
            words.append(repr(label))
            continue
        found[:, j] = raw
    if words:
        if columns[0][0] is None and len(columns) == 1:
            raise error(f"{name} must hold real numbers, not words or dates")
        raise error(
            f"{name} must hold real numbers; column {listed(words)} hold{'s' * (len(words) == 1)} "
            "words, dates or complex numbers: leave out or encode"
        )
    return found


def _missing(raw: NDArray[Any]) -> NDArray[np.bool_]:
    if raw.dtype.kind in "fcmM":
        missing: NDArray[np.bool_] = (np.isnat if raw.dtype.kind in "mM" else np.isnan)(raw)
        return missing
    if raw.dtype.kind == "O":
        gone = [
            type(one).__name__ in MISSING or (isinstance(one, float) and math.isnan(one))
            for one in raw
        ]
        return np.array(gone, dtype=bool)
    return np.zeros(len(raw), dtype=bool)


def _is_real(raw: NDArray[Any]) -> bool:
    if raw.dtype.kind == "O":
        return all(hasattr(one, "__float__") and not isinstance(one, str | bytes) for one in raw)
    return raw.dtype.kind in "biuf"


def _of_tensor(value: Any, name: str, error: type[LimitpointError]) -> Any:
    """The numbers of a tensor: without its gradient, on this machine's memory."""
    dense = value.detach()
    if str(getattr(value, "layout", "torch.strided")) != "torch.strided":
        _check_dense(tuple(value.shape), name, "to_dense", error)
        dense = dense.to_dense()
    dense = dense.cpu()
    # NumPy lacks some of its types of floats; all of them are exact in float64.
    return np.asarray(dense.double() if dense.is_floating_point() else dense)


def _check_dense(shape: Sequence[int], name: str, way: str, error: type[LimitpointError]) -> None:
    count = math.prod(shape)
    if count > LARGEST_DENSE:
        raise error(
            f"{name} is sparse and is needed dense here, {count:.3g} numbers ({8e-9 * count:.3g} "
            f"GB): make it dense yourself, {name}.{way}(), if the memory holds it; saddle_path "
            "takes sparse matrices as they are"
        )


def listed(names: Sequence[str]) -> str:
    """Names in a message: the first few, and how many more there are."""
    more = f" and {len(names) - COLUMNS_NAMED} more" if len(names) > COLUMNS_NAMED else ""
    return ", ".join(names[:COLUMNS_NAMED]) + more
