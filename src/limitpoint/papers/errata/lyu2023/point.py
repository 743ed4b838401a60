"""A balanced network at a point off the data, and its exact derivatives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import limitpoint as lp
from limitpoint.foundation.arrays import Float

__all__ = ["ROUNDING", "Point", "error", "rank_one_point", "standard_point"]

SAMPLES, FEATURES = 4, 7
# Identities of float64, through a dozen products and sums.
ROUNDING = 1e-10


@dataclass(frozen=True, eq=False)
class Point:
    """Layers, and what the paper makes of them. `along` is `θθᵀ/‖θ‖²`."""

    network: Any
    task: lp.Regression
    layers: tuple[Float, ...]

    @property
    def theta(self) -> Float:
        """The coefficients θ of the network."""
        return np.asarray(self.network.coef(self.layers))

    @property
    def norm(self) -> float:
        """The norm ‖θ‖ of the coefficients."""
        return float(np.linalg.norm(self.theta))

    @property
    def along(self) -> Float:
        """`θθᵀ/‖θ‖²`."""
        return np.outer(self.theta, self.theta) / self.norm**2

    @property
    def residual(self) -> Float:
        """r, the paper's: Xθ − y."""
        return np.asarray(self.task.X @ self.theta - self.task.y)

    @property
    def gradient(self) -> Float:
        """`Xᵀr`: with the paper's sign of r the gradient in θ, over 2/n."""
        return np.asarray(self.task.X.T @ self.residual)

    @property
    def loss(self) -> float:
        """The mean of squares."""
        return float(np.mean(self.residual**2))

    def velocity(self) -> Float:
        """θ̇ under gradient flow of the layers, by automatic differentiation."""

        def moving(layers: Any) -> Any:
            down = jax.tree.map(jnp.negative, jax.grad(self._loss)(layers))
            return jax.jvp(self.network.coef, (layers,), (down,))[1]

        with jax.enable_x64(True):
            return np.asarray(jax.jit(moving)(tuple(map(jnp.asarray, self.layers))))

    def second_derivative(
        self, function: Callable[[Any], Any], direction: Sequence[Float]
    ) -> Float:
        """Of a function of θ, along a direction of the layers."""

        def moved(step: Any) -> Any:
            layers = [a + step * b for a, b in zip(self.layers, direction, strict=True)]
            return function(self.network.coef(layers))

        with jax.enable_x64(True):
            return np.asarray(jax.jit(jax.jacfwd(jax.jacfwd(moved)))(0.0))

    def _loss(self, layers: Any) -> Any:
        residual = jnp.asarray(self.task.X) @ self.network.coef(layers) - jnp.asarray(self.task.y)
        return jnp.mean(residual**2)


def rank_one_point(depth: int = 3, norm: float = 3.0) -> Point:
    """A balanced rank-one network at this norm, with residuals of size 1 of both signs."""
    return _point(lp.RankOne(depth=depth, width=2), norm)


def standard_point(depth: int = 3, norm: float = 2.0) -> Point:
    """A balanced dense network at this norm."""
    return _point(lp.FullyConnected(widths=(3,) * (depth - 1)), norm)


def error(found: Any, true: Any) -> float:
    """The relative error of a number, vector or matrix."""
    off = np.linalg.norm(np.asarray(found) - np.asarray(true))
    return float(off / np.linalg.norm(np.asarray(true)))


def _point(network: Any, norm: float) -> Point:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((SAMPLES, FEATURES))
    task = lp.Regression(X, np.zeros(SAMPLES), loss_factor=2 / SAMPLES)
    init = lp.Init.balanced(network, task, norm=norm, seed=4)
    # All residuals have modulus 1: the model of the noise, cov = ℓ/n · I, is then exact.
    y = X @ network.coef(init.layers) - np.array([1.0, -1.0, -1.0, 1.0])
    return Point(network, lp.Regression(X, y, loss_factor=2 / SAMPLES), init.layers)
