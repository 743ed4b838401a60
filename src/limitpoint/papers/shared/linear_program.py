"""Minimum ℓ1 norms by a linear program that knows nothing of networks."""

import numpy as np
from scipy.optimize import linprog

from limitpoint.foundation.arrays import Float

__all__ = ["minimum_l1"]


def minimum_l1(X: Float, y: Float, weights: Float | None = None) -> Float:
    """Minimum (weighted) ℓ1 norm subject to `Xk = y`, by linear programming.

    Examples
    --------
    >>> minimum_l1(np.array([[1.0, 2.0]]), np.array([1.0])).round(12).tolist()
    [0.0, 0.5]
    """
    n = X.shape[1]
    cost = np.ones(n) if weights is None else weights
    found = linprog(np.tile(cost, 2), A_eq=np.hstack([X, -X]), b_eq=y, bounds=(0, None))
    if not found.success:
        raise RuntimeError(f"the linear program failed: {found.message}")
    return np.asarray(found.x[:n] - found.x[n:])
