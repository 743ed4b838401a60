"""Dense networks as the scale vanishes: Theorem 7."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.conditions import Condition
from limitpoint.networks import FullyConnected
from limitpoint.problem import Problem
from limitpoint.theory.atlas import Theorem, register
from limitpoint.theory.limit import Limit
from limitpoint.theory.theorems.lyu2023 import least_norm_limit
from limitpoint.theory.theorems.shared_conditions import IDENTITY, kind_of_network, scale_zero
from limitpoint.theory.theorems.yun2021.citation import CITATION

# Differences of Gram matrices count as semidefinite down to minus this, relative to the first of
# the two: some thousand roundings.
SEMIDEFINITE = 1e-12


def _conditions(problem: Problem) -> Sequence[Condition]:
    network, scale = problem.network, scale_zero(problem)
    fits = kind_of_network(
        problem,
        "fully connected network",
        isinstance(network, FullyConnected),
        "use FullyConnected(widths)",
    )
    if not fits.holds:
        return (fits, scale)
    layers = _without_idle_neurons(problem.init.direction)
    features = problem.task.n_features
    widths = tuple(layer.shape[0] for layer in layers[1:])
    square = Condition(
        "as many neurons in every hidden layer as features",
        all(width == features for width in widths),
        None,
        f"{features} features, and {', '.join(map(str, widths))} neurons that do not start idle",
        "use hidden widths equal to the number of features",
    )
    *inner, last = [_smallest(a, b) for a, b in pairwise(layers)]
    lowest = min(inner, default=np.inf)
    ordered = Condition(
        "each layer's Gram matrix at least that of the next",
        lowest >= -SEMIDEFINITE,
        lowest + SEMIDEFINITE if inner else None,
        f"smallest eigenvalue of W_lᵀW_l − W_{{l+1}}W_{{l+1}}ᵀ {lowest:.3g}, relative"
        if inner
        else "there is one matrix only",
        IDENTITY,
    )
    strict = Condition(
        "last matrix larger than the last vector in every direction",
        last > SEMIDEFINITE,
        last - SEMIDEFINITE,
        f"smallest eigenvalue λ of W_{{L−1}}ᵀW_{{L−1}} − w_Lw_Lᵀ {last:.3g}, relative",
        IDENTITY,
    )
    return (fits, scale, square, ordered, strict)


def _without_idle_neurons(direction: Sequence[Float]) -> list[Float]:
    """The layers as matrices, without the neurons that no weights link to data or output.

    No gradient reaches them, through whatever weights they have among themselves.
    """
    layers = [np.array(layer) for layer in direction[:-1]] + [direction[-1][:, None]]
    busy = [np.zeros(layer.shape[0], dtype=np.bool_) for layer in layers]
    busy[0][:] = True
    busy.append(np.ones(1, dtype=np.bool_))
    # Along the layers and back until nothing new is linked.
    count = -1
    while count != (count := sum(int(one.sum()) for one in busy)):
        for k, layer in enumerate(layers):
            busy[k + 1] |= (layer[busy[k]] != 0).any(axis=0)
        for k in reversed(range(len(layers))):
            busy[k] |= (layers[k][:, busy[k + 1]] != 0).any(axis=1)
    kept = zip(layers, busy, busy[1:], strict=False)
    return [layer[rows][:, columns] for layer, rows, columns in kept]


def _smallest(before: Float, after: Float) -> float:
    """The smallest eigenvalue of `WᵀW − VVᵀ`, relative to `‖W‖²`."""
    size = float(np.linalg.norm(before)) ** 2
    if size == 0.0 or before.shape[1] == 0:
        return -np.inf if after.any() else 0.0
    return float(np.linalg.eigvalsh(before.T @ before - after @ after.T)[0]) / size


def _limit(problem: Problem) -> Limit:
    return least_norm_limit(problem, THEOREM_7)


THEOREM_7 = register(
    Theorem(
        id="yun2021.theorem7",
        citation=f"{CITATION}, Theorem 7 (the error of order α: its (88), printed O(α²))",
        statement=(
            "A fully connected network of any depth, as the scale of its start vanishes, ends at "
            "the solution of minimum ℓ2 norm, X⁺y, from every direction from which the loss "
            "vanishes; it does so if W̄_lᵀW̄_l ⪰ W̄_{l+1}W̄_{l+1}ᵀ for l ≤ L − 2 and "
            "W̄_{L−1}ᵀW̄_{L−1} − w̄_Lw̄_Lᵀ ⪰ λI, λ > 0, for instance from identities and a last layer "
            "of zeros (Wu et al. 2019). At scale α the limit is off by a multiple of α."
        ),
        concludes="limit",
        rank=29,
        conditions=_conditions,
        limit=_limit,
    )
)
