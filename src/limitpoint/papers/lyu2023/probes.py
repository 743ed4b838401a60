"""What Figures 9 and 10 record along training.

Notation: `λ = 2(L−1)/(2L−1)`, `z = ‖θ‖^{−λ}θ = ∇(‖θ‖^Ω/Ω)`, P_null the projector on the null space
of X, P_⊥ the one orthogonal to θ, ℓ the mean of squares, `ξ² = ‖θ‖^{2λ}` at balance.

Gradient flow keeps `P_null z`. By Theorem 3 noise changes it, `P_null z(t) = P_null(z(0) − g(t))`.
In fact what noise adds to is `δ = ‖v₁‖² − ‖u_k‖²`, which the flow keeps; with `P_null v₁` conserved
`P_null z = (1 − δ/‖v₁‖²)^{λ/2} P_null z(0)`. The two agree at every instant, but not over time: the
model forgets how δ came about, and weighs it by `‖v₁‖²` then instead of now.
"""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

import limitpoint as lp
from limitpoint.foundation.arrays import Float

__all__ = ["Alignment", "LostByBalance", "LostByModel", "LostShare", "projector"]


def projector(problem: lp.Problem) -> Float:
    """The projector P_null on the null space of X."""
    rows = np.linalg.qr(problem.regression.X.T)[0]
    return np.asarray(np.eye(len(rows)) - rows @ rows.T)


@dataclass(frozen=True, eq=False)
class LostShare(lp.analysis.Probe):
    """`1 − z(0)ᵀP_null z(t)/‖P_null z(0)‖²`: how much of the start is no longer there."""

    null: Float
    name: str = "lost"

    def value(
        self,
        problem: lp.Problem,
        optimiser: lp.extend.Optimiser,
        start: Any,
        coef: Any,
        integral: Any,
    ) -> Any:
        """From the coefficients at the start and now."""
        kept = self.null @ _mirrored(problem, start)
        return 1 - kept @ _mirrored(problem, coef) / (kept @ kept)


@dataclass(frozen=True, eq=False)
class LostByModel(lp.analysis.Probe):
    """`z(0)ᵀP_null g(t)/‖P_null z(0)‖²`, the same by Theorem 3.

    `g' = (2λη/(mb)) ℓ ‖θ‖^e tr(P_⊥XᵀX) θ`, in the time of the steps with `e = 3λ − 2`; λ − 2 is
    printed.
    """

    null: Float
    exponent: float | None = None
    name: str = "lost_by_model"

    @property
    def integrates(self) -> bool:
        """Yes: it is an integral along the run."""
        return True

    @property
    def rotates(self) -> bool:
        """Yes: it is a multiple of θ, and the factor is invariant."""
        return True

    def integrand(self, problem: lp.Problem, coef: Any) -> Any:
        """The integrand of q, in coefficients."""
        return lp.analysis.NoiseTerm(self.exponent).integrand(problem, coef)

    def value(
        self,
        problem: lp.Problem,
        optimiser: lp.extend.Optimiser,
        start: Any,
        coef: Any,
        integral: Any,
    ) -> Any:
        """The part of g that takes away from the start."""
        kept = self.null @ _mirrored(problem, start)
        g_by_noise = lp.analysis.NoiseTerm(self.exponent).value(
            problem, optimiser, start, kept, integral
        )
        return g_by_noise / (kept @ kept)


@dataclass(frozen=True, eq=False)
class LostByBalance(lp.analysis.Probe):
    """`(λ/2) δ(t)/‖θ(t)‖^{2/(2L−1)}`, the same to first order in η, from the loss of balance.

    `δ' = 4ηξ² M`, M the mean over batches of `‖P_⊥h‖²`, h the mean of `r_j x_j` over the batch:
    `M = (1/b) mean_j(r_j²‖P_⊥x_j‖²) + (1 − 1/b)‖P_⊥Xᵀr/m‖²`. Theorem 3 has the
    first part of M only, and in it `ℓ·tr(P_⊥XᵀX)/m`.
    """

    batch_size: int
    name: str = "lost_by_balance"

    @property
    def integrates(self) -> bool:
        """Yes: it is an integral along the run."""
        return True

    @property
    def rotates(self) -> bool:
        """Yes: an invariant number times Xᵀ1."""
        return True

    def integrand(self, problem: lp.Problem, coef: Any) -> Any:
        """`4ξ²M` as a multiple of Xᵀ1: what is integrated must turn with the features."""
        X, residual = jnp.asarray(problem.regression.X), problem.regression.residual(coef)
        square, fitted = coef @ coef, X @ coef
        across = jnp.sum(X**2, axis=1) - fitted**2 / square
        mean = X.T @ residual / len(residual)
        full = mean @ mean - (mean @ coef) ** 2 / square
        share = 1 / self.batch_size
        moment = share * jnp.mean(residual**2 * across) + (1 - share) * full
        return 4 * square ** (1 - 1 / problem.network.degree) * moment * X.sum(axis=0)

    def value(
        self,
        problem: lp.Problem,
        optimiser: lp.extend.Optimiser,
        start: Any,
        coef: Any,
        integral: Any,
    ) -> Any:
        """From the number that multiplies Xᵀ1."""
        axis = jnp.asarray(problem.regression.X).sum(axis=0)
        lost = optimiser.time_per_step * (integral @ axis) / (axis @ axis)
        degree = problem.network.degree
        return 0.5 * (1 - 1 / degree) * lost * (coef @ coef) ** (-1 / degree)


@dataclass(frozen=True, eq=False)
class Alignment(lp.analysis.Probe):
    """The cosine of the angle between θ(0) and α, the integral of Theorem 3 (Figure 4b)."""

    name: str = "alignment"

    @property
    def integrates(self) -> bool:
        """Yes: it is an integral along the run."""
        return True

    @property
    def rotates(self) -> bool:
        """Yes: norms and traces do not depend on the basis."""
        return True

    def integrand(self, problem: lp.Problem, coef: Any) -> Any:
        """The integrand of q, in coefficients."""
        return lp.analysis.NoiseTerm().integrand(problem, coef)

    def value(
        self,
        problem: lp.Problem,
        optimiser: lp.extend.Optimiser,
        start: Any,
        coef: Any,
        integral: Any,
    ) -> Any:
        """1 before the first step."""
        size = jnp.sqrt((integral @ integral) * (start @ start))
        return jnp.where(size > 0, integral @ start / jnp.where(size > 0, size, 1.0), 1.0)


def _mirrored(problem: lp.Problem, coef: Any) -> Any:
    return coef * (coef @ coef) ** (-0.5 * (1 - 1 / problem.network.degree))
