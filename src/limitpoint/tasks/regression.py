"""Least squares."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limitpoint.errors import DataError
from limitpoint.foundation.arrays import Float
from limitpoint.tasks.task import (
    Task,
    as_loss_factor,
    as_samples,
    check_size,
    feature_names_of,
    target_names_of,
)

__all__ = ["Regression"]


@dataclass(frozen=True, eq=False)
class Regression(Task):
    """Least-squares regression, `loss_factor · ½‖Xβ − y‖²`.

    Parameters
    ----------
    X
        Data matrix, one row per sample, shape (m, n).
    y
        Targets, shape (m,), or (m, k) for k outputs.
    loss_factor
        Multiplies the loss; it only rescales time. Papers that use `‖Xβ − y‖²` have 2, those that
        use the mean over m samples have 2/m.
    feature_names
        The names of the features; by default those of the columns of X, where X is a frame.
    target_names
        The names of several outputs; by default those of the columns of y, where y is a frame.

    Examples
    --------
    >>> task = Regression([[1, 2], [0, 1]], [3, 1])
    >>> task.n_samples, task.n_features
    (2, 2)
    >>> float(task.loss([1.0, 0.0]))
    2.5
    """

    X: Float
    y: Float
    loss_factor: float = 1.0
    feature_names: tuple[str, ...] | None = field(default=None, repr=False)
    target_names: tuple[str, ...] | None = field(default=None, repr=False)

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        loss_factor: float = 1.0,
        *,
        feature_names: Sequence[str] | None = None,
        target_names: Sequence[str] | None = None,
    ) -> None:
        matrix, targets = as_samples(X, y, targets=(1, 2))
        if targets.ndim == 2 and targets.shape[1] == 0:
            raise DataError(f"y must have at least one output; it has shape {targets.shape}")
        check_size(targets, "y")
        object.__setattr__(self, "X", matrix)
        object.__setattr__(self, "y", targets)
        object.__setattr__(self, "loss_factor", as_loss_factor(loss_factor))
        object.__setattr__(self, "feature_names", feature_names_of(feature_names, X, matrix))
        object.__setattr__(self, "target_names", target_names_of(target_names, y, targets))

    @cached_property
    def fit_size(self) -> float:
        """The largest entry of the smallest best fit: what coefficients are like, in size."""
        return float(np.abs(np.linalg.lstsq(self.X, self.y, rcond=None)[0]).max())

    def residual(self, coef: Any) -> Any:
        """`y − Xβ`."""
        return self.y - self.X @ coef

    def loss_of_outputs(self, outputs: Any, y: Any) -> Any:
        """`loss_factor · ½‖outputs − y‖²`."""
        residual = y - outputs
        with np.errstate(over="ignore"):  # infinite beyond the largest float
            return 0.5 * self.loss_factor * (residual * residual).sum()
