"""What the running sums of the law of the step add to the cost of a training step.

The ratio is that of a step without the sums to one with them: above 1/1.2, they cost below 20 %.
"""

import time

import jax
import jax.numpy as jnp
import numpy as np

import limitpoint as lp
from benchmarks.timing import Row
from limitpoint.dynamics.training.start_of_flow import StepSums
from limitpoint.dynamics.training.train import compiled

# Samples and features, and for how many steps a measurement lasts: some milliseconds, so that the
# shortest of many is one that nothing has interrupted.
SIZES = {(10, 25): 6400, (40, 100): 3200, (100, 1000): 320}
REPEATS = 300
MOST_COST = 0.2
# The two ways to the same layers round differently, in every step: training contracts.
AGREEMENT = 1e-10


def rows() -> list[Row]:
    with jax.enable_x64(True):
        return [cost(*size, steps) for size, steps in SIZES.items()]


def cost(samples: int, features: int, steps: int) -> Row:
    """GD of a diagonal network of two layers, with and without, in turns."""
    rng = np.random.default_rng(0)
    task = lp.Regression(rng.standard_normal((samples, features)), rng.standard_normal(samples))
    network, rate = lp.Diagonal(depth=2), 1e-3 / samples
    problem = lp.Problem(network, lp.Init.zero_last(network, task, scale=0.3), task)
    rule = lp.GD(rate)
    programs = [compiled(problem, rule, sums) for sums in (StepSums.of(problem, rule), None)]
    shortest, ends = [np.inf, np.inf], [None, None]
    for _ in range(REPEATS):
        for i, (advance, start) in enumerate(programs):
            begin = time.perf_counter()
            ends[i] = jax.block_until_ready(advance(start, None, 0, 0, steps))
            shortest[i] = min(shortest[i], time.perf_counter() - begin)
    off = max(float(jnp.abs(a - b).max()) for a, b in zip(ends[0][0], ends[1][0], strict=True))
    return Row(
        job=f"GD with the sums of the law of the step, {samples}×{features}, one step",
        peer="without them",
        seconds=shortest[0] / steps,
        peer_seconds=shortest[1] / steps,
        accuracy=off,
        peer_accuracy=0.0,
        at_least=1 / (1 + MOST_COST),
        negligible=AGREEMENT,
    )
