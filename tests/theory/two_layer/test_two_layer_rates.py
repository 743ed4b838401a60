"""Two bounds on the loss of two layers, and the inequality that is false (varre C.8, C.13)."""

import numpy as np
import pytest
from tests.oracles.many_digits import two_layer_mp as oracle

from limitpoint.errors import DataError, LimitpointError
from limitpoint.theory.two_layer.two_layer_rates import (
    two_layer_exponential_bound,
    two_layer_mirror_bound,
)

TIMES = np.concatenate([[0.0], np.geomspace(1e-3, 30.0, 60)])


def losses(X, Y, gamma, loss_factor, times=TIMES):
    start = oracle.orthonormal_start(X.shape[1], X.shape[1] + 1, Y.shape[1], gamma, 0)
    W1, W2 = oracle.flow(X, Y, *start, times, loss_factor)
    return 0.5 * loss_factor * np.sum((X @ (W1 @ W2) - Y) ** 2, axis=(1, 2))


@pytest.mark.parametrize("gamma", [1.0, 0.1, 1e-3])
@pytest.mark.parametrize("loss_factor", [1.0, 0.4])
@pytest.mark.parametrize("shape", [(3, 5), (6, 3)], ids=["wide", "least squares"])
@pytest.mark.parametrize("outputs", [1, 2])
def test_are_never_violated(gamma, loss_factor, shape, outputs):
    rng = np.random.default_rng(2)
    X, Y = rng.standard_normal(shape), rng.standard_normal((shape[0], outputs))
    found = losses(X, Y, gamma, loss_factor)
    settings = {"gamma": gamma, "loss_factor": loss_factor}
    # 100 local errors of the oracle, relative to the initial loss.
    slack = 100 * oracle.RTOL * found[0]
    bound = two_layer_exponential_bound(X, Y, TIMES, **settings)
    assert (found <= bound + slack).all()
    assert bound[0] == pytest.approx(found[0], rel=1e-14)
    if outputs == 1:
        bound = two_layer_mirror_bound(X, Y[:, 0], TIMES, **settings)
        assert (found <= bound + slack).all()
        assert bound[0] == pytest.approx(found[0], rel=1e-14)
        if gamma >= 0.1:  # by this time it says something
            assert bound[-1] < 0.8 * found[0]


def test_the_exponent_cannot_be_larger_by_much():
    """As γ grows W₁ hardly moves, and one feature is learnt at the rate 4γλ itself."""
    X, Y, gamma = np.array([[0.5]]), np.array([[1.0]]), 1e4
    times = np.array([0.0, 1.0 / (4 * gamma * 0.25)])
    found = losses(X, Y, gamma, 1.0, times)
    bound = two_layer_exponential_bound(X, Y, times, gamma=gamma)
    # The other layer adds ‖W₂‖² ≤ (β*/γ)² of it, 1e-8.
    assert found[1] == pytest.approx(bound[1], rel=1e-6)


def test_formulas():
    X, y, gamma = np.array([[2.0]]), np.array([3.0]), 0.5
    times = np.array([0.0, 0.1, 10.0, 1e3])
    expected = 9.0 * np.exp(-4 * 0.5 * 4 * 2 * times)
    found = two_layer_exponential_bound(X, y, times, gamma=gamma, loss_factor=2.0)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    root = np.sqrt(np.hypot(1.5, 0.5) + 0.5)
    divergence = 2 / 3 * root**3 - 2 * gamma * root + 2 / 3 * gamma * np.sqrt(2 * gamma)
    found = two_layer_mirror_bound(X, y, times, gamma=gamma)
    np.testing.assert_allclose(found[2:], divergence / times[2:], rtol=1e-13)
    np.testing.assert_array_equal(found[:2], 4.5)  # the initial loss, as long as it is the smaller


def test_the_mirror_bound_falls_as_one_over_the_root_of_gamma():
    X, y, t = np.array([[1.0, 2.0]]), np.array([1.0]), 1e200
    gammas = np.array([1e-8, 1e-9, 1e-10])
    found = [two_layer_mirror_bound(X, y, [t], gamma=g)[0] for g in gammas]
    slope = np.polyfit(np.log(gammas), np.log(found), 1)[0]
    assert slope == pytest.approx(-0.5, abs=1e-7)  # D_ψ itself moves by parts of γ


def test_a_gamma_below_the_smallest_float():
    X, y = np.array([[1.0, 2.0]]), np.array([1.0])
    times = [0.0, 1.0, 1e300]
    np.testing.assert_array_equal(two_layer_mirror_bound(X, y, times, log_gamma=-2302.6), 0.5)
    np.testing.assert_array_equal(two_layer_exponential_bound(X, y, times, log_gamma=-2302.6), 0.5)


@pytest.mark.parametrize("bound", [two_layer_mirror_bound, two_layer_exponential_bound])
def test_nothing_to_learn(bound):
    times = [0.0, 1.0, 10.0]
    np.testing.assert_array_equal(bound(np.zeros((2, 3)), np.ones(2), times, gamma=1.0), 1.0)
    np.testing.assert_array_equal(bound(np.ones((2, 3)), np.zeros(2), times, gamma=1.0), 0.0)


def test_the_inequality_c13_is_false():
    """‖R‖², `R = Xᵀ(Y − Xβ)`, grows on two samples of two features, while the loss falls."""
    X, Y, gamma = np.diag([1.0, 0.1]), np.array([[1.0], [5.0]]), 0.1
    start = np.sqrt(2 * gamma) * np.eye(2), np.zeros((2, 1))
    times = np.concatenate([[0.0], np.linspace(2.4, 2.7, 31)])
    W1, W2 = oracle.flow(X, Y, *start, times)
    beta = W1 @ W2
    R = X.T @ (Y - X @ beta)
    squares = np.sum(R**2, axis=(1, 2))
    # The derivative as the paper has it, −2 tr(RᵀXᵀX[W₁W₁ᵀR + RW₂ᵀW₂]) …
    moves = W1 @ W1.swapaxes(1, 2) @ R + R @ W2.swapaxes(1, 2) @ W2
    rates = -2 * np.sum(R * (X.T @ X @ moves), axis=(1, 2))
    # … is that of the flow: central differences over 0.02 are right to the square of that.
    numeric = (squares[3:] - squares[1:-2]) / (times[3:] - times[1:-2])
    np.testing.assert_allclose(numeric, rates[2:-1], atol=1e-3 * squares[1])
    claimed = -2 * gamma * 0.1**2 * squares
    assert rates[16] > 0.05 * squares[16]
    assert (rates[1:] > claimed[1:]).all()
    assert squares[-1] > squares[1]
    found = 0.5 * np.sum((X @ beta - Y) ** 2, axis=(1, 2))
    assert (np.diff(found) < 0).all()
    assert (found <= two_layer_exponential_bound(X, Y, times, gamma=gamma)).all()


def test_bad_input():
    X = np.ones((2, 3))
    with pytest.raises(DataError, match="y must have one output"):
        two_layer_mirror_bound(X, np.ones((2, 2)), [1.0], gamma=1.0)
    with pytest.raises(DataError, match="same number of samples"):
        two_layer_exponential_bound(X, np.ones(3), [1.0], gamma=1.0)
    with pytest.raises(LimitpointError, match="times must not be negative"):
        two_layer_exponential_bound(X, np.ones(2), [-1.0], gamma=1.0)
