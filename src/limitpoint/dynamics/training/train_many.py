"""Train from many scales, with many seeds, by several optimisers at once."""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from limitpoint.dynamics.training.ensemble import Ends, Ensemble
from limitpoint.dynamics.training.optimisers import Optimiser
from limitpoint.dynamics.training.probes import Distance, Probe
from limitpoint.dynamics.training.smaller_problem import Compressed, compress
from limitpoint.dynamics.training.sweep import RESERVED, Sweep
from limitpoint.dynamics.training.train import (
    as_steps,
    check_optimiser,
    check_records,
    record_schedule,
)
from limitpoint.errors import LimitpointError, NetworkError
from limitpoint.foundation.arrays import (
    Float,
    as_float_array,
    as_kind,
    as_seed,
    as_several,
    shown,
)
from limitpoint.foundation.extras import lazy_module
from limitpoint.foundation.labels import carries_names
from limitpoint.foundation.progress import in_threads, job
from limitpoint.problem import Problem, as_problem

if TYPE_CHECKING:
    import jax
else:
    jax = lazy_module("jax", "training")

__all__ = ["train_many"]

# Means over more runs than this are known to a part in a thousand of their spread.
MOST_SEEDS = 2**20


@carries_names
def train_many(
    problem: Problem,
    optimisers: Optimiser | Iterable[Optimiser],
    steps: int,
    *,
    scales: ArrayLike | None = None,
    seeds: Iterable[int] = (0,),
    truth: ArrayLike | None = None,
    probes: Iterable[Probe] | None = None,
    record: int | ArrayLike | None = None,
) -> Sweep:
    """Train from many scales, with many seeds, by each of several optimisers.

    All scales and seeds of an optimiser are one compiled program. The layers are not recorded.

    Parameters
    ----------
    problem
        Network, initialisation and task.
    optimisers
        For instance `[GD(1e-3), SGD(1e-3, batch_size=4)]`.
    steps
        Number of steps of every run.
    scales
        Scales of the initialisation in place of `problem.init`'s own, along the same direction.
    seeds
        Seeds in place of the optimisers' own. Optimisers that draw nothing are run once for each
        scale, and the result is repeated along the seeds. Runs of the same seed see the same
        batches and noise at all scales, so that differences between scales are not blurred by
        sampling.
    truth
        Coefficients β* to which the distance is recorded as well.
    probes
        What to record besides the distance to the minimum-norm solution (`distance_l2`) and to the
        truth (`distance_truth`), for instance `[StartTerm(), NoiseTerm()]`.
    record
        As in `train`: a number of log-spaced records, or step numbers.

    Notes
    -----
    Rank-one and dense networks are trained in the few directions that move, which is the same up
    to rounding: 40 samples of 100 features at width 100 need 41 + 2·2·(depth − 1) numbers.

    Of a network without coefficients, like `ReLU`, only the loss is recorded.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task = lp.Regression([[1.0, 2.0, 1.0], [2.0, -1.0, 0.0]], [1.0, 0.0], loss_factor=1.0)
    >>> network = lp.RankOne(depth=2, width=10)
    >>> problem = lp.Problem(network, lp.Init.balanced(network, task, scale=1.0), task)
    >>> sweep = lp.train_many(
    ...     problem, [lp.GD(1e-2), lp.SGD(1e-2, 1)], 4000, scales=[0.5, 1.0], seeds=range(3)
    ... )
    >>> sweep.data["distance_l2"].dims, sweep.coefs.shape
    (('optimiser', 'scale', 'seed', 'step'), (2, 2, 3, 3))
    """
    as_problem(problem)
    rules = _checked_optimisers(optimisers)
    steps = as_steps(steps)
    schedule = record_schedule(steps, record)
    sizes = _checked_scales(problem, scales)
    numbers = _checked_seeds(seeds)
    recorded = _checked_probes(problem, rules, truth, probes)
    runs = len(rules) * len(sizes) * len(numbers)
    check_records(len(schedule), runs * (len(recorded) + 1))
    rotates = all(probe.rotates for probe in recorded if probe.integrates)
    small = compress(problem) if rotates else Compressed(problem)
    ensembles = [Ensemble(problem, small, rule, recorded) for rule in rules]

    settings: Any = jax.config
    device = settings.jax_default_device

    with job("training", steps * len(rules), unit="steps of all runs") as training:

        def run(ensemble: Ensemble) -> Ends:
            with jax.enable_x64(True), jax.default_device(device):  # settings of a thread
                return ensemble.train(sizes, numbers, schedule, training.advance)

        # Compiling takes as long as a short sweep: one program is compiled while another runs.
        ends = in_threads(run, ensembles, os.cpu_count() or 1)
    return Sweep.build(problem, rules, recorded, sizes, numbers, schedule, ends)


def _checked_optimisers(optimisers: Optimiser | Iterable[Optimiser]) -> tuple[Optimiser, ...]:
    if isinstance(optimisers, Optimiser):
        return (optimisers,)
    wanted = "an optimiser, like GD(learning_rate=1e-2), or several"
    rules = as_several(optimisers, wanted, "optimisers", LimitpointError)
    for i, rule in enumerate(rules):
        check_optimiser(rule, f"optimisers[{i}]")
    if not rules:
        raise LimitpointError("optimisers must hold at least one; it is empty")
    labels = [rule.label for rule in rules]
    if len(set(labels)) < len(labels):
        raise LimitpointError(
            f"optimisers must differ in more than their seed (give seeds=...); they are {labels}"
        )
    return rules


def _checked_scales(problem: Problem, scales: ArrayLike | None) -> Float:
    """The scales, each one that float64 can train from."""
    if scales is None:
        sizes = np.array([problem.init.scale])
    else:
        sizes = as_float_array(scales, "scales", LimitpointError, ndim=(1,))
    if (sizes < 0).any():
        raise LimitpointError(f"scales must not be negative; one is {sizes.min():g}")
    if not len(sizes):
        raise LimitpointError("scales must hold at least one; it is empty")
    if len(np.unique(sizes)) < len(sizes):
        raise LimitpointError("scales must differ; some are given twice")
    # Both checks are monotone in the scale.
    for scale in (sizes.min(), sizes.max()):
        init = problem.init if scales is None else problem.init.at_scale(float(scale))
        _ = init.layers
        init.check_products(problem.network.degree)
    return sizes


def _checked_seeds(seeds: Iterable[int]) -> NDArray[np.int64]:
    if isinstance(seeds, range) and len(seeds) > MOST_SEEDS:  # not listed, however long it is
        raise LimitpointError(f"seeds must hold at most {MOST_SEEDS}; it is {shown(seeds)}")
    given = as_several(seeds, "whole numbers, like range(20)", "seeds", LimitpointError)
    numbers = [as_seed(seed, "seeds", LimitpointError) for seed in given]
    if not numbers:
        raise LimitpointError("seeds must hold at least one; it is empty")
    if len(set(numbers)) < len(numbers):
        raise LimitpointError("seeds must differ; some are given twice")
    return np.array(numbers, dtype=np.int64)


def _checked_probes(
    problem: Problem,
    rules: tuple[Optimiser, ...],
    truth: ArrayLike | None,
    probes: Iterable[Probe] | None,
) -> tuple[Probe, ...]:
    """The distances that are always recorded, and what was asked for."""
    task = problem.regression
    recorded: list[Probe] = []
    if problem.network.is_linear:
        least: Float = np.asarray(np.linalg.lstsq(task.X, task.y, rcond=None)[0], dtype=np.float64)
        recorded.append(Distance(least, name="distance_l2"))
    if truth is not None:
        point = as_float_array(truth, "truth", LimitpointError, ndim=(1, 2))
        if point.shape != task.coef_shape:
            raise LimitpointError(
                f"truth must have the shape of the coefficients, {task.coef_shape}; it has "
                f"{point.shape}"
            )
        recorded.append(Distance(point, name="distance_truth"))
    asked = () if probes is None else probes
    given = as_several(asked, "probes, like [StartTerm()]", "probes", LimitpointError)
    for i, probe in enumerate(given):
        wanted = "a probe, like StartTerm()"
        recorded.append(as_kind(probe, Probe, wanted, f"probes[{i}]", LimitpointError))
    if recorded and not problem.network.is_linear:
        raise NetworkError(
            f"{problem.network} has no coefficients; drop truth and probes, which are read from "
            "coefficients"
        )
    names = [probe.name for probe in recorded]
    for name in names:
        if name in RESERVED or names.count(name) > 1:
            raise LimitpointError(f"probes must have names of their own; {name!r} is taken")
    for probe in recorded:
        for rule in rules:
            probe.check(problem, rule)
    return tuple(recorded)
