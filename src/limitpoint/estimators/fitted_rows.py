"""The rows that are fitted: data less their weighted means, times the roots of the weights.

With weights w and an intercept b the loss `½ Σ w_i (x_iᵀβ + b − y_i)²` is least in b at the
weighted means, and what is left is `½‖√w ⊙ ((X − x̄)β − (y − ȳ))‖²`: that of rows scaled by `√w`.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from limitpoint.foundation.arrays import Float

__all__ = ["FittedRows"]


@dataclass(frozen=True, eq=False)
class FittedRows:
    """Data whose unweighted loss is that of the samples with the best intercept.

    Attributes
    ----------
    X
        An array; a sparse matrix, or an operator on one, where the data are sparse.
    y
        Targets, one column per output where there are several.
    X_mean, y_mean
        The weighted means, zero without an intercept.
    total_weight
        The sum of the weights: the number of samples, where these weigh the same.
    """

    X: Any
    y: Float
    X_mean: Float
    y_mean: Float
    total_weight: float

    @classmethod
    def of(cls, X: Any, y: Float, weights: Float, fit_intercept: bool) -> Self:
        """Leave out samples of weight zero, centre, weigh."""
        if not weights.all():
            kept = weights > 0
            X, y, weights = (X.tocsr() if sparse.issparse(X) else X)[kept], y[kept], weights[kept]
        total = float(weights.sum())
        roots = np.sqrt(weights)
        if not fit_intercept:
            no_mean = np.zeros(y.shape[1:])
            return cls(_scaled(X, roots), _scaled(y, roots), np.zeros(X.shape[1]), no_mean, total)
        shares = weights / total
        X_mean, y_mean = np.asarray(shares @ X).reshape(-1), np.asarray(shares @ y)
        left = _scaled(y - y_mean, roots)
        if sparse.issparse(X):
            return cls(Centred(_scaled(X, roots), X_mean, roots), left, X_mean, y_mean, total)
        rows = _scaled(X - X_mean, roots)
        return cls(_independent(rows, roots), _independent(left, roots), X_mean, y_mean, total)

    def outputs(self) -> list["FittedRows"]:
        """The rows with each output by itself as the target."""
        if self.y.ndim == 1:
            return [self]
        return [
            replace(self, y=self.y[:, k], y_mean=self.y_mean[k]) for k in range(self.y.shape[1])
        ]

    def intercept(self, coef: Float) -> Float:
        """What is added to `Xβ`; outputs are the last axis of the coefficients (n, k)."""
        added: Float = np.asarray(self.y_mean - self.X_mean @ coef)
        return added


def _scaled(rows: Any, roots: Float) -> Any:
    """Rows times the roots of their weights; the very same where all are one."""
    if (roots == 1.0).all():
        return rows
    if sparse.issparse(rows):
        return sparse.diags_array(roots) @ rows
    return roots.reshape(-1, *[1] * (rows.ndim - 1)) * rows


def _independent(rows: Float, roots: Float) -> Float:
    """Centred rows in an orthonormal basis of what is orthogonal to `√w`: one row less.

    `Σ √w_i` times row i is zero, up to rounding, so that the last row depends on the others as
    nearly as float64 can say, and no rank is certain. The reflection that takes `√w` to the first
    axis makes that sum the first row, which is left out; lengths and products are unchanged.
    """
    if len(rows) == 1:
        return rows
    normal = roots / np.linalg.norm(roots)
    normal[0] += 1.0  # √w has no negative entry: nothing cancels
    normal /= np.linalg.norm(normal)
    reflected: Float = (rows - 2.0 * np.multiply.outer(normal, normal @ rows))[1:]
    return reflected


class Centred(LinearOperator):  # type: ignore[misc]  # untyped library
    """A sparse matrix, its rows scaled, less the means of its columns, without filling it."""

    def __init__(self, X: Any, means: Float, roots: Float) -> None:
        super().__init__(np.float64, X.shape)
        self._X = X
        self._means = means
        self._roots = roots

    def _matvec(self, coef: Float) -> Float:
        flat = np.ravel(coef)
        product: Float = self._X @ flat - self._roots * float(self._means @ flat)
        return product

    def _rmatvec(self, dual: Float) -> Float:
        flat = np.ravel(dual)
        product: Float = self._X.T @ flat - self._means * float(self._roots @ flat)
        return product
