"""One hypothesis of a theorem or a model, and whether it holds."""

from dataclasses import dataclass

from limitpoint.foundation.values import Value

__all__ = ["Condition"]


@dataclass(frozen=True, eq=False)
class Condition(Value):
    """One hypothesis of a model or a theorem, evaluated on a problem.

    Attributes
    ----------
    name
        What must hold.
    holds
        Whether it does.
    margin
        By how much (positive when it holds, negative or zero when not); None for a yes-or-no
        condition.
    detail
        What was found, in words.
    change
        What to change, or to use instead, where it fails: one short phrase.
    about
        `"task"`, `"network"` or `"data"` where it asks for another one of these; nothing where it
        is about the start or its scale.
    """

    name: str
    holds: bool
    margin: float | None
    detail: str
    change: str = ""
    about: str = ""
