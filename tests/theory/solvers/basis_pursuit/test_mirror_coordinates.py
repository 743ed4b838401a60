"""Watching only some columns must not change anything."""

import numpy as np
import pytest
from tests.theory.solvers.basis_pursuit.instances import dense, random_instance

from limitpoint import Status
from limitpoint.theory.solvers.basis_pursuit import saddle_path
from limitpoint.theory.solvers.basis_pursuit.mirror_coordinates import MirrorCoordinates


@pytest.fixture
def watch_always(monkeypatch):
    """Watch as few columns as possible, however small the problem, and count the renewals."""
    renewals = []
    original = MirrorCoordinates._watch_nearest
    monkeypatch.setattr("limitpoint.theory.solvers.basis_pursuit.mirror_coordinates.MIN_ENTRIES", 0)
    monkeypatch.setattr(
        "limitpoint.theory.solvers.basis_pursuit.mirror_coordinates.MAX_WATCHED_FRACTION", 0.95
    )
    monkeypatch.setattr(
        MirrorCoordinates,
        "_watch_nearest",
        lambda self, keep: (renewals.append(1), original(self, keep)),
    )
    return renewals


def assert_same(path, other):
    """The same saddles; of those that are not determined, the same fit is all there is to ask."""
    assert path.status is other.status
    np.testing.assert_array_equal(path.degenerate, other.degenerate)
    np.testing.assert_allclose(path.path_times, other.path_times, rtol=1e-9)
    np.testing.assert_allclose(path.mirrors, other.mirrors, rtol=1e-8, atol=1e-10)
    unique = np.flatnonzero(~path.degenerate)
    np.testing.assert_allclose(path.coefs[unique], other.coefs[unique], rtol=1e-8, atol=1e-10)
    for step in unique[unique > 0]:
        if not path.degenerate[step - 1]:
            assert path.entered[step - 1] == other.entered[step - 1]
            assert path.left[step - 1] == other.left[step - 1]


@pytest.mark.slow
def test_random_instances(watch_always, monkeypatch):
    for seed in range(300):
        X, y, t_plus, t_minus = random_instance(seed)
        watched = saddle_path(dense(X), y, t_plus, t_minus)
        with monkeypatch.context() as all_columns:
            all_columns.setattr(
                "limitpoint.theory.solvers.basis_pursuit.mirror_coordinates.MIN_ENTRIES", np.inf
            )
            assert_same(watched, saddle_path(dense(X), y, t_plus, t_minus))
    assert len(watch_always) > 300


@pytest.mark.parametrize("seed", range(20))
def test_bounds_least_squares_and_free_coefficients(watch_always, monkeypatch, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(8, 60)), rng.normal(size=8)
    X[:3] = 0.0
    t_plus, t_minus = rng.uniform(0.5, 2, 60), np.where(rng.random(60) < 0.3, np.inf, 1.0)
    t_plus[5] = t_minus[5] = 0.0
    bounds = {"lower": -0.1, "upper": 0.1}
    watched = saddle_path(X, y, t_plus, t_minus, **bounds)
    monkeypatch.setattr(
        "limitpoint.theory.solvers.basis_pursuit.mirror_coordinates.MIN_ENTRIES", np.inf
    )
    assert_same(watched, saddle_path(X, y, t_plus, t_minus, **bounds))
    assert watch_always


def test_ties_and_duplicates(watch_always, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(-1, 2, size=(10, 200)).astype(float)
    y = rng.integers(-3, 4, size=10)
    watched = saddle_path(X, y)
    monkeypatch.setattr(
        "limitpoint.theory.solvers.basis_pursuit.mirror_coordinates.MIN_ENTRIES", np.inf
    )
    plain = saddle_path(X, y)
    assert watched.status is plain.status is Status.DEGENERATE
    np.testing.assert_allclose(watched.path_times, plain.path_times, rtol=1e-10)
    np.testing.assert_allclose(watched.mirrors, plain.mirrors, atol=1e-10)


def test_large_problem_takes_the_short_cut(monkeypatch):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 3000)), rng.normal(size=60)
    products = []
    original = MirrorCoordinates._update_all
    monkeypatch.setattr(
        MirrorCoordinates, "_update_all", lambda self: (products.append(1), original(self))
    )
    short = saddle_path(X, y)
    assert 0 < len(products) < short.n_saddles / 2
    monkeypatch.setattr(
        "limitpoint.theory.solvers.basis_pursuit.mirror_coordinates.MIN_ENTRIES", np.inf
    )
    assert_same(short, saddle_path(X, y))
