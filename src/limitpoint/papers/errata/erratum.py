"""A slip of a paper, with the calculation that shows it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from limitpoint.foundation.registry import add, look_up

__all__ = ["Demonstration", "Erratum", "errata", "erratum", "register"]


@dataclass(frozen=True)
class Demonstration:
    """How far off the printed and the corrected form are, measured in the same way.

    Attributes
    ----------
    measure
        What was measured, in words.
    printed, corrected
        The errors of the two forms.
    tolerance
        What an error may be at most, from the accuracy of the calculation.
    """

    measure: str
    printed: float
    corrected: float
    tolerance: float

    @property
    def shown(self) -> bool:
        """Whether the corrected form passes and the printed one fails."""
        return bool(self.corrected <= self.tolerance) and not self.printed <= self.tolerance


@dataclass(frozen=True)
class Erratum:
    """A printed form that is off, and the form that is right.

    Attributes
    ----------
    id
        `paper.place`.
    where
        The place in the paper.
    printed, corrected
        What stands there, and what should.
    demonstrate
        The calculation in which the one fails and the other passes.
    ambiguous
        Whether the printed form is right in one reading, and the calculation is of another.
    """

    id: str
    where: str
    printed: str
    corrected: str
    demonstrate: Callable[[], Demonstration]
    ambiguous: bool = False

    @property
    def paper(self) -> str:
        """The paper's name."""
        return self.id.partition(".")[0]

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values, the demonstration included."""
        found = self.demonstrate()
        return {
            "id": self.id,
            "where": self.where,
            "printed": self.printed,
            "corrected": self.corrected,
            "ambiguous": self.ambiguous,
            "measure": found.measure,
            "printed_error": found.printed,
            "corrected_error": found.corrected,
            "tolerance": found.tolerance,
            "shown": found.shown,
        }


_REGISTRY: dict[str, Erratum] = {}


def register(
    id: str, where: str, printed: str, corrected: str, ambiguous: bool = False
) -> Callable[[Callable[[], Demonstration]], Callable[[], Demonstration]]:
    """Add an erratum whose demonstration is the decorated function; ids are unique."""

    def added(demonstrate: Callable[[], Demonstration]) -> Callable[[], Demonstration]:
        found = Erratum(id, where, printed, corrected, demonstrate, ambiguous)
        add(_REGISTRY, id, found, "erratum")
        return demonstrate

    return added


def errata() -> tuple[Erratum, ...]:
    """All of them, paper by paper."""
    return tuple(_REGISTRY.values())


def erratum(name: str) -> Erratum:
    """The erratum of this id."""
    return look_up(_REGISTRY, name, "erratum")
