"""Max-margin classifiers by other means: primal cone programs, enumeration, support vectors.

Samples are given as rows `y_i x_i`. None of this uses limitpoint.
"""

import warnings
from itertools import combinations

import cvxpy as cp
import numpy as np
from scipy.optimize import linprog
from sklearn.svm import SVC


def by_cones(rows, norm, transform=None):
    """The primal problem, in the coefficients themselves; a complex transform is one of them."""
    beta = cp.Variable(rows.shape[1])
    inner = beta if transform is None else transform @ beta
    objective = cp.norm(inner, 2) if norm == 2 else cp.sum(cp.abs(inner))
    # Scaled so that Clarabel's absolute tolerances mean something.
    size = np.abs(rows).max()
    problem = cp.Problem(cp.Minimize(objective), [(rows / size) @ beta >= 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it stopped short of tolerances this tight
        problem.solve(
            solver=cp.CLARABEL, tol_gap_abs=1e-13, tol_gap_rel=1e-13, tol_feas=1e-13, max_iter=500
        )
    return beta.value / size


def fourier(n):
    """The unitary discrete Fourier transform, entry by entry."""
    index = np.arange(n)
    return np.exp(-2j * np.pi * np.outer(index, index) / n) / np.sqrt(n)


def l2_by_enumeration(rows):
    """Over all sets of support vectors: the least-norm point with margin 1 on them."""
    m, n = rows.shape
    best = None
    for size in range(1, min(m, n) + 1):
        for chosen in combinations(range(m), size):
            some = rows[list(chosen)]
            if np.linalg.matrix_rank(some) < size:
                continue
            beta = np.linalg.pinv(some) @ np.ones(size)
            feasible = (rows @ beta >= 1 - 1e-9).all()
            if feasible and (best is None or np.linalg.norm(beta) < np.linalg.norm(best)):
                best = beta
    return best


def l1_by_enumeration(rows):
    """Over all vertices: as many support vectors as coefficients that are not zero."""
    m, n = rows.shape
    best = None
    for size in range(1, min(m, n) + 1):
        for samples in combinations(range(m), size):
            for features in combinations(range(n), size):
                square = rows[np.ix_(samples, features)]
                if abs(np.linalg.det(square)) < 1e-12:
                    continue
                beta = np.zeros(n)
                beta[list(features)] = np.linalg.solve(square, np.ones(size))
                feasible = (rows @ beta >= 1 - 1e-9).all()
                if feasible and (best is None or np.abs(beta).sum() < np.abs(best).sum()):
                    best = beta
    return best


def by_support_vectors(rows):
    """libsvm's hard margin; every sample with its mirror image has no intercept."""
    doubled = np.vstack([rows, -rows])
    classes = np.concatenate([np.ones(len(rows)), -np.ones(len(rows))])
    size = np.abs(rows).max()
    machine = SVC(kernel="linear", C=1e10, tol=1e-10).fit(doubled / size, classes)
    return machine.coef_[0] / size


def width_of_l1_solutions(rows, value, seed=0):
    """How far apart two solutions of the ℓ1 problem can be: its optimal face in a random view."""
    m, n = rows.shape
    view = np.random.default_rng(seed).standard_normal(n)
    upper = np.vstack([np.hstack([-rows, rows]), np.ones((1, 2 * n))])
    bounds = np.append(-np.ones(m), value)
    ends = [
        linprog(np.concatenate([sign * view, -sign * view]), A_ub=upper, b_ub=bounds).x
        for sign in (1.0, -1.0)
    ]
    one, other = (end[:n] - end[n:] for end in ends)
    return float(np.abs(one - other).max())
