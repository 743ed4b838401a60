"""The limit of any network with a mirror map, at any finite scale."""

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from limitpoint.arrays import Float
from limitpoint.mirror import CurveMap, MirrorMap
from limitpoint.problem import Problem
from limitpoint.status import Status
from limitpoint.tasks import Regression
from limitpoint.theory.atlas import Theorem
from limitpoint.theory.certificate import certify_mirror_limit, row_space
from limitpoint.theory.extrapolation import POINTS_KEPT
from limitpoint.theory.limit import Limit
from limitpoint.theory.newton import DualSolution, solve_dual
from limitpoint.theory.position_newton import CurveSolution, solve_on_curves
from limitpoint.theory.shifted_hessian import solve_shifted
from limitpoint.theory.whitening import Whitened, whiten

__all__ = ["WarmStart", "mirror_limit", "mirror_limit_of"]


class WarmStart:
    """What predictions for one problem at several scales can share.

    The table of the mirror map, the singular value decomposition of the data, and the solutions at
    the last few scales.
    """

    def __init__(self) -> None:
        self._mirror: MirrorMap | None = None
        self._data: Whitened | None = None
        self._basis: Float | None = None
        self._curves: list[CurveSolution] = []
        self._duals: list[DualSolution] = []

    def mirror_map(self, problem: Problem) -> MirrorMap:
        """The mirror map at the problem's scale."""
        if self._mirror is None:
            mirror = problem.network.mirror_map(problem.init)
            if mirror is None:
                raise TypeError(f"{problem.network} has no mirror map")
            self._mirror = mirror
        if self._mirror.log_scale != problem.init.log_scale:
            self._mirror = self._mirror.at_log_scale(problem.init.log_scale)
        return self._mirror

    def whiten(self, task: Regression, mirror: MirrorMap) -> Whitened:
        """The data, without the coefficients that can never move."""
        if self._data is None:
            movable = task.X * (mirror.lower < mirror.upper)
            data = whiten(movable, task.y)
            # A column of zeros leaves roundings in the rows, and the coefficient that stays at its
            # start there, however large, would make a misfit of them.
            self._data = replace(data, rows=data.rows * movable.any(axis=0))
        return self._data

    def row_space(self, task: Regression, mirror: MirrorMap) -> Float:
        """A basis of it, for the certificate."""
        if self._basis is None:
            self._basis = row_space(task.X * (mirror.lower < mirror.upper))
        return self._basis

    def solve_on_curves(self, mirror: CurveMap, data: Whitened) -> CurveSolution:
        """From the last solutions, if there are some."""
        found = solve_on_curves(mirror, data, self._curves)
        self._curves = _latest(self._curves, found)
        return found

    def solve_dual(self, mirror: MirrorMap, data: Whitened) -> DualSolution:
        """From the last solutions, if there are some."""
        found = solve_dual(mirror, data, self._duals)
        self._duals = _latest(self._duals, found)
        return found


Solution = TypeVar("Solution", CurveSolution, DualSolution)


def _latest(kept: list[Solution], found: Solution) -> list[Solution]:
    """The last few converged solutions at different scales."""
    if not found.converged:
        return []
    kept = [old for old in kept if old.log_scale != found.log_scale]
    kept.append(found)
    return kept[-POINTS_KEPT:]


def mirror_limit(problem: Problem, theorem: Theorem, warm: WarmStart | None = None) -> Limit:
    """`argmin Σ Q_i(β_i)` among the best fits, by Newton's method; exact."""
    warm = warm or WarmStart()
    return mirror_limit_of(problem.regression, warm.mirror_map(problem), theorem, warm)


def mirror_limit_of(
    task: Regression, mirror: MirrorMap, theorem: Theorem, warm: WarmStart | None = None
) -> Limit:
    """The same for a mirror map; a coefficient that can never move is left out of the fit."""
    warm = warm or WarmStart()
    data = warm.whiten(task, mirror)
    found = _solve(mirror, data, warm)
    certificate = certify_mirror_limit(
        task, mirror, found.coef, found.clocks, data.in_range, warm.row_space(task, mirror)
    )
    reached = Status.CONVERGED if data.in_range else Status.LEAST_SQUARES
    return Limit(
        coef=found.coef,
        signs=found.signs,
        log_abs_coef=found.logs,
        clocks=found.clocks,
        dual=data.sample_dual(found.dual),
        theorem=theorem,
        # Q = βξ − Ψ̂ where ξ = Q'(β)
        potential=float(found.coef @ found.clocks - found.conjugates.sum()),
        certificate=certificate,
        status=reached if certificate.ok else Status.NOT_CERTIFIED,
        iterations=found.iterations,
    )


@dataclass(frozen=True, eq=False)
class _Found:
    coef: Float
    signs: Float
    logs: Float
    clocks: Float
    conjugates: Float
    dual: Float
    iterations: int


def _solve(mirror: MirrorMap, data: Whitened, warm: WarmStart) -> _Found:
    """By the solver that suits the map."""
    if isinstance(mirror, CurveMap):
        at = warm.solve_on_curves(mirror, data)
        signs, logs = mirror.signs_and_logs_at(at.positions)
        # Where float64 holds the coefficient, which was polished, it has the last word.
        held = np.abs(at.coefs) >= np.finfo(np.float64).tiny
        with np.errstate(divide="ignore"):
            signs = np.where(held, np.sign(at.coefs), signs)
            logs = np.where(held, np.log(np.abs(at.coefs)), logs)
        return _Found(
            coef=at.coefs,
            signs=signs,
            logs=logs,
            clocks=mirror.clock_unit * at.clocks,
            conjugates=mirror.conjugates_at(at.positions),
            dual=mirror.clock_unit * at.dual,
            iterations=at.iterations,
        )
    solution = warm.solve_dual(mirror, data)
    # From the whitened dual rather than as Xᵀν: no product with an ill-conditioned X.
    clocks = solution.dual @ data.rows
    coef, slopes, conjugates = mirror.evaluate(clocks)
    signs, logs = mirror.signs_and_logs(clocks)
    better = _fitted(mirror, coef, slopes, data)
    changed = better != coef
    with np.errstate(divide="ignore"):
        signs = np.where(changed, np.sign(better), signs)
        logs = np.where(changed, np.log(np.abs(better)), logs)
    return _Found(better, signs, logs, clocks, conjugates, solution.dual, solution.iterations)


def _fitted(mirror: MirrorMap, coef: Float, slopes: Float, data: Whitened) -> Float:
    """The last step of Newton's method, for the coefficients rather than for the dual.

    From a start far larger than the data a clock holds its coefficient to rounding of the start
    only, `eps·Ψ'·|ξ|`; what the coefficients must add up to is known to all digits. One that would
    leave its half-line for it stays as it is. Where the target is zero the start is the only size
    there is, and its rounding is nothing.
    """
    if not data.target.any():
        return coef
    with np.errstate(all="ignore"):
        gap = data.target - data.rows @ coef
        toward = solve_shifted(data.rows, slopes, gap)
        if toward is None:
            return coef
        better = coef + slopes * (toward @ data.rows)
        better = np.where((mirror.lower < better) & (better < mirror.upper), better, coef)
        left = data.target - data.rows @ better
    return better if left @ left < gap @ gap else coef
