"""The figure of a saddle path: the saddles that training visits as the initialisation vanishes."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import Float, as_kind, shown
from limitpoint.plot.panels import AxesGiven, Panels, PanelsGiven, SizeGiven, open_panels
from limitpoint.plot.style import (
    GREY,
    colour,
    ink,
    largest,
    line_width,
    name_others,
    name_ticks,
    style_of,
)
from limitpoint.theory import SaddlePath

__all__ = ["plot_saddles"]

AXES = ("time", "symlog", "saddle")
# The first half of the saddles has at least this part of the axis, or another axis is taken.
CROWDED = 0.2
# The linear part of a symlog axis, in decades.
LINEAR_PART = 0.5
# Fewer saddles than this have a vertical line each.
EDGES_SHOWN = 32
# The last saddle is the limit: it lasts for ever, drawn as one more tenth of the path.
LAST = 0.1
# A loss this far below the first is the rounding error of an exact fit; it is drawn this factor
# below the smallest that is not.
EXACT_FIT = 1e-24
BELOW = 10.0
# Waiting times are shown for the first saddles, the shortest of each.
STAGES_SHOWN = 5
BARS_SHOWN = 8
FEWEST_BARS = 2
# Inches that a bar needs for the number below it, and the room between two saddles in bars.
BAR_WIDTH = 0.16
GAP = 1.0
# Waiting times further apart than this factor stand on a symlog axis, which ends so much above.
SPREAD = 20.0
ABOVE = 1.6


def plot_saddles(
    path: SaddlePath,
    *,
    axis: Literal["auto", "time", "symlog", "saddle"] = "auto",
    panels: PanelsGiven = None,
    ax: AxesGiven = None,
    figsize: SizeGiven = None,
) -> Figure:
    """The path as steps: coefficients, loss, and what activates next at every saddle.

    The bars show, for the coefficients still inactive, how long each would need at that saddle's
    gradient to reach its activation time (zhao Fig. 2c): the shortest one is the next to activate.
    The figure says how many saddles and coefficients have no bars.

    Parameters
    ----------
    path
        From `saddle_path` or `lp.analysis.saddles`.
    axis
        "time"; "symlog", the logarithm of time, but linear up to the first saddle; "saddle", the
        number of the saddle, all equally long. "auto" takes the first of them on which the first
        half of the saddles is not crowded together.
    panels
        One or more of "coefs", "loss" and "bars"; by default those that have room (a path without
        saddles has no bars).
    ax
        Axes to draw into, one for each panel, in the order of the panels.
    figsize
        Width and height of a new figure, in inches.

    Returns
    -------
    Figure
        A new figure, or that of `ax`.
    """
    as_kind(path, SaddlePath, "a SaddlePath, like saddles(problem)", "path", LimitpointError)
    if not isinstance(axis, str) or axis not in ("auto", *AXES):
        raise LimitpointError(f"axis must be one of auto, {', '.join(AXES)}; it is {shown(axis)}")
    offered = {"coefs": 4.3, "loss": 2.2} | ({"bars": 2.2} if path.n_saddles else {})
    size = (9.0, sum(offered.values()))
    opened = open_panels(offered, size, panels=panels, ax=ax, figsize=figsize, apart=("bars",))
    along = _along(path, axis)
    if "coefs" in opened:
        _draw_coefs(opened, path, along)
    if "loss" in opened:
        _draw_loss(opened, path, along)
    _label_axis(opened, along)
    if "bars" in opened:
        _draw_bars(opened, path)
    opened.set_title(_title(path), over_all=next(iter(opened.axes)) == "bars")
    return opened.figure


@dataclass(frozen=True)
class _Axis:
    """Where the saddles stand: each from its edge to the next."""

    kind: str
    edges: Float
    label: str


def _along(path: SaddlePath, axis: str) -> _Axis:
    unit = path.time_unit if np.isfinite(path.time_unit) else 1.0
    times = path.path_times * unit
    if axis == "auto":
        axis = next((kind for kind in AXES if not _crowded(times, kind)), "saddle")
    if axis == "saddle":
        return _Axis(axis, np.arange(len(times) + 1.0) - 0.5, "saddle (0 is the start)")
    units = "in units of the activation time" if unit == 1.0 else "of the flow at this scale"
    return _Axis(axis, np.append(times, _end(times, axis)), f"time, {units}")


def _end(times: Float, axis: str) -> float:
    """Where the last saddle, the limit, is cut off."""
    last, first = float(times[-1]), _first(times)
    if axis == "symlog" and last > first:
        return last * float((last / first) ** LAST)
    return last + LAST * (last or 1.0)


def _first(times: Float) -> float:
    return float(times[times > 0][0]) if (times > 0).any() else 1.0


def _crowded(times: Float, axis: str) -> bool:
    """Whether the first half of the saddles after the start has little of the axis."""
    if axis == "saddle" or len(times) < 4:
        return False
    places = times if axis == "time" else np.log(np.maximum(times, _first(times)))
    whole = float(places[-1] - places[1])
    middle = float(places[(len(places) + 1) // 2] - places[1])
    return whole > 0 and middle < CROWDED * whole


def _draw_coefs(opened: Panels, path: SaddlePath, along: _Axis) -> None:
    """The coefficients that are ever active, as steps."""
    axes, coefs = opened["coefs"], path.coefs
    active = np.flatnonzero(coefs.any(axis=0)).tolist()
    with np.errstate(divide="ignore"):
        named = [i for i in largest(np.log(np.abs(coefs).max(axis=0))) if i in active]
    for i in active:
        heights = np.append(coefs[:, i], coefs[-1, i])
        style = style_of(i, named, path.coef.shape, path)
        axes.step(along.edges, heights, where="post", **style)
    name_others(axes, len(active) - len(named), len(named))
    axes.axhline(0, color=ink(), linewidth=line_width(0.5))
    opened.set_ylabel("coefficient", "coefs")
    opened.add_legend("coefs")


def _draw_loss(opened: Panels, path: SaddlePath, along: _Axis) -> None:
    """The loss; an exact fit, which no logarithmic axis holds, as a dotted line below all."""
    axes, losses = opened["loss"], path.losses
    held = (losses > EXACT_FIT * losses[0]) & (losses > 0)
    line: dict[str, Any] = {"where": "post", "color": ink(), "linewidth": line_width()}
    opened.set_ylabel("loss", "loss")
    if not held.any():
        axes.step(along.edges, np.append(losses, losses[-1]), **line)
        return
    axes.set_yscale("log")
    floor = float(losses[held].min()) / BELOW
    drawn = np.where(held, losses, floor)
    axes.step(along.edges, np.append(drawn, drawn[-1]), **line)
    if not held[-1]:
        words = f"fitted: loss {losses[-1]:.0e}" if losses[-1] else "fitted: loss 0"
        style: dict[str, Any] = {"color": ink(), "linestyle": ":", "linewidth": line_width(0.65)}
        axes.axhline(floor, label=words, **style)
        opened.add_legend("loss")


def _label_axis(opened: Panels, along: _Axis) -> None:
    """Scale, limits, saddles and name of the axis that coefficients and loss share."""
    for axes in (opened[name] for name in ("coefs", "loss") if name in opened):
        if along.kind == "symlog":
            first = _decade(_first(along.edges))
            axes.set_xscale("symlog", linthresh=first, linscale=LINEAR_PART)
        if along.kind == "saddle":
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlim(along.edges[0], along.edges[-1])
        if along.kind != "saddle" and len(along.edges) < EDGES_SHOWN:
            for edge in along.edges[1:-1]:
                axes.axvline(edge, color=GREY, linewidth=line_width(0.3), zorder=0)
    opened.set_xlabel(along.label)


def _draw_bars(opened: Panels, path: SaddlePath) -> None:
    """The shortest waiting times at the first saddles, those of the next to activate in colour."""
    axes = opened["bars"]
    stages = min(path.n_saddles, STAGES_SHOWN)
    room = int(opened.inches(axes)[0] / BAR_WIDTH / stages - GAP)
    most = min(max(room, FEWEST_BARS), BARS_SHOWN)
    places: list[float] = []
    labels: list[int] = []
    heights: list[float] = []
    left, elided = 0.0, False
    for stage in range(stages):
        waits = path.waiting_times(stage)
        waiting = int(np.isfinite(waits).sum())
        order = np.sort(np.argsort(waits, kind="stable")[: min(most, waiting)])
        elided |= waiting > len(order)
        at = left + np.arange(len(order))
        colours = [colour(1) if i in path.entered[stage] else GREY for i in order]
        axes.bar(at, waits[order], color=colours, label=f"saddle {stage}")
        _head(axes, float(at.mean()) if len(at) else left, stage)
        places, labels, heights = [*places, *at], [*labels, *order], [*heights, *waits[order]]
        left += len(order) + GAP
    name_ticks(axes, labels, path, places)
    axes.set_xlim(-1.0, left - GAP)
    _set_heights(axes, np.asarray(heights))
    opened.set_ylabel("time to activate", "bars")
    words = "feature, the next to activate in colour"
    if elided:
        words += f"; the {most} shortest of up to {path.coef.size}"
    if stages < path.n_saddles:
        words += f"; {path.n_saddles - stages} more saddles"
    opened.set_xlabel(words, "bars")


def _head(axes: Axes, place: float, stage: int) -> None:
    """The name of a saddle over its bars."""
    across = axes.get_xaxis_transform()
    words = f"saddle {stage}" if stage else "start"
    axes.text(place, 1.02, words, transform=across, ha="center", va="bottom", fontsize="small")


def _set_heights(axes: Axes, heights: Float) -> None:
    positive = heights[heights > 0]
    if positive.size and positive.max() > SPREAD * positive.min():
        smallest = _decade(float(positive.min()))
        axes.set_yscale("symlog", linthresh=smallest, linscale=LINEAR_PART)
        axes.set_ylim(0.0, ABOVE * float(positive.max()))


def _decade(number: float) -> float:
    """The largest power of ten that is not above a number."""
    return float(10.0 ** np.floor(np.log10(number)))


def _title(path: SaddlePath) -> str:
    saddles = f"{path.n_saddles} saddle" + "s" * (path.n_saddles != 1)
    active = int(path.coefs.any(axis=0).sum())
    return f"saddle path: {saddles}, {active} of {path.coef.size} coefficients activate"
