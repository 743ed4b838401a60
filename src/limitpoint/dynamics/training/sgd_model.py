"""SGD on rank-one networks as a stochastic differential equation for the coefficients.

Notation (lyu, Appendix D): β the coefficients (the paper's θ), m samples, η the learning rate, b
the batch size, `ℓ = ‖Xβ − y‖²/m`, `λ = 2(L−1)/(2L−1)`, `ξ² = ‖β‖^{2λ}`,
`H = I + 2(L−1)ββᵀ/‖β‖²`, P_⊥ the projector orthogonal to β. Time is the number of steps times η.
The paper's loss is ℓ; a task's is `κℓ`, `κ = ½·loss_factor·m`, whose noise is κ times as large.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from limitpoint.dynamics.diffusion import Diffusion
from limitpoint.dynamics.training.optimisers import SGD
from limitpoint.errors import InitError, LimitpointError, NetworkError
from limitpoint.foundation.arrays import shown
from limitpoint.networks import BALANCE_TOLERANCE, RankOne
from limitpoint.problem import Problem, as_problem

__all__ = ["SGDModel"]


@dataclass(frozen=True, eq=False)
class SGDModel(Diffusion):
    """Lyu's model of SGD on a rank-one network that starts balanced, with its slips corrected.

    `dβ = −(2κξ²/m) H Xᵀr dt + drift_ito dt + 2κξ²√(ηℓ/(mb)) H Xᵀ dW` with `r = Xβ − y` (Lemma 3),
    so that to first order `∇V + g` follows a mirror flow with noise (Theorem 3).

    **What it misses.** It takes the layers to stay balanced, and SGD does not keep them so:
    `‖v₁‖² − ‖u_k‖²` grows at the rate `balance_drift`, of the same order in η as `ito_drift` and
    `potential_drift` themselves. (To first order `potential_drift` *is* that growth, seen from
    `‖β‖^{−λ}β`.) The model also takes the residuals' squares to be independent of the samples.
    What holds at any η is `limitpoint.null_space_law`.

    Parameters
    ----------
    problem
        A balanced rank-one network on a regression task.
    optimiser
        `SGD` with replacement.

    References
    ----------
    Lyu and Zhu (2023), Lemma 3 and Theorem 3. The exponents of ‖β‖ in `ito_drift` and
    `potential_drift` are corrected: printed are −2/(2L−1) and λ − 2.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task, network = lp.Regression([[1.0, 2.0]], [1.0], loss_factor=2.0), lp.RankOne(depth=2)
    >>> problem = lp.Problem(network, lp.Init.balanced(network, task, norm=1.0), task)
    >>> model = SGDModel(problem, lp.SGD(learning_rate=1e-3, batch_size=1))
    >>> model.diffusion(model.start).shape
    (2, 1)
    """

    problem: Problem
    optimiser: SGD

    def __post_init__(self) -> None:
        network = as_problem(self.problem).network
        if not isinstance(network, RankOne):
            raise NetworkError(f"the model is one of rank-one networks; the network is {network}")
        if not isinstance(self.optimiser, SGD) or not self.optimiser.replacement:
            raise LimitpointError(
                "optimiser must be SGD with replacement, SGD(learning_rate, batch_size), of which "
                f"the model is one; it is {shown(self.optimiser)}"
            )
        off = network.imbalance(self.problem.init.direction)
        if off > BALANCE_TOLERANCE:
            raise InitError(
                f"the model needs a balanced start, Init.balanced(...); the imbalance is {off:.3g}"
            )

    @property
    def start(self) -> Any:
        """Coefficients at the start."""
        return np.asarray(self.problem.network.coef(self.problem.init.layers))

    @property
    def noise_dimension(self) -> int:
        """One Brownian motion per sample."""
        return self.problem.regression.n_samples

    @property
    def time_step(self) -> float:
        """The learning rate: one step of SGD."""
        return self.optimiser.learning_rate

    @property
    def depth(self) -> int:
        """The number L of layers."""
        return (self.problem.network.degree + 1) // 2

    @property
    def exponent(self) -> float:
        """`λ = 2(L−1)/(2L−1)`."""
        return 1 - 1 / self.problem.network.degree

    @property
    def noise_level(self) -> float:
        """`κ²η/(mb)`, the factor of every effect of the noise."""
        task = self.problem.regression
        factor = 0.5 * task.loss_factor * task.n_samples
        return (
            factor**2 * self.optimiser.learning_rate / (task.n_samples * self.optimiser.batch_size)
        )

    def mean_square(self, coef: Any) -> Any:
        """`ℓ`, the mean of the squared residuals."""
        residual = self.problem.regression.residual(coef)
        return (residual * residual).mean()

    def gradient_drift(self, coef: Any) -> Any:
        """`loss_factor · ξ² H Xᵀ(y − Xβ)`: the flow of a balanced network."""
        task = self.problem.regression
        neg_grad = task.loss_factor * (task.X.T @ task.residual(coef))
        return self._multiplied(coef, neg_grad)

    def ito_drift(self, coef: Any, exponent: float | None = None) -> Any:
        """What noise adds to the mean of β (Lemma 3).

        `8(L−1)(κ²η/(mb)) ℓ ‖β‖^e (I + ½(2L−3) ββᵀ/‖β‖²) XᵀXβ`, `e = 4λ − 2` unless given.
        """
        X = self.problem.regression.X
        power = 4 * self.exponent - 2 if exponent is None else exponent
        square = (coef * coef).sum()
        force = X.T @ (X @ coef)
        turned = force + 0.5 * (2 * self.depth - 3) * (coef @ force) / square * coef
        size = 8 * (self.depth - 1) * self.noise_level * self.mean_square(coef)
        return size * square ** (power / 2) * turned

    def potential_drift(self, coef: Any, exponent: float | None = None) -> Any:
        """`g'(t)` of the stochastic potential `V + βᵀg` (Theorem 3).

        `2λ(κ²η/(mb)) ℓ ‖β‖^e tr(P_⊥XᵀX) β`, `e = 3λ − 2` unless given.
        """
        power = 3 * self.exponent - 2 if exponent is None else exponent
        square = (coef * coef).sum()
        size = 2 * self.exponent * self.noise_level * self.mean_square(coef)
        return size * square ** (power / 2) * self.trace_across(coef) * coef

    def balance_drift(self, coef: Any) -> Any:
        """Rate at which noise makes `‖v₁‖² − ‖u_k‖²` grow: `4(κ²η/(mb)) ℓ ξ² tr(P_⊥XᵀX)`."""
        square = (coef * coef).sum()
        size = 4 * self.noise_level * self.mean_square(coef)
        return size * square**self.exponent * self.trace_across(coef)

    def trace_across(self, coef: Any) -> Any:
        """`tr(P_⊥XᵀX) = ‖X‖² − ‖Xβ‖²/‖β‖²`."""
        X = self.problem.regression.X
        fitted = X @ coef
        return (X * X).sum() - (fitted * fitted).sum() / (coef * coef).sum()

    def drift(self, coef: Any) -> Any:
        """`gradient_drift + ito_drift`."""
        return self.gradient_drift(coef) + self.ito_drift(coef)

    def diffusion(self, coef: Any) -> Any:
        """`2κξ²√(ηℓ/(mb)) H Xᵀ`, n × m."""
        size = 2 * (self.noise_level * self.mean_square(coef)) ** 0.5
        return size * self._multiplied(coef, self.problem.regression.X.T)

    def _multiplied(self, coef: Any, force: Any) -> Any:
        """`ξ² H` times a vector or the columns of a matrix."""
        square = (coef * coef).sum()
        along = coef @ force
        column = coef if force.ndim == 1 else coef[:, None]
        return square**self.exponent * (force + 2 * (self.depth - 1) / square * column * along)
