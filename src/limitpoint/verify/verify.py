"""Predict, simulate, compare: the verdict on a problem."""

import numpy as np

from limitpoint.dynamics import Optimiser, SampleSpace, Trajectory
from limitpoint.dynamics.coordinates import RTOL
from limitpoint.dynamics.training.train import as_steps, check_optimiser
from limitpoint.errors import InitError, LimitpointError, ScaleNotRepresentable
from limitpoint.foundation.arrays import as_truth
from limitpoint.foundation.progress import Job, job
from limitpoint.networks import CoupledNetwork, TwoLayer
from limitpoint.problem import Problem, as_problem
from limitpoint.status import Status
from limitpoint.tasks import Classification
from limitpoint.theory import Limit, explain
from limitpoint.verify import engines
from limitpoint.verify.checks.plateaus import compare_plateaus
from limitpoint.verify.checks.proof_checks import hidden_from_runs, proof_checks
from limitpoint.verify.checks.step_law import step_law_checks
from limitpoint.verify.checks.training_checks import (
    has_null_space,
    law_check,
    random_training_checks,
    training_checks,
    training_notes,
)
from limitpoint.verify.checks.two_layer_checks import two_layer_bound_checks, two_layer_checks
from limitpoint.verify.checks.weight_decay import weight_decay_checks
from limitpoint.verify.classification_verdict import verdict_on_classification
from limitpoint.verify.independent_run import flow_checks, independent_evidence
from limitpoint.verify.sensitivity import ACCUMULATION, EPS, SAFETY, Sensitivity, sensitivity_of
from limitpoint.verify.stable_manifold_verdict import verdict_on_stable_manifold
from limitpoint.verify.verdict import Check, Verdict, certificate_checks

__all__ = ["verify"]

# Rounding of the coefficients that moves the fit by more than this part of the targets leaves
# nothing to compare.
LARGEST_HIDDEN = 1e-3


def verify(
    problem: Problem,
    *,
    training: Optimiser | None = None,
    steps: int = 20_000,
    prove: bool = False,
) -> Verdict:
    """Predict the limit, simulate the training, and certify that they agree.

    A verdict rests on a run that shares nothing with the prediction: the parameters themselves,
    `ParameterSpace()`, with no logarithms, no mirror map, and nothing eliminated by what the flow
    conserves. Where float64 cannot hold them at the problem's scale (deep networks below about
    1e-6, two layers below about 1e-150), it rests on a chain: at the nearest scale that is held,
    their flow ends at the prediction for that scale and the flow in `LogCoordinates()` where theirs
    does; at the problem's own scale the flow in logarithmic coordinates ends at the prediction.
    The notes name both scales. Where the network has a mirror map, the flow in sample space, which
    shares the map with the prediction, is compared besides.

    Of a classification, the flow in normalised time, followed on by `limit_direction`: its
    direction must end at the predicted one, and approach it with the predicted exponent.

    Returns
    -------
    Verdict
        Its `outcome` is PASSED, FAILED where a comparison came out wrong, or INCONCLUSIVE where
        something decisive could not be compared; `passed` is True for PASSED alone.

    Parameters
    ----------
    problem
        A problem that some theorem covers.
    training
        Also train with this optimiser. Networks of two layers with one number per coefficient and
        layer (`Diagonal(2)`, `SignedPower(2)`, `Paired`) obey the law of the step, at any step,
        batch, noise and weight decay: the run must be where gradient flow from its effective start
        would be, whether it has come to fit the data or not; and a run of GD with weight decay
        that is long enough must end at `analysis.penalised_limit`. Others are trained once more
        with half the step, to learn how much of the distance the step size explains; with noise
        (SGD, label noise) they are judged by the law that noise obeys too,
        `limitpoint.null_space_law`, which rank-one, fully connected and two-layer networks have.
    steps
        Number of training steps (twice as many for a refined run).
    prove
        Also prove the limit of a regression, and compare the prediction with the proof. One that
        exact arithmetic gave, since float64 does not certify it, is compared with its proof always;
        where rounding hides the data or their rank from every run, the verdict is inconclusive.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task = lp.examples.zhao_eq7()
    >>> network = lp.Diagonal(depth=2)
    >>> problem = lp.Problem(network, lp.Init.random(network, task, scale=1e-3, seed=0), task)
    >>> lp.verify(problem).passed
    True
    """
    as_problem(problem)
    steps = as_steps(steps)
    prove = as_truth(prove, "prove", LimitpointError)
    if training is not None:
        check_optimiser(training, "training")
    if not problem.init.is_finite:
        raise InitError(
            "verify needs a positive, finite scale: at scale 0 or infinity nothing moves in finite "
            "time. Verify a small scale instead: log_scale (--log-scale) -2302.6 is 10^-1000"
        )
    if isinstance(problem.task, Classification):
        if training is not None:
            raise LimitpointError(
                "verify does not judge the training of a classification: it comes nowhere near "
                "the limit of the direction. Compare train with flow at the same times"
            )
        with job("verify", unit="parts done"):
            return verdict_on_classification(problem)
    with job("verify", unit="parts done") as parts:
        return _verdict(problem, training, steps, prove, parts)


def _verdict(
    problem: Problem, training: Optimiser | None, steps: int, prove: bool, parts: Job
) -> Verdict:
    """The prediction and every comparison with it."""
    parts.advance(0, "prediction")
    limit = engines.predict(problem)
    if limit.status is Status.SADDLE:
        return verdict_on_stable_manifold(problem, limit)
    proved, unproved = proof_checks(problem, limit, wanted=prove)
    checks = certificate_checks(limit) + proved
    hidden = hidden_from_runs(problem, limit)
    if hidden:
        return Verdict(problem, tuple(checks), limit, (), None, (), hidden)
    scales = sensitivity_of(problem, limit)
    _check_visible(problem, scales)
    parts.advance(1, "flow in sample space")
    flows, notes = _sample_flow(problem, limit)
    notes += unproved
    for found in flows:
        checks += flow_checks(
            "sample flow",
            found,
            scales,
            SampleSpace().residual_tolerance,
            scales.tolerance(found.coef),
        )
    parts.advance(1, "flow of the parameters")
    evidence = independent_evidence(problem, limit, scales)
    checks += evidence.checks
    flows += evidence.flows
    notes += evidence.notes
    if isinstance(problem.network, CoupledNetwork | TwoLayer) and evidence.own is not None:
        checks += _law_checks(problem, limit, evidence.own, scales)
    if isinstance(problem.network, TwoLayer):
        checks += two_layer_bound_checks(problem, flows[0], _accumulated(scales))
    elif flows:
        bound_checks, bound_notes = _bound_checks(problem, flows[0])
        checks += bound_checks
        notes += bound_notes
    parts.advance(1, "plateaus")
    saddle_checks, saddle_notes = _saddle_checks(problem)
    checks += saddle_checks
    notes += saddle_notes
    run = None
    if training is not None:
        parts.advance(1, "training")
        run = engines.train(problem, training, steps)
        trained = _training_checks(problem, training, run, steps, scales)
        checks += trained[0]
        notes += trained[1]
    missing = (*_uncertified(limit), *evidence.missing)
    return Verdict(problem, tuple(checks), limit, tuple(flows), run, tuple(notes), missing)


def _uncertified(limit: Limit) -> tuple[str, ...]:
    """Why the prediction itself is none to be compared with, if so."""
    return () if limit.status.ok else (f"The prediction is not certified. {limit.status}",)


def _sample_flow(problem: Problem, limit: Limit) -> tuple[list[Trajectory], tuple[str, ...]]:
    """The flow in sample space, where there is a map that resolves it; or why there is none."""
    network, mirror = problem.network, problem.network.mirror_map(problem.init)
    # Where coefficients end at a bound their mirror coordinates, and the duals, run to infinity,
    # and drown the mirror coordinates of the others.
    endless = bool(np.isinf(limit.mirror).any())
    radial = isinstance(network, CoupledNetwork) and network.radial_map(problem.init) is not None
    resolved = mirror is not None and mirror.resolves(problem.regression.fit_size)
    if radial or isinstance(network, TwoLayer) or (resolved and not endless):
        return [engines.flow(problem, space=SampleSpace())], ()
    if mirror is None:
        return [], ()
    reason = (
        "the duals of this problem grow for ever."
        if endless
        else "at this scale float64 does not resolve the mirror coordinates near their poles."
    )
    return [], (f"The flow was not run in sample space: {reason}",)


def _accumulated(scales: Sensitivity) -> float:
    """The relative error that a flow of the parameters may collect."""
    return ACCUMULATION * RTOL * (1.0 + scales.longest_growth)


def _law_checks(
    problem: Problem, limit: Limit, run: Trajectory, scales: Sensitivity
) -> list[Check]:
    """What dense, rank-one and two-layer networks keep besides."""
    checks = []
    if has_null_space(problem):
        checks.append(
            Check(
                "parameter flow: null-space law",
                engines.null_space_drift(problem, run),
                _accumulated(scales),
                f"{ACCUMULATION:g} rtol (1 + longest growth)",
            )
        )
    if isinstance(problem.network, TwoLayer):
        checks += two_layer_checks(problem, limit, run, scales, _accumulated(scales))
    return checks


def _training_checks(
    problem: Problem, training: Optimiser, run: Trajectory, steps: int, scales: Sensitivity
) -> tuple[list[Check], tuple[str, ...]]:
    """By a law that steps obey where there is one, or by the flow's end and half the step."""
    if run.effective_start is not None:
        checks, notes = step_law_checks(problem, run)
        if training.shrinkage > 0 and not training.is_random:
            ended = weight_decay_checks(problem, training, run)
            checks, notes = checks + ended[0], notes + ended[1]
        return checks, notes
    notes = training_notes(problem, scales.limit)
    if training.shrinkage > 0:
        raise LimitpointError(
            "verify cannot judge training with weight decay, which does not end at the limit of "
            "gradient flow, of this network: only networks of two layers with one number per "
            "coefficient and layer have a law that it obeys. Drop weight_decay"
        )
    if training.is_random:
        return random_training_checks(problem, training, run), notes
    finer = engines.train(problem, training.refined(), 2 * steps)
    checks = training_checks(problem, training, run, finer, scales)
    if isinstance(problem.network, CoupledNetwork | TwoLayer) and has_null_space(problem):
        checks.append(law_check("training", problem, run, steps))
    return checks, notes


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


def _bound_checks(problem: Problem, run: Trajectory) -> tuple[list[Check], tuple[str, ...]]:
    """Labarrière's Theorem 2 along the flow, where its conditions hold."""
    theorem = "labarriere2024.theorem2"
    if theorem not in {found.id for found in explain(problem).applicable}:
        return [], (f"No bound on the loss was checked: {theorem} does not apply; see explain.",)
    bound = engines.convergence_bound(problem, run.times)
    unit = float(run.losses[0]) or 1.0
    excess = float(np.max(run.losses - bound)) / unit
    # A loss is ½r², and the residual r of a start that nearly fits is itself a rounding error.
    task, start = problem.regression, run.coefs[0]
    sizes = np.abs(task.y) + np.abs(task.X) @ np.abs(start)
    perturbation = SAFETY * EPS * task.n_features * float(np.linalg.norm(sizes))
    residual = float(np.linalg.norm(task.y - task.X @ start))
    rounding = task.loss_factor * (residual + perturbation) * perturbation / unit
    return [
        Check(
            "loss above labarriere's bound",
            max(excess, 0.0),
            ACCUMULATION * RTOL + rounding,
            f"{ACCUMULATION:g} rtol × initial loss, rounding",
        )
    ], ()


def _saddle_checks(problem: Problem) -> tuple[list[Check], tuple[str, ...]]:
    """The plateaus of the flow against the saddles of the path, the worst of each kind."""
    plateaus, unresolved = compare_plateaus(
        problem, path_of=engines.saddles, flow_of=engines.flow_at_times
    )
    notes = (
        (f"{unresolved} plateaus before the limit are too short at this scale to be compared.",)
        if unresolved
        else ()
    )
    if not plateaus:
        return [], notes
    value = max(plateaus, key=lambda p: p.value_error / p.value_tolerance)
    mirror = max(plateaus, key=lambda p: p.mirror_error / p.mirror_tolerance)
    others = sum(not plateau.same_support for plateau in plateaus)
    return [
        Check(
            f"saddle {value.number}: value",
            value.value_error,
            value.value_tolerance,
            f"inactive coefficients, approach (worst of {len(plateaus)})",
        ),
        Check(
            f"saddle {mirror.number}: mirror coordinates",
            mirror.mirror_error,
            mirror.mirror_tolerance,
            f"delays along the path, per log(1/scale) (worst of {len(plateaus)})",
        ),
        Check("saddles: in another order", float(others), 0.0, "the order is exact"),
    ], notes
