"""Polish a solution of the margin problem by a semismooth Newton method.

Unknown are the coordinates of the active groups and the multipliers of the active samples:

    A_E ρ = b,    w_g ρ_g/‖ρ_g‖ = (Aᵀμ)_g  for the active groups g.

A sample is active when the share that it has in some dual image exceeds the excess of its margin; a
group when the share that it has in some margin exceeds what its dual lacks of w_g. All four are
relative to what is added up there, so that the choice needs no threshold and does not notice units.
The problem is an equilibrated one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.linalg import EPS
from limitpoint.theory.solvers.margin.derivative import Derivative
from limitpoint.theory.solvers.margin.margin_problem import MarginProblem, MarginSolution
from limitpoint.theory.solvers.margin.sums_of_products import sums_of_products, two_sum

__all__ = ["polish"]

# Newton doubles the digits at every step, from eight to sixteen in one or two; the rest is for
# changes of the active set, which are few from a solution as good as these.
MAX_STEPS = 20
# No better residual than this is looked for: a few roundings of numbers of order 1.
ROUNDING = 8 * EPS
# Steps without progress until it gives up.
PATIENCE = 3
# Steps on the multipliers beyond float64: each gains what a solution in float64 is good for.
REFINEMENTS = 3

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Point:
    """Coordinates and multipliers, with what the optimality conditions say of them."""

    problem: MarginProblem
    coordinates: Float
    multipliers: Float
    dual_images: Float
    norms: Float
    excess: Float  # of the margins over the floors
    slack: Float  # of the duals below the weights
    forces: Float  # shares of the samples in the dual images, with the signs of the multipliers
    shares: Float  # of the groups in the margins

    @classmethod
    def at(cls, problem: MarginProblem, coordinates: Float, multipliers: Float) -> "_Point":
        dual_images = problem.rows.T @ multipliers
        sizes = problem.dual_sizes(multipliers)
        return cls(
            problem,
            coordinates,
            multipliers,
            dual_images=dual_images,
            norms=problem.norms(coordinates),
            excess=problem.excess(coordinates),
            slack=(problem.weights - problem.norms(dual_images)) / sizes,
            forces=np.sign(multipliers) * problem.forces(multipliers),
            shares=problem.contributions(coordinates),
        )

    def entered(self) -> "_Point":
        """With groups that are zero but should not be given the share that their dual is above."""
        problem = self.problem
        enters = (self.slack < 0) & (self.norms == 0)
        if not enters.any():
            return self
        reach = problem.row_norms / problem.margin_sizes(self.coordinates)[:, None]
        lengths = problem.norms(self.dual_images) * reach.max(axis=0)
        sizes = np.where(enters, -self.slack / np.where(enters, lengths, 1.0), 0.0)
        coordinates = self.coordinates + sizes[problem.group_of] * self.dual_images
        return _Point.at(problem, coordinates, self.multipliers)

    def active(self) -> tuple[Mask, Mask]:
        """Masks of the active samples and of the active groups."""
        # What points against its dual image is rounding of what should be zero, or soon enters
        # again.
        along = np.add.reduceat(self.coordinates * self.dual_images, self.problem.starts)
        blur = ROUNDING * self.norms * self.problem.dual_sizes(self.multipliers)
        groups = (self.shares > self.slack) & (self.norms > 0) & (along >= -blur)
        return self.forces > self.excess, groups

    def residual(self) -> float:
        """The largest violation of any condition, relative to what is added up in it.

        A group has no direction to be judged by where its share in the margins is less than that.
        """
        problem = self.problem
        off = self.norms[problem.group_of] * self.dual_images
        off = problem.norms(off - problem.weights[problem.group_of] * self.coordinates)
        sizes = self.norms * problem.dual_sizes(self.multipliers)
        used = sizes > 0
        return float(
            max(
                -self.excess.min(),
                -self.forces.min(),
                -self.slack.min(),
                np.minimum(self.shares[used], off[used] / sizes[used]).max(initial=0.0),
                np.minimum(self.forces, self.excess).max(),
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
    multipliers, corrections = _refined(best)
    return MarginSolution(best.coordinates, multipliers, corrections, steps), least


@dataclass(frozen=True, eq=False)
class _System:
    """Newton's equations on an active set; solved with least norm."""

    kept: Mask
    derivative: Derivative

    @classmethod
    def of(cls, point: _Point, samples: Mask, groups: Mask) -> "_System":
        problem = point.problem
        kept = groups[problem.group_of]
        same = problem.group_of[kept]
        stiffness = problem.weights[same] / point.norms[same]
        gains = problem.rows[np.ix_(samples, kept)].T
        radial = point.coordinates[kept] / point.norms[same]
        return cls(kept, Derivative.of(radial, stiffness, same, gains))

    def solve(self, dual: Float, primal: Float) -> tuple[Float, Float] | None:
        """Steps of the coordinates kept and of the multipliers of the samples."""
        found = self.derivative
        goal = found.by_row * np.concatenate([dual, primal])
        step, *_ = lstsq(found.matrix, goal, cond=found.cut, lapack_driver="gelsy")
        if not np.isfinite(step).all():
            return None
        step = found.by_column * step
        return step[: len(dual)], step[len(dual) :]


def _step(point: _Point) -> _Point | None:
    """One Newton step on the active set of a point; of minimum norm where it is not unique."""
    problem = point.problem
    samples, groups = point.active()
    if not samples.any() or not groups.any():
        return None
    system = _System.of(point, samples, groups)
    kept, same = system.kept, problem.group_of[system.kept]
    wanted = problem.weights[same] * (point.coordinates[kept] / point.norms[same])
    found = system.solve(
        wanted - problem.rows[np.ix_(samples, kept)].T @ point.multipliers[samples],
        problem.floors[samples] - problem.rows[np.ix_(samples, kept)] @ point.coordinates[kept],
    )
    if found is None:
        return None
    coordinates = np.zeros_like(point.coordinates)
    multipliers = np.zeros_like(point.multipliers)
    coordinates[kept] = point.coordinates[kept] + found[0]
    multipliers[samples] = point.multipliers[samples] + found[1]
    return _Point.at(problem, coordinates, multipliers)


def _refined(point: _Point) -> tuple[Float, Float]:
    """The multipliers and what float64 has rounded off them.

    They solve `(Aᵀμ)_g = w_g ρ_g/‖ρ_g‖` on groups that are more than rounding, whose residual is
    computed as if in twice the precision: it is relative to w_g then, and not to multipliers that
    cancel there. Left alone where that would be more than rounding (ties, of dependent groups).
    """
    problem = point.problem
    multipliers = np.maximum(point.multipliers, 0.0)
    nothing = np.zeros_like(multipliers)
    samples, groups = multipliers > 0, point.active()[1] & (point.shares > ROUNDING)
    if not samples.any() or not groups.any():
        return multipliers, nothing
    system = _System.of(point, samples, groups)
    kept = system.kept
    same = problem.group_of[kept]
    rows = problem.rows[np.ix_(samples, kept)]
    wanted = problem.weights[same] * (point.coordinates[kept] / point.norms[same])
    refined, corrections = multipliers.copy(), nothing.copy()
    high, low, least = multipliers[samples], nothing[samples], np.inf
    for _ in range(REFINEMENTS):
        off = -sums_of_products(rows, high, low, wanted)
        worst = float((np.abs(off) / problem.weights[same]).max())
        if worst >= least:
            break
        least, refined[samples], corrections[samples] = worst, high, low
        found = system.solve(off, np.zeros(len(rows)))
        if found is None:
            break
        high, low = two_sum(high, low + found[1])
    negative = refined < 0
    refined[negative] = corrections[negative] = 0.0
    again = _Point.at(problem, point.coordinates, refined)
    if again.residual() > 2 * max(point.residual(), ROUNDING):
        return multipliers, nothing
    return refined, corrections
