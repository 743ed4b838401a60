"""Many cases from one seed: each is made by its number alone, and can be run again by it."""

import shutil
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tests.fuzz import files, learners, verbs
from tests.fuzz.draw import Draw
from tests.fuzz.judge import Failure, Judge, Refused

# Every kind of case, and how often it is drawn: the dearer, the rarer.
KINDS = {
    verbs.construct: 300,
    verbs.settings: 150,
    verbs.predict: 250,
    verbs.explain: 40,
    verbs.saddle_path: 200,
    verbs.bring: 10,
    verbs.predict_path: 20,
    verbs.prove: 20,
    verbs.analyse: 150,
    verbs.flow: 40,
    verbs.direction: 2,
    verbs.diffuse: 2,
    verbs.draw_figure: 5,
    verbs.train: 4,
    verbs.verify: 2,
    learners.estimate: 120,
    files.name_networks: 20,
    files.read_files: 150,
    files.read_values: 60,
    files.read_problems: 120,
    files.command: 100,
    files.slow_command: 4,
}


@dataclass
class Report:
    """What came of the cases, by kind."""

    answered: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        names = sorted(self.seconds, key=lambda name: -self.seconds[name])
        lines = [
            f"{name:15} {self.answered[name]:6} answered {self.refused[name]:6} refused "
            f"{self.seconds[name]:8.2f} s"
            for name in names
        ]
        total = f"{self.calls} calls, {len(self.failures)} failures"
        return "\n".join([*lines, total])


def run(
    count: int, seed: int, *, start: int = 0, only: str | None = None, tell: Any = None
) -> Report:
    """Run the cases with numbers from `start` on; those of one kind, if it is named.

    `tell` is called with every failure, as it is found.
    """
    report = Report()
    for number in range(start, start + count):
        before = len(report.failures)
        run_case(seed, number, report, only)
        for failure in report.failures[before:] if tell else ():
            tell(failure)
    return report


def run_case(seed: int, number: int, report: Report, only: str | None = None) -> None:
    """Run one case, in a folder of its own."""
    rng = np.random.default_rng([seed, number])
    shares = np.array(list(KINDS.values()), dtype=float)
    kind = list(KINDS)[int(rng.choice(len(KINDS), p=shares / shares.sum()))]
    if only is not None and kind.__name__ != only:
        return
    call, folder, began = Judge(), Path(tempfile.mkdtemp(prefix="fuzz")), time.perf_counter()
    try:
        kind(Draw(rng), call, folder)
        report.answered[kind.__name__] += 1
    except Refused:
        report.refused[kind.__name__] += 1
    except Exception as error:
        report.failures.append(_failure(seed, number, kind.__name__, call, error))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        report.calls += len(call.calls)
        report.seconds[kind.__name__] += time.perf_counter() - began


def _failure(seed: int, number: int, kind: str, call: Judge, error: Exception) -> str:
    cause = error.__cause__ if isinstance(error, Failure) and error.__cause__ else error
    frames = traceback.extract_tb(cause.__traceback__)[-4:]
    where = "\n".join(f"    {frame.filename}:{frame.lineno} {frame.line}" for frame in frames)
    made = "\n".join(f"  {one}" for one in call.calls[-4:])
    return (
        f"case {number} ({kind}): {error}\n{made}\n{where}\n"
        f"  again: python -m tests.fuzz --seed {seed} --case {number}"
    )
