"""Our extension of labarriere's Theorem 1 to layers that tie: half-lines instead of lines."""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linprog

from limitpoint.mirror import MirrorMap
from limitpoint.problem import Problem
from limitpoint.tasks import Regression
from limitpoint.theory.atlas import Condition, Theorem, register
from limitpoint.theory.conditions import finite_scale, is_diagonal
from limitpoint.theory.limit import Limit
from limitpoint.theory.mirror_limit import mirror_limit
from limitpoint.theory.whitening import whiten

# The interior margin is a linear program solved to about 1e-9 (HiGHS); below a thousand times
# that, relative to the minimum-norm solution, a half-line cannot be told from its boundary.
INTERIOR_TOLERANCE = 1e-6


def _conditions(problem: Problem) -> Sequence[Condition]:
    network, scale = is_diagonal(problem, depth=2), finite_scale(problem)
    if not (network.holds and scale.holds):
        return (network, scale)
    mirror = problem.network.mirror_map(problem.init)
    assert mirror is not None, "a diagonal network of depth 2 has a mirror map"
    margin = _interior_margin(problem.task, mirror)
    bound = int(np.sum(np.isfinite(mirror.lower) != np.isfinite(mirror.upper)))
    return (
        network,
        scale,
        Condition(
            "a best fit strictly inside all half-lines exists",
            margin > INTERIOR_TOLERANCE,
            margin,
            f"{bound} coefficients keep their sign for ever; "
            f"largest relative distance from zero of a best fit {margin:.3g}",
        ),
    )


def _interior_margin(task: Regression, mirror: MirrorMap) -> float:
    """How far from zero all sign-bound coefficients can be in a best fit, relative to its size.

    A linear program in (β, t): max t with `rows β = target`, `±β_i ≥ t` on the half-lines, t ≤ 1.
    """
    movable = mirror.lower < mirror.upper
    sign = np.where(np.isneginf(mirror.lower), 0.0, 1.0) - np.where(
        np.isposinf(mirror.upper), 0.0, 1.0
    )
    bound = np.flatnonzero(movable & (sign != 0))
    if bound.size == 0:
        return 1.0
    data = whiten(task.X * movable, task.y)
    size = float(np.abs(data.target @ data.rows).max(initial=0.0))
    n = task.n_features
    apart = np.zeros((bound.size, n + 1))
    apart[np.arange(bound.size), bound] = -sign[bound]
    apart[:, n] = 1.0
    result = linprog(
        np.append(np.zeros(n), -1.0),
        A_ub=apart,
        b_ub=np.zeros(bound.size),
        A_eq=np.hstack([data.rows, np.zeros((len(data.target), 1))]),
        b_eq=data.target / (size or 1.0),
        bounds=[(None, None)] * n + [(None, 1.0)],
        method="highs",
    )
    return float(result.x[n]) if result.success else -np.inf


def _limit(problem: Problem) -> Limit:
    return mirror_limit(problem, HALF_LINES)


HALF_LINES = register(
    Theorem(
        id="limitpoint.half_lines",
        citation="limitpoint; extends Labarrière et al. (2024), Theorem 1, to tied layers",
        statement=(
            "Where the two layers of a coordinate start equal (opposite) in value, the coefficient "
            "stays positive (negative) for ever: β = β(0)e^{2ξ}. Proof: a − b (a + b) is zero and "
            "stays so. The limit is argmin Σ Q_i(β_i) over those half-lines among the best fits, "
            "with Q(β) = ½|β|(log|β/β(0)| − 1) there, provided a best fit strictly inside exists. "
            "A coordinate whose layers both start at zero never moves."
        ),
        concludes="limit",
        rank=5,
        conditions=_conditions,
        limit=_limit,
    )
)
