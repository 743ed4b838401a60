"""The one place where prediction and simulation meet."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr
from rich.console import Group

from limitpoint.display import number, table, to_html, to_text
from limitpoint.dynamics import (
    Optimiser,
    ParameterSpace,
    SampleSpace,
    Trajectory,
    drift,
    flow,
    null_space_drift,
    train,
)
from limitpoint.errors import InitError, LimitpointError
from limitpoint.networks import CoupledNetwork
from limitpoint.plateaus import compare_plateaus
from limitpoint.problem import Problem
from limitpoint.sensitivity import ACCUMULATION, EPS, SAFETY, Sensitivity, sensitivity_of
from limitpoint.status import Status
from limitpoint.theory import Limit, convergence_bound, explain, predict

__all__ = ["Check", "Verdict", "verify"]

# A training run that misses the data by more than this has not ended yet, and cannot be compared.
TRAINING_MISFIT = 1e-3
# Flows into the saddle at zero are followed until so much of the start is left.
TRAP_FOLLOWED = 1e-3


@dataclass(frozen=True)
class Check:
    """One comparison: a measured number, what it may be at most, and why."""

    name: str
    measured: float
    tolerance: float
    reason: str

    @property
    def passed(self) -> bool:
        """Whether the measured number is a number no larger than the tolerance."""
        return bool(self.measured <= self.tolerance)

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values."""
        return {
            "name": self.name,
            "measured": self.measured,
            "tolerance": self.tolerance,
            "passed": self.passed,
            "reason": self.reason,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Verdict:
    """Prediction against dynamics: every check, and the results behind them.

    Attributes
    ----------
    checks
        All comparisons, each with its tolerance and where that comes from.
    limit
        The prediction.
    flows
        The exact flows: in parameter space always, in sample space where there is a mirror map.
    training
        The training run, if one was asked for.
    notes
        What could not be checked, and why.
    """

    problem: Problem
    checks: tuple[Check, ...]
    limit: Limit
    flows: tuple[Trajectory, ...]
    training: Trajectory | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values."""
        return {
            "passed": self.passed,
            "checks": [check.to_dict() for check in self.checks],
            "notes": list(self.notes),
            "limit": self.limit.to_dict(),
        }

    def to_xarray(self) -> xr.Dataset:
        """As a labelled data set: measured number, tolerance and outcome of every check."""
        return xr.Dataset(
            {
                "measured": ("check", [check.measured for check in self.checks]),
                "tolerance": ("check", [check.tolerance for check in self.checks]),
                "passed": ("check", [check.passed for check in self.checks]),
            },
            coords={"check": [check.name for check in self.checks]},
            attrs={"passed": int(self.passed), "notes": "\n".join(self.notes)},
        )

    def __rich__(self) -> Any:
        rows = [
            (
                check.name,
                number(check.measured),
                number(check.tolerance),
                "pass" if check.passed else "FAIL",
                check.reason,
            )
            for check in self.checks
        ]
        word = "PASSED" if self.passed else "FAILED"
        return Group(
            table(
                f"Verdict on {self.problem!r}: {word}",
                ("check", "measured", "at most", "", "because"),
                rows,
            ),
            *self.notes,
        )

    def __repr__(self) -> str:
        return to_text(self.__rich__())

    def _repr_html_(self) -> str:
        return to_html(repr(self))


def verify(problem: Problem, *, training: Optimiser | None = None, steps: int = 20_000) -> Verdict:
    """Predict the limit, simulate the training, and certify that they agree.

    Always runs the exact flow in parameter space, which shares nothing with the prediction; where
    the network has a mirror map also the flow in sample space.

    Parameters
    ----------
    problem
        A problem that some theorem covers.
    training
        Also train with this optimiser, and once more with half its step to learn how much of the
        distance the step size explains. A noisy one (SGD) is judged by the law that noise obeys
        too, `limitpoint.null_space_law`, which rank-one and fully connected networks have.
    steps
        Number of training steps (twice as many for the refined run).

    Examples
    --------
    >>> import limitpoint as lp
    >>> task = lp.examples.zhao_eq7()
    >>> network = lp.Diagonal(depth=2)
    >>> problem = lp.Problem(network, lp.Init.random(network, task, scale=1e-3, seed=0), task)
    >>> lp.verify(problem).passed
    True
    """
    if not problem.init.is_finite:
        raise InitError(
            "verify needs a positive, finite scale: at scale 0 or infinity nothing moves in finite "
            "time. Verify a small scale instead (log_scale=-2302.6 is 10^-1000)"
        )
    limit = predict(problem)
    if limit.status is Status.SADDLE:
        return _verdict_on_trap(problem, limit)
    scales = sensitivity_of(problem, limit)
    checks = [
        Check(f"limit: {name}", value, limit.certificate.tolerance, "certificate")
        for name, value in limit.certificate.residuals.items()
    ]
    flows: list[Trajectory] = []
    mirror = problem.network.mirror_map(problem.init)
    notes: tuple[str, ...] = ()
    # Where coefficients end at a bound their clocks, and the duals, run to infinity, and drown the
    # clocks of the others.
    endless = bool(np.isinf(limit.clocks).any())
    coupled = isinstance(problem.network, CoupledNetwork)
    if coupled or (mirror is not None and mirror.resolved and not endless):
        sample = SampleSpace()
        flows.append(flow(problem, space=sample))
        checks += _flow_checks("sample flow", flows[-1], scales, sample.misfit_tolerance, 0.0)
    elif mirror is not None:
        reason = (
            "the duals of this problem grow for ever."
            if endless
            else "at this scale float64 does not resolve the clocks near their poles."
        )
        notes = (f"The flow was run in parameter space only: {reason}",)
    parameter = ParameterSpace()
    flows.append(flow(problem, space=parameter))
    # Local errors are relative to the growth so far, in logarithms of the parameters.
    accumulated = ACCUMULATION * parameter.rtol * (1.0 + scales.longest_growth)
    checks += _flow_checks(
        "parameter flow", flows[-1], scales, parameter.misfit_tolerance, accumulated
    )
    moved = drift(problem.network, flows[-1])
    checks.append(
        Check(
            "parameter flow: invariant drift",
            moved.relative,
            accumulated,
            f"{ACCUMULATION:g} rtol (1 + longest growth)",
        )
    )
    if coupled:
        checks.append(
            Check(
                "parameter flow: null-space law",
                null_space_drift(problem, flows[-1]),
                accumulated,
                f"{ACCUMULATION:g} rtol (1 + longest growth)",
            )
        )
    bound_checks, bound_notes = _bound_checks(problem, flows[0])
    checks += bound_checks
    notes += bound_notes
    saddle_checks, saddle_notes = _saddle_checks(problem)
    checks += saddle_checks
    notes += saddle_notes
    run = None
    if training is not None:
        notes += _training_notes(problem, limit)
        run = train(problem, training, steps)
        if training.is_random:
            checks += _random_training_checks(problem, run)
        else:
            finer = train(problem, training.refined(), 2 * steps)
            checks += _training_checks(problem, training, run, finer, scales)
            if coupled:
                checks.append(_law_check("training", problem, run, steps))
    return Verdict(problem, tuple(checks), limit, tuple(flows), run, notes)


def _verdict_on_trap(problem: Problem, limit: Limit) -> Verdict:
    """A start that is caught by the saddle at zero: both flows on their way there.

    Not to the end: in parameter space rounding gets away at last, as any perturbation does.
    """
    inwards = flow(problem, space=SampleSpace())
    sizes = np.linalg.norm(inwards.coefs, axis=1)
    until = inwards.times[int(np.argmax(sizes <= TRAP_FOLLOWED * sizes[0]))]
    flows = tuple(
        flow(problem, times=np.array([0.0, until]), space=space)
        for space in (SampleSpace(), ParameterSpace())
    )
    apart = float(np.linalg.norm(flows[0].coef - flows[1].coef)) / float(sizes[0])
    accumulated = ACCUMULATION * ParameterSpace().rtol * (1.0 - float(np.log(TRAP_FOLLOWED)))
    checks = (
        *(
            Check(f"limit: {name}", value, limit.certificate.tolerance, "certificate")
            for name, value in limit.certificate.residuals.items()
        ),
        Check(
            "sample flow: distance",
            float(sizes[-1] / sizes[0]),
            TRAP_FOLLOWED,
            f"it ends at the saddle ({_in_words(inwards)})",
        ),
        Check(
            f"flows apart when {TRAP_FOLLOWED:g} of the start is left",
            apart,
            accumulated,
            f"{ACCUMULATION:g} rtol (1 + growth)",
        ),
    )
    note = (
        "The start is caught by the saddle at zero. The flow in parameter space was followed on "
        "its way there only, and no training was run: rounding escapes from the saddle at last."
    )
    return Verdict(problem, checks, limit, flows, None, (note,))


def _flow_checks(
    name: str, run: Trajectory, scales: Sensitivity, misfit_tolerance: float, map_error: float
) -> list[Check]:
    return [
        Check(
            f"{name}: misfit",
            run.misfit,
            SAFETY * max(misfit_tolerance, scales.rounding_misfit()),
            f"stopping rule of the flow ({_in_words(run)})",
        ),
        Check(
            f"{name}: distance",
            scales.distance(run.coef),
            scales.tolerance(run.coef, map_error),
            "(misfit + accuracy) × sensitivity",
        ),
    ]


def _in_words(run: Trajectory) -> str:
    return run.status.name.lower().replace("_", " ")


def _bound_checks(problem: Problem, run: Trajectory) -> tuple[list[Check], tuple[str, ...]]:
    """Labarrière's Theorem 2 along the flow, where its conditions hold."""
    theorem = "labarriere2024.theorem2"
    if theorem not in {found.id for found in explain(problem).applicable}:
        return [], (f"No bound on the loss was checked: {theorem} does not apply; see explain.",)
    bound = convergence_bound(problem, run.times)
    unit = float(run.losses[0]) or 1.0
    excess = float(np.max(run.losses - bound)) / unit
    # A loss is ½r², and the residual r of a start that nearly fits is itself a rounding error.
    task, start = problem.task, run.coefs[0]
    sizes = np.abs(task.y) + np.abs(task.X) @ np.abs(start)
    shaken = SAFETY * EPS * task.n_features * float(np.linalg.norm(sizes))
    residual = float(np.linalg.norm(task.y - task.X @ start))
    rounding = task.loss_factor * (residual + shaken) * shaken / unit
    return [
        Check(
            "loss above labarriere's bound",
            max(excess, 0.0),
            ACCUMULATION * SampleSpace().rtol + rounding,
            f"{ACCUMULATION:g} rtol × initial loss, rounding",
        )
    ], ()


def _saddle_checks(problem: Problem) -> tuple[list[Check], tuple[str, ...]]:
    """The plateaus of the flow against the saddles of the path, the worst of each kind."""
    plateaus, unresolved = compare_plateaus(problem)
    notes = (
        (f"{unresolved} plateaus before the limit are too short at this scale to be compared.",)
        if unresolved
        else ()
    )
    if not plateaus:
        return [], notes
    value = max(plateaus, key=lambda p: p.value_error / p.value_tolerance)
    clock = max(plateaus, key=lambda p: p.clock_error / p.clock_tolerance)
    others = sum(not plateau.same_support for plateau in plateaus)
    return [
        Check(
            f"saddle {value.number}: value",
            value.value_error,
            value.value_tolerance,
            f"dormant coefficients, approach (worst of {len(plateaus)})",
        ),
        Check(
            f"saddle {clock.number}: clocks",
            clock.clock_error,
            clock.clock_tolerance,
            f"lags along the path, per log(1/scale) (worst of {len(plateaus)})",
        ),
        Check("saddles: in another order", float(others), 0.0, "the order is exact"),
    ], notes


def _law_check(name: str, problem: Problem, run: Trajectory, steps: int) -> Check:
    """The first layer's part in the null space of the data, which no gradient step changes."""
    return Check(
        f"{name}: null-space law",
        null_space_drift(problem, run),
        # Every step rounds every entry once in the sum and a few times in the gradient.
        SAFETY * EPS * (1 + steps),
        "rounding of every step",
    )


def _random_training_checks(problem: Problem, run: Trajectory) -> list[Check]:
    """A run with noise ends where the law says, given its own outer layers."""
    network, task = problem.network, problem.task
    if not isinstance(network, CoupledNetwork) or run.layers is None:
        raise LimitpointError(
            f"verify cannot judge noisy training of {network}: what is predicted is the end of "
            "the flow, and only rank-one and fully connected networks have a law that noise obeys. "
            "Train by GD, or compare with train"
        )
    misfit = Check(
        "training: misfit",
        run.misfit,
        TRAINING_MISFIT,
        f"else more steps are needed ({_in_words(run)})",
    )
    law = _law_check("training", problem, run, int(run.steps[-1]) if run.steps is not None else 0)
    if not np.isfinite(run.coef).all():
        return [misfit, law]
    outer = network.outer([layer[-1] for layer in run.layers])
    end = predict(problem, outer=outer)
    size = float(np.linalg.norm(end.coef)) or 1.0
    # What is left of the residual, taken back to the coefficients, and the law's own rounding.
    left = np.linalg.lstsq(task.X, task.y - task.X @ run.coef, rcond=None)[0]
    grown = float(np.linalg.norm(outer) * np.max(np.abs(run.layers[0])))
    rounding = law.tolerance * grown * np.sqrt(task.n_features)
    return [
        misfit,
        law,
        Check(
            "training: distance from the law's end",
            float(np.linalg.norm(run.coef - end.coef)) / size,
            SAFETY * (float(np.linalg.norm(left)) + rounding) / size + end.certificate.tolerance,
            "residual taken back to the coefficients",
        ),
    ]


def _training_notes(problem: Problem, limit: Limit) -> tuple[str, ...]:
    """Say where training in float64 is not training of the same network."""
    grown = float(np.abs(limit.coef).max()) ** (2 / problem.network.degree)
    start = max(float(np.abs(layer).max()) for layer in problem.init.layers)
    if start**2 > EPS * grown:
        return ()
    return (
        "Training at this scale is not comparable: the conserved differences of the squared "
        "layers are below the rounding of the layers once these have grown, so that float64 loses "
        "them. The flows keep them in logarithms.",
    )


def _training_checks(
    problem: Problem,
    optimiser: Optimiser,
    run: Trajectory,
    finer: Trajectory,
    scales: Sensitivity,
) -> list[Check]:
    # Halving the step halves a first-order error, so the two runs differ by half of it.
    with np.errstate(over="ignore", invalid="ignore"):  # a diverged run fails its checks as NaN
        step_effect = 2 * float(np.linalg.norm(run.coef - finer.coef)) / scales.size
        distance = scales.distance(run.coef)
        lost = float(run.losses[0] - run.losses[-1])
    checks = [
        Check(
            "training: misfit",
            run.misfit,
            TRAINING_MISFIT,
            f"else more steps are needed ({_in_words(run)})",
        ),
        Check(
            "training: distance",
            distance,
            SAFETY * step_effect + scales.tolerance(run.coef),
            "effect of the step, by halving it",
        ),
    ]
    # Each step changes a quadratic invariant by (step × gradient)² at most, and the squared
    # gradients sum to the loss lost: to first order each kind of them drifts by at most
    # step × (loss(0) − loss(end)).
    if problem.network.invariants_are_quadratic:
        moved = drift(problem.network, run)
        rounding = _rounding_of_steps(run)
        checks.append(
            Check(
                "training: invariant drift",
                moved.total,
                SAFETY * len(moved.start) * (optimiser.time_per_step * max(lost, 0.0) + rounding),
                "2 × step × decrease of the loss, for each kind, and rounding of each step",
            )
        )
    return checks


def _rounding_of_steps(run: Trajectory) -> float:
    """What rounding of the squared parameters can add up to in a training run, if it is finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = sum(float(np.max(np.sum(layer**2, axis=-1))) for layer in run.layers or ())
    steps = 0 if run.steps is None else int(run.steps[-1])
    rounding = EPS * steps * squares
    return rounding if np.isfinite(rounding) else 0.0
