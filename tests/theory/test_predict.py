"""`predict` on the acceptance list, against independent solvers, at its limits and edges.

One file, although long: one function, and problems that its tests share.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.brute.flow import RESIDUAL, RTOL, flow_limit
from tests.oracles.potential_min import (
    GRADIENT_TOLERANCE,
    minimise_entropy,
    minimise_potential,
    minimum_l1,
    minimum_weighted_l2,
)
from tests.theory.problems import (
    LOG_OF_1E_MINUS_1000,
    LOG_SCALES,
    diagonal_problem,
    gaussian_data,
    gaussian_problem,
    random_layers,
    sensitivity,
)

import limitpoint as lp

EPS = np.finfo(np.float64).eps
CERTIFIED = 1e-9
ITERATIONS_ALLOWED = 60
SIZES = [(10, 100), (40, 100), (100, 1000)]


def exact_sum(row, coef):
    return sum(Fraction(x) * Fraction(b) for x, b in zip(row, coef, strict=True))


class TestAcceptanceList:
    """Certified to 1e-9 in at most 60 iterations."""

    @pytest.mark.parametrize("zero_last", [False, True], ids=["random", "zero_last"])
    @pytest.mark.parametrize("size", SIZES, ids=str)
    @pytest.mark.parametrize("log_scale", LOG_SCALES.values(), ids=LOG_SCALES.keys())
    def test_is_certified_in_few_iterations(self, size, log_scale, zero_last):
        problem = gaussian_problem(*size, zero_last=zero_last, log_scale=log_scale)
        limit, task = lp.predict(problem, escalate=False), problem.task
        assert limit.iterations <= ITERATIONS_ALLOWED
        # From coefficients of 1e6 none that float64 holds may meet the smallest of the targets.
        hidden = EPS * (np.abs(task.X) @ np.abs(limit.coef)) > 5e-7 * np.abs(task.y)
        missed = [
            abs(exact_sum(task.X[j], limit.coef) - Fraction(task.y[j])) > 5e-7 * abs(task.y[j])
            for j in np.flatnonzero(hidden)
        ]
        assert any(missed) == (limit.status is lp.Status.DATA_HIDDEN)
        if not any(missed):
            assert limit.status is lp.Status.CONVERGED
            assert limit.certificate.ok
            assert limit.certificate.worst <= CERTIFIED

    @pytest.mark.parametrize("seed", range(1, 3))
    @pytest.mark.parametrize("log_scale", LOG_SCALES.values(), ids=LOG_SCALES.keys())
    def test_does_not_depend_on_the_draw_nor_on_sparse_targets(self, log_scale, seed):
        X, _ = gaussian_data(40, 100, 10 * seed)
        y = np.random.default_rng(seed).standard_normal(40)
        layers = random_layers(100, seed=seed)
        limit = lp.predict(diagonal_problem(X, y, *layers, log_scale=log_scale))
        hidden = EPS * (np.abs(X) @ np.abs(limit.coef)) > 5e-7 * np.abs(y)
        assert limit.certificate.worst <= CERTIFIED or hidden.any()
        assert limit.iterations <= ITERATIONS_ALLOWED

    @pytest.mark.parametrize("size", [(1, 1), (2, 2), (3, 5), (10, 10), (30, 31)], ids=str)
    @pytest.mark.parametrize("log_scale", LOG_SCALES.values(), ids=LOG_SCALES.keys())
    def test_small_and_square_problems_are_no_harder(self, size, log_scale):
        """Where few coefficients are free, all must leave a start far larger than the answer."""
        draws = {1: 30, 31: 4}.get(size[1], 10)
        failed = []
        for seed in range(draws):
            limit = lp.predict(gaussian_problem(*size, seed=seed, log_scale=log_scale))
            if not limit.certificate.ok or limit.iterations > ITERATIONS_ALLOWED:
                failed.append((seed, limit.iterations, limit.certificate.worst))
        assert failed == []


class TestAgainstIndependentSolvers:
    @pytest.mark.parametrize("scale", [3.0, 1.0, 0.3, 0.05])
    @pytest.mark.parametrize("seed", [0, 1])
    def test_equals_the_end_of_the_brute_force_flow(self, scale, seed):
        X, y = gaussian_data(3, 7, seed)
        layers = random_layers(7, seed=seed + 50)
        limit = lp.predict(diagonal_problem(X, y, *layers, scale=scale))
        start = [scale * layer for layer in layers]
        found = flow_limit(X, y, start)
        # The flow stops at a relative residual, and its layers carry 100 local errors; both are
        # amplified by the sensitivity of the limit, whose size counts its start as well.
        size = np.linalg.norm(limit.coef) + np.linalg.norm(start[0] * start[1])
        allowed = (RESIDUAL + 100 * RTOL) * sensitivity(X, *start, limit.coef) * size
        assert np.linalg.norm(limit.coef - found) <= allowed

    @pytest.mark.parametrize("scale", [10.0, 1.0, 0.3, 0.03])
    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_equals_the_direct_minimiser_of_the_potential(self, scale, seed):
        X, y = gaussian_data(4, 9, seed)
        a, b = (scale * layer for layer in random_layers(9, seed=seed + 70))
        limit = lp.predict(diagonal_problem(X, y, a, b))
        found = minimise_potential(X, y, a, b)
        # `Nᵀ(∇Q(found) − ∇Q(limit))` is at most the oracle's gradient tolerance, and Q'' is at
        # least one over the largest slope on the way.
        slopes = np.sqrt(4 * np.maximum(abs(found), abs(limit.coef)) ** 2 + (a**2 - b**2) ** 2)
        rounding = 100 * EPS * sensitivity(X, a, b, limit.coef) * np.linalg.norm(limit.coef)
        allowed = 2 * GRADIENT_TOLERANCE * slopes.max() + rounding
        # A certified limit may itself be off by the certificate's tolerance, amplified.
        allowed += limit.certificate.worst * sensitivity(X, a, b, limit.coef) * slopes.max()
        assert np.linalg.norm(found - limit.coef) <= allowed

    def test_mirror_coordinates_and_dual_satisfy_the_kkt_conditions(self):
        X, y = gaussian_data(4, 9)
        a, b = random_layers(9)
        limit = lp.predict(diagonal_problem(X, y, a, b))
        delta, start = np.abs(a**2 - b**2), a * b
        xi = (np.arcsinh(2 * limit.coef / delta) - np.arcsinh(2 * start / delta)) / 2
        # Rounding of order 1 numbers, amplified by 1/slope ≤ 1/Δ for the mirror coordinates.
        allowed = 100 * EPS / delta.min()
        np.testing.assert_allclose(limit.mirror, xi, rtol=0, atol=allowed)
        np.testing.assert_allclose(X.T @ limit.dual, limit.mirror, rtol=0, atol=allowed)

    def test_the_reported_potential_is_minimal(self):
        X, y = gaussian_data(4, 9)
        problem = diagonal_problem(X, y, *random_layers(9))
        limit = lp.predict(problem)
        mirror = problem.network.mirror_map(problem.init)
        null = np.linalg.svd(X)[2][4:]
        for step in 1e-3 * np.vstack([null, -null]):
            assert mirror.potential(limit.coef + step).sum() > limit.potential


class TestVanishingScale:
    # Targets in general curve parameter: as many non-zeros as samples, and a unique dual.
    X, _ = gaussian_data(6, 20, seed=3)
    y = np.random.default_rng(3).standard_normal(6)

    def limit(self, log_scale):
        problem = diagonal_problem(self.X, self.y, np.ones(20), np.zeros(20), log_scale=log_scale)
        return lp.predict(problem)

    def test_is_the_minimum_l1_solution(self):
        expected, _ = minimum_l1(self.X, self.y)
        found = self.limit(LOG_OF_1E_MINUS_1000).coef
        # The distance is a power of the scale (next test), nil here; HiGHS is right to 1e-9 or so
        # (its feasibility tolerance is 1e-7, but a vertex is solved for exactly).
        np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())

    def test_mirror_coordinates_tend_to_the_dual_certificate_logarithmically(self):
        """`ξ/log(1/s) = ρ + O(1/log(1/s))`: the error halves when the logarithm doubles."""
        _, dual = minimum_l1(self.X, self.y)
        lengths = np.array([100.0, 200.0, 400.0, 800.0, 1600.0])
        errors = [np.abs(self.limit(-length).mirror / length - dual).max() for length in lengths]
        slope = np.polyfit(np.log(lengths), np.log(errors), 1)[0]
        # Corrections are exponentially small in the length: the slope is −1 to rounding of ξ/L.
        assert slope == pytest.approx(-1, abs=1e-6)

    def test_coefficients_off_the_support_vanish_at_the_rate_of_their_dual(self):
        """`β_i ≈ ¼s²e^{2|ξ_i|}` with `ξ_i ≈ ρ_i log(1/s)`: exponent `2(1 − |ρ_i|)` in s."""
        expected, dual = minimum_l1(self.X, self.y)
        off = np.abs(expected) < 1e-9
        assert off.sum() == 14
        lengths = np.array([200.0, 400.0, 800.0, 1600.0])
        logs = np.array([self.limit(-length).log_abs_coef for length in lengths])
        exponents = np.polyfit(-lengths, logs[:, off], 1)[0]
        # The LP's dual is right to about 1e-9; the corrections to linearity are below e^-20.
        np.testing.assert_allclose(exponents, 2 * (1 - np.abs(dual[off])), atol=1e-6)

    def test_support_agrees_from_moderate_scales_on(self):
        expected, dual = minimum_l1(self.X, self.y)
        off = np.abs(expected) < 1e-9
        found = self.limit(np.log(1e-30))
        # Inactive coefficients are s^{2(1−ρ)} times e^{2·offset}, and the offset is at most a few.
        largest = (1e-30) ** (2 * (1 - np.abs(dual[off]).max()))
        assert np.abs(found.coef[off]).max() <= np.exp(10) * largest
        assert np.abs(found.coef[~off]).min() > 1e-3 * np.abs(expected).max()


def test_large_scale_tends_to_weighted_l2_with_the_fourth_power():
    """`ξ = β/Δ · (1 − ⅔(β/Δ)² + …)` with `Δ = s²w²`: the correction is of relative size s⁻⁴."""
    X, y = gaussian_data(5, 12, seed=4)
    weights = np.random.default_rng(5).uniform(0.5, 2.0, 12)
    expected = minimum_weighted_l2(X, y, weights**-2.0)
    scales = np.array([10.0, 20.0, 40.0, 80.0])
    errors = [
        np.linalg.norm(
            lp.predict(diagonal_problem(X, y, weights, np.zeros(12), scale=scale)).coef - expected
        )
        for scale in scales
    ]
    slope = np.polyfit(np.log(scales), np.log(errors), 1)[0]
    # The next term is of relative size (β/Δ)² ≤ (10/(100/4))²·10⁻² at s = 10; the last error is
    # about 80⁻⁴ ≈ 2e-8 of β, far above rounding.
    assert slope == pytest.approx(-4, abs=0.02)


class TestEdges:
    """Every odd input of DESIGN.md has a defined limit."""

    def check(self, X, y, *layers, scale=0.5):
        limit = lp.predict(diagonal_problem(np.asarray(X, float), y, *layers, scale=scale))
        assert limit.certificate.ok
        return limit

    def test_targets_out_of_reach_give_least_squares(self):
        rng = np.random.default_rng(7)
        X, y = rng.standard_normal((8, 3)), rng.standard_normal(8)
        limit = self.check(X, y, *random_layers(3))
        assert limit.status is lp.Status.LEAST_SQUARES
        expected = np.linalg.lstsq(X, y, rcond=None)[0]
        # X has full column rank: the limit is unique, to rounding times the condition number.
        rtol = 100 * EPS * np.linalg.cond(X) ** 2
        np.testing.assert_allclose(limit.coef, expected, rtol=0, atol=rtol * np.abs(expected).max())

    def test_targets_out_of_reach_of_a_rank_deficient_matrix(self):
        rng = np.random.default_rng(8)
        # Of small integers: a product of floats has full rank, exactly.
        X = (rng.integers(-9, 10, (6, 2)) @ rng.integers(-9, 10, (2, 5))) / 16.0
        y = rng.standard_normal(6)
        limit = self.check(X, y, *random_layers(5))
        assert limit.status is lp.Status.LEAST_SQUARES
        projected = X @ np.linalg.lstsq(X, y, rcond=1e-12)[0]
        # Among the fits of the projection the same potential decides.
        same = lp.predict(diagonal_problem(X, projected, *random_layers(5), scale=0.5))
        np.testing.assert_allclose(limit.coef, same.coef, rtol=0, atol=1e-10)

    def test_dependent_rows_change_nothing(self):
        # Few binary digits, so that sums of rows are exact.
        X, y = (np.round(64 * values) / 64 for values in gaussian_data(3, 8))
        layers = random_layers(8)
        combined = np.vstack([X, X[0] + X[1], 2 * X[2]])
        targets = np.concatenate([y, [y[0] + y[1], 2 * y[2]]])
        limit = self.check(combined, targets, *layers)
        assert limit.status is lp.Status.CONVERGED
        expected = self.check(X, y, *layers).coef
        # Rounding, amplified by the (small) condition number of the three rows.
        np.testing.assert_allclose(limit.coef, expected, rtol=0, atol=1e3 * EPS * np.abs(y).max())

    def test_duplicate_columns_share_one_mirror_coordinate(self):
        X, y = gaussian_data(3, 6)
        X = np.hstack([X, X[:, :1]])
        a, b = random_layers(7)
        limit = self.check(X, y, a, b)
        assert limit.mirror[0] == pytest.approx(limit.mirror[6], rel=1e3 * EPS)
        assert limit.coef[0] != pytest.approx(limit.coef[6])

    def test_duplicate_columns_with_equal_layers_share_their_coefficient(self):
        X, y = gaussian_data(3, 6)
        X = np.hstack([X, X[:, :1]])
        limit = self.check(X, y, np.ones(7), np.zeros(7))
        assert limit.coef[0] == pytest.approx(limit.coef[6], rel=1e3 * EPS)

    def test_a_zero_column_stays_at_its_start(self):
        X, y = gaussian_data(3, 6)
        X[:, 2] = 0.0
        a, b = random_layers(6)
        limit = self.check(X, y, a, b)
        assert limit.coef[2] == pytest.approx(0.25 * a[2] * b[2], rel=10 * EPS)

    def test_a_matrix_of_zeros_moves_nothing(self):
        a, b = random_layers(4)
        limit = self.check(np.zeros((2, 4)), np.zeros(2), a, b)
        np.testing.assert_allclose(limit.coef, 0.25 * a * b, rtol=10 * EPS)
        assert limit.iterations == 0

    @pytest.mark.parametrize("scale", [1e3, 1.0, 1e-3])
    def test_zero_targets_scale_with_the_start(self, scale):
        X, _ = gaussian_data(3, 6)
        layers = random_layers(6)
        limit = self.check(X, np.zeros(3), *layers, scale=scale)
        unit = minimise_potential(X, np.zeros(3), *layers)
        # The oracle's tolerance times the largest slope (about 10), in units of scale².
        np.testing.assert_allclose(limit.coef / scale**2, unit, atol=20 * GRADIENT_TOLERANCE)

    def test_zero_targets_from_a_zero_start_stay_at_zero(self):
        X, _ = gaussian_data(3, 6)
        limit = self.check(X, np.zeros(3), np.ones(6), np.zeros(6))
        np.testing.assert_array_equal(limit.coef, 0.0)

    def test_one_feature(self):
        limit = self.check([[2.0]], [3.0], [0.3], [0.1])
        assert limit.coef[0] == pytest.approx(1.5, rel=100 * EPS)

    @pytest.mark.parametrize("log_scale", LOG_SCALES.values(), ids=LOG_SCALES.keys())
    def test_one_sample_is_one_scalar_equation(self, log_scale):
        """`Σ x_i ½s² sinh(2x_iν) = y` by bisection on `log sinh`, at any scale."""
        x, y = np.array([1.0, -2.0, 0.5]), 1.7
        problem = diagonal_problem(x[None], [y], np.ones(3), np.zeros(3), log_scale=log_scale)
        limit = lp.predict(problem)
        root = bisect_single_sample(x, y, log_scale)
        # The equation's solution in double precision: mirror coordinates of modulus up to 2302.
        assert limit.dual[0] == pytest.approx(root, rel=100 * EPS * (1 + abs(log_scale)))

    @pytest.mark.parametrize("factor", [1e-6, 1e2])
    @pytest.mark.parametrize("log_scale", LOG_SCALES.values(), ids=LOG_SCALES.keys())
    def test_badly_scaled_columns_are_certified(self, factor, log_scale):
        X, y = gaussian_data(4, 10)
        X[:, 3] *= factor
        limit = lp.predict(diagonal_problem(X, y, *random_layers(10), log_scale=log_scale))
        assert limit.certificate.ok

    @pytest.mark.parametrize("log_scale", LOG_SCALES.values(), ids=LOG_SCALES.keys())
    def test_a_column_a_million_times_larger_is_certified_as_far_as_float64_goes(self, log_scale):
        X, y = gaussian_data(4, 10)
        X[:, 3] *= 1e6
        limit = lp.predict(diagonal_problem(X, y, *random_layers(10), log_scale=log_scale))
        # The row space of X is determined to eps · cond(X), and mirror coordinates of modulus
        # log(1/s) in it.
        allowed = 16 * EPS * np.linalg.cond(X) * (1 + abs(log_scale))
        assert limit.certificate.worst <= max(CERTIFIED, allowed)

    def test_nearly_dependent_rows_are_certified(self):
        X, y = gaussian_data(4, 10)
        X[3] = X[2] + 1e-7 * X[3]
        self.check(X, X @ np.linalg.lstsq(X[:3], y[:3], rcond=None)[0], *random_layers(10))

    def test_the_loss_factor_does_not_move_the_limit(self):
        X, y = gaussian_data(4, 10)
        once = lp.predict(diagonal_problem(X, y, *random_layers(10)))
        tenfold = lp.predict(diagonal_problem(X, y, *random_layers(10), loss_factor=10.0))
        np.testing.assert_array_equal(once.coef, tenfold.coef)


def bisect_single_sample(x, y, log_scale):
    def excess(dual):
        terms = np.abs(2 * x * dual)
        logs = 2 * log_scale + terms + np.log(-np.expm1(-2 * terms)) - np.log(4.0)
        return np.sum(np.abs(x) * np.exp(np.minimum(logs, 700.0))) - y

    low, high = 1e-12, 1e4
    while high - low > 4 * EPS * high:
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return high


class TestTiedLayers:
    """Equal layers keep a coefficient positive, opposite ones negative, zero ones at zero."""

    X = np.array([[1.0, 2.0, 0.5, -1.0], [0.3, -0.4, 1.5, 0.8]])

    def test_equal_layers_minimise_the_entropy(self):
        y = self.X @ [0.7, 0.2, 0.4, 0.1]
        layer = np.array([0.5, 1.0, -0.8, 0.3])
        limit = lp.predict(diagonal_problem(self.X, y, layer, layer))
        assert limit.theorem.id == "limitpoint.sign_constrained"
        assert limit.certificate.ok
        assert (limit.signs > 0).all()
        found = minimise_entropy(self.X, y, layer**2)
        # A gap of 1e-12 in the objective leaves ½Q''δ² ≤ 1e-12 with Q'' = 1/(2β) ≥ 1/2.
        np.testing.assert_allclose(limit.coef, found, atol=np.sqrt(4e-12))

    @pytest.mark.parametrize("log_scale", LOG_SCALES.values(), ids=LOG_SCALES.keys())
    def test_opposite_layers_stay_negative(self, log_scale):
        y = self.X @ [-0.7, -0.2, -0.4, -0.1]
        layer = np.array([0.5, 1.0, -0.8, 0.3])
        limit = lp.predict(diagonal_problem(self.X, y, layer, -layer, log_scale=log_scale))
        assert limit.certificate.ok
        np.testing.assert_array_equal(limit.signs, -1.0)

    def test_a_free_coefficient_does_what_a_bound_one_cannot(self):
        y = self.X @ [0.7, 0.2, 0.4, -5.0]
        a, b = np.ones(4), np.array([1.0, 1.0, 1.0, 0.2])
        limit = lp.predict(diagonal_problem(self.X, y, a, b))
        assert limit.theorem.id == "limitpoint.sign_constrained"
        assert limit.certificate.ok
        assert (limit.coef[:3] > 0).all()
        # All three bound coefficients are positive in the truth, so a fit inside exists.
        np.testing.assert_allclose(self.X @ limit.coef, y, rtol=1e-9)

    def test_a_frozen_coefficient_is_left_out_of_the_fit(self):
        y = self.X @ [0.7, 0.2, 0.4, 0.1]
        a, b = np.array([1.0, 0.5, 0.7, 0.0]), np.array([0.1, 0.2, -0.3, 0.0])
        limit = lp.predict(diagonal_problem(self.X, y, a, b))
        assert limit.coef[3] == 0.0
        without = lp.predict(diagonal_problem(self.X[:, :3], y, a[:3], b[:3]))
        np.testing.assert_allclose(limit.coef[:3], without.coef, rtol=0, atol=1e3 * EPS)

    def test_a_frozen_coefficient_that_is_needed_leaves_least_squares(self):
        X, y = np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([1.0, 0.0])
        limit = lp.predict(diagonal_problem(X, y, [1.0, 0.0], [0.5, 0.0]))
        assert limit.status is lp.Status.LEAST_SQUARES
        np.testing.assert_allclose(limit.coef, [0.5, 0.0], atol=100 * EPS)

    def test_targets_on_the_wrong_side_end_at_zero(self):
        limit = lp.predict(diagonal_problem([[1.0, 1.0]], [-1.0], [1.0, 1.0], [1.0, 1.0]))
        assert limit.theorem.id == "limitpoint.boundary"
        assert limit.status is lp.Status.LEAST_SQUARES
        np.testing.assert_array_equal(limit.coef, 0.0)

    def test_a_fit_on_the_boundary_only_is_reached(self):
        limit = lp.predict(diagonal_problem(np.eye(2), [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]))
        assert limit.theorem.id == "limitpoint.boundary"
        assert limit.status is lp.Status.CONVERGED
        np.testing.assert_allclose(limit.coef, [1.0, 0.0], rtol=0, atol=100 * EPS)


problems = {
    "seed": st.integers(0, 10_000),
    "log_scale": st.floats(-40, 3),
}


class TestInvariances:
    """What the theory does not distinguish, the solver must not either."""

    m, n = 4, 10

    def limit(self, X, y, layers, log_scale):
        return lp.predict(diagonal_problem(X, y, *layers, log_scale=log_scale))

    def draw(self, seed):
        return *gaussian_data(self.m, self.n, seed), random_layers(self.n, seed=seed + 1)

    def allowed(self, X, layers, log_scale, coef):
        """Both answers are certified to 1e-9 at worst, and amplified by the sensitivity."""
        a, b = (np.exp(log_scale) * layer for layer in layers)
        size = np.linalg.norm(coef) + np.linalg.norm(a * b)
        return 2 * CERTIFIED * sensitivity(X, a, b, coef) * size

    @settings(derandomize=True, deadline=None, max_examples=40)
    @given(**problems)
    def test_permuting_features(self, seed, log_scale):
        X, y, (a, b) = self.draw(seed)
        order = np.random.default_rng(seed).permutation(self.n)
        limit = self.limit(X, y, (a, b), log_scale)
        permuted = self.limit(X[:, order], y, (a[order], b[order]), log_scale)
        allowed = self.allowed(X, (a, b), log_scale, limit.coef)
        assert np.linalg.norm(permuted.coef - limit.coef[order]) <= allowed

    @settings(derandomize=True, deadline=None, max_examples=40)
    @given(feature=st.integers(0, 9), **problems)
    def test_flipping_a_feature_with_one_layer(self, feature, seed, log_scale):
        X, y, (a, b) = self.draw(seed)
        flip = np.ones(self.n)
        flip[feature] = -1
        limit = self.limit(X, y, (a, b), log_scale)
        flipped = self.limit(X * flip, y, (a * flip, b), log_scale)
        allowed = self.allowed(X, (a, b), log_scale, limit.coef)
        assert np.linalg.norm(flipped.coef - flip * limit.coef) <= allowed

    @settings(derandomize=True, deadline=None, max_examples=40)
    @given(log_factor=st.floats(-20, 20), **problems)
    def test_scaling_targets_and_squared_scale_together(self, log_factor, seed, log_scale):
        X, y, layers = self.draw(seed)
        limit = self.limit(X, y, layers, log_scale)
        factor = np.exp(log_factor)
        scaled = self.limit(X, factor * y, layers, log_scale + log_factor / 2)
        allowed = self.allowed(X, layers, log_scale, limit.coef)
        assert np.linalg.norm(scaled.coef / factor - limit.coef) <= allowed

    @settings(derandomize=True, deadline=None, max_examples=40)
    @given(**problems)
    def test_rotating_samples(self, seed, log_scale):
        X, y, layers = self.draw(seed)
        rng = np.random.default_rng(seed)
        rotation = np.linalg.qr(rng.standard_normal((self.m, self.m)))[0]
        limit = self.limit(X, y, layers, log_scale)
        rotated = self.limit(rotation @ X, rotation @ y, layers, log_scale)
        allowed = self.allowed(X, layers, log_scale, limit.coef)
        assert np.linalg.norm(rotated.coef - limit.coef) <= allowed

    @settings(derandomize=True, deadline=None, max_examples=40)
    @given(**problems)
    def test_exchanging_the_layers(self, seed, log_scale):
        X, y, (a, b) = self.draw(seed)
        limit = self.limit(X, y, (a, b), log_scale)
        exchanged = self.limit(X, y, (b, a), log_scale)
        allowed = self.allowed(X, (a, b), log_scale, limit.coef)
        assert np.linalg.norm(exchanged.coef - limit.coef) <= allowed


class TestLimitValue:
    """What a `Limit` says about itself."""

    limit = lp.predict(gaussian_problem(4, 10, log_scale=LOG_OF_1E_MINUS_1000))

    def test_signs_and_logs_cover_what_coef_cannot_hold(self):
        visible = self.limit.coef != 0
        assert 0 < visible.sum() < 10
        held = self.limit.signs * np.exp(self.limit.log_abs_coef)
        # exp of a sum of logarithms of modulus 4605 in all.
        np.testing.assert_allclose(held[visible], self.limit.coef[visible], rtol=16 * EPS * 4605)
        assert np.isfinite(self.limit.log_abs_coef).all()
        assert (self.limit.log_abs_coef[~visible] < -700).all()

    def test_to_xarray(self):
        data = self.limit.to_xarray()
        np.testing.assert_array_equal(data["coef"], self.limit.coef)
        np.testing.assert_array_equal(data["dual"], self.limit.dual)
        assert data.attrs["theorem"] == "labarriere2024.theorem1"
        assert data.attrs["status"] == "CONVERGED"

    def test_to_dict_and_text(self):
        plain = self.limit.to_dict()
        assert plain["coef"] == self.limit.coef.tolist()
        assert plain["certificate"]["ok"] is True
        assert "labarriere2024.theorem1" in str(self.limit)
        assert "<table>" in self.limit._repr_html_()
