"""Slips in Appendix C.1, about discrete steps, and Proposition 4.1, about noise."""

import numpy as np
from scipy.optimize import minimize_scalar

from limitpoint.foundation.arrays import Float
from limitpoint.papers.errata.erratum import Demonstration, register
from limitpoint.papers.errata.varre2023.states import (
    DIFFERENCE,
    DIFFERENCE_ERROR,
    EXACT,
    demonstration,
    off,
)
from limitpoint.papers.varre2023.noise_law import noise_paths
from limitpoint.papers.varre2023.noise_process import NoiseProcess


def _step() -> tuple[Float, Float, Float, Float, Float, float]:
    """X, Y, W, a and the negative gradient of one step of descent, and its size."""
    rng = np.random.default_rng(0)
    X, Y, W = rng.standard_normal((4, 3)), rng.standard_normal(4), rng.standard_normal((3, 3))
    a = rng.standard_normal(3)
    return X, Y, W, a, X.T @ (Y - X @ W @ a), 0.01


@register(
    "varre2023.sectionC.1_a",
    where="Appendix C.1, discrete step size",
    printed="a_{t+1} = a_t + ηW_t^⊤a_t",
    corrected="a_{t+1} = a_t + ηW_t^⊤R_t",
)
def _discrete_a() -> Demonstration:
    X, Y, W, a, R, _ = _step()

    def loss(second: Float) -> float:
        return 0.5 * float(np.sum((Y - X @ W @ second) ** 2))

    # Central differences are exact for a quadratic function, up to roundings of it.
    shifts = DIFFERENCE * np.eye(3)
    downhill = np.array([loss(a - e) - loss(a + e) for e in shifts]) / (2 * DIFFERENCE)
    errors = off(W.T @ a, downhill), off(W.T @ R, downhill)
    return demonstration("the step of a, over η, relative", errors, DIFFERENCE_ERROR)


@register(
    "varre2023.sectionC.1_R",
    where="Appendix C.1, discrete step size",
    printed="R_{t+1} = … − η²(a_t^⊤W_tR_t)(X^⊤X)R_t",
    corrected="R_{t+1} = … − η²(a_t^⊤W_t^⊤R_t)(X^⊤X)R_t",
)
def _discrete_residual() -> Demonstration:
    X, Y, W, a, R, eta = _step()
    after = X.T @ (Y - X @ (W + eta * np.outer(R, a)) @ (a + eta * W.T @ R))
    gram = X.T @ X
    common = R - eta * gram @ (W @ W.T @ R + (a @ a) * R)
    numbers = float(a @ W @ R), float(a @ W.T @ R)
    errors = [off(common - eta**2 * number * gram @ R, after) for number in numbers]
    return demonstration("the residual after one step, relative", errors, EXACT)


@register(
    "varre2023.proposition4.1b",
    where="Proposition 4.1(b) and its proof",
    printed="for d ≥ 5 and 0 < α < 1, √d + (α − 1)(√d + 1)²/(2√d) > c₀ > 0",
    corrected="the proof needs d ≥ 6",
)
def _dimension() -> Demonstration:
    def drift(d: int) -> float:
        """The least bracket of (D.3) over u²/v², as α → 0."""

        def bracket(log_ratio: float) -> float:
            y = np.exp(log_ratio)
            return float(np.sqrt(d) - 2 * (np.sqrt(d) + 1) ** 2 * y / (y + np.sqrt(d)) ** 2)

        return float(minimize_scalar(bracket, bounds=(-10.0, 10.0), method="bounded").fun)

    errors = max(-drift(5), 0.0), max(-drift(6), 0.0)
    return demonstration("how far below 0 the growth rate may be", errors, EXACT)


@register(
    "varre2023.proposition4.1b_jensen",
    where="Proposition 4.1(b), end of the proof, 'using the Jensen's inequality'",
    printed="(Σ_i ‖w_i‖²)^α ≥ d^{1−α} Σ_i ‖w_i‖^{2α}",
    corrected="(Σ_i ‖w_i‖²)^α ≥ d^{α−1} Σ_i ‖w_i‖^{2α}",
)
def _jensen() -> Demonstration:
    squares, power = np.array([1.0, 1.0, 2.0, 0.5]), 0.5
    left, total = squares.sum() ** power, float(np.sum(squares**power))
    errors = [max(len(squares) ** e * total / left - 1, 0.0) for e in (1 - power, power - 1)]
    return demonstration("by how much it is violated, relative", errors, EXACT)


@register(
    "varre2023.proposition4.1c",
    where="Proposition 4.1(c) and the end of its proof",
    printed="E|[w_i, a]| = |[w_i(0), a(0)]|e^{−t} → 0",
    corrected="for d = 2 it tends to 0.4819·|det W(0)|; the signed mean decays as e^{−t}, and the "
    "modulus on almost every path (|e| has a kink at 0, where Itô's formula adds local time)",
)
def _modulus() -> Demonstration:
    paths, end, steps = 10_000, 2.5, 500
    _, W, a = noise_paths(paths, end, steps, 1, seed=0)
    commutators = np.abs(W[-1, :, 0] * a[-1, 1] - W[-1, :, 1] * a[-1, 0]).mean(axis=0)
    determinants = W[-1, 0, 0] * W[-1, 1, 1] - W[-1, 0, 1] * W[-1, 1, 0]
    limit = NoiseProcess(2).mean_modulus_limit
    # The determinant has mean one; without its part the moduli spread little.
    steadied = commutators - limit * (determinants - 1)
    found, error = float(steadied.mean()), float(steadied.std() / np.sqrt(paths))
    # Five standard errors, and the order of the step.
    tolerance = 5 * error + end / steps
    return Demonstration("E|[w₁, a]| at t = 2.5", abs(found), abs(found - limit), tolerance)
