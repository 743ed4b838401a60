"""Classification by implicit bias: the direction in which training ends, without training."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from limitpoint.errors import DataError, NetworkError, NotSeparable
from limitpoint.estimators.linear_estimator import LinearEstimator, checked_weights
from limitpoint.estimators.standard_starts import as_linear_network, standard_limit
from limitpoint.foundation.arrays import Float, as_number, as_number_within, as_truth
from limitpoint.networks import CoupledNetwork, Diagonal, Network
from limitpoint.tasks import Classification
from limitpoint.tasks.task import LARGEST, SMALLEST, check_size
from limitpoint.theory import Limit

__all__ = ["ImplicitBiasClassifier"]


class ImplicitBiasClassifier(ClassifierMixin, LinearEstimator):  # type: ignore[misc]  # untyped library
    r"""The direction in which training a network on two classes ends, without training.

    On classes that a hyperplane separates, the coefficients grow for ever, in the direction that
    has the largest margin for a norm that the network chooses: ℓ1 for two diagonal layers, ℓ2 for
    dense and rank-one networks. It depends neither on the scale of the start nor on the loss
    (exponential or logistic), so that neither is a parameter.

    Parameters
    ----------
    network
        The network; None is `Diagonal(depth=2)`.
    C
        What errors cost: a network that also has one input for each training sample, of its own,
        separates any classes, and its direction is the soft-margin classifier
        `min ‖β‖₁ + C Σ w_i s_i` (diagonal) or `min ½‖β‖₂² + C Σ w_i s_i²` (dense, rank-one), with
        `y_i f(x_i) ≥ 1 − s_i`, w the sample weights. Infinity: the network itself; classes that
        cannot be separated are refused.
    fit_intercept
        Whether the network has one more input, of constant value `intercept_scaling`. Its
        coefficient counts in the norm, the less the larger that value.
    intercept_scaling
        The value of that input.

    Attributes
    ----------
    classes_
        The labels.
    coef_, intercept_
        One row for two classes, (1, n) and (1,), scaled to smallest margin 1 (less the errors);
        else one row per class, which is separated from the rest.
    limit_
        The `Limit`, with its theorem and certificate: of the coefficients, then the intercept's,
        then one per sample where C is finite. For more than two classes a list, one for each.
    n_iter_
        Steps of the solver; a list where `limit_` is one.

    Notes
    -----
    Inputs are added for diagonal, dense and rank-one networks, in which all inputs are alike.
    Others, convolutional ones say, need `C=inf` and `fit_intercept=False`. Diagonal networks of
    three layers and more end in one of many stationary directions, and no theorem says in which.

    There is no classifier by saddle path: the saddles between which training jumps are known for
    the squared loss only. `SaddlePathRegressor` on targets −1 and 1 has them.

    Examples
    --------
    >>> X, y = [[2.0, 1.0], [-1.0, -2.0], [3.0, 1.0]], ["yes", "no", "yes"]
    >>> model = ImplicitBiasClassifier(C=float("inf"), fit_intercept=False).fit(X, y)
    >>> model.coef_.round(6).tolist(), model.predict([[1.0, 1.0]]).tolist()
    ([[0.333333, 0.333333]], ['yes'])
    """

    classes_: NDArray[Any]
    limit_: Limit | list[Limit]
    n_iter_: int | list[int]

    def __init__(
        self,
        network: Network | None = None,
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
    ) -> None:
        self.network = network
        self.C = C
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Predict the direction in which training on the data ends.

        Parameters
        ----------
        X
            Samples in rows; sparse matrices are filled.
        y
            Labels, of two classes or more.
        sample_weight
            Weight of each error. Samples of weight zero are left out; other weights change nothing
            at `C=inf`, as they change no direction of training.

        Raises
        ------
        NotSeparable
            At `C=inf`, with weights that prove it.
        """
        network = as_linear_network(self.network)
        self._check_settings(network)
        matrix, labels = self._validated(X, y, accept_sparse=("csr", "csc"), dtype=np.float64)
        _check_labels(labels)
        check_size(matrix, "X")
        weights = checked_weights(sample_weight, matrix.shape[0])
        dense, kept = (matrix.toarray() if issparse(matrix) else matrix), weights > 0
        dense, labels, weights = dense[kept], labels[kept], weights[kept]
        self.classes_ = np.unique(labels)
        if len(self.classes_) < 2:
            raise DataError(
                "y must hold at least two classes of samples with weight; it holds one class, "
                f"{self.classes_[0]}"
            )
        inputs = self._with_added_inputs(network, dense, weights)
        positive = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        limits = [self._limit(network, inputs, labels == each, each) for each in positive]
        self._set_limits(limits, dense.shape[1])
        return self

    def decision_function(self, X: ArrayLike) -> Float:
        """Margins: positive for `classes_[1]`; of several classes one column for each."""
        outputs = self._outputs(X)
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the class of every row of X."""
        margins = self.decision_function(X)
        chosen = (margins > 0).astype(np.intp) if margins.ndim == 1 else np.argmax(margins, axis=1)
        return np.asarray(self.classes_[chosen])

    def _check_settings(self, network: Network) -> None:
        as_truth(self.fit_intercept, "fit_intercept", DataError)
        as_number_within(
            self.intercept_scaling,
            SMALLEST,
            LARGEST,
            "margins are products with it",
            "intercept_scaling",
            DataError,
        )
        rule = f"C must be a number from {SMALLEST:g} to {LARGEST:g}, or infinity"
        cost = as_number(self.C, rule, DataError)
        if not (SMALLEST <= cost <= LARGEST or np.isposinf(cost)):
            raise DataError(f"{rule}; it is {cost:g}")
        adds = self.fit_intercept or np.isfinite(self.C)
        if adds and not isinstance(network, Diagonal | CoupledNetwork):
            raise NetworkError(
                f"network must be diagonal, dense or rank-one where inputs are added; {network} "
                "needs C=inf and fit_intercept=False"
            )

    def _with_added_inputs(self, network: Network, X: Float, weights: Float) -> Float:
        """X, the constant, and one input per sample, of the size at which errors cost as said."""
        added = [X]
        if self.fit_intercept:
            added.append(np.full((len(X), 1), float(self.intercept_scaling)))
        if np.isfinite(self.C):
            costs = float(self.C) * weights
            # A coefficient ρ of an input of size a makes up for an error aρ: |ρ| = s/a, and of
            # the squared norm ½ρ² = ½s²/a².
            sizes = 1.0 / (costs if isinstance(network, Diagonal) else np.sqrt(2.0 * costs))
            added.append(np.diag(sizes))
        return np.hstack(added)

    def _added_names(self, samples: int) -> list[str]:
        """What the inputs that were added are called."""
        errors = [f"(error {i})" for i in range(samples)] if np.isfinite(self.C) else []
        return [*["(intercept)"] * bool(self.fit_intercept), *errors]

    def _limit(
        self, network: Network, inputs: Float, positive: NDArray[np.bool_], label: Any
    ) -> Limit:
        try:
            names = self._names(self._added_names(len(inputs)))
            task = Classification(inputs, np.where(positive, 1.0, -1.0), feature_names=names)
        except NotSeparable as error:
            through = "" if self.fit_intercept else " through the origin"
            raise NotSeparable(
                f"no hyperplane{through} separates class {label} of y from the rest: give a "
                f"finite C, which allows for errors, or more features ({error})",
                error.weights,
            ) from None
        return standard_limit(network, task)

    def _set_limits(self, limits: list[Limit], n_features: int) -> None:
        coefs = np.stack([limit.coef for limit in limits])
        self.coef_ = coefs[:, :n_features].copy()
        self.intercept_ = np.zeros(len(limits))
        if self.fit_intercept:
            self.intercept_ = float(self.intercept_scaling) * coefs[:, n_features]
        one = len(limits) == 1
        self.limit_ = limits[0] if one else limits
        steps = [limit.iterations for limit in limits]
        self.n_iter_ = steps[0] if one else steps


def _check_labels(labels: Any) -> None:
    try:
        check_classification_targets(labels)
    except ValueError as error:
        raise DataError(f"y must hold classes: {error}") from None
