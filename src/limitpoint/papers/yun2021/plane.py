"""Three networks of two layers in the plane, from the same coefficients (section 6)."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import jax
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from limitpoint.dynamics import GD
from limitpoint.examples import yun_layers
from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.networks import Convolutional, Diagonal, FullyConnected, Network
from limitpoint.plot.style import COLOURS
from limitpoint.problem import Problem
from limitpoint.tasks import Task

__all__ = [
    "DIRECTIONS",
    "NAMES",
    "NETWORKS",
    "directions",
    "draw_runs",
    "legend_handles",
    "problem_of",
    "schedule",
    "train_together",
]

NETWORKS: dict[str, Network] = {
    "dense": FullyConnected(widths=(2,)),
    "diagonal": Diagonal(depth=2),
    "convolutional": Convolutional(filter_sizes=(2, 2)),
}
NAMES = tuple(NETWORKS)
COLOUR_OF = dict(zip(NAMES, COLOURS[:3], strict=True))
# The paper picks four directions at random; these are one from each quarter of the circle.
DIRECTIONS = 4
CIRCLE: dict[str, Any] = {
    "marker": "o",
    "markersize": 9,
    "markeredgewidth": 1.5,
    "markerfacecolor": "none",
    "linestyle": "none",
}


def directions(count: int, seed: int) -> Float:
    """Unit vectors, one at random from each of four quarters; the first `count` of them."""
    turns = (np.arange(DIRECTIONS) + np.random.default_rng(seed).random(DIRECTIONS)) / DIRECTIONS
    spread: Float = np.stack([np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)], axis=1)
    return spread[:count]


def problem_of(name: str, direction: Float, scale: float, task: Task) -> Problem:
    """The network that starts with the coefficients `scale² · direction`."""
    return Problem(NETWORKS[name], Init(yun_layers(direction)[name], scale), task)


def schedule(steps: int, records: int) -> NDArray[np.int64]:
    """Step numbers from 0 to the last, spaced in logarithms."""
    spaced = np.geomspace(1, steps, records).round().astype(np.int64)
    return np.unique(np.concatenate([[0], spaced]))


def train_together(
    problems: Sequence[Problem], learning_rate: float, steps: NDArray[np.int64]
) -> tuple[Float, ...]:
    """Gradient descent from many starts of one network and task, as one compiled program.

    Returns the layers at these steps, each (runs, records, …).
    """
    one_step = GD(learning_rate).stepper(problems[0])
    all_steps: Any = jax.vmap(lambda layers: one_step(layers, None))

    @jax.jit
    def advance(layers: Any, count: Any) -> Any:
        return jax.lax.fori_loop(0, count, lambda _, now: all_steps(now), layers)

    with jax.enable_x64(True):
        together = zip(*(problem.init.layers for problem in problems), strict=True)
        layers = tuple(jax.numpy.asarray(np.stack(layer)) for layer in together)
        kept = [layers]
        for before, after in pairwise(steps):
            layers = advance(layers, int(after - before))
            kept.append(layers)
        return tuple(np.stack([np.asarray(now[i]) for now in kept], 1) for i in range(len(layers)))


def draw_runs(axes: Axes, runs: Float, window: tuple[float, float, float, float]) -> None:
    """Runs (network, start, record, 2) in a window (left, right, low, high), with their starts."""
    for name, several in zip(NAMES, runs, strict=True):
        for run in several:
            axes.plot(*run.T, color=COLOUR_OF[name], linewidth=1.5, zorder=3)
            axes.plot(*run[0], "o", color="black", markersize=4, zorder=5)
    left, right, low, high = window
    axes.set(xlim=(left, right), ylim=(low, high), xlabel="β[0]", ylabel="β[1]")
    axes.set_aspect("equal", adjustable="box")
    axes.axhline(0, color="0.85", linewidth=0.7, zorder=1)
    axes.axvline(0, color="0.85", linewidth=0.7, zorder=1)


def legend_handles() -> list[Line2D]:
    """Networks and starts."""
    lines = [Line2D([], [], color=COLOUR_OF[name], linewidth=1.5, label=name) for name in NAMES]
    start = Line2D([], [], color="black", marker="o", markersize=4, linestyle="none", label="start")
    return [*lines, start]
