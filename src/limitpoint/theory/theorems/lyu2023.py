"""Lyu and Zhu: Implicit bias of (stochastic) gradient descent for rank-1 linear neural networks."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.conditions import Condition
from limitpoint.mirror import PowerRadius, RadialMap
from limitpoint.networks import BALANCE_TOLERANCE, CoupledNetwork, FullyConnected, RankOne
from limitpoint.problem import Problem
from limitpoint.status import Status
from limitpoint.theory.atlas import Theorem, register
from limitpoint.theory.certificates.certificate import Certificate
from limitpoint.theory.limit import Limit
from limitpoint.theory.solvers.radial_limit import NullSpace, limit_at, radial_limit
from limitpoint.theory.theorems.shared_conditions import (
    BALANCED,
    finite_scale,
    kind_of_network,
    scale_zero,
)
from limitpoint.theory.theorems.stable_manifold import ON_MANIFOLD, distance_from_manifold

CITATION = (
    "Lyu and Zhu (2023), Implicit bias of (stochastic) gradient descent for rank-1 linear neural "
    "networks"
)


ON_CURVE = "on the curve of starts that end at zero"
ONE_NEURON = "start with one busy neuron there, Init.one_neuron(...) or --one-neuron"
# What to use where a theorem is about these networks.
USES = {
    "rank-one": "use RankOne(depth, width)",
    "fully connected": "use FullyConnected(widths)",
    "rank-one or fully connected": "use RankOne(depth, width) or FullyConnected(widths)",
}


def _is(kind: Any, words: str, problem: Problem) -> Condition:
    fits = isinstance(problem.network, kind)
    return kind_of_network(problem, f"{words} network", fits, USES[words])


def _balanced(problem: Problem, network: CoupledNetwork) -> Condition:
    """Definition 1 or 2: the margin is negative by the imbalance."""
    off = network.imbalance(problem.init.direction)
    detail = f"imbalance {off:.3g}, relative to the layers"
    margin = BALANCE_TOLERANCE - off
    return Condition("balanced layers", margin >= 0, margin, detail, BALANCED)


def _moving(problem: Problem, network: CoupledNetwork) -> Condition:
    start = float(np.linalg.norm(network.coef(problem.init.direction)))
    name, detail = "coefficients not zero at the start", f"norm {start:.3g}"
    return Condition(name, start > 0, start, detail, BALANCED)


def _clear_of_saddle(
    problem: Problem, network: CoupledNetwork, on_manifold: bool = False
) -> Condition:
    """Whether training can leave the saddle at zero; or, if `on_manifold`, whether it cannot."""
    away = _distance_from_manifold(problem, network)
    detail = f"{away:.3g} from the curve of starts that end at zero, relative to the start"
    margin = away - ON_MANIFOLD
    if on_manifold:
        change = "nothing: from here training leaves zero"
        return Condition(ON_CURVE, margin <= 0, -margin, detail, change)
    name = "not on the stable manifold of the saddle at zero"
    change = "start from any other direction, however near: Init.balanced(...)"
    return Condition(name, margin > 0, margin, detail, change)


def _distance_from_manifold(problem: Problem, network: CoupledNetwork) -> float:
    init = problem.init
    if init.is_finite:
        init.check_products(network.degree)
    radial = network.radial_map(init.at_scale(1.0))
    if radial is None:
        return 0.0
    return distance_from_manifold(problem.regression, radial.start, init.log_scale, network.degree)


def _conditions_of(
    kind: Any, words: str, problem: Problem, scale: Condition, on_manifold: bool = False
) -> Sequence[Condition]:
    network, fits = problem.network, _is(kind, words, problem)
    if not (isinstance(network, CoupledNetwork) and fits.holds):
        return (fits, scale)
    balanced, moving = _balanced(problem, network), _moving(problem, network)
    if scale.holds and balanced.holds and moving.holds:
        return (fits, scale, balanced, moving, _clear_of_saddle(problem, network, on_manifold))
    if on_manifold:  # of another start the curve is not known
        curve = Condition(ON_CURVE, False, None, "asked of a balanced start only", BALANCED)
        return (fits, scale, balanced, moving, curve)
    return (fits, scale, balanced, moving)


def _radial(problem: Problem) -> RadialMap:
    network = problem.network
    radial = network.radial_map(problem.init) if isinstance(network, CoupledNetwork) else None
    if not isinstance(radial, PowerRadius):
        raise TypeError(f"{network} does not start balanced")
    return radial


def _limit_1(problem: Problem) -> Limit:
    return radial_limit(problem.regression, _radial(problem), THEOREM_1)


def _limit_2(problem: Problem) -> Limit:
    return radial_limit(problem.regression, _radial(problem), THEOREM_2)


def _conditions_1(problem: Problem) -> Sequence[Condition]:
    return _conditions_of(RankOne, "rank-one", problem, finite_scale(problem))


def _conditions_2(problem: Problem) -> Sequence[Condition]:
    return _conditions_of(FullyConnected, "fully connected", problem, finite_scale(problem))


def _conditions_manifold(problem: Problem) -> Sequence[Condition]:
    return _conditions_of(
        CoupledNetwork,
        "rank-one or fully connected",
        problem,
        finite_scale(problem),
        on_manifold=True,
    )


def _conditions_vanishing(problem: Problem) -> Sequence[Condition]:
    return _conditions_of(
        CoupledNetwork, "rank-one or fully connected", problem, scale_zero(problem)
    )


def _limit_vanishing(problem: Problem) -> Limit:
    return least_norm_limit(problem, COROLLARY_1_1)


def least_norm_limit(problem: Problem, theorem: Theorem) -> Limit:
    """`X⁺y`, certified as the point of the row space that fits the data."""
    task = problem.regression
    # The potential at scale zero is a power of the norm: the map of degree 1 has the same minimum.
    return radial_limit(task, PowerRadius(np.zeros(task.n_features), 1), theorem)


def _limit_manifold(problem: Problem) -> Limit:
    task, radial, network = problem.regression, _radial(problem), problem.network
    coef = np.zeros(task.n_features)
    found = NullSpace.of(task, radial.start)
    away = (
        _distance_from_manifold(problem, network) if isinstance(network, CoupledNetwork) else np.inf
    )
    return limit_at(
        coef,
        PROPOSITION_2,
        mirror=-radial.start,
        dual=-found.kept_dual,
        potential=0.0,
        certificate=Certificate({"distance from the curve to the saddle": away}),
        status=Status.SADDLE,
        iterations=0,
    )


def _conditions_model(problem: Problem) -> Sequence[Condition]:
    network, fits = problem.network, _is(RankOne, "rank-one", problem)
    scale = finite_scale(problem)
    if not isinstance(network, RankOne):
        return (fits, scale)
    return (fits, scale, _balanced(problem, network), _moving(problem, network))


def _conditions_pattern(problem: Problem) -> Sequence[Condition]:
    network = problem.network
    fits = _is(FullyConnected, "fully connected", problem)
    scale = finite_scale(problem)
    if not isinstance(network, FullyConnected):
        return (fits, scale)
    odd = Condition(
        "odd depth",
        network.depth % 2 == 1,
        None,
        f"the depth is {network.depth}",
        "use an even number of hidden widths",
        "network",
    )
    busy = [_neurons(layer, k) for k, layer in enumerate(problem.init.direction[:-1])]
    # W₁ and W₂ meet in one neuron, W₃ and W₄ in the next, …
    joined = [first | second for first, second in zip(busy[::2], busy[1::2], strict=False)]
    most = max((len(neurons) for neurons in joined), default=0)
    name = "every other hidden layer has one busy neuron"
    detail = f"at most {most} of them are busy in such a layer"
    return (fits, scale, odd, Condition(name, most <= 1, 1.0 - most, detail, ONE_NEURON))


def _neurons(matrix: Float, index: int) -> set[int]:
    """The neurons that a layer uses: columns of W₁, W₃, …, rows of W₂, W₄, …"""
    axis = 0 if index % 2 == 0 else 1
    return {int(i) for i in np.flatnonzero(np.any(matrix != 0, axis=axis))}


THEOREM_1 = register(
    Theorem(
        id="lyu2023.theorem1",
        citation=f"{CITATION}, Theorem 1",
        statement=(
            "From a balanced start (‖u_k‖ = ‖v_k‖ = ‖v₁‖, u_k parallel to v_{k+1}) a rank-one "
            "network of depth L ends at argmin ‖β‖^Ω/Ω − βᵀβ(0)/‖β(0)‖^λ among the best fits, "
            "Ω = 2L/(2L−1), λ = 2(L−1)/(2L−1). With z = ‖β‖^{−λ}β this is z = P_null z(0) + X⁺y/r, "
            "r = ‖z‖^{2L−2}: one scalar root at any scale. The start must not lie on the "
            "stable manifold of the saddle at zero, which Proposition 2 overlooks."
        ),
        concludes="limit",
        rank=30,
        conditions=_conditions_1,
        limit=_limit_1,
    )
)

THEOREM_2 = register(
    Theorem(
        id="lyu2023.theorem2",
        citation=f"{CITATION}, Theorem 2",
        statement=(
            "From a balanced start (W_kᵀW_k = W_{k+1}W_{k+1}ᵀ) a fully connected network of depth "
            "L ends at argmin L/(L+1)·‖β‖^{1+1/L} − βᵀβ(0)‖β(0)‖^{1/L−1} among the best fits. With "
            "z = ‖β‖^{1/L−1}β this is z = P_null z(0) + X⁺y/r, r = ‖z‖^{L−1}. The start must not "
            "lie on the stable manifold of the saddle at zero."
        ),
        concludes="limit",
        rank=30,
        conditions=_conditions_2,
        limit=_limit_2,
    )
)

COROLLARY_1_1 = register(
    Theorem(
        id="lyu2023.corollary1.1",
        citation=f"{CITATION}, Corollary 1.1, and its analogue for Theorem 2",
        statement=(
            "As the scale of a balanced start vanishes, training ends at the solution of minimum "
            "ℓ2 norm, X⁺y, unless the start points along −Xᵀy exactly: it is then on the stable "
            "manifold of the saddle at zero."
        ),
        concludes="limit",
        rank=30,
        conditions=_conditions_vanishing,
        limit=_limit_vanishing,
    )
)

PROPOSITION_2 = register(
    Theorem(
        id="lyu2023.proposition2",
        citation=f"{CITATION}, Proposition 2, corrected: it says that training always interpolates",
        statement=(
            "A balanced start whose z(0) lies in the row space of X, on the one curve through zero "
            "that leaves it along −Xᵀy (for one sample: anti-aligned with the minimum-norm "
            "solution), is on the saddle's stable manifold: β(t) → 0, and the data are not fitted. "
            "Every other start interpolates. Any perturbation, rounding included, escapes at last."
        ),
        concludes="limit",
        rank=31,
        conditions=_conditions_manifold,
        limit=_limit_manifold,
    )
)

PROPOSITION_1 = register(
    Theorem(
        id="lyu2023.proposition1",
        citation=f"{CITATION}, Proposition 1",
        statement=(
            "A fully connected network of odd depth 2p − 1 whose first, third, … hidden layers "
            "have one busy neuron each keeps that pattern under training by any gradients: it is a "
            "rank-one network of depth p whose vectors are the columns and rows that are not zero. "
            "A diagonal pattern is not kept."
        ),
        concludes="law",
        rank=1,
        conditions=_conditions_pattern,
    )
)

LEMMA_3 = register(
    Theorem(
        id="lyu2023.lemma3",
        citation=f"{CITATION}, Lemma 3, with the exponent of its drift corrected",
        statement=(
            "SGD with learning rate η and batch b on a balanced rank-one network, as a diffusion "
            "of the coefficients, for the mean squared residual ℓ as the loss: "
            "dβ = −(2ξ²/m)HXᵀr dt + 2ξ²√(ηℓ/(mb)) HXᵀdW "
            "+ 8(L−1)(ηℓ/(mb))‖β‖^{4λ−2}(I + ½(2L−3)ββᵀ/‖β‖²)XᵀXβ dt, "
            "ξ² = ‖β‖^{2λ}, H = I + 2(L−1)ββᵀ/‖β‖². Printed is the exponent −2/(2L−1). A model, "
            "not exact: it takes the layers to stay balanced, and SGD does not keep them so. "
            "See SGDModel."
        ),
        concludes="model",
        rank=1,
        conditions=_conditions_model,
    )
)

THEOREM_3 = register(
    Theorem(
        id="lyu2023.theorem3",
        citation=f"{CITATION}, Theorem 3, with the exponent of its integrand corrected",
        statement=(
            "Under the diffusion of Lemma 3 the coefficients follow, to first order in η, a mirror "
            "flow with noise for the potential ‖β‖^Ω/Ω − βᵀβ(0)/‖β(0)‖^λ + βᵀg(t), "
            "g' = 2λ(ηℓ/(mb))‖β‖^{3λ−2} tr(P_⊥XᵀX)β in the time of SGD (printed: λ − 2; in the "
            "time dτ = |ξ|dt it is 2λ − 2): noise lessens the dependence on the start. It misses "
            "the loss of balance, d(‖v₁‖² − ‖u_k‖²) = 4(ηℓ/(mb))ξ² tr(P_⊥XᵀX)dt, of the same order."
        ),
        concludes="model",
        rank=1,
        conditions=_conditions_model,
    )
)
