"""Loss and fit of a network from its layers, whether it has coefficients or only outputs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from limitpoint.dynamics.relative_residual import RelativeResidual
from limitpoint.foundation.arrays import Float
from limitpoint.problem import Problem
from limitpoint.tasks import Regression

__all__ = [
    "loss_at",
    "margins_at",
    "measure_of",
    "measured",
    "measured_task",
    "smooth_loss_at",
    "wrong_share",
]


def loss_at(problem: Problem, layers: Sequence[Any]) -> Any:
    """The task's loss at these layers; traceable by JAX."""
    task = problem.task
    return task.loss_of_outputs(problem.network.outputs(layers, task.X), task.y)


def smooth_loss_at(problem: Problem, layers: Sequence[Any], size: float) -> Any:
    """The same with the network's kinks rounded off; `size` is that of the layers' entries."""
    task = problem.task
    return task.loss_of_outputs(problem.network.smooth_outputs(layers, task.X, size), task.y)


def margins_at(problem: Problem, layers: Sequence[Any]) -> Float:
    """The margins `y_i f(x_i)` of a classification at these layers."""
    task = problem.classification
    return np.asarray(task.y * problem.network.outputs(layers, task.X))


def wrong_share(margins: Float) -> float:
    """The share of samples on the wrong side: the relative residual of a classification."""
    return float((margins <= 0).mean())


def measured(problem: Problem, layers: Sequence[Any]) -> Float:
    """What is compared with the data: coefficients, or outputs where the network has none."""
    network = problem.network
    if network.is_linear:
        return np.asarray(network.coef(layers))
    return np.asarray(network.outputs(layers, problem.task.X))


def measured_task(problem: Problem) -> Regression:
    """The task of `measured`; outputs are coefficients of the samples themselves.

    What a network without coefficients can reach is not known, so that y itself is aimed at.
    """
    task = problem.regression
    if problem.network.is_linear:
        return task
    return Regression(np.eye(task.n_samples), task.y, task.loss_factor)


def measure_of(problem: Problem, layers: Sequence[Any]) -> RelativeResidual:
    """The best fit that training from these layers can reach, and its unit."""
    task, start = measured_task(problem), measured(problem, layers)
    growth = problem.network.log_chart(problem.init)
    if growth is None:
        return RelativeResidual.of(task, start)
    return RelativeResidual.of(task, start, growth.lower, growth.upper)
