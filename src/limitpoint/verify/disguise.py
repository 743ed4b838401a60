"""Flows of networks that are diagonal ones in disguise, where rounding takes them out of it.

Commuting matrices do not stay so for ever in float64: what rounding adds outside their common
eigenbasis grows while an eigenvalue waits to grow, and takes over in the end. The network that is
trained is then another one.
"""

import numpy as np

from limitpoint.dynamics import ParameterSpace, Trajectory, flow
from limitpoint.problem import Problem
from limitpoint.theory import Reduction, reduction_of

__all__ = ["strayed_from", "within_the_form"]


def strayed_from(problem: Problem, run: Trajectory, tolerance: float) -> Reduction | None:
    """The diagonal form that a run has left by more than this, relative to its layers."""
    reduction = reduction_of(problem)
    if reduction is None or run.layers is None:
        return None
    off = reduction.strayed([layer[-1] for layer in run.layers])
    return reduction if off > tolerance else None


def within_the_form(reduction: Reduction, space: ParameterSpace) -> Trajectory:
    """The flow of the diagonal network within, in the coefficients of the problem itself."""
    run = flow(reduction.diagonal, space=space)
    coefs = np.stack([reduction.form.outer_coefs(coef) for coef in run.coefs])
    return Trajectory.build(
        kind=f"{run.kind}, within the diagonal form",
        status=run.status,
        times=run.times,
        coefs=coefs,
        losses=run.losses,
        misfit=run.misfit,
    )
