"""The run that shares nothing with the prediction, or the chain of evidence in its place.

The parameters themselves are integrated at the problem's own scale where float64 holds them there.
Where it does not, the evidence is a chain: at the nearest scale that is held, the parameters'
flow ends at the prediction for that scale, and the flow in logarithmic coordinates ends where
theirs does; at the problem's own scale the flow in logarithmic coordinates ends at the prediction.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from limitpoint.dynamics import LogCoordinates, ParameterSpace, Trajectory
from limitpoint.dynamics.coordinates import RTOL
from limitpoint.errors import LimitpointError, ScaleNotRepresentable
from limitpoint.foundation.arrays import Float
from limitpoint.foundation.linalg import EPS, Equilibrated
from limitpoint.networks import Diagonal, General
from limitpoint.problem import Problem
from limitpoint.status import Status
from limitpoint.theory import Limit, Reduction, reduction_of
from limitpoint.verify import engines
from limitpoint.verify.checks.conserved import drift_check
from limitpoint.verify.checks.layers import layer_checks
from limitpoint.verify.checks.reduced_flows import end_within, strayed_from, within_the_form
from limitpoint.verify.representable_scales import KEPT, StartErrors, at_log_scale
from limitpoint.verify.sensitivity import ACCUMULATION, SAFETY, Sensitivity, sensitivity_of
from limitpoint.verify.verdict import Check, arrival_check

__all__ = ["Evidence", "flow_checks", "independent_evidence"]

# A prediction that is off by a per cent must fail: a tolerance above a quarter of that does not
# tell, and a run whose own errors need one is not held.
DECISIVE = 2.5e-3
# The independent run may take so many steps, some five seconds of forty coefficients; a run that
# would need more is made at a scale nearer to one.
MOST_STEPS = 20_000
# Scales are looked at a factor of ten apart, and so many of them tried by a run.
FACTOR = float(np.log(10.0))
MOST_RUNS = 3
# Float64 holds numbers between exp of minus this and of this.
LARGEST_LOG = 307 * FACTOR


@dataclass(frozen=True, eq=False)
class Evidence:
    """Checks of the independent run, or of the chain, and what there is besides.

    Attributes
    ----------
    own
        The independent run at the problem's own scale, if there is one.
    """

    checks: list[Check]
    flows: list[Trajectory]
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    own: Trajectory | None = None


@dataclass(frozen=True, eq=False)
class _Attempt:
    """An independent run at some scale, and how far from its prediction it may end.

    Attributes
    ----------
    tolerance
        Of the distance.
    why_not
        Why it decides nothing; empty where it does.
    """

    problem: Problem
    limit: Limit
    scales: Sensitivity
    reduction: Reduction | None
    run: Trajectory
    accumulated: float
    tolerance: float
    moved: Float | None
    why_not: str = field(default="")

    def drift(self, name: str) -> Check | None:
        """What the flow should keep, where the network has such."""
        reason = f"{ACCUMULATION:g} rtol (1 + longest growth)"
        return drift_check(
            f"{name}: invariant drift", self.problem.network, self.run, self.accumulated, reason
        )

    @property
    def tells(self) -> bool:
        """Whether it decides, or contradicts itself.

        By a drift that no integration explains, or an end that misses the data which it claims to
        fit.
        """
        kept = self.drift("")
        own = [self.arrival(""), *([] if kept is None else [kept])]
        return not self.why_not or any(check.compares and not check.passed for check in own)

    def arrival(self, name: str) -> Check:
        """Whether it fits the data as well as can be."""
        tolerance = ParameterSpace().residual_tolerance
        return flow_checks(name, self.run, self.scales, tolerance, self.tolerance)[0]

    def checks(self, name: str) -> list[Check]:
        """All that is compared of it."""
        checks = flow_checks(
            name, self.run, self.scales, ParameterSpace().residual_tolerance, self.tolerance
        )
        kept = self.drift(name)
        return [
            *checks,
            *([] if kept is None else [kept]),
            *layer_checks(
                name,
                self.problem,
                self.limit,
                self.run,
                self.scales,
                self.accumulated,
                self.reduction,
                self.moved,
            ),
        ]


def independent_evidence(problem: Problem, limit: Limit, scales: Sensitivity) -> Evidence:
    """A run of the parameters themselves at the problem's own scale, or the chain."""
    hidden = _why_samples_hide(problem)
    if hidden:
        return Evidence([], [], missing=(_nothing_compared(hidden),))
    reduction = _reduction(problem)
    errors = StartErrors.of(problem, reduction)
    if errors is None:
        attempt = _attempt(problem, limit, scales, None, None)
        return _direct(attempt)
    why = _why_not_held(errors, reduction, scales)
    # Without logarithms there is no chain, and the run itself must show whether it was held.
    has_failed = not why or not _has_logs(problem, reduction)
    if has_failed:
        try:
            attempt = _attempt(problem, limit, scales, reduction, errors)
        except ScaleNotRepresentable as error:
            why = str(error)
        else:
            if attempt.tells:
                return _direct(attempt)
            why = attempt.why_not
    return _chain(problem, limit, scales, reduction, errors, why, has_failed)


def flow_checks(
    name: str, run: Trajectory, scales: Sensitivity, residual_tolerance: float, tolerance: float
) -> list[Check]:
    """Whether a flow arrived, and how far from the prediction."""
    return [
        arrival_check(
            f"{name}: relative residual",
            run,
            # By the coefficients too: the tolerance of the distance takes their relative residual
            # for granted.
            max(run.relative_residual, scales.relative_residual(run.coef)),
            SAFETY * max(residual_tolerance, scales.rounding_residual()),
            "stopping rule of the flow",
        ),
        Check(
            f"{name}: distance",
            scales.distance(run.coef),
            tolerance,
            "(relative residual + accuracy) × sensitivity",
            # A run that ends where it was told to is compared there.
            run.status not in (Status.STEP_LIMIT, Status.INTEGRATOR_FAILED),
        ),
    ]


def _direct(attempt: _Attempt) -> Evidence:
    missing = () if not attempt.why_not else (_nothing_compared(attempt.why_not),)
    return Evidence(
        attempt.checks("parameter flow"), [attempt.run], missing=missing, own=attempt.run
    )


def _nothing_compared(why: str) -> str:
    return f"No run of the parameters themselves could be compared with the prediction: {why}."


def _reduction(problem: Problem) -> Reduction | None:
    """The diagonal network within, of a network that has no mirror map of its own."""
    if problem.network.mirror_map(problem.init) is not None:
        return None
    return reduction_of(problem)


def _within(scales: Sensitivity) -> Float:
    """The coefficients, or products, that have curves of their own."""
    return scales.within.limit.coef


def _outer_norm(reduction: Reduction | None, moved: Float) -> float:
    """Of errors of the products, in the coefficients."""
    if reduction is None:
        return float(np.linalg.norm(moved))
    moduli = np.abs(reduction.form.outer_coefs(np.eye(len(moved))))
    return float(np.linalg.norm(moved @ moduli))


def _why_samples_hide(problem: Problem) -> str:
    """Why the gradient of the loss does not show all samples; empty where it does.

    Samples in units so different that a small one's part of the gradient, which is quadratic in its
    size, is below the rounding of the others': no scale of the start changes that. Columns may be
    in any units, since each has its own part of the gradient.
    """
    X = problem.task.X
    data = Equilibrated.of(X)
    values = np.linalg.svd(X * data.column_scales, compute_uv=False)
    share = float(values[data.rank - 1] / values[0]) ** 2 if data.rank else 1.0
    if share * DECISIVE >= EPS:
        return ""
    return (
        "samples differ so much in size that rounding of the gradient of some, "
        f"{1 / share if share else np.inf:.0e} times that of others, hides the others'"
    )


def _why_not_held(errors: StartErrors, reduction: Reduction | None, scales: Sensitivity) -> str:
    """Why float64 does not hold the parameters at this scale; empty where it does, it seems."""
    coef = _within(scales)
    if not errors.is_representable(coef):
        return "float64 does not hold what decays while the rest grows"
    moved = errors.moves(coef, _accumulated(scales), errors.kept_drifts(coef))
    off = _outer_norm(reduction, moved) / scales.size
    if not SAFETY * off <= DECISIVE:
        return (
            "float64 loses what the flow conserves beside layers that grow, which may move the "
            + (f"limit by {off:.1g} of itself" if off < 1 else "limit by more than itself")
        )
    return ""


def _attempt(
    problem: Problem,
    limit: Limit,
    scales: Sensitivity,
    reduction: Reduction | None,
    errors: StartErrors | None,
) -> _Attempt:
    """Integrate the parameters themselves, and ask what the result is worth."""
    space = ParameterSpace(max_steps=MOST_STEPS)
    until = end_within(reduction, scales)
    if until is None:
        run = engines.flow(problem, space=space)
    else:
        reached = engines.flow(problem, t_end=until, space=space)
        run = replace(reached, relative_residual=scales.relative_residual(reached.coef))
    accumulated = _accumulated(scales)
    tolerance, moved, lost = scales.tolerance(run.coef, accumulated), None, False
    if errors is not None:
        drifts = _drifts(reduction, problem, run)
        moved = errors.moves(_within(scales), accumulated, drifts)
        lost = not errors.is_first_order(_within(scales), drifts)
        tolerance += SAFETY * _outer_norm(reduction, moved) / scales.size
    return _Attempt(
        problem,
        limit,
        scales,
        reduction,
        run,
        accumulated,
        tolerance,
        moved,
        _why_undecided(run, tolerance, strayed_from(reduction, run, accumulated), lost, until),
    )


def _accumulated(scales: Sensitivity) -> float:
    """The relative error that parameters, or the logarithms of their growth, collect in a flow.

    Local errors are relative to them, and a growth takes steps in proportion to its length.
    """
    return ACCUMULATION * RTOL * (1.0 + scales.longest_growth)


def _why_undecided(
    run: Trajectory, tolerance: float, strayed: bool, lost: bool, until: float | None
) -> str:
    if strayed:
        return (
            "rounding takes them out of the diagonal form of this network, where it is unstable, "
            "so that another network is trained"
        )
    if not run.status.ok and until is None:
        return f"their flow did not arrive ({run.status.name.lower().replace('_', ' ')})"
    if lost:
        return "float64 lost what the flow conserves of a coefficient that had grown and come back"
    if not tolerance <= DECISIVE:
        return f"the errors of their flow may move its end by {tolerance:.1g} of itself"
    return ""


def _drifts(reduction: Reduction | None, problem: Problem, run: Trajectory) -> Float | float:
    """How far the conserved differences of squares of every coefficient have drifted in a run."""
    layers = run.layers
    if layers is None or not np.isfinite(run.coef).all():
        return np.inf
    network = problem.network
    if reduction is not None:
        inner = [reduction.form.inner_layers([each[t] for each in layers]) for t in _some(run)]
        layers = tuple(np.stack(each) for each in zip(*inner, strict=True))
        network = reduction.diagonal.network
    if isinstance(network, General):
        # Nothing is known to be conserved; so much is lost beside what a block has grown to.
        squares: Float = KEPT * (layers[0] ** 2).sum(axis=-1).max(axis=0)
        return squares
    if not isinstance(network, Diagonal):
        return 0.0  # relative errors of their own are all that there is
    values = network.invariants(layers)
    drifts: Float = np.abs(values - values[:, :1]).max(axis=(0, 1))
    return drifts


def _some(run: Trajectory) -> range:
    return range(len(run.times))


def _has_logs(problem: Problem, reduction: Reduction | None) -> bool:
    """Whether there are logarithmic coordinates, of the diagonal network within if there is one."""
    within = problem if reduction is None else reduction.diagonal
    return within.network.log_chart(within.init) is not None


def _log_flow(problem: Problem, reduction: Reduction | None) -> Trajectory:
    """In logarithmic coordinates, of the diagonal network within where there is one."""
    if reduction is None:
        return engines.flow(problem, space=LogCoordinates())
    return within_the_form(reduction, LogCoordinates())


def _log_tolerance(scales: Sensitivity, run: Trajectory) -> tuple[float, float]:
    """Accuracy of a flow in logarithmic coordinates, and the distance that it explains."""
    accumulated = _accumulated(scales)
    return accumulated, scales.tolerance(run.coef, accumulated)


def _chain(
    problem: Problem,
    limit: Limit,
    scales: Sensitivity,
    reduction: Reduction | None,
    errors: StartErrors,
    why: str,
    has_failed: bool,
) -> Evidence:
    """Independent run and logarithms at the nearest scale that is held, logarithms here."""
    if not _has_logs(problem, reduction):
        return Evidence([], [], missing=(_nothing_compared(why),))
    here = _log_flow(problem, reduction)
    accumulated, tolerance = _log_tolerance(scales, here)
    checks = flow_checks(
        "logarithmic flow", here, scales, LogCoordinates().residual_tolerance, tolerance
    )
    checks += layer_checks("logarithmic flow", problem, limit, here, scales, accumulated, reduction)
    own = scale_in_words(problem)
    attempt = _nearest_held(problem, errors, has_failed)
    if attempt is None:
        lost = (
            f"At scale {own}, and at every scale nearer to one that was tried, no run of the "
            f"parameters themselves can be compared with the prediction: {why}."
        )
        return Evidence(checks, [here], missing=(lost,))
    there = scale_in_words(attempt.problem)
    name = f"parameter flow at scale {there}"
    beside = _log_flow(attempt.problem, attempt.reduction)
    apart = float(np.linalg.norm(beside.coef - attempt.run.coef)) / attempt.scales.size
    checks += attempt.checks(name)
    checks.append(
        Check(
            f"logarithmic flow at scale {there}: distance from the parameter flow",
            apart,
            # Both stop at the same relative residual.
            attempt.tolerance + _log_tolerance(attempt.scales, attempt.run)[1],
            "both (relative residual + accuracy) × sensitivity",
        )
    )
    note = (
        f"The parameters themselves were integrated at scale {there}, not at {own}: {why}. They "
        "were compared there with the prediction for that scale and with the flow in logarithmic "
        f"coordinates; at scale {own} these alone were run."
    )
    return Evidence(checks, [here, attempt.run, beside], (note,))


def _nearest_held(problem: Problem, errors: StartErrors, has_failed: bool) -> _Attempt | None:
    """An independent run at the nearest scale, towards one, at which it decides.

    Scales that cannot be held are passed over by factors of ten. A run that was made and decides
    nothing would not do much better ten times nearer: then half of the logarithm is left.
    """
    sign = np.sign(problem.init.log_scale)
    left = min(abs(problem.init.log_scale), LARGEST_LOG)
    size, runs = np.full(1, problem.regression.fit_size), 0
    while left > 0 and runs < MOST_RUNS:
        left = left / 2 if has_failed else max(left - FACTOR, 0.0)
        has_failed = False
        log_scale = float(sign * (left if left > FACTOR / 2 else 0.0))
        if not errors.at_log_scale(log_scale).is_representable(size):
            continue
        found = _at_scale(at_log_scale(problem, log_scale))
        if found is None:
            continue
        runs, has_failed = runs + 1, True
        try:
            attempt = _attempt(*found)
        except ScaleNotRepresentable:
            continue
        if attempt.tells:
            return attempt
    return None


def _at_scale(
    problem: Problem,
) -> tuple[Problem, Limit, Sensitivity, Reduction | None, StartErrors] | None:
    """Prediction and sensitivities at another scale, where the parameters are held, it seems."""
    try:
        limit = engines.predict(problem)
        scales = sensitivity_of(problem, limit)
    except LimitpointError:
        return None
    reduction = _reduction(problem)
    errors = StartErrors.of(problem, reduction)
    if errors is None or not limit.status.ok or _why_not_held(errors, reduction, scales):
        return None
    return problem, limit, scales, reduction, errors


def scale_in_words(problem: Problem) -> str:
    """As a number, or as a power of ten where float64 cannot hold it."""
    scale = problem.init.scale
    if 0 < scale < np.inf:
        return f"{scale:.3g}"
    return f"10^{problem.init.log_scale / FACTOR:.4g}"
