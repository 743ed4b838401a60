"""The estimators keep scikit-learn's contract."""

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

import limitpoint as lp
from limitpoint.estimators import (
    ImplicitBiasClassifier,
    ImplicitBiasRegressor,
    SaddlePathRegressor,
    SaddlePathRegressorCV,
)

ESTIMATORS = [
    SaddlePathRegressor(),
    SaddlePathRegressor(n_saddles=2, fit_intercept=False),
    SaddlePathRegressorCV(cv=3),
    ImplicitBiasRegressor(),
    ImplicitBiasRegressor(scale=0.0),
    ImplicitBiasClassifier(),
    ImplicitBiasClassifier(lp.RankOne(depth=2, width=2), fit_intercept=False),
]
# scikit-learn 1.6 ran 54 checks on a linear regressor, more on one with weights and several
# outputs; fewer would mean that some were left out.
FEWEST_CHECKS = 55


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_no_check_is_skipped(estimator, capsys):
    checks = list(estimator_checks_generator(clone(estimator), legacy=True))
    with capsys.disabled():
        print(f"\n{estimator!r}: {len(checks)} checks of scikit-learn's contract")
    assert len(checks) >= FEWEST_CHECKS
    names = {getattr(check, "func", check).__name__ for _, check in checks}
    assert "check_sample_weight_equivalence_on_dense_data" in names
    assert "check_sample_weight_equivalence_on_sparse_data" in names
    tags = estimator.__sklearn_tags__()
    assert not tags.no_validation
    assert not tags.non_deterministic
    assert tags.target_tags.multi_output == (tags.estimator_type == "regressor")
    assert ("check_regressor_multioutput" in names) == tags.target_tags.multi_output


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_fitted_estimators_can_be_pickled_and_cloned(estimator):
    X, y = _data(estimator)
    model = clone(estimator).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert not hasattr(clone(model), "coef_")


def test_searches_and_pipelines():
    X, y = _data(SaddlePathRegressor())
    search = GridSearchCV(
        make_pipeline(StandardScaler(), SaddlePathRegressor()),
        {"saddlepathregressor__n_saddles": [1, 2, 3]},
        cv=3,
    ).fit(X, y)
    assert search.best_params_["saddlepathregressor__n_saddles"] in (1, 2, 3)
    X, y = _data(ImplicitBiasClassifier())
    search = GridSearchCV(ImplicitBiasClassifier(), {"C": [0.1, 10.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.5


@pytest.mark.parametrize(
    "estimator", [SaddlePathRegressor(3), ImplicitBiasRegressor(), ImplicitBiasClassifier()]
)
def test_weights_are_routed(estimator):
    """Through a search, by scikit-learn's metadata routing; without a request they are refused."""
    X, y = _data(estimator)
    weights = np.where(np.arange(len(y)) % 4 == 0, 0.0, 1.0 + np.arange(len(y)))
    with sklearn.config_context(enable_metadata_routing=True):
        asked = clone(estimator).set_fit_request(sample_weight=True)
        asked.set_score_request(sample_weight=True)
        scores = cross_val_score(asked, X, y, cv=3, params={"sample_weight": weights})
        with pytest.raises(ValueError, match="sample_weight"):
            cross_val_score(clone(estimator), X, y, params={"sample_weight": weights})
    assert np.isfinite(scores).all()
    assert not np.allclose(scores, cross_val_score(clone(estimator), X, y, cv=3))


def test_attributes_have_the_shapes_of_linear_models():
    """Those of scikit-learn's own linear regression."""
    X, y = _data(SaddlePathRegressor())
    for target in (y, y[:, None], np.stack([y, X[:, 0]], axis=1)):
        own = LinearRegression().fit(X, target)
        for estimator in ESTIMATORS[:5]:
            model = clone(estimator).fit(X, target)
            assert model.coef_.shape == own.coef_.shape
            assert np.shape(model.intercept_) == np.shape(own.intercept_)
            assert model.predict(X).shape == own.predict(X).shape


def _data(estimator):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((30, 6))
    y = 2 * X[:, 0] - X[:, 1] + 0.2 * rng.standard_normal(30)
    kind = estimator.__sklearn_tags__().estimator_type
    return X, y if kind == "regressor" else np.where(y > 0.3, "b", "a")
