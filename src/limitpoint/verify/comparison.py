"""Judge a run that was made elsewhere: does it end where the theory says, and if not, why?"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from limitpoint.dynamics import Optimiser, Trajectory
from limitpoint.dynamics.row_space import RowSpace
from limitpoint.dynamics.training.train import as_steps, check_optimiser
from limitpoint.errors import InitError, LimitpointError
from limitpoint.foundation.arrays import Float
from limitpoint.foundation.progress import job
from limitpoint.problem import Problem, as_problem
from limitpoint.status import Status
from limitpoint.tasks import Classification, Regression
from limitpoint.theory import Limit
from limitpoint.verify import engines
from limitpoint.verify.checks.training_checks import TRAINING_RESIDUAL
from limitpoint.verify.foreign_run import ForeignRun, as_foreign_run
from limitpoint.verify.sensitivity import EPS, SAFETY, Sensitivity, sensitivity_of
from limitpoint.verify.step_effect import StepEffect, step_effect
from limitpoint.verify.verdict import Check, Verdict, certificate_checks

__all__ = ["compare"]

# A verdict that passes tells runs apart that differ by twice this part of the limit.
LARGEST_TOLERANCE = 5e-3
# Scales between these multiples of the start's own are tried for the limit that is nearest.
SCALES_TRIED = np.geomspace(1e-3, 1e3, 25)
# The nearest scale is wanted to two digits.
SCALE_TOLERANCE = 1e-3
# Steps of a run in a coarser number type, where their number is not known.
STEPS_SUPPOSED = 10_000


def compare(
    problem: Problem, run: Any, training: Optimiser | None = None, *, steps: int | None = None
) -> Verdict:
    """Compare a run that was made elsewhere with the limit that the theory predicts for it.

    The verdict says whether the data are fitted; how far the run is from the predicted limit, in
    the row space of X and out of it; how much of that its residual explains, and how much the step;
    by how much conserved quantities have drifted; and from which scale's limit the run cannot be
    told, "as if started from 0.73 of your scale".

    Parameters
    ----------
    problem
        What was trained, from where: network, initialisation and task.
    run
        Coefficients, layers in the order of the network's (a list of arrays, or an NPZ file that
        was loaded), a list of checkpoints of either, or a `Trajectory`. A list of arrays that has
        the shapes of the layers is taken as layers.
    training
        The optimiser, if it is known: GD, SGD, … with its learning rate. The effect of the step is
        then measured by runs of our own. Without it what the residual does not explain may be the
        step's, and a run that is off is INCONCLUSIVE instead of FAILED.
    steps
        The number of steps, if it is known; else as many as fit the data as well as the run does.

    Returns
    -------
    Verdict
        PASSED where the run ends at the limit within a derived tolerance below half a percent.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task, network = lp.Regression([[1.0, 2.0]], [1.0]), lp.Diagonal(depth=2)
    >>> problem = lp.Problem(network, lp.Init.zero_last(network, task, scale=0.1), task)
    >>> weights = [[0.1, 0.70], [0.0, 0.70]]
    >>> lp.compare(problem, weights).outcome.name
    'INCONCLUSIVE'
    """
    as_problem(problem)
    if training is not None:
        check_optimiser(training, "training")
    count = None if steps is None else as_steps(steps)
    _check_problem(problem)
    with job("compare", unit="parts done"):
        limit = engines.predict(problem)
        if limit.status is Status.SADDLE:
            raise LimitpointError(
                "the start is on the stable manifold of a saddle, where no training in float64 "
                "stays: there is nothing to compare a run with"
            )
        found = as_foreign_run(problem, run)
        return _verdict(_Comparison.of(problem, limit, found, training, count))


def _check_problem(problem: Problem) -> None:
    if isinstance(problem.task, Classification):
        raise LimitpointError(
            "compare judges regressions: the coefficients of a classification grow for ever. "
            "Compare its direction with flow(problem, margin=...) at the same margin"
        )
    if not problem.init.is_finite:
        raise InitError(
            "compare needs the scale that the run started from, positive and finite; give the "
            "problem an Init of the layers at its start, Init.from_layers(...)"
        )


@dataclass(frozen=True, eq=False)
class _Comparison:
    """A run beside the limit."""

    problem: Problem
    limit: Limit
    run: Trajectory
    scales: Sensitivity
    rounding: float
    effect: StepEffect | None

    @classmethod
    def of(
        cls,
        problem: Problem,
        limit: Limit,
        found: ForeignRun,
        training: Optimiser | None,
        steps: int | None,
    ) -> "_Comparison":
        """With what explains a distance between the two."""
        run, scales = found.record, sensitivity_of(problem, limit)
        measured = scales.relative_residual(run.coef) if np.isfinite(run.coef).all() else np.inf
        run = replace(run, relative_residual=measured)
        known = steps if run.steps is None else int(run.steps[-1])
        # Roundings of a step are as good as random beside each other.
        taken = STEPS_SUPPOSED if known is None else known
        rounding = 0.0 if found.eps == EPS else found.eps * float(np.sqrt(taken))
        effect = None
        if training is not None and np.isfinite(measured):
            effect = step_effect(
                problem, training, known, scales.relative_residual, max(measured, EPS)
            )
        elif run.steps is None and run.duals is not None:
            effect = StepEffect(np.zeros_like(run.coef), 0.0, "gradient flow")
        return cls(problem, limit, run, scales, rounding, effect)

    @property
    def distance(self) -> Float:
        """From the limit, in every coefficient."""
        found: Float = self.run.coef - self.limit.coef
        return found

    def parts(self, distance: Float) -> tuple[float, float]:
        """The lengths of a vector's parts in the row space of X and out of it, relative."""
        rows = RowSpace.of(self.problem.task.X).rows
        inside = rows.T @ (rows @ distance)
        sizes = (np.linalg.norm(inside), np.linalg.norm(distance - inside))
        return float(sizes[0]) / self.scales.size, float(sizes[1]) / self.scales.size


def _verdict(found: _Comparison) -> Verdict:
    """Every check, in the order in which the questions are asked."""
    checks = certificate_checks(found.limit)
    run, scales = found.run, found.scales
    if not np.isfinite(run.coef).all():
        diverged = Check("run: relative residual", np.inf, TRAINING_RESIDUAL, "the run diverged")
        return Verdict(found.problem, (*checks, diverged), found.limit, (), run)
    checks.append(
        Check(
            "run: relative residual",
            run.relative_residual,
            TRAINING_RESIDUAL,
            "else more steps are needed",
            compares=False,
        )
    )
    explained = scales.tolerance(run.coef) + found.rounding
    known = found.effect is not None
    moved = found.effect.moved if found.effect is not None else np.zeros_like(run.coef)
    unknown = found.effect.unknown / scales.size if found.effect is not None else 0.0
    tolerance = explained + SAFETY * unknown
    why = f"residual, rounding; {found.effect.how}" if found.effect else "residual, rounding"
    inside, outside = found.parts(found.distance - moved)
    for name, part in (("in the row space of X", inside), ("out of the row space of X", outside)):
        checks.append(Check(f"run: distance {name}", part, tolerance, why, compares=known))
    notes = (_distances(found, explained), *_drift(found), *_nearest_scale(found))
    missing = []
    if not found.limit.status.ok:
        missing.append(f"The prediction is not certified. {found.limit.status}")
    if tolerance > LARGEST_TOLERANCE:
        missing.append(
            f"What is known of the run explains a distance of {tolerance:.2g} of the limit: it "
            "cannot be told from one that is off by a percent. Train longer, with a smaller step, "
            "or give the optimiser and the number of steps."
        )
    elif not known and max(inside, outside) > tolerance:
        missing.append(
            "What the residual leaves unexplained may be the effect of the step: give the "
            "optimiser, training=..., and it is measured."
        )
    return Verdict(found.problem, tuple(checks), found.limit, (), run, notes, tuple(missing))


def _distances(found: _Comparison, explained: float) -> str:
    """How far, where, and why, in words."""
    inside, outside = found.parts(found.distance)
    text = (
        f"The run is {inside:.2g} of the limit's norm away from it in the row space of X and "
        f"{outside:.2g} out of it. Its residual explains up to {explained:.2g}"
    )
    if found.effect is None:
        return f"{text}; of the step nothing is known."
    step = float(np.linalg.norm(found.effect.moved)) + found.effect.unknown
    return f"{text}, the step about {step / found.scales.size:.2g} ({found.effect.how})."


def _drift(found: _Comparison) -> tuple[str, ...]:
    """By how much the quantities that the flow conserves have moved."""
    run, network = found.run, found.problem.network
    if run.layers is None or len(run.times) < 2:
        return ()
    drift = engines.drift(network, run)
    if not drift.start.size:
        return ()
    worst = np.unravel_index(int(np.argmax(drift.moved)), drift.moved.shape)
    before = float(drift.start[worst])
    return (
        f"Of {drift.start.size} conserved quantities the largest has moved by "
        f"{float(drift.moved[worst]):.2g} from {before:.3g} at the start, "
        f"{drift.relative:.2g} of the squared layers.",
    )


def _nearest_scale(found: _Comparison) -> tuple[str, ...]:
    """From which scale's limit the run can be told least, on the targets that it fits."""
    problem, coef = found.problem, found.run.coef
    task = problem.regression
    if problem.network.mirror_map(problem.init) is None:
        return ()
    fitted = replace(problem, task=Regression(task.X, task.X @ coef, task.loss_factor))

    def off(log_factor: float) -> float:
        log_scale = problem.init.log_scale + log_factor
        there = replace(fitted, init=problem.init.at_scale(log_scale=log_scale))
        try:
            return float(np.linalg.norm(engines.predict(there).coef - coef))
        except LimitpointError:
            return np.inf

    tried = np.log(SCALES_TRIED)
    sizes = [off(one) for one in tried]
    best = int(np.argmin(sizes))
    if not np.isfinite(sizes[best]) or best in (0, len(tried) - 1):
        return ()
    ends = tried[best - 1], tried[best + 1]
    nearest = minimize_scalar(
        off, bounds=ends, method="bounded", options={"xatol": SCALE_TOLERANCE}
    )
    size = found.scales.size
    return (
        f"It is nearest to a limit as if started from {np.exp(nearest.x):.3g} of your scale, "
        f"{nearest.fun / size:.2g} away instead of {off(0.0) / size:.2g}.",
    )
