"""Limits of regression: Theorem 5 and its corollaries."""

from collections.abc import Sequence

import numpy as np

from limitpoint.problem import Problem
from limitpoint.theory.atlas import Condition, Theorem, register
from limitpoint.theory.conditions import finite_scale, is_diagonal, listed
from limitpoint.theory.limit import Limit
from limitpoint.theory.mirror_limit import WarmStart, mirror_limit
from limitpoint.theory.yun2021.citation import CITATION


def _conditions(problem: Problem) -> Sequence[Condition]:
    network = is_diagonal(problem)
    if not network.holds:
        return (network, finite_scale(problem))
    *others, last = problem.init.direction
    first = others[0]
    spread = max(float(np.abs(layer - first).max()) for layer in others)
    largest = float(np.abs(last).max())
    dead = first == 0
    return (
        network,
        finite_scale(problem),
        Condition("last layer zero", largest == 0.0, -largest, f"its largest entry is {largest:g}"),
        Condition("other layers equal", spread == 0.0, -spread, f"they differ by {spread:g}"),
        Condition(
            "no entry of the common layer zero",
            not bool(dead.any()),
            float(np.min(first**2)),
            f"zero at {listed(dead)}" if dead.any() else f"smallest square {np.min(first**2):.3g}",
        ),
    )


def _limit(problem: Problem, warm: WarmStart | None = None) -> Limit:
    return mirror_limit(problem, COROLLARY_5, warm)


COROLLARY_5 = register(
    Theorem(
        id="yun2021.corollary5",
        citation=f"{CITATION}, Corollary 5 of Theorem 5",
        statement=(
            "From equal layers w_l(0) = αw̄ (no entry zero) and a last layer w_L(0) = 0, training "
            "converges to zero loss where that is possible, at "
            "argmin α² Σ_j w̄_j² H_L(β_j/(α^L |w̄_j|^L)) among the interpolators; H_L' "
            "is the inverse of h_L = p^{L−1}q, p' = p^{L−2}q, q' = p^{L−1}, p(0) = 1, q(0) = 0. As "
            "α → 0 this is minimum ℓ1 with weights |w̄_j|^{2−L}, as α → ∞ minimum ℓ2 with weights "
            "w̄_j^{2−2L}."
        ),
        concludes="limit",
        rank=30,
        conditions=_conditions,
        limit=_limit,
        warm_starts=True,
    )
)
