"""Classification of separable data."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limitpoint.errors import DataError
from limitpoint.foundation.arrays import MOST_AXES, Float, as_real_array, read_only, shown
from limitpoint.tasks.separation import Separation
from limitpoint.tasks.task import SMALLEST, Task, as_loss_factor, as_samples, feature_names_of

__all__ = ["Classification"]

LOSSES = ("exponential", "logistic")
# Below this, e^−m equals log(1 + e^−m) to all digits but for half of itself.
TINY = 1e-8


@dataclass(frozen=True, eq=False, init=False)
class Classification(Task):
    """Classification into two classes that a hyperplane through the origin separates.

    With margins `m_i = y_i⟨x_i, β⟩` the loss is `loss_factor · Σ_i e^{−m_i}`, or
    `loss_factor · Σ_i log(1 + e^{−m_i})`. It has no minimum: the coefficients grow for ever, and
    what training chooses is their direction.

    Parameters
    ----------
    X
        Data matrix, one row per sample, shape (m, n).
    y
        Classes, −1 or +1, shape (m,).
    loss
        `"exponential"` or `"logistic"`.
    loss_factor
        Multiplies the loss; it only rescales time.
    feature_names
        The names of the features; by default those of the columns of X, where X is a frame.

    Attributes
    ----------
    separation
        A direction that separates the classes, found by a linear program.

    Raises
    ------
    NotSeparable
        With weights that prove it.

    Examples
    --------
    >>> task = Classification([[1, 2], [0, -3]], [1, -1])
    >>> task.margins([1.0, 1.0]).tolist()
    [3.0, 3.0]
    >>> Classification([[1.0], [1.0]], [1, -1])
    Traceback (most recent call last):
    ...
    limitpoint.errors.NotSeparable: X and y are not separable by a hyperplane through the origin...
    """

    X: Float
    y: Float
    loss_name: str
    loss_factor: float
    separation: Separation
    feature_names: tuple[str, ...] | None = field(default=None, repr=False)

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        loss: str = "exponential",
        loss_factor: float = 1.0,
        *,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        matrix, classes = as_samples(X, y, targets=(1,))
        if not np.isin(classes, (-1.0, 1.0)).all():
            other = classes[~np.isin(classes, (-1.0, 1.0))][0]
            raise DataError(
                f"y must hold the classes -1 and 1; it holds {other:g}. Classes 0 and 1 become "
                "these as 2*y - 1"
            )
        _check_units(matrix)
        if not isinstance(loss, str) or loss not in LOSSES:
            raise DataError(f"loss must be {LOSSES[0]!r} or {LOSSES[1]!r}; it is {shown(loss)}")
        object.__setattr__(self, "X", matrix)
        object.__setattr__(self, "feature_names", feature_names_of(feature_names, X, matrix))
        object.__setattr__(self, "y", classes)
        object.__setattr__(self, "loss_name", loss)
        object.__setattr__(self, "loss_factor", as_loss_factor(loss_factor))
        object.__setattr__(self, "separation", Separation.of(self.signed))

    def __repr__(self) -> str:
        return (
            f"Classification({self.n_samples} samples × {self.n_features} features, "
            f"loss={self.loss_name!r}, loss_factor={self.loss_factor:g})"
        )

    @property
    def signed(self) -> Float:
        """The rows `y_i x_i`: margins are their products with the coefficients."""
        signed: Float = read_only(self.y[:, None] * self.X)
        return signed

    def margins(self, coef: Any) -> Float:
        """`y_i⟨x_i, β⟩` for every sample; the coefficients are the last axis."""
        values = as_real_array(coef, "coef", DataError, ndim=range(1, MOST_AXES))
        if values.shape[-1] != self.n_features:
            raise DataError(
                f"coef must have {self.n_features} entries along its last axis, one for each "
                f"feature; it has shape {values.shape}"
            )
        margins: Float = values @ self.signed.T
        return margins

    def loss_of_outputs(self, outputs: Any, y: Any) -> Any:
        """`loss_factor` times the sum of `e^{−m}` or `log(1 + e^{−m})`."""
        array = outputs.__array_namespace__()
        with np.errstate(over="ignore"):  # infinite beyond the largest float
            return array.exp(self.log_loss(outputs * y))

    def log_loss(self, margins: Any) -> Any:
        """The logarithm of the loss, which float64 holds however large the margins are.

        The samples are the last axis; NumPy and traced JAX arrays alike.
        """
        array = margins.__array_namespace__()
        logs = -margins if self.loss_name == "exponential" else _log_softplus(-margins)
        largest = array.max(logs, axis=-1, keepdims=True)
        total = array.log(array.sum(array.exp(logs - largest), axis=-1))
        return np.log(self.loss_factor) + largest[..., 0] + total

    def weights(self, margins: Float) -> Float:
        """`−∂ log loss/∂m_i ≥ 0`: how much each sample weighs; of the exponential loss, 1 in all.

        The samples are the last axis.
        """
        exponential = self.loss_name == "exponential"
        logs = -margins if exponential else _log_softplus(-margins)
        slopes = np.ones_like(margins) if exponential else _softplus_slope(-margins)
        shares = np.exp(logs - logs.max(axis=-1, keepdims=True))
        weights: Float = slopes * shares / shares.sum(axis=-1, keepdims=True)
        return weights

    def weight_changes(self, margins: Float, changes: Float) -> Float:
        """How the weights change with the margins, samples × directions, to first order.

        `dw = w ⊙ (⟨w, dm⟩ − c ⊙ dm)`; c is 1 for the exponential loss, the logistic function of the
        margin for the other.
        """
        weights = self.weights(margins)
        mean = weights @ changes
        if self.loss_name == "logistic":
            changes = _logistic(margins)[:, None] * changes
        changed: Float = weights[:, None] * (mean - changes)
        return changed


def _logistic(x: Float) -> Float:
    """`1/(1 + e^−x)`, without overflow."""
    small = np.exp(-np.abs(x))
    result: Float = np.where(x > 0.0, 1.0, small) / (1.0 + small)
    return result


def _check_units(X: Float) -> None:
    """Raise `DataError` for a row or a column in whose units coefficients overflow."""
    for axis, name in enumerate(("column", "row")):
        largest = np.abs(X).max(axis=axis)
        for j in np.flatnonzero((largest > 0) & (largest < SMALLEST))[:1]:
            raise DataError(
                f"X must have an entry of at least {SMALLEST:g} in modulus in every row and column "
                f"that is not zero; the largest of {name} {j} is {largest[j]:g}. Rescale it"
            )


def _log_softplus(x: Any) -> Any:
    """`log log(1 + e^x)`, accurate for x of any size and sign; NumPy and traced JAX arrays."""
    array = x.__array_namespace__()
    small, large = array.exp(array.minimum(x, 0.0)), array.maximum(x, 0.0)
    above = array.log(large + array.log1p(array.exp(-large)))
    return array.where(x > 0.0, above, x + array.log(_log1p_share(small)))


def _softplus_slope(x: Float) -> Float:
    """The derivative of `log log(1 + e^x)`, which tends to 1 as x falls."""
    small, large = np.exp(np.minimum(x, 0.0)), np.maximum(x, 0.0)
    below = 1.0 / (1.0 + small) / _log1p_share(small)
    above = 1.0 / (1.0 + np.exp(-large)) / (large + np.log1p(np.exp(-large)))
    slopes: Float = np.where(x > 0.0, above, below)
    return slopes


def _log1p_share(small: Any) -> Any:
    """`log(1 + e)/e`, also where e is zero; differentiable by JAX."""
    array = small.__array_namespace__()
    tiny = small < TINY
    share = array.log1p(small) / array.where(tiny, 1.0, small)
    return array.where(tiny, 1.0 - 0.5 * small, share)
