"""How far from the limit of gradient flow a step of finite size takes a run.

Notation: r(η) the end of a run with learning rate η. Errors of a gradient step are of first order
in η, `r(η) = r(0) + aη + bη² + …`, so that `2(r(η) − r(η/2))` is `aη` but for terms of second
order, and the difference between that and twice the same at half the step is about what is left.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from limitpoint.dynamics import Optimiser
from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.problem import Problem
from limitpoint.tasks import Regression
from limitpoint.verify import engines

__all__ = ["StepEffect", "step_effect"]

# A run whose number of steps is not known is tried with so many, and with ever more until its
# residual is no larger, but for the last.
FIRST_STEPS, MOST_STEPS = 2_000, 512_000
# Draws are followed with so many seeds; their means and spreads then are known to about a half.
SEEDS = 8
# A draw lies within so many standard deviations of the mean.
DEVIATIONS = 5.0


@dataclass(frozen=True, eq=False)
class StepEffect:
    """By how much a run ends elsewhere than gradient flow on the same data.

    Attributes
    ----------
    moved
        In every coefficient, to first order or exactly; zero where only its size is known.
    unknown
        What is left of it: a distance.
    how
        In words.
    """

    moved: Float
    unknown: float
    how: str


def step_effect(
    problem: Problem,
    optimiser: Optimiser,
    steps: int | None,
    residual_of: Callable[[Float], float],
    aim: float,
) -> StepEffect:
    """From runs of our own, with the whole step and with less of it.

    Parameters
    ----------
    steps
        How many the run took, if that is known; else as many as bring the relative residual,
        `residual_of` the coefficients, to `aim`.
    """
    count = _steps_to(problem, optimiser, residual_of, aim) if steps is None else steps
    if optimiser.is_random:
        return _of_draws(problem, optimiser, count)
    run = engines.train(problem, optimiser, count)
    if run.effective_start is not None:
        return _by_law(problem, run.coef, run.effective_init[-1])
    halves = [run.coef]
    for k in (1, 2):
        optimiser = optimiser.refined()
        halves.append(engines.train(problem, optimiser, count * 2**k).coef)
    once, twice = 2 * (halves[0] - halves[1]), 4 * (halves[1] - halves[2])
    left = float(np.linalg.norm(once - twice))
    return StepEffect(twice, left, "effect of the step to second order, by halving it twice")


def _by_law(problem: Problem, coef: Float, init: Init) -> StepEffect:
    """The law of the step: on the targets that the run fits, both limits are exact."""
    task = problem.regression
    targets = Regression(task.X, task.X @ coef, task.loss_factor)
    there = replace(problem, task=targets)
    moved = coef - engines.predict(there).coef
    own = engines.predict(replace(there, init=init)).coef
    return StepEffect(moved, float(np.linalg.norm(coef - own)), "the law of the step")


def _of_draws(problem: Problem, optimiser: Optimiser, steps: int) -> StepEffect:
    """Bias and spread over seeds."""

    def ends(rule: Optimiser, count: int) -> Float:
        return np.stack(
            [engines.train(problem, rule.with_seed(seed), count).coef for seed in range(SEEDS)]
        )

    whole, half = ends(optimiser, steps), ends(optimiser.refined(), 2 * steps)
    bias = 2 * (whole.mean(axis=0) - half.mean(axis=0))
    spread = float(np.sqrt(whole.var(axis=0, ddof=1).sum()))
    left = float(np.linalg.norm(bias)) + DEVIATIONS * spread
    return StepEffect(np.zeros_like(bias), left, f"bias and spread of {SEEDS} runs of our own")


def _steps_to(
    problem: Problem, optimiser: Optimiser, residual_of: Callable[[Float], float], aim: float
) -> int:
    steps = FIRST_STEPS
    while steps < MOST_STEPS:
        run = engines.train(problem, optimiser, steps)
        numbers: list[int] = [] if run.steps is None else run.steps.tolist()
        for step, coef in zip(numbers, run.coefs, strict=True):
            if residual_of(coef) <= aim:
                return max(step, 1)
        steps *= 4
    return steps
