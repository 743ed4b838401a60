"""Whether a solution of the margin problem is the only one."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space, svd
from scipy.optimize import linprog

from limitpoint.arrays import Float
from limitpoint.theory.certificate import CERTIFICATE_TOLERANCE
from limitpoint.theory.margin.problem import MarginProblem, MarginSolution

__all__ = ["TIED", "Face", "is_unique"]

# Groups and samples tie when they do so to the accuracy of a certificate.
TIED = CERTIFICATE_TOLERANCE


@dataclass(frozen=True, eq=False)
class Face:
    """Which samples and groups are active in a solution, strictly or tied."""

    forced: NDArray[np.bool_]  # samples with a multiplier: their margin is 1 in all solutions
    tight: NDArray[np.bool_]  # the other samples with margin 1
    open: NDArray[np.bool_]  # groups that some solution may use: ‖(Aᵀμ)_g‖ = w_g
    used: NDArray[np.bool_]  # those that this one uses
    shares: Float  # ‖(Aᵀμ)_g‖/w_g
    norms: Float
    pulls: Float

    @classmethod
    def of(cls, problem: MarginProblem, solution: MarginSolution) -> "Face":
        """From the optimality conditions, to the accuracy of a certificate."""
        pulls = problem.rows.T @ solution.multipliers
        shares = problem.norms(pulls) / problem.weights
        norms = problem.norms(solution.coordinates)
        excess = problem.excess(solution.coordinates)
        # By what each sample contributes to Aᵀμ.
        forces = solution.multipliers * np.abs(problem.rows).max(axis=1)
        forced = forces > TIED * float(forces.max())
        return cls(
            forced=forced,
            tight=(excess <= TIED) & ~forced,
            open=shares >= 1 - TIED,
            used=norms > TIED * float(norms.max()),
            shares=shares,
            norms=norms,
            pulls=pulls,
        )


def is_unique(problem: MarginProblem, solution: MarginSolution) -> bool:
    """Whether no other coordinates have margins of at least 1 and the same norm.

    In every solution `ρ_g = t_g (Aᵀμ)_g/w_g` with `t_g ≥ 0`, whichever optimal μ is taken, and t_g
    is zero unless `‖(Aᵀμ)_g‖ = w_g`. So the solutions are a polytope in t, and this one is alone
    if no direction leads along it: one that keeps the margins of the samples with a multiplier,
    lowers no other margin of 1, and lowers no t_g that is zero.
    """
    face = Face.of(problem, solution)
    units = face.pulls / problem.weights[problem.group_of]
    along = np.add.reduceat(problem.rows * units, problem.starts, axis=1)[:, face.open]
    sizes = np.abs(along).max(axis=0, initial=0.0)
    along = along / np.where(sizes > 0, sizes, 1.0)
    if _has_full_column_rank(along[face.forced]):
        return True
    free = null_space(along[face.forced], rcond=TIED)
    unused = ~face.used[face.open]
    bounds = np.vstack([along[face.tight] @ free, free[unused]])
    if not _has_full_column_rank(bounds):
        return False
    found = linprog(
        -bounds.sum(axis=0),
        A_ub=-bounds,
        b_ub=np.zeros(len(bounds)),
        bounds=(-1.0, 1.0),
        method="highs",
    )
    # The cone of these directions is a point when none of them gains anything on any bound.
    return bool(found.status == 0 and -found.fun <= len(bounds) * 1e-7)


def _has_full_column_rank(matrix: Float) -> bool:
    if matrix.shape[1] == 0:
        return True
    if matrix.shape[0] < matrix.shape[1]:
        return False
    values = svd(matrix, compute_uv=False)
    return bool(values[-1] > TIED * values[0])
