"""Slips in the potentials of rank-one networks: Appendix A.3, C.2 and D.3."""

from typing import Any

import jax
import numpy as np

import limitpoint as lp
from limitpoint.foundation.arrays import Float
from limitpoint.papers.errata.erratum import Demonstration, register
from limitpoint.papers.errata.lyu2023.point import ROUNDING, error, rank_one_point

DEPTH = 3
DEGREE = 2 * DEPTH - 1
LAMBDA = 2 * (DEPTH - 1) / DEGREE
OMEGA = 2 * DEPTH / DEGREE
# The flow fits the data to 2e-10.
FLOW = 1e-7


def _hessian(theta: Float) -> Float:
    """Of `‖θ‖^Ω/Ω`, by automatic differentiation."""
    with jax.enable_x64(True):
        found: Any = jax.jit(jax.hessian(lambda t: (t @ t) ** (OMEGA / 2) / OMEGA))(theta)
        return np.asarray(found)


@register(
    "lyu2023.A.3",
    where="Appendix A.3, V^S recalled from Theorem 3",
    printed="V^S = ‖θ‖^Ω/Ω + θᵀθ(0)/‖θ(0)‖^λ − (2λη/(nb)) θᵀ∫…",
    corrected="V^S = ‖θ‖^Ω/Ω − θᵀθ(0)/‖θ(0)‖^λ + (2λη/(nb)) θᵀ∫…, as in (53) and (112)",
)
def sign_of_the_start() -> Demonstration:
    """At the end of the flow ∇V lies in the row space of X."""
    point = rank_one_point()
    problem = lp.Problem(point.network, lp.Init.from_layers(point.layers), point.task)
    start, end = point.theta, lp.flow(problem, space=lp.ParameterSpace()).coef
    null = np.eye(len(start)) - np.linalg.pinv(point.task.X) @ point.task.X
    z = [null @ t / np.linalg.norm(t) ** LAMBDA for t in (start, end)]
    size = float(np.linalg.norm(z[0]))
    return Demonstration(
        "part of ∇V in the null space of X where gradient flow ends, relative to the start's",
        float(np.linalg.norm(z[1] + z[0])) / size,
        float(np.linalg.norm(z[1] - z[0])) / size,
        FLOW,
    )


@register(
    "lyu2023.eq45",
    where="Equation (45)",
    printed="∇²V = ‖θ‖^{−2(L−1)/(2L−1)} (I − 1/(1 + ‖θ‖²/(2(L−1))) θθᵀ/‖θ‖²)",
    corrected="∇²V = ‖θ‖^{−2(L−1)/(2L−1)} (I − 1/(1 + 1/(2(L−1))) θθᵀ/‖θ‖²)",
)
def hessian_of_the_potential() -> Demonstration:
    """The Hessian of ‖θ‖^Ω/Ω."""
    point = rank_one_point()
    true, unit = _hessian(point.theta), np.eye(len(point.theta))

    def form(stray: float) -> Float:
        share = 1 / (1 + stray / (2 * (DEPTH - 1)))
        return np.asarray(point.norm**-LAMBDA * (unit - share * point.along))

    return Demonstration(
        "relative error of ∇²V at ‖θ‖ = 3",
        error(form(point.norm**2), true),
        error(form(1.0), true),
        ROUNDING,
    )


@register(
    "lyu2023.eq46",
    where="Equation (46)",
    printed="d/dt ∇V(θ) = −(2/n) Xᵀr",
    corrected="d/dt ∇V(θ) = −(2|ξ|/n) Xᵀr: rank-one networks, too, need the time warp |ξ|",
)
def time_warp() -> Demonstration:
    """∇²V times the velocity of θ under gradient flow of the layers."""
    point = rank_one_point()
    true = _hessian(point.theta) @ point.velocity()
    printed = -2 / point.task.n_samples * point.gradient
    return Demonstration(
        "relative error of d/dt ∇V along gradient flow of the layers, ‖θ‖ = 3",
        error(printed, true),
        error(abs(float(point.network.outer(point.layers))) * printed, true),
        ROUNDING,
    )


@register(
    "lyu2023.eq52",
    where="Equation (52), last line",
    printed="V̂'(‖θ‖) = (2L−1)/(2L) ‖θ‖^{2L/(2L−1)}",
    corrected="V̂(‖θ‖) = (2L−1)/(2L) ‖θ‖^{2L/(2L−1)}, so V̂'(‖θ‖) = ‖θ‖^{1/(2L−1)}",
)
def derivative_of_the_profile() -> Demonstration:
    """(51): `‖θ‖V̂''/V̂' = 1/(2L−1)`."""

    def profile(s: Any) -> Any:
        return s**OMEGA / OMEGA

    with jax.enable_x64(True):
        first, second = jax.grad(profile), jax.grad(jax.grad(profile))
        printed = 2.0 * first(2.0) / profile(2.0)
        corrected = 2.0 * second(2.0) / first(2.0)
    return Demonstration(
        "relative error of ‖θ‖V̂''/V̂', which is 1/(2L−1) by (51)",
        error(float(printed), 1 / DEGREE),
        error(float(corrected), 1 / DEGREE),
        ROUNDING,
    )


def _inverse_forms(denominator: float) -> tuple[Float, Float]:
    """`(1/ξ²)(I − θθᵀ/denominator)`, and the inverse that it stands for."""
    point = rank_one_point()
    first, xi = point.layers[0], float(point.network.outer(point.layers))
    phi = 2 * (DEPTH - 1) / float(first @ first)
    unit = np.eye(len(first))
    true: Float = np.asarray(
        np.linalg.inv(xi**2 * (unit + phi * np.outer(first, first))), dtype=np.float64
    )
    form = (unit - np.outer(point.theta, point.theta) / denominator) / xi**2
    return form, true


@register(
    "lyu2023.eq92",
    where="Equation (92), and the inverse above it",
    printed="(1/ξ²)(I − θθᵀ/(1 + (ξ²/Φ₁)‖θ‖²))",
    corrected="(1/ξ²)(I − θθᵀ/(‖θ‖² + ξ²/Φ₁))",
)
def inverse_for_the_potential() -> Demonstration:
    """The inverse of `ξ²I + ξ²Φ₁v₁v₁ᵀ`."""
    point = rank_one_point()
    first, xi = point.layers[0], float(point.network.outer(point.layers))
    ratio = xi**2 * float(first @ first) / (2 * (DEPTH - 1))  # ξ²/Φ₁
    return Demonstration(
        "relative error of the inverse of ξ²I + ξ²Φ₁v₁v₁ᵀ, ‖θ‖ = 3",
        error(*_inverse_forms(1 + ratio * point.norm**2)),
        error(*_inverse_forms(point.norm**2 + ratio)),
        ROUNDING,
    )


@register(
    "lyu2023.eq93",
    where="Equation (93), first line",
    printed="(1/ξ²)(I − θθᵀ/(1 + ‖θ‖²/(2(L−1))))",
    corrected="(1/ξ²)(I − θθᵀ/((1 + 1/(2(L−1)))‖θ‖²))",
)
def inverse_at_balance() -> Demonstration:
    """The same at balance, where it is `(1/ξ²)(I − λθθᵀ/‖θ‖²)`."""
    square = rank_one_point().norm ** 2
    return Demonstration(
        "relative error of the inverse of ξ²I + ξ²Φ₁v₁v₁ᵀ at balance, ‖θ‖ = 3",
        error(*_inverse_forms(1 + square / (2 * (DEPTH - 1)))),
        error(*_inverse_forms((1 + 1 / (2 * (DEPTH - 1))) * square)),
        ROUNDING,
    )
