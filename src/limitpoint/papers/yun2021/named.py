"""Limits by a theorem that is named, whatever `predict` would prefer."""

from limitpoint.problem import Problem
from limitpoint.theory import Limit
from limitpoint.theory.atlas import theorems

__all__ = ["limit_by"]


def limit_by(name: str, problem: Problem) -> Limit:
    """The limit by the theorem of this id, whose conditions must hold."""
    theorem = next(one for one in theorems() if one.id == name)
    failing = [condition for condition in theorem.check(problem) if not condition.holds]
    if failing or theorem.limit is None:
        raise RuntimeError(f"{name} does not apply: {failing}")
    return theorem.limit(problem)
