"""The regressors solve what they say."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoLarsCV
from sklearn.model_selection import KFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import limitpoint as lp
from limitpoint.estimators import (
    ImplicitBiasRegressor,
    SaddlePathRegressor,
    SaddlePathRegressorCV,
)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 60)) + 1.0
    truth = np.zeros(60)
    truth[[3, 17, 40]] = [2.0, -1.0, 0.5]
    return X, X @ truth + 3.0, truth


def test_the_end_of_the_path_is_minimum_l1_of_the_centred_data(data):
    X, y, _ = data
    model = SaddlePathRegressor().fit(X, y)
    centred = X - X.mean(axis=0)
    found = linprog(
        np.ones(120),
        A_eq=np.hstack([centred, -centred]),
        b_eq=y - y.mean(),
        method="highs",
    )
    assert np.abs(model.coef_).sum() == pytest.approx(found.fun, rel=1e-9)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-9)


def test_a_sparse_truth_is_recovered(data):
    X, y, truth = data
    model = SaddlePathRegressor().fit(X, y)
    np.testing.assert_allclose(model.coef_, truth, atol=1e-9)
    assert model.intercept_ == pytest.approx(3.0, abs=1e-8)
    assert model.n_iter_ == model.path_.n_saddles


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sparse_and_dense_data_give_one_answer(data, fit_intercept):
    X, y, _ = data
    X = np.where(np.abs(X) > 1.0, X, 0.0)
    dense = SaddlePathRegressor(8, fit_intercept=fit_intercept).fit(X, y)
    for kind in (sparse.csr_array, sparse.csc_array):
        other = SaddlePathRegressor(8, fit_intercept=fit_intercept).fit(kind(X), y)
        np.testing.assert_allclose(other.coef_, dense.coef_, atol=1e-9)
        np.testing.assert_allclose(other.predict(kind(X)), dense.predict(X), atol=1e-9)


def test_activation_times_choose_the_features():
    X = np.array([[1.0, 0.5, 0.7, 0.0], [0.5, 1.0, 0.1, 0.7]])
    plain = SaddlePathRegressor(fit_intercept=False).fit(X, [1.0, 0.0])
    weights = [0.5, 1.0, 1.0, 1.0]
    weighted = SaddlePathRegressor(fit_intercept=False, t_plus=weights, t_minus=weights)
    assert np.flatnonzero(plain.coef_).tolist() == [2, 3]
    assert np.flatnonzero(weighted.fit(X, [1.0, 0.0]).coef_).tolist() == [0, 3]


def test_infinite_activation_time_keeps_a_sign(data):
    X, y, _ = data
    model = SaddlePathRegressor(t_minus=np.inf).fit(X, y)
    assert (model.coef_ >= 0).all()


def test_cross_validation_stops_before_the_noise():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 40))
    y = X[:, 0] * 3 - X[:, 1] * 2 + rng.standard_normal(80)
    model = SaddlePathRegressorCV(cv=KFold(5)).fit(X, y)
    assert model.mse_path_.shape[1] == 5
    assert 2 <= model.n_saddles_ < 10
    assert {0, 1} <= set(np.flatnonzero(model.coef_))
    best = SaddlePathRegressor(model.n_saddles_).fit(X, y)
    np.testing.assert_array_equal(model.coef_, best.coef_)


def test_cross_validation_errors_are_those_of_each_fold():
    """At each time a fold's error is that of its own regressor stopped there."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40, 15))
    y = X[:, 0] - X[:, 1] + 0.3 * rng.standard_normal(40)
    folds = KFold(4)
    model = SaddlePathRegressorCV(cv=folds, max_n_saddles=10).fit(X, y)
    for fold, (fitted, left_out) in enumerate(folds.split(X)):
        times = SaddlePathRegressor(10).fit(X[fitted], y[fitted]).path_.path_times * len(fitted)
        for row in range(0, len(model.times_), 5):
            count = int((times <= model.times_[row]).sum()) - 1
            alone = SaddlePathRegressor(count).fit(X[fitted], y[fitted])
            error = np.mean((alone.predict(X[left_out]) - y[left_out]) ** 2)
            assert model.mse_path_[row, fold] == pytest.approx(error, rel=1e-9)
    chosen = model.times_[np.argmin(model.mse_path_.mean(axis=1))]
    times = SaddlePathRegressor(10).fit(X, y).path_.path_times * len(y)
    assert model.n_saddles_ == int((times <= chosen).sum()) - 1


@pytest.mark.slow
def test_as_good_as_the_lasso_on_held_out_diabetes_data():
    """2000 random products of the ten features; test error within 2 % of LassoLarsCV's.

    Errors of single splits differ by 5 % either way: the mean over splits is compared.
    """
    errors = np.array([_held_out_errors(seed) for seed in range(12)])
    lasso, ours = errors.mean(axis=0)
    assert ours <= 1.02 * lasso


def _held_out_errors(seed):
    X, y = load_diabetes(return_X_y=True)
    rng = np.random.default_rng(seed)
    X = StandardScaler().fit_transform(X)
    picks = [rng.choice(10, rng.integers(1, 4)) for _ in range(2000)]
    products = np.stack([X[:, pick].prod(axis=1) for pick in picks], axis=1)
    train, test, y_train, y_test = train_test_split(products, y, test_size=0.25, random_state=seed)
    scaler = StandardScaler().fit(train)
    train, test = scaler.transform(train), scaler.transform(test)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the lasso path on duplicate columns
        lasso = LassoLarsCV(cv=5).fit(train, y_train)
    ours = SaddlePathRegressorCV(cv=5, max_n_saddles=60).fit(train, y_train)
    return [np.mean((model.predict(test) - y_test) ** 2) for model in (lasso, ours)]


@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0, 1e3])
def test_implicit_bias_is_the_prediction(data, scale):
    X, y, _ = data
    model = ImplicitBiasRegressor(scale=scale, fit_intercept=False).fit(X, y)
    task, network = lp.Regression(X, y), lp.Diagonal(2)
    problem = lp.Problem(network, lp.Init.zero_last(network, task, scale), task)
    np.testing.assert_array_equal(model.coef_, lp.predict(problem).coef)
    assert model.limit_.certificate.ok
    np.testing.assert_allclose(model.predict(X), y, atol=1e-8)


def test_in_a_pipeline_with_names(data):
    pd = pytest.importorskip("pandas")
    X, y, _ = data
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
    model = SaddlePathRegressor(3).fit(frame, y)
    assert model.feature_names_in_[0] == "f0"
    pipeline = make_pipeline(StandardScaler(), SaddlePathRegressorCV(cv=3)).fit(frame, y)
    assert pipeline.score(frame, y) > 0.9


@pytest.mark.parametrize("n_saddles", [-1, 1.5, "all"])
def test_bad_number_of_saddles(data, n_saddles):
    X, y, _ = data
    with pytest.raises(ValueError, match="n_saddles must be"):
        SaddlePathRegressor(n_saddles).fit(X, y)
