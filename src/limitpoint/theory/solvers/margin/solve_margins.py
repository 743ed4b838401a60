"""First solutions of the margin problem, by the solver that suits its groups; then polished."""

from dataclasses import replace

import clarabel
import numpy as np
from scipy.optimize import linprog, nnls

from limitpoint.foundation.arrays import Float
from limitpoint.theory.solvers.margin.cone_program import norm_rows, solve_cones
from limitpoint.theory.solvers.margin.dual_simplex import dual_simplex
from limitpoint.theory.solvers.margin.margin_problem import MarginProblem, MarginSolution
from limitpoint.theory.solvers.margin.polish import polish

__all__ = ["solve_margins"]

# The tightest that HiGHS takes; its vertices are better than that by themselves.
HIGHS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
# Once polished, solutions are as good as rounding lets them be. If not, the solver is asked again,
# in a unit in which the first answer is 1, and for cones with other goals than Clarabel's 1e-8, at
# several times the cost; and for linear programs by a method without tolerances.
POLISHED = 1e-11
TIGHT = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}


def solve_margins(problem: MarginProblem) -> MarginSolution:
    """Minimise `Σ w_g‖ρ_g‖` subject to `Aρ ≥ b`; the rows must be separable.

    A linear program (HiGHS) for groups of one, Lawson and Hanson's least-distance programming for
    one group, second-order cones (Clarabel) for the rest. All of them are then polished by a
    semismooth Newton method, to the rounding of the data. Samples and groups are equilibrated.
    """
    less = problem.reduced()
    if less is not None:
        small, basis = less
        found = solve_margins(small)
        return replace(found, coordinates=basis @ found.coordinates)
    units = problem.equilibrated()
    return units.outside(_solve(units.problem))


def _solve(problem: MarginProblem) -> MarginSolution:
    """The same of an equilibrated problem, in units in which floors and weights are at most 1."""
    n, m = problem.rows.shape[1], len(problem.rows)
    found, least = MarginSolution(np.zeros(n), np.zeros(m), np.zeros(m), 0), np.inf
    unit, heaviest = 1.0 / float(problem.floors.max()), float(problem.weights.max())
    for goals in ({}, TIGHT):
        scaled = replace(problem, floors=unit * problem.floors, weights=problem.weights / heaviest)
        coordinates, multipliers = _first(scaled, goals)
        value = scaled.value(coordinates)
        if np.isfinite(value) and value > 0:
            unit, coordinates = unit / value, coordinates / value
            scaled = replace(scaled, floors=scaled.floors / value)
        polished, residual = polish(scaled, coordinates, multipliers)
        if residual < least:
            found, least = _in_units(polished, 1.0 / unit, heaviest), residual
        if least <= POLISHED:
            break
    return found


def _in_units(found: MarginSolution, length: float, weight: float) -> MarginSolution:
    return replace(
        found,
        coordinates=length * found.coordinates,
        multipliers=weight * found.multipliers,
        corrections=weight * found.corrections,
    )


def _first(problem: MarginProblem, goals: dict[str, float]) -> tuple[Float, Float]:
    """Coordinates and multipliers by a solver; with goals, by one that takes longer."""
    if (problem.sizes == 1).all():
        found = dual_simplex(problem) if goals else None
        return _linear_program(problem) if found is None else found
    return _least_distance(problem) if len(problem.sizes) == 1 else _cones(problem, goals)


def _linear_program(problem: MarginProblem) -> tuple[Float, Float]:
    """Coordinates as differences of two positive parts."""
    m, n = problem.rows.shape
    found = linprog(
        np.concatenate([problem.weights, problem.weights]),
        A_ub=np.hstack([-problem.rows, problem.rows]),
        b_ub=-problem.floors,
        method="highs",
        options=HIGHS,
    )
    if found.x is None:
        return np.zeros(n), np.zeros(m)
    return found.x[:n] - found.x[n:], np.maximum(-found.ineqlin.marginals, 0.0)


def _least_distance(problem: MarginProblem) -> tuple[Float, Float]:
    """`min ‖[Aᵀ; bᵀ]u − (0, 1)‖` over u ≥ 0; its residual has the direction of the solution.

    Lawson and Hanson (1974), chapter 23.
    """
    m, n = problem.rows.shape
    system = np.vstack([problem.rows.T, problem.floors])
    goal = np.append(np.zeros(n), 1.0)
    try:
        unscaled, _ = nnls(system, goal, maxiter=30 * (m + n))
    except RuntimeError:  # pragma: no cover - the bound on its iterations
        return np.zeros(n), np.zeros(m)
    residual = goal - system @ unscaled
    if residual[-1] <= 0:  # pragma: no cover - data that are not separable
        return np.zeros(n), np.zeros(m)
    coordinates = problem.rows.T @ unscaled / residual[-1]
    # These are the multipliers of ½‖ρ‖²; those of w‖ρ‖ differ by a factor.
    factor = float(problem.weights[0]) / float(np.linalg.norm(coordinates))
    return coordinates, factor * unscaled / residual[-1]


def _cones(problem: MarginProblem, goals: dict[str, float]) -> tuple[Float, Float]:
    """The dual: as many unknowns as samples; the multipliers of its cones are the coordinates."""
    m, n = problem.rows.shape
    groups = len(problem.sizes)
    # ‖(Aᵀμ)_g‖ ≤ w_g: the head of a cone is w_g, its body (Aᵀμ)_g.
    heads = np.arange(groups) + problem.starts
    offsets = np.zeros(groups + n)
    offsets[heads] = problem.weights
    norms = norm_rows(np.zeros((groups, m)), -problem.rows.T, problem.sizes)
    found = solve_cones(
        -problem.floors,
        [
            (-np.eye(m), np.zeros(m), [clarabel.NonnegativeConeT(m)]),
            (norms, offsets, [clarabel.SecondOrderConeT(1 + int(k)) for k in problem.sizes]),
        ],
        goals,
    )
    if found is None:
        return np.zeros(n), np.zeros(m)
    multipliers, of_cones = found[0], found[1][m:]
    # The multiplier of ‖u‖ ≤ w is (‖ρ‖, −ρ).
    return -np.delete(of_cones, heads), np.maximum(multipliers, 0.0)
