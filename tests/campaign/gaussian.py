"""Problems of the families on Gaussian data."""

from dataclasses import replace

import numpy as np
from tests.campaign.family import scale_of

import limitpoint as lp

SAMPLES, FEATURES = (2, 10), (3, 25)


def gaussian(case, rng, powers):
    """The network and the kind of start of a case, on Gaussian data at a scale `10^power`.

    Where all layers have an entry per feature, there are 3 to 25 features, each with the layers of
    some feature of the case times one random number, so that ties within a coefficient stay. One
    sample stays one; tasks that are not plain regressions keep their data.
    """
    problem = case.problem
    task, init = problem.task, problem.init
    m, n = task.X.shape
    direction = init.direction
    if type(task) is lp.Regression:
        m = m if m == 1 else int(rng.integers(SAMPLES[0], SAMPLES[1] + 1))
        if _entrywise(problem.network, n):
            n = int(rng.integers(FEATURES[0], FEATURES[1] + 1))
            places, sizes = rng.integers(0, len(direction[0]), n), 1 + rng.random(n)
            direction = [layer[places] * sizes for layer in direction]
        outputs = task.y.shape[1:]
        task = lp.Regression(rng.standard_normal((m, n)), rng.standard_normal((m, *outputs)))
    scale = scale_of(rng.uniform(*powers)) if init.is_finite else {"scale": init.scale}
    start = lp.Init(direction, **scale)
    made = replace(problem, init=start, task=task)
    return replace(case, problem=made, design=task.X, oracle=None)


def _entrywise(network, n):
    """Whether every layer has one entry for each feature, however many there are."""
    tasks = {size: lp.Regression(np.ones((1, size)), [1.0]) for size in (n, n + 1)}
    try:
        shapes = {size: network.layer_shapes(task) for size, task in tasks.items()}
    except lp.errors.LimitpointError:  # a network for so many features alone
        return False
    return all(shape == (size,) for size, found in shapes.items() for shape in found)
