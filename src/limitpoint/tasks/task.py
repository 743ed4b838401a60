"""What all tasks have: samples, targets, and a loss of the outputs."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limitpoint.errors import DataError
from limitpoint.foundation.arrays import Float, as_float_array, as_kind, as_positive
from limitpoint.foundation.labels import as_names
from limitpoint.foundation.values import Value

__all__ = [
    "LARGEST",
    "SMALLEST",
    "Task",
    "as_loss_factor",
    "as_samples",
    "as_task",
    "check_size",
    "feature_names_of",
    "target_names_of",
]

# Squares and products of a few data must neither overflow nor vanish.
SMALLEST, LARGEST = 1e-75, 1e75


class Task(Value, ABC):
    """Data and a loss.

    Attributes
    ----------
    X
        Data matrix, one row per sample, shape (m, n).
    y
        Targets, shape (m,), or (m, k) for k outputs.
    loss_factor
        Multiplies the loss; it only rescales time.
    feature_names
        The names of the features, one per column of X, or None. Results show them, and they are
        part of the value: tasks with other names are not equal.
    target_names
        The names of several outputs, or None.
    """

    X: Float
    y: Float
    loss_factor: float
    feature_names: tuple[str, ...] | None = None
    target_names: tuple[str, ...] | None = None

    @property
    def n_samples(self) -> int:
        """Number of samples, m."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features, n."""
        return int(self.X.shape[1])

    @property
    def n_outputs(self) -> int | None:
        """Number of outputs k, or None when y is a vector."""
        return None if self.y.ndim == 1 else int(self.y.shape[1])

    @property
    def coef_shape(self) -> tuple[int, ...]:
        """Shape of the coefficients: (n,) or (n, k)."""
        return (self.n_features, *self.y.shape[1:])

    def loss(self, coef: Any) -> Any:
        """The loss at these coefficients; works on NumPy and on traced JAX arrays."""
        return self.loss_of_outputs(self.X @ coef, self.y)

    @abstractmethod
    def loss_of_outputs(self, outputs: Any, y: Any) -> Any:
        """The loss of outputs for some of the targets; NumPy and traced JAX arrays alike."""


def as_task(value: Any) -> Task:
    """Return the argument `task` of a function, which must be one, or raise `DataError`."""
    return as_kind(value, Task, "a task, like Regression(X, y)", "task", DataError)


def as_samples(X: ArrayLike, y: ArrayLike, targets: tuple[int, ...]) -> tuple[Float, Float]:
    """Data and targets, of as many axes as named, checked to belong together."""
    matrix = as_float_array(X, "X", DataError, ndim=(2,))
    wanted = as_float_array(y, "y", DataError, ndim=targets)
    if matrix.shape[0] == 0 or matrix.shape[1] == 0:
        raise DataError(
            f"X must have at least one sample and one feature; it has shape {matrix.shape}"
        )
    if wanted.shape[0] != matrix.shape[0]:
        raise DataError(
            f"X and y must have the same number of samples; X has {matrix.shape[0]} rows "
            f"and y has {wanted.shape[0]}"
        )
    check_size(matrix, "X")
    return matrix, wanted


def feature_names_of(given: Any, X: Any, matrix: Float) -> tuple[str, ...] | None:
    """The names of the features: those given, or those that X has."""
    return as_names(given, X, matrix.shape[1], "feature_names", "feature", DataError)


def target_names_of(given: Any, y: Any, targets: Float) -> tuple[str, ...] | None:
    """The names of several outputs: those given, or those that y has; one output has none."""
    if targets.ndim == 1:
        if given is not None:
            raise DataError(
                f"target_names are for several outputs; y has shape {targets.shape}, one"
            )
        return None
    return as_names(given, y, targets.shape[1], "target_names", "output", DataError)


def as_loss_factor(loss_factor: float) -> float:
    """A positive number by which losses of the largest and smallest data can be multiplied."""
    factor = as_positive(loss_factor, "loss_factor", DataError)
    if not SMALLEST <= factor <= LARGEST:
        raise DataError(
            f"loss_factor must be between {SMALLEST:g} and {LARGEST:g}: it multiplies squares of "
            f"the data; it is {factor:g}"
        )
    return factor


def check_size(array: Float, name: str) -> None:
    """Raise `DataError` for data too large or too small to be multiplied."""
    largest = float(np.abs(array).max())
    if largest != 0.0 and not SMALLEST <= largest <= LARGEST:
        raise DataError(
            f"{name} must have its largest entry between {SMALLEST:g} and {LARGEST:g} in modulus, "
            f"or be zero; it is {largest:g}. Rescale {name}"
        )
