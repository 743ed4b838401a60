"""Against inverse scale space by brute force in rational arithmetic, and against a stiff flow."""

import numpy as np
import pytest
from tests.oracles.exact.exact_scale_space import exact_path
from tests.oracles.flows.smoothed_flow import coefs_at

from limitpoint import Status
from limitpoint.theory.solvers.basis_pursuit import saddle_path


def compare(X, y, t_plus, t_minus):
    times, coefs, xi, ambiguous = exact_path(X, y, t_plus, t_minus)
    path = saddle_path(X, y, t_plus, t_minus)
    floats = lambda rows: np.array([[float(v) for v in row] for row in rows])  # noqa: E731
    exact_coefs = floats(coefs)
    assert path.n_saddles == len(times) - 1
    np.testing.assert_allclose(path.path_times, [float(t) for t in times], rtol=1e-10)
    np.testing.assert_allclose(path.mirrors, floats(xi), rtol=1e-10, atol=1e-10)
    fits, exact_fits = path.coefs @ np.transpose(X), exact_coefs @ np.transpose(X)
    np.testing.assert_allclose(fits, exact_fits, rtol=1e-10, atol=1e-10)
    assert path.degenerate.tolist() == ambiguous
    unique = ~np.array(ambiguous)
    np.testing.assert_allclose(path.coefs[unique], exact_coefs[unique], rtol=1e-9, atol=1e-10)
    return path, ambiguous


@pytest.mark.parametrize("seed", range(20))
def test_unweighted_paths_of_integer_data(seed):
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(1, 5)), int(rng.integers(1, 8))
    X, y = rng.integers(-9, 10, size=(m, n)), rng.integers(-9, 10, size=m)
    compare(X.tolist(), y.tolist(), [1] * n, [1] * n)


@pytest.mark.parametrize("seed", range(20))
def test_weighted_paths_with_many_ties(seed):
    rng = np.random.default_rng(1000 + seed)
    m, n = int(rng.integers(1, 4)), int(rng.integers(2, 7))
    X, y = rng.integers(-1, 2, size=(m, n)), rng.integers(-2, 3, size=m)
    compare(X.tolist(), y.tolist(), rng.integers(1, 3, n).tolist(), rng.integers(1, 3, n).tolist())


def test_ties_make_some_of_these_paths_ambiguous_and_some_not():
    seen = set()
    for seed in range(60):
        rng = np.random.default_rng(1000 + seed)
        m, n = int(rng.integers(1, 4)), int(rng.integers(2, 7))
        X, y = rng.integers(-1, 2, size=(m, n)), rng.integers(-2, 3, size=m)
        seen.add(saddle_path(X, y).status)
    assert {Status.CONVERGED, Status.DEGENERATE, Status.LEAST_SQUARES} <= seen


def test_a_stiff_flow_rests_at_the_saddles_of_appendix_c1():
    X, y = np.array([[1, 0.5, 0.7, 0], [0.5, 1, 0.1, 0.7]]), np.array([1.0, 0.0])
    path = saddle_path(X, y)
    ends = np.append(path.path_times[1:], path.path_times[-1] + 5)
    times = ends[1:] - 0.3 * np.diff(ends)  # late in the stay at each saddle
    errors = [
        np.abs(coefs_at(X, y, 1.0, 1.0, epsilon, times) - path.coefs[1:]).max()
        for epsilon in (0.004, 0.002, 0.001)
    ]
    # What is inactive is of size e^{-gap/ε}: halving ε squares the error.
    assert errors[1] < 2 * errors[0] ** 2 + 1e-8
    assert errors[2] < 1e-7


@pytest.mark.slow
@pytest.mark.parametrize("block", range(15))
def test_many_more_paths_with_ties(block):
    for seed in range(100 * block, 100 * block + 100):
        rng = np.random.default_rng(5000 + seed)
        m, n, size = int(rng.integers(1, 5)), int(rng.integers(1, 7)), int(rng.integers(1, 4))
        X, y = rng.integers(-size, size + 1, size=(m, n)), rng.integers(-3, 4, size=m)
        t_plus, t_minus = rng.integers(1, 4, n).tolist(), rng.integers(1, 4, n).tolist()
        compare(X.tolist(), y.tolist(), t_plus, t_minus)
