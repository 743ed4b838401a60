"""Problems in TOML files that point at CSV, NPY or NPZ data.

    [task]
    X = "data.csv"            # or an NPY file, an NPZ file (its array "X"), "data.npz:name", [[…]]
    y = "target.csv"
    loss_factor = 1.0         # optional

    [network]
    kind = "diagonal"
    depth = 2

    [init]
    kind = "random"           # or "zero_last" (with an optional direction), or "layers"
    seed = 0                  # for "random"
    scale = 1e-3              # or log_scale = -2302.6

With `kind = "layers"`, `direction` lists one array or file per layer. Paths are relative to the
problem file.
"""

import csv
import tomllib
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import tomli_w

from limitpoint.arrays import Float, as_float_array
from limitpoint.errors import LimitpointError, ProblemFileError
from limitpoint.init import Init
from limitpoint.networks import Diagonal, Network
from limitpoint.problem import Problem
from limitpoint.tasks import Regression

__all__ = ["load_problem", "read_array", "read_data", "save_problem"]

TABLES = {
    "task": {"X", "y", "loss_factor"},
    "network": {"kind", "depth"},
    "init": {"kind", "seed", "scale", "log_scale", "direction"},
}


def load_problem(path: str | Path) -> Problem:
    """Read a problem from a TOML file.

    Raises
    ------
    ProblemFileError
        Naming the file and what in it is wrong.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise ProblemFileError(f"{path}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ProblemFileError(f"{path}: is not a TOML file ({error})") from None
    try:
        return _problem(content, path.parent)
    except LimitpointError as error:
        raise ProblemFileError(f"{path}: {error}") from error


def save_problem(problem: Problem, path: str | Path) -> None:
    """Write a problem as a TOML file and, beside it, an NPZ file with the same stem."""
    path = Path(path)
    if not isinstance(problem.network, Diagonal):
        raise ProblemFileError(f"{problem.network} cannot be written to a problem file")
    data = path.with_suffix(".npz")
    layers = {f"direction_{i}": layer for i, layer in enumerate(problem.init.direction)}
    arrays: dict[str, Any] = {"X": problem.task.X, "y": problem.task.y, **layers}
    np.savez(data, **arrays)
    init = problem.init
    # A float is written with all its digits, so either form of the scale is kept exactly; the
    # logarithm is the one that is always there.
    held = init.scale not in (0.0, float("inf")) or not init.is_finite
    scale = {"scale": init.scale} if held else {"log_scale": init.log_scale}
    content = {
        "task": {"X": data.name, "y": data.name, "loss_factor": problem.task.loss_factor},
        "network": {"kind": "diagonal", "depth": problem.network.depth},
        "init": {"kind": "layers", "direction": [f"{data.name}:{key}" for key in layers], **scale},
    }
    path.write_text(tomli_w.dumps(content), encoding="utf-8")


def read_array(source: Any, name: str, folder: Path = Path()) -> Float:
    """Read an array given inline or as the name of a CSV, NPY or NPZ file.

    `file.npz` is read at the key `name`, `file.npz:key` at `key`. A CSV file may have one line of
    column names.
    """
    if not isinstance(source, str):
        return as_float_array(source, name, ProblemFileError, ndim=(0, 1, 2))
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
    except (ValueError, EOFError, BadZipFile) as error:
        raise ProblemFileError(f"{name}: {path} is not a table of numbers ({error})") from None
    raise ProblemFileError(f"{name}: {path} must be a .csv, .npy or .npz file")


def read_data(X: Any, y: Any, loss_factor: float, folder: Path = Path()) -> Regression:
    """Read both arrays; a matrix of one feature comes out of a CSV file as a vector."""
    matrix = read_array(X, "X", folder)
    matrix = matrix[:, None] if matrix.ndim == 1 and isinstance(X, str) else matrix
    return Regression(matrix, read_array(y, "y", folder), loss_factor)


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


def _problem(content: dict[str, Any], folder: Path) -> Problem:
    for table, keys in content.items():
        if table not in TABLES:
            raise ProblemFileError(f"unknown table [{table}]; known are {', '.join(TABLES)}")
        if not isinstance(keys, dict):
            raise ProblemFileError(f"{table} must be a table, [{table}]; it is {keys!r}")
        unknown = set(keys) - TABLES[table]
        if unknown:
            raise ProblemFileError(
                f"[{table}] has unknown entries {', '.join(sorted(unknown))}; "
                f"known are {', '.join(sorted(TABLES[table]))}"
            )
    for table in TABLES:
        if table not in content:
            raise ProblemFileError(f"the table [{table}] is missing")
    task = _task(content["task"], folder)
    network = _network(content["network"])
    return Problem(network, _init(content["init"], network, task, folder), task)


def _task(table: dict[str, Any], folder: Path) -> Regression:
    for key in ("X", "y"):
        if key not in table:
            raise ProblemFileError(f"[task] needs {key}")
    return read_data(table["X"], table["y"], table.get("loss_factor", 1.0), folder)


def _network(table: dict[str, Any]) -> Network:
    kind = table.get("kind")
    if kind != "diagonal":
        raise ProblemFileError(f"[network] kind must be 'diagonal'; it is {kind!r}")
    return Diagonal(depth=table.get("depth", 2))


def _init(table: dict[str, Any], network: Network, task: Regression, folder: Path) -> Init:
    scale: dict[str, Any] = {key: table[key] for key in ("scale", "log_scale") if key in table}
    direction = table.get("direction")
    match table.get("kind"):
        case "random":
            return Init.random(network, task, seed=table.get("seed", 0), **scale)
        case "zero_last":
            given = None if direction is None else read_array(direction, "direction", folder)
            return Init.zero_last(network, task, direction=given, **scale)
        case "layers":
            if not isinstance(direction, list):
                raise ProblemFileError("[init] of kind 'layers' needs direction, a list of layers")
            layers = [
                read_array(layer, f"direction[{i}]", folder) for i, layer in enumerate(direction)
            ]
            return Init(layers, **scale)
        case other:
            raise ProblemFileError(
                f"[init] kind must be 'random', 'zero_last' or 'layers'; it is {other!r}"
            )
