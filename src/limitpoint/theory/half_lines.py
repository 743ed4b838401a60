"""Coefficients that cannot cross a bound: layers that tie, even powers, bounded features.

Our extension of labarriere's Theorem 1, in two steps: a best fit strictly inside all bounds, and
half-lines that the best fits touch.
"""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linprog

from limitpoint.mirror import MirrorMap
from limitpoint.problem import Problem
from limitpoint.tasks import Regression
from limitpoint.theory.atlas import Condition, Theorem, register
from limitpoint.theory.conditions import own_clocks
from limitpoint.theory.limit import Limit
from limitpoint.theory.mirror_limit import mirror_limit, mirror_path
from limitpoint.theory.whitening import whiten

# The interior margin is a linear program solved to about 1e-9 (HiGHS); below a thousand times
# that, relative to the minimum-norm solution, a half-line cannot be told from its boundary.
INTERIOR_TOLERANCE = 1e-6


def _conditions(problem: Problem) -> Sequence[Condition]:
    clocks, mirror = own_clocks(problem)
    if mirror is None:
        return clocks
    margin = interior_margin(problem.regression, mirror)
    bounded = np.isfinite(mirror.lower) | np.isfinite(mirror.upper)
    count = int(np.sum(bounded & (mirror.lower < mirror.upper)))
    return (
        *clocks,
        Condition(
            "a best fit strictly inside all half-lines exists",
            margin > INTERIOR_TOLERANCE,
            margin,
            f"{count} coefficients never cross their bound; "
            f"largest relative distance from it of a best fit {margin:.3g}",
        ),
    )


def interior_margin(task: Regression, mirror: MirrorMap) -> float:
    """How far from their bounds all coefficients can be in a best fit, relative to its size.

    A linear program in (β, t): max t with `rows β = target`, `β − lower ≥ t`, `upper − β ≥ t`
    where these are finite, t ≤ 1.
    """
    movable = mirror.lower < mirror.upper
    below = np.flatnonzero(movable & np.isfinite(mirror.lower))
    above = np.flatnonzero(movable & np.isfinite(mirror.upper))
    if below.size + above.size == 0:
        return 1.0
    data = whiten(task.X * movable, task.y)
    size = float(np.abs(data.target @ data.rows).max(initial=0.0)) or 1.0
    n = task.n_features
    apart = np.zeros((below.size + above.size, n + 1))
    apart[np.arange(below.size), below] = -1.0
    apart[below.size + np.arange(above.size), above] = 1.0
    apart[:, n] = 1.0
    result = linprog(
        np.append(np.zeros(n), -1.0),
        A_ub=apart,
        b_ub=np.concatenate([-mirror.lower[below], mirror.upper[above]]) / size,
        A_eq=np.hstack([data.rows, np.zeros((len(data.target), 1))]),
        b_eq=data.target / size,
        bounds=[(None, None)] * n + [(None, 1.0)],
        method="highs",
    )
    return float(result.x[n]) if result.success else -np.inf


def _limit(problem: Problem) -> Limit:
    return mirror_limit(problem, HALF_LINES)


def _path(problem: Problem, log_scales: Sequence[float]) -> list[Limit | None]:
    return mirror_path(problem, HALF_LINES, log_scales)


HALF_LINES = register(
    Theorem(
        id="limitpoint.half_lines",
        citation=(
            "limitpoint; extends Labarrière et al. (2024), Theorem 1, to tied layers and to the "
            "one-sided networks of its Appendix A.3 (its (30), (31) corrected)"
        ),
        statement=(
            "A coefficient may be unable to cross a bound: where two layers of a diagonal network "
            "tie for the smallest in modulus, or β = u^L with L even, or L odd and u(0) of one "
            "sign, it keeps its sign for ever (at depth 2 for instance β = β(0)e^{2ξ} where a = b, "
            "since a − b is zero and stays so). The limit is argmin Σ Q_i(β_i) inside the bounds "
            "among the best fits, provided a best fit strictly inside exists. A coordinate whose "
            "layers all start at zero never moves."
        ),
        concludes="limit",
        rank=5,
        conditions=_conditions,
        limit=_limit,
        path=_path,
    )
)
