"""What can go wrong with the input: one class per part of the problem.

Every error names the argument, says what was wrong and what would be right.
All of them are `ValueError`. `Cancelled` is none: it says that a job was stopped on purpose.
"""

from typing import Any

__all__ = [
    "Cancelled",
    "DataError",
    "InitError",
    "LimitpointError",
    "MissingExtra",
    "NetworkError",
    "NoTheoremApplies",
    "NotSeparable",
    "ProblemFileError",
    "ResultFileError",
    "ScaleNotRepresentable",
]


class LimitpointError(ValueError):
    """Base class of every error that limitpoint raises about its input."""


class Cancelled(BaseException):
    """A job was stopped by whoever follows its progress (`limitpoint.progress`).

    Like `KeyboardInterrupt` no `Exception`, so that nothing that goes on after errors goes on
    after it.
    """


class DataError(LimitpointError):
    """The data (X, y, loss_factor) cannot be used."""


class NotSeparable(DataError):
    """No hyperplane through the origin separates the classes.

    Attributes
    ----------
    weights
        The proof: numbers `μ_i ≥ 0`, one per sample, with `Σ μ_i y_i x_i = 0` and sum 1.
    """

    def __init__(self, message: str, weights: Any) -> None:
        super().__init__(message)
        self.weights = weights

    def __reduce__(self) -> tuple[Any, ...]:
        return NotSeparable, (str(self), self.weights)


class NetworkError(LimitpointError):
    """The network's own parameters (depth, widths) or its fit to the task are wrong."""


class InitError(LimitpointError):
    """The initialisation does not fit the network, or its numbers cannot be used."""


class ScaleNotRepresentable(InitError):
    """The layers at this scale cannot be held in float64, and the call needs them there."""


class ProblemFileError(LimitpointError):
    """A problem file, or a data file it points at, cannot be read as a problem."""


class MissingExtra(LimitpointError, ImportError):
    """A library that this call needs is not installed; the message says which extra brings it."""


class ResultFileError(LimitpointError):
    """A file is not one that a result was saved to, or it is damaged."""


class NoTheoremApplies(LimitpointError):
    """No theorem in the atlas has all its conditions fulfilled.

    Attributes
    ----------
    explanation
        Every theorem with its conditions, as `limitpoint.explain` returns it; None where a single
        theorem was asked for.
    """

    def __init__(self, message: str, explanation: Any = None) -> None:
        super().__init__(message)
        self.explanation = explanation

    def __reduce__(self) -> tuple[Any, ...]:
        return NoTheoremApplies, (str(self), self.explanation)
