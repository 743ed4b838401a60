"""Slips in Lemmas C.6 to C.8."""

import numpy as np

from limitpoint.dynamics.flow import flow
from limitpoint.init import Init
from limitpoint.networks import TwoLayer
from limitpoint.papers.errata.erratum import Demonstration, register
from limitpoint.papers.errata.varre2023.states import (
    EXACT,
    FLOW,
    TURNING_GAMMA,
    TURNING_X,
    TURNING_Y,
    demonstration,
    off,
    state_of_three,
    turning_state,
)
from limitpoint.problem import Problem
from limitpoint.tasks import Regression


@register(
    "varre2023.lemmaC.6_beta",
    where="Lemma C.6, implicit bias of β",
    printed="β = (I − αα^⊤)^{−1}α",
    corrected="β = 2γ(I − αα^⊤)^{−1}α",
)
def _beta() -> Demonstration:
    state = state_of_three(outputs=2, gamma=0.3)
    form = np.linalg.solve(np.eye(3) - state.alpha @ state.alpha.T, state.alpha)
    errors = off(form, state.beta), off(2 * state.gamma * form, state.beta)
    return demonstration("β along a flow, relative", errors, FLOW)


@register(
    "varre2023.lemmaC.6_woodbury",
    where="Lemma C.6, implicit bias of β",
    printed="(I − αα^⊤)^{−1} = I − α(I − α^⊤α)^{−1}α^⊤",
    corrected="(I − αα^⊤)^{−1} = I + α(I − α^⊤α)^{−1}α^⊤",
)
def _woodbury() -> Demonstration:
    alpha = 0.3 * np.random.default_rng(0).standard_normal((4, 2))
    inverse = np.linalg.inv(np.eye(4) - alpha @ alpha.T)
    term = alpha @ np.linalg.solve(np.eye(2) - alpha.T @ alpha, alpha.T)
    errors = [off(np.eye(4) + sign * term, inverse) for sign in (-1, 1)]
    return demonstration("the inverse, relative", errors, EXACT)


@register(
    "varre2023.lemmaC.6_invariance",
    where="Lemma C.6, 'from the invariance, we have'",
    printed="Z₁^⊤Z₁ = 2γI_d + Z₂^⊤Z₂",
    corrected="Z₁^⊤Z₁ = 2γI_d + Z₂Z₂^⊤",
)
def _invariance() -> Demonstration:
    state = state_of_three(outputs=3, gamma=0.3)
    Z2, truth = state.Z2, state.Z1.T @ state.Z1
    errors = [off(2 * state.gamma * np.eye(3) + gram, truth) for gram in (Z2.T @ Z2, Z2 @ Z2.T)]
    return demonstration("Z₁ᵀZ₁ along a flow with k = d, relative", errors, FLOW)


@register(
    "varre2023.equationC.13",
    where="Lemma C.6, inequality (C.13)",
    printed="d‖R‖²/dt ≤ −2λ_min(X^⊤X)γ‖R‖²",
    corrected="d loss/dt ≤ −4λ_min γ loss, hence loss ≤ loss(0)e^{−4γλt}; ‖R‖² may grow",
)
def _decay() -> Demonstration:
    X, Y, gamma = TURNING_X, TURNING_Y, TURNING_GAMMA
    task, network = Regression(X, Y), TwoLayer(width=2)
    problem = Problem(network, Init.orthogonal(network, task, gamma=gamma), task)
    run = flow(problem, times=np.linspace(0.0, 5.0, 101))
    assert run.layers is not None
    first, second = run.layers
    residual = Y - X @ run.coefs
    R = X.T @ residual
    speed = first @ first.swapaxes(1, 2) @ R + R @ second.swapaxes(1, 2) @ second
    squares, losses = np.sum(R**2, axis=(1, 2)), 0.5 * np.sum(residual**2, axis=(1, 2))
    growth = -2 * np.sum(R * (X.T @ X @ speed), axis=(1, 2)) / squares
    fall = -np.sum(R * speed, axis=(1, 2)) / losses
    claims = (growth, 2 * gamma * 0.01), (fall, 4 * gamma * 0.01)
    errors = [max(float((rate + bound).max()), 0.0) for rate, bound in claims]
    return demonstration("how far the relative rate exceeds its bound", errors, FLOW)


@register(
    "varre2023.lemmaC.7_Z1",
    where="Lemma C.7, proof",
    printed="Ż₁ = Z₁αr^⊤",
    corrected="Ż₁ = rα^⊤Z₁",
)
def _first_layer() -> Demonstration:
    state = turning_state()
    truth = state.neg_grad @ state.Z2.T
    forms = state.Z1 @ state.alpha @ state.neg_grad.T, state.neg_grad @ state.alpha.T @ state.Z1
    return demonstration("Ż₁ along a flow, relative", [off(f, truth) for f in forms], FLOW)


@register(
    "varre2023.lemmaC.7_beta",
    where="Lemma C.7, proof",
    printed="β̇ = (Z₁^⊤Z₁ + α^⊤Z₁^⊤Z₁α)r",
    corrected="β̇ = (Z₁Z₁^⊤ + α^⊤Z₁Z₁^⊤α)r",
)
def _coef_speed() -> Demonstration:
    state = turning_state()
    grams, alpha = (state.Z1.T @ state.Z1, state.Z1 @ state.Z1.T), state.alpha
    forms = [
        gram @ state.neg_grad + float((alpha.T @ gram @ alpha)[0, 0]) * state.neg_grad
        for gram in grams
    ]
    errors = [off(form, state.beta_speed) for form in forms]
    return demonstration("β̇ along a flow, relative", errors, FLOW)


@register(
    "varre2023.lemmaC.8",
    where="Lemma C.8, 'using the convexity of L'",
    printed="⟨∇L(β), β − β*⟩ ≤ L(β) − L(β*)",
    corrected="⟨∇L(β), β − β*⟩ ≥ L(β) − L(β*) (= 2L(β) for the square loss)",
)
def _convexity() -> Demonstration:
    rng = np.random.default_rng(0)
    X, beta = rng.standard_normal((3, 5)), rng.standard_normal(5)
    target = np.linalg.pinv(X) @ rng.standard_normal(3)
    residual = X @ (beta - target)
    loss, product = 0.5 * float(residual @ residual), float((X.T @ residual) @ (beta - target))
    errors = max(product - loss, 0.0) / loss, max(loss - product, 0.0) / loss
    return demonstration("by how much the inequality is violated, of L", errors, EXACT)
