"""Regression by implicit bias: the limit of training, without training."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from limitpoint.errors import NetworkError
from limitpoint.estimators.fitted_rows import FittedRows
from limitpoint.estimators.linear_estimator import LinearRegressor
from limitpoint.estimators.standard_starts import as_linear_network, standard_limit
from limitpoint.foundation.arrays import Float
from limitpoint.init.init_checks import both_scales
from limitpoint.networks import Network
from limitpoint.tasks import Regression
from limitpoint.theory import Limit

__all__ = ["ImplicitBiasRegressor"]


class ImplicitBiasRegressor(LinearRegressor):
    """The limit of training a network on the data, computed without training.

    Parameters
    ----------
    network
        The network; None is `Diagonal(depth=2)`.
    scale
        Scale of the initialisation: 0 gives minimum ℓ1 (by saddle path), large values minimum ℓ2.
        The start is the first of these that the network has and a theorem knows the limit of: from
        coefficients of zero (ones and a last layer of zeros, ones that cancel), balanced layers,
        orthonormal rows, ones.
    fit_intercept
        Centre the data first.

    Attributes
    ----------
    coef_, intercept_
        The fit: (n,) and a number, or (k, n) and (k,) for k outputs.
    limit_
        The `Limit`, with its theorem and certificate, of the data less their means, in one row less
        (those of centred data depend on each other). Of several outputs a list with one for each;
        a network that has several outputs itself, like `TwoLayer`, is trained on all at once and
        has one.
    n_iter_
        Newton steps or saddles taken; a list where `limit_` is one.

    Notes
    -----
    Sample weights multiply the squared errors. Where the data are fitted exactly they change
    nothing: the limit depends on the row space of the data only.

    Examples
    --------
    >>> model = ImplicitBiasRegressor(scale=0.0, fit_intercept=False).fit([[1.0, 2.0]], [2.0])
    >>> model.coef_.tolist(), model.limit_.theorem.id
    ([0.0, 1.0], 'zhao2026.corollary4.6')
    """

    limit_: Limit | list[Limit]
    n_iter_: int | list[int]

    def __init__(
        self, network: Network | None = None, *, scale: float = 1.0, fit_intercept: bool = True
    ) -> None:
        self.network = network
        self.scale = scale
        self.fit_intercept = fit_intercept

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Predict the limit of training on the data.

        Parameters
        ----------
        X
            Samples in rows; sparse matrices are filled.
        y
            Targets (m,), or (m, k) for k outputs.
        sample_weight
            Weight of each squared error; samples of weight zero are left out.
        """
        network = as_linear_network(self.network)
        scale, _ = both_scales(self.scale, None)
        matrix, targets, weights = self._read(X, y, sample_weight)
        dense = matrix.toarray() if issparse(matrix) else matrix
        rows = FittedRows.of(dense, targets, weights, self.fit_intercept)
        if targets.ndim == 1 or _takes_all_outputs(network, rows.X, rows.y):
            task = Regression(rows.X, rows.y, feature_names=self._names())
            limit = standard_limit(network, task, scale)
            self.limit_, self.n_iter_ = limit, limit.iterations
            coef = limit.coef
        else:
            tasks = (Regression(rows.X, y, feature_names=self._names()) for y in rows.y.T)
            limits = [standard_limit(network, task, scale) for task in tasks]
            self.limit_, self.n_iter_ = limits, [limit.iterations for limit in limits]
            coef = np.stack([limit.coef for limit in limits], axis=1)
        self._set_coef(coef, rows)
        return self


def _takes_all_outputs(network: Network, X: Float, y: Float) -> bool:
    try:
        network.layer_shapes(Regression(X, y))
    except NetworkError:
        return False
    return True
