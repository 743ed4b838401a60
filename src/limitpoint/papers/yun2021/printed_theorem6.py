"""Theorem 6 as it is printed: a function of the data matrix and the two layers."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from limitpoint.foundation.arrays import Float
from limitpoint.networks import Convolutional, Diagonal, Network
from limitpoint.problem import Problem

__all__ = ["data_matrix", "printed_limit"]

EPS = float(np.finfo(np.float64).eps)


def data_matrix(network: Network, x: Float) -> Float:
    """`M(x)` of section 3, `f(x) = v₁ᵀM(x)v₂`; that of a dense network is the Kronecker product."""
    size = len(x)
    if isinstance(network, Diagonal):
        return np.diag(x)
    if isinstance(network, Convolutional):
        first, last = network.filter_sizes
        rows, columns = np.arange(first)[:, None], np.arange(last)[None, :]
        return np.asarray(x[(rows + columns) % size])
    return np.asarray(np.kron(np.eye(size), x[:, None]))


def printed_limit(problem: Problem) -> tuple[Float, Float]:
    """The layers v₁ and v₂ at the limit, as vectors (a matrix column by column)."""
    task, alpha = problem.regression, problem.init.scale
    x, y = task.X[0], float(task.y[0])
    first, second = (layer.ravel(order="F") for layer in problem.init.direction)
    left, s, right = np.linalg.svd(data_matrix(problem.network, x), full_matrices=False)
    kept = s > EPS * len(s) * s[0]
    U1, s, U2 = left[:, kept], s[kept], right[kept].T
    p, q = U1.T @ first, U2.T @ second

    def g(nu: float) -> float:
        terms = 0.5 * (p**2 + q**2) * np.sinh(2 * s * nu) + p * q * np.cosh(2 * s * nu)
        return float(s @ terms)

    nu = brentq(
        lambda z: g(z) - y / alpha**2, *_bracket(g, y / alpha**2), xtol=4 * EPS, rtol=4 * EPS
    )
    ahead, back = np.cosh(nu * s), np.sinh(nu * s)
    v1 = alpha * (U1 @ (p * ahead + q * back) + first - U1 @ (U1.T @ first))
    v2 = alpha * (U2 @ (p * back + q * ahead) + second - U2 @ (U2.T @ second))
    return v1, v2


def _bracket(g: Callable[[float], float], level: float) -> tuple[float, float]:
    """Where the increasing g is below and above the level."""
    low, high = -1.0, 1.0
    while g(low) > level:
        low *= 2
    while g(high) < level:
        high *= 2
    return low, high
