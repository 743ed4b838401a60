"""Directions of separable classification: Theorems 1 and 2, Corollaries 1, 2 and 3."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.conditions import Condition
from limitpoint.networks import (
    Convolutional,
    CoupledNetwork,
    Diagonal,
    MultilinearNetwork,
    Network,
    OrthogonalTensor,
    snapped,
)
from limitpoint.problem import Problem
from limitpoint.tasks import Classification
from limitpoint.theory.atlas import Theorem, register
from limitpoint.theory.limit import Limit
from limitpoint.theory.solvers.margin.approach import approach
from limitpoint.theory.solvers.margin.margin_limit import margin_limit
from limitpoint.theory.solvers.margin.margin_spaces import (
    Coordinates,
    Fourier,
    MarginSpace,
    Transformed,
)
from limitpoint.theory.theorems.shared_conditions import (
    DIFFERENT_LAYERS,
    kind_of_network,
    listed,
)
from limitpoint.theory.theorems.yun2021.citation import CITATION

EPS = float(np.finfo(np.float64).eps)

# What a theorem of this family is about: its network, in words, the space of its bias, and what
# makes such a network.
Kind = tuple[Callable[[Network], bool], str, Callable[[Problem], MarginSpace], str]


def _is_full_convolution(network: Network) -> bool:
    return isinstance(network, Convolutional) and network.is_full_length


def _is_diagonal(network: Network) -> bool:
    return isinstance(network, Diagonal)


def _is_orthogonal_tensor(network: Network) -> bool:
    return isinstance(network, OrthogonalTensor)


def _coordinates(problem: Problem) -> MarginSpace:
    return Coordinates()


def _frequencies(problem: Problem) -> MarginSpace:
    return Fourier(problem.task.n_features)


def _transformed(problem: Problem) -> MarginSpace:
    network = problem.network
    if not isinstance(network, OrthogonalTensor):
        raise TypeError(f"{network} is not an orthogonally decomposable tensor network")
    return Transformed(network.S)


# Functions with names, by which limits that carry these theorems can be pickled.
DIAGONAL: Kind = (_is_diagonal, "diagonal network", _coordinates, "Diagonal(depth)")
CONVOLUTIONAL: Kind = (
    _is_full_convolution,
    "convolutional network with full-length filters",
    _frequencies,
    "Convolutional with filters as long as the data",
)
TENSOR: Kind = (
    _is_orthogonal_tensor,
    "orthogonally decomposable tensor network",
    _transformed,
    "OrthogonalTensor(S, U)",
)


def _conditions(problem: Problem, kind: Kind, deep: bool) -> Sequence[Condition]:
    fits, words, space, use = kind
    network = problem.network
    found = kind_of_network(problem, words, fits(network), f"use {use}")
    if not found.holds:
        return (found,)
    depth = network.degree
    name = "three layers or more" if deep else "two layers"
    layers = Condition(
        name,
        (depth > 2) == deep,
        None,
        f"it has {depth} layers",
        f"use {name}",
        "network",
    )
    invertible = (_full_rank(network),) if isinstance(network, OrthogonalTensor) else ()
    return (found, layers, *invertible, _small_layer(problem, space(problem)))


def _full_rank(network: OrthogonalTensor) -> Condition:
    """Assumption 1: the margin is the smallest singular value of S relative to the largest."""
    rows, columns = network.S.shape
    values = np.linalg.svd(network.S, compute_uv=False)
    share = float(values[-1] / values[0]) if rows >= columns and values[0] > 0 else 0.0
    holds = share > max(rows, columns) * EPS
    detail = f"smallest singular value {share:.3g} of the largest"
    change = "use an S with independent columns, and no fewer rows"
    return Condition("S of full column rank", holds, share, detail, change)


def _small_layer(problem: Problem, space: MarginSpace) -> Condition:
    """`|η_l|² − |η_k|² ≥ λ > 0` in each coordinate, for one layer k and all others l.

    The paper has k = L, or any one layer (Remark 2). Its proof bounds the gradient coordinate by
    coordinate, so that k may be another in each of them, as it is here. Coordinates in which all
    data are zero never move, and need nothing. The margin is λ.
    """
    least, next_least, *_ = np.sort(_moduli(problem.network, problem.init.direction), axis=0)
    gaps = (next_least - least) * (next_least + least)
    margins = space.problem(problem.classification.signed)
    moved = margins.norms(np.abs(margins.rows).max(axis=0)) > 0
    tied = (gaps <= 0) & moved
    smallest = float(gaps[moved].min())
    if tied.any():
        detail = f"{int(tied.sum())} of {len(tied)} coordinates tie: {listed(tied)}"
    else:
        detail = f"λ = {smallest:.3g}"
    name = "one layer strictly smallest in each coordinate"
    return Condition(name, smallest > 0, smallest, detail, DIFFERENT_LAYERS)


def _moduli(network: Network, layers: Sequence[Float]) -> Float:
    """`|η_l|` for every layer (rows) and coordinate, or frequency from 0 to n/2.

    Without what the rounding of a transform has added: it must not undo a tie.
    """
    if isinstance(network, OrthogonalTensor):
        etas = [np.asarray(eta) for eta in network.diagonal_layers(layers)]
        sums = [np.abs(v) @ np.abs(U) for v, U in zip(layers, network.U, strict=True)]
        return np.abs(np.stack(snapped(etas, sums)))
    if isinstance(network, Convolutional):
        sizes = [np.abs(np.fft.rfft(layer, norm="ortho")) for layer in layers]
        sums = [
            np.full(size.shape, np.abs(layer).sum() / np.sqrt(layer.size))
            for size, layer in zip(sizes, layers, strict=True)
        ]
        return np.stack(snapped(sizes, sums))
    return np.stack([np.abs(layer) for layer in layers])


def _limit_2(problem: Problem) -> Limit:
    return margin_limit(problem, THEOREM_2, _transformed(problem), approach)


def _limit_diagonal(problem: Problem) -> Limit:
    return margin_limit(problem, COROLLARY_2, Coordinates(), approach)


def _limit_convolutional(problem: Problem) -> Limit:
    return margin_limit(problem, COROLLARY_3, Fourier(problem.task.n_features), approach)


def _conditions_1(problem: Problem) -> Sequence[Condition]:
    network = problem.network
    fits = isinstance(network, Diagonal | CoupledNetwork | MultilinearNetwork)
    change = "use a network that is a product of its layers"
    return (kind_of_network(problem, "linear tensor network", fits, change),)


SUPPOSED = (
    "Supposed, and not to be known beforehand, is that Xᵀr converges in direction; the loss "
    "vanishes by what is checked here. The direction does not depend on the scale, so that scales "
    "0 and ∞ have the same."
)
SET = (
    "For three layers or more this problem is not convex: there may be many stationary points, "
    "and the theorem does not say which. limitpoint.analysis.stationarity tests a direction."
)

THEOREM_1 = register(
    Theorem(
        id="yun2021.theorem1",
        citation=f"{CITATION}, Theorem 1",
        statement=(
            "In the classification of separable data, if the loss falls below 1 at some time and "
            "the negative gradient Xᵀ(y⊙weights) converges in direction, to −u, the layers v_l of "
            "any linear tensor network converge in direction to singular vectors of the data "
            "tensor M(−u): s v_l = M(−u)∘(v₁, …, I, …, v_L) for all l. Neither can be known "
            "beforehand; limitpoint.analysis.singular_vector_residual measures how far along a "
            "run is."
        ),
        concludes="law",
        rank=1,
        conditions=_conditions_1,
        task=Classification,
    )
)

THEOREM_2 = register(
    Theorem(
        id="yun2021.theorem2",
        citation=f"{CITATION}, Theorem 2 for two layers",
        statement=(
            "In the classification of separable data an orthogonally decomposable network of two "
            "layers ends in the direction Sᵀρ, ρ the solution of min ‖ρ‖₁ with y_i⟨Sx_i, ρ⟩ ≥ 1 "
            f"for all i, if S has full column rank and the layers η_l = U_lᵀv_l differ. {SUPPOSED}"
        ),
        concludes="limit",
        rank=30,
        conditions=partial(_conditions, kind=TENSOR, deep=False),
        limit=_limit_2,
        task=Classification,
    )
)

COROLLARY_2 = register(
    Theorem(
        id="yun2021.corollary2",
        citation=f"{CITATION}, Corollary 2 of Theorem 2 for two layers",
        statement=(
            "In the classification of separable data a diagonal network of two layers ends in the "
            "direction of the solution of min ‖β‖₁ with y_i⟨x_i, β⟩ ≥ 1 for all i. The smaller "
            "layer may be another one in each coordinate, where the paper has one for all. "
            f"{SUPPOSED}"
        ),
        concludes="limit",
        rank=30,
        conditions=partial(_conditions, kind=DIAGONAL, deep=False),
        limit=_limit_diagonal,
        task=Classification,
    )
)

COROLLARY_3 = register(
    Theorem(
        id="yun2021.corollary3",
        citation=f"{CITATION}, Corollary 3 of Theorem 2 for two layers",
        statement=(
            "In the classification of separable data a convolutional network of two full-length "
            "layers ends in the direction of the solution of min ‖Fβ‖₁ with y_i⟨x_i, β⟩ ≥ 1 for "
            "all i, F the discrete Fourier transform, if the moduli of the filters' transforms "
            f"differ at every frequency. {SUPPOSED}"
        ),
        concludes="limit",
        rank=30,
        conditions=partial(_conditions, kind=CONVOLUTIONAL, deep=False),
        limit=_limit_convolutional,
        task=Classification,
    )
)


def _deep(name: str, words: str, direction: str, kind: Kind) -> Theorem:
    """The same result for three layers or more, where it fixes a set."""
    return register(
        Theorem(
            id=f"yun2021.{name}_deep",
            citation=f"{CITATION}, {words} for three layers or more",
            statement=(
                f"In the classification of separable data a {kind[1]} of L ≥ 3 layers ends in the "
                f"direction of {direction} with all margins at least 1. {SET} {SUPPOSED}"
            ),
            concludes="set",
            rank=20,
            conditions=partial(_conditions, kind=kind, deep=True),
            task=Classification,
        )
    )


DEEP = (
    _deep("theorem2", "Theorem 2", "Sᵀρ, ρ a stationary point of min ‖ρ‖_{2/L}", TENSOR),
    _deep("corollary2", "Corollary 2", "a stationary point of min ‖β‖_{2/L}", DIAGONAL),
    _deep("corollary3", "Corollary 3", "a stationary point of min ‖Fβ‖_{2/L}", CONVOLUTIONAL),
)
