"""Least squares."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limitpoint.errors import DataError
from limitpoint.foundation.arrays import Float
from limitpoint.tasks.task import Task, as_loss_factor, as_samples, check_size

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

    def __init__(self, X: ArrayLike, y: ArrayLike, loss_factor: float = 1.0) -> None:
        matrix, targets = as_samples(X, y, targets=(1, 2))
        if targets.ndim == 2 and targets.shape[1] == 0:
            raise DataError(f"y must have at least one output; it has shape {targets.shape}")
        check_size(targets, "y")
        object.__setattr__(self, "X", matrix)
        object.__setattr__(self, "y", targets)
        object.__setattr__(self, "loss_factor", as_loss_factor(loss_factor))

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
