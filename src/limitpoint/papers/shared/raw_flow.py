"""Gradient flow of the layers as they stand, by an integrator that knows no structure."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from limitpoint.foundation.arrays import Float
from limitpoint.tasks import Regression

__all__ = ["RawFlow", "power_slopes", "product_slopes", "raw_flow"]

# Local error per step; what depends on it is checked to a thousand times as much.
RTOL = 1e-12
ATOL = 1e-14


@dataclass(frozen=True)
class RawFlow:
    """Layers (times × layers × n), coefficients (times × n), and duals (times × m)."""

    times: Float
    layers: Float
    coefs: Float
    duals: Float

    def excess(self, task: Regression) -> Float:
        """The loss above its minimum, without taking a difference of losses."""
        best = np.linalg.lstsq(task.X, task.y, rcond=None)[0]
        above: Float = 0.5 * task.loss_factor * np.sum(((self.coefs - best) @ task.X.T) ** 2, 1)
        return above


def product_slopes(layers: Float) -> tuple[Float, Float]:
    """`β = Π_j u^j` and its derivative in each layer, the product of the others."""
    before, after = np.ones_like(layers), np.ones_like(layers)
    np.cumprod(layers[:-1], axis=0, out=before[1:])
    np.cumprod(layers[:0:-1], axis=0, out=after[-2::-1])
    return before[-1] * layers[-1], before * after


def power_slopes(depth: int) -> Callable[[Float], tuple[Float, Float]]:
    """`β = u^L` of one layer, and its derivative."""
    return lambda layers: (layers[0] ** depth, depth * layers ** (depth - 1))


def raw_flow(
    slopes: Callable[[Float], tuple[Float, Float]],
    start: Float,
    task: Regression,
    times: ArrayLike,
    *,
    stiff: bool = False,
) -> RawFlow:
    """Integrate `du^j/dt = −∂β/∂u^j ⊙ ∇loss(β)` from layers (layers × n) to the given times.

    The dual `ν = ∫ loss_factor (y − Xβ) dt` is integrated along.
    """
    shape, count = start.shape, start.size

    def velocity(_: float, state: Float) -> Float:
        coef, derivative = slopes(state[:count].reshape(shape))
        residual = task.loss_factor * (task.y - task.X @ coef)
        return np.concatenate([(derivative * (task.X.T @ residual)).ravel(), residual])

    moments = np.asarray(times, dtype=np.float64)
    found = solve_ivp(
        velocity,
        (0.0, float(moments[-1])),
        np.concatenate([start.ravel(), np.zeros(task.n_samples)]),
        method="LSODA" if stiff else "DOP853",
        t_eval=moments,
        rtol=RTOL,
        atol=ATOL,
    )
    if not found.success:
        raise RuntimeError(f"the integration failed: {found.message}")
    layers = found.y[:count].T.reshape(-1, *shape)
    coefs = np.stack([slopes(one)[0] for one in layers])
    return RawFlow(moments, layers, coefs, found.y[count:].T)
