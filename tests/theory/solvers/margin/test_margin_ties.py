"""Ties: whole numbers, on which samples, columns and frequencies agree all the time."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.oracles.max_margin import width_of_l1_solutions

import limitpoint as lp
from limitpoint.theory.solvers.margin import Coordinates, Fourier, is_unique, solve_margins
from limitpoint.theory.solvers.margin.approach import approach


def whole_numbers(m, n, seed):
    """Samples that are separable, of small whole numbers; or nothing."""
    rows = np.random.default_rng(seed).integers(-2, 3, (m, n)).astype(float)
    try:
        lp.Classification(rows, np.ones(m))
    except lp.errors.NotSeparable:
        return None
    return rows


@given(m=st.integers(1, 5), n=st.integers(2, 6), seed=st.integers(0, 10_000))
@settings(max_examples=80, deadline=None)
def test_uniqueness_is_that_of_the_optimal_face(m, n, seed):
    rows = whole_numbers(m, n, seed)
    assume(rows is not None)
    problem = Coordinates().problem(rows)
    found = solve_margins(problem)
    # A face is at least as wide as a vertex of small whole numbers is from another; the linear
    # programs are right to 1e-7, times what a small change of the value does to the face.
    wide = width_of_l1_solutions(rows, problem.value(found.coordinates) * (1 + 1e-12)) > 1e-5
    assert is_unique(problem, found) == (not wide)


@given(m=st.integers(1, 5), n=st.integers(2, 6), seed=st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_exponents_are_between_none_and_one(m, n, seed):
    rows = whole_numbers(m, n, seed)
    assume(rows is not None)
    for space in (Coordinates(), Fourier(n)):
        problem = space.problem(rows)
        found = solve_margins(problem)
        assert 0.0 <= approach(problem, found) <= 1.0


def test_samples_that_tie_are_told_apart_by_the_idle_columns():
    """All margins are β₁; what is left is a margin problem of the other two columns.

    Its value, 1/(1 + 1) for the rows (1, 0) and (0, 1), is the largest share there.
    """
    rows = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]) * [1.0, 0.8, 0.8]
    problem = Coordinates().problem(rows)
    found = solve_margins(problem)
    np.testing.assert_allclose(found.coordinates, [1.0, 0.0, 0.0], rtol=0, atol=1e-14)
    # Clarabel's accuracy.
    assert approach(problem, found) == pytest.approx(1 - 0.4, abs=1e-6)
