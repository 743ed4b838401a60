"""Which theorems apply to a problem, which is used, and what the nearest of the others ask for."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from limitpoint.foundation.conditions import Condition
from limitpoint.foundation.display import Page, table
from limitpoint.foundation.extras import lazy_module
from limitpoint.foundation.result import Result
from limitpoint.foundation.text_layout import in_lines
from limitpoint.problem import Problem
from limitpoint.theory.atlas import Theorem

if TYPE_CHECKING:
    import xarray as xr
else:
    xr = lazy_module("xarray", "to_xarray")

__all__ = ["Explanation"]

Row = tuple[Theorem, tuple[Condition, ...]]
# Of the theorems that do not apply so many are shown, and so many conditions of one in an error.
NEAREST_SHOWN = 3
CONDITIONS_SHOWN = 2
# An error is set in lines that a terminal of 80 columns does not break, and in about so many.
ERROR_WIDTH = 79
ERROR_LINES = 8
# What the command line sets before it.
PREFIX = "error: "


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Result):
    """Every theorem of the atlas with its conditions evaluated on one problem.

    Printed, it shows the theorem that is used, the others that apply, and the nearest of those that
    do not; `full()` has them all.

    Attributes
    ----------
    problem
        The problem.
    rows
        Every theorem, the strongest first, with its conditions.
    """

    problem: Problem
    rows: tuple[Row, ...]

    @property
    def applicable(self) -> tuple[Theorem, ...]:
        """The theorems all of whose conditions hold, the strongest first."""
        return tuple(theorem for theorem, conditions in self.rows if not _failing(conditions))

    @property
    def used(self) -> Theorem | None:
        """The theorem that `predict` uses: of those that apply the strongest that gives a limit."""
        return next((theorem for theorem in self.applicable if theorem.limit is not None), None)

    @property
    def nearest(self) -> tuple[Theorem, ...]:
        """The theorems that do not apply, the nearest first.

        Before all others those about this kind of task, among these those about this kind of
        network, and among these those that need no other data; then by the number of conditions
        that fail, the fewest first; then by the margin of the worst of them, a condition without
        a margin being the farthest; then by rank.
        """
        return tuple(theorem for theorem, _ in sorted(self._others(), key=_distance))

    def _others(self) -> list[Row]:
        return [row for row in self.rows if _failing(row[1])]

    def conditions(self, theorem: Theorem) -> tuple[Condition, ...]:
        """The conditions of one theorem."""
        return next(conditions for one, conditions in self.rows if one.id == theorem.id)

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values."""
        used = self.used
        return {
            theorem.id: {
                "applies": not _failing(conditions),
                "used": used is not None and theorem.id == used.id,
                "concludes": theorem.concludes,
                "conditions": [_as_dict(condition) for condition in conditions],
            }
            for theorem, conditions in self.rows
        }

    def to_xarray(self) -> "xr.Dataset":
        """As a labelled data set: one entry per condition of each theorem."""
        entries = [(t.id, c) for t, conditions in self.rows for c in conditions]
        margins = [math.nan if c.margin is None else c.margin for _, c in entries]
        return xr.Dataset(
            {
                "condition": ("entry", [c.name for _, c in entries]),
                "holds": ("entry", [c.holds for _, c in entries]),
                "margin": ("entry", margins),
            },
            coords={"theorem": ("entry", [name for name, _ in entries])},
        )

    def refusal(self) -> str:
        """In a few lines: that no theorem predicts the limit, and what the nearest asks for."""
        nearest = next(theorem for theorem in self.nearest if theorem.limit is not None)
        failing = _failing(self.conditions(nearest))
        shown = failing[:CONDITIONS_SHOWN]
        counted = "one condition" if len(failing) == 1 else f"{len(failing)} conditions"
        changes = "; ".join(dict.fromkeys(c.change for c in shown if c.change))
        long, short = (
            [
                *in_lines(f"{PREFIX}{self._unknown()}", ERROR_WIDTH),
                *in_lines(f"The nearest, {nearest.id}, misses {counted}:", ERROR_WIDTH),
                *(line for c in shown for line in _bullet(c, detailed)),
                *(in_lines(f"To change: {changes}.", ERROR_WIDTH) if changes else []),
                "More: explain(problem).full(), limitpoint explain --all; or run flow(problem).",
            ]
            for detailed in (True, False)
        )
        return "\n".join(long if len(long) <= ERROR_LINES else short).removeprefix(PREFIX)

    def _unknown(self) -> str:
        """That no theorem predicts the limit, and what is known of it nevertheless."""
        sets = [theorem.id for theorem in self.applicable if theorem.concludes == "set"]
        known = (
            f"{sets[0]} fixes a set of stationary points, not which of them training reaches "
            "(analysis.stationarity tests one); "
            if sets
            else ""
        )
        return f"{known}no theorem predicts the limit of {self.problem!r}."

    def _facts(self) -> tuple[str, ...]:
        used = "no theorem gives the limit" if self.used is None else f"{self.used.id} is used"
        return used, f"{len(self.applicable)} of {len(self.rows)} theorems apply"

    def _page(self) -> Page:
        used = self.used
        head = (
            Page(self._unknown())
            if used is None
            else table(
                f"{used.id} is used: all its conditions hold for {self.problem!r}",
                ("condition", "found"),
                [(_named(c), c.detail) for c in self.conditions(used)],
            )
        )
        also = [theorem for theorem in self.applicable if theorem is not used]
        title = "These apply, but give no limit" if used is None else "These apply too"
        near = self.nearest
        shown = near[:NEAREST_SHOWN]
        left = (
            f"{len(near) - len(shown)} more theorems do not apply: .full() or --all shows them, "
            "with all conditions."
            if len(near) > len(shown)
            else ""
        )
        return Page(
            head,
            *([table(title, *_listed(also))] if also else []),
            table(
                "The nearest of those that do not apply",
                ("theorem", "what fails", "what to change"),
                [row for theorem in shown for row in self._failures(theorem)],
                left,
            ),
        )

    def _failures(self, theorem: Theorem) -> list[tuple[str, ...]]:
        """A row for each condition that fails; what stands above already is not repeated."""
        rows: list[tuple[str, ...]] = []
        changes: set[str] = set()
        for condition in _failing(self.conditions(theorem)):
            change = "" if condition.change in changes else condition.change
            changes.add(condition.change)
            rows.append(("" if rows else theorem.id, _named(condition), change))
        return rows

    def full(self) -> Page:
        """Every theorem with all its conditions, those that apply first; it prints as text."""
        used = self.used
        order = (*self.applicable, *self.nearest)
        alike = [one for one in order if isinstance(self.problem.task, one.task)]
        others = ", ".join(one.id for one in order if one not in alike)
        tables = []
        for theorem in alike:
            conditions = self.conditions(theorem)
            word = "does not apply" if _failing(conditions) else "applies"
            word = "is used" if used is not None and theorem.id == used.id else word
            tables.append(
                table(
                    f"{theorem.id}: {word}",
                    ("", "condition", "found, and what to change"),
                    [_full_row(condition) for condition in conditions],
                )
            )
        return Page(
            f"Which theorems apply to {self.problem!r}",
            *tables,
            *([f"About another kind of task: {others}."] if others else []),
        )


def _failing(conditions: Sequence[Condition]) -> list[Condition]:
    return [condition for condition in conditions if not condition.holds]


def _distance(row: Row) -> tuple[bool, bool, bool, int, float, int, str]:
    """How far a theorem is from applying, to sort by."""
    theorem, conditions = row
    failing = _failing(conditions)
    worst = max(math.inf if c.margin is None else abs(c.margin) for c in failing)
    task, network, data = (
        any(c.about == one for c in failing) for one in ("task", "network", "data")
    )
    return (
        task,
        network,
        data,
        len(failing),
        worst,
        -theorem.rank,
        theorem.id,
    )


def _named(condition: Condition) -> str:
    """A condition, and by how much it holds or fails."""
    margin = "" if condition.margin is None else f" (margin {condition.margin:.3g})"
    return f"{condition.name}{margin}"


def _bullet(condition: Condition, detailed: bool) -> list[str]:
    found = f": {condition.detail}" if detailed else ""
    first, *others = in_lines(f"{_named(condition)}{found}", ERROR_WIDTH, "  ")
    return [f"- {first[2:]}", *others]


def _listed(listed: Sequence[Theorem]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    return ("theorem", "concludes a"), [(theorem.id, theorem.concludes) for theorem in listed]


def _full_row(condition: Condition) -> tuple[str, ...]:
    if condition.holds or not condition.change:
        return ("holds" if condition.holds else "FAILS", _named(condition), condition.detail)
    return ("FAILS", _named(condition), f"{condition.detail}\n→ {condition.change}")


def _as_dict(condition: Condition) -> dict[str, Any]:
    names = ("name", "holds", "margin", "detail", *(() if condition.holds else ("change",)))
    return {name: getattr(condition, name) for name in names}
