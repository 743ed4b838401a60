"""What a practitioner runs: each optimiser is a value that says how one step is taken."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import jax
import numpy as np

from limitpoint.arrays import as_number
from limitpoint.errors import LimitpointError
from limitpoint.problem import Problem

__all__ = ["GD", "Layers", "Optimiser"]

Layers = tuple[jax.Array, ...]


class Optimiser(ABC):
    """A rule for one training step, traceable by JAX."""

    @property
    @abstractmethod
    def time_per_step(self) -> float:
        """Flow time that one step stands for."""

    @abstractmethod
    def refined(self) -> "Optimiser":
        """The same rule with half the step."""

    @abstractmethod
    def stepper(self, problem: Problem) -> Callable[[Layers, jax.Array], Layers]:
        """The map from layers and step number to the next layers."""


@dataclass(frozen=True)
class GD(Optimiser):
    """Full-batch gradient descent, `θ ← θ − learning_rate · ∇loss(θ)`.

    The loss is the task's, `loss_factor` included.
    """

    learning_rate: float

    def __post_init__(self) -> None:
        rule = "learning_rate must be a positive number"
        rate = as_number(self.learning_rate, rule, LimitpointError)
        if not (np.isfinite(rate) and rate > 0):
            raise LimitpointError(f"{rule}; it is {rate}")
        object.__setattr__(self, "learning_rate", rate)

    @property
    def time_per_step(self) -> float:
        """The learning rate."""
        return self.learning_rate

    def refined(self) -> "GD":
        """Half the learning rate."""
        return GD(self.learning_rate / 2)

    def stepper(self, problem: Problem) -> Callable[[Layers, jax.Array], Layers]:
        """One step down the full gradient."""
        task, network = problem.task, problem.network
        gradient = jax.grad(lambda layers: task.loss(network.coef(layers)))

        def step(layers: Layers, _: jax.Array) -> Layers:
            slopes = gradient(layers)
            return tuple(
                layer - self.learning_rate * slope
                for layer, slope in zip(layers, slopes, strict=True)
            )

        return step
