"""Matrix sensing: regression whose samples are square matrices."""

import math
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from limitpoint.errors import DataError
from limitpoint.foundation.arrays import MOST_AXES, Float, as_float_array, as_real_array
from limitpoint.tasks.regression import Regression
from limitpoint.tasks.task import check_size

__all__ = ["MatrixSensing"]


@dataclass(frozen=True, eq=False, repr=False)
class MatrixSensing(Regression):
    """Recovery of a square matrix B from measurements, `loss_factor · ½ Σ_i (⟨A_i, B⟩ − y_i)²`.

    A regression on the entries of the sensors, row by row: the coefficients are the entries of
    B. Every network can be trained on it; `MatrixProduct` makes B a product of matrices.

    Parameters
    ----------
    A
        Sensors, shape (m, d, d).
    y
        Measurements, shape (m,).
    loss_factor
        Multiplies the loss; it only rescales time.

    Examples
    --------
    >>> task = MatrixSensing([[[1, 0], [0, 1]]], [3])
    >>> task.n_samples, task.side, task.X.tolist()
    (1, 2, [[1.0, 0.0, 0.0, 1.0]])
    >>> task.matrix([1.0, 2.0, 3.0, 4.0]).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """

    def __init__(self, A: ArrayLike, y: ArrayLike, loss_factor: float = 1.0) -> None:
        sensors = as_float_array(A, "A", DataError, ndim=(3,))
        if sensors.size == 0 or sensors.shape[1] != sensors.shape[2]:
            raise DataError(
                "A must hold at least one sensor, a square matrix, in shape (m, d, d); "
                f"it has shape {sensors.shape}"
            )
        targets = as_float_array(y, "y", DataError, ndim=(1,))
        if len(targets) != len(sensors):
            raise DataError(
                f"A and y must have the same number of samples; A has {len(sensors)} sensors "
                f"and y has {len(targets)}"
            )
        check_size(sensors, "A")
        super().__init__(sensors.reshape(len(sensors), -1), targets, loss_factor)

    def __repr__(self) -> str:
        shape = (self.n_samples, self.side, self.side)
        return f"MatrixSensing(A of shape {shape}, loss_factor={self.loss_factor:g})"

    @property
    def side(self) -> int:
        """The number d of rows and of columns."""
        return math.isqrt(self.n_features)

    @property
    def sensors(self) -> Float:
        """The sensors A, (m, d, d)."""
        return self.matrix(self.X)

    def matrix(self, coef: Any) -> Float:
        """Coefficients as matrices; they are the last axis."""
        entries = as_real_array(coef, "coef", DataError, ndim=range(1, MOST_AXES))
        if entries.shape[-1:] != (self.n_features,):
            raise DataError(
                f"coef must have {self.n_features} entries along its last axis, those of a "
                f"{self.side} × {self.side} matrix; it has shape {entries.shape}"
            )
        return entries.reshape(*entries.shape[:-1], self.side, self.side)
