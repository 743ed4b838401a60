"""Slips in the proof for standard networks: Appendix C.3."""

from typing import Any

import jax
import numpy as np
from scipy.integrate import solve_ivp

from limitpoint.foundation.arrays import Float
from limitpoint.papers.errata.erratum import Demonstration, register
from limitpoint.papers.errata.lyu2023.point import ROUNDING, Point, error, standard_point

DEPTH = 3
# The integration's tolerance, times a hundred.
INTEGRATED = 1e-8


def _bracket(point: Point) -> Float:
    """`I + (L−1)θθᵀ/‖θ‖²`."""
    return np.asarray(np.eye(len(point.theta)) + (DEPTH - 1) * point.along)


@register(
    "lyu2023.eq55",
    where="Equation (55)",
    printed="θ̇ = −‖θ‖^{2(L−1)/L} [I + (L−1)θθᵀ/‖θ‖²] Xᵀr",
    corrected="θ̇ = −(2/n) ‖θ‖^{2(L−1)/L} [I + (L−1)θθᵀ/‖θ‖²] Xᵀr, for the loss (1/n)Σr_i²",
)
def velocity_of_theta() -> Demonstration:
    """The flow of a balanced dense network."""
    point = standard_point()
    printed = -(point.norm ** (2 * (DEPTH - 1) / DEPTH)) * _bracket(point) @ point.gradient
    true = point.velocity()
    return Demonstration(
        "relative error of θ̇ under gradient flow of the layers, n = 4",
        error(printed, true),
        error(2 / point.task.n_samples * printed, true),
        ROUNDING,
    )


@register(
    "lyu2023.C.3.hessian",
    where="Appendix C.3, below (61)",
    printed="∂²V_std = ‖θ‖^{2(L−1)/L} (I − ((L−1)/L) θθᵀ/‖θ‖²) dθ/dt",
    corrected="∂²V_std = ‖θ‖^{2(1−L)/L} (I − ((L−1)/L) θθᵀ/‖θ‖²)",
)
def required_hessian() -> Demonstration:
    """What (61), `∂²V_std θ̇ = −(2/n)Xᵀr`, requires; the stray factor dθ/dt left aside."""
    point = standard_point()
    shape = np.eye(len(point.theta)) - (DEPTH - 1) / DEPTH * point.along
    true = -2 / point.task.n_samples * point.gradient
    power, moved = 2 * (DEPTH - 1) / DEPTH, shape @ point.velocity()
    return Demonstration(
        "relative error of ∂²V_std·θ̇ against −(2/n)Xᵀr, ‖θ‖ = 2",
        error(point.norm**power * moved, true),
        error(point.norm**-power * moved, true),
        ROUNDING,
    )


@register(
    "lyu2023.eq64",
    where="Equation (64), last expression",
    printed="V̂'_std = (C'L/(L+1)) ‖θ‖^{1/L+1}",
    corrected="V̂_std = (C'L/(L+1)) ‖θ‖^{1/L+1}, so V̂'_std = C'‖θ‖^{1/L}",
)
def derivative_of_the_profile() -> Demonstration:
    """(64) itself: `V̂''_std/V̂'_std = 1/(L‖θ‖)`."""
    power = 1 + 1 / DEPTH

    def profile(s: Any) -> Any:
        return s**power / power

    with jax.enable_x64(True):
        first, second = jax.grad(profile), jax.grad(jax.grad(profile))
        printed, corrected = first(2.0) / profile(2.0), second(2.0) / first(2.0)
    return Demonstration(
        "relative error of ‖θ‖V̂''_std/V̂'_std, which is 1/L",
        error(2 * float(printed), 1 / DEPTH),
        error(2 * float(corrected), 1 / DEPTH),
        ROUNDING,
    )


@register(
    "lyu2023.C.3.multipliers",
    where="Appendix C.3, below (67)",
    printed="λ_i = ∫₀^∞ r_i(s) ds in ∂V_std = Σ x_iλ_i",
    corrected="λ_i = −(2/n) ∫₀^∞ g(θ) r_i(s) ds, g(θ) = ‖θ‖^{(L−1)/L} of (65)",
)
def multipliers() -> Demonstration:
    """Both integrals along the flow to its end."""
    point = standard_point(norm=1.0)
    X, y, n, d = point.task.X, point.task.y, point.task.n_samples, point.task.n_features
    power = (DEPTH - 1) / DEPTH

    def slope(_: float, state: Float) -> Float:
        theta = state[:d]
        norm = np.linalg.norm(theta)
        gradient = X.T @ (X @ theta - y)
        turned = gradient + (DEPTH - 1) * theta * (theta @ gradient) / norm**2
        residual = X @ theta - y
        moved = -2 / n * norm ** (2 * power) * turned
        return np.concatenate([moved, residual, -2 / n * norm**power * residual])

    start = np.concatenate([point.theta, np.zeros(2 * n)])
    end = solve_ivp(slope, (0.0, 200.0), start, "LSODA", rtol=1e-10, atol=1e-12).y[:, -1]
    theta, printed, corrected = end[:d], end[d : d + n], end[d + n :]
    size = np.linalg.norm(theta)
    true = theta * size ** (1 / DEPTH - 1) - point.theta * point.norm ** (1 / DEPTH - 1)
    return Demonstration(
        "relative error of Σ x_iλ_i against ∂V_std at the end of the flow",
        error(X.T @ printed, true),
        error(X.T @ corrected, true),
        INTEGRATED,
    )


def _decrease(point: Point) -> float:
    """dL/dt under gradient flow of the layers."""
    return float(2 / point.task.n_samples * point.gradient @ point.velocity())


@register(
    "lyu2023.C.3.rate",
    where="Appendix C.3, dL/dt, second line",
    printed="dL/dt = −(2‖θ‖^{2(1−L)/L}/n) rᵀX [I + (L−1)θθᵀ/‖θ‖²] Xᵀr",
    corrected="dL/dt = −(4‖θ‖^{2(L−1)/L}/n²) rᵀX [I + (L−1)θθᵀ/‖θ‖²] Xᵀr",
)
def decrease_of_the_loss() -> Demonstration:
    """The power of ‖θ‖ has the sign of (55), and 2/n enters twice."""
    point = standard_point()
    n, power = point.task.n_samples, 2 * (DEPTH - 1) / DEPTH
    form = float(point.gradient @ _bracket(point) @ point.gradient)
    true = _decrease(point)
    return Demonstration(
        "relative error of dL/dt under gradient flow of the layers, ‖θ‖ = 2",
        error(-2 / n * point.norm**-power * form, true),
        error(-4 / n**2 * point.norm**power * form, true),
        ROUNDING,
    )


@register(
    "lyu2023.C.3.square",
    where="Appendix C.3, dL/dt, last line",
    printed="‖rᵀX‖² + (L−1)(θᵀXᵀr)²",
    corrected="‖rᵀX‖² + (L−1)(θᵀXᵀr)²/‖θ‖²",
)
def square_in_the_decrease() -> Demonstration:
    """The form in the brackets, with the right factor before it."""
    point = standard_point()
    factor = -4 / point.task.n_samples**2 * point.norm ** (2 * (DEPTH - 1) / DEPTH)
    whole, part = float(point.gradient @ point.gradient), float(point.theta @ point.gradient) ** 2
    true = _decrease(point)
    return Demonstration(
        "relative error of dL/dt under gradient flow of the layers, ‖θ‖ = 2",
        error(factor * (whole + (DEPTH - 1) * part), true),
        error(factor * (whole + (DEPTH - 1) * part / point.norm**2), true),
        ROUNDING,
    )
