"""Diagonal linear networks, `β = a₁ ⊙ … ⊙ a_L`."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.mirror import (
    ActivationTimes,
    DeepMap,
    ExponentialMap,
    MirrorMap,
    diagonal_activation_times,
)
from limitpoint.mirror.charts.deep_diagonal_chart import DeepDiagonalChart
from limitpoint.mirror.charts.log_chart import LogChart
from limitpoint.mirror.charts.power_sums import PowerSums
from limitpoint.networks.kinds.layer_gradients import gradients_of_product
from limitpoint.networks.kinds.layered import LayeredNetwork
from limitpoint.networks.kinds.multilinear import check_tensor_size
from limitpoint.networks.kinds.single_output import feature_shape
from limitpoint.tasks import Task

__all__ = ["Diagonal"]


@dataclass(frozen=True)
class Diagonal(LayeredNetwork):
    """A diagonal linear network: the coefficients are the entrywise product of L layers.

    Parameters
    ----------
    depth
        Number of layers, at least 2. The layers are L arrays of shape (n,).

    Examples
    --------
    >>> import numpy as np
    >>> Diagonal(depth=3).coef([np.array([1.0, 2.0])] * 3).tolist()
    [1.0, 8.0]
    """

    def layer_shapes(self, task: Task) -> tuple[tuple[int, ...], ...]:
        """L layers with one entry per feature."""
        return (feature_shape(task, "diagonal"),) * self.depth

    def coef(self, layers: Sequence[Any]) -> Any:
        """The entrywise product of the layers."""
        return reduce(operator.mul, layers)

    def layer_gradients(
        self, layers: Sequence[Float], direction: Float
    ) -> tuple[Float, ...] | None:
        """The direction times the product of the other layers."""
        return gradients_of_product(layers, direction)

    def tensor(self, task: Task) -> Float:
        """The tensor form M, (n, …, n): one where all indices are equal. Small sizes only."""
        ((size,), *_) = self.layer_shapes(task)
        shape = (size,) * (self.depth + 1)
        check_tensor_size(self, shape)
        tensor = np.zeros(shape)
        tensor[(np.arange(size),) * (self.depth + 1)] = 1.0
        return tensor

    def invariants(self, layers: Sequence[Float]) -> Float:
        """`a_j² − a_1²` for j = 2 … L (Labarrière et al. 2024, Proposition 1)."""
        first = layers[0]
        return np.stack([(layer - first) * (layer + first) for layer in layers[1:]])

    def mirror_map(self, init: Init) -> MirrorMap | None:
        """The exponential map at depth 2, a map with poles beyond."""
        init.check_products(self.degree)
        if self.depth == 2:
            a, b = init.direction
            return ExponentialMap.from_layers(a, b, init.log_scale)
        init.check_mirror(self.degree)
        return DeepMap.from_layers(init.direction, init.log_scale)

    def layers_at(self, init: Init, xi: Float) -> tuple[Float, ...] | None:
        """At depth 2 the layers' sum grows as e^ξ and their difference decays as e^−ξ.

        At greater depth the smallest layer follows from its curve parameter, the others from it.
        """
        if self.depth == 2:
            return _two_layers_at(init, xi)
        mirror = DeepMap.from_layers(init.direction, init.log_scale)
        coordinates = DeepDiagonalChart.of(init)
        curve_params = mirror.curve_params(xi / mirror.mirror_unit)
        return coordinates.layers(coordinates.states_at(curve_params))

    def activation_times(self, init: Init) -> ActivationTimes | None:
        """At any depth; 1 on both sides at depth 2 (zhao: 1/λ of the Hessian of a·b)."""
        return diagonal_activation_times(init.direction, init.log_scale)

    def log_chart(self, init: Init) -> LogChart | None:
        """Log-growth of the layers' sums and differences at depth 2, of the smallest beyond."""
        init.check_products(self.degree)
        if self.depth == 2:
            return _sums_and_differences(init)
        init.check_mirror(self.degree)
        return DeepDiagonalChart.of(init)


def _two_layers_at(init: Init, xi: Float) -> tuple[Float, Float]:
    """Near the start from how much they move, which is all of a layer that starts at zero."""
    found = _sums_and_differences(init).layers(np.concatenate([xi, -xi], axis=-1))
    first, second = (init.scale * layer for layer in init.direction)
    near = np.clip(xi, -1.0, 1.0)
    grown = (first + second) * np.expm1(near) / 2
    shrunk = (first - second) * np.expm1(-near) / 2
    moved = (first + (grown + shrunk), second + (grown - shrunk))
    a, b = (np.where(near == xi, new, old) for new, old in zip(moved, found, strict=True))
    return a, b


def _sums_and_differences(init: Init) -> PowerSums:
    """`ab = p² − d²` in the half sum p and the half difference d of two layers."""
    a, b = init.direction
    return PowerSums.of(
        [(a + b) / 2, (a - b) / 2],
        sides=[1, -1],
        start=a * b,
        degree=2,
        speed=1.0,
        log_scale=init.log_scale,
        to_layers=_layers_of_halves,
    )


def _layers_of_halves(halves: Sequence[Float]) -> tuple[Float, ...]:
    half_sum, half_difference = halves
    return half_sum + half_difference, half_sum - half_difference
