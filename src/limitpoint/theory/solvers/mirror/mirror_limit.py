"""The limits of any network with a mirror map, at any finite scales."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from limitpoint.errors import NetworkError
from limitpoint.foundation.arrays import Float
from limitpoint.foundation.linalg import EPS
from limitpoint.foundation.progress import job
from limitpoint.mirror import CurveMap, MirrorMap, as_curve, in_units
from limitpoint.problem import Problem
from limitpoint.tasks import Regression
from limitpoint.theory.atlas import Theorem
from limitpoint.theory.certificates.certificate import Certificate, status_of
from limitpoint.theory.certificates.constraint import Constraint
from limitpoint.theory.certificates.contribution_errors import contributions
from limitpoint.theory.certificates.mirror_certificate import certify_mirror_limits
from limitpoint.theory.certificates.row_space_projection import in_row_space
from limitpoint.theory.limit import Limit
from limitpoint.theory.solvers.equal_columns import Alike
from limitpoint.theory.solvers.mirror.curve_equations import Equations, Point
from limitpoint.theory.solvers.mirror.curve_newton import CurveSolution, solve_on_curves
from limitpoint.theory.solvers.mirror.dual_newton import DualSolution, solve_dual
from limitpoint.theory.solvers.mirror.extrapolation import POINTS_KEPT
from limitpoint.theory.solvers.mirror.polishing import error_of, polished
from limitpoint.theory.solvers.mirror.shifted_hessian import solve_graded

__all__ = ["mirror_limit", "mirror_limit_of", "mirror_path"]

# Coefficients of normal floats are held to all digits.
TINY = float(np.finfo(np.float64).tiny)
# A dual that leaves a row of the data missed by more, relative to what is added up there, is not
# good enough: a tenth of what a certificate tolerates.
POOR = 1e-10
# Each step takes the miss to rounding, unless bounds are in its way.
MAX_FITTING = 4
# In the last steps a coefficient moves by no more than this part of itself, or by so many times
# what rounding of its mirror coordinate does to it.
POLISHED = 1e-2
SAFETY = 100.0
# A row misses its target by rounding if it does so by this part of what is added up.
FITTED = 4 * EPS


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
    # mirror coordinates float64 cannot hold, and the problem itself is at the largest.
    _mirror_map(replace(problem, init=problem.init.at_scale(log_scale=min(log_scales))))
    solver = _Solver(problem.regression, mirror, theorem)
    together = mirror.across(np.array(log_scales))
    with job("limits", len(log_scales), unit="scales") as scales:
        if together is not None:
            found = []
            for here in mirror.at_log_scales(log_scales):
                found.append(solver.solve(here))
                scales.advance()
            return [*solver.limits(together, found)]
        limits: list[Limit | None] = []
        for here in mirror.at_log_scales(log_scales):
            same = np.array_equal(here.lower, mirror.lower)
            same = same and np.array_equal(here.upper, mirror.upper)
            limits += solver.limits(here, [solver.solve(here)]) if same else [None]
            scales.advance()
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
        self._constraint = Constraint.of(task.X * (mirror.lower < mirror.upper), task.y)
        self._alike = Alike.of(self._constraint.X, mirror)
        self._data = self._constraint.merged(self._alike.kept)
        self._curves: list[CurveSolution] = []
        self._duals: list[DualSolution] = []

    def solve(self, mirror: MirrorMap) -> CurveSolution | DualSolution:
        """By the method that suits the map, from the last solutions if there are some."""
        mirror = self._scaled(mirror)
        if isinstance(mirror, CurveMap):
            on_curves = solve_on_curves(mirror, self._data, self._curves)
            self._curves = _latest(self._curves, on_curves)
            return on_curves
        found = solve_dual(mirror, self._data, self._duals)
        if found.miss > POOR or _blur(mirror, self._data, found) > POOR:
            found = _by_curves(mirror, self._data, found)
        self._duals = _latest(self._duals, found)
        return found

    def _scaled(self, mirror: MirrorMap) -> MirrorMap:
        """In the units of the constraint, equal coefficients counted together."""
        units = self._constraint.units
        return in_units(mirror, units / self._alike.counts, units)

    def limits(
        self, mirror: MirrorMap, found: Sequence[CurveSolution | DualSolution]
    ) -> list[Limit]:
        """Solutions with all that a limit is made of; the map is at the scale of each row.

        Mirror coordinates that float64 cannot hold are infinite, and nothing is certified then.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return self._limits(mirror, found)

    def _limits(
        self, mirror: MirrorMap, found: Sequence[CurveSolution | DualSolution]
    ) -> list[Limit]:
        constraint, scaled = self._constraint, self._scaled(mirror)
        inner = _answers(scaled, found, self._data)
        answers, certificates = self._certified(mirror, inner)
        if isinstance(scaled, CurveMap) and not all(one.ok for one in certificates):
            others, theirs = self._certified(mirror, _by_the_active(scaled, inner, self._data))
            pairs = list(zip(certificates, theirs, strict=True))
            better = [one.worst < old.worst for old, one in pairs]
            answers = answers.where(better, others)
            certificates = [one if one.worst < old.worst else old for old, one in pairs]
        _check_ends(mirror, all(certificate.ok for certificate in certificates))
        return [
            Limit(
                coef=answers.coefs[k],
                signs=answers.signs[k],
                log_abs_coef=answers.logs[k],
                mirror=answers.mirror[k],
                dual=constraint.sample_dual(answers.duals[k]),
                theorem=self._theorem,
                # Q = βξ − Ψ̂ where ξ = Q'(β)
                potential=float(answers.coefs[k] @ answers.mirror[k] - answers.conjugates[k].sum()),
                certificate=certificate,
                status=status_of(certificate, constraint, answers.coefs[k]),
                iterations=found[k].iterations,
            )
            for k, certificate in enumerate(certificates)
        ]

    def _certified(
        self, mirror: MirrorMap, inner: "_Answers"
    ) -> tuple["_Answers", list[Certificate]]:
        """In the units of the data, with their certificates."""
        answers = inner.in_units(self._constraint.units, self._alike)
        # Equal columns are certified as one: symmetry divides what the fit determines.
        leaders, counts = self._alike.leaders, self._alike.counts
        together = in_units(mirror, 1.0 / counts, np.ones_like(counts))
        found = certify_mirror_limits(self._data, together, answers.coefs * counts, answers.mirror)
        return answers, [
            replace(
                one,
                coef_errors=None if one.coef_errors is None else one.coef_errors[leaders] / counts,
            )
            for one in found
        ]


def _check_ends(mirror: MirrorMap, certified: bool) -> None:
    """Refuse limits that may lie beyond what is known of the curves."""
    if certified or not isinstance(mirror, CurveMap) or not mirror.unknown:
        return
    raise NetworkError(
        "the limit cannot be found where the curves of the coefficients are known: "
        + "; ".join(mirror.unknown)
        + ". Use a k that is smooth there, a start that is farther from the eigenvectors of k's "
        "Hessian at zero, or a larger scale"
    )


def _blur(mirror: MirrorMap, data: Constraint, found: DualSolution) -> float:
    """What rounding of the mirror coordinates does to a coefficient, in what it contributes."""
    coefs, slopes = mirror.coefs_and_slopes(found.dual @ data.rows)
    rounding = EPS * (np.abs(found.dual) @ np.abs(data.rows))
    with np.errstate(all="ignore"):
        parts = contributions(data.X, data.fit, coefs * data.units) * data.units
        moved = np.where(data.seen & (rounding > 0), parts * slopes * rounding, 0.0)
    return float(np.nan_to_num(moved, nan=np.inf).max(initial=0.0))


def _by_curves(mirror: MirrorMap, data: Constraint, found: DualSolution) -> DualSolution:
    """The same along the curves, where mirror coordinates of very different sizes stay apart.

    By the last steps of that method alone if they are enough, else all the way from the start.
    """
    curve = as_curve(mirror)
    equations = Equations(curve, data)
    coefs, slopes = mirror.coefs_and_slopes(found.dual @ data.rows)
    if np.isfinite(coefs).all() and np.isfinite(slopes).all():
        rounding = EPS * slopes * (np.abs(found.dual) @ np.abs(data.rows))
        coefs = _fit(mirror, coefs, slopes, rounding, data)
        held = np.abs(coefs) >= TINY
        with np.errstate(all="ignore"):
            curve_params = curve.curve_params_of(coefs)
        curve_params = np.where(held, curve_params, curve.curve_params(found.dual @ data.rows))
        point = polished(Point(equations, curve_params, found.dual, equations.end, coefs=coefs))
        error = error_of(point)
        if error <= POOR:
            return replace(found, mirror=point.mirror, coefs=point.coefs, miss=error)
    again = solve_on_curves(curve, data, graded_only=True)
    iterations = found.iterations + again.iterations
    if not again.converged:
        return replace(found, iterations=iterations)
    return replace(
        found,
        dual=again.dual,
        mirror=again.mirror,
        coefs=again.coefs,
        iterations=iterations,
        converged=True,
    )


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
    """One row for each scale; first in the units of the constraint."""

    coefs: Float
    signs: Float
    logs: Float
    mirror: Float
    conjugates: Float
    duals: Float

    def where(self, better: list[bool], others: "_Answers") -> "_Answers":
        """These, with the rows of others that are better."""
        rows = np.array(better)[:, None]
        pairs = {
            one.name: (getattr(others, one.name), getattr(self, one.name)) for one in fields(self)
        }
        return _Answers(**{name: np.where(rows, *pair) for name, pair in pairs.items()})

    def in_units(self, units: Float, alike: Alike) -> "_Answers":
        """In the units of the data, each coefficient by itself."""
        leaders, counts = alike.leaders, alike.counts
        share = units / counts
        xi = self.mirror[:, leaders] / units
        return _Answers(
            coefs=self.coefs[:, leaders] * share,
            signs=self.signs[:, leaders],
            logs=self.logs[:, leaders] + np.log(share),
            mirror=xi,
            conjugates=self.conjugates[:, leaders] / counts,
            duals=self.duals,
        )


def _answers(
    mirror: MirrorMap, found: Sequence[CurveSolution | DualSolution], data: Constraint
) -> _Answers:
    duals = np.stack([solution.dual for solution in found])
    if isinstance(mirror, CurveMap):
        on_curves = [at for at in found if isinstance(at, CurveSolution)]
        return _on_curves(mirror, on_curves, duals, data)
    # From the dual of the constraint rather than as Xᵀν: no product with an ill-conditioned X.
    duals_only = [at for at in found if isinstance(at, DualSolution)]
    xi = np.stack([at.dual @ data.rows if at.mirror is None else at.mirror for at in duals_only])
    coefs, slopes, conjugates = mirror.evaluate(xi)
    given = [coefs[k] if at.coefs is None else at.coefs for k, at in enumerate(duals_only)]
    coefs = np.stack(given)
    signs, logs = mirror.signs_and_logs(xi)
    with np.errstate(all="ignore"):
        rounding = EPS * (slopes * np.abs(xi) + np.abs(mirror.start_coefs()))
    better = _fitted(mirror, coefs, slopes, np.nan_to_num(rounding), data)
    signs, logs = _of_those(better, np.abs(better) >= TINY, signs, logs)
    return _Answers(better, signs, logs, xi, conjugates, duals)


def _on_curves(
    mirror: CurveMap, found: Sequence[CurveSolution], duals: Float, data: Constraint
) -> _Answers:
    curve_params = np.stack([at.curve_params for at in found])
    coefs = np.stack([at.coefs for at in found])
    with np.errstate(all="ignore"):
        point = mirror.along(curve_params)
        slopes = np.nan_to_num(point.coef_rates / point.mirror_rates, posinf=0.0)
        rounding = np.nan_to_num(EPS * point.coef_rates * (1.0 + np.abs(curve_params)))
    coefs = _fitted(mirror, coefs, slopes, rounding, data)
    signs, logs = mirror.signs_and_logs_at(curve_params)
    # Where float64 holds the coefficient, which was polished, it has the last word.
    held = np.abs(coefs) >= TINY
    signs, logs = _of_those(coefs, held, signs, logs)
    return _Answers(
        coefs=coefs,
        signs=signs,
        logs=logs,
        mirror=mirror.mirror_unit * np.stack([at.mirror for at in found]),
        conjugates=mirror.conjugates_at(curve_params),
        duals=mirror.mirror_unit * duals,
    )


def _by_the_active(mirror: CurveMap, answers: _Answers, data: Constraint) -> _Answers:
    """The same, mirror coordinates of all from those of coefficients next to their poles.

    The fit determines these to all digits, and they their mirror coordinates. What rounding of the
    orthonormal rows did to the dual of a solution, and so to the others, is undone.
    """
    reached, _, slopes = mirror.mirror_potential_and_slopes(answers.coefs)
    with np.errstate(all="ignore"):
        held = np.isfinite(reached) & (np.abs(answers.coefs) >= TINY)
        sharp = held & (np.abs(answers.coefs) < slopes * np.abs(answers.mirror))
    given = np.where(sharp, reached, answers.mirror)
    with np.errstate(over="ignore"):
        sizes = np.where(sharp, np.abs(reached), np.abs(answers.mirror) / EPS)
    xi = np.stack(
        [
            data.units * in_row_space(data, one[None] / data.units, size / data.units)[0][0]
            for one, size in zip(given, sizes, strict=True)
        ]
    )
    with np.errstate(all="ignore"):
        moved = ~sharp & data.seen & np.isfinite(xi)
        coefs = np.where(moved, mirror.coefs(xi), answers.coefs)
        signs, logs = mirror.signs_and_logs(np.where(moved, xi, answers.mirror))
    good = moved & np.isfinite(coefs) & np.isfinite(logs)
    return replace(
        answers,
        coefs=np.where(good, coefs, answers.coefs),
        signs=np.where(good, signs, answers.signs),
        logs=np.where(good, logs, answers.logs),
        mirror=np.where(data.seen & np.isfinite(xi), xi, answers.mirror),
    )


def _of_those(
    coefs: Float, those: NDArray[np.bool_], signs: Float, logs: Float
) -> tuple[Float, Float]:
    """Signs and logarithms of those coefficients themselves, and of the others as given."""
    with np.errstate(divide="ignore"):
        own = np.log(np.abs(coefs))
    return np.where(those, np.sign(coefs), signs), np.where(those, own, logs)


def _fitted(
    mirror: MirrorMap, coefs: Float, slopes: Float, rounding: Float, data: Constraint
) -> Float:
    """The last steps of Newton's method, for the coefficients rather than for the dual.

    From a start far larger than the data a mirror coordinate holds its coefficient to rounding of
    the start only, `eps·Ψ'·|ξ|`; what the coefficients must add up to is known to all digits, row
    by row. One that would break its sign constraint for it stays as it is. Where the target is zero
    the start is the only size there is, and its rounding is nothing.
    """
    if not data.target.any():
        return coefs
    return np.stack(
        [_fit(mirror, coefs[k], slopes[k], rounding[k], data) for k in range(len(coefs))]
    )


def _fit(mirror: MirrorMap, coef: Float, slopes: Float, rounding: Float, data: Constraint) -> Float:
    """While the largest miss, relative to what is added up in its row, halves.

    A coefficient moves by a small part of itself, or by what rounding did to it: inactive ones
    must not be stirred for the rounding of the others.
    """
    allowed = np.maximum(POLISHED * np.abs(coef), SAFETY * rounding)
    missed, primal_residual = data.missed(coef), data.primal_residual(coef * data.units)
    for _ in range(MAX_FITTING):
        if missed <= FITTED:
            break
        with np.errstate(all="ignore"):
            _, step = solve_graded(data.rows, slopes, primal_residual, np.zeros_like(coef), 0.0)
            better = coef + step
            inside = (mirror.lower < better) & (better < mirror.upper) & (np.abs(step) <= allowed)
            better = np.where(inside, better, coef)
            left = data.missed(better)
        if not left < 0.5 * missed:
            return better if left < missed else coef
        coef, missed, primal_residual = better, left, data.primal_residual(better * data.units)
    return coef
