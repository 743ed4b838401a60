"""scikit-learn estimators: regression by saddle path, and by implicit bias.

Each follows scikit-learn's conventions (`fit`, `predict`, `score`, `get_params`) and can be used
in pipelines and searches.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted, validate_data

from limitpoint.errors import DataError, InitError
from limitpoint.foundation.arrays import Float, as_truth, as_whole_number, check_masks
from limitpoint.init import Init
from limitpoint.init.init_checks import both_scales
from limitpoint.networks import Diagonal, Network, as_network
from limitpoint.problem import Problem
from limitpoint.tasks import Regression
from limitpoint.theory import SaddlePath, predict, saddle_path

__all__ = ["ImplicitBiasRegressor", "SaddlePathRegressor", "SaddlePathRegressorCV"]


class _LinearRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # untyped library
    """What the three estimators share: the intercept, the prediction, the tags."""

    coef_: Float
    intercept_: float

    def predict(self, X: ArrayLike) -> Float:
        """Predict targets for the rows of X."""
        check_is_fitted(self)
        matrix = _validated(self, X, accept_sparse="csr", reset=False)
        predicted: Float = matrix @ self.coef_ + self.intercept_
        return predicted

    def _read(self, X: ArrayLike, y: ArrayLike) -> tuple[Any, Float]:
        as_truth(self.fit_intercept, "fit_intercept", DataError)
        matrix, targets = _validated(
            self, X, y, accept_sparse=("csc", "csr"), y_numeric=True, dtype=np.float64
        )
        return matrix, np.asarray(targets, dtype=np.float64)

    def _set_coef(self, coef: Float, X_mean: Float, y_mean: float) -> None:
        self.coef_ = coef
        self.intercept_ = float(y_mean - X_mean @ coef)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class SaddlePathRegressor(_LinearRegressor):
    """Sparse regression along the saddles of a vanishingly initialised diagonal network.

    The k-th saddle is what such a network has learned on its k-th plateau: a sparse,
    sign-constrained least-squares fit. The last one interpolates the data with minimum weighted
    ℓ1 norm.

    Parameters
    ----------
    n_saddles
        Stop after this many saddles; None follows the path to its end.
    t_plus, t_minus
        Activation times (weights of the positive and negative parts), one number or one per
        feature.
    fit_intercept
        Centre the data first.

    Attributes
    ----------
    coef_, intercept_
        The fit.
    path_
        The `SaddlePath` (of the centred data).
    n_iter_
        Number of saddles passed.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.5, 0.7, 0.0], [0.5, 1.0, 0.1, 0.7]])
    >>> model = SaddlePathRegressor(n_saddles=2, fit_intercept=False).fit(X, [1.0, 0.0])
    >>> model.coef_.round(6).tolist(), model.n_iter_
    ([0.0, 0.0, 1.4, 0.0], 2)
    """

    def __init__(
        self,
        n_saddles: int | None = None,
        *,
        t_plus: ArrayLike = 1.0,
        t_minus: ArrayLike = 1.0,
        fit_intercept: bool = True,
    ) -> None:
        self.n_saddles = n_saddles
        self.t_plus = t_plus
        self.t_minus = t_minus
        self.fit_intercept = fit_intercept

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Follow the saddle path of the data."""
        matrix, targets = self._read(X, y)
        limit = self.n_saddles
        if limit is not None:
            limit = as_whole_number(limit, 0, "n_saddles", DataError)
        centred, residual, X_mean, y_mean = _centre(matrix, targets, self.fit_intercept)
        self.path_: SaddlePath = saddle_path(
            centred,
            residual,
            self.t_plus,
            self.t_minus,
            max_saddles=limit,
            feature_names=_names(self),
        )
        self.n_iter_ = self.path_.n_saddles
        self._set_coef(self.path_.coef, X_mean, y_mean)
        return self


class SaddlePathRegressorCV(_LinearRegressor):
    """`SaddlePathRegressor` with the number of saddles chosen by cross-validation.

    One path per fold serves all candidates. Folds are compared at equal times of the path (times
    the number of their samples, since mirror coordinates run with the sum over samples): time, not
    the count of saddles, is what regularises, as the penalty does in the lasso. The chosen time
    then gives the number of saddles on all data.

    Parameters
    ----------
    cv
        Number of folds, or a scikit-learn splitter.
    max_n_saddles
        The largest number followed; None follows as many as the smaller side of the data, where
        paths begin to interpolate.
    t_plus, t_minus, fit_intercept
        As for `SaddlePathRegressor`.

    Attributes
    ----------
    coef_, intercept_, path_, n_iter_
        As for `SaddlePathRegressor`, refitted on all data.
    n_saddles_
        The number of saddles chosen.
    times_
        The times at which some fold's path has a saddle, per sample.
    mse_path_
        Mean squared error from each of these times to the next, by fold.
    """

    def __init__(
        self,
        *,
        cv: Any = 5,
        max_n_saddles: int | None = None,
        t_plus: ArrayLike = 1.0,
        t_minus: ArrayLike = 1.0,
        fit_intercept: bool = True,
    ) -> None:
        self.cv = cv
        self.max_n_saddles = max_n_saddles
        self.t_plus = t_plus
        self.t_minus = t_minus
        self.fit_intercept = fit_intercept

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Choose the number of saddles, then follow the path of all data that far."""
        matrix, targets = self._read(X, y)
        rows = matrix.tocsr() if issparse(matrix) else matrix
        folds = [
            self._fold_errors(rows[fitted], targets[fitted], rows[left_out], targets[left_out])
            for fitted, left_out in self._splits(rows, targets)
        ]
        self.times_ = np.unique(np.concatenate([times for times, _ in folds]))
        # Errors are constant from saddle to saddle, and beyond the last.
        self.mse_path_ = np.stack(
            [
                errors[np.searchsorted(times, self.times_, side="right") - 1]
                for times, errors in folds
            ],
            axis=1,
        )
        best = float(self.times_[int(np.argmin(self.mse_path_.mean(axis=1)))])
        path, X_mean, y_mean = self._path(matrix, targets)
        self.n_saddles_ = (
            int(np.searchsorted(path.path_times * len(targets), best, side="right")) - 1
        )
        self.path_, _, _ = self._path(matrix, targets, self.n_saddles_)
        self.n_iter_ = self.path_.n_saddles
        self._set_coef(self.path_.coef, X_mean, y_mean)
        return self

    def _splits(self, X: Any, y: Float) -> list[tuple[Any, Any]]:
        try:
            return list(check_cv(self.cv).split(X, y))
        except (TypeError, ValueError) as error:
            raise DataError(f"cv must be a number of folds, or a splitter: {error}") from None

    def _path(
        self, X: Any, y: Float, n_saddles: int | None = None
    ) -> tuple[SaddlePath, Float, float]:
        limit = self.max_n_saddles if n_saddles is None else n_saddles
        if limit is None:
            limit = min(X.shape)
        else:
            limit = as_whole_number(limit, 0, "max_n_saddles", DataError)
        centred, residual, X_mean, y_mean = _centre(X, y, self.fit_intercept)
        path = saddle_path(
            centred,
            residual,
            self.t_plus,
            self.t_minus,
            max_saddles=limit,
            feature_names=_names(self),
        )
        return path, X_mean, y_mean

    def _fold_errors(
        self, X: Any, y: Float, X_left_out: Any, y_left_out: Float
    ) -> tuple[Float, Float]:
        """Times of the fitted rows' path, and the mean squared errors on the left-out rows."""
        path, X_mean, y_mean = self._path(X, y)
        coefs = path.sparse_coefs
        shift = y_mean - coefs @ X_mean
        misses = (X_left_out @ coefs.T.toarray()) + shift - y_left_out[:, None]
        return path.path_times * len(y), np.mean(misses**2, axis=0)


class ImplicitBiasRegressor(_LinearRegressor):
    """The limit of training a network on the data, computed without training.

    Parameters
    ----------
    network
        The network; None is `Diagonal(depth=2)`.
    scale
        Scale of the initialisation: 0 gives minimum ℓ1 (by saddle path), large values minimum ℓ2.
        The start is one from which the coefficients are zero, where the network has such: ones and
        a last layer of zeros, ones that cancel, or orthonormal rows; else balanced layers.
    fit_intercept
        Centre the data first.

    Attributes
    ----------
    coef_, intercept_
        The fit.
    limit_
        The `Limit`, with its theorem and certificate (of the centred data).
    n_iter_
        Newton steps or saddles taken.
    """

    def __init__(
        self, network: Network | None = None, *, scale: float = 1.0, fit_intercept: bool = True
    ) -> None:
        self.network = network
        self.scale = scale
        self.fit_intercept = fit_intercept

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Predict the limit of training on the data."""
        matrix, targets = self._read(X, y)
        dense = matrix.toarray() if issparse(matrix) else matrix
        centred, residual, X_mean, y_mean = _centre(dense, targets, self.fit_intercept)
        network = Diagonal(depth=2) if self.network is None else as_network(self.network)
        task = Regression(centred, residual, feature_names=_names(self))
        both_scales(self.scale, None)  # refused here, where no other start is tried
        init = _standard_start(network, task, self.scale)
        self.limit_ = predict(Problem(network, init, task))
        self.n_iter_ = self.limit_.iterations
        self._set_coef(self.limit_.coef, X_mean, y_mean)
        return self


def _names(estimator: Any) -> Any:
    """The names of the columns, where X was a frame and they differ."""
    names = getattr(estimator, "feature_names_in_", None)
    return names if names is not None and len(set(names)) == len(names) else None


class _WrongKind(DataError, TypeError):
    """What scikit-learn calls a wrong type: a `TypeError` there, and a `DataError` here."""


def _validated(estimator: Any, *data: Any, **settings: Any) -> Any:
    """Data that scikit-learn accepts; its errors, which name X or y, as errors of limitpoint."""
    for name, one in zip(("X", "y"), data, strict=False):
        check_masks(one, name, DataError)
    try:
        with np.errstate(over="ignore"):  # of a wider float: it is infinite then, and refused
            return validate_data(estimator, *data, **settings)
    except TypeError as error:
        raise _WrongKind(f"X and y must be arrays of real numbers: {error}") from None
    except OverflowError:
        raise DataError("X and y must hold numbers that a float can hold") from None
    except Warning:
        raise
    except Exception as error:  # whatever an object of another library raises, too
        raise DataError(f"X and y must be arrays of real numbers: {error}") from None


def _standard_start(network: Network, task: Regression, scale: float) -> Init:
    """From coefficients of zero where the network has such a start, else balanced."""
    for start in (Init.zero_last, Init.unbiased, Init.balanced):
        try:
            return start(network, task, scale)
        except InitError:
            continue
    return Init.orthogonal(network, task, scale)


def _centre(X: Any, y: Float, centre: bool) -> tuple[Any, Float, Float, float]:
    """Centred data and the means; a sparse matrix is centred implicitly and stays sparse."""
    if not centre:
        return X, y, np.zeros(X.shape[1]), 0.0
    X_mean = np.asarray(X.mean(axis=0)).reshape(-1)
    y_mean = float(y.mean())
    if not issparse(X):
        return X - X_mean, y - y_mean, X_mean, y_mean
    return _Centred(X, X_mean), y - y_mean, X_mean, y_mean


class _Centred(LinearOperator):  # type: ignore[misc]  # untyped library
    """A sparse matrix less the means of its columns, without filling it."""

    def __init__(self, X: Any, means: Float) -> None:
        super().__init__(np.float64, X.shape)
        self._X = X
        self._means = means

    def _matvec(self, coef: Float) -> Float:
        flat = np.ravel(coef)
        product: Float = self._X @ flat - float(self._means @ flat)
        return product

    def _rmatvec(self, dual: Float) -> Float:
        flat = np.ravel(dual)
        product: Float = self._X.T @ flat - self._means * float(flat.sum())
        return product
