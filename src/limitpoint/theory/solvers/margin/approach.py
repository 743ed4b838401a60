"""How fast the direction of a two-layer flow approaches the solution of its margin problem."""

from dataclasses import replace

import clarabel
import numpy as np
from scipy.linalg import null_space

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.linalg import equilibrate
from limitpoint.theory.solvers.margin.certify.unique_margins import TIED, Face
from limitpoint.theory.solvers.margin.cone_program import norm_rows, solve_cones
from limitpoint.theory.solvers.margin.margin_problem import MarginProblem, MarginSolution

__all__ = ["approach"]


def approach(problem: MarginProblem, solution: MarginSolution) -> float:
    """The exponent r of a two-layer flow: its direction is off by about `margin^−r`.

    Three things decay. The support vectors' margins differ by O(1), which is margin^−1 of them. A
    group that is not active grows as `margin^share`, share = ‖(Aᵀμ)_g‖/w_g < 1. And the active
    groups turn: with `δ` what is left of their error, `dδ/d log margin = −PTPδ` in the metric
    `D = diag(‖ρ_g‖/w_g)`, T the projector across the groups' own directions and P that on
    the directions that change no support vector's margin (to first order; groups of one number
    cannot turn). Zero where groups tie: then the direction converges more slowly than any power.

    Where samples tie, the multipliers are not unique. What the inactive groups add to the tied
    margins then decides: they follow a margin problem of their own, on whose dual the flow ends,
    which is to make the largest inactive share as small as the multipliers allow.
    """
    face = Face.of(problem, solution)
    if face.tight.any() and not face.used.all():
        face = Face.of(problem, _least_shares(problem, solution, face))
    slowest = 1.0 - float(face.shares[~face.used].max(initial=0.0))
    kept = face.used[problem.group_of]
    same = problem.group_of[kept]
    metric = np.sqrt((face.norms / problem.weights)[same])
    free = _free(problem.rows[np.ix_(face.forced, kept)], metric)
    if free.shape[1] == 0:
        return float(np.clip(slowest, 0.0, 1.0))
    units = solution.coordinates[kept] / face.norms[same]
    starts = np.flatnonzero(np.diff(same, prepend=-1))
    radial = np.add.reduceat(units[:, None] * free, starts, axis=0)
    turning = 1.0 - float(np.linalg.norm(radial, 2)) ** 2
    return float(np.clip(min(slowest, turning), 0.0, 1.0))


def _free(rows: Float, metric: Float) -> Float:
    """Orthonormal columns, in the metric, that change no margin; rank is after equilibration."""
    by_row, by_column = equilibrate(rows)
    free = null_space(by_row[:, None] * rows * by_column, rcond=TIED)
    basis, _ = np.linalg.qr((by_column / metric)[:, None] * free)
    return np.asarray(basis)


def _least_shares(problem: MarginProblem, solution: MarginSolution, face: Face) -> MarginSolution:
    """The optimal multipliers with the smallest largest share of an inactive group."""
    samples = face.forced | face.tight
    # In units in which a multiplier of 1 alone makes some group's dual image as large as can be.
    units = (problem.row_norms / problem.weights).max(axis=1)[samples]
    rows = problem.rows[samples] / units[:, None]
    used = face.used[problem.group_of]
    m, sizes = len(rows), problem.sizes[~face.used]
    # The unknowns are the multipliers and, last, the largest share t: ‖(Aᵀμ)_g‖ ≤ t w_g.
    heads = np.zeros((len(sizes), m + 1))
    heads[:, -1] = -problem.weights[~face.used]
    norms = norm_rows(heads, np.pad(-rows[:, ~used].T, ((0, 0), (0, 1))), sizes)
    equal = np.pad(rows[:, used].T, ((0, 0), (0, 1)))
    found = solve_cones(
        np.append(np.zeros(m), 1.0),
        [
            (equal, face.dual_images[used], [clarabel.ZeroConeT(len(equal))]),
            (-np.eye(m, m + 1), np.zeros(m), [clarabel.NonnegativeConeT(m)]),
            (norms, np.zeros(len(norms)), [clarabel.SecondOrderConeT(1 + int(k)) for k in sizes]),
        ],
        {},
    )
    if found is None:  # pragma: no cover - feasible, by the multipliers at hand
        return solution
    chosen = np.zeros_like(solution.multipliers)
    chosen[samples] = np.maximum(found[0][:m], 0.0) / units
    return replace(solution, multipliers=chosen, corrections=np.zeros_like(chosen))
