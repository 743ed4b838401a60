"""Whether a flow has settled in the direction it is near, or is only passing by."""

import numpy as np

from limitpoint.arrays import Float
from limitpoint.problem import Problem
from limitpoint.theory.margin.stationarity import space_of

__all__ = ["unrest"]


def unrest(problem: Problem, coef: Float) -> float | None:
    """By how much some part of the coefficients grows faster than they do as a whole, at most.

    In two layers a group g of coordinates (a coefficient, a frequency) grows as `e^{2 s_g ν}`,
    `s_g = ‖(Aᵀw)_g‖/w_g` with w the samples' pulls at this point, and the norm of all as the mean
    of s_g weighted by the groups' own norms. What is returned is `max s_g / mean − 1`: at most
    zero, up to terms that fall as powers of the margin, where the flow stays. Positive, ε, where a
    small group outgrows the others as margin^ε: the flow is leaving the direction it is in. None
    for networks that have no such groups.
    """
    space = space_of(problem)
    if space is None:
        return None
    task = problem.classification
    margins = space.problem(task.signed)
    coordinates = space.coordinates(coef)
    pulls = margins.rows.T @ task.weights(task.margins(coef))
    shares = margins.norms(pulls) / margins.weights
    norms = margins.weights * margins.norms(coordinates)
    mean = float(shares @ norms) / float(norms.sum())
    return float(shares.max()) / mean - 1.0 if mean > 0 else np.inf
