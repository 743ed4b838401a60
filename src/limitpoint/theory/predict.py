"""Choose the theorem, predict the limit, explain the choice."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from limitpoint.errors import NoTheoremApplies
from limitpoint.foundation.conditions import Condition
from limitpoint.foundation.extras import lazy_module
from limitpoint.foundation.labels import carries_names
from limitpoint.foundation.result import Result
from limitpoint.problem import Problem, as_problem
from limitpoint.theory.atlas import Theorem, theorems
from limitpoint.theory.limit import Limit
from limitpoint.theory.theorems import (
    diagonalisable,
    labarriere2024,
    lazy,
    lyu2023,
    null_space_law,
    rank_one_any_start,
    separable_mirror_flow,
    sign_boundary,
    sign_constrained,
    varre2023,
    yun2021,
    zhao2026,
)

if TYPE_CHECKING:
    import xarray as xr
else:
    xr = lazy_module("xarray", "to_xarray")

__all__ = ["Explanation", "explain", "predict"]

# Importing a module of theorems registers them; this names the modules the atlas is made of.
PAPERS = (
    sign_boundary,
    diagonalisable,
    sign_constrained,
    labarriere2024,
    lazy,
    lyu2023,
    null_space_law,
    separable_mirror_flow,
    rank_one_any_start,
    varre2023,
    yun2021,
    zhao2026,
)


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Result):
    """Every theorem of the atlas with its conditions evaluated on one problem."""

    problem: Problem
    rows: tuple[tuple[Theorem, tuple[Condition, ...]], ...]

    @property
    def applicable(self) -> tuple[Theorem, ...]:
        """The theorems all of whose conditions hold, the strongest first."""
        return tuple(
            theorem for theorem, conditions in self.rows if all(c.holds for c in conditions)
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values."""
        return {
            theorem.id: {
                "applies": all(c.holds for c in conditions),
                "concludes": theorem.concludes,
                "conditions": [vars(condition) for condition in conditions],
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

    def __rich__(self) -> Any:
        parts: list[Any] = [Text(f"Which theorems apply to {self.problem!r}")]
        others = []
        for theorem, conditions in self.rows:
            if not isinstance(self.problem.task, theorem.task):
                others.append(theorem.id)
                continue
            verdict = "applies" if all(c.holds for c in conditions) else "does not apply"
            grid = Table.grid(padding=(0, 2))
            for condition in conditions:
                margin = "" if condition.margin is None else f" (margin {condition.margin:.3g})"
                grid.add_row(
                    "  holds" if condition.holds else "  FAILS",
                    Text(f"{condition.name}{margin}: {condition.detail}"),
                )
            parts += [Text(f"\n{theorem.id}: {verdict}"), grid]
        if others:
            parts.append(Text(f"\nAbout another kind of task: {', '.join(others)}"))
        return Group(*parts)


def explain(problem: Problem) -> Explanation:
    """Evaluate the conditions of every theorem: which hold, which fail, and by how much."""
    as_problem(problem)
    return Explanation(problem, tuple((theorem, theorem.check(problem)) for theorem in theorems()))


@carries_names
def predict(problem: Problem) -> Limit:
    """Predict where gradient flow ends, by the strongest theorem that applies. Never trains.

    Parameters
    ----------
    problem
        Network, initialisation and task.

    Returns
    -------
    Limit
        With the theorem used and a certificate of optimality.

    Raises
    ------
    NoTheoremApplies
        With the table of conditions, if no theorem in the atlas covers the problem.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task = lp.Regression([[1.0, 2.0]], [1.0])
    >>> network = lp.Diagonal(depth=2)
    >>> problem = lp.Problem(network, lp.Init.zero_last(network, task, scale=1e-100), task)
    >>> lp.predict(problem).coef.round(6).tolist()
    [0.0, 0.5]
    """
    as_problem(problem)
    for theorem in theorems():
        if theorem.limit is not None and theorem.applies(problem):
            return theorem.limit(problem)
    explanation = explain(problem)
    sets = [theorem.id for theorem in explanation.applicable if theorem.concludes == "set"]
    known = (
        f"{sets[0]} fixes a set of stationary points, not which of them training reaches; "
        "limitpoint.analysis.stationarity(problem, direction) tests whether a direction is one. So "
        if sets
        else ""
    )
    raise NoTheoremApplies(
        f"{known}no theorem predicts the limit of this problem.\n{explanation!r}"
    )
