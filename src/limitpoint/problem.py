"""A problem: a network, where it starts, and the data it is trained on."""

from dataclasses import dataclass
from typing import Any

from limitpoint.errors import DataError, InitError, LimitpointError, NetworkError
from limitpoint.foundation.arrays import as_kind
from limitpoint.foundation.values import Value
from limitpoint.init import Init
from limitpoint.networks import Network
from limitpoint.tasks import Classification, Regression, Task

__all__ = ["Problem", "as_problem"]


@dataclass(frozen=True, eq=False)
class Problem(Value):
    """A network, its initialisation and its task, checked to fit together.

    Examples
    --------
    >>> from limitpoint import Diagonal, Init, Problem, Regression
    >>> task = Regression([[1.0, 2.0]], [1.0])
    >>> network = Diagonal(depth=2)
    >>> Problem(network, Init.zero_last(network, task, scale=0.1), task)
    Problem(Diagonal(depth=2), scale=0.1, 1 samples × 2 features)
    """

    network: Network
    init: Init
    task: Task

    def __post_init__(self) -> None:
        as_kind(self.network, Network, "like Diagonal()", "network", NetworkError)
        as_kind(self.init, Init, "an Init, like Init.random(...)", "init", InitError)
        as_kind(self.task, Task, "a task, like Regression(X, y)", "task", DataError)
        wanted = self.network.layer_shapes(self.task)
        given = tuple(layer.shape for layer in self.init.direction)
        if given != wanted:
            raise InitError(
                f"init has layers of shapes {given}; {self.network} on "
                f"{self.task.n_features} features needs {wanted}"
            )

    @property
    def regression(self) -> Regression:
        """The task, where only a regression will do."""
        if not isinstance(self.task, Regression):
            raise DataError(f"this is for a regression, like Regression(X, y); it is {self.task!r}")
        return self.task

    @property
    def classification(self) -> Classification:
        """The task, where only a classification will do."""
        if not isinstance(self.task, Classification):
            raise DataError(
                f"this is for a classification, like Classification(X, y); it is {self.task!r}"
            )
        return self.task

    def _facts(self) -> tuple[str, ...]:
        data = f"{self.task.n_samples} samples × {self.task.n_features} features"
        return str(self.network), self.init.scale_in_words, data


def as_problem(value: Any) -> Problem:
    """Return the argument `problem` of a function, which must be one, or raise an error."""
    wanted = "a Problem, like Problem(network, init, task)"
    return as_kind(value, Problem, wanted, "problem", LimitpointError)
