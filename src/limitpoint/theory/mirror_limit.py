"""The limit of any network with a mirror map, at any finite scale."""

from limitpoint.problem import Problem
from limitpoint.status import Status
from limitpoint.theory.atlas import Theorem
from limitpoint.theory.certificate import certify_mirror_limit
from limitpoint.theory.limit import Limit
from limitpoint.theory.newton import solve_dual
from limitpoint.theory.whitening import whiten

__all__ = ["mirror_limit"]


def mirror_limit(problem: Problem, theorem: Theorem) -> Limit:
    """`argmin Σ Q_i(β_i)` among the best fits, by Newton's method on its dual; exact.

    A coefficient whose layers are all zero never moves; its column is left out of the fit.
    """
    task, init = problem.task, problem.init
    mirror = problem.network.mirror_map(init)
    if mirror is None:
        raise TypeError(f"{problem.network} has no mirror map")
    movable = mirror.lower < mirror.upper
    data = whiten(task.X * movable, task.y)
    solution = solve_dual(mirror, data)
    # From the whitened dual rather than as Xᵀν: no product with an ill-conditioned X.
    clocks = solution.dual @ data.rows
    coef, _, conjugates = mirror.evaluate(clocks)
    signs, logs = mirror.signs_and_logs(clocks)
    certificate = certify_mirror_limit(task, mirror, coef, clocks, data.in_range)
    reached = Status.CONVERGED if data.in_range else Status.LEAST_SQUARES
    return Limit(
        coef=coef,
        signs=signs,
        log_abs_coef=logs,
        clocks=clocks,
        dual=data.sample_dual(solution.dual),
        theorem=theorem,
        potential=float(coef @ clocks - conjugates.sum()),  # Q = βξ − Ψ̂ where ξ = Q'(β)
        certificate=certificate,
        status=reached if certificate.ok else Status.NOT_CERTIFIED,
        iterations=solution.iterations,
    )
