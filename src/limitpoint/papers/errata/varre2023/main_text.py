"""Slips in the main text."""

import numpy as np

from limitpoint.dynamics.flow import flow
from limitpoint.init import Init
from limitpoint.networks import TwoLayer
from limitpoint.papers.errata.erratum import Demonstration, register
from limitpoint.papers.errata.varre2023.states import (
    DIFFERENCE,
    DIFFERENCE_ERROR,
    FLOW,
    demonstration,
    off,
    state_of_three,
)
from limitpoint.papers.varre2023.linear import hidden_values, vector_task
from limitpoint.problem import Problem
from limitpoint.theory.two_layer.spectral_potential import (
    coef_divergence,
    spectral_gradient,
    spectral_potential,
)


@register(
    "varre2023.theorem3.2a",
    where="Theorem 3.2(a) and Lemma C.13",
    printed="Ψ(D) = tr(½ D asinh(D/γ) − √(D² + γ²))",
    corrected="Ψ(D) = ½ tr(D asinh(D/γ) − √(D² + γ²))",
)
def _potential() -> Demonstration:
    state = state_of_three(outputs=2, gamma=0.3)
    left, values, right = np.linalg.svd(state.beta, full_matrices=False)
    speed = np.diag(left.T @ state.beta_speed @ right.T)
    neg_grad = np.diag(left.T @ state.neg_grad @ right.T)
    errors = []
    for printed in (True, False):
        ahead, behind = (
            spectral_gradient(values + h * speed, gamma=state.gamma, printed=printed)
            for h in (DIFFERENCE, -DIFFERENCE)
        )
        errors.append(off((ahead - behind) / (2 * DIFFERENCE), neg_grad))
    return demonstration("d∇Ψ(D)/dt against −∇_D loss, relative", errors, FLOW)


@register(
    "varre2023.lemmaC.13",
    where="Lemma C.13, last line",
    printed="∇_D tr(½ D asinh(D/γ) − √(D² + γ²)) = asinh(D/γ)",
    corrected="∇_D ½ tr(D asinh(D/γ) − √(D² + γ²)) = ½ asinh(D/γ)",
)
def _gradient() -> Demonstration:
    D, gamma = 1.7, 0.3
    errors = []
    for printed, claimed in ((True, np.arcsinh(D / gamma)), (False, 0.5 * np.arcsinh(D / gamma))):
        ahead, behind = (
            spectral_potential([D + h], gamma=gamma, printed=printed)
            for h in (DIFFERENCE, -DIFFERENCE)
        )
        errors.append(abs((ahead - behind) / (2 * DIFFERENCE) - claimed))
    return demonstration("the gradient against differences", errors, DIFFERENCE_ERROR)


@register(
    "varre2023.section3.2_nuclear",
    where="Section 3.2, mirror on singular values",
    printed="Ψ_γ ~ (−ln γ)‖β‖_* as γ → 0",
    corrected="Ψ_γ ~ ½(−ln γ)‖β‖_*",
)
def _nuclear() -> Demonstration:
    values, log_gamma = np.array([3.0, 1.0, 0.5]), -1e6
    ratio = spectral_potential(values, log_gamma=log_gamma) / (-log_gamma * values.sum())
    # The next term is log(2D) − 1 over −ln γ.
    return Demonstration("Ψ over (−ln γ)‖β‖_*", abs(ratio - 1), abs(ratio - 0.5), 5e-6)


@register(
    "varre2023.section3.2_rate",
    where="Section 3.2, mirror descent for scalar regression",
    printed="L(β(t)) = O(1/γt) (see Appendix C.8)",
    corrected="O(1/(√γ t)) for small γ, as Lemma C.8 has it: D_ψ(β*, 0)/(√(2γ) t)",
)
def _rate() -> Demonstration:
    gammas, target = np.array([1e-12, 1e-10]), np.array([1.0, -2.0])
    bounds = [coef_divergence(target, np.zeros(2), gamma=g) / np.sqrt(2 * g) for g in gammas]
    exponent = float(np.diff(np.log(bounds))[0] / np.diff(np.log(gammas))[0])
    # D_ψ(β*, 0) moves by terms of order √γ.
    measure = "exponent of γ in the bound of Lemma C.8"
    return Demonstration(measure, abs(exponent + 1), abs(exponent + 0.5), 1e-4)


@register(
    "varre2023.lemma3.1",
    where="Appendix C, end of the proof of Lemma 3.1",
    printed="Z₁(0) = √(2γ)PPᵀ = I_d",
    corrected="Z₁(0) = √(2γ)I_d",
)
def _start() -> Demonstration:
    state = state_of_three(outputs=2, gamma=0.3, time=1e-12)
    errors = [off(scale * np.eye(3), state.Z1) for scale in (1.0, np.sqrt(2 * state.gamma))]
    return demonstration("Z₁ after a time of 1e-12, relative", errors, FLOW)


@register(
    "varre2023.lemma3.3",
    where="Lemma 3.3",
    printed="β̇ = (1 − αα^⊤)^{−1}α",
    corrected="β = 2γ(I − αα^⊤)^{−1}α (as Lemma C.2 has it)",
)
def _alpha() -> Demonstration:
    state = state_of_three(outputs=2, gamma=0.3)
    form = np.linalg.solve(np.eye(3) - state.alpha @ state.alpha.T, state.alpha)
    errors = off(form, state.beta_speed), off(2 * state.gamma * form, state.beta)
    return demonstration("β̇, and β, along a flow, relative", errors, FLOW)


@register(
    "varre2023.figure1a",
    where="Section 4, experiments, and Figure 1a",
    printed="a Gaussian initialisation with variance 0.01 ends with a hidden layer of rank k",
    corrected="at width 200 that is γ = lv/2 = 1, and full rank; a standard deviation of 0.01 does",
)
def _gaussian() -> Demonstration:
    task, network = vector_task(5, 10, 3, seed=0), TwoLayer(width=200)
    drawn = np.random.default_rng(1).standard_normal((10, 200))
    shares = []
    for deviation in (0.1, 0.01):
        init = Init.from_layers([deviation * drawn, np.zeros((200, 3))])
        run = flow(Problem(network, init, task))
        assert run.layers is not None
        squares = hidden_values(run.layers[0][-1]) ** 2
        shares.append(float(squares[3:].sum() / squares.sum()))
    # A layer counts as one of rank k if k values make up 95 % of its square.
    return Demonstration("share of ‖W₁‖² outside the top k", shares[0], shares[1], 0.05)
