"""The interface of a logarithmic chart."""

from abc import ABC, abstractmethod

import numpy as np

from limitpoint.foundation.arrays import Float

__all__ = ["LogChart"]


class LogChart(ABC):
    """Coordinates of the parameters in which float64 holds the flow at any scale.

    The state is the growth of some combinations of the parameters, in logarithms, since the
    start: zero at first, and of order log(1/scale) when a coefficient becomes visible. They are
    another chart of parameter space: nothing here integrates or inverts a mirror map.
    """

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Length of the state."""

    @property
    @abstractmethod
    def movable(self) -> Float:
        """One for each coefficient that can move, zero for each that never will."""

    @property
    def lower(self) -> Float:
        """Bounds that coefficients cannot cross from above, where they are known: −∞ or 0."""
        return np.where(self.movable > 0, -np.inf, 0.0)

    @property
    def upper(self) -> Float:
        """Bounds that coefficients cannot cross from below, where they are known: ∞ or 0."""
        return np.where(self.movable > 0, np.inf, 0.0)

    @property
    @abstractmethod
    def log_time_unit(self) -> float:
        """Logarithm of the unit of time of `velocity`, in which inactive coefficients move."""

    @property
    def rates(self) -> Float | None:
        """Growth of each number of the state in a unit of ξ, its coefficient's mirror coordinate.

        None where it depends on the state. Else a step against a gradient multiplies what the
        number is the logarithm of by `1 + rate·ξ_step`, whatever the layers are.
        """
        return None

    @abstractmethod
    def velocity(self, neg_grad: Float, state: Float) -> Float:
        """Velocity of the state when the coefficients are driven by `−∇_β loss`.

        Linear in the negative gradient, which may have further axes after the first.
        """

    @abstractmethod
    def velocity_gradient(self, neg_grad: Float, state: Float) -> Float:
        """Derivative of the velocity in the state at a fixed gradient, (dimension, dimension)."""

    @abstractmethod
    def coefs(self, states: Float) -> Float:
        """Coefficients; the state is the last axis."""

    @abstractmethod
    def times_gradient(self, matrix: Float, state: Float) -> Float:
        """A matrix times the derivative of the coefficients in the state, (n, dimension).

        Each coefficient depends on its own few numbers of the state, so this is no full product.
        """

    @abstractmethod
    def signs_and_logs(self, states: Float) -> tuple[Float, Float]:
        """Signs and log-moduli of the coefficients."""

    @abstractmethod
    def layers(self, states: Float) -> tuple[Float, ...]:
        """The layers, as far as float64 holds them."""
