"""Whether a flow has settled in the direction it is near, or is only passing by."""

import numpy as np

from limitpoint.arrays import Float
from limitpoint.problem import Problem
from limitpoint.theory.margin.stationarity import space_of

__all__ = ["unrest"]


def unrest(problem: Problem, coef: Float) -> float | None:
    """By how much some part of the coefficients grows faster than the largest one, at most.

    In two layers a group g of coordinates (a coefficient, a frequency) grows as `e^{2 s_g ν}`,
    `s_g = ‖(Aᵀw)_g‖/w_g` with w the samples' pulls at this point. What is returned is
    `max_g s_g / s_h − 1`, h the group with the largest norm: zero where the flow settles, up to
    terms that fall as powers of the margin, since there all active groups grow alike and the
    others more slowly. Positive, ε, where a smaller group catches up with the largest as
    margin^ε: the flow is leaving the direction it is in, or is slow to settle between active
    groups. None for networks without such groups.
    """
    space = space_of(problem)
    if space is None:
        return None
    task = problem.classification
    margins = space.problem(task.signed)
    coordinates = space.coordinates(coef)
    pulls = margins.rows.T @ task.weights(task.margins(coef))
    shares = margins.norms(pulls) / margins.weights
    largest = float(shares[np.argmax(margins.weights * margins.norms(coordinates))])
    return float(shares.max()) / largest - 1.0 if largest > 0 else np.inf
