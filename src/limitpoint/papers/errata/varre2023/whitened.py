"""Slips in Theorems C.11 and C.12, about whitened data."""

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.papers.errata.erratum import Demonstration, register
from limitpoint.papers.errata.varre2023.states import (
    EXACT,
    State,
    demonstration,
    off,
    state_of_three,
)
from limitpoint.theory.two_layer.riccati import riccati_singular_values


def _any_alpha(gamma: float) -> tuple[Float, Float, Float, Float, Float]:
    """Any α and R on whitened data: C = Rᵀα, its derivative, (I − αᵀα)⁻¹, and both."""
    rng = np.random.default_rng(3)
    alpha, R = 0.3 * rng.standard_normal((3, 3)), rng.standard_normal((3, 3))
    inverse = np.linalg.inv(np.eye(3) - alpha @ alpha.T)
    alpha_speed = R - alpha @ R.T @ alpha
    beta_speed = 2 * gamma * (R @ alpha.T @ inverse @ alpha + inverse @ R)
    speed: Float = -beta_speed.T @ alpha + R.T @ alpha_speed
    other = np.asarray(np.linalg.inv(np.eye(3) - alpha.T @ alpha), dtype=np.float64)
    return R.T @ alpha, speed, other, alpha, R


@register(
    "varre2023.theoremC.11_term",
    where="Theorem C.11, derivative of R^⊤α, last line (and likewise that of Rα^⊤)",
    printed="… − 2γ(I_k − α^⊤α)^{−1}R^⊤α + R^⊤α",
    corrected="… − 2γ(I_k − α^⊤α)^{−1}R^⊤α + 2γR^⊤α",
)
def _commutator_term() -> Demonstration:
    gamma = 0.3
    C, truth, inverse, _, R = _any_alpha(gamma)
    common = R.T @ R - C @ C - 2 * gamma * (C @ inverse + inverse @ C)
    errors = [off(common + factor * C, truth) for factor in (1.0, 2 * gamma)]
    return demonstration("d(Rᵀα)/dt, relative", errors, EXACT)


@register(
    "varre2023.theoremC.11_sign",
    where="Theorem C.11, derivative of C − C^⊤, last line",
    printed="[½(I − C − C^⊤) − 2γ(I_k − α^⊤α)^{−1}](C − C^⊤) − (C − C^⊤)[…]",
    corrected="[…](C − C^⊤) + (C − C^⊤)[…], as for B − B^⊤ below it",
)
def _commutator_sign() -> Demonstration:
    gamma = 0.5  # where 2γ = 1, so that the other slip of this proof does not show
    C, speed, inverse, _, _ = _any_alpha(gamma)
    bracket, skew = 0.5 * (np.eye(3) - C - C.T) - 2 * gamma * inverse, C - C.T
    errors = [off(bracket @ skew + sign * skew @ bracket, speed - speed.T) for sign in (-1, 1)]
    return demonstration("d(C − Cᵀ)/dt at γ = ½, relative", errors, EXACT)


@register(
    "varre2023.theoremC.12_alpha",
    where="Theorem C.12, first line of the proof",
    printed="α̇ = R − αRα^⊤",
    corrected="α̇ = R − αR^⊤α (as Lemma 3.3 has it)",
)
def _riccati() -> Demonstration:
    state, step = state_of_three(outputs=3, gamma=0.3), 1e-5
    moved = State(
        state.X,
        state.Y,
        state.gamma,
        state.Z1 + step * state.neg_grad @ state.Z2.T,
        state.Z2 + step * state.Z1.T @ state.neg_grad,
    )
    back = State(
        state.X,
        state.Y,
        state.gamma,
        state.Z1 - step * state.neg_grad @ state.Z2.T,
        state.Z2 - step * state.Z1.T @ state.neg_grad,
    )
    truth = (moved.alpha - back.alpha) / (2 * step)
    alpha, R = state.alpha, state.neg_grad
    errors = [off(R - form, truth) for form in (alpha @ R @ alpha.T, alpha @ R.T @ alpha)]
    # The differences leave step² times the size of the derivatives, some hundreds.
    return demonstration("α̇ by differences, k = d, relative", errors, 1e-7)


@register(
    "varre2023.theoremC.12_limit",
    where="Theorem C.12, limit of σ_β for t → ∞",
    printed="2γ(√(σ*²+γ²) − γ) / (σ*(√(σ*²+γ²) − γ))",
    corrected="2γ(√(σ*²+γ²) − γ)/σ* over 2γ(√(σ*²+γ²) − γ)/σ*²",
)
def _end() -> Demonstration:
    sigma, gamma = 2.0, 0.3
    found = float(riccati_singular_values([sigma], [50.0], gamma=gamma)[0, 0])
    small = np.hypot(sigma, gamma) - gamma
    printed = 2 * gamma * small / (sigma * small)
    corrected = (2 * gamma * small / sigma) / (2 * gamma * small / sigma**2)
    errors = abs(printed - found), abs(corrected - found)
    return demonstration("σ_β at t = 50", errors, EXACT)


@register(
    "varre2023.theoremC.12_jump",
    where="Theorem C.12, statement",
    printed="the limit at t = 1/(2σ*) is σ* ('otherwise')",
    corrected="σ*/(1 + 2σ*) (as its proof has it)",
)
def _jump() -> Demonstration:
    sigma, log_gamma = 2.0, -1e4
    moment = -log_gamma / (2 * sigma)
    found = float(riccati_singular_values([sigma], [moment], log_gamma=log_gamma)[0, 0])
    errors = abs(sigma - found), abs(sigma / (1 + 2 * sigma) - found)
    # The exponent 2σt has 1e4·eps of rounding.
    return demonstration("σ_β at the jump, γ = e^{−10000}", errors, 1e-10)
