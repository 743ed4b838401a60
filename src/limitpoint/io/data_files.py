"""Arrays given inline or in CSV, NPY and NPZ files."""

import csv
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from limitpoint.errors import ProblemFileError
from limitpoint.foundation.arrays import Float, as_float_array, as_kind, as_path

__all__ = ["read_array"]


def read_array(source: Any, name: str, folder: Path = Path()) -> Float:
    """Read an array given inline or as the name of a CSV, NPY or NPZ file.

    `file.npz` is read at the key `name`, `file.npz:key` at `key`. A CSV file may have one line of
    column names.
    """
    as_kind(name, str, "a word", "name", ProblemFileError)
    folder = as_path(folder, "folder", ProblemFileError)
    if not isinstance(source, str):
        return as_float_array(source, name, ProblemFileError, ndim=(0, 1, 2, 3))
    stem, _, key = source.partition(".npz:")
    path = folder / (f"{stem}.npz" if key else source)
    try:
        if path.suffix == ".npy":
            with path.open("rb") as file:
                return np.asarray(np.load(file, allow_pickle=False))
        if path.suffix == ".npz":
            with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                key = key or name
                if key not in archive:
                    known = ", ".join(archive.files)
                    raise ProblemFileError(f"{name}: {path} has no array {key!r}, only {known}")
                return np.asarray(archive[key])
        if path.suffix in (".csv", ".txt"):
            return _read_csv(path)
    except OSError as error:
        raise ProblemFileError(
            f"{name}: {path} cannot be read ({error.strerror or error})"
        ) from None
    except ProblemFileError:
        raise
    except (ValueError, EOFError, BadZipFile, MemoryError) as error:
        raise ProblemFileError(f"{name}: {path} is not a table of numbers ({error})") from None
    raise ProblemFileError(f"{name}: {path} must be a .csv, .npy or .npz file")


def _read_csv(path: Path) -> Float:
    """Comma-separated numbers, with or without a line of names; one column becomes a vector."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = [row for row in csv.reader(file) if row]
    # A line of names holds no number; a first line that holds some is data with a slip in it.
    if lines and not any(_is_number(cell) for cell in lines[0]):
        lines = lines[1:]
    if not lines:
        raise ValueError("no data")
    if len({len(line) for line in lines}) > 1:
        raise ValueError("its lines have different numbers of cells")
    array = np.array([[float(cell) for cell in line] for line in lines])
    return array[:, 0] if array.shape[1] == 1 else array


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
