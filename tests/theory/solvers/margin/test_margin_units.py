"""Directions in all units, and ties, against exact solutions; the certificate's parts by hand."""

from collections import Counter

import numpy as np
import pytest
from tests.campaign.margins import Case, cases, outcome, solved
from tests.oracles.exact.exact_margin import solve_exactly
from tests.oracles.many_digits.margin_mp import is_unique_to_many_digits

import limitpoint as lp
from limitpoint.theory.solvers.margin import (
    Coordinates,
    Fourier,
    certify_margins,
    coef_errors,
    solve_margins,
)
from limitpoint.theory.solvers.margin.dual_simplex import dual_simplex
from limitpoint.theory.solvers.margin.sums_of_products import sums_of_products

# Solutions that are not unique though all that a rank is decided by is rounding: the margins do not
# notice how much of a pair of frequencies there is.
NOT_UNIQUE = [
    ([[1, 1, -1], [-1, 0, 0]], [-1, 1]),
    ([[1, -1, -1], [-2, 1, -2], [0, 0, -1]], [1, 1, 1]),
    ([[-1, 0, -1, -1, 0], [1, 0, 1, 0, 0]], [-1, -1]),
    ([[1, -1, 0], [1, -1, -1], [0, -1, 0]], [1, 1, 1]),
    ([[0, 0, -1], [1, 0, -1], [-1, 1, 1]], [1, 1, -1]),
    ([[0, 1, 1, 0, 0], [0, -1, -1, -1, 0], [0, 1, 0, -1, -1]], [1, 1, 1]),
]
# Unique, though groups tie that are not used, and samples that have no multiplier.
UNIQUE = [
    ([[0, 1, 0, 0, 0, 0], [1, 2, -2, -1, -1, 0], [-1, -2, 2, 2, 2, -1]], [-1, 1, 1]),
    ([[2, 2, -1, 1], [0, 1, 2, 2], [0, 1, 0, 0]], [-1, 1, -1]),
    ([[1, 0, 0, 1], [-1, -1, 1, 0], [0, 0, 0, -1]], [1, -1, 1]),
]


def convolutional(X, y):
    X, y = np.array(X, dtype=float), np.array(y, dtype=float)
    return Case("convolutional", X, y, None, np.zeros(X.shape[1]), True)


class TestUniqueness:
    def test_a_face_that_only_rounding_hides(self):
        """Every (−1, b, b) with b from −1 to 1/2 is a solution."""
        task = lp.Classification([[1, 1, -1], [-1, 0, 0]], [-1, 1])
        network = lp.Convolutional((3, 3))
        init = lp.Init([[1, 0.3, -0.2], [0.1, 0, 0]], 0.1)
        limit = lp.predict(lp.Problem(network, init, task))
        assert limit.status is lp.Status.DEGENERATE
        assert limit.rate is None
        norms = [np.abs(np.fft.fft([-1, b, b], norm="ortho")).sum() for b in (-1, 0, 0.5)]
        np.testing.assert_allclose(norms, limit.potential, rtol=1e-14)

    @pytest.mark.parametrize(("X", "y"), NOT_UNIQUE)
    def test_others(self, X, y):
        assert convolutional(X, y).limit().status is lp.Status.DEGENERATE

    @pytest.mark.parametrize(("X", "y"), UNIQUE)
    def test_ties_that_margins_decide(self, X, y):
        case = solved("convolutional", *(np.array(part, dtype=float) for part in (X, y)))
        assert case.unique
        assert outcome(case) == "right"

    @pytest.mark.parametrize("family", ["diagonal", "tensor"])
    def test_whole_numbers(self, family):
        found = Counter(outcome(case) for case in cases("ties", family, 60, seed=1))
        assert set(found) == {"right", "right, not unique"}
        assert found["right, not unique"] > 10

    @pytest.mark.slow
    @pytest.mark.parametrize("family", ["convolutional", "dense"])
    def test_whole_numbers_of_curved_norms(self, family):
        found = Counter(outcome(case) for case in cases("ties", family, 6, seed=1))
        assert set(found) <= {"right", "right, not unique"}

    @pytest.mark.slow
    def test_the_two_oracles_agree(self):
        rng = np.random.default_rng(0)
        seen = []
        while len(seen) < 10:
            rows = rng.integers(-2, 3, (int(rng.integers(1, 4)), 4)).astype(float)
            exact = solve_exactly(rows)
            if exact is not None:
                groups = [[k] for k in range(4)]
                assert is_unique_to_many_digits(rows.tolist(), groups, [1] * 4) == exact.unique
                seen.append(exact.unique)
        assert len(set(seen)) == 2


class TestUnits:
    """Rows and columns times 10^U(−8, 8): nothing wrong is certified, and little is refused."""

    @pytest.mark.parametrize("family", ["diagonal", "tensor"])
    @pytest.mark.parametrize("kind", ["rows", "columns", "both"])
    def test_linear_programs(self, family, kind):
        self.check(cases(kind, family, 20, seed=2))

    @pytest.mark.slow
    @pytest.mark.parametrize("family", ["convolutional", "dense"])
    @pytest.mark.parametrize("kind", ["rows", "columns", "both"])
    def test_curved_norms(self, family, kind):
        self.check(cases(kind, family, 4, seed=2))

    def check(self, some):
        found = [(case, outcome(case)) for case in some]
        assert not [text for _, text in found if text.startswith("WRONG")]
        # Those that float64 can tell: not nearly dependent, and no margin the rest of a sum of
        # terms a million times as large.
        told = [text for case, text in found if case.condition() < 1e6 and case.hidden() < 1e6]
        assert told.count("right") == len(told) > 0

    def test_what_float64_cannot_hold_is_refused(self):
        """β = (2/3, 2/3)·1e12 but for the 15th digit, on which the second margin hangs."""
        task = lp.Classification([[1e-12, 0.5e-12], [-1e6, 1e6]], [1, 1])
        init = lp.Init([[1.0, 1.0], [0.5, 0.3]], 0.1)
        problem = lp.Problem(lp.Diagonal(2), init, task)
        limit = lp.predict(problem, escalate=False)
        assert limit.status is lp.Status.DATA_HIDDEN
        assert not limit.certificate.ok
        assert lp.predict(problem).status is lp.Status.PROVED


class TestErrorBound:
    @pytest.mark.parametrize("family", ["diagonal", "tensor"])
    def test_it_bounds_the_error(self, family):
        seen = 0
        for case in cases("columns", family, 15, seed=4):
            limit = case.limit()
            if limit.status is lp.Status.CONVERGED:
                assert case.error(limit.coef) <= limit.certificate.error_bound
                seen += 1
        assert seen > 5

    def test_a_shifted_solution_is_within_its_bound(self):
        """Coordinates off by a millionth: the bound is at least that, at most ten times that."""
        rows = np.array([[1.0, 0.2, 0.1], [0.3, 1.0, -0.2]])
        problem = Coordinates().problem(rows)
        found = solve_margins(problem)
        used = found.coordinates != 0
        shift = 1e-6 * used * np.array([1.0, -1.0, 1.0])
        moved = type(found)(found.coordinates + shift, found.multipliers, found.corrections, 0)
        # A sample is one of the face while its margin is 1 to 1e-9: both are by their multipliers.
        bound = coef_errors(problem, moved, lambda inner: inner)
        assert (bound[used] >= 1e-6).all()
        assert (bound[used] <= 1e-5).all()

    def test_of_frequencies(self):
        rows = np.random.default_rng(1).standard_normal((2, 5))
        space = Fourier(5)
        problem = space.problem(rows)
        found = solve_margins(problem)
        bound = coef_errors(problem, found, space.coef)
        assert (bound < 1e-12).all()
        assert (bound > 0).all()


def test_a_bound_that_is_too_large_is_not_certified():
    task = lp.Classification([[1.0, 2.0], [0.0, 3.0]], [1, 1])
    coef, dual = np.array([0.0, 0.5]), np.array([0.5, 0.0])
    for size, ok in ((1e-9, True), (1e-6, False), (np.inf, False)):
        errors = np.array([0.0, size])
        found = certify_margins(task, Coordinates(), coef, coef, dual, errors=errors)
        assert found.ok is ok


def test_sums_that_cancel():
    rows = np.array([[1.0, 3.0], [1.0, 1.0], [1e16, 0.1]])
    factors, corrections = np.array([1e16, -1e16, -1.0]), np.array([0.25, 0.0, 0.0])
    wanted = [-1e16 + 0.25, 2e16 + 0.75 - 0.1]
    found = sums_of_products(rows, factors, corrections, np.zeros(2))
    np.testing.assert_allclose(found, wanted, rtol=1e-15)
    assert sums_of_products(rows[:2], factors[:2], corrections[:2], np.array([0.25, 0.0]))[0] == 0.0


def test_the_dual_simplex_finds_the_vertex_of_any_weights():
    """Weights and floors over 24 orders of magnitude, against rational arithmetic."""
    rng = np.random.default_rng(6)
    for _ in range(20):
        rows = rng.standard_normal((3, 5)) * 10.0 ** rng.uniform(-12, 12, 5)
        exact = solve_exactly(rows)
        units = Coordinates().problem(rows).equilibrated()
        coordinates, multipliers = dual_simplex(units.problem)
        coef = coordinates * units.by_column
        wanted = np.array([float(c) for c in exact.coef])
        np.testing.assert_array_equal(coef != 0, wanted != 0)
        np.testing.assert_allclose(coef, wanted, rtol=1e-9)
        assert (multipliers >= -1e-12 * multipliers.max()).all()


def test_the_dual_simplex_on_data_that_are_not_separable():
    problem = Coordinates().problem(np.array([[1.0, 0.0], [-1.0, 0.0]]))
    assert dual_simplex(problem) is None
