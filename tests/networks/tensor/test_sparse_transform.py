"""Networks made for a transform: what is sparse in the end is the transform of the coefficients."""

import numpy as np
import pytest
from scipy.fft import dct
from scipy.optimize import linprog

import limitpoint as lp
from limitpoint.errors import NetworkError


def least_transform(T, X, y):
    """`min ‖Tβ‖₁, Xβ = y` by linear programming; returns the norm."""
    n = len(T)
    A = np.hstack([X, np.zeros_like(X)])
    bounds = np.vstack([np.hstack([T, -np.eye(n)]), np.hstack([-T, -np.eye(n)])])
    cost = np.append(np.zeros(n), np.ones(n))
    found = linprog(cost, A_ub=bounds, b_ub=np.zeros(2 * n), A_eq=A, b_eq=y, bounds=(None, None))
    return float(found.fun)


def haar(n):
    """The orthonormal Haar transform of 2^k numbers."""
    if n == 1:
        return np.ones((1, 1))
    half = haar(n // 2)
    return np.vstack([np.kron(half, [1, 1]), np.kron(np.eye(n // 2), [1, -1])]) / np.sqrt(2)


def problem_of(network, seed, scale):
    rng = np.random.default_rng(seed)
    task = lp.Regression(rng.standard_normal((3, 8)), rng.standard_normal(3))
    return lp.Problem(network, lp.Init.zero_last(network, task, scale), task)


TRANSFORMS = {
    "cosine": dct(np.eye(8), norm="ortho", axis=0),
    "Haar": haar(8),
    "differences": np.eye(8) - 0.9 * np.eye(8, k=-1),
    "any": np.random.default_rng(1).standard_normal((8, 8)) + 3 * np.eye(8),
}


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_the_vanishing_start_ends_at_the_least_transform(name, depth, seed):
    T = TRANSFORMS[name]
    problem = problem_of(lp.analysis.design(T, depth), seed, 0.0)
    limit = lp.predict(problem)
    assert limit.certificate.ok
    task = problem.regression
    best = least_transform(T, task.X, task.y)
    assert np.abs(T @ limit.coef).sum() == pytest.approx(best, rel=1e-8)


@pytest.mark.parametrize("name", ["differences", "any"])
def test_the_printed_choice_is_for_orthogonal_transforms_only(name):
    """Remark 3 of yun has S = T: what is sparse is then T⁻ᵀβ."""
    T = TRANSFORMS[name]
    printed = lp.OrthogonalTensor(T, [np.eye(8)] * 2)
    problem = problem_of(printed, 0, 0.0)
    task, coef = problem.regression, lp.predict(problem).coef
    assert np.abs(T @ coef).sum() > 1.01 * least_transform(T, task.X, task.y)
    other = np.linalg.inv(T).T
    assert np.abs(other @ coef).sum() == pytest.approx(
        least_transform(other, task.X, task.y), rel=1e-8
    )


def test_flow_agrees():
    problem = problem_of(lp.analysis.design(TRANSFORMS["any"], 3), 0, 0.05)
    run = lp.flow(problem, space=lp.ParameterSpace(rtol=1e-12))
    # The end point is as accurate as the integrator and its stopping rule, 1e-10, times the
    # condition of T.
    tolerance = 1e-10 * 100 * np.linalg.cond(TRANSFORMS["any"])
    np.testing.assert_allclose(run.coef, lp.predict(problem).coef, atol=tolerance)


def test_classification_is_sparse_under_it_too():
    T = TRANSFORMS["any"]
    rng = np.random.default_rng(2)
    task = lp.Classification(rng.standard_normal((3, 8)), [1, -1, 1])
    network = lp.analysis.design(T)
    limit = lp.predict(lp.Problem(network, lp.Init.zero_last(network, task, 1.0), task))
    assert limit.certificate.ok
    assert limit.potential == pytest.approx(np.abs(T @ limit.coef).sum(), rel=1e-9)
    assert (np.abs(T @ limit.coef) > 1e-9).sum() <= 3


@pytest.mark.parametrize(
    ("T", "message"),
    [
        (np.ones((2, 3)), "must be a square matrix"),
        (np.ones((2, 2)), "must be invertible"),
        (np.diag([1.0, 1e-9]), "condition number"),
        ([[np.nan]], "must be finite"),
        (np.zeros((0, 0)), "at least one entry"),
    ],
)
def test_bad_transforms(T, message):
    with pytest.raises(NetworkError, match=message):
        lp.analysis.design(T)


def test_bad_depth():
    with pytest.raises(NetworkError, match="depth must be a whole number, at least 2"):
        lp.analysis.design(np.eye(2), depth=1)
