"""Varre, Vladarean, Pillaud-Vivien, Flammarion: On the spectral bias of two-layer linear networks.

Notation: `W₁(0) = √(2γ)P`, `PPᵀ = I`, `W₂(0) = 0`; U, s, V the singular value decomposition of
`β* = X⁺Y`.
"""

from collections.abc import Sequence

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.conditions import Condition
from limitpoint.foundation.linalg import row_space
from limitpoint.networks import TwoLayer
from limitpoint.problem import Problem
from limitpoint.tasks import Regression
from limitpoint.theory.atlas import Theorem, register
from limitpoint.theory.certificates.certificate import (
    ERROR_BOUND,
    Certificate,
    fit_residuals,
    relative,
    status_of,
)
from limitpoint.theory.certificates.constraint import Constraint
from limitpoint.theory.certificates.least_norm_certificate import error_of_least_norm
from limitpoint.theory.limit import Limit
from limitpoint.theory.solvers.least_norm import LeastNorm
from limitpoint.theory.solvers.radial_limit import limit_at
from limitpoint.theory.theorems.shared_conditions import (
    ORTHOGONAL,
    finite_scale,
    kind_of_network,
    scale_zero,
)
from limitpoint.theory.two_layer.orthonormal_rows import orthonormal_rows
from limitpoint.theory.two_layer.spectral_potential import layer_potential

__all__ = ["is_whitened", "log_imbalance_of", "orthonormal_start"]

CITATION = "Varre et al. (2023), On the spectral bias of two-layer linear networks"
# Rows count as orthonormal when their Gram matrix is the identity to this, relative: some thousand
# roundings, as many as products of wide layers collect. Whitened data likewise.
ORTHONORMAL = 1e-12


def log_imbalance_of(problem: Problem) -> float:
    """`log γ`, for a start from orthonormal rows: γ is half the squared norm of a row of W₁(0)."""
    return 2 * (problem.init.log_scale + float(np.log(_row_norm(problem)))) - float(np.log(2.0))


def _row_norm(problem: Problem) -> float:
    """The rows' common norm, at scale 1."""
    return float(np.sqrt(np.mean(np.sum(problem.init.direction[0] ** 2, axis=1))))


def orthonormal_start(problem: Problem) -> Sequence[Condition]:
    """`W₁(0) = √(2γ)P` with orthonormal rows, and `W₂(0) = 0`."""
    fits = _two_layers(problem)
    if not fits.holds:
        return (fits,)
    first, second = problem.init.direction
    gram = first @ first.T
    size = float(np.mean(np.diag(gram)))
    off = float(np.abs(gram - size * np.eye(len(gram))).max()) / size if size > 0 else np.inf
    largest = float(np.abs(second).max(initial=0.0))
    return (
        fits,
        Condition(
            "rows of the first layer orthonormal, up to a common factor",
            off <= ORTHONORMAL,
            ORTHONORMAL - off,
            f"their products are off by {off:.3g}, relative",
            ORTHOGONAL,
        ),
        Condition(
            "second layer zero",
            largest == 0.0,
            -largest,
            f"its largest entry is {largest:g}",
            ORTHOGONAL,
        ),
    )


def is_whitened(task: Regression) -> Condition:
    """`XᵀX` is a multiple of the identity on the row space of X."""
    values = orthonormal_rows(task.X, task.y).singular_values
    off = float(values[0] / values[-1]) - 1 if len(values) else np.inf
    detail = f"singular values of X differ by {off:.3g}, relative"
    change = "whiten the data, so that all singular values of X are equal"
    return Condition("whitened data", off <= ORTHONORMAL, ORTHONORMAL - off, detail, change, "data")


def _two_layers(problem: Problem) -> Condition:
    fits = isinstance(problem.network, TwoLayer)
    return kind_of_network(problem, "two-layer network", fits, "use TwoLayer(width)")


def _one_output(problem: Problem) -> Condition:
    shape = problem.regression.y.shape
    single = problem.regression.n_outputs in (None, 1)
    change = "give y as one column: the outputs one by one"
    return Condition("one output", single, None, f"y has shape {shape}", change, "data")


def _conditions(problem: Problem) -> Sequence[Condition]:
    return (*orthonormal_start(problem), finite_scale(problem))


def _conditions_at_zero(problem: Problem) -> Sequence[Condition]:
    return (*orthonormal_start(problem), scale_zero(problem))


def _conditions_scalar(problem: Problem) -> Sequence[Condition]:
    """Also with one output."""
    return (*_conditions(problem), _one_output(problem))


def _conditions_noise(problem: Problem) -> Sequence[Condition]:
    return (_two_layers(problem), _one_output(problem), finite_scale(problem))


def _conditions_whitened(problem: Problem) -> Sequence[Condition]:
    return (*_conditions(problem), is_whitened(problem.regression))


def _limit(problem: Problem) -> Limit:
    return _limit_of(problem, THEOREM_3_1)


def _limit_at_zero(problem: Problem) -> Limit:
    return _limit_of(problem, THEOREM_3_1_AT_ZERO)


def _limit_of(problem: Problem, theorem: Theorem) -> Limit:
    problem.init.check_products(problem.network.degree)
    task, gamma = problem.regression, float(np.exp(log_imbalance_of(problem)))
    constraint = Constraint.of(task.X, task.y)
    coef, dual = LeastNorm(constraint, np.ones(task.n_features)).solve(constraint.fit)
    first, second = _layers(problem, coef, gamma)
    certificate = _certify(problem, constraint, coef, first, second, gamma)
    return limit_at(
        coef,
        theorem,
        mirror=coef.copy(),
        dual=dual,
        potential=_potential(first, second, gamma),
        certificate=certificate,
        status=status_of(certificate, constraint, coef),
        iterations=0,
        layers=(first, second),
    )


def _layers(problem: Problem, coef: Float, gamma: float) -> tuple[Float, Float]:
    """Of all limits that differ by a rotation of the hidden layer the symmetric one.

    `W₁ = (U(√w − √(2γ))Uᵀ + √(2γ)I)P`, `W₂ = PᵀU√v Vᵀ` with `w, v = √(s²+γ²) ± γ`; on whitened
    data, where singular vectors do not move, it is the limit itself.
    """
    norm = _row_norm(problem)
    rows = problem.init.direction[0] / norm
    left, values, right = np.linalg.svd(coef.reshape(len(coef), -1), full_matrices=False)
    reach = np.hypot(values, gamma)
    large = np.sqrt(reach + gamma)
    # √(s²+γ²) − γ without cancellation.
    small = np.divide(values, large, out=np.zeros_like(values), where=large > 0)
    # √(2γ), which float64 holds where it does not hold γ.
    base = problem.init.scale * norm
    hidden = left.T @ rows
    one: Float = (left * (large - base)) @ hidden + base * rows
    two: Float = hidden.T @ (small[:, None] * right)
    return one, two.reshape(problem.init.direction[1].shape)


def _potential(first: Float, second: Float, gamma: float) -> float:
    """`½‖W₂‖² + ½‖W₁‖² − γ log det(W₁W₁ᵀ)`."""
    if gamma == 0.0:
        return 0.5 * float(np.sum(first**2) + np.sum(second**2))
    return layer_potential(first, second, gamma=gamma)


def _certify(
    problem: Problem,
    constraint: Constraint,
    coef: Float,
    first: Float,
    second: Float,
    gamma: float,
) -> Certificate:
    """Check that the layers minimise the potential among those that fit the data.

    - feasibility and missed targets, or the normal equations, and a bound on the error of β;
    - `W₁W₂ = β`, relative to `‖W₁‖‖W₂‖`;
    - the conserved `W₁ᵀW₁ − W₂W₂ᵀ = 2γPᵀP`, relative to `‖W₁‖²`;
    - stationarity: `W₂ = W₁ᵀα` with α in the row space of X, relative to `‖W₂‖`. The other half of
      it, `W₁ − 2γ(W₁W₁ᵀ)⁻¹W₁ = αW₂ᵀ`, is W₁ᵀ's pre-image of the conserved quantities.
    """
    columns = second.reshape(len(second), -1)
    rows = problem.init.direction[0] / _row_norm(problem)
    one, two = float(np.linalg.norm(first)), float(np.linalg.norm(second))
    apart = float(np.linalg.norm(first @ columns - coef.reshape(len(coef), -1)))
    kept = first.T @ first - columns @ columns.T - 2 * gamma * (rows.T @ rows)
    basis = row_space(constraint.X)
    solved, *_ = np.linalg.lstsq(first.T @ basis, columns, rcond=None)
    off = float(np.linalg.norm(first.T @ (basis @ solved) - columns))
    return Certificate(
        {
            **fit_residuals(constraint, coef),
            ERROR_BOUND: error_of_least_norm(constraint, np.ones(len(coef)), coef),
            "product of the layers": relative(apart, one * two),
            "conserved quantities": relative(float(np.linalg.norm(kept)), one**2),
            "stationarity": relative(off, two),
        }
    )


THEOREM_3_1 = register(
    Theorem(
        id="varre2023.theorem3.1",
        citation=f"{CITATION}, Theorem 3.1 and Corollary 3.1 (with W₂)",
        statement=(
            "From W₁(0) = √(2γ)P, PPᵀ = I, W₂(0) = 0 a two-layer network ends at the minimum-norm "
            "solution β = X⁺Y for every γ, and its layers minimise ½‖W₂‖² + ½‖W₁‖² − "
            "γ log det(W₁W₁ᵀ) among those that fit the data. The singular values are "
            "σ(W₁)² = √(σ(β)²+γ²) + γ, σ(W₂)² = √(σ(β)²+γ²) − γ, the others of W₁ stay √(2γ): "
            "small γ gives a hidden layer of low rank. These relations hold at every time. The "
            "layers are determined up to a rotation of the hidden layer, on whitened data "
            "entirely. Mirror coordinates and dual are those of the minimum-norm problem."
        ),
        concludes="limit",
        rank=30,
        conditions=_conditions,
        limit=_limit,
    )
)

THEOREM_3_1_AT_ZERO = register(
    Theorem(
        id="varre2023.theorem3.1_at_zero",
        citation=f"{CITATION}, Theorem 3.1, γ → 0",
        statement=(
            "As γ → 0 the layers tend to the balanced factors of β = X⁺Y, σ(W₁) = σ(W₂) = √σ(β): "
            "among all factors of all solutions those of least ‖W₁‖² + ‖W₂‖², and the hidden layer "
            "has the rank of β."
        ),
        concludes="limit",
        rank=30,
        conditions=_conditions_at_zero,
        limit=_limit_at_zero,
    )
)

THEOREM_3_2_A = register(
    Theorem(
        id="varre2023.theorem3.2a",
        citation=f"{CITATION}, Theorem 3.2(a), potential corrected (½ before the bracket)",
        statement=(
            "The singular values D of β follow a mirror flow, d∇Ψ(D)/dt = −∇_D loss, with the "
            "potential Ψ(D) = ½ Σ (D asinh(D/γ) − √(D²+γ²)), whose gradient is ½ asinh(D/γ). What "
            "the singular vectors do is left open."
        ),
        concludes="law",
        rank=2,
        conditions=_conditions,
    )
)

THEOREM_3_2_B = register(
    Theorem(
        id="varre2023.theorem3.2b",
        citation=f"{CITATION}, Theorem 3.2(b)",
        statement=(
            "With one output β follows a mirror flow up to a change of time: d∇ψ(β)/dt = "
            "−√(γ + √(‖β‖²+γ²)) ∇loss(β), with ψ(β) = ⅔(√(‖β‖²+γ²)+γ)^{3/2} − "
            "2γ(√(‖β‖²+γ²)+γ)^{1/2}, ∇ψ = β/√(√(‖β‖²+γ²)+γ)."
        ),
        concludes="law",
        rank=2,
        conditions=_conditions_scalar,
    )
)

LEMMA_C_6 = register(
    Theorem(
        id="varre2023.lemmaC.6",
        citation=f"{CITATION}, Lemma C.6, repaired: its inequality (C.13) is false",
        statement=(
            "loss(t) − loss* ≤ e^{−4γλt}(loss(0) − loss*), λ the smallest non-zero eigenvalue of "
            "loss_factor·XXᵀ. (That ‖Xᵀ(Y − Xβ)‖² itself decays, as printed, is false.) It holds "
            "for any number of outputs."
        ),
        concludes="rate",
        rank=10,
        conditions=_conditions,
    )
)

LEMMA_C_8 = register(
    Theorem(
        id="varre2023.lemmaC.8",
        citation=f"{CITATION}, Lemma C.8: O(1/(√γ t)), where the main text has O(1/(γt))",
        statement=(
            "With one output and data that can be fitted, loss(t) ≤ D_ψ(β*, β(0))/(√(2γ) t) at "
            "every time, D_ψ the Bregman divergence of the potential of Theorem 3.2(b): no "
            "condition number in it."
        ),
        concludes="rate",
        rank=10,
        conditions=_conditions_scalar,
    )
)

THEOREM_C_12 = register(
    Theorem(
        id="varre2023.theoremC.12",
        citation=f"{CITATION}, Theorems C.11 and C.12 (value at the jump corrected)",
        statement=(
            "On whitened data (all non-zero singular values of X equal) the singular vectors of β "
            "are those of XᵀY at all times, and each "
            "singular value is in closed form the solution of a Riccati equation. As γ → 0 it "
            "jumps from 0 to σ_i at the time log(1/γ)/(2σ_i), where it passes through "
            "σ_i/(1 + 2σ_i): the larger, the earlier."
        ),
        concludes="law",
        rank=2,
        conditions=_conditions_whitened,
    )
)

PROPOSITION_4_1 = register(
    Theorem(
        id="varre2023.proposition4.1",
        citation=f"{CITATION}, Proposition 4.1, part (c) corrected",
        statement=(
            "Noise alone, dW = (dB)aᵀ, da = WᵀdB, makes E‖W‖² and E‖a‖² grow as e^{√d·t}, and "
            "aligns the rows of W with a. As printed, the mean modulus of the commutator "
            "w_i aᵀ − a w_iᵀ tends to 0; for d = 2 it tends to 0.4819·|det W(0)|, "
            "though the commutator itself tends to 0 almost surely and its signed mean as "
            "e^{−t}; for d ≥ 4 it grows, and only "
            "its size relative to ‖w_i‖‖a‖ decays. A model of large label noise, see NoiseProcess."
        ),
        concludes="model",
        rank=1,
        conditions=_conditions_noise,
    )
)
