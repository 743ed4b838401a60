"""Values in files: an NPZ archive of their arrays, and a description of the rest in JSON.

Nothing in a file is executed: a description names classes of this package, whose fields it fills.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from limitpoint.errors import LimitpointError, ResultFileError
from limitpoint.foundation.arrays import as_path, as_truth, one_line, read_only, shown
from limitpoint.foundation.atomic import check_new, writing
from limitpoint.foundation.extras import lazy_module
from limitpoint.foundation.reading import read_npz
from limitpoint.foundation.values import Value
from limitpoint.status import Status

if TYPE_CHECKING:
    import xarray as xr
else:
    xr = lazy_module("xarray", "a saved sweep")

__all__ = ["load", "save"]

FORMAT, VERSION = "limitpoint value", 2
DESCRIPTION = "description"
# Rooms that hold every class whose values can be saved; theorems are known by their ids.
ROOMS = ("limitpoint.results", "limitpoint.networks", "limitpoint.problem")
ATLAS = "limitpoint.theory.atlas"
ENUMS: dict[str, type[Enum]] = {"Status": Status}


def save(value: Value, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write a value to an NPZ file, whole or not at all.

    Parameters
    ----------
    value
        A result, a problem, a task, a network or an initialisation.
    path
        The file; `.npz` is added where it has no ending.
    overwrite
        Whether a file that is there already may be replaced.
    """
    if not isinstance(value, Value):
        raise LimitpointError(f"value must be a result of limitpoint; it is {shown(value)}")
    replaces = as_truth(overwrite, "overwrite", LimitpointError)
    file = as_path(path, "path", LimitpointError)
    file = file if file.suffix else file.with_suffix(".npz")
    check_new(file, replaces)
    arrays: dict[str, NDArray[Any]] = {}
    content = {"format": FORMAT, "version": VERSION, "value": _encoded(value, arrays)}
    text = json.dumps(content, ensure_ascii=False).encode()
    with writing(file, overwrite=replaces) as part, part.open("wb") as written:
        np.savez_compressed(
            written, allow_pickle=False, **{DESCRIPTION: np.frombuffer(text, np.uint8)}, **arrays
        )
    return file


def load(path: str | os.PathLike[str]) -> Any:
    """Read a value back: equal to the one that was saved.

    Raises
    ------
    ResultFileError
        If the file is damaged, of a later version, or not one of ours.
    """
    file = as_path(path, "path", ResultFileError)
    for room in ROOMS:
        import_module(room)
    try:
        arrays: dict[str, Any] = dict(read_npz(file))
        content = json.loads(arrays.pop(DESCRIPTION).tobytes().decode())
    except FileNotFoundError:
        raise ResultFileError(f"there is no file {file}") from None
    except Exception as error:  # a damaged archive raises whatever its bytes lead to
        raise ResultFileError(
            f"{file} is not a file that limitpoint saved, or it is damaged ({one_line(error)})"
        ) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ResultFileError(f"{file} is not a file that limitpoint saved")
    if content.get("version") != VERSION:
        raise ResultFileError(
            f"{file} is of version {content.get('version')!r}; this limitpoint reads {VERSION}"
        )
    try:
        return _decoded(content["value"], arrays)
    except Exception as error:
        raise ResultFileError(f"{file} is damaged: {one_line(error)}") from None


def _encoded(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """As JSON, with arrays set aside."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype != object:
        name = f"array_{len(arrays)}"
        arrays[name] = value
        return {"array": name, "order": "F" if np.isfortran(value) else "C"}
    if isinstance(value, list | tuple):
        return {type(value).__name__: [_encoded(one, arrays) for one in value]}
    if isinstance(value, Enum) and type(value).__name__ in ENUMS:
        return {"enum": type(value).__name__, "name": value.name}
    if hasattr(value, "data_vars"):  # an xarray data set
        parts = {"variables": value.data_vars, "coords": value.coords}
        return {
            "dataset": {
                name: [
                    [key, list(one.dims), _encoded(one.values, arrays)] for key, one in p.items()
                ]
                for name, p in parts.items()
            },
            "attrs": [[key, _encoded(one, arrays)] for key, one in value.attrs.items()],
        }
    if isinstance(value, Mapping):
        return {"mapping": [[key, _encoded(one, arrays)] for key, one in value.items()]}
    if sparse.issparse(value):
        layout = [_encoded(one, arrays) for one in (value.data, value.indices, value.indptr)]
        return {"sparse": value.format, "shape": list(value.shape), "layout": layout}
    if type(value).__name__ == "Theorem":
        return {"theorem": value.id}
    if isinstance(value, Value) and is_dataclass(value):
        made = {one.name: _encoded(getattr(value, one.name), arrays) for one in fields(value)}
        return {"value": type(value).__name__, "fields": made}
    raise LimitpointError(
        f"value must hold arrays and numbers only to be saved; {type(value).__name__} cannot be "
        "written (functions and operators live in a program, not in a file)"
    )


def _decoded(content: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """The value of a description."""
    if not isinstance(content, dict):
        return content
    if "array" in content:
        found = arrays[content["array"]]
        return read_only(np.asarray(found, order=content["order"]))
    if "tuple" in content:
        return tuple(_decoded(one, arrays) for one in content["tuple"])
    if "list" in content:
        return [_decoded(one, arrays) for one in content["list"]]
    if "mapping" in content:
        return {key: _decoded(one, arrays) for key, one in content["mapping"]}
    if "enum" in content:
        return ENUMS[content["enum"]][content["name"]]
    if "dataset" in content:
        return _dataset(content, arrays)
    if "sparse" in content:
        data, indices, indptr = (_decoded(one, arrays) for one in content["layout"])
        make = {"csr": sparse.csr_array, "csc": sparse.csc_array}[content["sparse"]]
        return make((data, indices, indptr), shape=tuple(content["shape"]))
    if "theorem" in content:
        return import_module(ATLAS).theorem_of(content["theorem"])
    kind = Value.kinds[content["value"]]
    state = {name: _decoded(one, arrays) for name, one in content["fields"].items()}
    # A field that came later has its default in a file from before.
    own = {one.name: one.default for one in fields(kind)}  # type: ignore[arg-type]
    state = {name: default for name, default in own.items() if default is not MISSING} | state
    if set(state) != set(own):
        raise ValueError(f"{kind.__name__} has other fields")
    made = object.__new__(kind)
    made.__setstate__(state)
    return made


def _dataset(content: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> "xr.Dataset":
    parts = {
        name: {key: (tuple(dims), _decoded(one, arrays)) for key, dims, one in listed}
        for name, listed in content["dataset"].items()
    }
    attrs = {key: _decoded(one, arrays) for key, one in content["attrs"]}
    found = xr.Dataset(parts["variables"], coords=parts["coords"], attrs=attrs)
    for variable in found.variables.values():
        read_only(variable.values)
    return found
