"""What the estimators share: the checks of data and weights, scores, tags."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from limitpoint.errors import DataError
from limitpoint.estimators.fitted_rows import FittedRows
from limitpoint.foundation.arrays import Float, as_float_array, as_truth, check_masks
from limitpoint.tasks.task import LARGEST, SMALLEST, check_size

__all__ = ["LinearEstimator", "LinearRegressor", "checked_weights"]


class LinearEstimator(BaseEstimator):  # type: ignore[misc]  # untyped library
    """A linear function of the features; `coef_` has a row per output or class, or is one row."""

    coef_: Float
    intercept_: Any
    fit_intercept: bool

    def _outputs(self, X: ArrayLike) -> Float:
        check_is_fitted(self)
        matrix = self._validated(X, accept_sparse="csr", reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            outputs: Float = matrix @ self.coef_.T + self.intercept_
        if not np.isfinite(outputs).all():
            raise DataError("X must be smaller: its products with the coefficients overflow")
        return outputs

    def _validated(self, *data: Any, **settings: Any) -> Any:
        """Data that scikit-learn accepts; its errors, which name X or y, as errors of ours."""
        for name, one in zip(("X", "y"), data, strict=False):
            check_masks(one, name, DataError)
        try:
            # Of a wider float that is infinite then, and of infinities that are added up.
            with np.errstate(over="ignore", invalid="ignore"):
                return validate_data(self, *data, **settings)
        except TypeError as error:
            raise _WrongKind(f"X and y must be arrays of real numbers: {error}") from None
        except OverflowError:
            raise DataError("X and y must hold numbers that a float can hold") from None
        except Warning:
            raise
        except Exception as error:  # whatever an object of another library raises, too
            raise DataError(f"X and y must be arrays of real numbers: {error}") from None

    def _names(self, added: Sequence[str] = ()) -> tuple[str, ...] | None:
        """The names of the columns, where X was a frame and they differ, and of added inputs."""
        known = getattr(self, "feature_names_in_", None)
        if known is None:
            return None
        names = (*(str(name) for name in known), *added)
        return names if len(set(names)) == len(names) else None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


# The mixins come from an untyped library.
class LinearRegressor(MultiOutputMixin, RegressorMixin, LinearEstimator):  # type: ignore[misc]
    """What the three regressors share."""

    def predict(self, X: ArrayLike) -> Float:
        """Predict targets for the rows of X."""
        return self._outputs(X)

    def _read(self, X: ArrayLike, y: ArrayLike, sample_weight: Any) -> tuple[Any, Float, Float]:
        as_truth(self.fit_intercept, "fit_intercept", DataError)
        matrix, targets = self._validated(
            X,
            y,
            accept_sparse=("csc", "csr"),
            y_numeric=True,
            multi_output=True,
            dtype=np.float64,
        )
        if issparse(targets):
            raise DataError("y must be an array of real numbers; it is a sparse matrix")
        check_size(matrix, "X")
        check_size(targets, "y")
        weights = checked_weights(sample_weight, matrix.shape[0])
        return matrix, np.asarray(targets, dtype=np.float64), weights

    def _set_coef(self, coef: Float, rows: FittedRows) -> None:
        """Coefficients (n,), or (n, k) of k outputs, which scikit-learn has as (k, n)."""
        added = rows.intercept(coef)
        self.coef_ = np.ascontiguousarray(coef.T)
        self.intercept_ = float(added) if added.ndim == 0 else added


class _WrongKind(DataError, TypeError):
    """What scikit-learn calls a wrong type: a `TypeError` there, and a `DataError` here."""


def checked_weights(sample_weight: Any, samples: int) -> Float:
    """One weight per sample, not negative and not all zero; ones for None."""
    if sample_weight is None:
        return np.ones(samples)
    weights = as_float_array(sample_weight, "sample_weight", DataError, ndim=(0, 1))
    if weights.ndim and weights.shape != (samples,):
        raise DataError(
            f"sample_weight must have one weight per sample, ({samples},); it has shape "
            f"{weights.shape}"
        )
    if (weights < 0).any():
        raise DataError(f"sample_weight must not be negative; the least is {weights.min():g}")
    largest = float(weights.max())
    if largest == 0.0:
        raise DataError("sample_weight must have an entry that is not zero; every weight is zero")
    if not SMALLEST <= largest <= LARGEST:
        raise DataError(
            f"sample_weight must have its largest entry between {SMALLEST:g} and {LARGEST:g}; "
            f"it is {largest:g}"
        )
    return np.array(np.broadcast_to(weights, (samples,)))
