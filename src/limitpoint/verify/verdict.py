"""The verdict: every comparison of prediction and dynamics, and the results behind it."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from limitpoint.dynamics import Trajectory
from limitpoint.foundation.display import Page, number, table
from limitpoint.foundation.extras import lazy_module
from limitpoint.foundation.result import Result
from limitpoint.foundation.values import Value
from limitpoint.problem import Problem
from limitpoint.status import Status
from limitpoint.theory import Limit
from limitpoint.verify.outcome import Outcome

if TYPE_CHECKING:
    import xarray as xr
else:
    xr = lazy_module("xarray", "to_xarray")

__all__ = ["Check", "Verdict", "arrival_check", "certificate_checks", "in_words"]

# A run that ended so was stopped: nothing is known against what it might have come to.
STOPPED_SHORT = (Status.STEP_LIMIT, Status.INTEGRATOR_FAILED, Status.REACHED_END)


@dataclass(frozen=True, eq=False)
class Check(Value):
    """One comparison: a measured number, what it may be at most, and why.

    Attributes
    ----------
    compares
        Whether failing it means that prediction and dynamics disagree. Else it means that a run was
        stopped too early to be compared.
    """

    name: str
    measured: float
    tolerance: float
    reason: str
    compares: bool = True

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
            "compares": self.compares,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Verdict(Result):
    """Prediction against dynamics: every check, and the results behind them.

    Attributes
    ----------
    checks
        All comparisons, each with its tolerance and where that comes from.
    limit
        The prediction; None where the theory fixes a set, not a point.
    flows
        The exact flows, the first of them at the problem's own scale: in sample space where there
        is a map that float64 resolves; in parameter space, at the problem's scale or the nearest
        that float64 holds; in logarithmic coordinates at both, where these differ.
    training
        The training run, if one was asked for.
    notes
        What was compared otherwise than at the problem's own scale, or not at all, and why.
    missing
        What decides, and could not be compared: with any of it the verdict is inconclusive.
    """

    problem: Problem
    checks: tuple[Check, ...]
    limit: Limit | None
    flows: tuple[Trajectory, ...]
    training: Trajectory | None = None
    notes: tuple[str, ...] = field(default=())
    missing: tuple[str, ...] = field(default=())

    @property
    def outcome(self) -> Outcome:
        """PASSED, FAILED or INCONCLUSIVE."""
        failed = [check for check in self.checks if not check.passed]
        if any(check.compares for check in failed):
            return Outcome.FAILED
        return Outcome.INCONCLUSIVE if failed or self.missing else Outcome.PASSED

    @property
    def passed(self) -> bool:
        """Whether every check passed, and nothing that decides was left out."""
        return self.outcome is Outcome.PASSED

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values."""
        return {
            "passed": self.passed,
            "outcome": self.outcome.name,
            "message": str(self.outcome),
            "checks": [check.to_dict() for check in self.checks],
            "notes": list(self.notes),
            "missing": list(self.missing),
            "limit": None if self.limit is None else self.limit.to_dict(),
        }

    def to_xarray(self) -> "xr.Dataset":
        """As a labelled data set: measured number, tolerance and outcome of every check."""
        return xr.Dataset(
            {
                "measured": ("check", [check.measured for check in self.checks]),
                "tolerance": ("check", [check.tolerance for check in self.checks]),
                "passed": ("check", [check.passed for check in self.checks]),
            },
            coords={"check": [check.name for check in self.checks]},
            attrs={
                "passed": int(self.passed),
                "outcome": self.outcome.name,
                "notes": "\n".join((*self.missing, *self.notes)),
            },
        )

    def _facts(self) -> tuple[str, ...]:
        good = sum(check.passed for check in self.checks)
        return self.outcome.name, f"{good} of {len(self.checks)} checks passed"

    def _page(self) -> Page:
        rows = [
            (
                check.name,
                number(check.measured),
                number(check.tolerance),
                _mark(check),
                check.reason,
            )
            for check in self.checks
        ]
        word = self.outcome.name
        return Page(
            table(
                f"Verdict on {self.problem!r}: {word}",
                ("check", "measured", "at most", "", "because"),
                rows,
            ),
            str(self.outcome),
            *self.missing,
            *self.notes,
        )


def _mark(check: Check) -> str:
    if check.passed:
        return "pass"
    return "FAIL" if check.compares else "open"


def arrival_check(name: str, run: Trajectory, measured: float, tolerance: float, why: str) -> Check:
    """Whether a run got as far as it had to; if it was stopped, that compares nothing."""
    return Check(
        name, measured, tolerance, f"{why} ({in_words(run)})", run.status not in STOPPED_SHORT
    )


def certificate_checks(limit: Limit) -> list[Check]:
    """One check for each residual of the limit's certificate.

    A residual that is too large compares nothing: there is no prediction to disagree with.
    """
    return [
        Check(f"limit: {name}", value, limit.certificate.allowed(name), "certificate", False)
        for name, value in limit.certificate.residuals.items()
    ]


def in_words(run: Trajectory) -> str:
    """How a run ended."""
    return run.status.words
