"""The figure of a classification: how the coefficients turn as the margins grow."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from limitpoint.dynamics import Trajectory
from limitpoint.foundation.arrays import Float
from limitpoint.plot.style import COLOURS, flat, largest, new_figure, style_of
from limitpoint.theory import Limit

__all__ = ["FIRST_MARGIN", "from_separation", "plot_separation"]

# The axis of margins begins here at the latest: before, the samples are hardly told apart.
FIRST_MARGIN = 1e-2
# A training run is laid over a flow as about this many dots.
DOTS = 60
# Distances below this are rounding.
SMALLEST_DISTANCE = 1e-16
# Names of the axis.
MARGIN, STEP, TIME = "smallest margin", "step", "log₁₀ time"
LN10 = float(np.log(10.0))
# The line of the predicted rate is drawn through the end, over this part of the decades.
TAIL = 0.5


def plot_separation(
    trajectory: Trajectory, limit: Limit | None = None, training: Trajectory | None = None
) -> Figure:
    """Directions, their distance from the predicted one, and the loss, against the margin.

    The axis is the smallest margin, of a training run the step; where a flow never separates the
    samples, the logarithm of time. Of a network without coefficients, the loss alone.
    """
    placed = _moments(trajectory)
    moments, shown, _ = placed
    if trajectory.coef.size == 0:
        figure = new_figure((9, 4))
        losses = figure.subplots()
        losses.set_title(trajectory.kind)
        _draw_loss(losses, trajectory, placed)
        return figure
    panels = 2 if limit is None else 3
    figure = new_figure((9, 2.6 * panels + 0.8))
    turning, *between, losses = figure.subplots(
        panels, 1, sharex=True, height_ratios=(3, 2, 2)[:panels]
    )
    ends = trajectory.directions[-1].ravel()
    # The largest, or those predicted to be: a coefficient may be on its way.
    sizes = (
        np.abs(ends) if limit is None else np.maximum(np.abs(ends), np.abs(limit.direction.ravel()))
    )
    named, shape = largest(sizes), trajectory.coef.shape
    for i, line in enumerate(flat(trajectory.directions[shown]).T):
        turning.plot(moments, line, **style_of(i, named, shape, trajectory))
    if training is not None:
        _lay_over(turning, training, named)
    if limit is not None:
        for rank, i in enumerate(named):
            height = float(limit.direction.ravel()[i])
            turning.axhline(height, color=COLOURS[rank], linestyle="--", linewidth=1)
        turning.plot([], [], color="black", linestyle="--", linewidth=1, label="predicted limit")
        _draw_distance(between[0], trajectory, limit, placed)
    turning.set_ylabel("coefficient / norm")
    turning.set_title(trajectory.kind)
    turning.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    _draw_loss(losses, trajectory, placed)
    return figure


def _moments(trajectory: Trajectory) -> tuple[Float, Any, str]:
    """Where the records stand on the axis, which of them are drawn, and the name of the axis."""
    margins = np.asarray(trajectory.margins).min(axis=1)
    if trajectory.steps is not None:
        shown = trajectory.steps > 0
        return trajectory.steps[shown].astype(np.float64), shown, STEP
    if margins[-1] > 0:
        first = from_separation(margins)
        return margins[first:], slice(first, None), MARGIN
    times = trajectory.log_times / LN10
    shown = np.isfinite(times)
    return times[shown], shown, TIME


def from_separation(margins: Float) -> int:
    """The first record after all those at which a sample was on the wrong side, or next to it."""
    low = ~(margins > min(FIRST_MARGIN, margins[-1] / 2))
    return int(np.flatnonzero(low)[-1]) + 1 if low.any() else 0


def _draw_distance(
    axes: Axes, trajectory: Trajectory, limit: Limit, placed: tuple[Float, Any, str]
) -> None:
    """The distance from the predicted direction and, where it is known, how fast it falls."""
    moments, shown, label = placed
    off = flat(trajectory.directions[shown]) - limit.direction.ravel()
    distances = np.maximum(np.linalg.norm(off, axis=1), SMALLEST_DISTANCE)
    axes.plot(moments, distances, color="black", linewidth=1.6)
    if limit.rate is not None and label == MARGIN and len(moments) > 1:
        first = moments[-1] ** (1 - TAIL) * moments[0] ** TAIL
        tail = np.array([first, moments[-1]])
        line = distances[-1] * (tail / tail[-1]) ** -limit.rate
        axes.plot(
            tail,
            line,
            color=COLOURS[1],
            linestyle="--",
            label=f"$\\mathrm{{margin}}^{{-{limit.rate:.3g}}}$,\nas predicted",
        )
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    axes.set_yscale("log")
    axes.set_ylabel("distance from\nthe predicted limit")


def _draw_loss(axes: Axes, trajectory: Trajectory, placed: tuple[Float, Any, str]) -> None:
    """The loss; of a flow that separates, loss and time in logarithms, which float64 holds."""
    moments, shown, label = placed
    axes.set_yscale("log")
    axes.set_xlabel(label)
    if label != TIME:
        axes.set_xscale("log")
    if label != MARGIN:
        axes.plot(moments, np.exp(trajectory.log_losses[shown]), color="black")
        axes.set_ylabel("loss")
        return
    lines: list[tuple[str, Float, dict[str, Any]]] = [
        ("−log₁₀ loss", -trajectory.log_losses, {"color": "black"}),
        ("log₁₀ time", trajectory.log_times, {"color": COLOURS[5], "linestyle": "--"}),
    ]
    for name, logs, style in lines:
        tens = logs[shown] / LN10
        axes.plot(moments, np.where(tens > 0, tens, np.nan), label=name, **style)
    axes.set_ylabel("loss and time")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)


def _lay_over(axes: Axes, training: Trajectory, named: list[int]) -> None:
    """A training run as dots, at its own margins."""
    margins = np.asarray(training.margins).min(axis=1)
    rows = np.unique(np.linspace(1, len(margins) - 1, DOTS).astype(int))
    rows = rows[margins[rows] > FIRST_MARGIN]
    directions = flat(training.directions)
    for rank, i in enumerate(named):
        axes.plot(
            margins[rows],
            directions[rows, i],
            ".",
            color=COLOURS[rank],
            markersize=7,
            markeredgecolor="white",
            markeredgewidth=0.3,
            zorder=4,
        )
    axes.plot([], [], ".", color="black", markersize=7, label="training")
