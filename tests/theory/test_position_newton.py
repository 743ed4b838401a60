"""Newton's method in positions: converged and certified at every scale, from any start."""

import numpy as np
import pytest
from tests.oracles import brute_flow
from tests.oracles.problem_sets import random_problems
from tests.theory.problems import diagonal_problem, gaussian_data, random_layers

import limitpoint as lp
from limitpoint.theory.position_newton import solve_on_curves
from limitpoint.theory.whitening import whiten

# Residuals of Newton's method, relative to the size of the answer.
NEWTON = 1e-10
DEPTHS = (3, 4, 5, 6)


def random_problem(number):
    """Up to 20 samples and 60 features; every other truth is sparse, every fifth target Gaussian.

    The scale is uniform in its logarithm from 1e-30 to 1e2.
    """
    rng = np.random.default_rng([17, number])
    depth = DEPTHS[number % 4]
    n = int(rng.integers(2, 61))
    m = int(rng.integers(1, min(n, 20) + 1))
    X, truth = rng.standard_normal((m, n)), rng.standard_normal(n)
    if number % 2:
        truth *= np.arange(n) < max(1, m // 3)
    y = X @ truth if number % 5 else rng.standard_normal(m)
    log_scale = np.log(10.0) * rng.uniform(-30, 2)
    return diagonal_problem(X, y, *rng.standard_normal((depth, n)), log_scale=log_scale)


def solve(problem, near=()):
    mirror = problem.network.mirror_map(problem.init)
    return mirror, solve_on_curves(mirror, whiten(problem.task.X, problem.task.y), near)


def coefs_of(mirror, solution):
    return mirror.along(solution.positions).coefs


def size_of(problem, coef):
    """Of the answer and of where it starts: both are sources of rounding."""
    start = problem.network.coef(problem.init.direction) * problem.init.scale**problem.network.depth
    return np.linalg.norm(coef) + np.linalg.norm(start)


@pytest.mark.parametrize("number", range(60))
def test_random_problems_are_solved_and_certified(number):
    problem = random_problem(number)
    mirror, solution = solve(problem)
    assert solution.converged
    assert solution.log_scale == problem.init.log_scale
    assert 0 < solution.iterations < 500
    limit = lp.predict(problem)
    assert limit.certificate.ok
    assert limit.status is lp.Status.CONVERGED
    np.testing.assert_array_equal(solution.coefs, limit.coef)
    # Polishing is within the rounding of the positions, about 70 at most, times the depth.
    np.testing.assert_allclose(coefs_of(mirror, solution), limit.coef, rtol=0, atol=1e-10)
    misfit = np.linalg.norm(problem.task.X @ limit.coef - problem.task.y)
    largest = np.linalg.norm(problem.task.X, 2)
    assert misfit <= NEWTON * largest * size_of(problem, limit.coef)


@pytest.mark.parametrize("number", range(16))
def test_warm_starts_give_the_same_answer(number):
    """From one neighbour, near and far, and from several, of which some lie above."""
    problem = random_problem(number)
    mirror, cold = solve(problem)
    neighbours = [
        solve_on_curves(mirror.at_log_scale(mirror.log_scale + apart), whiten_of(problem))
        for apart in (3.0, -1.0, 0.5, 0.2)
    ]
    expected = coefs_of(mirror, cold)
    for near in (neighbours[:1], neighbours[1:2], neighbours[:3], neighbours):
        warm = solve(problem, near)[1]
        assert warm.converged
        # Two answers, each to Newton's residual; the least singular value of the weighted data
        # is within a few powers of ten of the largest in these Gaussian problems.
        apart = np.linalg.norm(coefs_of(mirror, warm) - expected)
        assert apart <= 100 * NEWTON * size_of(problem, expected)


def whiten_of(problem):
    return whiten(problem.task.X, problem.task.y)


@pytest.mark.parametrize("number", range(0, 16, 2))
def test_a_solution_close_by_saves_steps(number):
    problem = random_problem(number)
    mirror, cold = solve(problem)
    close = solve_on_curves(mirror.at_log_scale(mirror.log_scale + 1e-3), whiten_of(problem))
    assert solve(problem, [close])[1].iterations < cold.iterations


@pytest.mark.parametrize("family", ["diagonal", "diagonal ties", "signed power"])
@pytest.mark.parametrize("depth", [3, 4])
def test_where_the_flow_ends(family, depth):
    """Against an integration of the flow that shares no code, at scales where that is feasible."""
    network = lp.SignedPower(depth) if family == "signed power" else lp.Diagonal(depth)
    kind = "diagonal" if family.startswith("diagonal") else brute_flow.power(depth)
    tried = 0
    for X, y, layers, scale in random_problems(40, 5, family, depth):
        # Small ones, and within a few powers of ten of order 1: seconds rather than minutes.
        if not (1e-2 < scale < 10 and X.shape[0] <= 8 and X.shape[1] <= 40):
            continue
        limit = lp.predict(lp.Problem(network, lp.Init(layers), lp.Regression(X, y)))
        assert limit.certificate.ok
        found = brute_flow.limit(kind, X, y, layers)
        # The integrator keeps 1e-7 of the curves' last coefficients, of which the error at the end
        # of a step is the square; accumulated over some hundred steps.
        size = np.abs(found).max() + np.abs(network.coef(layers)).max()
        np.testing.assert_allclose(limit.coef, found, rtol=0, atol=1e-8 * size)
        tried += 1
    assert tried > 0


@pytest.mark.parametrize("depth", DEPTHS)
class TestSpecialData:
    def test_nothing_to_learn_from_zero(self, depth):
        X, _ = gaussian_data(4, 10)
        layers = [np.ones(10)] * (depth - 1) + [np.zeros(10)]
        solution = solve(diagonal_problem(X, np.zeros(4), *layers, scale=0.1))[1]
        assert solution.converged
        assert solution.iterations == 0
        np.testing.assert_array_equal(solution.positions, 0.0)
        np.testing.assert_array_equal(solution.dual, 0.0)

    @pytest.mark.parametrize("scale", [1e-10, 1.0, 10.0])
    def test_targets_of_zero_from_elsewhere(self, depth, scale):
        X, _ = gaussian_data(4, 10)
        problem = diagonal_problem(X, np.zeros(4), *random_layers(10, depth), scale=scale)
        limit = lp.predict(problem)
        assert limit.certificate.ok
        misfit = np.linalg.norm(X @ limit.coef)
        assert misfit <= NEWTON * np.linalg.norm(X, 2) * size_of(problem, limit.coef)

    def test_the_start_that_fits_already(self, depth):
        X, _ = gaussian_data(4, 10)
        layers = random_layers(10, depth)
        problem = diagonal_problem(X, X @ np.prod(layers, axis=0), *layers)
        # One step may go to the rounding of the data.
        assert solve(problem)[1].iterations <= 1
        np.testing.assert_allclose(lp.predict(problem).coef, np.prod(layers, 0), rtol=1e-13)

    @pytest.mark.parametrize("scale", [1e-30, 1e-4, 1.0, 30.0])
    def test_one_sample_by_bisection(self, depth, scale):
        """One unknown ν: `Σ x_i Ψ_i(x_i ν) = y` is increasing, so bisection finds it."""
        x = np.array([1.5, -0.7, 0.4])
        layers = random_layers(3, depth)
        problem = diagonal_problem(x[None], [2.0], *layers, scale=scale)
        mirror = problem.network.mirror_map(problem.init)
        limit = lp.predict(problem)
        assert limit.certificate.ok
        # In units of the clocks, where float64 resolves them and their distance from the poles.
        times = mirror.growth_times()
        ends = np.where(x > 0, times.t_plus, times.t_minus) / np.abs(x)
        low, high = 0.0, float(ends.min())
        if (x * mirror.start_coefs()).sum() > 2.0:
            back = np.where(x > 0, times.t_minus, times.t_plus) / np.abs(x)
            low, high = -float(back.min()), 0.0
        while high - low > 4 * np.finfo(float).eps * max(abs(low), abs(high)):
            middle = (low + high) / 2
            fit = float(x @ mirror.along(mirror.positions(x * middle)).coefs)
            low, high = (middle, high) if fit < 2.0 else (low, middle)
        np.testing.assert_allclose(limit.dual / mirror.clock_unit, high, rtol=1e-12)

    @pytest.mark.parametrize("scale", [1e-20, 1e-2, 10.0])
    def test_dependent_samples(self, depth, scale):
        X, y = gaussian_data(4, 12)
        layers = random_layers(12, depth)
        both = diagonal_problem(
            np.vstack([X, X[0] - X[1]]), [*y, y[0] - y[1]], *layers, scale=scale
        )
        once = lp.predict(diagonal_problem(X, y, *layers, scale=scale))
        twice = lp.predict(both)
        assert twice.certificate.ok
        assert twice.status is lp.Status.CONVERGED
        apart = np.linalg.norm(once.coef - twice.coef)
        assert apart <= 100 * NEWTON * size_of(both, once.coef)

    @pytest.mark.parametrize("scale", [1e-20, 1e-2, 10.0])
    def test_targets_out_of_reach(self, depth, scale):
        """The best fits are those of the projected targets."""
        rng = np.random.default_rng(depth)
        X = rng.standard_normal((6, 3)) @ rng.standard_normal((3, 12))
        y = rng.standard_normal(6)
        layers = random_layers(12, depth)
        limit = lp.predict(diagonal_problem(X, y, *layers, scale=scale))
        assert limit.certificate.ok
        assert limit.status is lp.Status.LEAST_SQUARES
        within = X @ np.linalg.lstsq(X, y, rcond=None)[0]
        projected = diagonal_problem(X, within, *layers, scale=scale)
        apart = np.linalg.norm(limit.coef - lp.predict(projected).coef)
        assert apart <= 100 * NEWTON * size_of(projected, limit.coef)

    def test_columns_of_zero_stay_at_their_start(self, depth):
        X, y = gaussian_data(4, 10)
        X[:, 3] = 0.0
        layers = random_layers(10, depth)
        limit = lp.predict(diagonal_problem(X, y, *layers, scale=0.3))
        assert limit.certificate.ok
        np.testing.assert_allclose(limit.coef[3], 0.3**depth * np.prod(layers, 0)[3], rtol=1e-12)

    def test_frozen_coefficients_are_left_out(self, depth):
        X, y = gaussian_data(4, 10)
        layers = np.array(random_layers(10, depth))
        layers[:2, 6] = 0.0
        limit = lp.predict(diagonal_problem(X, y, *layers, scale=0.3))
        assert limit.coef[6] == 0.0
        rest = np.arange(10) != 6
        without = lp.predict(diagonal_problem(X[:, rest], y, *layers[:, rest], scale=0.3))
        np.testing.assert_allclose(limit.coef[rest], without.coef, rtol=0, atol=100 * NEWTON)
