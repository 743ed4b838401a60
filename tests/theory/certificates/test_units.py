"""Certificates that no choice of units can fool.

Every example here was once a wrong answer that was certified, or a right one that was refused. The
truth is a closed form, an exact computation in rational numbers, or the KKT conditions themselves.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import brentq

import limitpoint as lp
from limitpoint import Status
from limitpoint.foundation.linalg import Equilibrated, equilibrate, exact_fit, exact_rank
from limitpoint.theory.certificates.certificate import Certificate
from limitpoint.theory.certificates.constraint import Constraint
from limitpoint.theory.certificates.mirror_certificate import certify_mirror_limits
from limitpoint.theory.certificates.radial_certificate import certify_radial_limit


def limit_of(network, init, X, y):
    return lp.predict(lp.Problem(network, init, lp.Regression(X, y)))


def equal_layers(network, n, scale):
    count = 1 if isinstance(network, lp.Power) else network.depth
    return lp.Init([np.ones(n)] * count, scale=scale)


class TestColumnsInDifferentUnits:
    @pytest.mark.parametrize("network", [lp.Power(2), lp.Diagonal(2), lp.Power(3), lp.Diagonal(3)])
    @pytest.mark.parametrize("size", [1e6, 1e7, 1e10])
    def test_small_coefficients_that_contribute_are_not_zero(self, network, size):
        X = np.array([[1, size, 0], [0, 0, 1]])
        limit = limit_of(network, equal_layers(network, 3, 0.1), X, [1, 1])
        assert limit.status is Status.CONVERGED
        # Both columns of the first row share one dual: the same curve at ν and at `size` times ν.
        depth = 2 if str(network).endswith("=2)") else 3

        def grown(xi):
            start = 0.1**depth
            if depth == 2:
                rate = 4.0 if isinstance(network, lp.Power) else 2.0
                return start * np.exp(rate * xi)
            rate = 3.0 if isinstance(network, lp.Power) else 1.0
            return (10.0 - rate * xi) ** -3.0

        least = -20.0 / size if depth == 2 else -1e5 / size
        dual = brentq(lambda nu: grown(nu) + size * grown(size * nu) - 1.0, least, 0.0, xtol=1e-30)
        np.testing.assert_allclose(limit.coef, [grown(dual), grown(size * dual), 1.0], rtol=1e-9)

    def test_five_columns_over_eight_orders(self):
        X = [
            [4700, 1.1e-4, 6.1, 2.3e-3, 3.6e-5],
            [3500, 2.4e-4, 13, 3.1e-3, 2.4e-5],
            [9500, 1.5e-4, 15, 6.4e-4, 5.6e-5],
        ]
        limit = limit_of(lp.Power(2), lp.Init([np.ones(5)], scale=0.1), X, [2, 3.4, 3.3])
        assert limit.status is Status.CONVERGED
        assert (limit.coef > 0).all()
        # KKT: log(β/β(0)) is in the row space of X.
        xi = np.log(limit.coef / 0.01)
        scaled = np.asarray(X) * limit.coef
        dual = np.linalg.lstsq(scaled.T, limit.coef * xi, rcond=None)[0]
        np.testing.assert_allclose(scaled.T @ dual, limit.coef * xi, rtol=1e-6, atol=1e-12)

    @pytest.mark.parametrize("small", [1e-7, 1e-9, 1e-14])
    @pytest.mark.parametrize("network", [lp.Power(2), lp.Diagonal(2)])
    def test_a_small_target_is_fitted(self, network, small):
        limit = limit_of(network, equal_layers(network, 2, 0.1), np.eye(2), [1, small])
        assert limit.status is Status.CONVERGED
        np.testing.assert_allclose(limit.coef, [1, small], rtol=1e-12)

    @pytest.mark.parametrize("depth", [2, 3, 4])
    @pytest.mark.parametrize("size", [1e3, 1e8])
    def test_two_independent_numbers(self, depth, size):
        network = lp.Diagonal(depth)
        X = np.diag([size, 1 / size])
        init = lp.Init.random(network, lp.Regression(X, [1, 1]), scale=0.1, seed=0)
        limit = limit_of(network, init, X, [1, 1])
        assert limit.status is Status.CONVERGED
        np.testing.assert_allclose(limit.coef, [1 / size, size], rtol=1e-9)


class TestRowsInDifferentUnits:
    X, y = [[1, 2, 3], [1e-15, 3e-15, 1e-15]], [1, 2e-15]

    @pytest.mark.parametrize(
        ("network", "init"),
        [
            (lp.Diagonal(2), lp.Init.zero_last),
            (lp.Diagonal(3), lp.Init.zero_last),
            (lp.SignedPower(2), lp.Init.unbiased),
            (lp.RankOne(3, 4), lp.Init.balanced),
            (lp.FullyConnected((4, 4)), lp.Init.balanced),
        ],
    )
    def test_the_limit_is_that_of_rows_of_one_size(self, network, init):
        task = lp.Regression(self.X, self.y)
        start = init(network, task, scale=0.1)
        limit = limit_of(network, start, self.X, self.y)
        same = limit_of(network, start, [[1, 2, 3], [1, 3, 1]], [1, 2])
        assert limit.status is same.status is Status.CONVERGED
        np.testing.assert_allclose(limit.coef, same.coef, rtol=1e-10)

    def test_least_squares_of_rows_over_sixteen_orders_fits_what_it_can(self):
        limit = limit_of(
            lp.Diagonal(2), lp.Init([[1, 1], [0.1, 0.2]]), np.diag([1e8, 1e-8]), [1, 1]
        )
        assert limit.status is Status.CONVERGED
        np.testing.assert_allclose(limit.coef, [1e-8, 1e8], rtol=1e-12)

    def test_inconsistent_large_rows_do_not_spoil_the_small_ones(self):
        """Two parallel rows that disagree, and one that is smaller by fourteen orders."""
        X, y = np.array([[2.0**30, 0], [2.0**31, 0], [2.0**-20, 2.0**-20]]), [3.0, 5.0, 1.0]
        limit = limit_of(lp.Diagonal(2), lp.Init([[1, 1], [0.1, 0.2]]), X, y)
        assert limit.status is Status.LEAST_SQUARES
        first = Fraction(13, 5) / 2**30
        np.testing.assert_allclose(limit.coef, [float(first), float(2**20 - first)], rtol=1e-12)


class TestFittedMeansFitted:
    def test_a_large_start_hides_the_data(self):
        rng = np.random.default_rng(0)
        task = lp.Regression(rng.standard_normal((2, 5)), rng.standard_normal(2))
        network = lp.Diagonal(2)
        init = lp.Init.random(network, task, scale=1e12, seed=0)
        limit = lp.predict(lp.Problem(network, init, task), escalate=False)
        assert limit.status is Status.DATA_HIDDEN
        assert not limit.status.ok

    @pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4, 1e7])
    def test_one_sample_of_one_feature(self, scale):
        M = np.random.default_rng(0).standard_normal((1, 2, 3))
        network, task = lp.Tensor(M), lp.Regression([[2.0]], [1.0])
        init = lp.Init.random(network, task, scale=scale, seed=0)
        limit = lp.predict(lp.Problem(network, init, task))
        assert limit.coef[0] == 0.5
        assert limit.status is Status.CONVERGED

    def test_tiny_targets_of_a_rank_one_network(self):
        rng = np.random.default_rng(1)
        X, y = rng.standard_normal((2, 5)), 1e-60 * rng.standard_normal(2)
        network = lp.RankOne(4, 4)
        init = lp.Init.balanced(network, lp.Regression(X, y), scale=0.5, seed=0)
        problem = lp.Problem(network, init, lp.Regression(X, y))
        assert lp.predict(problem, escalate=False).status is Status.DATA_HIDDEN
        assert lp.predict(problem).status is Status.PROVED

    @pytest.mark.parametrize("network", [lp.RankOne(3, 4), lp.FullyConnected((4, 4))])
    def test_zero_targets_and_a_square_matrix(self, network):
        X = np.eye(3) + 0.1
        init = lp.Init.balanced(network, lp.Regression(X, np.zeros(3)), scale=0.5, seed=0)
        limit = limit_of(network, init, X, np.zeros(3))
        assert limit.status is Status.CONVERGED
        assert not limit.coef.any()


class TestRank:
    def test_rows_that_depend_up_to_rounding_only(self):
        """Exactly they are independent, and the limit of the exact data is another one."""
        row = np.array([0.1, 0.7, 0.3])
        X, y = np.vstack([row, 3 * row]), [1.0, 2.0]
        assert exact_rank(X) == 2
        assert Equilibrated.of(X).rank == 1
        start = lp.Init([[1, 1, 1], [0, 0, 0]], 0.1)
        problem = lp.Problem(lp.Diagonal(2), start, lp.Regression(X, y))
        assert lp.predict(problem, escalate=False).status is Status.RANK_HIDDEN
        doubled = np.vstack([row, 2 * row])
        limit = limit_of(lp.Diagonal(2), lp.Init([[1, 1, 1], [0, 0, 0]], 0.1), doubled, y)
        assert limit.status is Status.CONVERGED

    def test_exact_fit_against_fractions(self):
        rng = np.random.default_rng(3)
        B = rng.standard_normal((5, 2)) * 10.0 ** rng.uniform(-8, 8, (5, 1))
        y = rng.standard_normal(5)
        exact = [[Fraction(v) for v in row] for row in B.tolist()]
        gram = [[sum(r[i] * r[j] for r in exact) for j in range(2)] for i in range(2)]
        right = [
            sum(r[i] * Fraction(t) for r, t in zip(exact, y.tolist(), strict=True))
            for i in range(2)
        ]
        det = gram[0][0] * gram[1][1] - gram[0][1] ** 2
        w = [
            (right[0] * gram[1][1] - right[1] * gram[0][1]) / det,
            (right[1] * gram[0][0] - right[0] * gram[0][1]) / det,
        ]
        wanted = [float(r[0] * w[0] + r[1] * w[1]) for r in exact]
        np.testing.assert_array_equal(exact_fit(B, y), wanted)

    def test_equilibration_is_exact_and_undoes_units(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((4, 7))
        units = 10.0 ** rng.uniform(-150, 150, (4, 1)), 10.0 ** rng.uniform(-100, 100, 7)
        rows, columns = equilibrate(units[0] * X * units[1])
        scaled = rows[:, None] * (units[0] * X * units[1]) * columns
        assert (np.frexp(rows)[0] == 0.5).all()
        assert (np.frexp(columns)[0] == 0.5).all()
        assert 0.25 <= np.abs(scaled).max(axis=0).min() <= np.abs(scaled).max() <= 2.0
        assert np.abs(scaled).max(axis=1).min() >= 0.25


class TestEqualColumns:
    @pytest.mark.parametrize("depth", [3, 4])
    def test_symmetry_divides_what_the_fit_determines(self, depth):
        X, y = [[1.0, 2, 2, 1], [0.5, 1, 1, -1]], [1, 2.0]
        network = lp.SignedPower(depth)
        limit = limit_of(network, lp.Init([np.ones(4)] * 2, scale=1e-60), X, y)
        assert limit.status is Status.CONVERGED
        np.testing.assert_allclose(limit.coef, [0, 0.5, 0.5, -1], atol=1e-12)


def test_opposite_powers_at_infinite_scale():
    """u⁴ − w⁴ with w = −u: the coefficients start at exactly zero."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((3, 6)), rng.standard_normal(3)
    u = rng.standard_normal(6)
    limit = limit_of(lp.SignedPower(4), lp.Init([u, -u], scale=np.inf), X, y)
    assert limit.status is Status.CONVERGED
    weights = u**6
    wanted = weights * (X.T @ np.linalg.solve((X * weights) @ X.T, y))
    np.testing.assert_allclose(limit.coef, wanted, rtol=1e-9)


class TestTheBoundOnTheError:
    """It holds for answers that are off on purpose, in any unit."""

    @pytest.mark.parametrize("seed", range(5))
    @pytest.mark.parametrize("network", [lp.Diagonal(2), lp.Diagonal(3), lp.SignedPower(3)])
    def test_a_perturbed_answer(self, network, seed):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((3, 6)) * 10.0 ** rng.uniform(-6, 6, 6)
        rows = 10.0 ** rng.uniform(-6, 6, 3)
        task = lp.Regression(rows[:, None] * X, rows * rng.standard_normal(3))
        # Of one sign where layers are powers: opposite ones would be a sign constraint.
        init = lp.Init(list(np.abs(rng.standard_normal((len(network.layer_shapes(task)), 6)))), 0.5)
        problem = lp.Problem(network, init, task)
        limit, mirror = lp.predict(problem), network.mirror_map(init)
        assert limit.status is Status.CONVERGED
        constraint = Constraint.of(task.X, task.y)
        sizes = np.abs(task.X) @ np.abs(limit.coef) + np.abs(task.y)
        parts = (np.abs(task.X) / sizes[:, None]).max(axis=0)
        for size in (1e-5, 1e-7):
            off = size * rng.standard_normal(6) / parts
            wrong = (limit.coef + off)[None]
            found = certify_mirror_limits(constraint, mirror, wrong, limit.mirror[None])[0]
            assert found.error_bound >= 0.5 * float((parts * np.abs(off)).max())
            assert not found.ok

    def test_a_certificate_in_words_and_numbers(self):
        found = Certificate({"feasibility": 1e-12, "error bound": 5e-8})
        assert found.ok
        assert found.error_bound == 5e-8
        assert found.allowed("error bound") == 1e-7
        assert not Certificate({"feasibility": 1e-12, "error bound": 5e-7}).ok
        assert Certificate({"feasibility": 1e-12}).error_bound is None


def test_the_bound_of_a_dense_network_sees_what_cancels_in_every_row():
    """Two large columns meet one row; the third coefficient exceeds theirs by eight orders."""
    X = np.array([[-1.3e-4, 0.0, 1.05e7, 3.4e8], [4.6e-6, 0.0, 0.0, 0.0]])
    task = lp.Regression(X, [32.5, -1.02])
    network = lp.FullyConnected((2, 1))
    first = np.outer([-0.5, -0.5, 0.4, 0.07], [1.0, 0.0])
    size = float(np.linalg.norm(first))
    init = lp.Init([first, [[size], [0.0]], [size]], 1.5e-5)
    limit, radial = lp.predict(lp.Problem(network, init, task)), network.radial_map(init)
    assert limit.status is Status.CONVERGED
    for moved in (1e-6, 1e-4, 1e-2):
        change = moved * limit.coef[2] * np.array([0.0, 0.0, 1.0, -X[0, 2] / X[0, 3]])
        terms = np.abs(X) @ np.abs(limit.coef) + np.abs(task.y)
        error = float((np.abs(X * change) / terms[:, None]).max())
        wrong = certify_radial_limit(
            Constraint.of(task.X, task.y), radial, limit.coef + change, limit.mirror
        )
        assert not wrong.ok
        assert wrong.error_bound >= 0.9 * error
