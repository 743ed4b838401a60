"""The path does not depend on order, signs, units or copies."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from limitpoint import Status
from limitpoint.theory.solvers.basis_pursuit import saddle_path


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, n = draw(st.integers(1, 8)), draw(st.integers(1, 16))
    X = rng.normal(size=(m, n))
    y = X @ rng.normal(size=n) if draw(st.booleans()) else rng.normal(size=m)
    return X, y, rng.uniform(0.2, 3, n), rng.uniform(0.2, 3, n), rng


def assert_same(path, other, *, coefs, duals, time=1.0):
    assert path.status is other.status
    np.testing.assert_allclose(coefs, other.coefs, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(duals, other.mirrors, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(path.path_times * time, other.path_times, rtol=1e-7)


SETTINGS = settings(max_examples=60, deadline=None, derandomize=True)


@SETTINGS
@given(problems())
def test_permutation(problem):
    X, y, plus, minus, rng = problem
    order = rng.permutation(len(plus))
    path, other = saddle_path(X, y, plus, minus), None
    other = saddle_path(X[:, order], y, plus[order], minus[order])
    assert_same(path, other, coefs=path.coefs[:, order], duals=path.mirrors[:, order])


@SETTINGS
@given(problems())
def test_rotation_of_the_samples(problem):
    X, y, plus, minus, rng = problem
    turn, _ = np.linalg.qr(rng.normal(size=(len(y), len(y))))
    path, other = saddle_path(X, y, plus, minus), saddle_path(turn @ X, turn @ y, plus, minus)
    assert_same(path, other, coefs=path.coefs, duals=path.mirrors)


@SETTINGS
@given(problems())
def test_sign_flips_exchange_the_activation_times(problem):
    X, y, plus, minus, rng = problem
    flip = rng.choice([-1.0, 1.0], len(plus))
    path = saddle_path(X, y, plus, minus)
    other = saddle_path(
        X * flip, y, np.where(flip > 0, plus, minus), np.where(flip > 0, minus, plus)
    )
    assert_same(path, other, coefs=path.coefs * flip, duals=path.mirrors * flip)


@SETTINGS
@given(problems(), st.floats(-60, 60))
def test_units_of_the_target(problem, log_size):
    X, y, plus, minus, _ = problem
    size = 10.0**log_size
    path, other = saddle_path(X, y, plus, minus), saddle_path(X, size * y, plus, minus)
    assert path.status is other.status
    np.testing.assert_allclose(path.coefs, other.coefs / size, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(path.path_times, other.path_times * size, rtol=1e-7)


@SETTINGS
@given(problems(), st.floats(0.01, 100))
def test_units_of_the_activation_times(problem, size):
    X, y, plus, minus, _ = problem
    path, other = saddle_path(X, y, plus, minus), saddle_path(X, y, size * plus, size * minus)
    assert_same(path, other, coefs=path.coefs, duals=path.mirrors * size, time=size)


@SETTINGS
@given(problems())
def test_scaled_columns(problem):
    X, y, plus, minus, rng = problem
    scales = 10.0 ** rng.uniform(-3, 3, len(plus))
    path = saddle_path(X, y, plus, minus)
    other = saddle_path(X * scales, y, plus * scales, minus * scales)
    assert path.status is other.status
    np.testing.assert_allclose(path.coefs, other.coefs * scales, rtol=1e-7, atol=1e-9)


@SETTINGS
@given(problems())
def test_duplicated_column(problem):
    X, y, plus, minus, rng = problem
    j = int(rng.integers(len(plus)))
    path = saddle_path(X, y, plus, minus)
    other = saddle_path(
        np.column_stack([X, X[:, j]]), y, np.append(plus, plus[j]), np.append(minus, minus[j])
    )
    merged = other.coefs[:, :-1].copy()
    merged[:, j] += other.coefs[:, -1]
    np.testing.assert_allclose(merged, path.coefs, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(other.degenerate, (path.coefs[:, j] != 0) | path.degenerate)
    if path.coef[j] != 0:
        assert other.status is Status.DEGENERATE
