"""Regression by saddle path: stopped after a number of saddles, given or cross-validated."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.model_selection import check_cv

from limitpoint.errors import DataError
from limitpoint.estimators.fitted_rows import FittedRows
from limitpoint.estimators.linear_estimator import LinearRegressor
from limitpoint.foundation.arrays import Float, as_whole_number
from limitpoint.status import Status
from limitpoint.theory import SaddlePath, saddle_path

__all__ = ["SaddlePathRegressor", "SaddlePathRegressorCV"]


class _PathRegressor(LinearRegressor):
    """What the two share: activation times, and one path per output."""

    t_plus: ArrayLike
    t_minus: ArrayLike
    path_: SaddlePath | list[SaddlePath]
    n_iter_: int | list[int]

    def _path(self, rows: FittedRows, max_saddles: int | None) -> SaddlePath:
        return saddle_path(
            rows.X,
            rows.y,
            self.t_plus,
            self.t_minus,
            max_saddles=max_saddles,
            feature_names=self._names(),
        )

    def _set_paths(self, paths: list[SaddlePath], rows: FittedRows) -> None:
        """The attributes; one entry per output where y had several, which are columns."""
        several = rows.y.ndim == 2
        counts = [path.n_saddles for path in paths]
        self.path_, self.n_iter_ = (paths, counts) if several else (paths[0], counts[0])
        coefs = np.stack([path.coef for path in paths], axis=1)
        self._set_coef(coefs if several else coefs[:, 0], rows)


class SaddlePathRegressor(_PathRegressor):
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
        The fit: (n,) and a number, or (k, n) and (k,) for k outputs.
    path_
        The `SaddlePath`, of the data less their means, in one row less (those of centred data
        depend on each other). Of several outputs a list with one for each: outputs of a diagonal
        network are trained apart.
    n_iter_
        Number of saddles passed; a list where `path_` is one.

    Notes
    -----
    Sample weights multiply the squared errors, and so decide in which order saddles are visited.
    The end of the path does not depend on them where it fits the data.

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

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Follow the saddle path of the data.

        Parameters
        ----------
        X
            Samples in rows, dense or sparse.
        y
            Targets (m,), or (m, k) for k outputs.
        sample_weight
            Weight of each squared error; samples of weight zero are left out.
        """
        most = _count(self.n_saddles, "n_saddles")
        matrix, targets, weights = self._read(X, y, sample_weight)
        rows = FittedRows.of(matrix, targets, weights, self.fit_intercept)
        self._set_paths([self._path(one, most) for one in rows.outputs()], rows)
        return self


class SaddlePathRegressorCV(_PathRegressor):
    """`SaddlePathRegressor` with the number of saddles chosen by cross-validation.

    One path per fold serves all candidates. Folds are compared at equal times of the path (times
    the total weight of their samples, since mirror coordinates run with the sum over samples):
    time, not the count of saddles, is what regularises, as the penalty does in the lasso. The
    chosen time then gives the number of saddles on all data.

    Parameters
    ----------
    cv
        Number of folds, a scikit-learn splitter, or the splits themselves.
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
        Mean squared error, weighted as the samples are, from each of these times to the next, by
        fold. Folds in which all left-out samples have weight zero are not among them.

    Notes
    -----
    Of several outputs each has its own number of saddles; `n_saddles_`, `times_` and `mse_path_`
    are then lists, as `path_` is.
    """

    n_saddles_: int | list[int]
    times_: Float | list[Float]
    mse_path_: Float | list[Float]

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

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Choose the number of saddles, then follow the path of all data that far.

        Parameters
        ----------
        X
            Samples in rows, dense or sparse.
        y
            Targets (m,), or (m, k) for k outputs.
        sample_weight
            Weight of each squared error, of samples that are fitted and left out alike.
        """
        _count(self.max_n_saddles, "max_n_saddles")
        matrix, targets, weights = self._read(X, y, sample_weight)
        by_row = matrix.tocsr() if issparse(matrix) else matrix
        splits = self._splits(by_row, targets, weights)
        rows = FittedRows.of(matrix, targets, weights, self.fit_intercept)
        paths, found = [], []
        for number, one in enumerate(rows.outputs()):
            target = targets if targets.ndim == 1 else targets[:, number]
            times, errors = self._fold_errors(by_row, target, weights, splits)
            best = float(times[int(np.argmin(errors.mean(axis=1)))])
            path = self._path(one, self._most(by_row))
            count = int(np.searchsorted(path.path_times * one.total_weight, best, "right")) - 1
            path = self._path(one, count)
            if path.status is Status.SADDLE_LIMIT:
                path = replace(path, status=Status.CROSS_VALIDATED)
            paths.append(path)
            found.append((count, times, errors))
        chosen = [list(each) for each in zip(*found, strict=True)]
        self.n_saddles_, self.times_, self.mse_path_ = (
            chosen if targets.ndim == 2 else (each[0] for each in chosen)
        )
        self._set_paths(paths, rows)
        return self

    def _most(self, X: Any) -> int:
        return min(X.shape) if self.max_n_saddles is None else int(self.max_n_saddles)

    def _splits(self, X: Any, y: Float, weights: Float) -> list[tuple[Any, Any]]:
        try:
            splits = list(check_cv(self.cv).split(X, y))
            kept = [
                (fitted, left_out)
                for fitted, left_out in splits
                if weights[fitted].any() and weights[left_out].any()
            ]
        except Warning:
            raise
        except Exception as error:  # whatever a splitter of another library raises, too
            raise DataError(f"cv must be a number of folds, or a splitter: {error}") from None
        if not kept:
            raise DataError(
                "sample_weight must not be zero for all samples that cv fits or leaves out; it is "
                f"in each of the {len(splits)} folds"
            )
        return kept

    def _fold_errors(
        self, X: Any, y: Float, weights: Float, splits: list[tuple[Any, Any]]
    ) -> tuple[Float, Float]:
        """The times of all folds' paths, and the errors from each of them on, by fold."""
        folds = []
        for fitted, left_out in splits:
            rows = FittedRows.of(X[fitted], y[fitted], weights[fitted], self.fit_intercept)
            path = self._path(rows, self._most(X[fitted]))
            coefs = path.sparse_coefs
            shift = rows.y_mean - coefs @ rows.X_mean
            misses = (X[left_out] @ coefs.T.toarray()) + shift - y[left_out][:, None]
            errors = np.average(misses**2, axis=0, weights=weights[left_out])
            folds.append((path.path_times * rows.total_weight, errors))
        times = np.unique(np.concatenate([own for own, _ in folds]))
        # Errors are constant from saddle to saddle, and beyond the last.
        each = [errors[np.searchsorted(own, times, side="right") - 1] for own, errors in folds]
        return times, np.stack(each, axis=1)


def _count(value: Any, name: str) -> int | None:
    return None if value is None else as_whole_number(value, 0, name, DataError)
