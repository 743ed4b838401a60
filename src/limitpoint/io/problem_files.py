"""Reading and writing problem files."""

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from limitpoint.errors import LimitpointError, ProblemFileError
from limitpoint.foundation.arrays import as_path, as_truth, one_line, shown
from limitpoint.foundation.atomic import writing_together
from limitpoint.foundation.numerals import float_of
from limitpoint.foundation.reading import decoded, read_bytes
from limitpoint.io.init_tables import read_init
from limitpoint.io.network_tables import network_entries, network_table, read_network
from limitpoint.io.tables import is_table
from limitpoint.io.task_tables import read_task, task_arrays, task_table
from limitpoint.problem import Problem, as_problem

__all__ = ["TABLES", "load_problem", "save_problem"]

TABLES = {
    "task": {
        "kind",
        "X",
        "A",
        "y",
        "loss",
        "loss_factor",
        "header",
        "index_column",
        "feature_names",
        "target_names",
    },
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
        content = tomllib.loads(decoded(read_bytes(path)), parse_float=_number)
    except OSError as error:
        raise ProblemFileError(f"{path}: cannot be read ({error.strerror or error})") from None
    except RecursionError:
        raise ProblemFileError(f"{path}: is not a TOML file (it is nested too deeply)") from None
    except LimitpointError as error:
        raise ProblemFileError(f"{path}: {error}") from None
    except ValueError as error:
        data = is_table(path) or path.suffix in (".npy", ".npz")
        hint = "; data are named in one, or given by --X and --y" if data else ""
        raise ProblemFileError(f"{path}: is not a TOML file ({one_line(error)}){hint}") from None
    try:
        return _problem(content, path.parent)
    except LimitpointError as error:
        raise ProblemFileError(f"{path}: {error}") from error
    except RecursionError:
        raise ProblemFileError(f"{path}: is nested too deeply") from None


def save_problem(problem: Problem, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write a problem as a TOML file and, beside it, an NPZ file with the same stem.

    Both are written, or neither. Returns the TOML file.

    Parameters
    ----------
    problem
        The problem; one of a network that is made of functions cannot be written.
    path
        The file; `.toml` is added where it has no ending.
    overwrite
        Whether files that are there already may be replaced, the TOML file and the NPZ file.
    """
    as_problem(problem)
    replaces = as_truth(overwrite, "overwrite", ProblemFileError)
    path = _as_problem_file(path)
    network = network_table(problem.network)
    data = path.with_suffix(".npz")
    layers = {f"direction_{i}": layer for i, layer in enumerate(problem.init.direction)}
    samples = task_arrays(problem.task)
    arrays: dict[str, Any] = {**samples, **layers}
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
    text = tomli_w.dumps(content)
    with writing_together(data, path, overwrite=replaces) as (arrays_part, text_part):
        with arrays_part.open("wb") as written:
            np.savez(written, **arrays)
        text_part.write_text(text, encoding="utf-8")
    return path


def _as_problem_file(path: Any) -> Path:
    """The name of a problem file that can be loaded again, with its data beside it."""
    found = as_path(path, "path", ProblemFileError)
    if found.name.strip(".") and not found.suffix:
        found = found.with_suffix(".toml")
    # Problem files name an array of an NPZ file as "data.npz:key".
    readable = ".npz:" not in f"{found.name}:" and found.name.isprintable()
    if found.suffix != ".toml" or not readable:
        raise ProblemFileError(
            f"path must be a name that ends in .toml, without .npz: in it; it is {shown(str(path))}"
        )
    return found


def _number(text: str) -> float:
    """A number of a problem file; a scale that no float holds has a logarithm."""
    return float_of(text, "; as a scale give its logarithm, log_scale = {log:.8g}")


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
