"""Weights of samples, several outputs, and what a path says that was stopped early."""

import re

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from sklearn.linear_model import LinearRegression

import limitpoint as lp
from limitpoint.errors import DataError, InitError, NetworkError
from limitpoint.estimators import (
    ImplicitBiasRegressor,
    SaddlePathRegressor,
    SaddlePathRegressorCV,
)

PRODUCTS = lp.General(lambda block: block[0] * block[1], block_size=2)


def tall(outputs=None, seed=0):
    """More samples than features, that no coefficients fit; weights, two of them zero."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((25, 4)) + 2.0
    y = X @ rng.standard_normal((4, *([outputs] if outputs else []))) + 5.0
    y = y + rng.standard_normal(y.shape)
    weights = rng.uniform(0.1, 9.0, 25)
    weights[[3, 7]] = 0.0
    return X, y, weights


def wide(seed=1):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((8, 20)) + 1.0, rng.standard_normal(8), rng.uniform(0.2, 5.0, 8)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("outputs", [None, 3])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("make", [SaddlePathRegressor, ImplicitBiasRegressor])
def test_what_cannot_be_fitted_is_weighted_least_squares(make, fit_intercept, outputs, kind):
    X, y, weights = tall(outputs)
    own = LinearRegression(fit_intercept=fit_intercept).fit(X, y, weights)
    model = make(fit_intercept=fit_intercept).fit(kind(X), y, weights)
    np.testing.assert_allclose(model.coef_, own.coef_, rtol=1e-8)
    np.testing.assert_allclose(model.intercept_, own.intercept_, rtol=1e-8, atol=1e-12)
    unweighted = make(fit_intercept=fit_intercept).fit(kind(X), y)
    assert not np.allclose(unweighted.coef_, own.coef_, rtol=1e-3)
    weighed = model.score(X, y, sample_weight=weights)
    assert weighed == pytest.approx(own.score(X, y, weights), rel=1e-8)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("scale", [0.0, 0.1])
def test_weights_do_not_change_a_solution_that_fits(fit_intercept, scale):
    X, y, weights = wide()
    plain = ImplicitBiasRegressor(scale=scale, fit_intercept=fit_intercept).fit(X, y)
    weighted = ImplicitBiasRegressor(scale=scale, fit_intercept=fit_intercept).fit(X, y, weights)
    np.testing.assert_allclose(weighted.coef_, plain.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(weighted.predict(X), y, atol=1e-8)
    # Centred rows add up to zero: in a basis without that sum their rank is certain.
    assert plain.limit_.status is weighted.limit_.status is lp.Status.CONVERGED


def test_the_end_of_a_weighted_path_is_a_linear_program():
    X, y, weights = wide(seed=2)
    weights[4] = 0.0
    model = SaddlePathRegressor().fit(X, y, weights)
    kept = weights > 0
    # min ‖β‖₁ with Xβ + b = y on the samples that weigh, over β⁺, β⁻ and b.
    columns = np.hstack([X, -X, np.ones((8, 1))])[kept]
    found = linprog(
        np.append(np.ones(40), 0.0),
        A_eq=columns,
        b_eq=y[kept],
        bounds=[(0, None)] * 40 + [(None,) * 2],
    )
    assert np.abs(model.coef_).sum() == pytest.approx(found.fun, rel=1e-9)
    np.testing.assert_allclose(model.predict(X[kept]), y[kept], atol=1e-9)
    assert abs(model.predict(X)[4] - y[4]) > 1e-3


def test_weights_are_repetitions_on_the_way_too():
    """Saddle by saddle: coefficients, losses and times are those of repeated samples."""
    X, y, _ = tall(seed=4)
    counts = np.random.default_rng(4).integers(0, 4, len(y))
    repeated = SaddlePathRegressor().fit(X.repeat(counts, axis=0), y.repeat(counts)).path_
    for kind in (np.asarray, sparse.csr_array):
        weighted = SaddlePathRegressor().fit(kind(X), y, counts).path_
        assert weighted.entered == repeated.entered
        np.testing.assert_allclose(weighted.coefs, repeated.coefs, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(weighted.path_times, repeated.path_times, rtol=1e-9)
        np.testing.assert_allclose(weighted.losses, repeated.losses, rtol=1e-9)


def test_each_output_is_what_it_is_alone():
    X, y, weights = tall(outputs=2)
    for make in (SaddlePathRegressor, lambda: SaddlePathRegressorCV(cv=4), ImplicitBiasRegressor):
        both = make().fit(X, y, weights)
        for k in (0, 1):
            alone = make().fit(X, y[:, k], weights)
            np.testing.assert_allclose(both.coef_[k], alone.coef_, rtol=1e-12)
            assert both.intercept_[k] == pytest.approx(alone.intercept_, rel=1e-12)
            assert both.n_iter_[k] == alone.n_iter_
    path = SaddlePathRegressorCV(cv=4).fit(X, y)
    assert [len(each) for each in (path.n_saddles_, path.times_, path.mse_path_)] == [2, 2, 2]


def test_a_network_of_several_outputs_is_trained_on_all_at_once():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((5, 8)), rng.standard_normal((5, 2))
    model = ImplicitBiasRegressor(lp.TwoLayer(8), scale=0.5, fit_intercept=False).fit(X, y)
    task = lp.Regression(X, y)
    init = lp.Init.orthogonal(lp.TwoLayer(8), task, 0.5)
    limit = lp.predict(lp.Problem(lp.TwoLayer(8), init, task))
    np.testing.assert_allclose(model.coef_, limit.coef.T, rtol=1e-12)
    assert isinstance(model.limit_, lp.results.Limit)


def test_cross_validation_weighs_what_is_fitted_and_what_is_left_out():
    X, y, weights = tall(seed=6)
    splits = [(np.arange(8, 25), np.arange(8)), (np.arange(17), np.arange(17, 25))]
    splits.append((np.setdiff1d(np.arange(25), [3, 7]), np.array([3, 7])))  # without weight
    model = SaddlePathRegressorCV(cv=splits).fit(X, y, weights)
    assert model.mse_path_.shape[1] == 2
    for fold, (fitted, left_out) in enumerate(splits[:2]):
        alone = SaddlePathRegressor(4).fit(X[fitted], y[fitted], weights[fitted])
        misses = alone.predict(X[left_out]) - y[left_out]
        wanted = np.average(misses**2, weights=weights[left_out])
        assert model.mse_path_[-1, fold] == pytest.approx(wanted, rel=1e-9)
    with pytest.raises(DataError, match="sample_weight must not be zero for all samples that cv"):
        SaddlePathRegressorCV(cv=splits[2:]).fit(X, y, weights)


def test_a_path_that_was_stopped_says_by_whom():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 40))
    y = X[:, 0] * 3 - X[:, 1] * 2 + rng.standard_normal(80)
    path = SaddlePathRegressorCV(cv=5).fit(X, y).path_
    assert path.status is lp.Status.CROSS_VALIDATED
    text = " ".join(str(path).split())
    assert "Stopped early by cross-validation" in text
    assert " NO" not in text  # what is asked of a saddle on the way holds
    assert "NO" in str(path.certificate)  # but it is not the end
    cut = SaddlePathRegressor(2).fit(X, y).path_
    assert cut.status is lp.Status.SADDLE_LIMIT
    assert "n_saddles" in str(cut.status)
    # Without noise the end is best, and the path is not stopped before it.
    ended = SaddlePathRegressorCV(cv=5).fit(X, X[:, 0] - X[:, 1]).path_
    assert ended.status is lp.Status.CONVERGED


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), "sample_weight must have one weight per sample, (8,)"),
        (np.ones((8, 1)), "sample_weight must have 0 or 1 dimension"),
        ([1.0] * 7 + [-1.0], "sample_weight must not be negative; the least is -1"),
        (np.zeros(8), "sample_weight must have an entry that is not zero"),
        ([1.0] * 7 + [np.nan], "sample_weight must be finite"),
        (["a"] * 8, "sample_weight must be an array of real numbers"),
        (np.full(8, 1e200), "sample_weight must have its largest entry between"),
    ],
)
def test_bad_weights(weights, message):
    X, y, _ = wide()
    for make in (SaddlePathRegressor, ImplicitBiasRegressor):
        with pytest.raises(DataError, match=re.escape(message)):
            make().fit(X, y, weights)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"scale": np.nan}, InitError, "scale must be a number in [0, inf]; it is nan"),
        ({"network": lp.ReLU((3,))}, NetworkError, "network must be linear in its input"),
        ({"network": lp.TwoLayer(3)}, InitError, "at least as many neurons as features, 20"),
        (
            {"network": lp.General(lambda u: u[0] * u[1], block_size=2)},
            NetworkError,
            "network must have a standard start",
        ),
    ],
)
def test_settings_that_cannot_be_used(settings, error, message):
    X, y, _ = wide()
    with pytest.raises(error, match=re.escape(message)):
        ImplicitBiasRegressor(**settings).fit(X, y)


@pytest.mark.parametrize(
    "network", [lp.FullyConnected((3,)), lp.Power(depth=2), lp.RankOne(depth=2, width=3)]
)
def test_networks_without_a_theorem_from_zero_start_elsewhere(network):
    X, y, _ = wide()
    y = X @ np.linspace(0.1, 1.0, 20)  # which coefficients that stay positive fit
    model = ImplicitBiasRegressor(network).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-7)
    assert model.limit_.status is lp.Status.CONVERGED


def test_data_that_cannot_be_used():
    X, y, _ = wide()
    model = SaddlePathRegressor().fit(X, 100 * y)
    for make in (SaddlePathRegressor, SaddlePathRegressorCV, ImplicitBiasRegressor):
        with pytest.raises(DataError, match="y must be an array of real numbers; it is a sparse"):
            make().fit(X, sparse.csr_array(np.stack([y, y], axis=1)))
        with pytest.raises(DataError, match="y must have its largest entry between"):
            make().fit(X, 1e300 * y)
    with pytest.raises(DataError, match="X must be smaller: its products with the coefficients"):
        model.predict(1e308 * np.sign(model.coef_)[None])
