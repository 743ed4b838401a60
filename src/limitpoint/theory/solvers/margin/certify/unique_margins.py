"""Whether a solution of the margin problem is the only one."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd
from scipy.optimize import linprog

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.linalg import EPS, equilibrate
from limitpoint.theory.certificates.certificate import CERTIFICATE_TOLERANCE
from limitpoint.theory.solvers.margin.margin_problem import MarginProblem, MarginSolution
from limitpoint.theory.solvers.margin.sums_of_products import sums_of_products

__all__ = ["TIED", "Face", "is_unique"]

# Groups and samples tie when they do so to the accuracy of a certificate, in what they contribute:
# a group that contributes less to every margin, say, can move no solution by more.
TIED = CERTIFICATE_TOLERANCE
# A linear program's own accuracy.
PROGRAM = 1e-7


@dataclass(frozen=True, eq=False)
class Face:
    """Which samples and groups are active in a solution, strictly or tied.

    Each is judged by what it contributes: a sample to the dual images, a group to the margins.
    """

    forced: NDArray[np.bool_]  # samples with a multiplier: their margin is 1 in all solutions
    tight: NDArray[np.bool_]  # the other samples with margin 1
    open: NDArray[np.bool_]  # groups that some solution may use: ‖(Aᵀμ)_g‖ = w_g
    used: NDArray[np.bool_]  # those that this one uses
    shares: Float  # ‖(Aᵀμ)_g‖/w_g
    norms: Float
    dual_images: Float

    @classmethod
    def of(cls, problem: MarginProblem, solution: MarginSolution) -> "Face":
        """From the optimality conditions, to the accuracy of a certificate."""
        nothing = np.zeros(problem.rows.shape[1])
        dual_images = sums_of_products(
            problem.rows, solution.multipliers, solution.corrections, nothing
        )
        shares = problem.norms(dual_images) / problem.weights
        excess = problem.rows @ solution.coordinates - problem.floors
        rounding = len(problem.group_of) * EPS * problem.margin_sizes(solution.coordinates)
        forced = problem.forces(solution.multipliers) > TIED
        return cls(
            forced=forced,
            tight=(excess <= TIED * problem.floors + rounding) & ~forced,
            open=shares >= 1 - TIED,
            used=problem.contributions(solution.coordinates) > TIED,
            shares=shares,
            norms=problem.norms(solution.coordinates),
            dual_images=dual_images,
        )

    def units(self, problem: MarginProblem) -> Float:
        """`(Aᵀμ)_g/‖(Aᵀμ)_g‖`: along which the groups lie in all solutions."""
        sizes = self.shares * problem.weights
        units: Float = self.dual_images / np.where(sizes > 0, sizes, 1.0)[problem.group_of]
        return units


def is_unique(problem: MarginProblem, solution: MarginSolution) -> bool:
    """Whether no other coordinates have margins of at least 1 and the same norm.

    In every solution `ρ_g = t_g (Aᵀμ)_g/w_g` with `t_g ≥ 0`, whichever optimal μ is taken, and t_g
    is zero unless `‖(Aᵀμ)_g‖ = w_g`. So the solutions are a polytope in t, and this one is alone
    if no direction leads along it: one that keeps the margins of the samples with a multiplier,
    lowers no other margin of 1, and lowers no t_g that is zero.

    Whether a direction changes a margin is judged against the most that groups of this size can
    change, `‖A_ig‖`, and not against what is left of it when terms cancel.
    """
    less = problem.reduced()
    if less is not None:
        small, basis = less
        inside = MarginSolution(
            basis.T @ solution.coordinates, solution.multipliers, solution.corrections, 0
        )
        return is_unique(small, inside)
    units = problem.equilibrated()
    problem, solution = units.problem, units.inside(solution)
    face = Face.of(problem, solution)
    along = np.add.reduceat(problem.rows * face.units(problem), problem.starts, axis=1)
    along, most = along[:, face.open], problem.row_norms[:, face.open]
    by_row, by_group = equilibrate(most[face.forced])
    free = _null_space(by_row[:, None] * along[face.forced] * by_group)
    if free.shape[1] == 0:
        return True
    tops = (most[face.tight] * by_group).max(axis=1, initial=0.0, keepdims=True)
    gains = (along[face.tight] * by_group) / np.where(tops > 0, tops, 1.0)
    bounds = np.vstack([gains @ free, free[~face.used[face.open]]])
    return _only_zero(np.where(np.abs(bounds) > TIED, bounds, 0.0))


def _null_space(matrix: Float) -> Float:
    """Orthonormal columns that a matrix in units of 1 takes to less than what ties."""
    if 0 in matrix.shape:
        return np.eye(matrix.shape[1])
    _, values, right = svd(matrix)
    rank = int((values > TIED).sum())
    columns: Float = right[rank:].T
    return columns


def _only_zero(bounds: Float) -> bool:
    """Whether `bounds @ v ≥ 0` only for v = 0."""
    if _null_space(bounds).shape[1] > 0:
        return False
    found = linprog(
        -bounds.sum(axis=0),
        A_ub=-bounds,
        b_ub=np.zeros(len(bounds)),
        bounds=(-1.0, 1.0),
        method="highs",
    )
    # The cone of these directions is a point when none of them gains anything on any bound.
    return bool(found.status == 0 and -found.fun <= len(bounds) * PROGRAM)
