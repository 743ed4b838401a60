"""Figures of limits: one, and those along the scales of the initialisation."""

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator

from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import Float, as_kind
from limitpoint.plot.coefficient_lines import drawable, point_if
from limitpoint.plot.panels import AxesGiven, Panels, PanelsGiven, SizeGiven, open_panels
from limitpoint.plot.style import (
    GREY,
    colour,
    flat,
    ink,
    largest,
    line_width,
    name_others,
    name_ticks,
    style_of,
)
from limitpoint.tasks import Classification
from limitpoint.theory import Limit, LimitPath, as_limit

__all__ = ["plot_limit", "plot_path"]

# The limits at scale 0 and infinity stand apart from the others by this part of the decades shown,
# by so many inches, and by this many decades at least.
EDGE = 0.1
EDGE_INCHES = 0.5
LEAST_ROOM = 0.2
# A logarithmic axis holds nothing below this, nor above its inverse.
SMALLEST_DRAWN = 1e-290
EDGE_NAMES = {0.0: "0", np.inf: "∞"}
# Ends of the range of scales may be off by rounding, and still have their label.
ROUNDING = 1.0 + 1e-9
# Labels on the axis of scales: at most so many, and so many for each inch of the figure.
TICKS = 9
TICKS_PER_INCH = 1.2
# Inches that a name needs, written upright.
NAME_WIDTH = 0.16
# Markers, as a part of the caller's size.
MARKER = 2.0 / 3.0


def plot_limit(
    limit: Limit,
    *,
    panels: PanelsGiven = None,
    ax: AxesGiven = None,
    figsize: SizeGiven = None,
) -> Figure:
    """The predicted coefficients as stems, and their moduli in logarithms.

    Of a classification, those of the predicted direction.

    Parameters
    ----------
    limit
        From `predict`.
    panels
        One or both of "coefs" and "log_coefs"; by default those that have room.
    ax
        Axes to draw into, one for each panel, in the order of the panels.
    figsize
        Width and height of a new figure, in inches.

    Returns
    -------
    Figure
        A new figure, or that of `ax`.
    """
    as_limit(limit)
    offered = {"coefs": 1.0, "log_coefs": 1.0}
    opened = open_panels(offered, (9.0, 5.5), panels=panels, ax=ax, figsize=figsize)
    turning = issubclass(limit.theorem.task, Classification)
    # The outputs of a feature stand side by side.
    outputs = limit.coef.size // len(limit.coef)
    features = np.arange(limit.coef.size) / outputs
    if "coefs" in opened:
        _draw_stems(opened["coefs"], features, limit.direction if turning else limit.coef)
        opened.set_ylabel("coefficient / norm" if turning else "coefficient", "coefs")
    if "log_coefs" in opened:
        logs = limit.log_abs_coef.ravel()
        if turning:
            logs = logs - np.log(float(np.linalg.norm(limit.coef)) or 1.0)
        _draw_moduli(opened["log_coefs"], features, logs / np.log(10), limit.signs.ravel())
        what = "coefficient / norm" if turning else "coefficient"
        opened.set_ylabel(f"log₁₀ |{what}|", "log_coefs")
        opened.add_legend("log_coefs")
    for axes in opened.axes.values():
        if limit.feature_names is None or len(limit.coef) > _most_names(opened):
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        elif axes in opened.labelled:
            name_ticks(axes, range(len(limit.coef)), limit)
    opened.set_title(f"predicted {'limit direction' if turning else 'limit'} ({limit.theorem.id})")
    opened.set_xlabel("feature")
    return opened.figure


def _most_names(opened: Panels) -> int:
    """How many features can be named one by one along an axis."""
    widths = [opened.inches(axes)[0] for axes in opened.axes.values()]
    return int(min(widths) / NAME_WIDTH)


def _draw_stems(axes: Axes, features: Float, coef: Float) -> None:
    size = MARKER * float(rcParams["lines.markersize"])
    axes.vlines(features, 0, coef.ravel(), color=colour(0), linewidth=line_width())
    axes.plot(features, coef.ravel(), "o", color=colour(0), markersize=size)
    axes.axhline(0, color=ink(), linewidth=line_width(0.5))


def _draw_moduli(axes: Axes, features: Float, tens: Float, signs: Float) -> None:
    """What is not zero, as a triangle that points up or down with its sign."""
    size = MARKER * float(rcParams["lines.markersize"])
    for rank, (sign, marker, name) in enumerate(((1, "^", "positive"), (-1, "v", "negative"))):
        chosen = (signs == sign) & np.isfinite(tens)
        places = features[chosen], tens[chosen]
        axes.plot(*places, marker, color=colour(rank), markersize=size, label=name)


def plot_path(path: LimitPath, *, ax: AxesGiven = None, figsize: SizeGiven = None) -> Figure:
    """The limit against the scale of the initialisation, on a logarithmic axis.

    The limits at scale 0 and at infinity, if they are there, stand at the edges, where no scale
    has its place.

    Parameters
    ----------
    path
        From `predict_path`.
    ax
        Axes to draw into.
    figsize
        Width and height of a new figure, in inches.

    Returns
    -------
    Figure
        A new figure, or that of `ax`.
    """
    wanted = "a LimitPath, like predict_path(problem, scales)"
    as_kind(path, LimitPath, wanted, "path", LimitpointError)
    opened = open_panels({"coefs": 1.0}, (9.0, 5.5), ax=ax, figsize=figsize)
    axes = opened["coefs"]
    order = np.argsort(path.scales, kind="stable")
    scales, coefs = path.scales[order], flat(drawable(path.coefs[order]))
    shape = path.coefs.shape[1:]
    between = (scales > 0) & np.isfinite(scales)
    inner = scales[between] if between.any() else np.ones(1)
    part = max(EDGE, EDGE_INCHES / opened.inches(axes)[0])
    room = max(part * float(np.log10(inner[-1] / inner[0])), LEAST_ROOM)
    with np.errstate(over="ignore", under="ignore"):
        edges = {
            0.0: max(inner[0] / 10**room, SMALLEST_DRAWN),
            np.inf: min(inner[-1] * 10**room, 1 / SMALLEST_DRAWN),
        }
    named = largest(np.nan_to_num(np.abs(coefs), nan=0.0).max(axis=0))
    for i in range(coefs.shape[1]):
        style = style_of(i, named, shape, path)
        axes.plot(scales[between], coefs[between, i], **style, **point_if(scales[between]))
        for scale, place in edges.items():
            ends = coefs[scales == scale, i][:1]
            size = 0.8 * float(rcParams["lines.markersize"])
            dot = {**style, "label": None, "marker": "o", "markersize": size, "clip_on": False}
            axes.plot(np.full(ends.shape, place), ends, **dot)
    name_others(axes, coefs.shape[1] - len(named), len(named))
    axes.set_xscale("log")
    _label_edges(axes, {s: edges[s] for s in edges if s in scales}, inner, bool(between.any()))
    axes.axhline(0, color=ink(), linewidth=line_width(0.5), zorder=1)
    opened.set_ylabel("coefficient of the limit", "coefs")
    opened.set_xlabel("scale of the initialisation")
    opened.set_title("predicted limit of training")
    opened.add_legend("coefs")
    return opened.figure


def _label_edges(axes: Axes, edges: dict[float, float], inner: Float, named: bool) -> None:
    """Name the two limits on the axis, apart from the scales by a thin line."""
    left, right = inner[0], inner[-1]
    if left == right:
        left, right = left / 10**LEAST_ROOM, right * 10**LEAST_ROOM
    figure = axes.get_figure(root=True)
    width = TICKS if figure is None else int(TICKS_PER_INCH * figure.get_figwidth())
    count = min(TICKS, max(width, 3))
    ticks = np.asarray(LogLocator(numticks=count).tick_values(left, right))
    ticks = ticks[(left / ROUNDING <= ticks) & (ticks <= right * ROUNDING)]
    names = [f"$10^{{{round(np.log10(tick))}}}$" for tick in ticks]
    if len(ticks) < 2:  # less than a decade: name the ends
        ticks, names = (
            np.unique(inner[[0, -1]]),
            [f"{end:.3g}" for end in np.unique(inner[[0, -1]])],
        )
    if not named:
        ticks, names = ticks[:0], []
    axes.set_xticks([*ticks, *edges.values()], [*names, *(EDGE_NAMES[s] for s in edges)])
    axes.minorticks_off()
    ends = {0.0: left, np.inf: right}
    for scale, place in edges.items():
        middle = np.sqrt(ends[scale]) * np.sqrt(place)
        axes.axvline(middle, color=GREY, linewidth=line_width(0.5), zorder=0)
        # The dots stand in the middle of their strip.
        ends[scale] = place * (place / middle)
    axes.set_xlim(ends[0.0], ends[np.inf])
