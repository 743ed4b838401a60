"""The predicted limit by direct minimisation of its potential among the interpolators.

The constraint is eliminated (`β = particular + N z`, N a basis of the null space) and SciPy's
trust-region Newton method minimises over z; the tied case is an entropy problem for cvxpy.
"""

import cvxpy as cp
import numpy as np
from scipy.linalg import null_space
from scipy.optimize import linprog, minimize

# Norm of the reduced gradient `Nᵀ∇Q` at the answer.
GRADIENT_TOLERANCE = 1e-11
POLISHING_STEPS = 5


def minimise_potential(X, y, a, b):
    """argmin Σ Q_i s.t. Xβ = y, `Q' = ½ asinh(2β/Δ) − ½c`, for layers of different moduli."""
    delta = np.abs(a**2 - b**2)
    centre = np.arcsinh(2 * a * b / delta)
    particular = np.linalg.lstsq(X, y, rcond=None)[0]
    basis = null_space(X)

    def value(z):
        coef = particular + basis @ z
        bend = np.sqrt(4 * coef**2 + delta**2)
        return np.sum((2 * coef * np.arcsinh(2 * coef / delta) - bend) / 4 - centre * coef / 2)

    def gradient(z):
        coef = particular + basis @ z
        return basis.T @ (np.arcsinh(2 * coef / delta) - centre) / 2

    def hessian(z):
        curvature = 1 / np.sqrt(4 * (particular + basis @ z) ** 2 + delta**2)
        return (basis.T * curvature) @ basis

    found = minimize(
        value,
        np.zeros(basis.shape[1]),
        jac=gradient,
        hess=hessian,
        method="trust-exact",
    )
    z = found.x
    # A trust region compares values of the potential, which resolve z to √eps only.
    for _ in range(POLISHING_STEPS):
        z = z - np.linalg.solve(hessian(z), gradient(z))
    if np.linalg.norm(gradient(z)) > GRADIENT_TOLERANCE:
        raise RuntimeError("the direct minimisation did not converge")
    return particular + basis @ z


def minimise_entropy(X, y, start):
    """argmin Σ ½(β log(β/β₀) − β) s.t. Xβ = y, β ≥ 0: the potential of layers that start equal."""
    coef = cp.Variable(X.shape[1])
    problem = cp.Problem(cp.Minimize(cp.sum(cp.kl_div(coef, start)) / 2), [X @ coef == y])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return coef.value


def minimum_l1(X, y):
    """The minimum-l1 interpolator and its dual certificate `Xᵀν` (entries in [−1, 1])."""
    n = X.shape[1]
    found = linprog(np.ones(2 * n), A_eq=np.hstack([X, -X]), b_eq=y, method="highs")
    return found.x[:n] - found.x[n:], X.T @ found.eqlin.marginals


def minimum_weighted_l2(X, y, weights):
    """argmin Σ weights_i β_i² s.t. Xβ = y, in closed form."""
    spread = X / weights
    return spread.T @ np.linalg.solve(spread @ X.T, y)
