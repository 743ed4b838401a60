"""The verdict: every comparison of prediction and dynamics, and the results behind it."""

from dataclasses import dataclass, field
from typing import Any

import xarray as xr
from rich.console import Group

from limitpoint.display import number, table, to_html, to_text
from limitpoint.dynamics import Trajectory
from limitpoint.problem import Problem
from limitpoint.theory import Limit

__all__ = ["Check", "Verdict", "certificate_checks", "in_words"]


@dataclass(frozen=True)
class Check:
    """One comparison: a measured number, what it may be at most, and why."""

    name: str
    measured: float
    tolerance: float
    reason: str

    @property
    def passed(self) -> bool:
        """Whether the measured number is a number no larger than the tolerance."""
        return bool(self.measured <= self.tolerance)

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values."""
        return {
            "name": self.name,
            "measured": self.measured,
            "tolerance": self.tolerance,
            "passed": self.passed,
            "reason": self.reason,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Verdict:
    """Prediction against dynamics: every check, and the results behind them.

    Attributes
    ----------
    checks
        All comparisons, each with its tolerance and where that comes from.
    limit
        The prediction; None where the theory fixes a set, not a point.
    flows
        The exact flows: in parameter space always, in sample space where there is a mirror map.
    training
        The training run, if one was asked for.
    notes
        What could not be checked, and why.
    """

    problem: Problem
    checks: tuple[Check, ...]
    limit: Limit | None
    flows: tuple[Trajectory, ...]
    training: Trajectory | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values."""
        return {
            "passed": self.passed,
            "checks": [check.to_dict() for check in self.checks],
            "notes": list(self.notes),
            "limit": None if self.limit is None else self.limit.to_dict(),
        }

    def to_xarray(self) -> xr.Dataset:
        """As a labelled data set: measured number, tolerance and outcome of every check."""
        return xr.Dataset(
            {
                "measured": ("check", [check.measured for check in self.checks]),
                "tolerance": ("check", [check.tolerance for check in self.checks]),
                "passed": ("check", [check.passed for check in self.checks]),
            },
            coords={"check": [check.name for check in self.checks]},
            attrs={"passed": int(self.passed), "notes": "\n".join(self.notes)},
        )

    def __rich__(self) -> Any:
        rows = [
            (
                check.name,
                number(check.measured),
                number(check.tolerance),
                "pass" if check.passed else "FAIL",
                check.reason,
            )
            for check in self.checks
        ]
        word = "PASSED" if self.passed else "FAILED"
        return Group(
            table(
                f"Verdict on {self.problem!r}: {word}",
                ("check", "measured", "at most", "", "because"),
                rows,
            ),
            *self.notes,
        )

    def __repr__(self) -> str:
        return to_text(self.__rich__())

    def _repr_html_(self) -> str:
        return to_html(repr(self))


def certificate_checks(limit: Limit) -> list[Check]:
    """One check for each residual of the limit's certificate."""
    return [
        Check(f"limit: {name}", value, limit.certificate.allowed(name), "certificate")
        for name, value in limit.certificate.residuals.items()
    ]


def in_words(run: Trajectory) -> str:
    """How a run ended."""
    return run.status.name.lower().replace("_", " ")
