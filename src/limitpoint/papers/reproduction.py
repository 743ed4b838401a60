"""Run experiments one after the other, skipping those that are finished."""

import time
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limitpoint.foundation.display import Page, counted, table
from limitpoint.foundation.progress import job
from limitpoint.foundation.result import Result
from limitpoint.papers.experiment import Experiment
from limitpoint.papers.reports.folder import finished, remove_unfinished, write

__all__ = ["Outcome", "Reproduction", "reproduce"]


@dataclass(frozen=True)
class Outcome:
    """How one experiment went.

    Attributes
    ----------
    record
        What its `checks.json` holds; None if it could not be run.
    error
        Why it could not.
    again
        Whether it was run now, rather than found finished.
    """

    id: str
    record: dict[str, Any] | None
    error: str | None
    again: bool

    @property
    def passed(self) -> bool:
        """Whether it ran and every check passed."""
        return self.record is not None and bool(self.record["passed"])


@dataclass(frozen=True, eq=False, repr=False)
class Reproduction(Result):
    """How all of them went."""

    outcomes: tuple[Outcome, ...]

    @property
    def passed(self) -> bool:
        """Whether every check of every experiment passed."""
        return all(outcome.passed for outcome in self.outcomes)

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values."""
        return {
            "passed": self.passed,
            "experiments": {
                one.id: one.record if one.record is not None else {"error": one.error}
                for one in self.outcomes
            },
        }

    def _facts(self) -> tuple[str, ...]:
        word = "PASSED" if self.passed else "FAILED"
        return word, counted(len(self.outcomes), "experiment")

    def _page(self) -> Page:
        rows = [_row(outcome) for outcome in self.outcomes]
        word = "PASSED" if self.passed else "FAILED"
        columns = ("experiment", "", "checks", "seconds", "closest to its tolerance")
        return table(f"Reproduction: {word}", columns, rows)


def reproduce(
    chosen: Iterable[Experiment],
    out: str | Path = "out",
    *,
    quick: bool = False,
    fresh: bool = False,
) -> Reproduction:
    """Run experiments and write a folder for each under `out`.

    Parameters
    ----------
    chosen
        The experiments.
    out
        Where the folders go, `out/<paper>-<figure>`.
    quick
        Smaller configurations with the same checks.
    fresh
        Run also what is finished.
    """
    listed = [one.quick() if quick else one for one in chosen]
    folder = Path(out)
    remove_unfinished(folder)
    outcomes = []
    with job("reproduce", len(listed), unit="experiments", kept=f"in {folder}") as runs:
        for one in listed:
            runs.advance(0, doing=one.id)
            outcomes.append(_outcome(one, folder, fresh))
            runs.advance()
    return Reproduction(tuple(outcomes))


def _outcome(one: Experiment, folder: Path, fresh: bool) -> Outcome:
    found = None if fresh else finished(one, folder)
    if found is not None:
        return Outcome(one.id, found, None, again=False)
    begin = time.perf_counter()
    try:
        data = one.run()
        checks = one.checks(data)
        write(one, data, checks, time.perf_counter() - begin, folder)
    except Exception as error:  # one experiment that breaks must not stop the others
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        return Outcome(one.id, None, f"{type(error).__name__} at {where}: {error}", again=True)
    return Outcome(one.id, finished(one, folder), None, again=True)


def _row(outcome: Outcome) -> tuple[str, ...]:
    record = outcome.record
    if record is None:
        return (outcome.id, "ERROR", "", "", outcome.error or "")
    checks = record["checks"]
    good = sum(check["passed"] for check in checks)
    worst = max(checks, key=_strain)
    word = "pass" if record["passed"] else "FAIL"
    seconds = f"{record['seconds']:.1f}" + ("" if outcome.again else " (before)")
    return (outcome.id, word, f"{good}/{len(checks)}", seconds, worst["name"])


def _strain(check: dict[str, Any]) -> float:
    """How much of its tolerance a check uses up."""
    if check["measured"] is None or not check["passed"]:
        return float("inf")
    off = abs(check["measured"] - check["expected"])
    return float(off / check["tolerance"]) if check["tolerance"] > 0 else 0.0
