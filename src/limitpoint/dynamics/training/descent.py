"""A step against the gradient: plain, with momentum, with weight decay.

Notation: η the learning rate, μ the momentum, λ the weight decay, `g = ∇loss_k(θ)` the gradient of
the loss that step k sees. `v ← μv + g + λθ`, `θ ← θ − ηv` (heavy ball, Polyak 1964); after Nesterov
`θ ← θ − η(g + λθ + μv)`. At μ = 0 both are `θ ← (1 − ηλ)θ − ηg`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import as_number, as_truth
from limitpoint.foundation.extras import lazy_module
from limitpoint.problem import Problem

if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
else:
    jax, jnp = lazy_module("jax", "training"), lazy_module("jax.numpy", "training")

__all__ = ["Descent", "DrawnLoss", "Layers", "Step", "StepInCoefs"]

Layers: TypeAlias = "tuple[jax.Array, ...]"
Step = Callable[[Layers, Any], Layers]
StepInCoefs = Callable[[Layers, Any], tuple[Layers, Any]]
# The loss of a step: of the outputs, which are asked for by rows of X, and of what was drawn.
DrawnLoss = Callable[[Callable[[Any], Any], Any], Any]


@dataclass(frozen=True)
class Descent:
    """How steps follow gradients: learning rate, momentum and weight decay, checked."""

    learning_rate: float
    momentum: float
    nesterov: bool
    weight_decay: float

    @classmethod
    def of(
        cls, learning_rate: float, momentum: float, nesterov: bool, weight_decay: float
    ) -> "Descent":
        """From arguments of these names, or `LimitpointError`."""
        rule = "momentum must be a number in [0, 1)"
        memory = as_number(momentum, rule, LimitpointError)
        if not 0 <= memory < 1:
            raise LimitpointError(f"{rule}; it is {memory:g}")
        ahead = as_truth(nesterov, "nesterov", LimitpointError)
        if ahead and memory == 0:
            raise LimitpointError("nesterov needs a momentum above 0, like momentum=0.9")
        rule = "weight_decay must be a number of 0 or more, below 1/learning_rate"
        decay = as_number(weight_decay, rule, LimitpointError)
        if not 0 <= decay * learning_rate < 1:
            raise LimitpointError(f"{rule} = {1 / learning_rate:g}; it is {decay:g}")
        return cls(learning_rate, memory, ahead, decay)

    @property
    def time_per_step(self) -> float:
        """`η/(1 − μ)`: a constant gradient has moved the layers so far in the long run."""
        return self.learning_rate / (1 - self.momentum)

    def memory(self, layers: Layers) -> Layers:
        """`v = 0`."""
        return tuple(jnp.zeros_like(layer) for layer in layers) if self.momentum else ()

    def stepper(self, problem: Problem, loss: DrawnLoss) -> Step:
        """The next layers, and the next memory after them."""
        network = problem.network
        gradient = jax.grad(lambda layers, draw: loss(lambda X: network.outputs(layers, X), draw))

        def step(state: Layers, draw: Any) -> Layers:
            if not self.momentum:
                return self._moved(state, self._decayed(state, gradient(state, draw)))
            layers, memory = state[: len(state) // 2], state[len(state) // 2 :]
            slopes = self._decayed(layers, gradient(layers, draw))
            memory = tuple(self.momentum * v + g for v, g in zip(memory, slopes, strict=True))
            if self.nesterov:
                slopes = tuple(g + self.momentum * v for v, g in zip(memory, slopes, strict=True))
            return (*self._moved(layers, slopes if self.nesterov else memory), *memory)

        return step

    def step_in_coefs(self, problem: Problem, loss: DrawnLoss) -> StepInCoefs | None:
        """The same by way of the coefficients: `θ ← (1 − ηλ)(θ + (∂β/∂θ)ᵀ added)`.

        The part `added = −η/(1 − ηλ) · ∂loss/∂β` is handed on with the layers.
        """
        if self.momentum:
            return None
        network, rate = problem.network, self.learning_rate
        gradient = jax.grad(lambda coef, draw: loss(lambda X: X @ coef, draw))

        def step(layers: Layers, draw: Any) -> tuple[Layers, Any]:
            coef, back = jax.vjp(network.coef, layers)
            slope = gradient(coef, draw)
            after = self._moved(layers, self._decayed(layers, back(slope)[0]))
            return after, -rate / (1 - rate * self.weight_decay) * slope

        return step

    def _decayed(self, layers: Layers, slopes: Layers) -> Layers:
        if not self.weight_decay:
            return slopes
        return tuple(g + self.weight_decay * a for a, g in zip(layers, slopes, strict=True))

    def _moved(self, layers: Layers, slopes: Layers) -> Layers:
        return tuple(a - self.learning_rate * g for a, g in zip(layers, slopes, strict=True))
