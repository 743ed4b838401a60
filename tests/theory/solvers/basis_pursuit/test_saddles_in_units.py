"""No unit of a row, a column or a target can fool the path or its certificate."""

from fractions import Fraction

import numpy as np
import pytest
from tests.campaign import saddles as campaign
from tests.oracles.exact.exact_saddles import contribution_error, exact_saddles
from tests.oracles.exact.exact_scale_space import exact_path

from limitpoint import Status
from limitpoint.theory.certificates.compensated import residuals
from limitpoint.theory.solvers.basis_pursuit import certify, saddle_path
from limitpoint.theory.solvers.basis_pursuit.graded_factor import GradedFactor

SEED = 16


@pytest.mark.parametrize("seed", range(20))
def test_the_two_exact_oracles_agree(seed):
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(1, 5)), int(rng.integers(1, 8))
    X, y = rng.integers(-9, 10, size=(m, n)).tolist(), rng.integers(-9, 10, size=m).tolist()
    plus, minus = rng.integers(1, 4, n).tolist(), rng.integers(1, 4, n).tolist()
    times, coefs, xi, ambiguous = exact_path(X, y, plus, minus)
    found = exact_saddles(X, y, plus, minus)
    assert (found.times, found.mirror) == (times, xi)
    assert found.coefs == coefs or any(ambiguous)
    assert not (found.unique and ambiguous[-1])


def test_a_sample_of_the_campaign():
    rows = campaign.rows(20, SEED)
    figures = campaign.summary(rows)
    assert figures["passed"], figures
    assert figures["worst certified error"] < 1e-12
    assert figures["worst path error of certified"] < 1e-10
    assert figures["worst time error of certified"] < 1e-10
    assert all(row["error"] <= row["bound"] for row in rows if row["certified"])


class TestRows:
    @pytest.mark.parametrize("size", [1.0, 1e-4, 1e-8, 1e-14, 1e-15, 1e-30, 1e8, 1e15])
    def test_a_row_in_other_units_is_still_fitted(self, size):
        X, y = np.array([[1.0, 2, 3], [size, 3 * size, size]]), np.array([1.0, 2 * size])
        path, exact = saddle_path(X, y), exact_saddles(X, y, np.ones(3), np.ones(3))
        assert path.status is Status.CONVERGED
        assert path.n_saddles == len(exact.times) - 1
        np.testing.assert_allclose(path.path_times, [float(t) for t in exact.times], rtol=1e-12)
        assert contribution_error(X, y, exact.coefs[-1], path.coef) < 1e-14
        np.testing.assert_allclose(X @ path.coef, y, rtol=1e-14)

    @pytest.mark.parametrize("size", [1e3, 1e8, 1e20, 1e100])
    def test_scalars_that_do_not_meet(self, size):
        path = saddle_path([[size, 0], [0, 1 / size]], [1.0, 1.0])
        assert path.status is Status.CONVERGED
        np.testing.assert_allclose(path.coef, [1 / size, size], rtol=1e-15)
        path = saddle_path(np.eye(2), [1.0, 1 / size])
        assert path.status is Status.CONVERGED
        np.testing.assert_array_equal(path.coef, [1.0, 1 / size])

    @pytest.mark.parametrize("seed", range(10))
    def test_least_squares_only_where_y_is_out_of_range(self, seed):
        rng = np.random.default_rng(seed)
        rows, t = 10.0 ** rng.uniform(-8, 8, 6), rng.uniform(0.5, 2, 4)
        X, y = rng.normal(size=(6, 4)) * rows[:, None], rng.normal(size=6) * rows
        path, exact = saddle_path(X, y, t, t), exact_saddles(X, y, t, t)
        assert path.status is Status.LEAST_SQUARES
        assert not exact.fitted
        assert contribution_error(X, y, exact.coefs[-1], path.coef) < 1e-12
        # The same rows with a target in range, up to the rounding of its own product.
        path = saddle_path(X, X @ rng.normal(size=4), t, t)
        assert path.status is Status.CONVERGED

    def test_ties_in_every_unit(self):
        certified = 0
        for seed in range(60):
            rng = np.random.default_rng(seed)
            m, n = int(rng.integers(2, 6)), int(rng.integers(3, 9))
            rows, columns = 2.0 ** rng.integers(-26, 27, m), 2.0 ** rng.integers(-26, 27, n)
            X = rng.integers(-2, 3, (m, n)) * rows[:, None] * columns
            y = rng.integers(-3, 4, m) * rows
            t = rng.integers(1, 3, n) * (columns if seed % 2 else 1.0)
            path, exact = saddle_path(X, y, t, t), exact_saddles(X, y, t, t)
            certified += path.status is not Status.NOT_CERTIFIED
            if path.status.ok:
                assert path.status is (Status.CONVERGED if exact.fitted else Status.LEAST_SQUARES)
                assert contribution_error(X, y, exact.coefs[-1], path.coef) < 1e-9
        # Mirror coordinates that ties leave within rounding of thresholds 1e15 times smaller cannot
        # all be told.
        assert certified >= 57

    def test_a_target_that_rounding_hides_is_refused(self):
        X = np.random.default_rng(3).normal(size=(3, 3))
        path = saddle_path(X, [1.0, 1.0, 1e-13])
        assert path.status is Status.NOT_CERTIFIED
        assert path.certificate.residuals["feasibility"] > 1e-9
        assert path.certificate.residuals["error bound"] < 1e-9

    def test_least_squares_of_large_rows_does_not_hide_small_ones(self):
        """Two large rows that contradict each other; their average and the small row are fitted."""
        large, small = 2.0**20, 2.0**-20
        X = np.array([[large, 2 * large, 0], [large, 2 * large, 0], [small, 2.5 * small, small]])
        path = saddle_path(X, [large, -2 * large, 5 * small])
        assert path.status is Status.LEAST_SQUARES
        np.testing.assert_allclose(path.coef, [0.0, -0.25, 5.625], rtol=1e-14)
        assert path.losses[-1] == (1.5 * large) ** 2


class TestColumns:
    @pytest.mark.parametrize("reach", [20, 300])
    @pytest.mark.parametrize("seed", range(5))
    def test_powers_of_two_change_no_bit(self, reach, seed):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(5, 12)), rng.normal(size=5)
        plus, minus = rng.uniform(0.2, 3, (2, 12))
        lower, upper = -rng.uniform(0.3, 2, 12), rng.uniform(0.3, 2, 12)
        c = 2.0 ** rng.integers(-reach, reach + 1, 12)
        path = saddle_path(X, y, plus, minus, lower=lower, upper=upper)
        other = saddle_path(X * c, y, plus * c, minus * c, lower=lower / c, upper=upper / c)
        np.testing.assert_array_equal(other.coefs * c, path.coefs)
        np.testing.assert_array_equal(other.path_times, path.path_times)
        np.testing.assert_array_equal(other.mirrors / c, path.mirrors)
        assert other.status is path.status
        assert other.certificate == path.certificate

    def test_activation_times_of_one_coefficient_may_differ_by_twelve_orders(self):
        path = saddle_path([[1.0, 1.0]], [1.0], [1e-12, 1.0], 1.0)
        np.testing.assert_array_equal(path.coef, [1.0, 0.0])
        assert path.path_times[1] == pytest.approx(1e-12)
        path = saddle_path([[1.0, 1.0]], [-1.0], [1e-12, 1.0], [1.0, 0.5])
        np.testing.assert_array_equal(path.coef, [0.0, -1.0])
        assert path.status is Status.CONVERGED

    @pytest.mark.parametrize(("excess", "status"), [(1e-10, "DEGENERATE"), (1e-8, "CONVERGED")])
    def test_a_tie_within_the_tolerance_is_not_decided(self, excess, status):
        X = np.array([[2.0, 2.0, 0.5], [1e-9, 1e-9, 3e-9]])
        path = saddle_path(X, [1.0, 5e-9], [1.0, 1.0 + excess, 1.0])
        assert path.status is Status[status]


def vertex(X, y, t_plus, t_minus, support):
    """The solution on some columns and its dual, rounded from the exact ones."""
    A = [[Fraction(float(v)) for v in row] for row in X[:, support]]
    values = gauss(A, [Fraction(float(v)) for v in y])
    thresholds = [
        Fraction(float(t_plus[i])) if v > 0 else -Fraction(float(t_minus[i]))
        for i, v in zip(support, values, strict=True)
    ]
    nu = gauss([list(row) for row in zip(*A, strict=True)], thresholds)
    k = np.zeros(X.shape[1])
    k[support] = [float(v) for v in values]
    return k, np.array([float(v) for v in nu])


def gauss(matrix, rhs):
    rows = [[*row, b] for row, b in zip(matrix, rhs, strict=True)]
    for p in range(len(rows)):
        swap = next(r for r in range(p, len(rows)) if rows[r][p] != 0)
        rows[p], rows[swap] = rows[swap], rows[p]
        rows[p] = [v / rows[p][p] for v in rows[p]]
        for r in range(len(rows)):
            if r != p:
                rows[r] = [a - rows[r][p] * b for a, b in zip(rows[r], rows[p], strict=True)]
    return [row[-1] for row in rows]


class TestCertificate:
    """Wrong answers in bad units, each of which must be refused."""

    @pytest.mark.parametrize("number", range(12))
    def test_what_is_wrong_is_refused(self, number):
        X, y, t_plus, t_minus, _ = campaign.problem(number, SEED)
        path = saddle_path(X, y, t_plus, t_minus)
        k, nu = path.coef, path.duals[-1]
        assert certify(X, y, k, nu, t_plus, t_minus).ok
        support = np.flatnonzero(k)
        for i in support:
            for factor in (1.01, 1 + 1e-6, 0.0, -1.0):
                other = k.copy()
                other[i] *= factor
                assert not certify(X, y, other, nu, t_plus, t_minus).ok
        for j in range(len(y)):
            if nu[j] != 0:
                other = nu.copy()
                other[j] *= 1.01
                assert not certify(X, y, k, other, t_plus, t_minus).ok

    @pytest.mark.parametrize("number", range(12))
    def test_other_vertices_are_refused(self, number):
        X, y, t_plus, t_minus, _ = campaign.problem(number, SEED)
        m, n = X.shape
        if m > n:
            pytest.skip("as many columns as rows are needed for another vertex")
        best = set(np.flatnonzero(saddle_path(X, y, t_plus, t_minus).coef))
        rng = np.random.default_rng(number)
        for _ in range(5):
            support = np.sort(rng.choice(n, m, replace=False))
            k, nu = vertex(X, y, t_plus, t_minus, support)
            certificate = certify(X, y, k, nu, t_plus, t_minus)
            assert certificate.ok == (set(support) == best)

    def test_half_a_problem_in_tiny_units_is_not_a_least_squares_fit(self):
        # The answer of the first row alone: its residual in the second is 1e-15 of nothing.
        X = np.array([[1.0, 2, 3], [1e-15, 3e-15, 1e-15]])
        nu = np.array([1 / 3, 0.0])
        certificate = certify(X, [1.0, 2e-15], np.array([0.0, 0.0, 1 / 3]), nu)
        assert certificate.residuals["feasibility"] > 0.1
        assert not certificate.ok

    def test_the_error_bound_sees_the_condition_of_what_moves(self):
        X, y = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-7]]), np.array([1.0, 1.0 + 3e-8])
        path = saddle_path(X, y)
        assert path.status is Status.CONVERGED
        off = path.coef + 1e-7 * np.array([1.0, -1.0])  # moves the fit by 1e-14
        certificate = certify(X, y, off, path.duals[-1])
        assert certificate.residuals["feasibility"] < 1e-12
        assert certificate.residuals["error bound"] == pytest.approx(0.5e-7, rel=0.2)


def test_residuals_are_right_after_cancellation():
    rng = np.random.default_rng(0)
    A, x = rng.normal(size=(30, 7)) * 10.0 ** rng.uniform(-8, 8, (30, 1)), rng.normal(size=7)
    y = A @ x
    exact = [
        Fraction(float(b))
        - sum(Fraction(float(a)) * Fraction(float(c)) for a, c in zip(row, x, strict=True))
        for row, b in zip(A, y, strict=True)
    ]
    np.testing.assert_allclose(residuals(A, x, y), [float(v) for v in exact], rtol=1e-13)


@pytest.mark.parametrize("seed", range(20))
def test_residuals_of_graded_rows_are_right_row_by_row(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 7))
    p = int(rng.integers(1, m))
    rows, columns = 10.0 ** rng.uniform(-8, 8, m), 10.0 ** rng.uniform(-8, 8, p)
    A, y = rng.normal(size=(m, p)) * rows[:, None] * columns, rng.normal(size=m) * rows
    exact = [[Fraction(float(v)) for v in column] for column in A.T]
    target = [Fraction(float(v)) for v in y]
    dot = lambda a, b: sum(p * q for p, q in zip(a, b, strict=True))  # noqa: E731
    k = gauss([[dot(a, b) for b in exact] for a in exact], [dot(a, target) for a in exact])
    left = [b - dot([column[j] for column in exact], k) for j, b in enumerate(target)]
    factor = GradedFactor(y)
    for column in A.T:
        assert factor.insert(column)
    np.testing.assert_allclose(factor.residual, [float(v) for v in left], rtol=1e-10)
    np.testing.assert_allclose(factor.solve(), [float(v) for v in k], rtol=1e-10)
    assert not factor.insert(A @ rng.normal(size=p))


def test_a_parallel_column_is_not_outside_where_rounding_fills_a_row():
    """The third column is a multiple of the second; the first fills their zeros with rounding."""
    A = np.array([[0.01867909, -1.12493871, 0.84209241], [-1.31476984, 0, 0], [0.3, 0, 0]])
    factor = GradedFactor(np.array([1.0, 2.0, 3.0]))
    assert [factor.insert(column) for column in A.T] == [True, True, False]
