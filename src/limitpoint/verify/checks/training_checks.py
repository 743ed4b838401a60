"""Checks of a training run."""

import numpy as np

from limitpoint.dynamics import LabelNoise, Optimiser, RelativeResidual, Trajectory
from limitpoint.dynamics.row_space import RowSpace
from limitpoint.errors import LimitpointError
from limitpoint.networks import CoupledNetwork, TwoLayer
from limitpoint.problem import Problem
from limitpoint.theory import Limit
from limitpoint.verify import engines
from limitpoint.verify.sensitivity import EPS, SAFETY, Sensitivity
from limitpoint.verify.verdict import Check, arrival_check

__all__ = [
    "has_null_space",
    "law_check",
    "random_training_checks",
    "training_checks",
    "training_notes",
]

# A training run that misses the data by more than this has not ended yet, and cannot be compared.
TRAINING_RESIDUAL = 1e-3


def has_null_space(problem: Problem) -> bool:
    """Whether the data leave a null space: else the law says nothing, and no run can break it."""
    return len(RowSpace.of(problem.task.X).rows) < problem.task.n_features


def law_check(name: str, problem: Problem, run: Trajectory, steps: int) -> Check:
    """The first layer's part in the null space of the data, which no gradient step changes."""
    return Check(
        f"{name}: null-space law",
        engines.null_space_drift(problem, run),
        # Every step rounds every entry once in the sum and a few times in the gradient.
        SAFETY * EPS * (1 + steps),
        "rounding of every step",
    )


def random_training_checks(problem: Problem, optimiser: Optimiser, run: Trajectory) -> list[Check]:
    """A run with noise ends where the law says, given its own outer layers.

    With noise on the labels it never ends, and the law alone is checked.
    """
    network, task = problem.network, problem.regression
    if not isinstance(network, CoupledNetwork | TwoLayer) or run.layers is None:
        raise LimitpointError(
            f"verify cannot judge noisy training of {network}: what is predicted is the end of "
            "the flow, and only rank-one, fully connected and two-layer networks have a law that "
            "noise obeys. Train by GD, or compare with train"
        )
    measure = RelativeResidual.of(task, np.asarray(network.coef(problem.init.layers)))
    relative_residual = arrival_check(
        "training: relative residual",
        run,
        # By the coefficients too: the tolerance of the distance takes their relative residual for
        # granted.
        max(run.relative_residual, measure.relative_residual(run.coef)),
        TRAINING_RESIDUAL,
        "else more steps are needed",
    )
    law = law_check("training", problem, run, int(run.steps[-1]) if run.steps is not None else 0)
    kept = [law] if has_null_space(problem) else []
    if isinstance(optimiser, LabelNoise):
        return kept
    if not np.isfinite(run.coef).all():
        return [relative_residual, *kept]
    outer = network.outer([layer[-1] for layer in run.layers])
    end = engines.limit_given_outer(problem, outer)
    size = float(np.linalg.norm(end.coef)) or 1.0
    # What is left of the residual, taken back to the coefficients, and the law's own rounding.
    left = np.linalg.lstsq(task.X, task.y - task.X @ run.coef, rcond=None)[0]
    grown = float(np.linalg.norm(outer) * np.max(np.abs(run.layers[0])))
    rounding = law.tolerance * grown * np.sqrt(task.n_features)
    return [
        relative_residual,
        *kept,
        Check(
            "training: distance from the law's end",
            float(np.linalg.norm(run.coef - end.coef)) / size,
            SAFETY * (float(np.linalg.norm(left)) + rounding) / size + end.certificate.tolerance,
            "residual taken back to the coefficients",
        ),
    ]


def training_notes(problem: Problem, limit: Limit) -> tuple[str, ...]:
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


def training_checks(
    problem: Problem,
    optimiser: Optimiser,
    run: Trajectory,
    finer: Trajectory,
    scales: Sensitivity,
) -> list[Check]:
    """Compare a run with the limit, given a run with half its step."""
    # Halving the step halves a first-order error, so the two runs differ by half of it.
    with np.errstate(over="ignore", invalid="ignore"):  # a diverged run fails its checks as NaN
        relative_residual = scales.relative_residual(run.coef)
        step_effect = 2 * float(np.linalg.norm(run.coef - finer.coef)) / scales.size
        distance = scales.distance(run.coef)
        lost = float(run.losses[0] - run.losses[-1])
    checks = [
        # By what the start can reach, which training itself does not know of every network.
        arrival_check(
            "training: relative residual",
            run,
            relative_residual,
            TRAINING_RESIDUAL,
            "else more steps are needed",
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
    # step × (loss(0) − loss(end)). That is of plain steps against the gradient: a memory mixes
    # layers of one step with gradients of another.
    plain = optimiser.step_in_coefs(problem) is not None
    if plain and problem.network.invariants_are_quadratic:
        moved = engines.drift(problem.network, run)
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
