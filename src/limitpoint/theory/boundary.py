"""Half-lines whose ends the best fits touch: some coefficients vanish in the limit."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog, lsq_linear

from limitpoint.arrays import Float
from limitpoint.mirror import MirrorMap
from limitpoint.problem import Problem
from limitpoint.status import Status
from limitpoint.tasks import Regression
from limitpoint.theory.atlas import Condition, Theorem, register
from limitpoint.theory.certificate import Certificate
from limitpoint.theory.conditions import listed, own_clocks
from limitpoint.theory.limit import Limit
from limitpoint.theory.mirror_limit import mirror_limit_of
from limitpoint.theory.whitening import whiten

# Coefficients below this part of the largest count as zero in the linear program, which is solved
# to about 1e-9.
SUPPORT_TOLERANCE = 1e-6
# The active set of the constrained least squares is found to this, relative.
LEAST_SQUARES_TOLERANCE = 1e-14


def _conditions(problem: Problem) -> Sequence[Condition]:
    clocks, mirror = own_clocks(problem)
    if mirror is None:
        return clocks
    ends = np.stack([mirror.lower, mirror.upper])
    others = (np.isfinite(ends) & (ends != 0)).any(axis=0)
    detail = (
        f"bounded elsewhere: features {listed(others)}" if others.any() else "all bounds are zero"
    )
    return (
        *clocks,
        Condition("coefficients bounded by zero only", not others.any(), None, detail),
    )


def _limit(problem: Problem) -> Limit:
    """Drop the coefficients that vanish in every constrained best fit; the rest is inside."""
    task = problem.regression
    mirror = problem.network.mirror_map(problem.init)
    assert mirror is not None, "a condition of the theorem"
    alive = _alive(task, mirror)
    fit = _projection(task.X * alive, task.y)
    inner = mirror_limit_of(Regression(task.X * alive, fit, task.loss_factor), mirror, BOUNDARY)
    pull = task.X.T @ (task.y - fit)
    outward = np.where(mirror.upper > 0, pull, 0.0) + np.where(mirror.lower < 0, -pull, 0.0)
    ended = ~alive & (mirror.lower < mirror.upper)
    size = np.linalg.norm(task.X, axis=0) * float(np.linalg.norm(task.y))
    with np.errstate(divide="ignore", invalid="ignore"):
        wrong = np.nan_to_num(np.where(ended & (size > 0), np.maximum(outward, 0) / size, 0.0))
    certificate = Certificate(
        {**inner.certificate.residuals, "signs": float(wrong.max(initial=0.0))},
        inner.certificate.tolerance,
    )
    exact = bool(np.linalg.norm(task.y - fit) <= 1e-10 * np.linalg.norm(task.y))
    status = Status.CONVERGED if exact else Status.LEAST_SQUARES
    return replace(
        inner,
        coef=np.where(ended, 0.0, inner.coef),
        signs=np.where(ended, 0.0, inner.signs),
        log_abs_coef=np.where(ended, -np.inf, inner.log_abs_coef),
        clocks=np.where(ended, np.where(mirror.upper > 0, -np.inf, np.inf), inner.clocks),
        certificate=certificate,
        status=status if certificate.ok else Status.NOT_CERTIFIED,
    )


def _alive(task: Regression, mirror: MirrorMap) -> NDArray[np.bool_]:
    """The coefficients that are not zero in some constrained best fit.

    First one best fit, by least squares with bounds; then, while some coefficient at its bound can
    leave it without changing the fit, a linear program that moves as many as possible. Convex
    combinations of best fits are best fits, so what was once alive stays so.
    """
    movable = mirror.lower < mirror.upper
    X = task.X * movable
    scale = float(np.abs(X).max()) or 1.0
    found = lsq_linear(
        X / scale,
        task.y / (float(np.linalg.norm(task.y)) or 1.0),
        bounds=(np.where(movable, mirror.lower, -np.inf), np.where(movable, mirror.upper, np.inf)),
        method="bvls",
        tol=LEAST_SQUARES_TOLERANCE,
    )
    sign = np.where(mirror.lower == 0, 1.0, np.where(mirror.upper == 0, -1.0, 0.0))
    free = sign == 0
    largest = float(np.abs(found.x).max())
    alive: NDArray[np.bool_] = movable & (free | (np.abs(found.x) > SUPPORT_TOLERANCE * largest))
    data = whiten(X, X @ found.x)
    while True:
        waiting = np.flatnonzero(movable & ~alive)
        if waiting.size == 0:
            return alive
        grown = _grown(data.rows, data.target, sign, movable, waiting)
        joined = waiting[grown > SUPPORT_TOLERANCE]
        if joined.size == 0:
            return alive
        alive[joined] = True


def _grown(
    rows: Float,
    target: Float,
    sign: Float,
    movable: NDArray[np.bool_],
    waiting: NDArray[np.intp],
) -> Float:
    """How far the waiting coefficients can be from zero together, each counted up to 1."""
    n, size = rows.shape[1], float(np.abs(target @ rows).max(initial=0.0)) or 1.0
    pick = np.zeros((waiting.size, n + waiting.size))
    pick[np.arange(waiting.size), waiting] = -sign[waiting]
    pick[np.arange(waiting.size), n + np.arange(waiting.size)] = 1.0
    within = [
        (0.0, 0.0) if not can else (0.0, None) if s > 0 else (None, 0.0) if s < 0 else (None, None)
        for s, can in zip(sign, movable, strict=True)
    ]
    result = linprog(
        np.concatenate([np.zeros(n), -np.ones(waiting.size)]),
        A_ub=pick,
        b_ub=np.zeros(waiting.size),
        A_eq=np.hstack([rows, np.zeros((len(target), waiting.size))]),
        b_eq=target / size,
        bounds=[*within, *[(0.0, 1.0)] * waiting.size],
        method="highs",
    )
    return np.asarray(result.x[n:]) if result.success else np.zeros(waiting.size)


def _projection(X: Float, y: Float) -> Float:
    """Project y onto the range of X."""
    data = whiten(X, y)
    fit: Float = data.left @ (data.left.T @ y)
    return fit


BOUNDARY = register(
    Theorem(
        id="limitpoint.boundary",
        citation="limitpoint; extends Labarrière et al. (2024), Theorem 1, to fits on the boundary",
        statement=(
            "Where coefficients keep their sign and no best fit lies strictly inside their "
            "half-lines, the limit is argmin Σ (Q_i(β_i) − β_i Q_i'(β_i(0))) among the best fits "
            "under the sign constraints (all of which have the same Xβ); coefficients that vanish "
            "in all of them vanish in the limit, their clocks running to infinity. Proof: for any "
            "such fit b, the Bregman distance D(b, β(t)) falls, since its derivative is "
            "⟨∇loss(β), b − β⟩ ≤ 0, and for two of them the difference of the two distances is "
            "constant; Q is continuous up to 0, so D(β(∞), β(t)) → 0."
        ),
        concludes="limit",
        rank=3,
        conditions=_conditions,
        limit=_limit,
    )
)
