"""Rank-one networks from any start, balanced or not: what the paper leaves open."""

from collections.abc import Sequence

import numpy as np

from limitpoint.foundation.conditions import Condition
from limitpoint.mirror import RadialMap
from limitpoint.networks import RankOne
from limitpoint.problem import Problem
from limitpoint.theory.atlas import Theorem, register
from limitpoint.theory.limit import Limit
from limitpoint.theory.solvers.radial_limit import NullSpace, radial_limit
from limitpoint.theory.theorems.lyu2023 import least_norm_limit
from limitpoint.theory.theorems.shared_conditions import (
    BALANCED,
    finite_scale,
    kind_of_network,
    scale_zero,
)

# A part of v₁ in the null space below this, relative, is rounding.
ROUNDING = 1e-14


def _conditions_at(problem: Problem, scale: Condition) -> Sequence[Condition]:
    network = problem.network
    fits = kind_of_network(
        problem, "rank-one network", isinstance(network, RankOne), "use RankOne(depth, width)"
    )
    if not isinstance(network, RankOne):
        return (fits, scale)
    # The condition is the same at every scale, so it is evaluated at scale 1.
    radial = network.radial_map(problem.init.at_scale(1.0))
    name = "no pair of inner vectors can become orthogonal"
    if radial is None:
        detail = "a pair is orthogonal at the start"
        return (fits, scale, Condition(name, False, 0.0, detail, BALANCED))
    return (fits, scale, _keeps_its_signs(problem, radial, name))


def _keeps_its_signs(problem: Problem, radial: RadialMap, name: str) -> Condition:
    """`‖P_null v₁(0)‖²`, which `‖v₁‖²` never falls below, against where the first pair turns."""
    kept = NullSpace.of(problem.regression, radial.start).kept
    size = float(radial.start @ radial.start)
    square = float(kept @ kept)
    square = square if square > ROUNDING**2 * size else 0.0
    margin = (square - radial.lowest) / size if size > 0 else 0.0
    detail = (
        f"‖v₁‖² stays above {square / size if size else 0:.3g} of its start; a pair turns at "
        f"{radial.lowest / size if size else np.inf:.3g}"
    )
    return Condition(name, margin > ROUNDING**2, margin, detail, BALANCED)


def _conditions(problem: Problem) -> Sequence[Condition]:
    return _conditions_at(problem, finite_scale(problem))


def _conditions_at_zero(problem: Problem) -> Sequence[Condition]:
    return _conditions_at(problem, scale_zero(problem))


def _limit(problem: Problem) -> Limit:
    network = problem.network
    radial = network.radial_map(problem.init) if isinstance(network, RankOne) else None
    if radial is None:
        raise TypeError(f"{network} has no radial map from this start")
    return radial_limit(problem.regression, radial, RANK_ONE)


def _limit_at_zero(problem: Problem) -> Limit:
    return least_norm_limit(problem, RANK_ONE_AT_ZERO)


RANK_ONE = register(
    Theorem(
        id="limitpoint.rank_one",
        citation="limitpoint; extends Lyu and Zhu (2023), Theorem 1, to unbalanced starts",
        statement=(
            "Under gradient flow a rank-one network keeps P_null v₁, and for every inner pair "
            "‖u‖² + ‖v‖² − 2‖v₁‖² and ‖u+v‖‖u−v‖; so |ξ| = Π|uᵀv| = Ξ(‖v₁‖²) as long as no pair "
            "becomes orthogonal, which it cannot if ‖P_null v₁(0)‖² exceeds the ‖v₁‖² at which it "
            "would. At the limit v₁ = P_null v₁(0) + X⁺y/ξ: one increasing equation for ‖v₁‖². "
            "The limit is argmin Φ*(β) − βᵀz(0), Φ = ½∫Ξ dρ, z(0) = ±v₁(0). No balance is needed."
        ),
        concludes="limit",
        rank=12,
        conditions=_conditions,
        limit=_limit,
    )
)

RANK_ONE_AT_ZERO = register(
    Theorem(
        id="limitpoint.rank_one_at_zero",
        citation="limitpoint; extends Lyu and Zhu (2023), Corollary 1.1, to unbalanced starts",
        statement=(
            "As the scale of a rank-one network vanishes, its limit X⁺y + ξ P_null v₁(0) tends to "
            "the solution of minimum ℓ2 norm, X⁺y, for every direction from which no pair of inner "
            "vectors can become orthogonal."
        ),
        concludes="limit",
        rank=12,
        conditions=_conditions_at_zero,
        limit=_limit_at_zero,
    )
)
