"""Directions of separable classification by dense networks: Corollary 1."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from limitpoint.foundation.conditions import Condition
from limitpoint.foundation.linalg import row_space
from limitpoint.networks import CoupledNetwork, FullyConnected
from limitpoint.networks.tensor.singular_vectors import layer_gradients
from limitpoint.problem import Problem
from limitpoint.tasks import Classification
from limitpoint.theory.atlas import Theorem, register
from limitpoint.theory.limit import Limit
from limitpoint.theory.solvers.margin.certify.unique_margins import Face
from limitpoint.theory.solvers.margin.margin_limit import margin_limit
from limitpoint.theory.solvers.margin.margin_problem import MarginProblem, MarginSolution
from limitpoint.theory.solvers.margin.margin_spaces import Euclidean
from limitpoint.theory.theorems.shared_conditions import kind_of_network
from limitpoint.theory.theorems.yun2021.citation import CITATION

EPS = float(np.finfo(np.float64).eps)
# A first layer counts as one in the row space of X when no more of it than this is outside: some
# thousand roundings, as many as a projection of wide data collects.
CONFINED = 1e-12


def _conditions(problem: Problem) -> Sequence[Condition]:
    network = problem.network
    fits = kind_of_network(
        problem,
        "fully connected or rank-one network",
        isinstance(network, CoupledNetwork),
        "use FullyConnected(widths) or RankOne(depth, width)",
    )
    if not isinstance(network, CoupledNetwork):
        return (fits,)
    return (fits, _loss_vanishes(problem, network))


def _loss_vanishes(problem: Problem, network: CoupledNetwork) -> Condition:
    """By one of three conditions that can be checked beforehand; its margin."""
    name = "the loss vanishes"
    descent, moves = _descent(problem, network)
    if descent >= 0 and moves:
        detail = f"at the start it is no higher than at zero coefficients (below by {descent:.3g})"
        return Condition(name, True, descent, detail)
    kept, full = _kept(problem, network), _fullness(problem, network)
    if kept > 0:
        return Condition(name, True, kept, f"the last layer keeps a square norm of {kept:.3g}")
    if full > 0:
        return Condition(name, True, full, f"the layers keep full rank (λ = {full:.3g})")
    where = f"above that at zero by {-descent:.3g}" if descent < 0 else "stationary"
    detail = (
        f"not proved: at the start it is {where}, and layers may lose rank on the way. If training "
        "separates the data, the theorem holds"
    )
    change = "start from a smaller scale, where the loss is near that of zero coefficients"
    return Condition(name, False, descent, detail, change)


def _kept(problem: Problem, network: CoupledNetwork) -> float:
    """Of two layers, a square norm that w₂ can never fall below.

    `C = W₁ᵀW₁ − w₂w₂ᵀ` is conserved, and if it has a negative eigenvalue −c then `‖w₂‖² ≥ c` for
    ever: the gradient in W₁, of norm `‖w₂‖‖Xᵀr‖`, vanishes only with the loss.
    """
    if not isinstance(network, FullyConnected) or network.depth != 2:
        return 0.0
    first, last = problem.init.direction
    size = float(np.linalg.norm(first, 2)) ** 2 + float(last @ last)
    lowest = float(np.linalg.eigvalsh(first.T @ first - np.outer(last, last))[0])
    return -lowest if -lowest > len(last) * EPS * size else 0.0


def _descent(problem: Problem, network: CoupledNetwork) -> tuple[float, bool]:
    """How far the loss at the start is below that at zero, and whether its gradient is not zero.

    Relative to the sum of the moduli of the margins, to which it is linear at small scales. Where
    it is not above, gradient flow drives the loss to zero (Ji and Telgarsky 2019):
    it stays below by more and more, so that β and with it the product of the outer layers keep
    away from zero; on bounded sets the gradient in the first layer then does so too, hence the
    layers grow beyond all bounds, and with the outer ones the rate at which the loss falls.
    """
    task, init = problem.classification, problem.init
    layers = init.direction
    margins = task.margins(network.coef(layers))
    largest = float(np.abs(margins).max())
    if largest == 0.0:
        neg_grad = task.signed.sum(axis=0)
        return 0.0, any(np.any(gradient) for gradient in layer_gradients(network, layers, neg_grad))
    log_size = network.degree * init.log_scale + float(np.log(largest))
    shares = margins / largest
    total = float(np.abs(shares).sum())
    if log_size < np.log(EPS):
        # Only the linear part is left, but where that is zero, convexity makes it an ascent.
        slope = float(shares.sum()) / total
        return (slope if abs(slope) > len(shares) * EPS else -EPS), True
    with np.errstate(over="ignore"):
        moved = np.exp(min(log_size, 700.0)) * shares
        changes = np.expm1(-moved)
        if task.loss_name == "logistic":
            changes = 2 * np.where(
                moved < -50, np.log(0.5) - moved, np.log1p(0.5 * np.maximum(changes, -1.0))
            )
        risen = float(changes.sum()) / float(np.abs(moved).sum())
    return float(np.clip(-risen, -1.0, 1.0)), True


def _fullness(problem: Problem, network: CoupledNetwork) -> float:
    """The λ of Theorem 7, whose conditions carry over from regression.

    The gradient in w_L is at least `λ^{(L−1)/2}‖Xᵀr‖` for ever, and on separable data `‖Xᵀr‖` is at
    least the margin times the sum of the residuals. The conditions are `W_lᵀW_l ⪰ W_{l+1}W_{l+1}ᵀ`
    and `W_{L−1}ᵀW_{L−1} − w_Lw_Lᵀ ⪰ λI`, with as many neurons in the last hidden layer as there are
    features.
    """
    if not isinstance(network, FullyConnected) or network.widths[-1] != problem.task.n_features:
        return -np.inf
    *matrices, last = problem.init.direction
    columns = [*matrices, last[:, None]]
    gaps = []
    for one, following in pairwise(columns):
        difference = one.T @ one - following @ following.T
        lowest = float(np.linalg.eigvalsh(difference)[0])
        size = float(np.linalg.norm(one, 2)) ** 2 + float(np.linalg.norm(following, 2)) ** 2
        gaps.append((lowest, len(difference) * EPS * size))
    for lowest, rounding in gaps[:-1]:
        if lowest < -rounding:
            return lowest
    lowest, rounding = gaps[-1]
    return lowest if lowest > rounding or lowest < 0 else 0.0


def _limit(problem: Problem) -> Limit:
    def rate(margins: MarginProblem, found: MarginSolution) -> float:
        return _rate(problem, margins, found)

    return margin_limit(problem, COROLLARY_1, Euclidean(), rate)


def _rate(problem: Problem, margins: MarginProblem, found: MarginSolution) -> float:
    """1/degree, or 1 where the support vectors span all that the first layer can be.

    Once the weights of the other samples have died out, the first layer moves in the span of the
    support vectors only. What it has outside, P_null W₁(0) for one, stays what it is while the
    layer grows as margin^{1/degree}. Inside, the margins of the support vectors fix the direction,
    and they differ by O(1), which is margin^−1 of them.
    """
    task = problem.classification
    face = Face.of(margins, found)
    supported = row_space(margins.rows[face.forced]).shape[1]
    basis = row_space(task.X)
    first = problem.init.direction[0].reshape(task.n_features, -1)
    outside = first - basis @ (basis.T @ first)
    confined = float(np.linalg.norm(outside)) <= CONFINED * float(np.linalg.norm(first))
    if supported == basis.shape[1] and confined:
        return 1.0
    return 1.0 / problem.network.degree


COROLLARY_1 = register(
    Theorem(
        id="yun2021.corollary1",
        citation=f"{CITATION}, Corollary 1 of Theorem 1; Ji and Telgarsky (2020)",
        statement=(
            "In the classification of separable data a fully connected network of any depth L ends "
            "in the direction of the ℓ2 max-margin classifier, min ‖β‖₂ with y_i⟨x_i, β⟩ ≥ 1 for "
            "all i, if the loss falls below 1 at some time. That it does follows from what "
            "is checked here: the loss starts no higher than at zero coefficients, with a gradient "
            "that is not zero (Ji and Telgarsky 2019); or L = 2 and W₁ᵀW₁ − w₂w₂ᵀ, which is "
            "conserved, has a negative eigenvalue, so that w₂ never vanishes; or W_lᵀW_l ⪰ "
            "W_{l+1}W_{l+1}ᵀ and W_{L−1}ᵀW_{L−1} − w_Lw_Lᵀ ⪰ λI with as "
            "many last hidden neurons as features, whose proof for regression (Theorem 7) carries "
            "over, since ‖Xᵀr‖ is at least the margin times the sum of |r_i|. A rank-one network "
            "of depth L is a dense one of 2L − 1 layers with a special start (Lyu and Zhu 2023, "
            "Proposition 1). The direction does not depend "
            "on the scale; it is off by about margin^{−1/L}."
        ),
        concludes="limit",
        rank=30,
        conditions=_conditions,
        limit=_limit,
        task=Classification,
    )
)
