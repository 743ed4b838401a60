"""The run that shares nothing with the prediction, or the chain of evidence in its place.

The parameters themselves are integrated at the problem's own scale where float64 holds them there.
Where it does not, the evidence is a chain: at the nearest scale that is held, the parameters'
flow ends at the prediction for that scale, and the flow in logarithmic coordinates ends where
theirs does; at the problem's own scale the flow in logarithmic coordinates ends at the prediction.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from limitpoint.arrays import Float
from limitpoint.dynamics import LogCoordinates, ParameterSpace, Trajectory
from limitpoint.errors import LimitpointError, ScaleNotRepresentable
from limitpoint.networks import Diagonal
from limitpoint.problem import Problem
from limitpoint.sensitivity import ACCUMULATION, SAFETY, Sensitivity, sensitivity_of
from limitpoint.theory import Limit, Reduction, reduction_of
from limitpoint.verify import engines
from limitpoint.verify.conserved import drift_check
from limitpoint.verify.disguise import end_within, strayed_from, within_the_form
from limitpoint.verify.held import StartErrors, at_log_scale
from limitpoint.verify.layers import layer_checks
from limitpoint.verify.verdict import Check, arrival_check

__all__ = ["Evidence", "flow_checks", "independent_evidence"]

# A prediction that is off by a per cent must fail: a tolerance above a quarter of that does not
# tell, and a run whose own errors need one is not held.
DECISIVE = 2.5e-3
# The independent run may take so many steps, some ten seconds of forty coefficients; a run that
# would need more is made at a scale nearer to one.
MOST_STEPS = 30_000
# Scales are tried a factor of ten apart, so many of them by a run.
FACTOR = float(np.log(10.0))
MOST_RUNS = 3


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

    def checks(self, name: str) -> list[Check]:
        """All that is compared of it."""
        checks = flow_checks(
            name, self.run, self.scales, ParameterSpace().misfit_tolerance, self.tolerance
        )
        reason = f"{ACCUMULATION:g} rtol (1 + longest growth)"
        kept = drift_check(
            f"{name}: invariant drift", self.problem.network, self.run, self.accumulated, reason
        )
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
    reduction = _reduction(problem)
    errors = StartErrors.of(problem, reduction)
    if errors is None:
        attempt = _attempt(problem, limit, scales, None, None)
        return _direct(attempt)
    why = _why_not_held(errors, reduction, scales)
    if not why:
        try:
            attempt = _attempt(problem, limit, scales, reduction, errors)
        except ScaleNotRepresentable as error:
            why = str(error)
        else:
            if not attempt.why_not:
                return _direct(attempt)
            why = attempt.why_not
    return _chain(problem, limit, scales, reduction, why)


def flow_checks(
    name: str, run: Trajectory, scales: Sensitivity, misfit_tolerance: float, tolerance: float
) -> list[Check]:
    """Whether a flow arrived, and how far from the prediction."""
    return [
        arrival_check(
            f"{name}: misfit",
            run,
            run.misfit,
            SAFETY * max(misfit_tolerance, scales.rounding_misfit()),
            "stopping rule of the flow",
        ),
        Check(
            f"{name}: distance",
            scales.distance(run.coef),
            tolerance,
            "(misfit + accuracy) × sensitivity",
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
        run = replace(reached, misfit=scales.misfit(reached.coef))
    accumulated = _accumulated(scales)
    tolerance, moved = scales.tolerance(run.coef, accumulated), None
    if errors is not None:
        moved = errors.moves(_within(scales), accumulated, _drifts(reduction, problem, run, scales))
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
        _why_undecided(run, tolerance, strayed_from(reduction, run, accumulated), until),
    )


def _accumulated(scales: Sensitivity) -> float:
    """The relative error that parameters, or the logarithms of their growth, collect in a flow.

    Local errors are relative to them, and a growth takes steps in proportion to its length.
    """
    return ACCUMULATION * ParameterSpace().rtol * (1.0 + scales.longest_growth)


def _why_undecided(run: Trajectory, tolerance: float, strayed: bool, until: float | None) -> str:
    if strayed:
        return (
            "rounding takes them out of the diagonal form of this network, where it is unstable, "
            "so that another network is trained"
        )
    if not run.status.ok and until is None:
        return f"their flow did not arrive ({run.status.name.lower().replace('_', ' ')})"
    if not tolerance <= DECISIVE:
        return f"the errors of their flow may move its end by {tolerance:.1g} of itself"
    return ""


def _drifts(
    reduction: Reduction | None, problem: Problem, run: Trajectory, scales: Sensitivity
) -> Float | float:
    """How far the conserved differences of squares of every coefficient have drifted in a run."""
    layers = run.layers
    if layers is None or not np.isfinite(run.coef).all():
        return np.inf
    network = problem.network
    if reduction is not None:
        inner = [reduction.form.inner_layers([each[t] for each in layers]) for t in _some(run)]
        layers = tuple(np.stack(each) for each in zip(*inner, strict=True))
        network = reduction.diagonal.network
    if not isinstance(network, Diagonal):
        return StartErrors(problem, is_turned=True).kept_drifts(_within(scales))
    values = network.invariants(layers)
    drifts: Float = np.abs(values - values[:, :1]).max(axis=(0, 1))
    return drifts


def _some(run: Trajectory) -> range:
    return range(len(run.times))


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
    why: str,
) -> Evidence:
    """Independent run and logarithms at the nearest scale that is held, logarithms here."""
    here = _log_flow(problem, reduction)
    accumulated, tolerance = _log_tolerance(scales, here)
    checks = flow_checks(
        "logarithmic flow", here, scales, LogCoordinates().misfit_tolerance, tolerance
    )
    checks += layer_checks("logarithmic flow", problem, limit, here, scales, accumulated, reduction)
    own = scale_in_words(problem)
    attempt = _nearest_held(problem)
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
            attempt.tolerance + _log_tolerance(attempt.scales, beside)[1],
            "both (misfit + accuracy) × sensitivity",
        )
    )
    note = (
        f"The parameters themselves were integrated at scale {there}, not at {own}: {why}. They "
        "were compared there with the prediction for that scale and with the flow in logarithmic "
        f"coordinates; at scale {own} these alone were run."
    )
    return Evidence(checks, [here, attempt.run, beside], (note,))


def _nearest_held(problem: Problem) -> _Attempt | None:
    """An independent run at the nearest scale, towards one, at which it decides."""
    runs = 0
    for nearer in _scales_towards_one(problem):
        found = _at_scale(nearer)
        if found is None:
            continue
        runs += 1
        try:
            attempt = _attempt(*found)
        except ScaleNotRepresentable:
            continue
        if not attempt.why_not:
            return attempt
        if runs == MOST_RUNS:
            break
    return None


def _scales_towards_one(problem: Problem) -> Iterator[Problem]:
    """The problem at scales a factor of ten apart, those that float64 can hold at all."""
    log_scale = problem.init.log_scale
    steps = int(np.ceil(abs(log_scale) / FACTOR))
    for step in range(1, steps + 1):
        left = abs(log_scale) - min(step * FACTOR, abs(log_scale))
        nearer = at_log_scale(problem, float(np.sign(log_scale) * left))
        errors = StartErrors.of(nearer, _reduction(nearer))
        size = np.full(1, problem.regression.fit_size)
        if errors is not None and errors.is_representable(size):
            yield nearer


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
