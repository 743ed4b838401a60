"""Slips in Labarrière et al. (2024), Optimization insights into deep diagonal linear networks."""

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.papers.errata.erratum import Demonstration, register
from limitpoint.papers.shared.raw_flow import RawFlow, power_slopes, product_slopes, raw_flow
from limitpoint.tasks import Regression

# Integrated to 1e-12 per step, some hundred steps, coefficients of order 1.
INTEGRATED = 1e-8
POWER = 3


def _deep_flow(times: Float) -> tuple[RawFlow, Regression, Float]:
    """A network of four layers with one component whose smallest layer changes its sign."""
    rng = np.random.default_rng(41)
    task = Regression(rng.standard_normal((10, 5)), rng.standard_normal(10), 2.0)
    start = rng.standard_normal((4, 5))
    return raw_flow(product_slopes, start, task, times), task, start


@register(
    "labarriere2024.equation6",
    where="Proposition 1, (6)",
    printed="d/dt (u^j ⊙ u^j) = −θ ⊙ ∇L(θ)",
    corrected="d/dt (u^j ⊙ u^j) = −2 θ ⊙ ∇L(θ)",
)
def _equation6() -> Demonstration:
    # The change of u² between two times is the integral of the right side, here by Gauss' rule
    # on an interval that is short beside the fastest rate, about 100.
    nodes, weights = np.polynomial.legendre.leggauss(6)
    length = 2e-3
    inner = (nodes + 1) / 2 * length
    run, task, _ = _deep_flow(np.concatenate([[0.0], inner, [length]]))
    moved = run.layers[-1] ** 2 - run.layers[0] ** 2
    gradients = task.loss_factor * (run.coefs @ task.X.T - task.y) @ task.X
    products = (run.coefs * gradients)[1:-1]
    integral = (weights / 2 * length) @ products
    return Demonstration(
        measure="largest error of the change of u² over a short time, relative",
        printed=float(np.abs(moved + integral).max() / np.abs(moved).max()),
        corrected=float(np.abs(moved + 2 * integral).max() / np.abs(moved).max()),
        tolerance=1e-6,
    )


@register(
    "labarriere2024.section2.1",
    where="Section 2.1, θ(t) after (8)",
    printed="θ(t) = sign(⊙_j v^j(0)) ⊙ ⊙_{j≥1} √(v¹(t)² + Δ_j)",
    corrected="θ(t) = sign(⊙_{j≥2} v^j(0)) ⊙ v¹(t) ⊙ ⊙_{j≥2} √(v¹(t)² + Δ_j): v¹ keeps its sign",
)
def _section21() -> Demonstration:
    run, _, start = _deep_flow(np.linspace(0.0, 8.0, 50))
    columns = np.arange(start.shape[1])
    smallest = np.abs(start).argmin(axis=0)
    v = run.layers[:, smallest, columns]
    gaps = start**2 - start[smallest, columns] ** 2
    roots = np.prod(np.sqrt(v[:, None] ** 2 + gaps), axis=1)  # the smallest layer gives |v|
    printed = np.sign(np.prod(start, axis=0)) * roots
    others = np.where(np.arange(len(start))[:, None] == smallest, 1.0, start)
    corrected = np.sign(np.prod(others, axis=0)) * np.sign(v) * roots
    return Demonstration(
        measure="largest error of θ(t) along a flow in which one layer crosses zero",
        printed=float(np.abs(printed - run.coefs).max()),
        corrected=float(np.abs(corrected - run.coefs).max()),
        tolerance=INTEGRATED,
    )


@register(
    "labarriere2024.equation20",
    where="Appendix A.1, (20)",
    printed="Q = ½ Σ (2θ arcsinh(2θ/Δ₀) − √(4θ²+Δ₀²) + Δ₀) − ½⟨log|(u(0)+v(0))/(u(0)−v(0))|, θ⟩",
    corrected="the prefactor of the sum is ¼",
)
def _equation20() -> Demonstration:
    rng = np.random.default_rng(0)
    task = Regression(rng.standard_normal((2, 5)), rng.standard_normal(2))
    u, v = start = rng.standard_normal((2, 5))
    end = raw_flow(product_slopes, start, task, [0.0, 100.0], stiff=True).coefs[-1]
    shape = np.arcsinh(2 * end / np.abs(u**2 - v**2))
    shift = 0.5 * np.log(np.abs((u + v) / (u - v)))
    row_space = np.linalg.pinv(task.X) @ task.X

    def residual(gradient: Float) -> float:
        return float(np.abs(gradient - row_space @ gradient).max())

    return Demonstration(
        measure="part of ∇Q at the end of a flow that is not in the row space of X",
        printed=residual(shape - shift),
        corrected=residual(0.5 * shape - shift),
        tolerance=INTEGRATED,
    )


def _redundant() -> tuple[Float, Float, Float]:
    """Start, end and mirror coordinates of a flow of u³ on positive data."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 1.0, (2, 4))
    task, u = Regression(X, X @ rng.uniform(0.2, 1.0, 4)), rng.uniform(0.5, 1.0, 4)
    run = raw_flow(power_slopes(POWER), u[None], task, [0.0, 200.0], stiff=True)
    return u, run.coefs[-1], run.duals[-1] @ X


@register(
    "labarriere2024.equation30",
    where="Appendix A.3, (30)",
    printed="Q(θ) = ⟨u(0)^{L−2}, θ⟩ − (L/2)⟨1, θ^{2/L}⟩",
    corrected="Q(θ) = ⟨u(0)^{−(L−2)}, θ⟩ − (L/2)⟨1, θ^{2/L}⟩",
)
def _equation30() -> Demonstration:
    # ∇Q(θ) = Ψ⁻¹(θ), which by (29) is L(L−2)ξ.
    u, end, xi = _redundant()
    power = POWER - 2
    common = end ** (-power / POWER)
    expected = POWER * power * xi
    return Demonstration(
        measure="largest distance of ∇Q at the end of a flow from Ψ⁻¹, L = 3",
        printed=float(np.abs(u**power - common - expected).max()),
        corrected=float(np.abs(u**-power - common - expected).max()),
        tolerance=INTEGRATED,
    )


@register(
    "labarriere2024.equation31",
    where="Appendix A.3, (31)",
    printed="d∇Q(θ)/dt + ∇L(θ) = 0 for the Q of (30)",
    corrected="d∇Q(θ)/dt + L(L−2)∇L(θ) = 0: by (29) ∇Q is L(L−2) times the mirror coordinate",
)
def _equation31() -> Demonstration:
    u, end, xi = _redundant()
    power = POWER - 2
    gradient = u**-power - end ** (-power / POWER)  # zero at the start
    return Demonstration(
        measure="largest error of ∇Q(θ(t)) + factor·∫∇L along a flow, L = 3",
        printed=float(np.abs(gradient - xi).max()),
        corrected=float(np.abs(gradient - POWER * power * xi).max()),
        tolerance=INTEGRATED,
    )
