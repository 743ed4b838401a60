"""The limit direction of a classification, from the margin problem of its network's space."""

from collections.abc import Callable

from limitpoint.problem import Problem
from limitpoint.status import Status
from limitpoint.theory.atlas import Theorem
from limitpoint.theory.limit import Limit
from limitpoint.theory.solvers.margin.certify.accuracy import coef_errors
from limitpoint.theory.solvers.margin.certify.margin_certificate import (
    certify_margins,
    hides_margins,
)
from limitpoint.theory.solvers.margin.certify.unique_margins import is_unique
from limitpoint.theory.solvers.margin.margin_problem import MarginProblem, MarginSolution
from limitpoint.theory.solvers.margin.margin_spaces import MarginSpace
from limitpoint.theory.solvers.margin.solve_margins import solve_margins
from limitpoint.theory.solvers.radial_limit import limit_at

__all__ = ["margin_limit"]

# From a problem and its solution to the exponent at which a flow approaches it.
Exponent = Callable[[MarginProblem, MarginSolution], float]


def margin_limit(problem: Problem, theorem: Theorem, space: MarginSpace, rate: Exponent) -> Limit:
    """The solution of `min Σ_g w_g‖ρ_g‖` with margins at least 1, certified.

    The status is DEGENERATE where other coefficients have the same norm and margins, DATA_HIDDEN
    where the terms of some margin cancel to what float64 does not hold.
    """
    task = problem.classification
    margins = space.problem(task.signed)
    found = solve_margins(margins)
    coef = space.coef(found.coordinates)
    unique = is_unique(margins, found)
    errors = None
    if unique:
        errors = coef_errors(margins, found, space.coef) + space.coef_rounding(found.coordinates)
    certificate = certify_margins(
        task,
        space,
        coef,
        found.coordinates,
        found.multipliers,
        found.corrections,
        errors,
    )
    status = Status.CONVERGED if unique else Status.DEGENERATE
    if not certificate.ok:
        hidden = hides_margins(task, coef)
        status = Status.DATA_HIDDEN if hidden else Status.NOT_CERTIFIED
    dual = task.y * found.multipliers
    return limit_at(
        coef,
        theorem,
        mirror=task.X.T @ dual,
        dual=dual,
        potential=margins.value(found.coordinates),
        certificate=certificate,
        status=status,
        iterations=found.iterations,
        rate=rate(margins, found) if status is Status.CONVERGED else None,
    )
