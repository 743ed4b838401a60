"""The start from which gradient flow would end where a run of gradient steps is.

Notation: a network of two layers with one number per coefficient and layer has terms x, sums and
differences of layers or layers themselves, which a step with learning rate η and weight decay λ
multiplies by `(1 − ηλ)(1 ± c z_k)`, `z_k = −η/(1 − ηλ) ∂loss_k/∂β`, for any gradient of any batch
and labels (`LogChart.rates` are the ±c). Gradient flow multiplies them by `exp(±c ξ)`. So at every
step, up to sign, the layers are those that the flow from
`x(0) · exp(G±)`, `G± = Σ_k log|(1 − ηλ)(1 ± c z_k)| ∓ c Σ_k z_k`,
has at the mirror coordinates `ξ = Σ_k z_k`, which lie in the row space of X.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from limitpoint.dynamics.training.descent import StepInCoefs
from limitpoint.dynamics.training.optimisers import Optimiser
from limitpoint.foundation.arrays import Float, read_only
from limitpoint.foundation.extras import lazy_module
from limitpoint.foundation.values import Value
from limitpoint.init import Init
from limitpoint.mirror.charts.log_chart import LogChart
from limitpoint.problem import Problem
from limitpoint.tasks import Regression

if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
else:
    jax, jnp = lazy_module("jax", "training"), lazy_module("jax.numpy", "training")

__all__ = ["EffectiveStart", "StepSums", "follow"]

# The factors of so many steps are multiplied before the logarithm is taken: lost are only products
# of steps that all leave less than 10^-4 of a term, and there no layer is left of it either.
MULTIPLIED = 64


@dataclass(frozen=True, eq=False)
class StepSums:
    """The two running sums of a run, `G±`, beside its layers.

    Attributes
    ----------
    step
        The step, and `z_k`.
    rate
        c.
    decay
        `log(1 − ηλ)`.
    """

    step: StepInCoefs
    rate: float
    decay: float

    @classmethod
    def of(cls, problem: Problem, optimiser: Optimiser) -> "StepSums | None":
        """The sums, where the network has such terms and the optimiser takes such steps."""
        chart = _chart_of(problem)
        step = None if chart is None else optimiser.step_in_coefs(problem)
        if chart is None or chart.rates is None or step is None:
            return None
        rate = float(np.abs(chart.rates).max(initial=0.0))
        return cls(step, rate, float(np.log1p(-optimiser.shrinkage)))

    def start(self, shape: tuple[int, ...]) -> tuple[Any, ...]:
        """Products of the factors and `Σ c z` since the last logarithm, and `G±` up to there."""
        return jnp.ones((2, *shape)), jnp.zeros(shape), jnp.zeros((2, *shape))

    def added(self, sums: tuple[Any, ...], moved: Any) -> tuple[Any, ...]:
        """The sums after one more step, which moved the mirror coordinates so much."""
        factors, total, growth = sums
        z = self.rate * moved
        return factors * jnp.stack([1 + z, 1 - z]), total + z, growth

    def folded(self, sums: tuple[Any, ...]) -> tuple[Any, ...]:
        """The same sums, the logarithm taken."""
        factors, total, growth = sums
        growth = growth + (jnp.log(jnp.abs(factors)) + jnp.stack([-total, total]))
        return jnp.ones_like(factors), jnp.zeros_like(total), growth

    def growth(self, sums: tuple[Any, ...], steps: int) -> Float:
        """`G±` after so many steps in all: two times the shape of the coefficients."""
        return np.asarray(sums[2]) + steps * self.decay


def follow(sums: StepSums | None, first: Any, last: Any, step: Any, state: Any) -> Any:
    """Take the steps from `first` up to `last`; the last part of the state are the sums, if any.

    Traceable by JAX. In stretches, so that no step has to ask whether a logarithm is due.
    """
    if sums is None:
        return jax.lax.fori_loop(first, last, step, state)

    def stretch(number: Any, state: Any) -> Any:
        begin = first + number * MULTIPLIED
        end = jnp.minimum(begin + MULTIPLIED, last)
        *others, added = jax.lax.fori_loop(begin, end, step, state)
        return (*others, sums.folded(added))

    return jax.lax.fori_loop(0, (last - first + MULTIPLIED - 1) // MULTIPLIED, stretch, state)


@dataclass(frozen=True, eq=False, repr=False)
class EffectiveStart(Value):
    """Where gradient flow would have to start to end where gradient steps are.

    Attributes
    ----------
    growth
        `G±`, records × 2 × n: the logarithms of what the steps so far multiply the start by, what
        grows with a coefficient and what falls.
    layers
        The effective start, each layer records × its shape.
    """

    growth: Float
    layers: tuple[Float, ...]

    def __post_init__(self) -> None:
        for array in (self.growth, *self.layers):
            read_only(array)

    @classmethod
    def of(cls, problem: Problem, growth: Float) -> "EffectiveStart":
        """From the sums, whose last two axes are the sides and the coefficients."""
        chart = _chart_of(problem)
        assert chart is not None, "it has been summed"
        sides = np.sign(np.asarray(chart.rates)).reshape(-1, growth.shape[-1])
        with np.errstate(invalid="ignore"):
            states = np.where(sides > 0, growth[..., :1, :], growth[..., 1:, :])
        states = np.where(sides == 0, 0.0, states).reshape(*growth.shape[:-2], -1)
        return cls(growth, chart.layers(states))

    @property
    def log_shrinkage(self) -> Float:
        """`S = G₊ + G₋`, records × n: the logarithm of what is left of the scale of `p·q`.

        The product of what grows with a coefficient and what falls; gradient flow conserves it.
        """
        found: Float = self.growth.sum(axis=-2)
        return found

    @property
    def shift(self) -> Float:
        """`R = ½(G₋ − G₊)`, records × n: by how much less mirror coordinates are at the start."""
        found: Float = (self.growth[..., 1, :] - self.growth[..., 0, :]) / 2
        return found

    def init(self, record: int) -> Init:
        """The effective start at a record."""
        return Init.from_layers([layer[record] for layer in self.layers])

    def select(self, records: Any) -> "EffectiveStart":
        """That of these records only."""
        return EffectiveStart(self.growth[records], tuple(one[records] for one in self.layers))

    def _facts(self) -> tuple[str, ...]:
        records, _, count = self.growth.shape
        return f"{records} records", f"{count} coefficients"


def _chart_of(problem: Problem) -> LogChart | None:
    """The chart of the network's terms, from a start that is held in float64."""
    if not problem.network.is_linear or not isinstance(problem.task, Regression):
        return None
    return problem.network.log_chart(problem.init)
