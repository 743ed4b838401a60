"""Results of experiments on disk: a folder for each, complete or not there at all.

A folder is filled under another name and renamed when it is complete, which happens at once or not
at all. Whoever is killed on the way leaves only such an unfinished folder, and the next run
removes it. A folder that is being filled is locked, and runs that share an output folder change
it one after the other, so that none removes the work of another.
"""

import hashlib
import json
import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import xarray as xr
from matplotlib import rc_context

from limitpoint.foundation.atomic import naming
from limitpoint.papers.experiment import Experiment
from limitpoint.papers.measured import Check
from limitpoint.plot.figure_files import FONTS

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: nothing is locked there, and nothing removed
    fcntl = None  # type: ignore[assignment]

__all__ = ["finished", "read_record", "remove_unfinished", "write"]

# Unfinished folders are named like this, so that they can be told from finished ones.
UNFINISHED = ".unfinished-"
RECORD = "checks.json"
FILES = ("figure.png", "figure.pdf", "data.nc")
PACKAGES = ("limitpoint", "numpy", "scipy", "jax", "xarray", "matplotlib")
# What a record has, and of which kind each entry is; and a check in it.
ENTRIES = {
    "experiment": str,
    "title": str,
    "setup": str,
    "theorems": list,
    "configuration": dict,
    "passed": bool,
    "checks": list,
    "seconds": float | int,
    "versions": dict,
    "files": dict,
}
NUMBER = float | int | None
CHECK = {
    "name": str,
    "measured": NUMBER,
    "expected": NUMBER,
    "tolerance": NUMBER,
    "passed": bool,
}


def write(
    experiment: Experiment, data: xr.Dataset, checks: list[Check], seconds: float, out: Path
) -> Path:
    """Write figure (PNG, PDF), data (NetCDF) and checks (JSON); returns the folder."""
    out.mkdir(parents=True, exist_ok=True)
    final = out / experiment.id
    with naming(final), _new_folder(experiment, out) as filling:
        figure = experiment.plot(data)
        with rc_context(FONTS):
            figure.savefig(filling / "figure.png", dpi=150)
            # A date in the file would make equal figures differ.
            figure.savefig(filling / "figure.pdf", metadata={"CreationDate": None})
        data.to_netcdf(filling / "data.nc", engine="scipy")
        record = {
            "experiment": experiment.id,
            "title": experiment.title,
            "setup": experiment.setup,
            "theorems": list(experiment.theorems),
            "configuration": _plain(experiment.configuration()),
            "passed": all(check.passed for check in checks),
            "checks": [check.to_dict() for check in checks],
            "seconds": round(seconds, 2),
            "versions": {**{name: version(name) for name in PACKAGES}, "python": _python()},
            "files": {name: _sum(filling / name) for name in FILES},
        }
        (filling / RECORD).write_text(json.dumps(_plain(record), indent=2) + "\n", encoding="utf-8")
        filling.chmod(0o755)  # temporary folders are private
        with _locked(out):
            if not os.path.lexists(final):
                os.replace(filling, final)
                return final
            # A folder cannot be renamed onto one that has files: set the old one aside first.
            aside = Path(mkdtemp(prefix=f"{UNFINISHED}{experiment.id}-", dir=out))
            os.replace(final, aside / "old")
            os.replace(filling, final)
            shutil.rmtree(aside)
    return final


@contextmanager
def _new_folder(experiment: Experiment, out: Path) -> Iterator[Path]:
    """A folder to be filled, locked while it is; removed where it is not renamed in the end."""
    with _locked(out):
        folder = Path(mkdtemp(prefix=f"{UNFINISHED}{experiment.id}-", dir=out))
        lock = _lock(folder)
    try:
        yield folder
    finally:
        _unlock(lock)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Wait until no other run changes the folder, and let none meanwhile."""
    lock = _lock(folder)
    try:
        yield
    finally:
        _unlock(lock)


def _lock(folder: Path, wait: bool = True) -> int | None:
    """Lock a folder; -1 where another has it, None where there are no locks."""
    if fcntl is None:  # pragma: no cover - Windows
        return None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(descriptor)
        return -1
    except OSError:  # a file system without locks
        os.close(descriptor)
        return None
    return descriptor


def _unlock(lock: int | None) -> None:
    """A lock ends with its descriptor, also that of a program that was killed."""
    if lock is not None and lock >= 0:
        os.close(lock)


def finished(experiment: Experiment, out: Path) -> dict[str, Any] | None:
    """The record of a finished run of this experiment in this configuration, if there is one."""
    record = read_record(out / experiment.id)
    if record is None:
        return None
    same = record.get("configuration") == _plain(experiment.configuration()) and record.get(
        "versions", {}
    ).get("limitpoint") == version("limitpoint")
    return record if same else None


def read_record(folder: Path) -> dict[str, Any] | None:
    """The record in a folder, or None if it has none or something in the folder is damaged."""
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        whole = _is_whole(record) and all(
            record["files"].get(name) == _sum(folder / name) for name in FILES
        )
    except (OSError, ValueError, RecursionError):
        return None
    return record if whole else None


def _is_whole(record: Any) -> bool:
    """Whether a record has what records have."""
    return (
        _has(record, ENTRIES)
        and bool(record["checks"])
        and all(_has(check, CHECK) for check in record["checks"])
        and record["passed"] == all(check["passed"] for check in record["checks"])
    )


def _has(table: Any, entries: Mapping[str, Any]) -> bool:
    return isinstance(table, dict) and all(
        name in table and isinstance(table[name], kind) for name, kind in entries.items()
    )


def _sum(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def remove_unfinished(out: Path) -> None:
    """Remove what a run that was killed has left; not what another run is filling."""
    if fcntl is None or not out.is_dir():
        return
    with _locked(out):
        for left in out.glob(f"{UNFINISHED}*"):
            lock = _lock(left, wait=False)
            if lock == -1:
                continue
            old = left / "old"
            name = left.name.removeprefix(UNFINISHED).rpartition("-")[0]
            if old.is_dir() and not (out / name).exists():
                os.replace(old, out / name)  # killed between setting aside and renaming
            shutil.rmtree(left, ignore_errors=True)
            _unlock(lock)


def _python() -> str:
    return platform.python_version()


def _plain(value: Any) -> Any:
    """What JSON has: lists for tuples, None for numbers that are not finite."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not (abs(value) < float("inf")):
        return None
    return value
