"""Gradient flow of the layers themselves, by SciPy alone: no mirror map, no coordinates, no JAX.

For `β = Π_j a_j` and the loss `loss_factor · ½‖Xβ − y‖²` every layer moves by
`ȧ_j = u ⊙ Π_{k≠j} a_k`, with `u = loss_factor · Xᵀ(y − Xβ)`.

The end of the flow of the other families, and of small scales, is `limit` in `brute_limit`.
"""

import numpy as np
from scipy.integrate import solve_ivp
from tests.oracles.brute.families import general, power
from tests.oracles.brute.limit import flow_end, limit

__all__ = ["flow_coefs", "flow_end", "flow_layers", "flow_limit", "general", "limit", "power"]

RTOL = 1e-11
# Layers of problems given to this oracle are of order 1 at least at the end.
ATOL = 1e-14
# The relative residual at which the flow counts as converged, relative to ‖y‖.
RESIDUAL = 1e-10
LONGEST_TIME = 1e6


def flow_layers(X, y, layers, times, loss_factor=1.0):
    """The layers at the given times, shape (times, layers, features)."""
    solution = _integrate(X, y, layers, float(np.max(times)), loss_factor, t_eval=times)
    return np.moveaxis(solution.y.reshape(len(layers), X.shape[1], -1), -1, 0)


def flow_coefs(X, y, layers, times, loss_factor=1.0):
    """The coefficients at the given times, shape (times, features)."""
    return np.prod(flow_layers(X, y, layers, times, loss_factor), axis=1)


def flow_limit(X, y, layers, loss_factor=1.0):
    """The coefficients when the data are fitted to `RESIDUAL`."""

    def has_fitted(_, state):
        coef = np.prod(state.reshape(len(layers), -1), axis=0)
        return np.linalg.norm(y - X @ coef) - RESIDUAL * np.linalg.norm(y)

    has_fitted.terminal = True
    solution = _integrate(X, y, layers, LONGEST_TIME, loss_factor, events=has_fitted)
    if solution.t_events[0].size == 0:
        raise RuntimeError("the brute-force flow did not fit the data")
    return np.prod(solution.y_events[0][-1].reshape(len(layers), -1), axis=0)


def _integrate(X, y, layers, t_end, loss_factor, **options):
    depth = len(layers)

    def velocity(_, state):
        parts = state.reshape(depth, -1)
        neg_grad = loss_factor * (X.T @ (y - X @ np.prod(parts, axis=0)))
        others = [np.prod(np.delete(parts, j, axis=0), axis=0) for j in range(depth)]
        return (neg_grad * np.stack(others)).ravel()

    start = np.concatenate([np.asarray(layer, dtype=float) for layer in layers])
    solution = solve_ivp(
        velocity, (0.0, t_end), start, method="DOP853", rtol=RTOL, atol=ATOL, **options
    )
    if not solution.success:
        raise RuntimeError(solution.message)
    return solution
