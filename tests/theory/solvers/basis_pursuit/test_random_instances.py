"""A thousand random problems against HiGHS and SciPy's bounded least squares."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from tests.oracles.linear_program import minimal_penalty
from tests.theory.solvers.basis_pursuit.instances import dense, random_instance

from limitpoint import Status
from limitpoint.theory.solvers.basis_pursuit import saddle_path

OK = {Status.CONVERGED, Status.DEGENERATE}
# The mirror coordinates at a threshold are there to 1e-11 of the activation time, or to the
# rounding error of xᵀν.
AT_THRESHOLD = 1e-10
ROUNDING = 16 * np.finfo(float).eps


def check_limit(seed):
    X, y, t_plus, t_minus = random_instance(seed)
    path = saddle_path(X, y, t_plus, t_minus)
    assert path.status in OK
    assert path.certificate.worst <= 1e-9
    best = minimal_penalty(X, y, t_plus, t_minus)
    assert path.objective == pytest.approx(best, rel=1e-9, abs=1e-300)
    assert (np.diff(path.losses) < 0).all()
    assert (np.diff(path.path_times) >= 0).all()


def check_saddles(seed):
    """Every saddle is the least-squares point over the signs of ξ at a threshold."""
    X, y, t_plus, t_minus = random_instance(seed)
    path = saddle_path(X, y, t_plus, t_minus)
    A = dense(X)
    sizes = np.linalg.norm(A, axis=0)
    for s, nu, k in zip(path.mirrors[1:], path.duals[1:], path.coefs[1:], strict=True):
        near = AT_THRESHOLD * np.maximum(t_plus, t_minus) + ROUNDING * sizes * np.linalg.norm(nu)
        grows, falls = t_plus - s <= near, t_minus + s <= near
        threshold = np.flatnonzero(grows | falls)
        assert set(np.flatnonzero(k)) <= set(threshold)
        assert (k[grows] >= 0).all()
        assert (k[falls] <= 0).all()
        low = np.where(falls[threshold], -np.inf, 0.0)
        high = np.where(grows[threshold], np.inf, 0.0)
        norms = np.where(sizes[threshold] > 0, sizes[threshold], 1.0)
        bounds = (low * norms, high * norms)  # infinite or zero: unchanged by the scaling
        best = lsq_linear(A[:, threshold] / norms, y, bounds=bounds, method="bvls", tol=1e-14)
        error = np.linalg.norm(A @ k - A[:, threshold] @ (best.x / norms))
        assert error <= 1e-8 * np.linalg.norm(y)


@pytest.mark.parametrize("block", range(10))
def test_limits_match_highs(block):
    for seed in range(100 * block, 100 * block + 100):
        check_limit(seed)


@pytest.mark.parametrize("block", range(10))
def test_saddles_are_constrained_least_squares(block):
    for seed in range(100 * block, 100 * block + 100):
        check_saddles(seed)
