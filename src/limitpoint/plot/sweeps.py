"""Figures of many training runs."""

from collections.abc import Iterator
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from limitpoint.dynamics import Sweep
from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import Float, as_kind, shown
from limitpoint.plot.coefficient_lines import LARGEST_DRAWN
from limitpoint.plot.panels import AxesGiven, Panels, PanelsGiven, SizeGiven, open_panels
from limitpoint.plot.style import colour, colours, ink, line_width

__all__ = ["plot_sweep"]

# The panels, and how wide they are against each other.
PANELS = {"end": 1.0, "steps": 1.25}
# So many scales are named on their axis one by one.
SCALES_NAMED = 8
# Line style and marker of each optimiser; the colour is that of the scale.
STYLES = (("-", "o"), ("--", "s"), (":", "^"), ("-.", "D"))
# What the probes of `train_many` are, in words; other names are read as words.
WORDS = {
    "distance_l2": "distance from the minimum-norm solution",
    "distance_truth": "distance from the truth",
    "start_term": "weight of the start",
    "noise_term": "weight of the sampling noise",
}
# The count of diverged runs is so wide, in inches.
COUNT_WIDTH = 0.33
# Crosses of diverged runs stand at the upper edge, one row for each optimiser, above all lines.
EDGE, ROW = 0.95, 0.13


def plot_sweep(
    sweep: Sweep,
    probe: str | None = None,
    *,
    panels: PanelsGiven = None,
    ax: AxesGiven = None,
    figsize: SizeGiven = None,
) -> Figure:
    """A probe at the end against the scale, and along the steps, for each optimiser.

    Lines are means over the runs that did not diverge, bars and bands one standard error of them;
    the legend says how many runs these are. Runs that diverged are counted by crosses at the upper
    edge: at their scale, and at the step at which the probe left the numbers that can be drawn.

    Parameters
    ----------
    sweep
        From `train_many`.
    probe
        The name of the probe to draw, or "loss"; by default the first probe.
    panels
        One or both of "end" and "steps"; by default those that have room.
    ax
        Axes to draw into, one for each panel, in the order of the panels.
    figsize
        Width and height of a new figure, in inches.

    Returns
    -------
    Figure
        A new figure, or that of `ax`.
    """
    wanted = "a Sweep, like train_many(problem, ...)"
    as_kind(sweep, Sweep, wanted, "sweep", LimitpointError)
    known = (*sweep.probes, "loss")
    name = known[0] if probe is None else probe
    if not isinstance(name, str) or name not in known:
        raise LimitpointError(f"probe must be one of {', '.join(known)}; it is {shown(probe)}")
    opened = open_panels(PANELS, (10.5, 4.8), panels=panels, ax=ax, figsize=figsize, across=True)
    words = WORDS.get(name, name.replace("_", " "))
    if "end" in opened:
        _draw_ends(opened, sweep, name)
        opened.set_xlabel("scale of the initialisation", "end")
        opened.set_ylabel(f"{words}, at the end", "end")
        opened.add_legend("end", above=True)
    if "steps" in opened:
        _draw_steps(opened["steps"], sweep, name)
        opened.set_xlabel("step", "steps")
        opened.set_ylabel(words, "steps")
        opened.add_legend("steps")
    opened.set_title(_title(sweep), over_all=True)
    return opened.figure


def _title(sweep: Sweep) -> str:
    diverged, every = int(sweep.runs_diverged.sum()), int((sweep.runs + sweep.runs_diverged).sum())
    if not diverged:
        return f"means over {every} training run" + "s" * (every > 1)
    return f"means over {every - diverged} training runs; {diverged} of {every} diverged"


def _draw_ends(opened: Panels, sweep: Sweep, name: str) -> None:
    """Means at the end against the scale, and how many runs diverged."""
    axes, rows = opened["end"], 0
    counted = _apart(sweep.scales) * opened.inches(axes)[0] > COUNT_WIDTH
    for i, (line, marker), mean, error in _means(sweep, name):
        axes.errorbar(
            sweep.scales,
            mean[:, -1],
            yerr=error[:, -1],
            linestyle=line,
            linewidth=line_width(),
            marker=marker,
            color=ink(),
            markerfacecolor="none",
            capsize=3,
            label=_counted(sweep, i, opened.wide),
        )
        diverged = sweep.runs_diverged[i]
        for j in np.flatnonzero(diverged):
            every = diverged[j] + sweep.runs[i, j]
            words = f"{diverged[j]}/{every}" if counted else ""
            _draw_cross(axes, float(sweep.scales[j]), ink(), rows, words)
        rows += bool(diverged.any())
    if rows:
        axes.plot([], [], "x", color=ink(), label="diverged / all runs")
    if len(sweep.scales) > 1:
        axes.set_xscale("log")
    if len(sweep.scales) <= SCALES_NAMED:
        axes.set_xticks(sweep.scales, [f"{scale:.3g}" for scale in sweep.scales])
        axes.minorticks_off()
    _set_heights(axes, name, rows)


def _draw_steps(axes: Axes, sweep: Sweep, name: str) -> None:
    """Means along the steps, and where runs diverged."""
    for i, (line, _), means, errors in _means(sweep, name):
        for rank, (mean, error) in enumerate(zip(means, errors, strict=True)):
            style: dict[str, Any] = {"color": colour(rank), "linewidth": line_width(0.9)}
            axes.plot(sweep.steps, mean, line, **style)
            band: dict[str, Any] = {"color": colour(rank), "alpha": 0.2, "linewidth": 0}
            axes.fill_between(sweep.steps, mean - error, mean + error, **band)
            for step in _last_steps(sweep, name, i, rank):
                _draw_cross(axes, step, colour(rank), 0)
    axes.set_xscale("symlog", linthresh=1)
    axes.set_xlim(0, max(int(sweep.steps[-1]), 1))
    _set_heights(axes, name, 0.5 * bool(sweep.runs_diverged.any()))
    named = len(colours())
    for rank, scale in enumerate(sweep.scales[:named]):
        axes.plot([], [], color=colour(rank), label=f"scale {scale:.3g}")
    if len(sweep.scales) > named:
        axes.plot([], [], " ", label=f"{len(sweep.scales) - named} more scales,\nsame colours")
    if sweep.runs_diverged.any():
        axes.plot([], [], "x", color=ink(), label="a run diverged")


def _means(sweep: Sweep, name: str) -> Iterator[tuple[int, tuple[str, str], Float, Float]]:
    """Number, style, mean and standard error of every optimiser, over runs that did not diverge.

    NaN, which draws nothing, where there is none.
    """
    values = np.asarray(sweep.data[name].values)
    with np.errstate(invalid="ignore"):
        held = ~sweep.diverged[..., None] & (np.abs(values) < LARGEST_DRAWN)
        counts = held.sum(axis=2)
        kept = np.where(held, values, 0.0)
        means = np.where(counts > 0, kept.sum(axis=2) / np.maximum(counts, 1), np.nan)
        squares = np.where(held, (kept - means[:, :, None]) ** 2, 0.0).sum(axis=2)
        errors = np.sqrt(squares / np.maximum(counts - 1, 1) / np.maximum(counts, 1))
    for i, style in zip(range(len(values)), cycle(STYLES), strict=False):
        yield i, style, means[i], errors[i]


def _counted(sweep: Sweep, i: int, wide: bool) -> str:
    """An optimiser in words, in short where there is little room, and over how many runs it is."""
    every = [label.split("(")[0] for label in sweep.optimisers]
    short = not wide and every.count(every[i]) == 1
    least, most = int(sweep.runs[i].min()), int(sweep.runs[i].max())
    words = f"{least} to {most} runs" if least < most else f"{most} run" + "s" * (most != 1)
    return f"{every[i]}, {words}" if short else f"{sweep.optimisers[i]},\nmeans over {words}"


def _apart(scales: Float) -> float:
    """How far the nearest scales stand from each other, as a part of the axis."""
    places = np.unique(np.log(scales))
    return float(np.diff(places).min() / np.ptp(places)) if len(places) > 1 else 1.0


def _last_steps(sweep: Sweep, name: str, i: int, j: int) -> Float:
    """The steps at which the diverged runs were last seen, each once."""
    runs = np.asarray(sweep.data[name].values)[i, j][sweep.diverged[i, j]]
    with np.errstate(invalid="ignore"):
        held = np.abs(runs) < LARGEST_DRAWN
    # The first record that cannot be drawn; the last of all, if only the loss has left.
    first = np.where(held.all(axis=1), runs.shape[1] - 1, np.argmin(held, axis=1))
    return np.unique(sweep.steps[first]).astype(np.float64)


def _set_heights(axes: Axes, name: str, rows: float) -> None:
    """Losses in logarithms, and an upper edge that leaves room for rows of crosses."""
    lines = [np.asarray(line.get_ydata()) for line in axes.lines if line.get_marker() != "x"]
    if not any(np.isfinite(line).any() for line in lines):
        return  # all have diverged
    if name == "loss" and all((line[np.isfinite(line)] > 0).all() for line in lines):
        axes.set_yscale("log")
    scale = axes.yaxis.get_transform()
    low, high = scale.transform(axes.get_ylim())
    top = low + (high - low) / (1.0 - rows * ROW)
    axes.set_ylim(top=float(scale.inverted().transform(top)))


def _draw_cross(axes: Axes, place: float, shade: str, row: int, words: str = "") -> None:
    """Mark diverged runs at the upper edge, with how many of them below."""
    height, across = EDGE - row * ROW, axes.get_xaxis_transform()
    axes.plot([place], [height], "x", color=shade, transform=across, clip_on=False, zorder=5)
    if words:
        style: dict[str, Any] = {"fontsize": "small", "ha": "center", "va": "top"}
        axes.text(place, height, f"\n{words}", transform=across, linespacing=0.6, **style)
