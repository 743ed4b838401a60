"""Results of experiments on disk: a folder for each, complete or not there at all.

A folder is filled under another name and renamed when it is complete, which happens at once or not
at all. Whoever is killed on the way leaves only such an unfinished folder, and the next run
removes it.
"""

import json
import os
import platform
import shutil
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import xarray as xr

from limitpoint.papers.experiment import Experiment
from limitpoint.papers.measured import Check

__all__ = ["finished", "read_record", "remove_unfinished", "write"]

# Unfinished folders are named like this, so that they can be told from finished ones.
UNFINISHED = ".unfinished-"
RECORD = "checks.json"
PACKAGES = ("limitpoint", "numpy", "scipy", "jax", "xarray", "matplotlib")


def write(
    experiment: Experiment, data: xr.Dataset, checks: list[Check], seconds: float, out: Path
) -> Path:
    """Write figure (PNG, PDF), data (NetCDF) and checks (JSON); returns the folder."""
    out.mkdir(parents=True, exist_ok=True)
    filling = Path(mkdtemp(prefix=f"{UNFINISHED}{experiment.id}-", dir=out))
    figure = experiment.plot(data)
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
    }
    (filling / RECORD).write_text(json.dumps(_plain(record), indent=2) + "\n", encoding="utf-8")
    filling.chmod(0o755)  # temporary folders are private
    final = out / experiment.id
    if final.exists():
        # A folder cannot be renamed onto one that has files: set the old one aside first.
        aside = Path(mkdtemp(prefix=f"{UNFINISHED}{experiment.id}-", dir=out))
        os.replace(final, aside / "old")
        os.replace(filling, final)
        shutil.rmtree(aside)
    else:
        os.replace(filling, final)
    return final


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
    """The record in a folder, or None if it has none."""
    try:
        record: dict[str, Any] = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record


def remove_unfinished(out: Path) -> None:
    """Remove what a run that was killed has left."""
    for left in out.glob(f"{UNFINISHED}*"):
        old = left / "old"
        name = left.name.removeprefix(UNFINISHED).rpartition("-")[0]
        if old.is_dir() and not (out / name).exists():
            os.replace(old, out / name)  # killed between setting aside and renaming
        shutil.rmtree(left, ignore_errors=True)


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
