"""Polish a solution of the margin problem by a semismooth Newton method.

Unknown are the coordinates of the active groups and the multipliers of the active samples:

    A_E ρ = b,    w_g ρ_g/‖ρ_g‖ = (Aᵀμ)_g  for the active groups g.

A sample is active when its share `b_iμ_i` of the dual value exceeds the excess of its margin over
b_i, relative to b_i; a group when what its norm has exceeds what its dual lacks:
`‖ρ_g + (Aᵀμ)_g‖ > w_g`. Both come from writing the optimality conditions as fixed points of
projections, and need no threshold; they suit problems whose value is 1.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq

from limitpoint.arrays import Float
from limitpoint.theory.margin.problem import MarginProblem, MarginSolution

__all__ = ["polish"]

EPS = float(np.finfo(np.float64).eps)
# Newton doubles the digits at every step, from eight to sixteen in one or two; the rest is for
# changes of the active set, which are few from a solution as good as these.
MAX_STEPS = 20
# No better residual than this is looked for: a few roundings of numbers of order 1.
ROUNDING = 8 * EPS
# Steps without progress until it gives up.
PATIENCE = 3

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Point:
    """Coordinates and multipliers, with what the optimality conditions say of them."""

    problem: MarginProblem
    coordinates: Float
    multipliers: Float
    pulls: Float
    norms: Float
    excess: Float

    @classmethod
    def at(cls, problem: MarginProblem, coordinates: Float, multipliers: Float) -> "_Point":
        return cls(
            problem,
            coordinates,
            multipliers,
            pulls=problem.rows.T @ multipliers,
            norms=problem.norms(coordinates),
            excess=problem.rows @ coordinates - problem.floors,
        )

    def entered(self) -> "_Point":
        """With groups that are zero but should not be put where the projection puts them."""
        problem = self.problem
        outer = problem.norms(self.coordinates + self.pulls)
        enters = (outer > problem.weights) & (self.norms == 0)
        if not enters.any():
            return self
        share = np.where(enters, 1 - problem.weights / np.where(enters, outer, 1.0), 0.0)
        return _Point.at(
            problem,
            self.coordinates + share[problem.group_of] * self.pulls,
            self.multipliers,
        )

    def active(self) -> tuple[Mask, Mask]:
        """Masks of the active samples and of the active groups."""
        problem = self.problem
        floors = problem.floors
        samples = floors * self.multipliers > self.excess / floors
        outer = problem.norms(self.coordinates + self.pulls)
        return samples, (outer > problem.weights) & (self.norms > 0)

    def residual(self) -> float:
        """The largest violation of feasibility, dual feasibility and stationarity."""
        problem = self.problem
        group_of = problem.group_of
        along = self.norms[group_of] * self.pulls
        off = np.abs(along - problem.weights[group_of] * self.coordinates)
        return float(
            max(
                -self.excess.min(),
                -self.multipliers.min(),
                (problem.norms(self.pulls) / problem.weights - 1).max(),
                off.max() / float((problem.weights * self.norms).max() or 1.0),
                np.abs(self.multipliers * self.excess).sum()
                / (float(np.abs(self.multipliers).sum()) or 1.0),
            )
        )


def polish(
    problem: MarginProblem, coordinates: Float, multipliers: Float
) -> tuple[MarginSolution, float]:
    """The best of the points that Newton's method passes through, and what is wrong with it."""
    point = best = _Point.at(problem, coordinates, multipliers)
    least, since, steps = point.residual(), 0, 0
    while steps < MAX_STEPS and since < PATIENCE and least > ROUNDING:
        found = _step(point.entered())
        if found is None:
            break
        point, steps = found, steps + 1
        residual = point.residual()
        since += 1
        if residual < least:
            best, least, since = point, residual, 0
    return MarginSolution(best.coordinates, np.maximum(best.multipliers, 0.0), steps), least


def _step(point: _Point) -> _Point | None:
    """One Newton step on the active set of a point; of minimum norm where it is not unique."""
    problem = point.problem
    samples, groups = point.active()
    if not samples.any() or not groups.any():
        return None
    kept = groups[problem.group_of]
    rows = problem.rows[np.ix_(samples, kept)]
    norms = point.norms[problem.group_of][kept]
    weights = problem.weights[problem.group_of][kept]
    units = point.coordinates[kept] / norms
    same = problem.group_of[kept]
    curvature = (same[:, None] == same) * (
        (np.eye(len(same)) - np.outer(units, units)) * (weights / norms)[:, None]
    )
    e, s = rows.shape
    system = np.block([[-curvature, rows.T], [rows, np.zeros((e, e))]])
    goal = np.concatenate(
        [
            weights * units - rows.T @ point.multipliers[samples],
            problem.floors[samples] - rows @ point.coordinates[kept],
        ]
    )
    step, *_ = lstsq(system, goal, cond=EPS * max(system.shape), lapack_driver="gelsy")
    if not np.isfinite(step).all():
        return None
    coordinates = np.zeros_like(point.coordinates)
    multipliers = np.zeros_like(point.multipliers)
    coordinates[kept] = point.coordinates[kept] + step[:s]
    multipliers[samples] = point.multipliers[samples] + step[s:]
    return _Point.at(problem, coordinates, multipliers)
