"""The atlas: every theorem as a value, in a registry.

A theorem knows its source, its statement in our notation, the conditions under which it holds
(each with a margin) and, where it determines a limit, how to compute it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import as_kind
from limitpoint.foundation.conditions import Condition
from limitpoint.foundation.display import Displayed, Page, table
from limitpoint.foundation.registry import add, look_up
from limitpoint.problem import Problem
from limitpoint.tasks import Regression, Task
from limitpoint.theory.limit import Limit

__all__ = ["Theorem", "register", "strongest", "theorem_of", "theorems"]


@dataclass(frozen=True, repr=False)
class Theorem(Displayed):
    """A result of a paper.

    Attributes
    ----------
    id
        `paper.result`, the name by which it is cited everywhere here.
    citation
        The source, with its own numbering.
    statement
        One paragraph, in the notation of this package.
    concludes
        `"limit"` if it determines where training ends, `"set"` if it determines a set of points or
        directions one of which that is, `"rate"` if it bounds how fast, `"law"` if it says what
        training never changes or always tends to, `"model"` if it describes training by other
        equations.
    rank
        Among the theorems that determine the limit of a problem the highest rank is used: the
        more a theorem proves rather than supposes, the higher.
    conditions
        The hypotheses, evaluated on a problem.
    limit
        The limit of a problem; None for all but a limit.
    task
        The kind of task that it is about.
    path
        The limits of a problem at several finite scales, given by their logarithms, faster than one
        by one, with None at a scale where the theorem may not hold though it does at the problem's
        own; None where there is no such way.
    """

    id: str
    citation: str
    statement: str
    concludes: str
    rank: int
    conditions: Callable[[Problem], Sequence[Condition]]
    limit: Callable[[Problem], Limit] | None = None
    path: Callable[[Problem, Sequence[float]], list[Limit | None]] | None = None
    task: type[Task] = Regression

    def check(self, problem: Problem) -> tuple[Condition, ...]:
        """Every condition on this problem; on another kind of task none but that is evaluated."""
        if isinstance(problem.task, self.task):
            return tuple(self.conditions(problem))
        kind, found = self.task.__name__.lower(), type(problem.task).__name__.lower()
        detail, change = f"the task is a {found}", f"give a task of this kind: {self.task.__name__}"
        return (Condition(f"{kind} task", False, None, detail, change, "task"),)

    def applies(self, problem: Problem) -> bool:
        """Whether all its conditions hold."""
        return all(condition.holds for condition in self.check(problem))

    def __reduce__(self) -> tuple[Any, ...]:
        """Known by its id wherever it is registered."""
        return theorem_of, (self.id,)

    def _facts(self) -> tuple[str, ...]:
        return (f"{self.id}: {self.citation}",)

    def _page(self) -> Page:
        rows = [
            ("source", self.citation),
            ("statement", self.statement),
            ("concludes a", self.concludes),
            ("task", self.task.__name__),
        ]
        return table(self.id, ("", ""), rows)


_REGISTRY: dict[str, Theorem] = {}


def register(theorem: Theorem) -> Theorem:
    """Add a theorem to the atlas; ids are unique."""
    as_kind(theorem, Theorem, "a Theorem", "theorem", LimitpointError)
    return add(_REGISTRY, theorem.id, theorem, "theorem")


def theorem_of(id: str) -> Theorem:
    """The theorem of this id."""
    return look_up(_REGISTRY, id, "theorem")


def theorems() -> tuple[Theorem, ...]:
    """All theorems, the strongest first."""
    return tuple(sorted(_REGISTRY.values(), key=lambda theorem: (-theorem.rank, theorem.id)))


def strongest(problem: Problem) -> Theorem | None:
    """The theorem of the highest rank that determines the limit of a problem; None if none does."""
    found = (one for one in theorems() if one.limit is not None and one.applies(problem))
    return next(found, None)
