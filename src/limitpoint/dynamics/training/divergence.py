"""When a training run has diverged: one rule for single runs and for sweeps."""

import numpy as np
from numpy.typing import NDArray

from limitpoint.dynamics.training.optimisers import Optimiser
from limitpoint.foundation.arrays import Float
from limitpoint.problem import Problem

__all__ = ["has_diverged"]

LOG_EPS = float(np.log(np.finfo(np.float64).eps))


def has_diverged(
    problem: Problem, optimiser: Optimiser, log_starts: Float, log_ends: Float
) -> NDArray[np.bool_]:
    """Whether runs diverged, given the logarithms of their losses at the start and at the end.

    Gradient flow never raises the loss, and a run that follows it ends below its start. A run with
    larger steps need not: its loss may rise before it falls, go on oscillating, or fluctuate with
    the batches and the labels' noise. All of that is measured in the size of what is fitted: the
    loss at the start, that of outputs zero, and that of the noise alone. (At a step η noise of size
    δ keeps an output of curvature λ within δ√(ηλ/(2 − ηλ)), which is about δ until the step is
    unstable.) A run has diverged whose loss is infinite, or so large that their sum, added to it,
    is lost to rounding. Its next steps do not know the data any more: from there on the layers of a
    deep network are multiplied by a power of themselves in every step.
    """
    task = problem.task
    nothing = np.zeros_like(task.y)
    with np.errstate(divide="ignore", over="ignore"):
        sizes = [log_starts, np.log(task.loss_of_outputs(nothing, task.y))]
        if optimiser.label_noise > 0:
            noise = np.full_like(task.y, optimiser.label_noise)
            sizes.append(np.log(task.loss_of_outputs(nothing, noise)))
    held = (log_ends < np.inf) & (
        log_ends <= np.logaddexp.reduce(np.broadcast_arrays(*sizes)) - LOG_EPS
    )
    return np.asarray(~held)
