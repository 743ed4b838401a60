"""The one place where prediction and simulation meet."""

from dataclasses import replace

import numpy as np

from limitpoint.dynamics import (
    Optimiser,
    ParameterSpace,
    SampleSpace,
    Trajectory,
    flow,
    null_space_drift,
    train,
)
from limitpoint.errors import InitError, LimitpointError, ScaleNotRepresentable
from limitpoint.networks import CoupledNetwork, TwoLayer
from limitpoint.plateaus import compare_plateaus
from limitpoint.problem import Problem
from limitpoint.sensitivity import ACCUMULATION, EPS, SAFETY, Sensitivity, sensitivity_of
from limitpoint.status import Status
from limitpoint.tasks import Classification
from limitpoint.theory import convergence_bound, explain, predict
from limitpoint.verify.classification import verdict_on_classification
from limitpoint.verify.conserved import drift_check
from limitpoint.verify.disguise import end_within, strayed_from, within_the_form
from limitpoint.verify.training import (
    law_check,
    random_training_checks,
    training_checks,
    training_notes,
)
from limitpoint.verify.trap import verdict_on_trap
from limitpoint.verify.two_layers import two_layer_bound_checks, two_layer_checks
from limitpoint.verify.verdict import Check, Verdict, certificate_checks, in_words

__all__ = ["Check", "Verdict", "verify"]

# Rounding of the coefficients that moves the fit by more than this part of the targets leaves
# nothing to compare.
LARGEST_HIDDEN = 1e-3


def verify(problem: Problem, *, training: Optimiser | None = None, steps: int = 20_000) -> Verdict:
    """Predict the limit, simulate the training, and certify that they agree.

    Always runs the exact flow in parameter space, which shares nothing with the prediction; where
    the network has a mirror map also the flow in sample space. Of a classification, the flow in
    normalised time, followed on by `settle`: its direction must end at the predicted one, and
    approach it with the predicted exponent.

    Parameters
    ----------
    problem
        A problem that some theorem covers.
    training
        Also train with this optimiser, and once more with half its step to learn how much of the
        distance the step size explains. A noisy one (SGD, label noise) is judged by the law that
        noise obeys too, `limitpoint.null_space_law`, which rank-one, fully connected and two-layer
        networks have.
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
    if isinstance(problem.task, Classification):
        if training is not None:
            raise LimitpointError(
                "verify does not judge the training of a classification: it comes nowhere near "
                "the limit of the direction. Compare train with flow at the same times"
            )
        return verdict_on_classification(problem)
    limit = predict(problem)
    if limit.status is Status.SADDLE:
        return verdict_on_trap(problem, limit)
    scales = sensitivity_of(problem, limit)
    _check_visible(problem, scales)
    checks = certificate_checks(limit)
    flows: list[Trajectory] = []
    mirror = problem.network.mirror_map(problem.init)
    notes: tuple[str, ...] = ()
    # Where coefficients end at a bound their clocks, and the duals, run to infinity, and drown the
    # clocks of the others.
    endless = bool(np.isinf(limit.clocks).any())
    coupled = isinstance(problem.network, CoupledNetwork)
    two_layers = isinstance(problem.network, TwoLayer)
    radial = isinstance(problem.network, CoupledNetwork) and (
        problem.network.radial_map(problem.init) is not None
    )
    resolved = mirror is not None and mirror.resolves(problem.regression.fit_size)
    if radial or two_layers or (resolved and not endless):
        sample = SampleSpace()
        flows.append(flow(problem, space=sample))
        checks += flow_checks("sample flow", flows[-1], scales, sample.misfit_tolerance, 0.0)
    elif mirror is not None:
        reason = (
            "the duals of this problem grow for ever."
            if endless
            else "at this scale float64 does not resolve the clocks near their poles."
        )
        notes = (f"The flow was run in parameter space only: {reason}",)
    parameter = ParameterSpace()
    until = end_within(problem, scales, parameter)
    if until is None:
        flows.append(flow(problem, space=parameter))
    else:
        reached = flow(problem, t_end=until, space=parameter)
        flows.append(replace(reached, misfit=scales.misfit(reached.coef)))
    # Local errors are relative to the growth so far, in logarithms of the parameters.
    accumulated = ACCUMULATION * parameter.rtol * (1.0 + scales.longest_growth)
    reduction = strayed_from(problem, flows[-1], accumulated)
    if reduction is None:
        checks += flow_checks(
            "parameter flow", flows[-1], scales, parameter.misfit_tolerance, accumulated
        )
    else:
        within = within_the_form(reduction, parameter)
        checks += flow_checks(
            "diagonal flow", within, scales, parameter.misfit_tolerance, accumulated
        )
        notes += (
            "Rounding took the flow in parameter space out of the diagonal form of this network, "
            "where it is unstable, so that it trains another network: the flow within the form was "
            "compared instead.",
        )
    checks.append(
        drift_check(
            "parameter flow: invariant drift",
            problem.network,
            flows[-1],
            accumulated,
            f"{ACCUMULATION:g} rtol (1 + longest growth)",
        )
    )
    if coupled or two_layers:
        checks.append(
            Check(
                "parameter flow: null-space law",
                null_space_drift(problem, flows[-1]),
                accumulated,
                f"{ACCUMULATION:g} rtol (1 + longest growth)",
            )
        )
    if two_layers:
        checks += two_layer_checks(problem, limit, flows[-1], scales, accumulated)
        checks += two_layer_bound_checks(problem, flows[0], accumulated)
    else:
        bound_checks, bound_notes = _bound_checks(problem, flows[0])
        checks += bound_checks
        notes += bound_notes
    saddle_checks, saddle_notes = _saddle_checks(problem)
    checks += saddle_checks
    notes += saddle_notes
    run = None
    if training is not None:
        notes += training_notes(problem, limit)
        run = train(problem, training, steps)
        if training.is_random:
            checks += random_training_checks(problem, training, run)
        else:
            finer = train(problem, training.refined(), 2 * steps)
            checks += training_checks(problem, training, run, finer, scales)
            if coupled or two_layers:
                checks.append(law_check("training", problem, run, steps))
    return Verdict(problem, tuple(checks), limit, tuple(flows), run, notes)


def _check_visible(problem: Problem, scales: Sensitivity) -> None:
    """Refuse starts so large that their rounding hides the data: no flow could be compared."""
    task = problem.regression
    hidden = EPS * float(np.linalg.norm(np.abs(task.X) @ scales.terms))
    if task.y.any() and hidden > LARGEST_HIDDEN * float(np.linalg.norm(task.y)):
        raise ScaleNotRepresentable(
            f"at scale {problem.init.scale:g} the data are below the rounding of coefficients of "
            f"size {float(scales.terms.max()):.1g}, so that no flow can be compared with the "
            "limit; verify a smaller scale"
        )


def flow_checks(
    name: str, run: Trajectory, scales: Sensitivity, misfit_tolerance: float, map_error: float
) -> list[Check]:
    return [
        Check(
            f"{name}: misfit",
            run.misfit,
            SAFETY * max(misfit_tolerance, scales.rounding_misfit()),
            f"stopping rule of the flow ({in_words(run)})",
        ),
        Check(
            f"{name}: distance",
            scales.distance(run.coef),
            scales.tolerance(run.coef, map_error),
            "(misfit + accuracy) × sensitivity",
        ),
    ]


def _bound_checks(problem: Problem, run: Trajectory) -> tuple[list[Check], tuple[str, ...]]:
    """Labarrière's Theorem 2 along the flow, where its conditions hold."""
    theorem = "labarriere2024.theorem2"
    if theorem not in {found.id for found in explain(problem).applicable}:
        return [], (f"No bound on the loss was checked: {theorem} does not apply; see explain.",)
    bound = convergence_bound(problem, run.times)
    unit = float(run.losses[0]) or 1.0
    excess = float(np.max(run.losses - bound)) / unit
    # A loss is ½r², and the residual r of a start that nearly fits is itself a rounding error.
    task, start = problem.regression, run.coefs[0]
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
