"""The margin problem: solutions, certificates, uniqueness, against other solvers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from tests.oracles.max_margin import (
    by_cones,
    by_support_vectors,
    fourier,
    l1_by_enumeration,
    l2_by_enumeration,
)

import limitpoint as lp
from limitpoint.theory.solvers.margin import (
    Coordinates,
    Euclidean,
    Fourier,
    Transformed,
    certify_margins,
    is_unique,
    solve_margins,
)

# The interior-point oracle stops at a gap of 1e-13 or, where rounding ends it, some tens of that;
# the direction is off by the square root of the gap where the norm is curved.
ORACLE = 1e-5


def spaces(n):
    return {"l1": Coordinates(), "l2": Euclidean(), "dft": Fourier(n)}


def data(m, n, seed, positive=False):
    """Samples y_i x_i in general curve parameter: separable for m ≤ n, or on one side."""
    rows = np.random.default_rng(seed).standard_normal((m, n))
    return np.abs(rows) if positive else rows


def solved(rows, space):
    """Coefficients, certificate, uniqueness; the classes are all 1."""
    task = lp.Classification(rows, np.ones(len(rows)))
    problem = space.problem(task.signed)
    found = solve_margins(problem)
    coef = space.coef(found.coordinates)
    certificate = certify_margins(task, space, coef, found.coordinates, found.multipliers)
    return coef, certificate, is_unique(problem, found)


def oracle(rows, name):
    n = rows.shape[1]
    if name == "dft":
        return by_cones(rows, 1, fourier(n))
    return by_cones(rows, 1 if name == "l1" else 2)


class TestAgainstOtherSolvers:
    @pytest.mark.parametrize("name", ["l1", "l2", "dft"])
    @pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 6), (3, 7), (5, 8), (7, 7)])
    def test_the_primal_cone_program(self, name, m, n):
        rows = data(m, n, seed=m + 10 * n)
        coef, certificate, unique = solved(rows, spaces(n)[name])
        assert certificate.worst < 1e-12
        assert unique
        wanted = oracle(rows, name)
        np.testing.assert_allclose(coef, wanted, rtol=0, atol=ORACLE * np.abs(wanted).max())

    @pytest.mark.parametrize("name", ["l1", "l2", "dft"])
    @pytest.mark.parametrize(("m", "n"), [(9, 3), (20, 4), (40, 5)])
    def test_more_samples_than_features(self, name, m, n):
        rows = data(m, n, seed=m, positive=True)
        coef, certificate, _ = solved(rows, spaces(n)[name])
        assert certificate.worst < 1e-12
        wanted = oracle(rows, name)
        np.testing.assert_allclose(coef, wanted, rtol=0, atol=ORACLE * np.abs(wanted).max())

    @pytest.mark.parametrize("seed", range(5))
    def test_enumeration(self, seed):
        rows = data(4, 4, seed)
        coef, _, _ = solved(rows, Coordinates())
        np.testing.assert_allclose(coef, l1_by_enumeration(rows), rtol=1e-9, atol=1e-12)
        coef, _, _ = solved(rows, Euclidean())
        np.testing.assert_allclose(coef, l2_by_enumeration(rows), rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize("seed", range(3))
    def test_support_vector_machine(self, seed):
        rows = data(30, 4, seed, positive=True)
        coef, _, _ = solved(rows, Euclidean())
        # libsvm stops at a gap of 1e-10 or so of the dual, whose square root is the direction's.
        np.testing.assert_allclose(coef, by_support_vectors(rows), rtol=1e-4, atol=1e-4)

    def test_a_transform_that_is_square_is_a_change_of_variables(self):
        rng = np.random.default_rng(3)
        rows, transform = rng.standard_normal((3, 5)), rng.standard_normal((5, 5))
        coef, certificate, unique = solved(rows, Transformed(transform))
        assert certificate.ok
        assert unique
        wanted = by_cones(rows, 1, np.linalg.inv(transform).T)
        np.testing.assert_allclose(coef, wanted, rtol=0, atol=ORACLE * np.abs(wanted).max())

    @pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8])
    def test_the_real_fourier_coordinates_are_orthogonal(self, n):
        space = Fourier(n)
        transform = space.coordinates(np.eye(n))
        np.testing.assert_allclose(transform @ transform.T, np.eye(n), rtol=0, atol=1e-14)
        coef = np.random.default_rng(n).standard_normal(n)
        np.testing.assert_allclose(space.coef(space.coordinates(coef)), coef, rtol=0, atol=1e-14)
        problem = space.problem(np.eye(n))
        norm = np.abs(fourier(n) @ coef).sum()
        assert problem.value(space.coordinates(coef)) == pytest.approx(norm, rel=1e-13)


class TestTwoPoints:
    """Yun et al., section 6."""

    rows = np.array([[1.0, 2.0], [0.0, 3.0]])

    @pytest.mark.parametrize(
        ("name", "coef"), [("l2", [0.2, 0.4]), ("l1", [0.0, 0.5]), ("dft", [1 / 3, 1 / 3])]
    )
    def test_directions(self, name, coef):
        found, certificate, unique = solved(self.rows, spaces(2)[name])
        assert certificate.worst < 1e-14
        assert unique
        np.testing.assert_allclose(found, coef, rtol=0, atol=1e-15)


class TestInvariances:
    @pytest.mark.parametrize("name", ["l1", "l2", "dft"])
    @pytest.mark.parametrize("factor", [1e-70, 1e-9, 1e9, 1e70])
    def test_scaling(self, name, factor):
        rows = data(4, 7, seed=2)
        one, _, _ = solved(rows, spaces(7)[name])
        other, certificate, unique = solved(factor * rows, spaces(7)[name])
        assert certificate.worst < 1e-12
        assert unique
        np.testing.assert_allclose(factor * other, one, rtol=0, atol=1e-11 * np.abs(one).max())

    @pytest.mark.parametrize("name", ["l1", "l2", "dft"])
    def test_samples_twice_and_in_another_order(self, name):
        rows = data(4, 7, seed=2)
        one, _, _ = solved(rows, spaces(7)[name])
        order = np.array([3, 1, 0, 2, 1, 1])
        other, certificate, unique = solved(rows[order], spaces(7)[name])
        assert certificate.worst < 1e-12
        assert unique
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-11)

    @pytest.mark.parametrize("name", ["l1", "l2"])
    def test_features_in_another_order(self, name):
        rows = data(4, 7, seed=2)
        order = np.random.default_rng(0).permutation(7)
        one, _, _ = solved(rows, spaces(7)[name])
        other, _, _ = solved(rows[:, order], spaces(7)[name])
        np.testing.assert_allclose(other, one[order], rtol=0, atol=1e-11)

    def test_shifts_shift_the_fourier_solution(self):
        rows = data(4, 7, seed=2)
        one, _, _ = solved(rows, Fourier(7))
        other, _, _ = solved(np.roll(rows, 3, axis=1), Fourier(7))
        np.testing.assert_allclose(other, np.roll(one, 3), rtol=0, atol=1e-11)

    @pytest.mark.parametrize("name", ["l1", "l2", "dft"])
    def test_badly_scaled_columns(self, name):
        rows = data(4, 8, seed=5) * 10.0 ** np.array([-6, 6, 0, 3, -3, 5, 1, -1])
        coef, certificate, _ = solved(rows, spaces(8)[name])
        assert certificate.ok
        assert (rows @ coef).min() == pytest.approx(1.0, rel=1e-9)

    @pytest.mark.parametrize("name", ["l1", "l2", "dft"])
    def test_badly_scaled_samples(self, name):
        rows = data(4, 8, seed=5) * 10.0 ** np.array([[-4], [4], [0], [2]])
        _, certificate, _ = solved(rows, spaces(8)[name])
        assert certificate.ok


class TestUniqueness:
    def test_equal_columns(self):
        rows = np.array([[1.0, 1.0, 0.2], [2.0, 2.0, -0.3]])
        coef, certificate, unique = solved(rows, Coordinates())
        assert certificate.ok
        assert not unique
        assert np.abs(coef).sum() == pytest.approx(1.0)

    def test_one_norm_has_one_solution(self):
        rows = np.array([[1.0, 1.0, 0.2], [2.0, 2.0, -0.3]])
        _, _, unique = solved(rows, Euclidean())
        assert unique

    def test_a_tie_of_columns_that_a_margin_decides(self):
        """β₁ and β₂ do the same for the first sample; the second wants β₁ alone, and gets it."""
        rows = np.array([[1.0, 1.0], [1.0, -1.0]])
        coef, _, unique = solved(rows, Coordinates())
        assert unique
        np.testing.assert_allclose(coef, [1.0, 0.0], rtol=0, atol=1e-14)

    def test_a_tie_that_it_does_not_decide(self):
        """(t, 1 − t) for t ≥ 3/4 all have margins of at least 1."""
        rows = np.array([[1.0, 1.0], [2.0, -2.0]])
        coef, certificate, unique = solved(rows, Coordinates())
        assert certificate.ok
        assert coef.sum() == pytest.approx(1.0)
        assert not unique

    def test_equal_frequencies(self):
        """|F x| is 1 at all frequencies of an impulse: one sample cannot choose among them."""
        coef, certificate, unique = solved(np.array([[1.0, 0.0, 0.0, 0.0, 0.0]]), Fourier(5))
        assert certificate.ok
        assert coef[0] == pytest.approx(1.0)
        assert not unique


class TestCertificate:
    task = lp.Classification([[1.0, 2.0], [0.0, 3.0]], [1, 1])

    def certificate(self, coef, multipliers, space=None):
        coef = np.array(coef)
        return certify_margins(
            self.task, space or Coordinates(), coef, coef, np.array(multipliers)
        ).residuals

    def test_every_condition_can_fail(self):
        assert max(self.certificate([0.0, 0.5], [0.5, 0.0]).values()) == 0.0
        assert self.certificate([0.0, 0.4], [0.5, 0.0])["margins"] == pytest.approx(0.2 / 1.8)
        # The second sample has a dual image of 0.3 at the second feature, the first with 1.
        off = self.certificate([0.0, 0.5], [0.5, -0.1])
        assert off["multipliers"] == pytest.approx(0.3 / 1.3)
        # With a multiplier, its margin of 1.5 is one that is missed.
        off = self.certificate([0.0, 0.5], [0.5, 0.1])
        assert off["complementarity"] == pytest.approx(0.5 / 2.5)
        assert off["missed targets"] == pytest.approx(0.3 / 1.3)
        assert self.certificate([0.0, 0.4], [0.5, 0.0])["missed targets"] == pytest.approx(0.2)
        assert self.certificate([0.0, 0.5], [0.6, 0.0])["dual feasibility"] == pytest.approx(0.2)
        # The first feature should be zero; it contributes 0.5 of 1 + 0.5 + 0.5 to a margin.
        assert self.certificate([0.5, 0.25], [0.5, 0.0])["stationarity"] == pytest.approx(0.25)
        assert self.certificate([0.0, 1.0], [0.5, 0.0])["duality gap"] == pytest.approx(0.5)

    def test_a_turned_direction_is_seen_to_first_order(self):
        """The gap is second order in the angle, stationarity first."""
        turned = np.array([0.2, 0.4]) + 1e-6 * np.array([2.0, -1.0])
        multipliers = np.array([1 / np.sqrt(5), 0.0])
        found = self.certificate(turned, multipliers, Euclidean())
        assert found["duality gap"] < 1e-10
        assert found["stationarity"] > 1e-6


@given(
    m=st.integers(1, 6),
    n=st.integers(1, 8),
    seed=st.integers(0, 10_000),
    name=st.sampled_from(["l1", "l2", "dft"]),
    grid=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_certificates_hold(m, n, seed, name, grid):
    """Also on small whole numbers, where samples, columns and frequencies tie all the time."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-2, 3, (m, n)).astype(float) if grid else rng.standard_normal((m, n))
    try:
        lp.Classification(rows, np.ones(m))
    except lp.errors.NotSeparable:
        return
    coef, certificate, _ = solved(rows, spaces(n)[name])
    assert certificate.ok, certificate
    assert (rows @ coef).min() >= 1 - 1e-9


@pytest.mark.slow
def test_breast_cancer_by_random_features():
    """569 samples, made separable by 2000 cosines; three norms within a minute."""
    found = load_breast_cancer()
    data = (found.data - found.data.mean(axis=0)) / found.data.std(axis=0)
    rng = np.random.default_rng(0)
    frequencies = rng.standard_normal((30, 2000)) / np.sqrt(30)
    features = np.cos(data @ frequencies + rng.uniform(0, 2 * np.pi, 2000))
    rows = (2.0 * found.target - 1)[:, None] * features
    for space in spaces(2000).values():
        _, certificate, unique = solved(rows, space)
        assert certificate.worst < 1e-12
        assert unique
