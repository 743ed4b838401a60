"""The kinds of tasks, read from tables and written to them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limitpoint.errors import ProblemFileError
from limitpoint.foundation.arrays import Float, as_kind
from limitpoint.io.data_files import read_source
from limitpoint.io.words import one_of
from limitpoint.tasks import Classification, MatrixSensing, Regression, Task

__all__ = ["TASKS", "TaskKind", "read_task", "task_arrays", "task_table"]


@dataclass(frozen=True)
class TaskKind:
    """A named task: how it is made, the entry that holds its samples, and what else it takes."""

    make: Callable[..., Task]
    samples: str
    takes: tuple[str, ...]


TASKS = {
    "regression": TaskKind(Regression, "X", takes=("loss_factor", "feature_names", "target_names")),
    "classification": TaskKind(Classification, "X", takes=("loss", "loss_factor", "feature_names")),
    "matrix_sensing": TaskKind(MatrixSensing, "A", takes=("loss_factor",)),
}
DEFAULT = "regression"
# How tables in files are read, for X (or A) and y alike.
READING = ("header", "index_column")


def read_task(table: Mapping[str, Any], folder: Path = Path()) -> Task:
    """The task of a table of entries; its kind is a regression by default."""
    as_kind(table, Mapping, "a table of entries, like [task]", "table", ProblemFileError)
    name = table.get("kind", DEFAULT)
    if not isinstance(name, str) or name not in TASKS:
        raise ProblemFileError(f"[task] kind must be {one_of(TASKS)}; it is {name!r}")
    kind = TASKS[name]
    extra = sorted(set(table) - {"kind", kind.samples, "y", *READING, *kind.takes})
    if extra:
        owners = [other for other, k in TASKS.items() if extra[0] in (k.samples, *k.takes)]
        raise ProblemFileError(
            f"[task] of kind {name!r} does not take {', '.join(extra)}; "
            f"{extra[0]} belongs to kind = {' or '.join(repr(owner) for owner in owners)}"
        )
    for key in (kind.samples, "y"):
        if key not in table:
            raise ProblemFileError(f"[task] needs {key}")
    source = table[kind.samples]
    samples = read_source(source, kind.samples, folder, **_reading(table, kind.samples))
    targets = read_source(table["y"], "y", folder, **_reading(table, "y"))
    settings = {
        "feature_names": samples.names,
        "target_names": targets.names if targets.array.ndim > 1 else None,
        **table,
    }
    taken = {key: settings[key] for key in kind.takes if key in settings}
    shaped = _as_sensors(samples.array) if kind.samples == "A" else _as_rows(samples.array, source)
    return kind.make(shaped, targets.array, **taken)


def _reading(table: Mapping[str, Any], entry: str) -> dict[str, Any]:
    """How the file of an entry is read: as all are, or as a table says for each."""
    found = {}
    for key in READING:
        said = table.get(key)
        if isinstance(said, Mapping):
            unknown = sorted(set(said) - {"X", "A", "y"})
            if unknown:
                raise ProblemFileError(
                    f"[task] {key} must be true or false, or say so for X and y; it has "
                    f"{', '.join(map(str, unknown))}"
                )
            said = said.get(entry)
        found[key] = said
    return found


def task_arrays(task: Task) -> dict[str, Float]:
    """The arrays that make this task again, by the names of their entries."""
    if isinstance(task, MatrixSensing):
        return {"A": task.sensors, "y": task.y}
    return {"X": task.X, "y": task.y}


def task_table(task: Task) -> dict[str, Any]:
    """The other entries that make it again."""
    others: dict[str, Any] = {"loss_factor": task.loss_factor}
    if isinstance(task, MatrixSensing):
        return {"kind": "matrix_sensing", **others}
    for key in ("feature_names", "target_names"):
        if getattr(task, key) is not None:
            others[key] = list(getattr(task, key))
    if isinstance(task, Classification):
        return {"kind": "classification", "loss": task.loss_name, **others}
    return {"kind": "regression", **others}


def _as_rows(samples: Float, source: Any) -> Float:
    """A matrix of one feature comes out of a CSV file as a vector."""
    if samples.ndim == 3:
        raise ProblemFileError(
            f"X must have one row per sample; it has shape {samples.shape}. Samples that are "
            'square matrices are the sensors A of kind = "matrix_sensing" (--sensors)'
        )
    return samples[:, None] if samples.ndim == 1 and isinstance(source, str) else samples


def _as_sensors(samples: Float) -> Float:
    """Sensors in a table have their entries in a row, one row of the matrix after the other."""
    if samples.ndim not in (1, 2):
        return samples
    entries = 1 if samples.ndim == 1 else samples.shape[1]
    side = math.isqrt(entries)
    if side * side != entries or samples.size == 0:
        raise ProblemFileError(
            "A must hold square matrices, in shape (m, d, d) or with the d² entries of each in a "
            f"row; it has shape {samples.shape}"
        )
    return samples.reshape(-1, side, side)
