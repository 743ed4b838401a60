"""Zhao, Wang, Yang, Bai, Zhang: diagonal linear networks under infinitesimal initialization."""

from collections.abc import Sequence

import numpy as np

from limitpoint.errors import InitError, NoTheoremApplies
from limitpoint.foundation.arrays import Float
from limitpoint.foundation.conditions import Condition
from limitpoint.foundation.labels import carries_names
from limitpoint.networks import Diagonal
from limitpoint.problem import Problem, as_problem
from limitpoint.theory.atlas import Theorem, register
from limitpoint.theory.limit import Limit
from limitpoint.theory.solvers.basis_pursuit import SaddlePath, saddle_path
from limitpoint.theory.theorems.shared_conditions import (
    SEPARABLE_NETWORKS,
    is_diagonal,
    kind_of_network,
    scale_zero,
    smallest_layer_is_unique,
)

CITATION = (
    "Zhao et al. (2026), Gradient flow dynamics and implicit bias of diagonal linear networks "
    "under infinitesimal initialization"
)


@carries_names
def saddles(problem: Problem) -> SaddlePath:
    """The saddles that training visits as the initialisation vanishes, for this problem.

    Asymptotic: the values and the order hold in the limit of vanishing scale, the times
    `path.path_times · path.time_unit` to first order in 1/unit. At scale 0 the unit is infinite.

    Raises
    ------
    NoTheoremApplies
        If the network has no activation times.
    InitError
        If the scale is not below 1.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task = lp.examples.zhao_eq7()
    >>> network = lp.Diagonal(depth=2)
    >>> path = saddles(lp.Problem(network, lp.Init.random(network, task, 1e-60, seed=0), task))
    >>> path.coefs[1:].round(3).tolist()
    [[0.8, 0.0, 0.0, 0.0], [0.0, 0.0, 1.4, 0.0], [0.0, 0.0, 1.429, -0.204]]
    >>> (path.path_times * path.time_unit).round(1).tolist()
    [0.0, 69.1, 276.3, 389.1]
    """
    growth = as_problem(problem).network.activation_times(problem.init)
    if growth is None:
        raise NoTheoremApplies(
            f"{problem.network} has no activation times, so no saddle path is known"
        )
    if problem.init.log_scale >= 0:
        raise InitError(
            "saddles needs a scale below 1, where there are plateaus; "
            f"it is {problem.init.scale:g} (0 is the limit itself)"
        )
    task = problem.regression
    path = saddle_path(
        task.X, task.y, growth.t_plus, growth.t_minus, lower=growth.lower, upper=growth.upper
    )
    return path.in_units_of(growth.unit / task.loss_factor)


def _limit_of(problem: Problem, theorem: Theorem) -> Limit:
    path = saddles(problem)
    with np.errstate(divide="ignore"):
        logs: Float = np.log(np.abs(path.coef))
    return Limit(
        coef=path.coef,
        signs=np.sign(path.coef),
        log_abs_coef=logs,
        mirror=np.array(path.mirrors[-1]),
        dual=np.array(path.duals[-1]),
        theorem=theorem,
        potential=path.objective,
        certificate=path.certificate,
        status=path.status,
        iterations=path.n_saddles,
    )


def _conditions(problem: Problem) -> Sequence[Condition]:
    network, scale = problem.network, scale_zero(problem)
    if isinstance(network, Diagonal):
        return (is_diagonal(problem), scale, smallest_layer_is_unique(problem))
    model = network.assumptions(problem.init)
    covered = kind_of_network(
        problem,
        "diagonal network, or general two-layer one (Definition 4.1)",
        bool(model),
        "use Diagonal(depth) or General(k, block_size=...)",
    )
    return (covered, scale, *model)


def _conditions_under_signs(problem: Problem) -> Sequence[Condition]:
    network = problem.network
    known = network.activation_times(problem.init) is not None
    covered = kind_of_network(problem, "activation times known", known, SEPARABLE_NETWORKS)
    return (covered, scale_zero(problem))


def _limit(problem: Problem) -> Limit:
    return _limit_of(problem, COROLLARY_4_6)


def _limit_under_signs(problem: Problem) -> Limit:
    return _limit_of(problem, SIGN_CONSTRAINED_AT_ZERO)


COROLLARY_4_6 = register(
    Theorem(
        id="zhao2026.corollary4.6",
        citation=f"{CITATION}, Corollary 4.6 (with Theorem 4.5 for the path)",
        statement=(
            "As the scale of the initialisation vanishes, training visits the saddles of "
            "Algorithm 1 in order and ends at argmin Σ t_i⁺β_i⁺ + t_i⁻β_i⁻ among the best fits, "
            "with the activation times t_i^± = ∫ dx/Π_j √(x²+Δ_j) over x > ±v_i(0), v the smallest "
            "layer turned by the sign of the product of the others; at depth 2 all are 1 (minimum "
            "ℓ1). For a general two-layer network β_i = k_i(θ_i) they are 1/λ_max and −1/λ_min of "
            "the Hessian of k_i at 0."
        ),
        concludes="limit",
        rank=25,
        conditions=_conditions,
        limit=_limit,
    )
)

SIGN_CONSTRAINED_AT_ZERO = register(
    Theorem(
        id="limitpoint.sign_constrained_at_zero",
        citation=(
            "limitpoint; extends Zhao et al. (2026), Corollary 4.6, to tied layers, to power and "
            "paired networks and to bounded coefficients"
        ),
        statement=(
            "Where two layers of a coordinate tie for the smallest in modulus, its coefficient "
            "keeps its sign for ever (at zero it never moves), and the activation time of the "
            "other side is infinite; likewise where β = u^L is one-sided. For u^L the activation "
            "time is 1/(L(L−2)|u|^{L−2}), at L = 2 one half; for u₊v₊ − u₋v₋ it is 1. A "
            "coefficient bounded elsewhere keeps its bound. With those activation times Corollary "
            "4.6 holds unchanged, the limit being a least-squares fit under the constraints where "
            "these forbid a fit."
        ),
        concludes="limit",
        rank=4,
        conditions=_conditions_under_signs,
        limit=_limit_under_signs,
    )
)
