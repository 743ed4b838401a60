"""The convergence bound of labarriere's Theorem 2."""

import numpy as np
import pytest
from tests.oracles.brute.flow import RTOL, flow_coefs
from tests.theory.problems import diagonal_problem, gaussian_data, random_layers

import limitpoint as lp


def test_is_the_formula():
    """One coordinate: σ = s²|a² − b²|, μ = loss_factor · x²."""
    problem = diagonal_problem([[2.0]], [3.0], [1.0], [0.5], scale=0.5, loss_factor=3.0)
    times = np.array([0.0, 0.1, 1.0])
    sigma, mu = 0.25 * 0.75, 3.0 * 4.0
    initial = 1.5 * (3.0 - 2.0 * 0.25 * 0.5) ** 2
    expected = initial * np.exp(-2 * sigma * mu * times)
    # The floor is the loss at the minimum-norm solution, zero up to rounding of order eps².
    np.testing.assert_allclose(lp.atlas.convergence_bound(problem, times), expected, rtol=1e-14)


@pytest.mark.parametrize("depth", [2, 3, 4])
@pytest.mark.parametrize("loss_factor", [1.0, 2.0])
def test_is_never_violated_along_the_brute_force_flow(depth, loss_factor):
    X, y = gaussian_data(3, 6)
    layers = random_layers(6, depth)
    times = np.linspace(0, 2, 41)
    problem = diagonal_problem(X, y, *layers, loss_factor=loss_factor)
    coefs = flow_coefs(X, y, layers, times, loss_factor)
    losses = 0.5 * loss_factor * np.sum((coefs @ X.T - y) ** 2, axis=1)
    # 100 local errors of the oracle, relative to the initial loss.
    slack = 100 * RTOL * losses[0]
    assert (losses <= lp.atlas.convergence_bound(problem, times) + slack).all()


def test_tends_to_the_least_squares_loss():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((8, 3)), rng.standard_normal(8)
    problem = diagonal_problem(X, y, *random_layers(3))
    best = np.linalg.lstsq(X, y, rcond=None)[1][0] / 2
    assert lp.atlas.convergence_bound(problem, [1e6])[0] == pytest.approx(best, rel=1e-13)


@pytest.mark.parametrize("depth", [2, 3])
def test_rate_scales_as_the_scale_to_2_depth_minus_2(depth):
    X, y = gaussian_data(3, 6)
    scales, t = np.array([0.5, 1.0, 2.0]), 1e-3
    rates = []
    for scale in scales:
        problem = diagonal_problem(X, y, *random_layers(6, depth), scale=scale)
        early, late = lp.atlas.convergence_bound(problem, [0.0, t])
        rates.append(np.log(early / late) / t)
    slope = np.polyfit(np.log(scales), np.log(rates), 1)[0]
    # log(early/late) ≈ σμt > 1e-7 carries rounding of eps: nine digits are left.
    assert slope == pytest.approx(2 * (depth - 1), abs=1e-6)


def test_is_flat_at_a_scale_that_vanishes_in_float64():
    X, y = gaussian_data(3, 6)
    problem = diagonal_problem(X, y, *random_layers(6), log_scale=-2302.6)
    bound = lp.atlas.convergence_bound(problem, [0.0, 1.0, 1e5])
    # Nothing has moved yet: half the squared norm of y.
    np.testing.assert_allclose(bound, 0.5 * y @ y, rtol=1e-14)


def test_is_flat_where_nothing_can_move():
    problem = diagonal_problem(np.zeros((2, 3)), np.ones(2), *random_layers(3))
    np.testing.assert_array_equal(lp.atlas.convergence_bound(problem, [0.0, 5.0]), 1.0)


@pytest.mark.parametrize("depth", [2, 6])
def test_a_scale_whose_rate_overflows_leaves_nothing_after_the_start(depth):
    """At 1e60 and depth 6 the rate is 1e600; coefficients that start at zero have a finite loss."""
    task = lp.Regression([[1.0, 2.0]], [1.0])
    network = lp.Diagonal(depth=depth)
    problem = lp.Problem(network, lp.Init.zero_last(network, task, scale=1e60), task)
    # The floor is zero up to rounding of order eps².
    bound = lp.atlas.convergence_bound(problem, [0.0, 1.0])
    np.testing.assert_allclose(bound, [0.5, 0.0], rtol=1e-14, atol=1e-30)


def test_an_initial_loss_beyond_float64_is_refused():
    task = lp.Regression([[1.0, 2.0]], [1.0])
    network = lp.Diagonal(depth=6)
    problem = lp.Problem(network, lp.Init.random(network, task, scale=1e60, seed=1), task)
    with pytest.raises(lp.errors.InitError, match=r"initial loss .* overflows .* smaller scale"):
        lp.atlas.convergence_bound(problem, [0.0])


@pytest.mark.parametrize("times", [-1.0, np.nan, "soon", [0.0, -2.0], None])
def test_times_before_the_start_are_refused(times):
    problem = diagonal_problem([[2.0]], [3.0], [1.0], [0.5])
    with pytest.raises(lp.errors.LimitpointError, match="times must be numbers, 0 or later"):
        lp.atlas.convergence_bound(problem, times)
