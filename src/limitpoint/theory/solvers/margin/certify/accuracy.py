"""A bound of first order on the error of a solution of the margin problem."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.linalg import EPS
from limitpoint.theory.solvers.margin.certify.unique_margins import Face
from limitpoint.theory.solvers.margin.derivative import Derivative
from limitpoint.theory.solvers.margin.margin_problem import MarginProblem, MarginSolution

__all__ = ["coef_errors"]

# What is rounded when a margin or a dual image is added up, in units of eps times the sum of the
# moduli: random errors of some hundred terms.
ROUNDING_UNITS = 8.0
# Vectors of a null space leave a coordinate alone when they have no more of it than this: their
# own rounding over gaps of as much.
UNMOVED = float(np.sqrt(EPS))

Mask = NDArray[np.bool_]


def coef_errors(
    problem: MarginProblem, solution: MarginSolution, coef: Callable[[Float], Float]
) -> Float:
    """Bounds on `|Δβ|`, coefficient by coefficient; infinite where nothing determines them.

    On the face of a solution the optimality conditions are the equations

        A_E ρ = b,    w_g ρ_g/‖ρ_g‖ = (Aᵀμ)_g,

    E the samples whose margin is 1, g the groups in use and those that tie with them (these in
    their one direction, that of `(Aᵀμ)_g`). With K the derivative and r the residual, an error is
    `K⁻¹r` to first order, and with `β = Cρ`, which is `coef`, linear in the last axis:
    `|Δβ| ≤ |C K⁻¹|(|r| + rounding)`, where rounding is that of each sum, by its own moduli, and of
    the entries of A. K is equilibrated before it is inverted.
    """
    less = problem.reduced()
    if less is not None:
        small, basis = less
        inside = replace(solution, coordinates=basis.T @ solution.coordinates)
        return coef_errors(small, inside, lambda inner: coef(inner @ basis.T))
    units = problem.equilibrated()
    problem, solution = units.problem, units.inside(solution)

    def outside(inner: Float) -> Float:
        return coef(inner * units.by_column)

    face = Face.of(problem, solution)
    errors = _errors(problem, solution, face, face.open | face.used, outside)
    if not np.isfinite(errors).all():
        # Groups that tie and are not used are kept at zero by other margins.
        errors = _errors(problem, solution, face, face.used, outside)
    return errors


def _errors(
    problem: MarginProblem,
    solution: MarginSolution,
    face: Face,
    groups: Mask,
    coef: Callable[[Float], Float],
) -> Float:
    """The same on the groups given, the others being zero."""
    samples, kept = face.forced | face.tight, face.used[problem.group_of]
    idle = np.flatnonzero(groups & ~face.used)
    # What each unknown does to the coordinates: those of groups in use move, others along a line.
    moves = np.zeros((int(kept.sum()) + len(idle), len(kept)))
    moves[np.arange(int(kept.sum())), np.flatnonzero(kept)] = 1.0
    units = face.units(problem)
    for row, group in enumerate(idle, int(kept.sum())):
        moves[row, problem.group_of == group] = units[problem.group_of == group]
    same = problem.group_of[kept]
    stiffness = problem.weights[same] / face.norms[same]
    gains = moves @ problem.rows[samples].T
    radial = solution.coordinates[kept] / face.norms[same]
    found = _inverse(Derivative.of(radial, stiffness, same, gains), len(moves))
    if found is None:
        return np.full(coef(moves[:1]).shape[-1], np.inf)
    dual, primal = _residuals(problem, solution, face)
    tied = np.add.reduceat(dual, problem.starts)[idle]
    off = np.concatenate([dual[kept], tied, primal[samples]])
    errors: Float = off @ np.abs(coef(found[: len(moves)].T @ moves))
    return errors


def _residuals(problem: MarginProblem, solution: MarginSolution, face: Face) -> tuple[Float, Float]:
    """Of all coordinates and of all samples, with their rounding."""
    weights = problem.weights[problem.group_of]
    # The dual images are computed in twice the precision: what is left is rounded in their own
    # size.
    dual = ROUNDING_UNITS * EPS * weights + problem.rounding.T @ solution.multipliers
    kept = face.used[problem.group_of]
    radial = solution.coordinates[kept] / face.norms[problem.group_of[kept]]
    dual[kept] += np.abs(weights[kept] * radial - face.dual_images[kept])
    primal = ROUNDING_UNITS * EPS * problem.margin_sizes(solution.coordinates)
    primal = primal + np.abs(problem.rows @ solution.coordinates - problem.floors)
    return dual, primal + problem.rounding @ np.abs(solution.coordinates)


def _inverse(derivative: Derivative, count: int) -> Float | None:
    """The inverse, or that of least norm where it leaves the first unknowns determined; or None."""
    left, values, right = np.linalg.svd(derivative.matrix)
    kept = values > derivative.cut * values[0]
    if np.abs(right[~kept, :count]).max(initial=0.0) > UNMOVED:
        return None
    inverse: Float = (right[kept].T / values[kept]) @ left[:, kept].T
    return derivative.by_column[:, None] * inverse * derivative.by_row
