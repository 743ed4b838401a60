"""What a practitioner runs: each optimiser is a value that says how one step is taken."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import Field, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from limitpoint.dynamics.training.descent import Descent, DrawnLoss, Layers, Step, StepInCoefs
from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import (
    as_positive,
    as_seed,
    as_truth,
    as_whole_number,
    check_numbers,
)
from limitpoint.foundation.display import Setting, brief
from limitpoint.foundation.extras import lazy_module
from limitpoint.problem import Problem

if TYPE_CHECKING:
    import jax.numpy as jnp
else:
    jnp = lazy_module("jax.numpy", "training")

__all__ = [
    "GD",
    "SGD",
    "Draws",
    "GradientRule",
    "Indices",
    "Layers",
    "Optimiser",
    "Step",
    "as_learning_rate",
]

Draws = NDArray[Any]
Indices = NDArray[np.int32]

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
        """The map from the layers, and what was drawn for this step, to the next layers.

        Of a rule with a memory it maps the layers followed by the memory to the same.
        """

    def memory(self, layers: Layers) -> Layers:
        """What a step needs besides the layers, at the start: by default nothing."""
        return ()

    def step_in_coefs(self, problem: Problem) -> StepInCoefs | None:
        """The same step, and what it adds to the mirror coordinates, `−learning_rate · ∂loss/∂β`.

        None, as by default, unless the step is one against a gradient and nothing else but decay:
        `θ ← (1 − shrinkage)(θ + (∂β/∂θ)ᵀ added)`.
        """
        return None

    @property
    def shrinkage(self) -> float:
        """The share of themselves that layers lose in every step, by decay."""
        return 0.0

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

    def _facts(self) -> Iterable[str]:
        """The fields, but those for keywords alone that are left at their defaults."""
        all_: Iterable[Field[Any]] = fields(self)  # type: ignore[arg-type]  # data classes all
        for one in sorted(all_, key=lambda one: one.kw_only is True):
            value = getattr(self, one.name)
            if not (one.kw_only and value == one.default):
                yield f"{one.name}={brief(value)}"

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
class GradientRule(Optimiser):
    """Steps against the gradient of a loss that may be drawn, with momentum and weight decay."""

    learning_rate: float
    momentum: float = field(default=0.0, kw_only=True)
    nesterov: bool = field(default=False, kw_only=True)
    weight_decay: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        rate = as_learning_rate(self.learning_rate)
        checked = Descent.of(rate, self.momentum, self.nesterov, self.weight_decay)
        for one in fields(checked):
            object.__setattr__(self, one.name, getattr(checked, one.name))

    @abstractmethod
    def loss(self, problem: Problem) -> DrawnLoss:
        """The loss that a step sees."""

    @property
    def time_per_step(self) -> float:
        """The learning rate, over `1 − momentum`."""
        return self._descent.time_per_step

    @property
    def shrinkage(self) -> float:
        """The learning rate times the weight decay."""
        return self.learning_rate * self.weight_decay

    def memory(self, layers: Layers) -> Layers:
        """The velocity, where there is momentum."""
        return self._descent.memory(layers)

    def stepper(self, problem: Problem) -> Step:
        """One step down the gradient."""
        return self._descent.stepper(problem, self.loss(problem))

    def step_in_coefs(self, problem: Problem) -> StepInCoefs | None:
        """The same by way of the coefficients, without momentum."""
        return self._descent.step_in_coefs(problem, self.loss(problem))

    @property
    def _descent(self) -> Descent:
        return Descent(self.learning_rate, self.momentum, self.nesterov, self.weight_decay)


@dataclass(frozen=True)
class GD(GradientRule):
    """Full-batch gradient descent, `θ ← θ − learning_rate · ∇loss(θ)`.

    The loss is the task's, `loss_factor` included.

    Parameters
    ----------
    learning_rate
        Step size η, positive.
    momentum
        μ in [0, 1): `v ← μv + ∇loss`, `θ ← θ − ηv`, the heavy ball of Polyak (1964).
    nesterov
        Whether the step is `η(∇loss + μv)` instead.
    weight_decay
        λ: every gradient has `λθ` added to it. Training then ends at a penalised fit,
        `analysis.penalised_limit`.
    """

    def refined(self) -> "GD":
        """Half the learning rate."""
        return replace(self, learning_rate=self.learning_rate / 2)

    def loss(self, problem: Problem) -> DrawnLoss:
        """The task's."""
        task = problem.task
        return lambda outputs, _: task.loss_of_outputs(outputs(task.X), task.y)


@dataclass(frozen=True)
class SGD(GradientRule):
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
    momentum, nesterov, weight_decay
        As of `GD`.

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

    batch_size: int
    replacement: bool = True
    seed: int = 0

    def __init__(
        self,
        learning_rate: float,
        batch_size: int,
        *,
        replacement: bool = True,
        seed: int = 0,
        momentum: float = 0.0,
        nesterov: bool = False,
        weight_decay: float = 0.0,
    ) -> None:
        size = as_whole_number(batch_size, 1, "batch_size", LimitpointError)
        what = "the batches drawn at once"
        check_numbers(STEPS_PER_BLOCK * size, "batch_size", what, LimitpointError)
        object.__setattr__(self, "learning_rate", learning_rate)
        object.__setattr__(self, "batch_size", size)
        drawn = as_truth(replacement, "replacement", LimitpointError)
        object.__setattr__(self, "replacement", drawn)
        object.__setattr__(self, "seed", as_seed(seed, "seed", LimitpointError))
        object.__setattr__(self, "momentum", momentum)
        object.__setattr__(self, "nesterov", nesterov)
        object.__setattr__(self, "weight_decay", weight_decay)
        super().__post_init__()

    @property
    def is_random(self) -> bool:
        """Yes: the batches are drawn."""
        return True

    @property
    def label(self) -> str:
        """Everything but the seed, and replacement where batches are drawn without."""
        left_out = ("seed=", "replacement=True")
        return f"SGD({', '.join(fact for fact in self._facts() if not fact.startswith(left_out))})"

    def refined(self) -> "SGD":
        """Half the learning rate, with the same batch size and seed."""
        return replace(self, learning_rate=self.learning_rate / 2)

    def with_seed(self, seed: int) -> "SGD":
        """The same rule with other batches."""
        return replace(self, seed=seed)

    def loss(self, problem: Problem) -> DrawnLoss:
        """The batch's, `m/b` times."""
        self._check_size(problem.task.n_samples)
        task = problem.task
        X, y = jnp.asarray(task.X), jnp.asarray(task.y)
        weight = task.n_samples / self.batch_size
        return lambda outputs, batch: weight * task.loss_of_outputs(outputs(X[batch]), y[batch])

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
