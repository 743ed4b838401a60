"""Training as a practitioner does it: compiled by JAX, in float64. Knows nothing of the theory."""

from dataclasses import replace
from itertools import pairwise
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from limitpoint.dynamics.fit import loss_at, margins_at, measure_of, measured, wrong_share
from limitpoint.dynamics.training.chunks import Chunks
from limitpoint.dynamics.training.descent import Layers
from limitpoint.dynamics.training.divergence import has_diverged
from limitpoint.dynamics.training.optimisers import Optimiser
from limitpoint.dynamics.training.start_of_flow import EffectiveStart, StepSums, follow
from limitpoint.dynamics.trajectory import Trajectory
from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import (
    Float,
    as_float_array,
    as_kind,
    as_whole_number,
    check_numbers,
    shown,
)
from limitpoint.foundation.extras import lazy_module
from limitpoint.foundation.labels import carries_names
from limitpoint.foundation.progress import job
from limitpoint.problem import Problem, as_problem
from limitpoint.status import Status
from limitpoint.tasks import Classification

if TYPE_CHECKING:
    import jax
else:
    jax = lazy_module("jax", "training")

__all__ = ["train"]

# Records on the default, log-spaced schedule.
RECORDS = 200
# So many steps are counted exactly by a float, as the times of a run are.
MOST_STEPS = 2**53
# A log-spaced schedule has no use for more: its neighbours differ by a part in 1e5 of the run.
MOST_RECORDS = 2**20
# Random draws are passed in for at most so many steps at a time, and so many bytes.
DRAWN_CHUNK = 4096
DRAWN_BYTES = 2**26
# Training counts as converged when the data are fitted to this, relative.
RESIDUAL_TOLERANCE = 1e-9


@carries_names
def train(
    problem: Problem,
    optimiser: Optimiser,
    steps: int,
    *,
    record: int | ArrayLike | None = None,
) -> Trajectory:
    """Train the network's parameters for a number of steps.

    Parameters
    ----------
    problem
        Network, initialisation and task. The initial layers must be representable in float64.
    optimiser
        For instance `GD(learning_rate=1e-2)`, `SGD(learning_rate=1e-2, batch_size=4)` or
        `LabelNoise(learning_rate=1e-2, delta=0.1)`, which is for regressions.
    steps
        Number of steps.
    record
        Number of log-spaced records, or the step numbers to record. The start and the end are
        always recorded.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task = lp.Regression([[1.0, 2.0]], [1.0])
    >>> network = lp.Diagonal(depth=2)
    >>> problem = lp.Problem(network, lp.Init.zero_last(network, task, scale=1e-4), task)
    >>> lp.train(problem, lp.GD(learning_rate=1e-2), steps=5000).coef.round(3).tolist()
    [0.0, 0.5]
    """
    as_problem(problem)
    check_optimiser(optimiser)
    steps = as_steps(steps)
    schedule = record_schedule(steps, record)
    start = problem.init.layers
    check_records(len(schedule), sum(layer.size for layer in start))
    problem.init.check_products(problem.network.degree)
    with jax.enable_x64(True):
        kept, growths = _run(problem, optimiser, schedule)
    layers = tuple(np.stack([np.asarray(record[i]) for record in kept]) for i in range(len(start)))
    run = _as_trajectory(problem, optimiser, schedule[: len(kept)], layers)
    if not growths:
        return run
    return replace(run, effective_start=EffectiveStart.of(problem, np.stack(growths)))


def _run(
    problem: Problem,
    optimiser: Optimiser,
    schedule: NDArray[np.int64],
) -> tuple[list[Layers], list[Float]]:
    """Layers at every scheduled step, up to the first that is not finite.

    With them, where there are such, the sums of the steps so far.
    """
    sums, outputs = StepSums.of(problem, optimiser), problem.task.y.shape[1:]
    count = len(problem.init.direction)
    drawn = _drawn_at_once(problem, optimiser, schedule)
    advance, state = compiled(problem, optimiser, sums)
    layers = state[0][:count]
    kept, growths, chunks = [layers], [], Chunks()
    with job("training", int(schedule[-1])) as training:
        for previous, following in pairwise(schedule):
            for begin in range(int(previous), int(following), drawn):
                end = min(begin + drawn, int(following))
                # As many draws in every call, used or not: the shape is compiled in.
                draws = optimiser.draws(problem.task.n_samples, begin, drawn, outputs)
                for first, last in chunks.between(begin, end):
                    state = advance(state, draws, begin, first, last)
                    state[0][0].block_until_ready()
                    training.advance(last - first)
            layers = state[0][:count]
            kept.append(layers)
            if sums is not None:
                growths.append(sums.growth(state[1], int(following)))
            if not all(bool(jax.numpy.isfinite(layer).all()) for layer in layers):
                break
    if sums is not None:
        growths.insert(0, np.zeros_like(growths[0]))
    return kept, growths


def compiled(problem: Problem, optimiser: Optimiser, sums: StepSums | None) -> tuple[Any, Any]:
    """The program of a stretch of steps, and the state at the start.

    The state are the layers, with the memory of the optimiser if it has one, and the sums if any.
    """
    step = optimiser.stepper(problem)

    @jax.jit
    def advance(state: Any, draws: Any, drawn: int, first: int, last: int) -> Any:
        def one(i: Any, now: Any) -> Any:
            layers, added = now
            draw = None if draws is None else draws[i - drawn]
            if sums is None:
                return step(layers, draw), added
            layers, moved = sums.step(layers, draw)
            return layers, sums.added(added, moved)

        return follow(sums, first, last, one, state)

    layers: Layers = tuple(jax.numpy.asarray(layer) for layer in problem.init.layers)
    added = () if sums is None else sums.start(problem.task.coef_shape)
    return advance, ((*layers, *optimiser.memory(layers)), added)


def _drawn_at_once(problem: Problem, optimiser: Optimiser, schedule: NDArray[np.int64]) -> int:
    """For how many steps is drawn at a time; no more than are used."""
    one = optimiser.draws(problem.task.n_samples, 0, 1, problem.task.y.shape[1:])
    longest = int(np.diff(schedule).max())
    return longest if one is None else min(DRAWN_CHUNK, longest, max(DRAWN_BYTES // one.nbytes, 1))


def _as_trajectory(
    problem: Problem,
    optimiser: Optimiser,
    steps: NDArray[np.int64],
    layers: tuple[Float, ...],
) -> Trajectory:
    records = [[layer[r] for layer in layers] for r in range(len(steps))]
    with np.errstate(over="ignore", invalid="ignore"):
        coefs = np.stack([problem.network.coef(record) for record in records])
        losses = np.array([loss_at(problem, record) for record in records])
    times = np.asarray(steps * optimiser.time_per_step, dtype=np.float64)
    kind = f"training by {optimiser}"
    if isinstance(problem.task, Classification):
        with np.errstate(all="ignore"):
            margins = np.stack([margins_at(problem, record) for record in records])
            log_losses = np.asarray(problem.task.log_loss(margins))
            log_times = np.log(times)
        finite = bool(np.isfinite(log_losses[-1]))
        diverged = has_diverged(problem, optimiser, log_losses[0], log_losses[-1])
        return Trajectory.build(
            kind=kind,
            status=Status.DIVERGED if diverged else Status.REACHED_END,
            times=times,
            coefs=coefs,
            losses=losses,
            layers=layers,
            steps=steps,
            relative_residual=wrong_share(margins[-1]) if finite else np.inf,
            log_times=log_times,
            log_losses=log_losses,
            margins=margins,
        )
    measure = measure_of(problem, records[0])
    with np.errstate(divide="ignore"):
        log_losses = np.log(losses)
    # Where the start fits and has no size of its own, only noise can move the run, and off the fit.
    moved_off = measure.unit == 0.0 and losses[-1] > losses[0]
    relative_residual = np.inf
    if np.isfinite(losses[-1]) and not moved_off:
        relative_residual = measure.relative_residual(measured(problem, records[-1]))
    status = measure.arrived if relative_residual <= RESIDUAL_TOLERANCE else Status.REACHED_END
    if has_diverged(problem, optimiser, log_losses[0], log_losses[-1]):
        status = Status.DIVERGED
    return Trajectory.build(
        kind=kind,
        status=status,
        times=times,
        coefs=coefs,
        losses=losses,
        layers=layers,
        steps=steps,
        relative_residual=relative_residual,
    )


def check_optimiser(optimiser: Optimiser, name: str = "optimiser") -> None:
    """Raise `LimitpointError` for what is no optimiser."""
    wanted = "an optimiser, like GD(learning_rate=1e-2)"
    as_kind(optimiser, Optimiser, wanted, name, LimitpointError)


def as_steps(value: Any) -> int:
    """Return the argument `steps` of a function, or raise `LimitpointError`."""
    return as_whole_number(value, 1, "steps", LimitpointError, most=MOST_STEPS)


def check_records(records: int, numbers: int) -> None:
    """Raise `LimitpointError` where so many records of so many numbers fill the memory."""
    what = f"{records} records of {numbers} numbers each"
    check_numbers(records * numbers, "record", what, LimitpointError)


def record_schedule(steps: int, record: int | ArrayLike | None) -> NDArray[np.int64]:
    """Step numbers to record, from 0 to the last."""
    rule = "record must be a number of records or a list of step numbers"
    if record is None or (isinstance(record, Integral) and not isinstance(record, bool)):
        count = as_whole_number(
            RECORDS if record is None else record, 1, "record", LimitpointError, most=MOST_RECORDS
        )
        inner = np.geomspace(1, steps, count).round().astype(np.int64)
    else:
        try:
            numbers = as_float_array(record, "record", LimitpointError, ndim=(1,))
        except LimitpointError:
            raise LimitpointError(f"{rule}; it is {shown(record)}") from None
        inner = np.asarray(record)
        if inner.size and not np.issubdtype(inner.dtype, np.integer):
            raise LimitpointError(f"{rule}; it is {shown(record)}")
        if inner.size and (numbers.min() < 0 or numbers.max() > steps):
            raise LimitpointError(f"record must hold step numbers between 0 and {steps}")
    return np.unique(np.concatenate([[0], inner, [steps]])).astype(np.int64)
