"""The data and the loss."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limitpoint.arrays import Float, as_float_array, as_number
from limitpoint.errors import DataError

__all__ = ["Regression"]

# Squares and products of a few data must neither overflow nor vanish.
SMALLEST, LARGEST = 1e-75, 1e75


@dataclass(frozen=True, eq=False)
class Regression:
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
        matrix = as_float_array(X, "X", DataError, ndim=(2,))
        targets = as_float_array(y, "y", DataError, ndim=(1, 2))
        if matrix.shape[0] == 0 or matrix.shape[1] == 0:
            raise DataError(
                f"X must have at least one sample and one feature; it has shape {matrix.shape}"
            )
        if targets.shape[0] != matrix.shape[0]:
            raise DataError(
                f"X and y must have the same number of samples; X has {matrix.shape[0]} rows "
                f"and y has {targets.shape[0]}"
            )
        if targets.ndim == 2 and targets.shape[1] == 0:
            raise DataError(f"y must have at least one output; it has shape {targets.shape}")
        _check_size(matrix, "X")
        _check_size(targets, "y")
        rule = "loss_factor must be a positive number"
        factor = as_number(loss_factor, rule, DataError)
        if not (np.isfinite(factor) and factor > 0):
            raise DataError(f"{rule}; it is {loss_factor}")
        object.__setattr__(self, "X", matrix)
        object.__setattr__(self, "y", targets)
        object.__setattr__(self, "loss_factor", factor)

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

    def residual(self, coef: Any) -> Any:
        """`y − Xβ`."""
        return self.y - self.X @ coef

    def loss(self, coef: Any) -> Any:
        """`loss_factor · ½‖Xβ − y‖²`; works on NumPy and on traced JAX arrays."""
        residual = self.residual(coef)
        return 0.5 * self.loss_factor * (residual * residual).sum()


def _check_size(array: Float, name: str) -> None:
    largest = float(np.abs(array).max())
    if largest != 0.0 and not SMALLEST <= largest <= LARGEST:
        raise DataError(
            f"{name} must have its largest entry between {SMALLEST:g} and {LARGEST:g} in modulus, "
            f"or be zero; it is {largest:g}. Rescale {name}"
        )
