"""Slips about the noise of SGD: Appendix D."""

from typing import Any

import numpy as np

import limitpoint as lp
from limitpoint.dynamics.training.sgd_model import SGDModel
from limitpoint.foundation.arrays import Float
from limitpoint.papers.errata.erratum import Demonstration, register
from limitpoint.papers.errata.lyu2023.point import ROUNDING, Point, error, rank_one_point

DEPTH = 3
DEGREE = 2 * DEPTH - 1
LAMBDA = 2 * (DEPTH - 1) / DEGREE
RATE = 1e-3
# One step's change, of size η², is a difference of numbers of size 1.
ONE_STEP = 1e-8


def _model(point: Point) -> SGDModel:
    problem = lp.Problem(point.network, lp.Init.from_layers(point.layers), point.task)
    return SGDModel(problem, lp.SGD(RATE, 1))


def _drift(point: Point, function: Any) -> Float:
    """What the noise of (73) to (75) adds to the mean of a function of θ: Itô's term.

    Half the sum over samples of the second derivative along the noise of that sample, which moves
    all layers at once.
    """
    first, xi = point.layers[0], float(point.network.outer(point.layers))
    size = 2 * np.sqrt(RATE * point.loss / point.task.n_samples)
    total = np.zeros(len(first))
    for x in point.task.X:
        direction = [size * xi * x]
        for u, v in zip(point.layers[1::2], point.layers[2::2], strict=True):
            common = size * xi / float(u @ v) * float(first @ x)
            direction += [common * v, common * u]
        total += 0.5 * point.second_derivative(function, direction)
    return total


@register(
    "lyu2023.lemma3",
    where="Lemma 3",
    printed="Itô drift (8ηL(L−1)/(n‖θ‖^{2/(2L−1)})) [I + ((2L−3)/2) θθᵀ/‖θ‖²] XᵀXθ",
    corrected="the same with ‖θ‖^{4λ−2} in place of ‖θ‖^{−2/(2L−1)}",
)
def drift_of_theta() -> Demonstration:
    """Itô's term for θ itself."""
    point = rank_one_point(DEPTH)
    true, model = _drift(point, lambda theta: theta), _model(point)
    printed = model.ito_drift(point.theta, exponent=-2 / DEGREE)
    return Demonstration(
        "relative error of the drift that the noise of (73)-(75) gives to θ, ‖θ‖ = 3",
        error(printed, true),
        error(model.ito_drift(point.theta), true),
        ROUNDING,
    )


@register(
    "lyu2023.theorem3",
    where="Theorem 3, (14), (110)-(112)",
    printed="g'(t) = (2λη/n) L ‖θ‖^{λ−2} tr(P_⊥XᵀX) θ",
    corrected="‖θ‖^{3λ−2} in the time of SGD, ‖θ‖^{2λ−2} in the warped time dτ = |ξ|dt",
)
def drift_of_the_potential() -> Demonstration:
    """Itô's term for `∇(‖θ‖^Ω/Ω) = ‖θ‖^{−λ}θ`, which g takes up."""
    point = rank_one_point(DEPTH)
    model = _model(point)
    true = -_drift(point, lambda theta: theta * (theta @ theta) ** (-LAMBDA / 2))
    printed = model.potential_drift(point.theta, exponent=LAMBDA - 2)
    return Demonstration(
        "relative error of g' against what the noise of (73)-(75) takes from ‖θ‖^{−λ}θ, ‖θ‖ = 3",
        error(printed, true),
        error(model.potential_drift(point.theta), true),
        ROUNDING,
    )


@register(
    "lyu2023.D.2",
    where="Appendix D.2, balanced initialization",
    printed="SGD maintains ‖v_{k+1}(t)‖ = ‖u_k(t)‖ = ‖v₁(t)‖",
    corrected="d(‖v₁‖² − ‖u_k‖²) = (4ηLξ²/n) tr(P_⊥XᵀX) dt",
)
def balance_under_sgd() -> Demonstration:
    """One step of SGD from balance, averaged over all samples."""
    point = rank_one_point(DEPTH)
    after = [_one_step(point, j) for j in range(point.task.n_samples)]
    true = float(np.mean([a @ a - u @ u for a, u, *_ in after]))
    corrected = RATE * float(_model(point).balance_drift(point.theta))
    return Demonstration(
        "relative error of the mean of ‖v₁‖² − ‖u₁‖² after one step of SGD from balance",
        error(0.0, true),
        error(corrected, true),
        ONE_STEP,
    )


@register(
    "lyu2023.eq70",
    where="Equation (70), last line",
    printed="u_k(t+1) = u_k(t) − (2/n) v₁ᵀXᵀr ρ_kρ_{−k} v_{k+1} + 2η…",
    corrected="u_k(t+1) = u_k(t) − (2η/n) v₁ᵀXᵀr ρ_kρ_{−k} v_{k+1} + 2η…",
)
def rate_in_the_update() -> Demonstration:
    """The mean of SGD's steps over all samples, over which Z averages to 0."""
    point = rank_one_point(DEPTH)
    first, u, v = point.layers[:3]
    steps = [_one_step(point, j)[1] - u for j in range(point.task.n_samples)]
    others = float(point.network.outer(point.layers)) / float(u @ v)  # ρ_kρ_{−k}
    printed = -2 / point.task.n_samples * float(first @ point.gradient) * others * v
    true = np.mean(steps, axis=0)
    return Demonstration(
        "relative error of the mean step of u₁ at learning rate 1e-3",
        error(printed, true),
        error(RATE * printed, true),
        ROUNDING,
    )


@register(
    "lyu2023.eq94",
    where="Equation (94), third and fourth line",
    printed="coefficient of θθᵀXᵀXθ ((L−1) + 4(L−1)(L−2))(1−λ) − 2(L−1)λ = −3(L−1)/(2L−1)",
    corrected="((L−1) + 2(L−1)(L−2))(1−λ) − 2(L−1)λ = −(L−1), as the last line has it",
)
def coefficient_in_p() -> Demonstration:
    """𝒫 from its definition, with the Φ of (87) to (89)."""
    point = rank_one_point(DEPTH)
    first, xi = point.layers[0], float(point.network.outer(point.layers))
    square, unit = float(first @ first), np.eye(len(first))
    phi = (
        2 * (DEPTH - 1) / square,
        (DEPTH - 1) / square**2 + 2 * (DEPTH - 1) * (DEPTH - 2) / square**2,
    )
    outer = np.outer(first, first)
    force = point.task.X.T @ (point.task.X @ first)
    right = xi**3 * (phi[0] * unit + phi[1] * outer) @ force
    true = np.linalg.solve(xi**2 * (unit + phi[0] * outer), right)

    def form(coefficient: float) -> Float:
        shape = 2 * (DEPTH - 1) * unit + coefficient * point.along
        fitted = point.task.X.T @ (point.task.X @ point.theta)
        return np.asarray(xi**2 / point.norm**2 * shape @ fitted)

    return Demonstration(
        "relative error of 𝒫 against its definition above (92)",
        error(form(-3 * (DEPTH - 1) / DEGREE), true),
        error(form(-(DEPTH - 1)), true),
        ROUNDING,
    )


@register(
    "lyu2023.eq110",
    where="Equation (110), second line",
    printed="[I − I − (L/(2L−1) − 1/2)] XᵀXθ",
    corrected="[I − I − (L/(2L−1) − 1/2) θθᵀ/‖θ‖²] XᵀXθ",
)
def projector_in_the_drift() -> Demonstration:
    """The two lines of (110) against each other, less their common factor."""
    point = rank_one_point(DEPTH)
    X, theta = point.task.X, point.theta
    fitted = X.T @ (X @ theta)
    share = DEPTH / DEGREE - 0.5
    trace = 2 * LAMBDA * float(np.sum(X**2)) * theta
    across = float(np.sum(X**2)) - float(np.sum((X @ theta) ** 2)) / point.norm**2
    true = 2 * LAMBDA * across * theta
    return Demonstration(
        "relative difference of the second and the third line of (110)",
        error(trace - 8 * (DEPTH - 1) * share * fitted, true),
        error(trace - 8 * (DEPTH - 1) * share * point.along @ fitted, true),
        ROUNDING,
    )


def _one_step(point: Point, sample: int) -> list[Float]:
    """The layers after one step of SGD on this sample, from (15), (16) and (34)."""
    first, xi = point.layers[0], float(point.network.outer(point.layers))
    x, slope = point.task.X[sample], 2 * point.residual[sample]
    after = [first - RATE * slope * xi * x]
    for u, v in zip(point.layers[1::2], point.layers[2::2], strict=True):
        common = RATE * slope * xi / float(u @ v) * float(first @ x)
        after += [u - common * v, v - common * u]
    return after
