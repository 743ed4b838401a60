"""Labarrière, Molinari, Rosasco, Vega, Villa: Optimization Insights into Deep Diagonal Networks."""

from collections.abc import Sequence

from limitpoint.foundation.conditions import Condition
from limitpoint.problem import Problem
from limitpoint.theory.atlas import Theorem, register
from limitpoint.theory.limit import Limit
from limitpoint.theory.solvers.mirror.mirror_limit import mirror_limit, mirror_path
from limitpoint.theory.theorems.shared_conditions import (
    finite_scale,
    is_diagonal,
    smallest_layer_is_unique,
)

CITATION = "Labarrière et al. (2024), Optimization insights into deep diagonal linear networks"


def _conditions(problem: Problem) -> Sequence[Condition]:
    network = is_diagonal(problem)
    if not network.holds:
        return (network, finite_scale(problem))
    return (network, finite_scale(problem), smallest_layer_is_unique(problem))


def _limit(problem: Problem) -> Limit:
    return mirror_limit(problem, THEOREM_1)


def _path(problem: Problem, log_scales: Sequence[float]) -> list[Limit | None]:
    return mirror_path(problem, THEOREM_1, log_scales)


THEOREM_1 = register(
    Theorem(
        id="labarriere2024.theorem1",
        citation=f"{CITATION}, Theorem 1 (entropy at depth 2: Appendix A.1, prefactor corrected)",
        statement=(
            "If in every coordinate one layer is strictly smallest in modulus at the start, the "
            "coefficients follow a mirror flow d∇Q(β)/dt = −∇loss(β), so training ends at "
            "argmin Σ Q_i(β_i) among the best fits of the data. With v the smallest layer, turned "
            "by the sign of the product of the others, and Δ_j = a_j(0)² − v(0)²: β = vΠ√(v²+Δ_j) "
            "and Q'(β) = ∫ dx/Π√(x²+Δ_j) from v(0) to v (the paper leaves it open beyond depth 2, "
            "where it is ½ asinh(2β/Δ) − ½ asinh(2β(0)/Δ))."
        ),
        concludes="limit",
        rank=20,
        conditions=_conditions,
        limit=_limit,
        path=_path,
    )
)

THEOREM_2 = register(
    Theorem(
        id="labarriere2024.theorem2",
        citation=f"{CITATION}, Theorem 2",
        statement=(
            "Under the same assumption, loss(t) − loss* ≤ e^{−2σμt}(loss(0) − loss*), with "
            "σ = min_i Π_{k≠k_i}(a_ik(0)² − a_ik_i(0)²), k_i the smallest layer of coordinate i, "
            "and μ = loss_factor · (smallest non-zero singular value of X)²."
        ),
        concludes="rate",
        rank=10,
        conditions=_conditions,
    )
)
