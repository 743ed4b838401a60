"""The exact law of gradient training: the first layer keeps its component in the null space."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from limitpoint.errors import InitError, NoTheoremApplies
from limitpoint.foundation.arrays import as_float_array
from limitpoint.foundation.conditions import Condition
from limitpoint.networks import CoupledNetwork, TwoLayer
from limitpoint.problem import Problem, as_problem
from limitpoint.tasks import LARGEST
from limitpoint.theory.atlas import Theorem, register
from limitpoint.theory.certificates.certificate import Certificate, fit_residuals, status_of
from limitpoint.theory.limit import Limit
from limitpoint.theory.solvers.radial_limit import NullSpace, limit_at
from limitpoint.theory.theorems.shared_conditions import finite_scale, kind_of_network

__all__ = ["limit_given_outer"]


def _conditions(problem: Problem) -> Sequence[Condition]:
    network = problem.network
    return (
        kind_of_network(
            problem,
            "the first layer alone meets the data",
            isinstance(network, CoupledNetwork | TwoLayer),
            "use RankOne, FullyConnected or TwoLayer",
        ),
        finite_scale(problem),
    )


def limit_given_outer(problem: Problem, outer: ArrayLike) -> Limit:
    """`β(∞) = X⁺y + P_null A(0)·outer` for a run that fits the data and ends with these layers.

    Parameters
    ----------
    problem
        With a rank-one, fully connected or two-layer network.
    outer
        `network.outer` of the layers at the end of any run of GD or SGD: for a rank-one network
        the number ξ(∞), for a dense one the vector `W₂ ⋯ w_L`, for a two-layer one W₂.
    """
    as_problem(problem)
    network, task = problem.network, problem.regression
    failed = [condition for condition in _conditions(problem) if not condition.holds]
    if failed or not isinstance(network, CoupledNetwork | TwoLayer):
        reasons = "; ".join(f"{condition.name}: {condition.detail}" for condition in failed)
        raise NoTheoremApplies(f"{LAW.id} does not apply ({reasons})")
    start = problem.init.layers
    shape = np.shape(network.outer(start))
    given = as_float_array(outer, "outer", InitError, ndim=(0, 1, 2))
    if float(np.abs(given).max(initial=0.0)) > LARGEST:
        raise InitError(
            f"outer must have entries of at most {LARGEST:g} in modulus, as the data have; the "
            f"largest is {float(np.abs(given).max()):g}"
        )
    if given.shape != shape:
        raise InitError(
            f"outer must be network.outer(layers) of the end, of shape {shape}; "
            f"it has shape {given.shape}"
        )
    found = NullSpace.of(task, start[0])
    kept, duals = (
        part * given if given.ndim == 0 else part @ given for part in (found.kept, found.kept_dual)
    )
    coef = found.least + kept
    first = start[0] * given if given.ndim == 0 else start[0] @ given
    xi = coef - first  # Xᵀν: what training has added in the row space
    dual = found.least_dual - duals
    constraint = found.constraint
    off = np.abs(xi - constraint.X.T @ dual)
    sizes = np.abs(coef) + np.abs(first) + np.abs(constraint.X).T @ np.abs(dual)
    outside = np.divide(off, sizes, out=np.zeros_like(off), where=sizes > 0)
    certificate = Certificate(
        {**fit_residuals(constraint, coef), "null space": float(outside.max(initial=0.0))}
    )
    return limit_at(
        coef,
        LAW,
        mirror=xi,
        dual=dual,
        potential=0.5 * float(np.sum(xi**2)),
        certificate=certificate,
        status=status_of(certificate, constraint, coef),
        iterations=0,
    )


LAW = register(
    Theorem(
        id="limitpoint.null_space_law",
        citation="limitpoint; the law behind Lyu and Zhu (2023), Figures 5 to 7",
        statement=(
            "Gradient flow, GD, SGD and label noise of any step and batch keep P_null A(t) = "
            "P_null A(0), A the layer that meets the data (v₁ of a rank-one network, W₁ of "
            "others), P_null the "
            "projector on the null space of X. Proof: the gradient of any batch's loss in A is "
            "X_Bᵀ(…), whose columns lie in the row space of X; so no step changes P_null A. At "
            "interpolation P_row β = X⁺y, hence β(∞) = X⁺y + P_null A(0)·o(∞), o the product of "
            "the other layers (ξ for a rank-one network). Exact given o(∞), which "
            "analysis.limit_given_outer takes; SGD ends nearer to X⁺y than GD since it shrinks o. "
            "The potential is ½‖β − A(0)o‖², the distance from where the outer layers would put "
            "the start."
        ),
        concludes="law",
        rank=1,
        conditions=_conditions,
    )
)
