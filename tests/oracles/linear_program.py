"""Weighted, sign-asymmetric basis pursuit as a linear program, solved by HiGHS."""

import numpy as np
from scipy import sparse
from scipy.optimize import linprog


def minimal_penalty(X, y, t_plus, t_minus, lower=-np.inf, upper=np.inf):
    """Return ``min Σ t⁺k⁺ + t⁻k⁻  s.t.  Xk = y``; infinite growth times forbid a side."""
    X = sparse.csc_array(X)
    n = X.shape[1]
    t_plus, t_minus = np.broadcast_to(t_plus, n), np.broadcast_to(t_minus, n)
    top = np.concatenate([np.broadcast_to(upper, n), -np.broadcast_to(lower, n)])
    costs = np.concatenate([t_plus, t_minus]).astype(float)
    top = np.where(np.isinf(costs), 0.0, top)
    costs = np.where(np.isinf(costs), 0.0, costs)
    bounds = [(0.0, None if np.isinf(b) else b) for b in top]
    both = sparse.hstack([X, -X]).tocsc()
    # HiGHS stops at 1e-7 by default, too loose to compare at 1e-9.
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    answer = linprog(costs, A_eq=both, b_eq=y, bounds=bounds, method="highs", options=options)
    assert answer.status == 0, answer.message
    return answer.fun
