"""The limit of infinite initialisation: a linear map, and a weighted ℓ2 norm as its potential."""

from collections.abc import Sequence

import numpy as np

from limitpoint.foundation.conditions import Condition
from limitpoint.problem import Problem
from limitpoint.theory.atlas import Theorem, register
from limitpoint.theory.certificates.certificate import status_of
from limitpoint.theory.certificates.constraint import Constraint
from limitpoint.theory.certificates.least_norm_certificate import certify_weighted_least_norm
from limitpoint.theory.limit import Limit
from limitpoint.theory.solvers.least_norm import LeastNorm
from limitpoint.theory.theorems.shared_conditions import (
    has_mirror_map,
    kind_of_network,
    listed,
)


def _conditions(problem: Problem) -> Sequence[Condition]:
    network, init = problem.network, problem.init
    infinite = init.log_scale == np.inf
    change = "take the limit of infinite initialisation: scale=inf"
    scale = Condition("scale infinite", infinite, None, f"log_scale is {init.log_scale:g}", change)
    homogeneous = kind_of_network(
        problem,
        "coefficients homogeneous in the layers",
        network.is_homogeneous,
        "use Diagonal, Power, SignedPower or Paired",
    )
    own = has_mirror_map(problem)
    if not (scale.holds and homogeneous.holds and own.holds):
        return (scale, homogeneous, own)
    start = np.abs(network.coef(init.direction))
    moved = start != 0
    detail = f"not zero: {listed(moved)}" if moved.any() else "all are zero"
    zero = Condition(
        "coefficients start at zero",
        not bool(moved.any()),
        -float(start.max()),
        detail,
        "start from zero coefficients, by Init.zero_last or Init.unbiased, or at a finite scale",
    )
    return (scale, homogeneous, own, zero)


def _limit(problem: Problem) -> Limit:
    task, network = problem.regression, problem.network
    mirror = network.mirror_map(problem.init.at_scale(1.0))
    if mirror is None:
        raise TypeError(f"{network} has no mirror map")
    slopes = mirror.slopes(np.zeros(task.n_features))
    constraint = Constraint.of(task.X * (slopes > 0), task.y)
    coef, dual = LeastNorm(constraint, slopes).solve(constraint.fit)
    xi = constraint.X.T @ dual
    certificate = certify_weighted_least_norm(constraint, slopes, coef)
    with np.errstate(divide="ignore"):
        logs = np.log(np.abs(coef))
    return Limit(
        coef=coef,
        signs=np.sign(coef),
        log_abs_coef=logs,
        mirror=xi,
        dual=dual,
        theorem=LAZY,
        potential=0.5 * float(coef @ xi),
        certificate=certificate,
        status=status_of(certificate, constraint, coef),
        iterations=0,
    )


LAZY = register(
    Theorem(
        id="limitpoint.lazy",
        citation=(
            "limitpoint; for equal layers and a zero last one Yun, Krishnan and Mobahi (2021), "
            "Corollary 5, α → ∞"
        ),
        statement=(
            "If the coefficients start at zero, training from layers scaled by s → ∞ ends at "
            "argmin ½ Σ β_i²/D_i among the best fits, D_i the squared norm of the coefficient's "
            "gradient in its parameters at the direction (for equal layers w̄ and a zero last one "
            "D = w̄^{2L−2}): the mirror coordinates needed vanish as s^{2−2L}, so that the map is "
            "linear. Coefficients that start elsewhere grow with s, and have no limit. Mirror "
            "coordinates and duals are in units of s^{2−2L}."
        ),
        concludes="limit",
        rank=7,
        conditions=_conditions,
        limit=_limit,
    )
)
