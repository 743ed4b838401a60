"""The figure of a direction that converges: over margins beyond all floats."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from limitpoint.dynamics import LimitDirection
from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import as_kind
from limitpoint.plot.coefficient_lines import draw_coefs
from limitpoint.plot.margins import SMALLEST_DISTANCE, plot_separation
from limitpoint.plot.panels import AxesGiven, PanelsGiven, SizeGiven, open_panels
from limitpoint.plot.style import GREY, ink, largest, line_width
from limitpoint.theory import Limit, as_limit

__all__ = ["plot_limit_direction"]

LN10 = float(np.log(10.0))


def plot_limit_direction(
    found: LimitDirection,
    limit: Limit | None = None,
    *,
    panels: PanelsGiven = None,
    ax: AxesGiven = None,
    figsize: SizeGiven = None,
) -> Figure:
    """Directions, and their distance from the end, against the logarithm of the margin.

    With a prediction the distance from that. Of a flow that did not separate the data, the figure
    of the flow, with its panels.

    Parameters
    ----------
    found
        From `limit_direction`.
    limit
        From `predict`, to be compared.
    panels
        One or both of "coefs" and "distance"; by default those that have room.
    ax
        Axes to draw into, one for each panel, in the order of the panels.
    figsize
        Width and height of a new figure, in inches.

    Returns
    -------
    Figure
        A new figure, or that of `ax`.
    """
    wanted = "a LimitDirection, like limit_direction(problem)"
    as_kind(found, LimitDirection, wanted, "found", LimitpointError)
    if limit is not None:
        as_limit(limit, found.direction.shape)
    chosen: dict[str, Any] = {"panels": panels, "ax": ax, "figsize": figsize}
    if not found.status.ok:
        return plot_separation(found.run, limit, **chosen)
    opened = open_panels({"coefs": 3.0, "distance": 2.0}, (9.0, 6.0), **chosen)
    run, end = found.run, found.direction if limit is None else limit.direction
    smallest = np.asarray(run.margins).min(axis=1)
    shown = smallest > 1.0
    places = np.concatenate([np.log(smallest[shown]), found.log_margins]) / LN10
    directions = np.concatenate([run.directions[shown], found.directions])
    if "coefs" in opened:
        named = largest(np.maximum(np.abs(found.direction), np.abs(directions).max(axis=0)))
        shape = found.direction.shape
        draw_coefs(opened["coefs"], places, directions, named, shape, found)
        opened.set_ylabel("coefficient / norm", "coefs")
        opened.add_legend("coefs")
    if "distance" in opened:
        axes = opened["distance"]
        away = np.maximum(np.linalg.norm(directions - end, axis=1), SMALLEST_DISTANCE)
        what = "its limit" if limit is None else "the prediction"
        axes.plot(places, away, color=ink(), linewidth=line_width(), label=f"from {what}")
        words = "uncertainty of the direction"
        axes.axhline(found.uncertainty, color=GREY, linestyle=":", label=words)
        axes.set_yscale("log")
        opened.set_ylabel("distance", "distance")
        opened.add_legend("distance")
    for axes in opened.axes.values():
        axes.set_xscale("log")
    opened.set_title("limit direction of gradient flow")
    opened.set_xlabel("log₁₀ of the smallest margin")
    return opened.figure
