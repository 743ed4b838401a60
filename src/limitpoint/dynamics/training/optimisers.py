"""What a practitioner runs: each optimiser is a value that says how one step is taken."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from limitpoint.dynamics.fit import loss_at
from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import (
    as_positive,
    as_seed,
    as_truth,
    as_whole_number,
    check_numbers,
)
from limitpoint.foundation.display import Setting
from limitpoint.foundation.extras import lazy_module
from limitpoint.problem import Problem

if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
else:
    jax, jnp = lazy_module("jax", "training"), lazy_module("jax.numpy", "training")

__all__ = [
    "GD",
    "SGD",
    "Draws",
    "Indices",
    "Layers",
    "Optimiser",
    "Step",
    "as_learning_rate",
    "descend",
]

Layers: TypeAlias = "tuple[jax.Array, ...]"
Draws = NDArray[Any]
Indices = NDArray[np.int32]
Step = Callable[[Layers, Any], Layers]

# Batches are drawn in blocks of about so many steps, each from a generator of its own: the draw of
# a step then depends on the seed and the step alone, and any stretch of a run can be drawn again.
STEPS_PER_BLOCK = 1024
# Times are the rate times the step, of which there are 2^53 at most: the largest float is 2e308.
LARGEST_RATE = 1e290


class Optimiser(Setting, ABC):
    """A rule for one training step, traceable by JAX."""

    @property
    @abstractmethod
    def time_per_step(self) -> float:
        """Flow time that one step stands for."""

    @abstractmethod
    def refined(self) -> "Optimiser":
        """The same rule with half the step."""

    @abstractmethod
    def stepper(self, problem: Problem) -> Step:
        """The map from the layers, and what was drawn for this step, to the next layers."""

    @property
    def is_random(self) -> bool:
        """Whether steps depend on random draws."""
        return False

    @property
    def label_noise(self) -> float:
        """The standard deviation of the noise that steps see on every entry of y."""
        return 0.0

    @property
    def label(self) -> str:
        """The rule in words, without the seed."""
        return str(self)

    def with_seed(self, seed: int) -> "Optimiser":
        """The same rule with other draws; itself where nothing is drawn."""
        return self

    def draws(
        self, n_samples: int, first: int, count: int, outputs: tuple[int, ...] = ()
    ) -> Draws | None:
        """What is drawn for `count` steps from step number `first` on; None where nothing is.

        A function of the seed and the step number alone, for y of shape (n_samples, *outputs).
        """
        return None


@dataclass(frozen=True)
class GD(Optimiser):
    """Full-batch gradient descent, `θ ← θ − learning_rate · ∇loss(θ)`.

    The loss is the task's, `loss_factor` included.
    """

    learning_rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "learning_rate", as_learning_rate(self.learning_rate))

    @property
    def time_per_step(self) -> float:
        """The learning rate."""
        return self.learning_rate

    def refined(self) -> "GD":
        """Half the learning rate."""
        return GD(self.learning_rate / 2)

    def stepper(self, problem: Problem) -> Step:
        """One step down the full gradient."""
        gradient = jax.grad(lambda layers: loss_at(problem, layers))

        def step(layers: Layers, _: Any) -> Layers:
            return descend(layers, gradient(layers), self.learning_rate)

        return step


@dataclass(frozen=True)
class SGD(Optimiser):
    """Stochastic gradient descent: every step sees the samples of a random batch B only.

    `θ ← θ − learning_rate · ∇loss_B(θ)`, `loss_B = loss_factor · ½ · (m/b) · Σ_{j ∈ B} (x_jβ −
    y_j)²` with b samples of m: an unbiased estimate of the task's loss. With `loss_factor = 2/m` it
    is the mean over the batch.

    Parameters
    ----------
    learning_rate
        Step size, positive.
    batch_size
        b, at least 1; without replacement at most the number of samples.
    replacement
        True: the b samples of a step are drawn independently, each uniformly from all. False:
        random reshuffling. Every epoch goes through the samples in a new random order, in ⌊m/b⌋
        batches; the `m mod b` samples that are left over at its end are dropped.
    seed
        Of the batches: the same seed gives the same batch in the same step, whatever is recorded.

    Notes
    -----
    With `replacement=False` and b = m this is `GD` up to the order of summation.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task = lp.Regression([[1.0, 2.0], [2.0, -1.0]], [1.0, 0.0])
    >>> network = lp.Diagonal(depth=2)
    >>> problem = lp.Problem(network, lp.Init.zero_last(network, task, scale=0.5), task)
    >>> run = lp.train(problem, lp.SGD(learning_rate=1e-2, batch_size=1), steps=5000)
    >>> run.coef.round(6).tolist()
    [0.2, 0.4]
    >>> lp.SGD(1e-2, 2, replacement=False, seed=3).draws(4, first=0, count=2).shape
    (2, 2)
    """

    learning_rate: float
    batch_size: int
    replacement: bool = True
    seed: int = 0

    def __init__(
        self, learning_rate: float, batch_size: int, *, replacement: bool = True, seed: int = 0
    ) -> None:
        size = as_whole_number(batch_size, 1, "batch_size", LimitpointError)
        what = "the batches drawn at once"
        check_numbers(STEPS_PER_BLOCK * size, "batch_size", what, LimitpointError)
        object.__setattr__(self, "learning_rate", as_learning_rate(learning_rate))
        object.__setattr__(self, "batch_size", size)
        drawn = as_truth(replacement, "replacement", LimitpointError)
        object.__setattr__(self, "replacement", drawn)
        object.__setattr__(self, "seed", as_seed(seed, "seed", LimitpointError))

    @property
    def time_per_step(self) -> float:
        """The learning rate."""
        return self.learning_rate

    @property
    def is_random(self) -> bool:
        """Yes: the batches are drawn."""
        return True

    @property
    def label(self) -> str:
        """The learning rate, the batch size and how it is drawn."""
        how = "" if self.replacement else ", replacement=False"
        return f"SGD(learning_rate={self.learning_rate}, batch_size={self.batch_size}{how})"

    def refined(self) -> "SGD":
        """Half the learning rate, with the same batch size and seed."""
        return replace(self, learning_rate=self.learning_rate / 2)

    def with_seed(self, seed: int) -> "SGD":
        """The same rule with other batches."""
        return replace(self, seed=seed)

    def stepper(self, problem: Problem) -> Step:
        """One step down the gradient of the batch's loss."""
        self._check_size(problem.task.n_samples)
        task, network = problem.task, problem.network
        X, y = jnp.asarray(task.X), jnp.asarray(task.y)
        weight = task.n_samples / self.batch_size

        def batch_loss(layers: Layers, batch: "jax.Array") -> Any:
            return weight * task.loss_of_outputs(network.outputs(layers, X[batch]), y[batch])

        gradient = jax.grad(batch_loss)

        def step(layers: Layers, batch: "jax.Array") -> Layers:
            return descend(layers, gradient(layers, batch), self.learning_rate)

        return step

    def draws(
        self, n_samples: int, first: int, count: int, outputs: tuple[int, ...] = ()
    ) -> Indices:
        """The samples of each step's batch, (count, batch_size)."""
        self._check_size(n_samples)
        per_epoch = max(n_samples // self.batch_size, 1)
        # Whole epochs, so that each is one permutation.
        epochs = max(STEPS_PER_BLOCK // per_epoch, 1)
        block = STEPS_PER_BLOCK if self.replacement else epochs * per_epoch
        lowest, highest = first // block, -(-(first + count) // block)
        drawn = [self._block(n_samples, number, block) for number in range(lowest, highest)]
        begin = first - lowest * block
        stretch: Indices = np.concatenate(drawn)[begin : begin + count]
        return stretch

    def _block(self, n_samples: int, number: int, steps: int) -> Indices:
        """The batches of one block of steps."""
        rng = np.random.default_rng((self.seed, number))
        if self.replacement:
            return rng.integers(0, n_samples, (steps, self.batch_size), dtype=np.int32)
        per_epoch = n_samples // self.batch_size
        orders = np.tile(np.arange(n_samples, dtype=np.int32), (steps // per_epoch, 1))
        rng.permuted(orders, axis=1, out=orders)
        return orders[:, : per_epoch * self.batch_size].reshape(steps, self.batch_size)

    def _check_size(self, n_samples: int) -> None:
        if not self.replacement and self.batch_size > n_samples:
            raise LimitpointError(
                f"batch_size must be at most the number of samples, {n_samples}, without "
                f"replacement; it is {self.batch_size}"
            )


def as_learning_rate(value: Any) -> float:
    """Return the argument `learning_rate` as a positive float, or raise `LimitpointError`."""
    rate = as_positive(value, "learning_rate", LimitpointError)
    if rate > LARGEST_RATE:
        raise LimitpointError(
            f"learning_rate must be at most {LARGEST_RATE:g}, or times overflow; it is {rate:g}"
        )
    return rate


def descend(layers: Layers, slopes: Layers, rate: float) -> Layers:
    """One step of this length against the slopes."""
    return tuple(layer - rate * slope for layer, slope in zip(layers, slopes, strict=True))
