"""Second-order cone programs by Clarabel, called directly: nothing is said but by its status."""

from typing import Any

import clarabel
import numpy as np
from scipy import sparse

from limitpoint.foundation.arrays import Float
from limitpoint.theory.solvers.margin.margin_problem import Integers

__all__ = ["norm_rows", "solve_cones"]

# An answer short of the goals is used like any other: it is polished, and certified.
USABLE = (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved)


def solve_cones(
    cost: Float, blocks: list[tuple[Float, Float, Any]], goals: dict[str, float]
) -> tuple[Float, Float] | None:
    """Minimise `cost·x` with `b − Ax` in the cone of every block (A, b, cones).

    Parameters
    ----------
    cost
        One number per unknown.
    blocks
        A matrix, a vector, and the list of Clarabel's cones that their rows belong to.
    goals
        Clarabel's settings that differ from its own.

    Returns
    -------
    tuple or None
        The unknowns, and the multipliers of all rows one after the other; None where the solver
        has failed.
    """
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    for name, value in goals.items():
        setattr(settings, name, value)
    matrix = sparse.csc_matrix(np.vstack([block[0] for block in blocks]))
    offsets = np.concatenate([block[1] for block in blocks])
    cones = [cone for block in blocks for cone in block[2]]
    flat = sparse.csc_matrix((len(cost), len(cost)))
    found = clarabel.DefaultSolver(flat, cost, matrix, offsets, cones, settings).solve()
    if found.status not in USABLE:
        return None
    return np.array(found.x), np.array(found.z)


def norm_rows(heads: Float, bodies: Float, sizes: Integers) -> Float:
    """The matrix whose rows are, group by group, its head and then those of its body."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return np.insert(bodies, starts, heads, axis=0)
