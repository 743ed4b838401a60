"""What a mutation is, and the list of all of them."""

from collections.abc import Callable
from dataclasses import dataclass

# One per cent.
PART = 0.01


class NotApplicable(Exception):
    """There is nothing of the kind to be broken in this problem."""


@dataclass(frozen=True, eq=False)
class Mutation:
    """One thing broken.

    Attributes
    ----------
    letter
        In the table.
    words
        In its legend.
    breaks
        The object that is not right any more, one of those in `kinds.ABOUT`.
    apply
        Puts it in, by a `pytest.MonkeyPatch`, in place of the object that `verify` uses for a case.
    keeps
        Whether the runs of the unbroken problem are still those that `verify` would make; else the
        names of those that are.
    """

    letter: str
    words: str
    breaks: str
    apply: Callable
    keeps: frozenset[str] | None = None


MUTATIONS: list[Mutation] = []


def mutation(letter, words, breaks, keeps=None):
    """Register a mutation."""

    def register(apply):
        MUTATIONS.append(Mutation(letter, words, breaks, apply, keeps))
        return apply

    return register
