"""The check of the predicted layers.

A relative error of the layers is that of the integration, and what the coefficients' own errors do
to them. Along its curve `ȧ_j = g_j u`, `β̇ = Σ_k g_k² u` with `g_j = Π_{k≠j} a_k`, so that an error
δβ of a coefficient is one of `δβ g_j/Σ_k g_k²` of its layer. Along the one dual ν of one sample the
layers move as `M(x)v₂` and `M(x)ᵀv₁`.
"""

import numpy as np

from limitpoint.dynamics import Trajectory
from limitpoint.foundation.arrays import Float
from limitpoint.problem import Problem
from limitpoint.theory import Limit, Reduction
from limitpoint.theory.solvers.one_sample import OneSample
from limitpoint.verify.sensitivity import SAFETY, Sensitivity
from limitpoint.verify.verdict import Check

__all__ = ["layer_checks"]


def layer_checks(
    name: str,
    problem: Problem,
    limit: Limit,
    run: Trajectory,
    scales: Sensitivity,
    accumulated: float,
    reduction: Reduction | None,
    moved: Float | None = None,
) -> list[Check]:
    """The layer that is furthest from its prediction beyond what it may, or nearest to it.

    `moved` is by how much the products within a diagonal form may be off beyond what the run's
    relative residual explains.
    """
    if limit.layers is None or run.layers is None:
        return []
    ends = [layer[-1] for layer in run.layers]
    if reduction is not None:
        rooms = _rooms_within(reduction, scales, ends, accumulated, moved)
    else:
        rooms = _rooms_along(problem, limit, scales, run.coef, accumulated)
    if rooms is None:
        return []
    found = []
    for end, wanted, room in zip(ends, limit.layers, rooms, strict=True):
        size = float(np.linalg.norm(wanted)) or 1.0
        off = float(np.linalg.norm(end - wanted)) / size
        found.append((off, SAFETY * (room / size + accumulated)))
    off, tolerance = max(found, key=lambda one: one[0] / one[1])
    return [
        Check(f"{name}: layers", off, tolerance, "relative residual, accuracy, taken to the layers")
    ]


def _rooms_within(
    reduction: Reduction,
    scales: Sensitivity,
    ends: list[Float],
    accumulated: float,
    moved: Float | None,
) -> list[float] | None:
    """By the errors of the products of the diagonal network."""
    layers = np.stack(reduction.form.inner_layers(ends))
    products = layers.prod(axis=0)
    errors = scales.within.moves(products, accumulated)
    if moved is not None:
        errors = errors + moved
    others = np.stack([np.delete(layers, j, axis=0).prod(axis=0) for j in range(len(layers))])
    squares = (others**2).sum(axis=0)
    # Squares of layers move alike, so that a layer which moves by Δ leaves each of the others at
    # least Δ/2: however far from first order, `|Δ| ≤ 2 (|β| + |δβ|)^(1/L)`.
    most = 2 * (np.abs(products) + errors) ** (1 / len(layers))
    with np.errstate(divide="ignore", invalid="ignore"):
        moves = np.where(squares > 0, np.abs(others) * errors / squares, 0.0)
    return [float(np.linalg.norm(np.minimum(move, most))) for move in moves]


def _rooms_along(
    problem: Problem, limit: Limit, scales: Sensitivity, coef: Float, accumulated: float
) -> list[float] | None:
    """By the error of the one dual."""
    sample = OneSample.of(problem)
    if sample is None:
        return None
    assert limit.layers is not None, "the caller has looked"
    ahead, back = sample.spectrum.times(limit.layers)
    network, x = problem.network, problem.task.X[0]
    along = np.asarray(network.coef((ahead, limit.layers[1])))
    along = along + np.asarray(network.coef((limit.layers[0], back)))
    slope = float(np.abs(x @ along))
    missed = abs(float(problem.regression.y[0] - x @ coef))
    missed += max(accumulated, limit.certificate.tolerance) * float(np.abs(x) @ scales.terms)
    dual = missed / slope if slope > 0 else 0.0
    return [dual * float(np.linalg.norm(one)) for one in (ahead, back)]
