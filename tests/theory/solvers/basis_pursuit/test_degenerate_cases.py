"""What Algorithm 1 assumes away, each with its defined answer."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from tests.oracles.linear_program import minimal_penalty

from limitpoint import Status
from limitpoint.theory.solvers.basis_pursuit import saddle_path

INF = np.inf


def random_problem(seed, m=6, n=15):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    return X, X @ rng.normal(size=n), rng


class TestTies:
    def test_tied_independent_columns_enter_together(self):
        path = saddle_path(np.eye(3), [2.0, -2.0, 1.0])
        assert path.entered == ((0, 1), (2,))
        np.testing.assert_array_equal(path.coef, [2, -2, 1])
        assert path.status is Status.CONVERGED
        assert not path.degenerate.any()

    def test_tied_dependent_columns_are_degenerate(self):
        path = saddle_path([[1.0, 1.0]], [3.0])
        assert path.status is Status.DEGENERATE
        assert path.objective == pytest.approx(3.0)
        assert path.coef.sum() == pytest.approx(3.0)
        assert path.degenerate.tolist() == [False, True]

    def test_the_status_is_about_the_limit_not_about_saddles_on_the_way(self):
        # Opposite columns tie, grow, and both leave again: ambiguous at the first saddle only.
        X = [[0, 1, 1, 1, -1, 0], [0, -1, 1, 0, 0, 0], [1, 0, -1, -1, 1, -1]]
        path = saddle_path(
            X, [-2, -1, 0], [2, 1, 2, 2, 1, 1], [2, 2, 2, 1, 2, 2], stop=lambda s: s.number == 2
        )
        assert path.degenerate.tolist() == [False, True, False]

    def test_a_tied_column_that_does_not_help_stays_out(self):
        # All three reach the threshold at once; the third is the sum of the others.
        path = saddle_path([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]], [1.0, 1.0])
        assert path.status is Status.DEGENERATE
        assert path.certificate.ok


class TestReentry:
    def test_a_coefficient_that_left_can_come_back(self):
        X = np.array([[1, 0.3, 0.4], [0.2, 1.0, 0.1], [0.5, 0.3, 1.2]])
        seen = False
        for seed in range(200):
            y = np.random.default_rng(seed).normal(size=3)
            path = saddle_path(X, y, [0.3, 1, 1], [1, 1, 0.4])
            events = [j for step in path.entered for j in step]
            seen = seen or len(events) > len(set(events))
            assert path.status is Status.CONVERGED
        assert seen

    def test_a_coefficient_standing_at_its_threshold_reenters_at_once(self):
        # x0 enters, then x1 takes over exactly and x0 stands at its threshold with zero slope.
        X = [[1, 1, 0], [0, 1, 0], [0, 0, 1]]
        path = saddle_path(X, [1, 1, 0.25], [1, 1.75, 1], 1.0)
        assert path.status is Status.CONVERGED
        assert path.certificate.ok
        assert (np.diff(path.losses) < 0).all()


class TestColumns:
    def test_zero_columns_stay_put(self):
        X, y, _ = random_problem(0)
        X[:, 3] = 0.0
        y = X @ np.arange(15)
        path = saddle_path(X, y)
        assert path.status is Status.CONVERGED
        assert (path.coefs[:, 3] == 0).all()

    def test_only_zero_columns(self):
        path = saddle_path(np.zeros((2, 3)), [1.0, 2.0])
        assert path.status is Status.LEAST_SQUARES
        assert path.n_saddles == 0

    def test_free_zero_column(self):
        path = saddle_path([[0.0, 1.0]], [1.0], [0.0, 1.0], [0.0, 1.0])
        assert path.status is Status.CONVERGED
        np.testing.assert_array_equal(path.coef, [0, 1])

    @pytest.mark.parametrize("seed", range(5))
    def test_duplicates_keep_fit_and_objective(self, seed):
        X, y, _ = random_problem(seed)
        single, double = saddle_path(X, y), saddle_path(np.hstack([X, X]), y)
        assert double.status is Status.DEGENERATE
        assert double.objective == pytest.approx(single.objective, rel=1e-12)
        np.testing.assert_allclose(double.path_times, single.path_times, rtol=1e-10)
        merged = double.coefs[:, :15] + double.coefs[:, 15:]
        np.testing.assert_allclose(merged, single.coefs, rtol=1e-9, atol=1e-12)

    def test_the_cheaper_duplicate_wins(self):
        path = saddle_path([[1.0, 1.0]], [1.0], [2.0, 1.0], [2.0, 1.0])
        np.testing.assert_array_equal(path.coef, [0, 1])
        assert path.status is Status.CONVERGED

    def test_rank_deficient(self):
        X, _, rng = random_problem(1)
        X = np.round(64 * X) / 64  # of which sums are exact
        X[5] = X[0] + X[1]
        path = saddle_path(X, X @ np.round(64 * rng.normal(size=15)))
        assert path.status is Status.CONVERGED
        assert len(np.flatnonzero(path.coef)) == 5

    def test_rank_that_only_rounding_takes(self):
        X, _, rng = random_problem(1)
        X[5] = X[0] + X[1]
        assert saddle_path(X, X @ rng.normal(size=15)).status is Status.RANK_HIDDEN


class TestLeastSquares:
    def test_more_samples_than_features(self):
        rng = np.random.default_rng(2)
        X, y = rng.normal(size=(20, 5)), rng.normal(size=20)
        path = saddle_path(X, y)
        assert path.status is Status.LEAST_SQUARES
        np.testing.assert_allclose(path.coef, np.linalg.lstsq(X, y)[0], rtol=1e-12)
        assert path.certificate.residuals["feasibility"] < 1e-9
        assert path.certificate.ok

    @pytest.mark.parametrize("seed", range(5))
    def test_least_penalty_among_least_squares(self, seed):
        rng = np.random.default_rng(seed)
        # Of small integers: a product of floats has full rank, exactly.
        X = (rng.integers(-9, 10, (12, 4)) @ rng.integers(-9, 10, (4, 20))) / 64.0
        y, t_plus, t_minus = rng.normal(size=12), rng.uniform(0.5, 2, 20), rng.uniform(0.5, 2, 20)
        path = saddle_path(X, y, t_plus, t_minus)
        assert path.status is Status.LEAST_SQUARES
        fitted = X @ np.linalg.lstsq(X, y)[0]
        np.testing.assert_allclose(X @ path.coef, fitted, atol=1e-12)
        best = minimal_penalty(X[:4], fitted[:4], t_plus, t_minus)
        assert path.objective == pytest.approx(best, rel=1e-9)

    def test_same_path_as_for_the_projected_target(self):
        rng = np.random.default_rng(3)
        X, y = rng.normal(size=(9, 5)), rng.normal(size=9)
        fitted = X @ np.linalg.lstsq(X, y)[0]
        outside, inside = saddle_path(X, y), saddle_path(X, fitted)
        np.testing.assert_allclose(outside.coefs, inside.coefs, rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(outside.path_times, inside.path_times, rtol=1e-10)
        assert inside.status is Status.CONVERGED

    def test_target_orthogonal_to_everything(self):
        path = saddle_path([[1.0], [0.0]], [0.0, 1.0])
        assert path.status is Status.LEAST_SQUARES
        assert path.n_saddles == 0


class TestActivationTimes:
    @pytest.mark.parametrize("seed", range(10))
    def test_infinite_sides_never_grow(self, seed):
        X, _, rng = random_problem(seed)
        y = X @ np.abs(rng.normal(size=15))
        path = saddle_path(X, y, 1.0, INF)
        assert path.status is Status.CONVERGED
        assert (path.coefs >= 0).all()
        assert path.objective == pytest.approx(minimal_penalty(X, y, 1.0, INF), rel=1e-9)

    def test_a_cone_that_misses_the_target_ends_at_nonnegative_least_squares(self):
        rng = np.random.default_rng(0)
        X, y = np.abs(rng.normal(size=(6, 4))), rng.normal(size=6)
        path = saddle_path(X, y, 1.0, INF)
        assert path.status is Status.LEAST_SQUARES
        best = lsq_linear(X, y, (0, INF), method="bvls", tol=1e-14).x
        np.testing.assert_allclose(path.coef, best, atol=1e-10)

    def test_nothing_may_grow(self):
        path = saddle_path([[1.0, 2.0]], [1.0], INF, INF)
        assert path.status is Status.LEAST_SQUARES
        np.testing.assert_array_equal(path.coef, [0, 0])
        assert path.objective == 0.0

    @pytest.mark.parametrize("seed", range(10))
    def test_free_coefficients_are_there_from_the_start(self, seed):
        X, y, _ = random_problem(seed)
        t = np.ones(15)
        t[[2, 7]] = 0.0
        path = saddle_path(X, y, t, t)
        assert path.status is Status.CONVERGED
        assert path.path_times[1] == 0.0
        assert path.entered[0] == (2, 7)
        start = np.linalg.lstsq(X[:, [2, 7]], y)[0]
        np.testing.assert_allclose(path.coefs[1, [2, 7]], start, rtol=1e-12)
        assert path.objective == pytest.approx(minimal_penalty(X, y, t, t), rel=1e-9)
        np.testing.assert_allclose(path.mirrors[:, [2, 7]], 0.0, atol=1e-12)

    def test_all_free(self):
        rng = np.random.default_rng(4)
        X, y = rng.normal(size=(8, 3)), rng.normal(size=8)
        path = saddle_path(X, y, 0.0, 0.0)
        assert path.n_saddles == 1
        np.testing.assert_allclose(path.coef, np.linalg.lstsq(X, y)[0], rtol=1e-12)
        assert path.certificate.ok

    @pytest.mark.parametrize("seed", range(5))
    def test_one_side_free(self, seed):
        X, y, rng = random_problem(seed)
        t_plus = np.where(rng.random(15) < 0.3, 0.0, 1.0)
        path = saddle_path(X, y, t_plus, 1.0)
        assert path.certificate.ok
        best = minimal_penalty(X, y, t_plus, 1.0)
        assert path.objective == pytest.approx(best, rel=1e-9, abs=1e-12)


class TestBounds:
    @pytest.mark.parametrize("seed", range(20))
    def test_bounded_limit_is_the_bounded_linear_program(self, seed):
        rng = np.random.default_rng(seed)
        m, n = int(rng.integers(2, 10)), int(rng.integers(10, 40))
        X = rng.normal(size=(m, n))
        y = X @ rng.uniform(-0.3, 0.3, n)
        lower, upper = -rng.uniform(0.3, 0.6, n), rng.uniform(0.3, 0.6, n)
        t_plus, t_minus = rng.uniform(0.5, 2, n), rng.uniform(0.5, 2, n)
        path = saddle_path(X, y, t_plus, t_minus, lower=lower, upper=upper)
        assert path.status is Status.CONVERGED
        assert (path.coefs <= upper).all()
        assert (path.coefs >= lower).all()
        best = minimal_penalty(X, y, t_plus, t_minus, lower, upper)
        assert path.objective == pytest.approx(best, rel=1e-9)
        assert (np.diff(path.losses) < 0).all()

    def test_a_bound_in_the_way_ends_at_bounded_least_squares(self):
        path = saddle_path([[1.0]], [-2.0], lower=-1.0)
        assert path.status is Status.LEAST_SQUARES
        np.testing.assert_array_equal(path.coef, [-1.0])
        assert path.certificate.ok

    def test_a_bounded_coefficient_moves_again_when_its_mirror_coordinate_is_back(self):
        rng = np.random.default_rng(0)
        found = False
        for _ in range(50):
            X = rng.normal(size=(4, 8))
            path = saddle_path(X, X @ rng.uniform(-0.5, 0.5, 8), lower=-0.5, upper=0.5)
            at_bound = np.abs(path.coefs) == 0.5
            found = found or (at_bound[:-1] & ~at_bound[1:]).any()
            assert path.certificate.ok
        assert found

    def test_wide_bounds_change_nothing(self):
        X, y, _ = random_problem(5)
        free, bounded = saddle_path(X, y), saddle_path(X, y, lower=-1e3, upper=1e3)
        np.testing.assert_allclose(bounded.coefs, free.coefs, rtol=1e-12)

    def test_a_zero_bound_is_an_infinite_activation_time(self):
        X, y, _ = random_problem(6)
        np.testing.assert_allclose(
            saddle_path(X, y, lower=0.0).coefs, saddle_path(X, y, 1.0, INF).coefs, rtol=1e-13
        )


class TestSmallest:
    def test_zero_target(self):
        path = saddle_path([[1.0, 2.0]], [0.0])
        assert path.status is Status.CONVERGED
        assert path.coefs.shape == (1, 2)
        assert path.path_times.tolist() == [0.0]
        assert path.certificate.worst == 0.0

    def test_one_sample(self):
        path = saddle_path([[1.0, -3.0, 2.0]], [6.0])
        np.testing.assert_allclose(path.coef, [0, -2, 0])
        assert path.path_times[1] == pytest.approx(1 / 18)

    def test_one_feature(self):
        path = saddle_path([[2.0]], [4.0], 3.0)
        np.testing.assert_allclose(path.coef, [2.0])
        assert path.objective == pytest.approx(6.0)
        assert path.path_times[1] == pytest.approx(3 / 8)
