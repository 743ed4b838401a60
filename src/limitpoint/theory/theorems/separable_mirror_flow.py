"""Every network with a separable mirror flow: the limit at any finite scale."""

from collections.abc import Sequence

import numpy as np

from limitpoint.foundation.conditions import Condition
from limitpoint.problem import Problem
from limitpoint.theory.atlas import Theorem, register
from limitpoint.theory.limit import Limit
from limitpoint.theory.solvers.mirror.mirror_limit import mirror_limit, mirror_path
from limitpoint.theory.theorems.shared_conditions import listed, separable


def _conditions(problem: Problem) -> Sequence[Condition]:
    shared, mirror = separable(problem)
    if mirror is None:
        return shared
    movable = mirror.lower < mirror.upper
    bounded = movable & (np.isfinite(mirror.lower) | np.isfinite(mirror.upper))
    detail = f"bounded: features {listed(bounded)}" if bounded.any() else "none is bounded"
    return (
        *shared,
        Condition(
            "no coefficient bounded on one side",
            not bounded.any(),
            None,
            detail,
            "start from layers that do not tie, or use SignedPower instead of Power",
        ),
    )


def _limit(problem: Problem) -> Limit:
    return mirror_limit(problem, SEPARABLE)


def _path(problem: Problem, log_scales: Sequence[float]) -> list[Limit | None]:
    return mirror_path(problem, SEPARABLE, log_scales)


SEPARABLE = register(
    Theorem(
        id="limitpoint.separable",
        citation=(
            "limitpoint; for β = u^L − w^L Woodworth et al. (2020), Kernel and rich regimes in "
            "overparametrized models; for β = u₊v₊ − u₋v₋ Azulay et al. (2021), On the implicit "
            "bias of initialization shape; for β_i = k_i(θ_i) the model of Zhao et al. (2026), "
            "Definition 4.1"
        ),
        statement=(
            "If every coefficient moves on a curve of its own, β_i = Ψ_i(ξ_i) with mirror "
            "coordinate ξ = Xᵀν and Ψ_i increasing onto the whole line, the coefficients follow a "
            "mirror flow with the potential Q_i' = Ψ_i⁻¹, so training ends at argmin Σ Q_i(β_i) "
            "among the best fits of the data: d∇Q(β)/dt = −∇loss(β) keeps ∇Q(β) in the row space "
            "of X. A coefficient that can never move is left out."
        ),
        concludes="limit",
        rank=8,
        conditions=_conditions,
        limit=_limit,
        path=_path,
    )
)
