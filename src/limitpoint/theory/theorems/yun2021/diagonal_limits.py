"""Limits of regression: Theorem 5 and its corollaries."""

from collections.abc import Sequence

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.conditions import Condition
from limitpoint.networks import Convolutional, MatrixProduct, Network, OrthogonalTensor
from limitpoint.problem import Problem
from limitpoint.theory.atlas import Theorem, register
from limitpoint.theory.limit import Limit
from limitpoint.theory.solvers.mirror.mirror_limit import mirror_limit, mirror_path
from limitpoint.theory.theorems.diagonalisable import (
    FORM_TOLERANCE,
    Reduction,
    form_of,
    reduction_of,
)
from limitpoint.theory.theorems.shared_conditions import (
    IDENTITY,
    ZERO_LAST,
    finite_scale,
    is_diagonal,
    kind_of_network,
    listed,
)
from limitpoint.theory.theorems.yun2021.citation import CITATION


def _start(layers: Sequence[Float], tolerance: float) -> tuple[Condition, ...]:
    """Equal layers without zeros and a last one of zero, up to a tolerance relative to them."""
    *others, last = layers
    first = others[0]
    allowed = tolerance * float(np.abs(first).max())
    spread = max(float(np.abs(layer - first).max()) for layer in others)
    largest = float(np.abs(last).max())
    dead = np.abs(first) <= allowed
    return (
        Condition(
            "last layer zero",
            largest <= allowed,
            allowed - largest,
            f"its largest entry is {largest:g}",
            ZERO_LAST,
        ),
        Condition(
            "other layers equal",
            spread <= allowed,
            allowed - spread,
            f"they differ by {spread:g}",
            ZERO_LAST,
        ),
        Condition(
            "no entry of the common layer zero",
            not bool(dead.any()),
            float(np.min(first**2)),
            f"zero at {listed(dead)}" if dead.any() else f"smallest square {np.min(first**2):.3g}",
            ZERO_LAST,
        ),
    )


def _conditions(problem: Problem) -> Sequence[Condition]:
    network = is_diagonal(problem)
    if not network.holds:
        return (network, finite_scale(problem))
    return (network, finite_scale(problem), *_start(problem.init.direction, 0.0))


def _reduced_conditions(kind: type[Network], words: str, problem: Problem) -> Sequence[Condition]:
    """Of a network of this kind: the form, and the start in its terms."""
    holds = isinstance(problem.network, kind)
    fits = kind_of_network(problem, f"{words} network", holds, f"use {kind.__name__}")
    scale = finite_scale(problem)
    if not fits.holds:
        return (fits, scale)
    (_, *conditions), form = form_of(problem)
    if form is None:
        return (fits, scale, *conditions)
    start = _start(form.inner_layers(problem.init.direction), FORM_TOLERANCE)
    return (fits, scale, *conditions, *start)


def _conditions_5(problem: Problem) -> Sequence[Condition]:
    return _reduced_conditions(OrthogonalTensor, "orthogonally decomposable", problem)


def _conditions_6(problem: Problem) -> Sequence[Condition]:
    return _reduced_conditions(Convolutional, "convolutional", problem)


def _conditions_7(problem: Problem) -> Sequence[Condition]:
    conditions = _reduced_conditions(MatrixProduct, "matrix product", problem)
    if not isinstance(problem.network, MatrixProduct):
        return conditions
    first = problem.init.direction[0]
    off = float(np.abs(first - first[0, 0] * np.eye(len(first))).max())
    allowed = FORM_TOLERANCE * float(np.abs(first).max())
    name = "first layer a multiple of the identity"
    detail = f"off by {off:.3g}"
    return (*conditions, Condition(name, off <= allowed, allowed - off, detail, IDENTITY))


def _limit(problem: Problem) -> Limit:
    return mirror_limit(problem, COROLLARY_5)


def _path(problem: Problem, log_scales: Sequence[float]) -> list[Limit | None]:
    return mirror_path(problem, COROLLARY_5, log_scales)


def _reduction(problem: Problem) -> Reduction:
    """The diagonal network within."""
    reduction = reduction_of(problem)
    assert reduction is not None, "a condition of the theorem"
    return reduction


def _reduced_limit(problem: Problem, theorem: Theorem) -> Limit:
    reduction = _reduction(problem)
    return reduction.limit(mirror_limit(reduction.diagonal, theorem), theorem)


def _reduced_path(
    problem: Problem, theorem: Theorem, log_scales: Sequence[float]
) -> list[Limit | None]:
    reduction = _reduction(problem)
    inner = mirror_path(reduction.diagonal, theorem, log_scales)
    return reduction.limits(inner, log_scales, theorem)


def _limit_5(problem: Problem) -> Limit:
    return _reduced_limit(problem, THEOREM_5)


def _path_5(problem: Problem, log_scales: Sequence[float]) -> list[Limit | None]:
    return _reduced_path(problem, THEOREM_5, log_scales)


def _limit_6(problem: Problem) -> Limit:
    return _reduced_limit(problem, COROLLARY_6)


def _path_6(problem: Problem, log_scales: Sequence[float]) -> list[Limit | None]:
    return _reduced_path(problem, COROLLARY_6, log_scales)


def _limit_7(problem: Problem) -> Limit:
    return _reduced_limit(problem, COROLLARY_7)


def _path_7(problem: Problem, log_scales: Sequence[float]) -> list[Limit | None]:
    return _reduced_path(problem, COROLLARY_7, log_scales)


THEOREM_5 = register(
    Theorem(
        id="yun2021.theorem5",
        citation=f"{CITATION}, Theorem 5",
        statement=(
            "An orthogonally decomposable network M(x) = Σ_j [Sx]_j [U₁]_j ⊗ ⋯ ⊗ [U_L]_j with real "
            "S and U_l, from v_l(0) = αU_lη̄ (no entry of η̄ zero) and v_L(0) = 0, converges to "
            "β = Sᵀρ, ρ = argmin α² Σ_j η̄_j² H_L(ρ_j/(α^L |η̄_j|^L)) subject to XSᵀρ = y, with H_L "
            "as in Corollary 5: it is the diagonal network of η_l = U_lᵀv_l on the data XSᵀ."
        ),
        concludes="limit",
        rank=30,
        conditions=_conditions_5,
        limit=_limit_5,
        path=_path_5,
    )
)

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
        path=_path,
    )
)

COROLLARY_6 = register(
    Theorem(
        id="yun2021.corollary6",
        citation=f"{CITATION}, Corollary 6 of Theorem 5, with a missing factor put in",
        statement=(
            "A convolutional network with filters of full length d, on data points that are all "
            "even, from equal even filters αw̄ (no zero in Fw̄) and a last one of zero, converges to "
            "argmin α² Σ_j [Fw̄]_j² H_L([d^{−(L−1)/2}Fz]_j/(α^L |[Fw̄]_j|^L)) among the even z with "
            "Xz = y, F the unitary discrete Fourier transform. Printed without d^{−(L−1)/2}, which "
            "S = d^{(L−1)/2}F of the proof puts in. Entries at the frequencies ±j are equal and "
            "stay so: they count as one coefficient."
        ),
        concludes="limit",
        rank=30,
        conditions=_conditions_6,
        limit=_limit_6,
        path=_path_6,
    )
)

COROLLARY_7 = register(
    Theorem(
        id="yun2021.corollary7",
        citation=f"{CITATION}, Corollary 7 of Theorem 5",
        statement=(
            "A product of L matrices seen through symmetric sensors that commute, from "
            "W_l(0) = αI and W_L(0) = 0, converges to the symmetric matrix B that minimises "
            "α² Σ_j H_L(λ_j/α^L), λ_j its eigenvalues, subject to ⟨A_i, B⟩ = y_i. As α → 0 this is "
            "the minimum nuclear norm, as α → ∞ the minimum Frobenius norm. At depth 3 and beyond "
            "this limit is unstable at small α: while an eigenvalue waits, which takes a time of "
            "order α^{2−L}, entries off the diagonal of the common eigenbasis grow at a rate of "
            "order 1, so that any perturbation, rounding included, takes training elsewhere."
        ),
        concludes="limit",
        rank=30,
        conditions=_conditions_7,
        limit=_limit_7,
        path=_path_7,
    )
)
