"""Arrays given inline or in CSV, TSV, Parquet, NPY and NPZ files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from limitpoint.errors import LimitpointError, ProblemFileError
from limitpoint.foundation.arrays import Float, as_float_array, as_kind, as_path, one_line
from limitpoint.foundation.frames import names_of
from limitpoint.foundation.reading import read_npy, read_npz
from limitpoint.io.tables import as_choice, is_table, read_table

__all__ = ["Source", "read_array", "read_source"]


@dataclass(frozen=True)
class Source:
    """An array, and the names of its columns where it has some."""

    array: Float
    names: tuple[str, ...] | None


def read_array(
    source: Any,
    name: str,
    folder: Path = Path(),
    *,
    header: bool | None = None,
    index_column: bool | None = None,
) -> Float:
    """Read an array given inline or as the name of a CSV, TSV, Parquet, NPY or NPZ file.

    `file.npz` is read at the key `name`, `file.npz:key` at `key`. A table of one column becomes a
    vector; `header` and `index_column` are those of `read_table`.
    """
    return read_source(source, name, folder, header=header, index_column=index_column).array


def read_source(
    source: Any,
    name: str,
    folder: Path = Path(),
    *,
    header: bool | None = None,
    index_column: bool | None = None,
) -> Source:
    """As `read_array`, with the names of the columns."""
    as_kind(name, str, "a word", "name", ProblemFileError)
    folder = as_path(folder, "folder", ProblemFileError)
    choices = {
        "header": as_choice(header, "header"),
        "index_column": as_choice(index_column, "index_column"),
    }
    if not isinstance(source, str):
        array = as_float_array(source, name, ProblemFileError, ndim=(0, 1, 2, 3))
        return Source(array, names_of(source))
    stem, _, key = source.partition(".npz:")
    path = as_path(folder / (f"{stem}.npz" if key else source), name, ProblemFileError)
    try:
        if path.suffix == ".npy":
            return Source(read_npy(path), None)
        if path.suffix == ".npz":
            return Source(_at_key(path, key or name), None)
        if is_table(path):
            table = read_table(path, **choices)
            one = table.values.shape[1] == 1
            return Source(table.values[:, 0] if one else table.values, table.columns)
    except OSError as error:
        raise ProblemFileError(
            f"{name}: {path} cannot be read ({error.strerror or error})"
        ) from None
    except LimitpointError as error:
        raise ProblemFileError(f"{name}: {error}") from None
    except Exception as error:  # a damaged file raises whatever its bytes lead to
        raise ProblemFileError(
            f"{name}: {path} is not a table of numbers ({one_line(error)})"
        ) from None
    raise ProblemFileError(f"{name}: {path} must be a .csv, .tsv, .parquet, .npy or .npz file")


def _at_key(path: Path, key: str) -> Float:
    arrays = read_npz(path, key)
    found = arrays.get(key)
    if found is None:
        raise ProblemFileError(f"{path} has no array {key!r}, only {', '.join(arrays)}")
    return np.asarray(found)
