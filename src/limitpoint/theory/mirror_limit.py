"""The limits of any network with a mirror map, at any finite scales."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from limitpoint.arrays import Float
from limitpoint.mirror import CurveMap, MirrorMap
from limitpoint.problem import Problem
from limitpoint.status import Status
from limitpoint.tasks import Regression
from limitpoint.theory.atlas import Theorem
from limitpoint.theory.certificate import certify_mirror_limits, row_space
from limitpoint.theory.extrapolation import POINTS_KEPT
from limitpoint.theory.limit import Limit
from limitpoint.theory.newton import DualSolution, solve_dual
from limitpoint.theory.position_newton import CurveSolution, solve_on_curves
from limitpoint.theory.shifted_hessian import solve_shifted
from limitpoint.theory.whitening import Whitened, whiten

__all__ = ["mirror_limit", "mirror_limit_of", "mirror_path"]


def mirror_limit(problem: Problem, theorem: Theorem) -> Limit:
    """`argmin Σ Q_i(β_i)` among the best fits, by Newton's method; exact."""
    return mirror_limit_of(problem.regression, _mirror_map(problem), theorem)


def mirror_limit_of(task: Regression, mirror: MirrorMap, theorem: Theorem) -> Limit:
    """The same for a mirror map; a coefficient that can never move is left out of the fit."""
    solver = _Solver(task, mirror, theorem)
    return solver.limits(mirror, [solver.solve(mirror)])[0]


def mirror_path(
    problem: Problem, theorem: Theorem, log_scales: Sequence[float]
) -> list[Limit | None]:
    """The limits at several scales, in this order, each solved from those before.

    What the answers are made of (logarithms, potentials, certificates) is computed for all scales
    at once, where the mirror map allows it: most of its cost for one scale is that of the calls.
    None for a scale at which the coefficients have other bounds than the problem's: the theorem may
    not hold there.
    """
    mirror = _mirror_map(problem)
    # A scale that a single prediction refuses is refused here too: the smallest is the first whose
    # clocks float64 cannot hold, and the problem itself is at the largest.
    _mirror_map(replace(problem, init=problem.init.at_scale(log_scale=min(log_scales))))
    solver = _Solver(problem.regression, mirror, theorem)
    together = mirror.across(np.array(log_scales))
    if together is not None:
        found = [solver.solve(here) for here in mirror.at_log_scales(log_scales)]
        return [*solver.limits(together, found)]
    limits: list[Limit | None] = []
    for here in mirror.at_log_scales(log_scales):
        same = np.array_equal(here.lower, mirror.lower) and np.array_equal(here.upper, mirror.upper)
        limits += solver.limits(here, [solver.solve(here)]) if same else [None]
    return limits


def _mirror_map(problem: Problem) -> MirrorMap:
    mirror = problem.network.mirror_map(problem.init)
    if mirror is None:
        raise TypeError(f"{problem.network} has no mirror map")
    return mirror


class _Solver:
    """What the limits of one problem share: its data, their row space, the last few solutions."""

    def __init__(self, task: Regression, mirror: MirrorMap, theorem: Theorem) -> None:
        self._task, self._theorem = task, theorem
        movable = task.X * (mirror.lower < mirror.upper)
        data = whiten(movable, task.y)
        # A column of zeros leaves roundings in the rows, and the coefficient that stays at its
        # start there, however large, would make a misfit of them.
        self._data = replace(data, rows=data.rows * movable.any(axis=0))
        self._basis = row_space(movable)
        self._curves: list[CurveSolution] = []
        self._duals: list[DualSolution] = []

    def solve(self, mirror: MirrorMap) -> CurveSolution | DualSolution:
        """By the method that suits the map, from the last solutions if there are some."""
        if isinstance(mirror, CurveMap):
            on_curves = solve_on_curves(mirror, self._data, self._curves)
            self._curves = _latest(self._curves, on_curves)
            return on_curves
        found = solve_dual(mirror, self._data, self._duals)
        self._duals = _latest(self._duals, found)
        return found

    def limits(
        self, mirror: MirrorMap, found: Sequence[CurveSolution | DualSolution]
    ) -> list[Limit]:
        """Solutions with all that a limit is made of; the map is at the scale of each row."""
        answers = _answers(mirror, found, self._data)
        data = self._data
        certificates = certify_mirror_limits(
            self._task, mirror, answers.coefs, answers.clocks, data.in_range, self._basis
        )
        reached = Status.CONVERGED if data.in_range else Status.LEAST_SQUARES
        return [
            Limit(
                coef=answers.coefs[k],
                signs=answers.signs[k],
                log_abs_coef=answers.logs[k],
                clocks=answers.clocks[k],
                dual=data.sample_dual(answers.duals[k]),
                theorem=self._theorem,
                # Q = βξ − Ψ̂ where ξ = Q'(β)
                potential=float(answers.coefs[k] @ answers.clocks[k] - answers.conjugates[k].sum()),
                certificate=certificate,
                status=reached if certificate.ok else Status.NOT_CERTIFIED,
                iterations=found[k].iterations,
            )
            for k, certificate in enumerate(certificates)
        ]


Solution = TypeVar("Solution", CurveSolution, DualSolution)


def _latest(kept: list[Solution], found: Solution) -> list[Solution]:
    """The last few converged solutions at different scales."""
    if not found.converged:
        return []
    kept = [old for old in kept if old.log_scale != found.log_scale]
    kept.append(found)
    return kept[-POINTS_KEPT:]


@dataclass(frozen=True, eq=False)
class _Answers:
    """One row for each scale."""

    coefs: Float
    signs: Float
    logs: Float
    clocks: Float
    conjugates: Float
    duals: Float


def _answers(
    mirror: MirrorMap, found: Sequence[CurveSolution | DualSolution], data: Whitened
) -> _Answers:
    duals = np.stack([solution.dual for solution in found])
    if isinstance(mirror, CurveMap):
        return _on_curves(mirror, [at for at in found if isinstance(at, CurveSolution)], duals)
    # From the whitened dual rather than as Xᵀν: no product with an ill-conditioned X.
    clocks = duals @ data.rows
    coefs, slopes, conjugates = mirror.evaluate(clocks)
    signs, logs = mirror.signs_and_logs(clocks)
    better = _fitted(mirror, coefs, slopes, data)
    signs, logs = _of_those(better, better != coefs, signs, logs)
    return _Answers(better, signs, logs, clocks, conjugates, duals)


def _on_curves(mirror: CurveMap, found: Sequence[CurveSolution], duals: Float) -> _Answers:
    positions = np.stack([at.positions for at in found])
    coefs = np.stack([at.coefs for at in found])
    signs, logs = mirror.signs_and_logs_at(positions)
    # Where float64 holds the coefficient, which was polished, it has the last word.
    held = np.abs(coefs) >= np.finfo(np.float64).tiny
    signs, logs = _of_those(coefs, held, signs, logs)
    return _Answers(
        coefs=coefs,
        signs=signs,
        logs=logs,
        clocks=mirror.clock_unit * np.stack([at.clocks for at in found]),
        conjugates=mirror.conjugates_at(positions),
        duals=mirror.clock_unit * duals,
    )


def _of_those(
    coefs: Float, those: NDArray[np.bool_], signs: Float, logs: Float
) -> tuple[Float, Float]:
    """Signs and logarithms of those coefficients themselves, and of the others as given."""
    with np.errstate(divide="ignore"):
        own = np.log(np.abs(coefs))
    return np.where(those, np.sign(coefs), signs), np.where(those, own, logs)


def _fitted(mirror: MirrorMap, coefs: Float, slopes: Float, data: Whitened) -> Float:
    """The last step of Newton's method, for the coefficients rather than for the dual.

    From a start far larger than the data a clock holds its coefficient to rounding of the start
    only, `eps·Ψ'·|ξ|`; what the coefficients must add up to is known to all digits. One that would
    leave its half-line for it stays as it is. Where the target is zero the start is the only size
    there is, and its rounding is nothing.
    """
    if not data.target.any():
        return coefs
    with np.errstate(all="ignore"):
        gaps = data.target - coefs @ data.rows.T
        steps = np.zeros_like(coefs)
        for k, gap in enumerate(gaps):
            toward = solve_shifted(data.rows, slopes[k], gap)
            if toward is not None:
                steps[k] = slopes[k] * (toward @ data.rows)
        better = coefs + steps
        better = np.where((mirror.lower < better) & (better < mirror.upper), better, coefs)
        left = data.target - better @ data.rows.T
        improved = (left * left).sum(axis=1) < (gaps * gaps).sum(axis=1)
    return np.where(improved[:, None], better, coefs)
