"""Newton's method in curve parameters: converged and certified at every scale, from any start."""

import numpy as np
import pytest
from tests.oracles.brute import flow as brute_flow
from tests.oracles.problem_sets import random_problems
from tests.theory.problems import diagonal_problem, gaussian_data, random_layers

import limitpoint as lp
from limitpoint.mirror import in_units
from limitpoint.theory.certificates.constraint import Constraint
from limitpoint.theory.solvers.mirror.curve_newton import solve_on_curves
from limitpoint.theory.solvers.mirror.dual_coordinates import DualCoordinates
from limitpoint.theory.solvers.mirror.shifted_hessian import solve_graded, solve_shifted

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
    constraint = constraint_of(problem)
    mirror = mirror_of(problem)
    return mirror, solve_on_curves(mirror, constraint, near)


def mirror_of(problem):
    """In the units of the constraint."""
    units = constraint_of(problem).units
    return in_units(problem.network.mirror_map(problem.init), units, units)


def coefs_of(mirror, solution):
    return mirror.along(solution.curve_params).coefs * mirror.coef_units


def size_of(problem, coef):
    """Of the answer and of where it starts: both are sources of rounding."""
    start = problem.network.coef(problem.init.direction) * problem.init.scale**problem.network.depth
    return np.linalg.norm(coef) + np.linalg.norm(start)


@pytest.mark.parametrize("number", range(20))
def test_random_problems_are_solved_and_certified(number):
    problem = random_problem(number)
    mirror, solution = solve(problem)
    assert solution.converged
    assert solution.log_scale == problem.init.log_scale
    assert 0 < solution.iterations < 500
    limit = lp.predict(problem)
    assert limit.certificate.ok
    assert limit.status is lp.Status.CONVERGED
    # Polishing is within the rounding of the curve parameters, about 70 at most, times the depth.
    np.testing.assert_allclose(coefs_of(mirror, solution), limit.coef, rtol=0, atol=1e-10)
    relative_residual = np.linalg.norm(problem.task.X @ limit.coef - problem.task.y)
    largest = np.linalg.norm(problem.task.X, 2)
    assert relative_residual <= NEWTON * largest * size_of(problem, limit.coef)


@pytest.mark.parametrize("number", range(8))
def test_warm_starts_give_the_same_answer(number):
    """From one neighbour, near and far, and from several, of which some lie above."""
    problem = random_problem(number)
    mirror, cold = solve(problem)
    neighbours = [
        solve_on_curves(mirror.at_log_scale(mirror.log_scale + apart), constraint_of(problem))
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


def constraint_of(problem):
    return Constraint.of(problem.task.X, problem.task.y)


@pytest.mark.parametrize("number", range(0, 16, 2))
def test_a_solution_close_by_saves_steps(number):
    problem = random_problem(number)
    mirror, cold = solve(problem)
    close = solve_on_curves(mirror.at_log_scale(mirror.log_scale + 1e-3), constraint_of(problem))
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
        np.testing.assert_array_equal(solution.curve_params, 0.0)
        np.testing.assert_array_equal(solution.dual, 0.0)

    @pytest.mark.parametrize("scale", [1e-10, 1.0, 10.0])
    def test_targets_of_zero_from_elsewhere(self, depth, scale):
        X, _ = gaussian_data(4, 10)
        problem = diagonal_problem(X, np.zeros(4), *random_layers(10, depth), scale=scale)
        limit = lp.predict(problem)
        assert limit.certificate.ok
        relative_residual = np.linalg.norm(X @ limit.coef)
        assert relative_residual <= NEWTON * np.linalg.norm(X, 2) * size_of(problem, limit.coef)

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
        # In units of the mirror coordinates, where float64 resolves them and their distance from
        # the poles.
        times = mirror.activation_times()
        ends = np.where(x > 0, times.t_plus, times.t_minus) / np.abs(x)
        low, high = 0.0, float(ends.min())
        if (x * mirror.start_coefs()).sum() > 2.0:
            back = np.where(x > 0, times.t_minus, times.t_plus) / np.abs(x)
            low, high = -float(back.min()), 0.0
        while high - low > 4 * np.finfo(float).eps * max(abs(low), abs(high)):
            middle = (low + high) / 2
            fit = float(x @ mirror.along(mirror.curve_params(x * middle)).coefs)
            low, high = (middle, high) if fit < 2.0 else (low, middle)
        np.testing.assert_allclose(limit.dual / mirror.mirror_unit, high, rtol=1e-12)

    @pytest.mark.parametrize("scale", [1e-20, 1e-2, 10.0])
    def test_dependent_samples(self, depth, scale):
        X, y = gaussian_data(4, 12)
        layers = random_layers(12, depth)
        # Twice a row is exact in float64, a difference of rows is not.
        both = diagonal_problem(np.vstack([X, 2 * X[0]]), [*y, 2 * y[0]], *layers, scale=scale)
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
        # Of small integers: a product of floats has full rank, exactly.
        X = (rng.integers(-9, 10, (6, 3)) @ rng.integers(-9, 10, (3, 12))) / 32.0
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


class TestGradedCoordinates:
    """One coefficient that starts far below the others, and that the data need all the same."""

    X = np.random.default_rng(8).standard_normal((3, 4))
    # Inside the sign constraints of u^L, so that no coefficient may be left out.
    truth = np.array([1.0, 0.7, 1.3, 0.5])

    @pytest.mark.parametrize("smallest", [1e-2, 1e-4, 1e-6])
    @pytest.mark.parametrize("depth", [3, 4, 5, 6])
    def test_power_networks(self, depth, smallest):
        """The mirror coordinate of the smallest is `smallest^(2−L)` times that of the others."""
        u = np.array([1.0, smallest, 0.6, 1.4])
        y = self.X @ self.truth
        network = lp.Power(depth)
        problem = lp.Problem(network, lp.Init([u]), lp.Regression(self.X, y))
        limit = lp.predict(problem)
        assert limit.status is lp.Status.CONVERGED
        # By the mirror coordinates `ξ = (u(0)^−k − β^(−k/L))/(Lk)`, orthogonal to the null vector
        # of X: the only unknown is how much of that vector there is in β.
        k = depth - 2
        null = np.linalg.svd(self.X)[2][-1]
        fitted = limit.coef - null * (null @ (limit.coef - self.truth))
        np.testing.assert_allclose(fitted, self.truth, rtol=1e-11)
        xi = (u ** (-k) - limit.coef ** (-k / depth)) / (depth * k)
        apart = abs(null @ xi) / np.abs(null * xi).sum()
        # The coefficients to 1e-13 or so; the mirror coordinates to that times their slopes,
        # relative.
        assert apart <= 1e-11

    def test_coordinates_keep_small_mirror_coordinates(self):
        """A ξ of 1e14 takes all digits from one of 1e-2 in orthonormal rows, none in these."""
        rng = np.random.default_rng(4)
        rows = np.linalg.svd(rng.standard_normal((6, 8)), full_matrices=False)[2]
        sizes = 10.0 ** rng.uniform(-2, 2, 8)
        sizes[[2, 5, 7]] = 1e14
        coordinates = DualCoordinates.graded(rows, sizes)
        dual = sizes[coordinates.columns] * rng.standard_normal(6)
        xi = dual @ coordinates.rows
        np.testing.assert_array_equal(xi[coordinates.columns], dual)
        assert (np.abs(dual) @ coordinates.moduli <= 100 * sizes).all()
        orthonormal = coordinates.orthonormal(dual)
        np.testing.assert_allclose(orthonormal @ rows, xi, rtol=0, atol=1e-14 * 1e15)
        small = np.setdiff1d(coordinates.columns, [2, 5, 7])
        assert np.abs((orthonormal @ rows - xi)[small] / sizes[small]).max() > 1e-8
        right = rng.standard_normal(6)
        np.testing.assert_allclose(
            coordinates.rows @ (rows.T @ right), coordinates.turned(right), rtol=1e-9
        )

    def test_coordinates_that_overflow(self):
        rows = np.linalg.svd(np.random.default_rng(4).standard_normal((2, 3)))[2][:2]
        assert DualCoordinates.graded(rows, np.array([1.0, 1e-300, 1e300])) is None

    def test_the_graded_solve(self):
        """Changes add up to what they must, beside delays that rounding would turn into more."""
        rng = np.random.default_rng(2)
        rows = np.linalg.svd(rng.standard_normal((5, 7)), full_matrices=False)[2]
        slopes = 10.0 ** np.array([30.0, 28.0, 3.0, 0.0, -3.0, -40.0, -50.0])
        right, lag = rng.standard_normal(5), 1e-15 * rng.standard_normal(7)
        toward, moved = solve_graded(rows, slopes, right, lag, 1e-60)
        np.testing.assert_allclose(rows @ moved, right, rtol=0, atol=1e-13)
        # Where D is small, as the dual says.
        small = slopes < 1e-2
        expected = (slopes * (toward @ rows + lag))[small]
        np.testing.assert_allclose(moved[small], expected, rtol=1e-9)

    def test_systems_that_cannot_be_solved(self):
        assert solve_shifted(np.eye(2), np.zeros(2), np.ones(2)) is None
        zero = np.zeros(2)
        for slopes in (np.array([1.0, 0.0]), np.array([1.0, np.inf])):
            assert np.isnan(solve_graded(np.eye(2), slopes, np.ones(2), zero, 0.0)).all()
