"""Every status is reached, and every error says what was wrong."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from limitpoint import Status
from limitpoint.errors import DataError
from limitpoint.theory.solvers.basis_pursuit import saddle_path
from limitpoint.theory.solvers.basis_pursuit.active_set import ActiveSet

X = np.array([[1, 0.5, 0.7, 0], [0.5, 1, 0.1, 0.7]])
Y = np.array([1.0, 0.0])


def inaccurate_problem():
    left, _, right = np.linalg.svd(
        np.random.default_rng(0).normal(size=(10, 30)), full_matrices=False
    )
    A = (left * np.logspace(0, -14, 10)) @ right
    return A, A @ np.ones(30)


@pytest.mark.parametrize(
    ("status", "path"),
    [
        (Status.CONVERGED, lambda: saddle_path(X, Y)),
        (Status.LEAST_SQUARES, lambda: saddle_path(X.T, np.ones(4))),
        (Status.DEGENERATE, lambda: saddle_path([[1.0, 1.0]], [1.0])),
        (Status.STOPPED, lambda: saddle_path(X, Y, stop=lambda s: s.number == 2)),
        (Status.SADDLE_LIMIT, lambda: saddle_path(X, Y, max_saddles=1)),
        (Status.NOT_CERTIFIED, lambda: saddle_path(*inaccurate_problem())),
    ],
)
def test_every_status_is_reached(status, path):
    answer = path()
    assert answer.status is status
    assert str(status) in " ".join(str(answer).split())


def test_an_active_set_that_cycles_is_not_trusted(monkeypatch):
    monkeypatch.setattr(
        "limitpoint.theory.solvers.basis_pursuit.active_set.MAX_EXCHANGES_PER_CANDIDATE", 0
    )
    assert saddle_path(X, Y).status is Status.NOT_CERTIFIED


def test_drifting_factors_are_computed_afresh(monkeypatch):
    calls = []
    original = ActiveSet.refactor
    monkeypatch.setattr(ActiveSet, "refactor", lambda self: (calls.append(1), original(self)))
    monkeypatch.setattr("limitpoint.theory.solvers.basis_pursuit.walk.FACTOR_DRIFT_TOL", -1.0)
    rng = np.random.default_rng(0)
    A, y = rng.normal(size=(20, 60)), rng.normal(size=20)
    path = saddle_path(A, y)
    assert calls
    assert path.status is Status.CONVERGED
    monkeypatch.undo()
    np.testing.assert_allclose(path.coefs, saddle_path(A, y).coefs, rtol=1e-9, atol=1e-12)


def test_max_saddles_that_is_just_enough():
    assert saddle_path(X, Y, max_saddles=3).status is Status.CONVERGED
    assert saddle_path(X, Y, max_saddles=0).coefs.shape == (1, 4)


def test_stop_sees_every_saddle():
    seen = []
    path = saddle_path(X, Y, stop=lambda saddle: seen.append(saddle) or False)
    assert [s.number for s in seen] == [1, 2, 3]
    assert tuple(s.entered for s in seen) == path.entered
    assert tuple(s.left for s in seen) == path.left
    np.testing.assert_array_equal([s.time for s in seen], path.path_times[1:])
    np.testing.assert_array_equal([s.loss for s in seen], path.losses[1:])
    for saddle, k in zip(seen, path.coefs[1:], strict=True):
        np.testing.assert_array_equal(saddle.values, k[saddle.support])


def test_every_saddle_solves_the_problem_of_its_own_fit():
    path = saddle_path(X, Y, max_saddles=2)
    assert path.certificate.residuals["dual feasibility"] < 1e-14
    assert path.certificate.residuals["complementarity"] < 1e-14
    assert not path.certificate.ok


OVERFLOWING = np.array([[1e300, 1.0], [1e308, 1.0]]) * 1.7
NAN_OPERATOR = LinearOperator((2, 2), matvec=lambda v: v, rmatvec=lambda v: v * np.nan, dtype=float)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones(3), [1.0]), "X must have 2 dimension"),
        ((np.ones((0, 3)), []), "X must have at least one sample"),
        ((np.ones((2, 0)), [1.0, 1.0]), "at least one sample and one feature"),
        (([[np.nan, 1.0]], [1.0]), "X must be finite"),
        (([[np.inf, -np.inf]], [1.0]), "X must be finite"),
        ((sparse.csr_array([[np.inf, 1.0]]), [1.0]), "X must be finite"),
        (([[1j, 1.0]], [1.0]), "X must be an array of real numbers"),
        ((sparse.csr_array([[1j, 1.0]]), [1.0]), "X must hold real numbers"),
        ((np.full((4, 2), 1.7e308), np.ones(4)), "norm overflows"),
        ((NAN_OPERATOR, [1.0, 1.0]), "LinearOperator"),
        ((X, [1.0]), r"y must have one entry per sample \(2,\)"),
        ((X, np.ones((2, 1))), "y must have one entry per sample"),
        ((X, [1.0, np.nan]), "y must be finite"),
        ((X, [1.0, 1j]), "y must be an array of real numbers"),
        ((X, Y, [1.0, 2.0]), r"t_plus must be one number or one per feature \(4\)"),
        ((X, Y, 1.0, -1.0), "t_minus must not be negative"),
        ((X, Y, np.nan), "t_plus must hold numbers, not NaN"),
    ],
)
def test_bad_data(arguments, message):
    with pytest.raises(DataError, match=message):
        saddle_path(*arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lower": 1.0}, "lower must be at most 0"),
        ({"upper": -1.0}, "upper must be at least 0"),
        ({"upper": [1.0]}, "upper must be one number or one per feature"),
        ({"max_saddles": -1}, "max_saddles must be a whole number, at least 0"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(DataError, match=message):
        saddle_path(X, Y, **options)
