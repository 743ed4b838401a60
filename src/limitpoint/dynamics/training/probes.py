"""What to record along many runs at once: each probe is a value that says how a number is read off.

Notation of Lyu et al.: `L` is the mean of squared residuals, λ = 1 − 1/degree (`2(L − 1)/(2L − 1)`
for a rank-one network of depth L), `P⊥(β) = I − ββᵀ/‖β‖²`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from limitpoint.dynamics.training.optimisers import SGD, Optimiser
from limitpoint.errors import LimitpointError, NetworkError
from limitpoint.foundation.arrays import Float, as_float_array, as_number, shown
from limitpoint.foundation.display import Setting
from limitpoint.foundation.extras import lazy_module
from limitpoint.networks import CoupledNetwork
from limitpoint.problem import Problem

if TYPE_CHECKING:
    import jax.numpy as jnp
else:
    jnp = lazy_module("jax.numpy", "training")

__all__ = ["Distance", "NoiseTerm", "Probe", "StartTerm"]


class Probe(Setting, ABC):
    """A number to record along a run: a function of the coefficients, and of an integral.

    The integral, where there is one, is that of a function of the coefficients over the time of
    the run: the sum over all steps so far of `time_per_step · integrand`, at the coefficients
    before each step (Itô's convention).
    """

    name: str

    @abstractmethod
    def value(
        self, problem: Problem, optimiser: Optimiser, start: Any, coef: Any, integral: Any
    ) -> Any:
        """The number, from the coefficients at the start and now; traceable by JAX.

        `integral` is None where `integrates` is False.
        """

    @property
    def integrates(self) -> bool:
        """Whether there is an integrand."""
        return False

    @property
    def rotates(self) -> bool:
        """Whether the integrand turns with the features: `integrand(Qβ)` on X Qᵀ is Q times it.

        Runs of rank-one and dense networks are then followed in far fewer numbers.
        """
        return False

    def integrand(self, problem: Problem, coef: Any) -> Any:
        """What is integrated, of the shape of the coefficients; traceable by JAX."""
        raise TypeError(f"{self.name} integrates nothing")

    def check(self, problem: Problem, optimiser: Optimiser) -> None:
        """Raise `LimitpointError` where the number means nothing."""
        return


@dataclass(frozen=True, eq=False)
class Distance(Probe):
    """The Euclidean distance of the coefficients from a point, `‖β − to‖` (D of Lyu et al.).

    Parameters
    ----------
    to
        The point, n numbers.
    name
        What it is called in the record.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task = lp.Regression([[1.0, 2.0]], [1.0])
    >>> network = lp.Diagonal(depth=2)
    >>> problem = lp.Problem(network, lp.Init.zero_last(network, task, scale=1e-4), task)
    >>> far = lp.analysis.Distance([0.0, 0.5], name="to_sparse")
    >>> sweep = lp.train_many(problem, [lp.GD(1e-2)], steps=5000, probes=[far])
    >>> float(sweep.data["to_sparse"][0, 0, 0, -1].round(3))
    0.0
    """

    to: Float
    name: str = "distance"

    def __post_init__(self) -> None:
        object.__setattr__(self, "to", as_float_array(self.to, "to", LimitpointError, ndim=(1, 2)))
        _check_name(self.name)

    def value(
        self, problem: Problem, optimiser: Optimiser, start: Any, coef: Any, integral: Any
    ) -> Any:
        """`‖β − to‖`."""
        return jnp.sqrt(jnp.sum((coef - self.to) ** 2))

    def check(self, problem: Problem, optimiser: Optimiser) -> None:
        """Refuse a point of another shape than the coefficients."""
        if self.to.shape != problem.regression.coef_shape:
            raise LimitpointError(
                f"the point of the probe {self.name!r} must have the shape of the coefficients, "
                f"{problem.regression.coef_shape}; it has {self.to.shape}"
            )


@dataclass(frozen=True)
class StartTerm(Probe):
    """How much the start weighs, `p = βᵀβ₀/‖β₀‖^λ` (Lyu et al., Appendix A.3, eq. 13).

    The term by which the start enters the potential that gradient flow minimises. It is 0 where
    β₀ is 0.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task, network = lp.Regression([[1.0, 2.0]], [3.0]), lp.RankOne(depth=2, width=3)
    >>> init = lp.Init.balanced(network, task, norm=1.0, direction=[1.0, 0.0])
    >>> problem = lp.Problem(network, init, task)
    >>> sweep = lp.train_many(problem, [lp.GD(1e-2)], steps=1000, probes=[lp.analysis.StartTerm()])
    >>> sweep.data["start_term"][0, 0, 0, [0, -1]].round(3).values.tolist()
    [1.0, 1.836]
    """

    name: str = "start_term"

    def __post_init__(self) -> None:
        _check_name(self.name)

    def value(
        self, problem: Problem, optimiser: Optimiser, start: Any, coef: Any, integral: Any
    ) -> Any:
        """`βᵀβ₀/‖β₀‖^λ`."""
        norm = jnp.sqrt(start @ start)
        return jnp.where(norm > 0, coef @ start / _nonzero(norm) ** _lambda(problem), 0.0)

    def check(self, problem: Problem, optimiser: Optimiser) -> None:
        """Refuse networks that have no such potential."""
        _check_coupled(problem, self.name)


@dataclass(frozen=True)
class NoiseTerm(Probe):
    """What sampling noise takes off the start's weight, q of Lyu et al., Appendix A.3, eq. 14.

    `q(t) = (2λη/(mb)) · β(t)ᵀ ∫₀ᵗ L(β) ‖β‖^e tr(P⊥(β)XᵀX) β ds` for batches of b samples, drawn
    with replacement, and a learning rate η. It is a model to first order in η; 0 for `GD`.

    Parameters
    ----------
    exponent
        e. By default `3λ − 2`, which Itô's formula gives in the time of the steps; the paper prints
        `λ − 2`.

    Notes
    -----
    The formula is for the mean of squares, a `loss_factor` of 2/m. With any other, a step is one of
    the mean loss with a learning rate of `η · loss_factor · m/2`, and that enters both as η and as
    the time of a step.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task = lp.Regression([[1.0, 2.0], [2.0, 2.0]], [1.0, 3.0], loss_factor=1.0)
    >>> network = lp.RankOne(depth=2, width=3)
    >>> init = lp.Init.balanced(network, task, norm=1.0, direction=[1.0, 0.0])
    >>> problem = lp.Problem(network, init, task)
    >>> sweep = lp.train_many(
    ...     problem, [lp.GD(1e-2), lp.SGD(1e-2, 1)], steps=500, probes=[lp.analysis.NoiseTerm()]
    ... )
    >>> (sweep.data["noise_term"][:, 0, 0, -1] > 0).values.tolist()
    [False, True]
    """

    exponent: float | None = None
    name: str = "noise_term"

    def __post_init__(self) -> None:
        _check_name(self.name)
        if self.exponent is not None:
            rule = "exponent must be a finite number, or None"
            exponent = as_number(self.exponent, rule, LimitpointError)
            if not np.isfinite(exponent):
                raise LimitpointError(f"{rule}; it is {exponent}")
            object.__setattr__(self, "exponent", exponent)

    @property
    def integrates(self) -> bool:
        """Yes: q is an integral along the run."""
        return True

    @property
    def rotates(self) -> bool:
        """Yes: it is a multiple of β, and the factor is invariant."""
        return True

    def integrand(self, problem: Problem, coef: Any) -> Any:
        """`L(β) ‖β‖^e tr(P⊥(β)XᵀX) β`; 0 at β = 0."""
        exponent = 3 * _lambda(problem) - 2 if self.exponent is None else self.exponent
        X, residual = problem.regression.X, problem.regression.residual(coef)
        square = coef @ coef
        fitted = X @ coef
        trace = float(np.sum(X**2)) - fitted @ fitted / _nonzero(square)
        factor = jnp.mean(residual**2) * _nonzero(square) ** (exponent / 2) * trace
        return jnp.where(square > 0, factor, 0.0) * coef

    def value(
        self, problem: Problem, optimiser: Optimiser, start: Any, coef: Any, integral: Any
    ) -> Any:
        """`(2λη/(mb)) βᵀ` times the integral, in units of the mean loss."""
        if not isinstance(optimiser, SGD):
            return jnp.zeros(())
        task = problem.regression
        unit = 0.5 * task.loss_factor * task.n_samples
        rate = unit * optimiser.learning_rate
        factor = 2 * _lambda(problem) * rate / (task.n_samples * optimiser.batch_size)
        return factor * unit * (coef @ integral)

    def check(self, problem: Problem, optimiser: Optimiser) -> None:
        """Refuse networks without such a potential, and batches drawn in another way."""
        _check_coupled(problem, self.name)
        drawn_otherwise = not (isinstance(optimiser, SGD) and optimiser.replacement)
        if optimiser.is_random and drawn_otherwise:
            raise LimitpointError(
                f"{self.name} is derived for batches drawn with replacement; "
                f"drop the probe or the optimiser {optimiser.label}"
            )


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not name:
        raise LimitpointError(f"name must be a word; it is {shown(name)}")


def _lambda(problem: Problem) -> float:
    return 1 - 1 / problem.network.degree


def _nonzero(value: Any) -> Any:
    """The value, with 1 in place of 0: what is divided by it is then discarded."""
    return jnp.where(value > 0, value, 1.0)


def _check_coupled(problem: Problem, name: str) -> None:
    if not isinstance(problem.network, CoupledNetwork):
        raise NetworkError(
            f"{name} belongs to the potential of rank-one and dense networks, like RankOne() or "
            f"FullyConnected(); the network is {problem.network}"
        )
