"""The figure of a classification: how the coefficients turn as the margins grow."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from limitpoint.dynamics import Trajectory
from limitpoint.foundation.arrays import Float
from limitpoint.plot.coefficient_lines import draw_coefs, draw_limit, lay_dots, rows_of_dots
from limitpoint.plot.panels import AxesGiven, Panels, PanelsGiven, SizeGiven, open_panels
from limitpoint.plot.style import colour, flat, ink, largest, line_width
from limitpoint.theory import Limit

__all__ = ["FIRST_MARGIN", "from_separation", "plot_separation"]

# The axis of margins begins here at the latest: before, the samples are hardly told apart.
FIRST_MARGIN = 1e-2
# The panels with a prediction, and how high they are against each other.
PANELS = {"coefs": 3.0, "distance": 2.0, "loss": 2.0}
# Distances below this are rounding.
SMALLEST_DISTANCE = 1e-16
# Names of the axis.
MARGIN, STEP, TIME = "smallest margin", "step", "log₁₀ time"
LN10 = float(np.log(10.0))
# The line of the predicted rate is drawn through the end, over this part of the decades.
TAIL = 0.5


def plot_separation(
    trajectory: Trajectory,
    limit: Limit | None = None,
    training: Trajectory | None = None,
    *,
    panels: PanelsGiven = None,
    ax: AxesGiven = None,
    figsize: SizeGiven = None,
) -> Figure:
    """Directions, their distance from the predicted one, and the loss, against the margin.

    The axis is the smallest margin, of a training run the step; where a flow never separates the
    samples, the logarithm of time. Of a network without coefficients, the loss alone.
    """
    offered = {"coefs": 3.0, "loss": 2.0} if limit is None else PANELS
    size = (9.0, 2.6 * len(offered) + 0.8)
    if trajectory.coef.size == 0:
        offered, size = {"loss": 1.0}, (9.0, 4.0)
    opened = open_panels(offered, size, panels=panels, ax=ax, figsize=figsize)
    placed = _moments(trajectory)
    if "coefs" in opened:
        _draw_directions(opened, trajectory, limit, training)
    if "distance" in opened and limit is not None:
        _draw_distance(opened["distance"], trajectory, limit, placed)
        opened.set_ylabel("distance from the predicted limit", "distance")
        opened.add_legend("distance")
    if "loss" in opened:
        _draw_loss(opened["loss"], trajectory, placed)
        opened.set_ylabel("loss and time" if placed[2] == MARGIN else "loss", "loss")
        opened.add_legend("loss")
    for axes in opened.axes.values():
        axes.set_xscale("linear" if placed[2] == TIME else "log")
    opened.set_title(trajectory.kind)
    opened.set_xlabel(placed[2])
    return opened.figure


def _draw_directions(
    opened: Panels, trajectory: Trajectory, limit: Limit | None, training: Trajectory | None
) -> None:
    """The coefficients over their norm, with what is predicted and a training run."""
    moments, shown, axis = _moments(trajectory)
    axes, sizes = opened["coefs"], np.abs(trajectory.directions[-1].ravel())
    if limit is not None:
        # The largest, or those predicted to be: a coefficient may be on its way.
        sizes = np.maximum(sizes, np.abs(limit.direction.ravel()))
    named = largest(sizes)
    shape, lines = trajectory.coef.shape, flat(trajectory.directions[shown])
    draw_coefs(axes, moments, lines, named, shape, trajectory)
    if training is not None:
        places = _places(training, axis)
        rows = rows_of_dots(len(places))
        rows = rows[(axis != MARGIN) | (places[rows] > FIRST_MARGIN)]
        lay_dots(axes, places[rows], flat(training.directions)[rows], named)
    if limit is not None:
        draw_limit(axes, limit.direction, named)
    opened.set_ylabel("coefficient / norm", "coefs")
    opened.add_legend("coefs")


def _moments(trajectory: Trajectory) -> tuple[Float, Any, str]:
    """Where the records stand on the axis, which of them are drawn, and the name of the axis."""
    if trajectory.steps is not None:
        shown = trajectory.steps > 0
        return _places(trajectory, STEP)[shown], shown, STEP
    margins = _places(trajectory, MARGIN)
    if margins[-1] > 0:
        first = from_separation(margins)
        return margins[first:], slice(first, None), MARGIN
    times = _places(trajectory, TIME)
    shown = np.isfinite(times)
    return times[shown], shown, TIME


def _places(run: Trajectory, axis: str) -> Float:
    """Where all records of a run stand on an axis."""
    if axis == STEP:
        return np.asarray(run.steps, dtype=np.float64)
    if axis == MARGIN:
        smallest: Float = np.asarray(run.margins).min(axis=1)
        return smallest
    times: Float = run.log_times / LN10
    return times


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
    axes.plot(moments, distances, color=ink(), linewidth=line_width())
    if limit.rate is not None and label == MARGIN and len(moments) > 1:
        first = moments[-1] ** (1 - TAIL) * moments[0] ** TAIL
        tail = np.array([first, moments[-1]])
        line = distances[-1] * (tail / tail[-1]) ** -limit.rate
        axes.plot(
            tail,
            line,
            color=colour(1),
            linestyle="--",
            label=f"$\\mathrm{{margin}}^{{-{limit.rate:.3g}}}$,\nas predicted",
        )
    axes.set_yscale("log")


def _draw_loss(axes: Axes, trajectory: Trajectory, placed: tuple[Float, Any, str]) -> None:
    """The loss; of a flow that separates, loss and time in logarithms, which float64 holds."""
    moments, shown, label = placed
    axes.set_yscale("log")
    if label != MARGIN:
        axes.plot(moments, np.exp(trajectory.log_losses[shown]), color=ink())
        return
    lines: list[tuple[str, Float, dict[str, Any]]] = [
        ("−log₁₀ loss", -trajectory.log_losses, {"color": ink()}),
        ("log₁₀ time", trajectory.log_times, {"color": colour(5), "linestyle": "--"}),
    ]
    for name, logs, style in lines:
        tens = logs[shown] / LN10
        axes.plot(moments, np.where(tens > 0, tens, np.nan), label=name, **style)
