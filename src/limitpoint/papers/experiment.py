"""What an experiment is, and the list of all of them."""

import re
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self, TypeVar

import xarray as xr
from matplotlib.figure import Figure

from limitpoint.foundation.registry import add, look_up
from limitpoint.papers.measured import Check

__all__ = ["PREDICTED", "Experiment", "experiment", "experiments", "register"]

# What is predicted, rather than measured, is kept in variables whose names begin like this: a
# check that would not notice if these were off by a percent checks nothing.
PREDICTED = "predicted_"


@dataclass(frozen=True)
class Experiment(ABC):
    """A figure or worked example of a paper, as code with checks. Fields are its configuration.

    The defaults of the fields are the printed set-up; what the paper leaves open is chosen, named
    and seeded. Everything is deterministic.

    Attributes
    ----------
    paper, figure
        Where it is from, like `"zhao2026"` and `"figure1"`.
    title
        One line.
    setup
        The set-up in a few sentences: what is printed, and what was chosen.
    theorems
        The ids of the theorems that it shows.
    """

    paper: ClassVar[str]
    figure: ClassVar[str]
    title: ClassVar[str]
    setup: ClassVar[str]
    theorems: ClassVar[tuple[str, ...]] = ()

    @property
    def id(self) -> str:
        """`paper-figure`, also the name of its folder."""
        return f"{self.paper}-{self.figure}"

    def configuration(self) -> dict[str, Any]:
        """Its fields as plain values."""
        return asdict(self)

    @abstractmethod
    def quick(self) -> Self:
        """The same with a smaller configuration; the same checks must pass."""

    @abstractmethod
    def run(self) -> xr.Dataset:
        """Measure and predict; predictions in variables named `predicted_…`."""

    @abstractmethod
    def checks(self, data: xr.Dataset) -> list[Check]:
        """What must hold, from the data alone."""

    @abstractmethod
    def plot(self, data: xr.Dataset) -> Figure:
        """The figure, with the prediction drawn in."""


E = TypeVar("E", bound=type[Experiment])

_REGISTRY: dict[str, Experiment] = {}


def register(kind: E) -> E:
    """Add an experiment, in its printed configuration, to the list; ids are unique."""
    made = kind()
    add(_REGISTRY, made.id, made, "experiment")
    return kind


def experiments() -> tuple[Experiment, ...]:
    """All experiments, paper by paper: its figures in order, then what else there is."""
    papers = list(dict.fromkeys(one.paper for one in _REGISTRY.values()))
    return tuple(
        sorted(_REGISTRY.values(), key=lambda one: (papers.index(one.paper), _place(one.figure)))
    )


def _place(figure: str) -> tuple[bool, int, str]:
    """Figures first, by their numbers."""
    number = re.match(r"figure(\d+)", figure)
    return (number is None, int(number[1]) if number else 0, figure)


def experiment(name: str) -> Experiment:
    """The experiment of this id."""
    return look_up(_REGISTRY, name, "experiment")
