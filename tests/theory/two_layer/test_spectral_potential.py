"""The potentials of two layers that start from orthonormal rows (varre Thm 3.1, 3.2).

Those of varre2023.theorem3.1, varre2023.theorem3.2a and varre2023.theorem3.2b.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy.optimize import approx_fprime
from tests.oracles.many_digits import two_layer_mp as oracle

from limitpoint.errors import InitError, LimitpointError
from limitpoint.theory.two_layer.spectral_potential import (
    coef_divergence,
    coef_gradient,
    coef_potential,
    layer_potential,
    layer_residuals,
    spectral_gradient,
    spectral_potential,
)

# Mirror-flow identities: the figure. The oracle leaves 1e-12 per step.
IDENTITY = 1e-8
# Gauss–Legendre on panels of a smooth integrand.
NODES = 8


def problem(outputs, gamma, seed=0, m=3, n=4, width=6):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((m, n)), rng.standard_normal((m, outputs))
    return X, Y, oracle.orthonormal_start(n, width, outputs, gamma, seed)


def panels(edges):
    """Gauss nodes on each panel, with the edges between them, and their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    half = np.diff(edges)[:, None] / 2
    inner = (edges[:-1, None] + half) + half * nodes
    times = np.append(np.concatenate([edges[:-1, None], inner], axis=1).ravel(), edges[-1])
    return times, half * weights


def rates(values):
    """Values at the nodes (panel × node × ...) and at the edges of the panels."""
    body = values[:-1].reshape(-1, NODES + 1, *values.shape[1:])
    return body[:, 1:], np.concatenate([body[:, 0], values[-1:]])


def spectral_drift(gamma, printed):
    """Largest difference between ∇Ψ(D) and −∫∇_D loss, along a flow with generic data."""
    X, Y, start = problem(2, gamma)
    edges = np.linspace(0.05, 4.0, 81)
    times, weights = panels(edges)
    W1, W2 = oracle.flow(X, Y, *start, np.concatenate([[0.0], times]))
    beta = (W1 @ W2)[1:]
    U, D, Vt = np.linalg.svd(beta, full_matrices=False)
    assert (D[:, 1] < 0.9 * D[:, 0]).all()  # no crossing: sorted values are continuous
    neg_grads = X.T @ (Y - X @ beta)
    force = np.einsum("tni,tnk,tik->ti", U, neg_grads, Vt)  # −∇_D loss
    inner, _ = rates(force)
    _, ends = rates(spectral_gradient(D, gamma=gamma, printed=printed))
    moved = np.cumsum(np.einsum("pn,pni->pi", weights, inner), axis=0)
    return np.abs(ends[1:] - ends[0] - moved).max()


@pytest.mark.parametrize("gamma", [1.0, 0.1, 1e-3])
def test_singular_values_follow_the_corrected_mirror_flow(gamma):
    assert spectral_drift(gamma, printed=False) < IDENTITY
    # The printed gradient differs by ½ D/√(D² + γ²), which moves by a part of ½.
    assert spectral_drift(gamma, printed=True) > 0.05


@pytest.mark.parametrize("gamma", [1.0, 1e-3])
def test_coefficients_of_one_output_follow_theirs(gamma):
    X, Y, start = problem(1, gamma)
    times, weights = panels(np.linspace(0.0, 5.0, 101))
    W1, W2 = oracle.flow(X, Y, *start, times)
    beta = (W1 @ W2)[..., 0]
    speeds = np.sqrt(np.hypot(np.linalg.norm(beta, axis=1), gamma) + gamma)
    inner, _ = rates(speeds[:, None] * ((Y[:, 0] - beta @ X.T) @ X))
    _, ends = rates(np.stack([coef_gradient(b, gamma=gamma) for b in beta]))
    moved = np.cumsum(np.einsum("pn,pni->pi", weights, inner), axis=0)
    assert np.abs(ends[1:] - ends[0] - moved).max() < IDENTITY


@pytest.mark.parametrize("gamma", [1e-2, 1.0, 30.0])
@pytest.mark.parametrize("printed", [False, True])
def test_gradients_are_those_of_the_potentials(gamma, printed):
    rng = np.random.default_rng(5)
    point = np.abs(rng.standard_normal(4)) + 0.1
    step = 1e-6
    found = approx_fprime(
        point, lambda D: spectral_potential(D, gamma=gamma, printed=printed), step
    )
    # Forward differences: step times a curvature of at most 1/γ, and rounding of 1e-16/step · γ.
    slack = 2 * step * max(1.0, 1 / gamma) + 1e-8 * max(1.0, gamma)
    np.testing.assert_allclose(
        found, spectral_gradient(point, gamma=gamma, printed=printed), atol=slack
    )
    found = approx_fprime(point, lambda b: coef_potential(b, gamma=gamma), step)
    slack = step * max(1.0, gamma**-0.5) + 1e-8 * max(1.0, gamma**1.5)
    np.testing.assert_allclose(found, coef_gradient(point, gamma=gamma), atol=slack)


@pytest.mark.parametrize("log_gamma", [-2302.6, -690.0, -10.0, 0.0, 10.0])
def test_against_sixty_digits(log_gamma):
    values = [0.0, 1e-200, 1e-5, 1.0, 1e10]
    with mp.workdps(60):
        gamma = mp.exp(mpf(log_gamma))
        exact = [mp.asinh(mpf(v) / gamma) / 2 for v in values]
        total = sum(
            mpf(v) * g - mp.sqrt(mpf(v) ** 2 + gamma**2) / 2
            for v, g in zip(values, exact, strict=True)
        )
    found = spectral_gradient(values, log_gamma=log_gamma)
    # exp of log γ is right to eps·|log γ|, which matters where γ can be held at all.
    np.testing.assert_allclose(found, [float(g) for g in exact], rtol=1e-12)
    assert spectral_potential(values, log_gamma=log_gamma) == pytest.approx(float(total), rel=1e-12)


def test_tends_to_half_the_nuclear_norm_times_log():
    values = np.array([3.0, 0.2])
    logs = -np.array([1e3, 2e3, 4e3])
    ratios = [spectral_potential(values, log_gamma=g) / -g / values.sum() for g in logs]
    assert abs(ratios[-1] - 0.5) < 1e-3
    errors = np.abs(np.array(ratios) - 0.5)
    assert np.polyfit(np.log(-logs), np.log(errors), 1)[0] == pytest.approx(-1, abs=1e-10)


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=4),
    st.floats(1e-6, 1e3),
    st.integers(0, 100),
)
def test_the_divergence_is_not_negative_and_zero_at_itself(target, gamma, seed):
    a = np.array(target)
    b = np.random.default_rng(seed).standard_normal(len(a))
    plain = (
        coef_potential(a, gamma=gamma)
        - coef_potential(b, gamma=gamma)
        - coef_gradient(b, gamma=gamma) @ (a - b)
    )
    size = (np.linalg.norm(a) + np.linalg.norm(b) + gamma) ** 1.5
    found = coef_divergence(a, b, gamma=gamma)
    # Each term is at most a few times `size`: rounding of some tens of eps of it.
    assert found == pytest.approx(plain, abs=1e-14 * size)
    assert found >= -1e-14 * size
    assert coef_divergence(a, a, gamma=gamma) == 0.0


@pytest.mark.parametrize("size", [1e-9, 1e-3, 1.0, 1e6])
def test_the_divergence_from_zero_keeps_its_digits(size):
    with mp.workdps(60):
        gamma, norm = mpf(2.0), mpf(size)

        def potential(x):
            w = mp.sqrt(x**2 + gamma**2) + gamma
            return 2 * w ** mpf("1.5") / 3 - 2 * gamma * mp.sqrt(w)

        exact = float(potential(norm) - potential(mpf(0)))
    assert coef_divergence([size, 0.0], [0.0, 0.0], gamma=2.0) == pytest.approx(exact, rel=1e-14)


# ---------------------------------------------------------------- the layers


@pytest.fixture(scope="module", params=[1.0, 1e-2], ids=["large", "small"])
def limit(request):
    gamma = request.param
    X, Y, start = problem(2, gamma, seed=1)
    W1, W2 = oracle.flow(X, Y, *start, np.array([0.0, 400.0]))
    return X, Y, W1[-1], W2[-1], gamma


def test_the_limit_is_stationary(limit):
    X, Y, W1, W2, gamma = limit
    found = layer_residuals(W1, W2, X, Y, gamma=gamma)
    assert found.worst < 1e-8
    assert found.worst == max(found.feasibility, found.first, found.second)
    # With another γ, or layers that fit the data otherwise, the conditions fail.
    assert layer_residuals(W1, W2, X, Y, gamma=2 * gamma).first > 1e-3
    other = 1.1 * W1, W2 / 1.1
    moved = layer_residuals(*other, X, Y, gamma=gamma)
    assert moved.feasibility < 1e-8
    assert moved.worst > 1e-2


def test_the_limit_is_minimal_among_a_thousand_competitors(limit):
    X, Y, W1, W2, gamma = limit
    least = layer_potential(W1, W2, gamma=gamma)
    rng = np.random.default_rng(7)
    for number in range(1000):
        size = 10.0 ** rng.uniform(-4, 1)
        if number % 2:  # rotate what the data cannot see, or move freely
            first = W1 + size * rng.standard_normal(W1.shape)
        else:
            first = W1 * (1 + size * rng.standard_normal())
        design = X @ first
        second = W2 + size * (number % 3) * rng.standard_normal(W2.shape)
        second = second + np.linalg.pinv(design) @ (Y - design @ second)
        assert np.abs(X @ first @ second - Y).max() < 1e-7 * (1 + size)
        # The limit is feasible to 1e-12 or so, and the potential stationary there.
        assert layer_potential(first, second, gamma=gamma) >= least - 1e-10


def test_the_potential_of_layers_is_the_formula():
    rng = np.random.default_rng(0)
    W1, W2 = rng.standard_normal((3, 5)), rng.standard_normal(5)
    expected = 0.5 * (W2 @ W2) + 0.5 * np.sum(W1**2) - 0.3 * np.log(np.linalg.det(W1 @ W1.T))
    assert layer_potential(W1, W2, gamma=0.3) == pytest.approx(expected, rel=1e-13)
    assert layer_potential(np.ones((2, 1)), np.ones(1), gamma=1.0) == math.inf
    assert layer_potential(np.zeros((2, 3)), np.ones(3), gamma=1.0) == math.inf


def test_bad_input():
    with pytest.raises(InitError, match="gamma or log_gamma, one of the two"):
        spectral_potential([1.0])
    with pytest.raises(LimitpointError, match="coef must belong to one output"):
        coef_potential(np.ones((2, 2)), gamma=1.0)
    with pytest.raises(LimitpointError, match="same length; they have 2 and 3"):
        coef_divergence(np.ones(2), np.ones(3), gamma=1.0)
    with pytest.raises(LimitpointError, match="as many rows as first has columns"):
        layer_potential(np.ones((2, 3)), np.ones((2, 2)), gamma=1.0)
    with pytest.raises(InitError, match="gamma must be a positive number"):
        layer_potential(np.ones((2, 3)), np.ones((3, 2)), gamma=0.0)


def test_nothing_at_all_below_the_smallest_float():
    zero = np.zeros(2)
    assert coef_potential(zero, log_gamma=-3000.0) == 0.0
    assert coef_divergence(zero, zero, log_gamma=-3000.0) == 0.0
    np.testing.assert_array_equal(coef_gradient(zero, log_gamma=-3000.0), 0.0)
    np.testing.assert_array_equal(spectral_gradient(zero, log_gamma=-3000.0, printed=True), 0.0)
