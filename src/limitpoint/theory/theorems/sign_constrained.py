"""Coefficients that cannot cross a bound: layers that tie, even powers, bounded features.

Our extension of labarriere's Theorem 1, in two steps: a best fit strictly inside all bounds, and
sign constraints that bind at all best fits.
"""

from collections.abc import Sequence

import numpy as np

from limitpoint.foundation.conditions import Condition
from limitpoint.mirror import MirrorMap
from limitpoint.problem import Problem
from limitpoint.tasks import Regression
from limitpoint.theory.atlas import Theorem, register
from limitpoint.theory.certificates.constraint import Constraint
from limitpoint.theory.limit import Limit
from limitpoint.theory.solvers.mirror.mirror_limit import mirror_limit, mirror_path
from limitpoint.theory.solvers.sign_constraints.cone import AT_BOUND, ScaledData
from limitpoint.theory.theorems.shared_conditions import separable


def _conditions(problem: Problem) -> Sequence[Condition]:
    shared, mirror = separable(problem)
    if mirror is None:
        return shared
    margin = interior_margin(problem.regression, mirror)
    bounded = np.isfinite(mirror.lower) | np.isfinite(mirror.upper)
    count = int(np.sum(bounded & (mirror.lower < mirror.upper)))
    return (
        *shared,
        Condition(
            "a best fit strictly inside all sign constraints exists",
            margin > AT_BOUND,
            margin,
            f"{count} coefficients never cross their bound; "
            f"all can be {margin:.3g} inside, by what they contribute to the targets",
            "start with signs that the data can be fitted with, or from layers that do not tie",
        ),
    )


def interior_margin(task: Regression, mirror: MirrorMap) -> float:
    """How far from their bounds all coefficients can be in a best fit, by what they contribute."""
    movable = mirror.lower < mirror.upper
    if not (movable & (np.isfinite(mirror.lower) | np.isfinite(mirror.upper))).any():
        return 1.0
    constraint = Constraint.of(task.X * movable, task.y)
    return ScaledData.of(constraint.X, constraint.fit, task.y).interior(mirror)


def _limit(problem: Problem) -> Limit:
    return mirror_limit(problem, SIGN_CONSTRAINED)


def _path(problem: Problem, log_scales: Sequence[float]) -> list[Limit | None]:
    return mirror_path(problem, SIGN_CONSTRAINED, log_scales)


SIGN_CONSTRAINED = register(
    Theorem(
        id="limitpoint.sign_constrained",
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
