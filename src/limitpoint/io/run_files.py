"""Runs in files: coefficients or layers that were trained elsewhere."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from limitpoint.errors import ProblemFileError
from limitpoint.foundation.arrays import as_path, one_line
from limitpoint.foundation.reading import read_npz
from limitpoint.foundation.saving import DESCRIPTION, load
from limitpoint.io.data_files import read_array

__all__ = ["read_run"]


def read_run(path: str | os.PathLike[str]) -> Any:
    """Read a run for `compare` from an NPZ, NPY, CSV, TSV or Parquet file.

    An NPZ file holds coefficients under the name `coef`, or the layers in the order of the
    network's, whatever their names; or a result that limitpoint saved. Any other file holds
    coefficients: one moment, or a row for each checkpoint.
    """
    file = as_path(path, "path", ProblemFileError)
    if file.suffix != ".npz":
        return read_array(str(file), "coefficients", Path())
    try:
        arrays = dict(read_npz(file))
    except OSError as error:
        raise ProblemFileError(f"{file} cannot be read ({error.strerror or error})") from None
    except Exception as error:  # a damaged archive raises whatever its bytes lead to
        raise ProblemFileError(f"{file} is not an NPZ file ({one_line(error)})") from None
    if DESCRIPTION in arrays:
        return load(file)
    if not arrays:
        raise ProblemFileError(f"{file} holds no arrays")
    return {name: np.asarray(array) for name, array in arrays.items()}
