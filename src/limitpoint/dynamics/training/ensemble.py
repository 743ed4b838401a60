"""The compiled program that trains one network from many scales with many seeds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from limitpoint.dynamics.fit import loss_at
from limitpoint.dynamics.training.chunks import Chunks
from limitpoint.dynamics.training.descent import Layers
from limitpoint.dynamics.training.optimisers import Optimiser
from limitpoint.dynamics.training.probes import Probe
from limitpoint.dynamics.training.smaller_problem import Compressed
from limitpoint.dynamics.training.start_of_flow import StepSums, follow
from limitpoint.foundation.arrays import Float
from limitpoint.foundation.extras import lazy_module
from limitpoint.networks import CoupledNetwork
from limitpoint.problem import Problem

if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
else:
    jax, jnp = lazy_module("jax", "training"), lazy_module("jax.numpy", "training")

__all__ = ["Ends", "Ensemble"]

# So many random draws are handed over at a time, 64 MB of samples or 128 MB of noise: a longer or
# wider sweep is advanced in several calls of the same program.
DRAWS_AT_ONCE = 2**24
# A call reads off what is recorded at so many steps. More would be read in vain by calls that end
# before them; fewer would make calls short where all steps are recorded.
STOPS = 8

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ends:
    """What is kept of all runs of an optimiser; the first axes are scale and seed.

    Attributes
    ----------
    records
        The loss and every probe (last axis) at every recorded step (last but one).
    coefs
        Coefficients at the end.
    outers
        Products of all layers but the first at the end, where the network has such.
    growth
        What the steps multiply the start by, in logarithms (`EffectiveStart`), where there is such.
    outputs
        Outputs at the end, of the shape of y.
    """

    records: Float
    coefs: Float
    outputs: Float
    outers: Float | None
    growth: Float | None


@dataclass(frozen=True, eq=False)
class Ensemble:
    """All runs of one optimiser. Arrays inside have axes seed and scale, and then their own.

    Attributes
    ----------
    problem
        The problem as it was asked.
    small
        The problem that is trained.
    """

    problem: Problem
    small: Compressed
    optimiser: Optimiser
    probes: tuple[Probe, ...]

    def train(
        self,
        scales: Float,
        seeds: Whole,
        schedule: Whole,
        advanced: Callable[[int], None] = lambda _: None,
    ) -> Ends:
        """Follow all runs through the schedule; to be called with 64-bit numbers enabled.

        In many short calls of one program, after each of which `advanced` is told of its steps.
        """
        # Without draws all seeds are one.
        seeds = seeds if self.optimiser.is_random else seeds[:1]
        layers = tuple(
            jnp.asarray(
                np.tile(np.multiply.outer(scales, layer), (len(seeds), *[1] * (layer.ndim + 1)))
            )
            for layer in self.small.problem.init.direction
        )
        shape = (len(seeds), len(scales), *self.small.problem.task.coef_shape)
        integrals = tuple(jnp.zeros(shape) for _ in self._integrated)
        sums = () if self._sums is None else self._sums.start(shape)
        memory = self.optimiser.memory(layers)
        state, records, chunks = ((*layers, *memory), integrals, sums), [], Chunks()
        for drawn, stops, draws in self._stretches(seeds, schedule):
            for begin, group, asked in _groups(drawn, stops, schedule):
                for first, last in chunks.between(begin, int(group[-1])):
                    reached = np.clip(group, first, last)
                    state, kept, ends = self._advance(state, layers, draws, drawn, first, reached)
                    new = (group <= last) & (group > (first or -1))  # the start with the first
                    records.append(np.asarray(kept)[asked & new])  # waits for the call
                    advanced(last - first)
        growth = None if self._sums is None else self._sums.growth(state[2], int(schedule[-1]))
        return self._ends(np.concatenate(records), growth, *ends)

    @cached_property
    def _sums(self) -> StepSums | None:
        return StepSums.of(self.small.problem, self.optimiser)

    @cached_property
    def _integrated(self) -> tuple[Probe, ...]:
        return tuple(probe for probe in self.probes if probe.integrates)

    @cached_property
    def _step(self) -> Any:
        """One step of all runs: a draw is for one seed, and serves all scales."""
        one = self.optimiser.stepper(self.small.problem) if self._sums is None else self._sums.step
        drawn = 0 if self.optimiser.is_random else None
        return jax.vmap(jax.vmap(one, (0, None)), (0, drawn))

    @cached_property
    def _advance(self) -> Any:
        """From the state before step `first` through all stops, with what is read off at each.

        The draws are those from step `drawn` on.
        """
        time_per_step, problem = self.optimiser.time_per_step, self.small.problem
        network, X = problem.network, problem.task.X
        count = len(problem.init.direction)

        def ends(layers: Layers) -> Any:
            outer = network.outer(layers) if isinstance(network, CoupledNetwork) else None
            return network.coef(layers), network.outputs(layers, X), outer

        def advance(state: Any, layers: Any, draws: Any, drawn: Any, first: Any, stops: Any) -> Any:
            starts = _over_runs(network.coef)(layers)

            def one(i: Any, now: Any) -> Any:
                layers, integrals, sums = now
                after = self._step(layers, None if draws is None else draws[i - drawn])
                if self._sums is not None:
                    after, moved = after
                    sums = self._sums.added(sums, moved)
                slopes = self._integrands(layers[:count])
                integrals = tuple(
                    total + time_per_step * slope
                    for total, slope in zip(integrals, slopes, strict=True)
                )
                return after, integrals, sums

            def to_stop(now: Any, stop: Any) -> Any:
                reached, inner = now
                inner = follow(self._sums, reached, stop, one, inner)
                return (stop, inner), _over_runs(self._read)(inner[0][:count], inner[1], starts)

            (_, state), kept = jax.lax.scan(to_stop, (first, state), stops)
            return state, kept, _over_runs(ends)(state[0][:count])

        return jax.jit(advance)

    def _integrands(self, layers: Layers) -> tuple[Any, ...]:
        if not self._integrated:
            return ()
        problem = self.small.problem

        def of_one(layers: Layers) -> tuple[Any, ...]:
            coef = problem.network.coef(layers)
            return tuple(probe.integrand(problem, coef) for probe in self._integrated)

        integrands: tuple[Any, ...] = _over_runs(of_one)(layers)
        return integrands

    def _read(self, layers: Layers, integrals: tuple[Any, ...], start: Any) -> Any:
        """The loss and every probe of one run."""
        small = self.small
        inner = small.problem.network.coef(layers)
        coef, start = small.coef(inner), small.coef(start)
        totals = iter(integrals)
        numbers = [loss_at(small.problem, layers)]
        for probe in self.probes:
            total = small.coef(next(totals)) if probe.integrates else None
            numbers.append(probe.value(self.problem, self.optimiser, start, coef, total))
        return jnp.stack(numbers)

    def _stretches(self, seeds: Whole, schedule: Whole) -> Iterator[tuple[int, Whole, Any]]:
        """First step, stops and draws of each stretch of steps that are drawn together.

        All have draws of the same shape, so that there is one program. The last stop of a stretch
        is its end, whether it is to be recorded or not.
        """
        steps = int(schedule[-1])
        if not self.optimiser.is_random:
            yield 0, schedule, None
            return
        n_samples, outputs = self.problem.task.n_samples, self.problem.task.y.shape[1:]
        rules = [self.optimiser.with_seed(int(seed)) for seed in seeds]
        drawn = self.optimiser.draws(n_samples, 0, 1, outputs)
        each = len(rules) * (1 if drawn is None else drawn.size)
        length = min(steps, max(DRAWS_AT_ONCE // each, 1))
        for first in range(0, steps, length):
            end = min(first + length, steps)
            inside = (schedule > (first or -1)) & (schedule <= end)  # the start with the first
            draws = np.stack(
                [np.asarray(rule.draws(n_samples, first, length, outputs)) for rule in rules], 1
            )
            yield first, np.union1d(schedule[inside], [end]), jnp.asarray(draws)

    def _ends(self, records: Float, growth: Any, coefs: Any, outputs: Any, outers: Any) -> Ends:
        """With the axes in the order in which they are handed on, in the problem's own features."""
        coefs = np.swapaxes(self.small.coef(np.asarray(coefs)), 0, 1)
        if outers is not None:
            outers = np.swapaxes(self.small.outer(np.asarray(outers)), 0, 1)
        outputs = np.swapaxes(np.asarray(outputs), 0, 1)
        if growth is not None:  # sides, seeds, scales, features
            growth = np.moveaxis(growth, (2, 1, 0), (0, 1, 2))
        return Ends(np.moveaxis(records, (2, 1, 0), (0, 1, 2)), coefs, outputs, outers, growth)


def _over_runs(function: Any) -> Any:
    """The same for all seeds and scales."""
    return jax.vmap(jax.vmap(function))


def _groups(
    first: int, stops: Whole, schedule: Whole
) -> Iterator[tuple[int, Whole, NDArray[np.bool_]]]:
    """The stops in groups of equal size, the last filled up.

    Each with the step before it, and which of its stops are to be recorded.
    """
    for i in range(0, len(stops), STOPS):
        group = stops[i : i + STOPS]
        missing = STOPS - len(group)
        asked = np.pad(np.isin(group, schedule), (0, missing))
        yield first, np.pad(group, (0, missing), mode="edge"), asked
        first = int(group[-1])
