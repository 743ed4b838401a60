"""Gradient descent with noise on the labels, and its stochastic differential equation.

Notation (varre, Appendix D): `β = Wa` a two-layer network with one output, m samples, η the
learning rate, κ the `loss_factor`, B a Brownian motion of m numbers.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from limitpoint.dynamics.diffusion import Diffusion
from limitpoint.dynamics.training.descent import DrawnLoss
from limitpoint.dynamics.training.optimisers import (
    STEPS_PER_BLOCK,
    GradientRule,
)
from limitpoint.errors import DataError, LimitpointError, NetworkError
from limitpoint.foundation.arrays import Float, as_kind, as_number, as_positive, as_seed
from limitpoint.foundation.extras import lazy_module
from limitpoint.networks import TwoLayer
from limitpoint.problem import Problem, as_problem
from limitpoint.tasks import Regression

if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
else:
    jax, jnp = lazy_module("jax", "training"), lazy_module("jax.numpy", "training")

__all__ = ["LabelNoise", "LabelNoiseModel"]

# A block of draws, which is generated whole, holds at most so many numbers: a megabyte.
NUMBERS_PER_BLOCK = 2**17


@dataclass(frozen=True)
class LabelNoise(GradientRule):
    """Gradient descent on labels with fresh noise in every step, `y + ε_t`, `ε_t ~ δ N(0, I)`.

    `θ ← θ − learning_rate · ∇ loss_factor · ½‖f(X) − y − ε_t‖²`, for any network and any y.

    Parameters
    ----------
    learning_rate
        Step size, positive.
    delta
        δ, the standard deviation of the noise on every entry of y; 0 is `GD`.
    seed
        Of the noise: the same seed gives the same noise, in units of δ, in the same step, whatever
        is recorded.
    momentum, nesterov, weight_decay
        As of `GD`.

    References
    ----------
    Varre et al. (2023), section 4 and Appendix D; Blanc et al. (2020).

    Examples
    --------
    >>> import limitpoint as lp
    >>> task, network = lp.Regression([[1.0, 2.0]], [1.0]), lp.Diagonal(depth=2)
    >>> problem = lp.Problem(network, lp.Init.zero_last(network, task, scale=0.5), task)
    >>> run = lp.train(problem, LabelNoise(learning_rate=1e-2, delta=0.1), steps=1000)
    >>> bool(abs(run.coef @ [1.0, 2.0] - 1.0) < 0.1)
    True
    """

    delta: float
    seed: int = 0

    def __init__(
        self,
        learning_rate: float,
        delta: float,
        *,
        seed: int = 0,
        momentum: float = 0.0,
        nesterov: bool = False,
        weight_decay: float = 0.0,
    ) -> None:
        object.__setattr__(self, "learning_rate", learning_rate)
        object.__setattr__(self, "momentum", momentum)
        object.__setattr__(self, "nesterov", nesterov)
        object.__setattr__(self, "weight_decay", weight_decay)
        super().__post_init__()
        object.__setattr__(self, "delta", _checked_delta(delta))
        object.__setattr__(self, "seed", as_seed(seed, "seed", LimitpointError))

    @property
    def is_random(self) -> bool:
        """Yes: fresh noise on the labels at every step."""
        return True

    @property
    def label_noise(self) -> float:
        """δ."""
        return self.delta

    @property
    def label(self) -> str:
        """Everything but the seed."""
        facts = (fact for fact in self._facts() if not fact.startswith("seed="))
        return f"LabelNoise({', '.join(facts)})"

    def refined(self) -> "LabelNoise":
        """Half the learning rate, with the same δ and seed.

        The noise of the limiting equation, δ√learning_rate, becomes smaller by √2.
        """
        return replace(self, learning_rate=self.learning_rate / 2)

    def with_seed(self, seed: int) -> "LabelNoise":
        """The same rule with other noise."""
        return replace(self, seed=seed)

    def loss(self, problem: Problem) -> DrawnLoss:
        """The task's, on noisy labels."""
        task = problem.task
        if not isinstance(task, Regression):
            raise DataError(
                "noise on the labels is for a regression, whose y are numbers; it is "
                f"{task!r}. Train on it by GD or SGD"
            )
        return lambda outputs, noise: task.loss_of_outputs(
            outputs(task.X), task.y + self.delta * noise
        )

    def draws(self, n_samples: int, first: int, count: int, outputs: tuple[int, ...] = ()) -> Float:
        """The noise of each step in units of δ, (count, n_samples, *outputs)."""
        shape = (n_samples, *outputs)
        steps = min(STEPS_PER_BLOCK, max(NUMBERS_PER_BLOCK // int(np.prod(shape)), 1))
        stretch = np.empty((count, *shape))
        for number in range(first // steps, -(-(first + count) // steps)):
            drawn = np.random.default_rng((self.seed, number)).standard_normal((steps, *shape))
            begin = number * steps
            low, high = max(first, begin), min(first + count, begin + steps)
            stretch[low - first : high - first] = drawn[low - begin : high - begin]
        return stretch


@dataclass(frozen=True, eq=False)
class LabelNoiseModel(Diffusion):
    """Label noise on a two-layer network with one output, as a stochastic differential equation.

    `dW = −∇_W L dt + s Xᵀ dB aᵀ`, `da = −∇_a L dt + s Wᵀ Xᵀ dB` (Itô). The state is W, row by row,
    and then a.

    **Scaling.** A step of `LabelNoise(η, δ)` adds `ηκδ Xᵀ N(0, I) aᵀ` to W in a time η, and
    `s·ΔB = s√η N(0, I)`, so that `s = √η·κ·δ`. Euler's method with time step η then *is* label
    noise gradient descent, in distribution. (Appendix D counts time in steps: ηδ beside a drift of
    `−η∇L` is the same. Section 4 writes δ for s.)

    Parameters
    ----------
    problem
        A `TwoLayer` network on a task whose y is a vector, or a matrix of one column.
    noise
        s. `LabelNoiseModel.of` computes it from an optimiser.
    time_step
        Of the simulation.

    References
    ----------
    Varre et al. (2023), section 4 and Appendix D (there X is whitened away).

    Examples
    --------
    >>> import limitpoint as lp
    >>> task, network = lp.Regression([[1.0, 2.0]], [1.0]), lp.TwoLayer(width=3)
    >>> problem = lp.Problem(network, lp.Init.orthogonal(network, task, gamma=0.5), task)
    >>> model = LabelNoiseModel.of(problem, LabelNoise(learning_rate=1e-2, delta=0.5))
    >>> round(model.noise, 6), model.diffusion(model.start).shape
    (0.05, (9, 1))
    """

    problem: Problem
    noise: float
    time_step: float = 1e-3

    def __post_init__(self) -> None:
        as_problem(self.problem)
        network, task = self.problem.network, self.problem.regression
        if not isinstance(network, TwoLayer):
            raise NetworkError(
                f"the model is one of two-layer networks, TwoLayer(); the network is {network}"
            )
        if task.y.size != task.n_samples:
            raise NetworkError(f"the model has one output; y has shape {task.y.shape}")
        object.__setattr__(self, "noise", _checked_delta(self.noise, "noise"))
        step = as_positive(self.time_step, "time_step", LimitpointError)
        object.__setattr__(self, "time_step", step)

    @classmethod
    def of(cls, problem: Problem, optimiser: LabelNoise) -> "LabelNoiseModel":
        """The model of this optimiser: `s = √η·loss_factor·δ`, simulated in steps of η."""
        as_problem(problem)
        wanted = "LabelNoise(learning_rate, delta), of which the model is one"
        as_kind(optimiser, LabelNoise, wanted, "optimiser", LimitpointError)
        rate, factor = optimiser.learning_rate, problem.regression.loss_factor
        return cls(problem, float(np.sqrt(rate)) * factor * optimiser.delta, rate)

    @property
    def start(self) -> Float:
        """The layers at the start, one after the other."""
        return np.concatenate([layer.ravel() for layer in self.problem.init.layers])

    @property
    def noise_dimension(self) -> int:
        """One Brownian motion per sample."""
        return self.problem.regression.n_samples

    def split(self, states: Any) -> tuple[Any, Any]:
        """W (…, n, l) and a (…, l) from states."""
        features, width = self.problem.init.direction[0].shape
        first = states[..., : features * width]
        return first.reshape(*states.shape[:-1], features, width), states[..., first.shape[-1] :]

    def drift(self, state: Any) -> Any:
        """`−∇L`."""
        return self._moved(state, self._neg_grad(state))

    def kick(self, state: Any, increment: Any) -> Any:
        """`s Xᵀ ΔB aᵀ` and `s WᵀXᵀ ΔB`."""
        return self._moved(state, self.noise * (self.problem.regression.X.T @ increment))

    def diffusion(self, state: Any) -> Any:
        """The matrix of `kick`, (n·l + l) × m."""
        each = self.noise * jnp.asarray(self.problem.regression.X)
        return jax.vmap(lambda force: self._moved(state, force), out_axes=1)(each)

    def _neg_grad(self, state: Any) -> Any:
        """`−∇_β L = κXᵀ(y − XWa)`."""
        task = self.problem.regression
        first, second = self.split(state)
        residual = task.y.ravel() - task.X @ (first @ second)
        return task.loss_factor * (task.X.T @ residual)

    def _moved(self, state: Any, force: Any) -> Any:
        """What a force on the coefficients does to the layers."""
        first, second = self.split(state)
        return jnp.concatenate([jnp.outer(force, second).ravel(), first.T @ force])


def _checked_delta(value: float, name: str = "delta") -> float:
    rule = f"{name} must be a number, at least 0"
    size = as_number(value, rule, LimitpointError)
    if not (np.isfinite(size) and size >= 0):
        raise LimitpointError(f"{rule}; it is {size}")
    return size
