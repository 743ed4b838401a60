"""Stochastic differential equations: many paths at once."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from limitpoint.dynamics.training.chunks import FIRST, Chunks
from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import (
    Float,
    as_kind,
    as_positive,
    as_seed,
    as_whole_number,
    check_numbers,
    read_only,
)
from limitpoint.foundation.display import Page, counted, left_out, number, table
from limitpoint.foundation.extras import lazy_module
from limitpoint.foundation.progress import job
from limitpoint.foundation.result import Result

if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
    import xarray as xr
else:
    jax, jnp = (lazy_module(name, "simulate") for name in ("jax", "jax.numpy"))
    xr = lazy_module("xarray", "to_xarray")

__all__ = ["Diffusion", "Paths", "simulate"]

RECORDS = 100
EPS = float(np.finfo(np.float64).eps)
# A printed table shows this many moments.
ROWS_SHOWN = 12


class Diffusion(ABC):
    """An Itô equation `dx = drift(x) dt + diffusion(x) dW`, traceable by JAX and hashable."""

    @property
    @abstractmethod
    def start(self) -> Any:
        """The state at time 0."""

    @property
    @abstractmethod
    def noise_dimension(self) -> int:
        """Number of independent Brownian motions."""

    @property
    @abstractmethod
    def time_step(self) -> float:
        """The natural step of the simulation."""

    @abstractmethod
    def drift(self, state: Any) -> Any:
        """The drift of the state, of its shape."""

    @abstractmethod
    def diffusion(self, state: Any) -> Any:
        """The matrix of the noise, dimension × noise_dimension."""

    def kick(self, state: Any, increment: Any) -> Any:
        """`diffusion(x) ΔW`; a model that has this without the matrix can say so."""
        return self.diffusion(state) @ increment


@dataclass(frozen=True, eq=False, repr=False)
class Paths(Result):
    """Simulated paths of a diffusion.

    Attributes
    ----------
    times
        Times of the records.
    states
        Paths × times × dimension.
    """

    times: Float
    states: Float

    def __post_init__(self) -> None:
        read_only(self.times)
        read_only(self.states)

    @property
    def mean(self) -> Float:
        """Mean over the paths, times × dimension."""
        mean: Float = self.states.mean(axis=0)
        return mean

    @property
    def standard_error(self) -> Float:
        """Standard error of the mean, times × dimension."""
        error: Float = self.states.std(axis=0, ddof=1) / np.sqrt(len(self.states))
        return error

    def to_xarray(self) -> "xr.Dataset":
        """As a labelled data set."""
        return xr.Dataset(
            {"state": (("path", "time", "feature"), self.states)}, coords={"time": self.times}
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values."""
        return {"times": self.times.tolist(), "states": self.states.tolist()}

    def _facts(self) -> tuple[str, ...]:
        paths, records, size = self.states.shape
        return counted(paths, "path"), counted(records, "record"), f"{counted(size, 'number')} each"

    def _page(self) -> Page:
        rows = np.unique(np.linspace(0, len(self.times) - 1, ROWS_SHOWN).astype(int))
        norms = np.linalg.norm(self.states, axis=2)
        body = [
            (number(self.times[r]), number(norms[:, r].mean()), number(norms[:, r].std()))
            for r in rows
        ]
        title = f"{len(self.states)} paths of {self.states.shape[2]} numbers"
        some = left_out((len(rows), len(self.times), "records"), where=".times and .states")
        return table(title, ("time", "mean norm", "its spread"), body, some)


def simulate(
    model: Diffusion,
    t_end: float,
    *,
    paths: int,
    seed: int = 0,
    time_step: float | None = None,
    records: int = RECORDS,
) -> Paths:
    """Simulate a diffusion by Euler's method (Itô; strong order ½, weak order 1 in the step).

    Parameters
    ----------
    model
        For instance `SGDModel(problem, SGD(...))`.
    t_end
        End of the simulation.
    paths
        Number of independent paths.
    seed
        Of the Brownian motions.
    time_step
        By default the model's own: for `SGDModel` the learning rate.
    records
        Number of evenly spaced records after the start.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task, network = lp.Regression([[1.0, 2.0]], [1.0], loss_factor=2.0), lp.RankOne(depth=2)
    >>> problem = lp.Problem(network, lp.Init.balanced(network, task, norm=1.0), task)
    >>> model = lp.sde.SGDModel(problem, lp.SGD(learning_rate=1e-3, batch_size=1))
    >>> simulate(model, t_end=0.1, paths=8, records=10).states.shape
    (8, 11, 2)
    """
    as_kind(model, Diffusion, "a diffusion, like SGDModel(...)", "model", LimitpointError)
    t_end = as_positive(t_end, "t_end", LimitpointError)
    given = model.time_step if time_step is None else time_step
    step = as_positive(given, "time_step", LimitpointError)
    if step < EPS * t_end:
        raise LimitpointError(
            f"time_step must be at least {EPS:.3g} of t_end: added to a time, a smaller one is "
            f"lost to rounding; it is {step:g} and t_end {t_end:g}"
        )
    count = as_whole_number(paths, 1, "paths", LimitpointError)
    recorded = as_whole_number(records, 1, "records", LimitpointError)
    size = int(np.size(model.start))
    check_numbers(count * size, "paths", f"{count} states", LimitpointError)
    what = f"{recorded} records of {count} paths"
    check_numbers(count * size * recorded, "records", what, LimitpointError)
    times = np.linspace(0.0, t_end, recorded + 1)
    keyed = as_seed(seed, "seed", LimitpointError)
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(keyed), count)
        states = _follow(model, step, keys, times)
    return Paths(times, states)


def _follow(model: Diffusion, step: float, keys: Any, times: Float) -> Float:
    """The states of all paths at evenly spaced times, keys × records × dimension.

    In many short calls of one program. A path does not depend on where they begin and end: a draw
    is a function of the key and the number of the step.
    """
    places = times / step
    stops = np.floor(places).astype(np.int64)
    parts = places - stops
    # Records that lie close together are read off in one call.
    together = int(min(max(FIRST / places[1], 1.0), len(times)))
    visit = _compiled(model, step)
    start = jnp.asarray(model.start, dtype=float)
    states = jnp.broadcast_to(start, (len(keys), *start.shape))
    done, kept, chunks = 0, [], Chunks()
    with job("paths of the diffusion", int(stops[-1])) as simulation:
        for begin in range(0, len(times), together):
            group = np.minimum(np.arange(begin, begin + together), len(times) - 1)
            near = int(stops[group[0]])
            for first, last in chunks.between(done, near):
                states, read = visit(keys, states, first, np.full(together, last), parts[group])
                read.block_until_ready()
                simulation.advance(last - first)
            states, read = visit(keys, states, near, stops[group], parts[group])
            kept.append(np.asarray(read)[:, : len(times) - begin])  # waits for the call
            done = int(stops[group[-1]])
            simulation.advance(done - near)
    return np.concatenate(kept, axis=1)


# Compiling takes seconds; a model that is simulated again with other seeds is not compiled again.
@lru_cache(maxsize=8)
def _compiled(model: Diffusion, step: float) -> Callable[..., Any]:
    """From keys, states and the steps done to the states after the last stop, and at each."""

    def one_path(key: Any, state: Any, first: Any, stops: Any, parts: Any) -> Any:
        def moved(k: Any, state: Any, part: Any) -> Any:
            noise = jax.random.normal(jax.random.fold_in(key, k), (model.noise_dimension,))
            increment = jnp.sqrt(part * step) * noise
            return state + part * step * model.drift(state) + model.kick(state, increment)

        def to_record(carry: Any, record: Any) -> Any:
            done, state = carry
            stop, part = record
            state = jax.lax.fori_loop(done, stop, lambda k, x: moved(k, x, 1.0), state)
            # A record between steps is reached by a shorter one, which the path does not keep.
            return (stop, state), moved(stop, state, part)

        (_, state), read = jax.lax.scan(to_record, (first, state), (stops, parts))
        return state, read

    compiled: Callable[..., Any] = jax.jit(jax.vmap(one_path, (0, 0, None, None, None)))
    return compiled
