"""Diagonal linear networks, `β = a₁ ⊙ … ⊙ a_L`."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from limitpoint.arrays import Float, as_whole_number
from limitpoint.errors import NetworkError
from limitpoint.init import Init
from limitpoint.mirror import (
    ExponentialMap,
    GrowthTimes,
    MirrorMap,
    diagonal_growth_times,
)
from limitpoint.networks.base import GrowthCoordinates, Network
from limitpoint.tasks import Regression

__all__ = ["Diagonal"]

# exp of this is still finite.
LARGEST_LOG = 709.0


@dataclass(frozen=True)
class Diagonal(Network):
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

    depth: int = 2

    def __post_init__(self) -> None:
        depth = as_whole_number(self.depth, 2, "depth", NetworkError)
        object.__setattr__(self, "depth", depth)

    @property
    def degree(self) -> int:
        """The depth."""
        return self.depth

    def layer_shapes(self, task: Regression) -> tuple[tuple[int, ...], ...]:
        """L layers with one entry per feature."""
        if task.n_outputs is not None:
            raise NetworkError(
                f"a diagonal network has one output; y has shape {task.y.shape}. "
                "Pass y as a vector of shape (m,)"
            )
        return ((task.n_features,),) * self.depth

    def coef(self, layers: Sequence[Any]) -> Any:
        """The entrywise product of the layers."""
        return reduce(operator.mul, layers)

    def invariants(self, layers: Sequence[Float]) -> Float:
        """`a_j² − a_1²` for j = 2 … L (Labarrière et al. 2024, Proposition 1)."""
        first = layers[0]
        return np.stack([(layer - first) * (layer + first) for layer in layers[1:]])

    def mirror_map(self, init: Init) -> MirrorMap | None:
        """The exponential map at depth 2."""
        if self.depth != 2:
            return None
        init.check_products(self.degree)
        a, b = init.direction
        return ExponentialMap.from_layers(a, b, init.log_scale)

    def layers_at(self, init: Init, clocks: Float) -> tuple[Float, ...] | None:
        """At depth 2 the layers' sum grows as e^ξ and their difference decays as e^−ξ."""
        if self.depth != 2:
            return None
        return SumsAndDifferences.of(init).layers(np.concatenate([clocks, -clocks], axis=-1))

    def growth_times(self, init: Init) -> GrowthTimes | None:
        """At any depth; 1 on both sides at depth 2 (zhao: 1/λ of the Hessian of a·b)."""
        return diagonal_growth_times(init.direction, init.log_scale)

    def growth_coordinates(self, init: Init) -> GrowthCoordinates | None:
        """Log-growth of the layers' sums and differences at depth 2."""
        if self.depth != 2:
            return None
        init.check_products(self.degree)
        return SumsAndDifferences.of(init)


@dataclass(frozen=True, eq=False)
class SumsAndDifferences(GrowthCoordinates):
    """The parameters of `β = a·b` as `a + b = p₀e^w` and `a − b = r₀e^z`, state (w, z).

    In these coordinates the flow reads `ẇ = u`, `ż = −u` with `u = −∇_β loss`, and
    `β = ((a+b)² − (a−b)²)/4`.
    """

    sum_sign: Float
    sum_log: Float
    difference_sign: Float
    difference_log: Float

    @classmethod
    def of(cls, init: Init) -> "SumsAndDifferences":
        """The coordinates that start at this initialisation."""
        a, b = init.direction
        with np.errstate(divide="ignore"):
            return cls(
                sum_sign=np.sign(a + b),
                sum_log=np.log(np.abs(a + b)) + init.log_scale,
                difference_sign=np.sign(a - b),
                difference_log=np.log(np.abs(a - b)) + init.log_scale,
            )

    @property
    def dimension(self) -> int:
        """Two numbers per coefficient."""
        return 2 * len(self.sum_sign)

    @property
    def movable(self) -> Float:
        """Zero where both layers start at zero."""
        return (np.isfinite(self.sum_log) | np.isfinite(self.difference_log)).astype(np.float64)

    def velocity(self, pull: Float) -> Float:
        """`(u, −u)`."""
        moved = (pull.T * self.movable).T
        return np.concatenate([moved, -moved])

    def coefs(self, states: Float) -> Float:
        """`((a+b)² − (a−b)²)/4`."""
        signs, logs = self.signs_and_logs(states)
        with np.errstate(under="ignore"):
            return signs * np.exp(np.minimum(logs, LARGEST_LOG))

    def times_gradient(self, matrix: Float, state: Float) -> Float:
        """The derivative is `½(a+b)²` in w and `−½(a−b)²` in z."""
        sums, differences = self._log_squares(state)
        with np.errstate(under="ignore", over="ignore"):
            by_sum = 2 * np.exp(np.minimum(sums, LARGEST_LOG))
            by_difference = 2 * np.exp(np.minimum(differences, LARGEST_LOG))
            return np.hstack([matrix * by_sum, -matrix * by_difference])

    def signs_and_logs(self, states: Float) -> tuple[Float, Float]:
        """Of the difference of two squares, from the logarithms of both."""
        grown, shrunk = np.split(states, 2, axis=-1)
        high = np.maximum(*self._log_squares(states))
        frozen = np.isneginf(high)
        with np.errstate(invalid="ignore", divide="ignore", under="ignore"):
            # The two logarithms are subtracted part by part: at large scale they are nearly equal.
            gap = 2 * (grown - shrunk) + 2 * (self.sum_log - self.difference_log)
            logs = np.where(frozen, -np.inf, high + np.log(-np.expm1(-np.abs(gap))))
            signs = np.where(frozen, 0.0, np.sign(gap))
        return signs, logs

    def layers(self, states: Float) -> tuple[Float, ...]:
        """Half the sum and half the difference of `a + b` and `a − b`."""
        grown, shrunk = np.split(states, 2, axis=-1)
        with np.errstate(under="ignore"):
            sums = self.sum_sign * np.exp(np.minimum(self.sum_log + grown, LARGEST_LOG))
            differences = self.difference_sign * np.exp(
                np.minimum(self.difference_log + shrunk, LARGEST_LOG)
            )
        return (sums + differences) / 2, (sums - differences) / 2

    def _log_squares(self, states: Float) -> tuple[Float, Float]:
        """`log((a±b)²/4)`."""
        grown, shrunk = np.split(states, 2, axis=-1)
        return (
            2 * (self.sum_log + grown) - np.log(4.0),
            2 * (self.difference_log + shrunk) - np.log(4.0),
        )
