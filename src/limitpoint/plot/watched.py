"""The figure of a training run that was watched on its way to its limit."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from limitpoint.foundation.arrays import Float
from limitpoint.plot.coefficient_lines import drawable, point_if
from limitpoint.plot.panels import open_panels
from limitpoint.plot.style import colour, ink, line_width

__all__ = ["plot_watched"]

PANELS = {"distance": 3.0, "loss": 2.0, "drift": 2.0}
LABELS = ("distance from the limit", "loss", "drift of invariants")


def plot_watched(steps: Any, distances: Float, losses: Float, drifts: Float) -> Figure:
    """All against the step, in logarithms; relative to the limit's norm and the squared layers."""
    opened = open_panels(PANELS, (9.0, 8.5), panels=None, ax=None, figsize=None)
    moments = np.asarray(steps, dtype=np.float64)
    shown = moments > 0 if (moments > 0).any() else moments == 0
    lines = (distances, losses, drifts)
    for rank, (name, label, values) in enumerate(zip(PANELS, LABELS, lines, strict=True)):
        if name not in opened:
            continue
        axes, heights = opened[name], drawable(values[shown])
        style: dict[str, Any] = {"linewidth": line_width(), **point_if(moments[shown])}
        line = ink() if name == "loss" else colour(rank)
        axes.plot(moments[shown], heights, color=line, **style)
        axes.set_xscale("log" if moments[shown].all() else "linear")
        axes.set_yscale("log" if (heights > 0).any() else "linear")
        opened.set_ylabel(label, name)
    opened.set_title("training beside its predicted limit")
    opened.set_xlabel("step")
    return opened.figure
