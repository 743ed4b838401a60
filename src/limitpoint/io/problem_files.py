"""Reading and writing problem files."""

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from limitpoint.errors import LimitpointError, ProblemFileError
from limitpoint.foundation.arrays import as_path
from limitpoint.io.init_tables import read_init
from limitpoint.io.network_tables import network_entries, network_table, read_network
from limitpoint.io.task_tables import read_task, task_arrays, task_table
from limitpoint.problem import Problem, as_problem

__all__ = ["TABLES", "load_problem", "save_problem"]

TABLES = {
    "task": {"kind", "X", "A", "y", "loss", "loss_factor"},
    "network": {"kind", "depth", "width", "widths", "filter_sizes"},
    "init": {
        "kind",
        "seed",
        "scale",
        "log_scale",
        "norm",
        "gamma",
        "direction",
        "shape",
        "imbalance",
        "perturbation",
    },
}


def load_problem(path: str | Path) -> Problem:
    """Read a problem from a TOML file.

    Raises
    ------
    ProblemFileError
        Naming the file and what in it is wrong.
    """
    path = as_path(path, "path", ProblemFileError)
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise ProblemFileError(f"{path}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProblemFileError(f"{path}: is not a TOML file ({error})") from None
    try:
        return _problem(content, path.parent)
    except LimitpointError as error:
        raise ProblemFileError(f"{path}: {error}") from error


def save_problem(problem: Problem, path: str | Path) -> None:
    """Write a problem as a TOML file and, beside it, an NPZ file with the same stem."""
    as_problem(problem)
    path = as_path(path, "path", ProblemFileError)
    network = network_table(problem.network)
    data = path.with_suffix(".npz")
    layers = {f"direction_{i}": layer for i, layer in enumerate(problem.init.direction)}
    samples = task_arrays(problem.task)
    arrays: dict[str, Any] = {**samples, **layers}
    np.savez(data, **arrays)
    init = problem.init
    # A float is written with all its digits, so either form of the scale is kept exactly; the
    # logarithm is the one that is always there.
    held = init.scale not in (0.0, float("inf")) or not init.is_finite
    scale = {"scale": init.scale} if held else {"log_scale": init.log_scale}
    content = {
        "task": {**task_table(problem.task), **dict.fromkeys(samples, data.name)},
        "network": network,
        "init": {"kind": "layers", "direction": [f"{data.name}:{key}" for key in layers], **scale},
    }
    path.write_text(tomli_w.dumps(content), encoding="utf-8")


def _problem(content: dict[str, Any], folder: Path) -> Problem:
    for table, keys in content.items():
        if table not in TABLES:
            raise ProblemFileError(f"unknown table [{table}]; known are {', '.join(TABLES)}")
        if not isinstance(keys, dict):
            raise ProblemFileError(f"{table} must be a table, [{table}]; it is {keys!r}")
        known = TABLES[table] | (network_entries() if table == "network" else set())
        unknown = set(keys) - known
        if unknown:
            raise ProblemFileError(
                f"[{table}] has unknown entries {', '.join(sorted(unknown))}; "
                f"known are {', '.join(sorted(known))}"
            )
    for table in TABLES:
        if table not in content:
            raise ProblemFileError(f"the table [{table}] is missing")
    task = read_task(content["task"], folder)
    network = read_network(content["network"], task)
    return Problem(network, read_init(content["init"], network, task, folder), task)
