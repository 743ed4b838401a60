"""The classifier has the largest margin of its network's norm, by programs that share no code."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from sklearn.svm import SVC, LinearSVC

import limitpoint as lp
from limitpoint.errors import DataError, NetworkError, NoTheoremApplies, NotSeparable
from limitpoint.estimators import ImplicitBiasClassifier

DENSE = (lp.FullyConnected((3,)), lp.RankOne(depth=3, width=2))


def classes(noise, seed=0, samples=40, features=6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, features)) + 0.5
    y = np.sign(X @ rng.standard_normal(features) - 0.4 + noise * rng.standard_normal(samples))
    return X, y, rng.uniform(0.2, 4.0, samples)


def l1_program(X, signs, C=np.inf, weights=None, constant=1.0):
    """`min ‖β‖₁ + |b| + C Σ w s` by HiGHS; the coefficients, the intercept, the value."""
    m = len(X)
    rows = signs[:, None] * np.hstack([X, np.full((m, 1), constant)])
    n = rows.shape[1]
    costs, A = np.ones(2 * n), np.hstack([rows, -rows])
    if np.isfinite(C):
        weights = np.ones(m) if weights is None else weights
        costs, A = np.concatenate([costs, C * weights]), np.hstack([A, np.eye(m)])
    found = linprog(costs, A_ub=-A, b_ub=-np.ones(m), method="highs")
    coef = found.x[:n] - found.x[n : 2 * n]
    return coef[:-1], constant * coef[-1], found.fun


@pytest.mark.parametrize("scaling", [1.0, 3.0])
def test_largest_l1_margin(scaling):
    X, y, _ = classes(noise=0.0)
    model = ImplicitBiasClassifier(C=np.inf, intercept_scaling=scaling).fit(X, y)
    coef, intercept, value = l1_program(X, y, constant=scaling)
    np.testing.assert_allclose(model.coef_[0], coef, atol=1e-8 * np.abs(coef).max())
    assert model.intercept_[0] == pytest.approx(intercept, rel=1e-7, abs=1e-9)
    assert model.limit_.potential == pytest.approx(value, rel=1e-8)
    assert (y * model.decision_function(X)).min() == pytest.approx(1.0, rel=1e-8)
    assert model.score(X, y) == 1.0
    assert model.limit_.certificate.ok


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_errors_cost_what_is_said(C, kind):
    X, y, weights = classes(noise=1.0, seed=1)
    weights[:5] = 0.0
    model = ImplicitBiasClassifier(C=C).fit(kind(X), y, weights)
    kept = weights > 0
    coef, intercept, value = l1_program(X[kept], y[kept], C, weights[kept])
    np.testing.assert_allclose(model.coef_[0], coef, atol=1e-7 * max(np.abs(coef).max(), 1.0))
    assert model.intercept_[0] == pytest.approx(intercept, rel=1e-6, abs=1e-8)
    assert model.limit_.potential == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize("network", DENSE, ids=repr)
def test_dense_networks_are_support_vector_machines(network):
    X, y, weights = classes(noise=1.0, seed=2)
    own = LinearSVC(C=0.7, loss="squared_hinge", dual=True, tol=1e-10, max_iter=10**6)
    own.fit(X, y, weights)
    model = ImplicitBiasClassifier(network, C=0.7).fit(X, y, weights)
    np.testing.assert_allclose(model.coef_, own.coef_, atol=1e-5)
    np.testing.assert_allclose(model.intercept_, own.intercept_, atol=1e-5)
    X, y, _ = classes(noise=0.0, seed=3)
    X = X[:, :5] - X[:, :5].mean(axis=0)
    y = np.sign(X[:, 0] + X[:, 1])
    hard = ImplicitBiasClassifier(network, C=np.inf).fit(X, y)
    # The constant is one more feature: without an intercept of its own on data that have it.
    svc = SVC(kernel="linear", C=1e8, tol=1e-9)
    augmented = np.hstack([X, np.ones((len(X), 1))])
    mirrored = svc.fit(np.vstack([augmented, -augmented]), np.concatenate([y, -y])).coef_[0]
    np.testing.assert_allclose(hard.coef_[0], mirrored[:-1], rtol=1e-4, atol=1e-4)


def test_several_classes_are_each_separated_from_the_rest():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((45, 5))
    X[:, :3] += 2.0 * np.eye(3)[np.arange(45) % 3]
    y = np.array(["low", "mid", "top"])[np.arange(45) % 3]
    model = ImplicitBiasClassifier(C=0.5).fit(X, y)
    assert model.classes_.tolist() == ["low", "mid", "top"]
    for row, label in enumerate(model.classes_):
        coef, _, value = l1_program(X, np.where(y == label, 1.0, -1.0), 0.5)
        np.testing.assert_allclose(model.coef_[row], coef, atol=1e-7)
        assert model.limit_[row].potential == pytest.approx(value, rel=1e-8)
    chosen = np.argmax(model.decision_function(X), axis=1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[chosen])
    assert model.score(X, y) > 0.8


def test_no_weight_changes_a_hard_margin_but_zero():
    X, y, weights = classes(noise=0.0, seed=5)
    plain = ImplicitBiasClassifier(C=np.inf).fit(X, y)
    weighted = ImplicitBiasClassifier(C=np.inf).fit(X, y, weights)
    np.testing.assert_array_equal(weighted.coef_, plain.coef_)
    decisive = np.argmin(y * plain.decision_function(X))
    weights[decisive] = 0.0
    other = ImplicitBiasClassifier(C=np.inf).fit(X, y, weights)
    assert not np.allclose(other.coef_, plain.coef_)


def test_a_convolutional_network_as_it_is():
    X, y, _ = classes(noise=0.0, seed=6)
    y = np.sign(X @ np.ones(6))
    network = lp.Convolutional((6, 6))
    model = ImplicitBiasClassifier(network, C=np.inf, fit_intercept=False).fit(X, y)
    task = lp.Classification(X, y)
    limit = lp.predict(lp.Problem(network, lp.Init.zero_last(network, task, 1.0), task))
    np.testing.assert_allclose(model.coef_[0], limit.coef, rtol=1e-12)
    for settings in ({}, {"C": np.inf}, {"fit_intercept": False}):
        with pytest.raises(NetworkError, match="needs C=inf and fit_intercept=False"):
            ImplicitBiasClassifier(network, **settings).fit(X, y)


def test_what_cannot_be_separated_is_refused_with_a_proof():
    X, y, _ = classes(noise=2.0, seed=7)
    with pytest.raises(
        NotSeparable, match=r"separates class 1\.0 of y from the rest: give a"
    ) as err:
        ImplicitBiasClassifier(C=np.inf).fit(X, y)
    proof = err.value.weights
    assert (proof >= 0).all()
    signed = y[:, None] * np.hstack([X, np.ones((len(X), 1))])
    np.testing.assert_allclose(proof @ signed, 0.0, atol=1e-12)
    with pytest.raises(
        DataError, match="at least two classes of samples with weight; it holds one"
    ):
        ImplicitBiasClassifier().fit(X, y, y > 0)
    with pytest.raises(NoTheoremApplies):
        ImplicitBiasClassifier(lp.Diagonal(depth=3)).fit(X, y)
