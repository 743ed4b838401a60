"""Lines of coefficients: along a run, with the predicted limit and a training run over them."""

from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes

from limitpoint.foundation.arrays import Float
from limitpoint.plot.style import colour, ink, line_width, name_others, style_of

__all__ = ["draw_coefs", "draw_limit", "drawable", "lay_dots", "point_if", "rows_of_dots"]

# A training run is laid over a flow as about this many dots.
DOTS = 60
# The diameter of a dot, as a multiple of the caller's markers.
DOT = 7.0 / 6.0
# Axes cannot be laid out for numbers beyond this; a diverging run is drawn up to it.
LARGEST_DRAWN = 1e100


def draw_coefs(
    axes: Axes, places: Float, lines: Float, named: list[int], shape: tuple[int, ...], result: Any
) -> None:
    """One line for each column, by the names that the result has; the legend counts the others."""
    for i, line in enumerate(drawable(lines).T):
        axes.plot(places, line, **style_of(i, named, shape, result), **point_if(places))
    name_others(axes, lines.shape[1] - len(named), len(named))


def draw_limit(axes: Axes, heights: Float, named: list[int]) -> None:
    """The predicted coefficients as dashed lines, in the colours of their curves."""
    dashed: dict[str, Any] = {"linestyle": "--", "linewidth": line_width(0.65)}
    for rank, i in enumerate(named):
        axes.axhline(float(heights.ravel()[i]), color=colour(rank), **dashed)
    axes.plot([], [], color=ink(), label="predicted limit", **dashed)


def lay_dots(axes: Axes, places: Float, lines: Float, named: list[int]) -> None:
    """A training run as dots over a flow, in the colours of its curves."""
    size = DOT * float(rcParams["lines.markersize"])
    edge: dict[str, Any] = {"markeredgecolor": rcParams["axes.facecolor"], "markeredgewidth": 0.3}
    for rank, i in enumerate(named):
        dots = drawable(lines[:, i])
        axes.plot(places, dots, ".", color=colour(rank), markersize=size, zorder=4, **edge)
    axes.plot([], [], ".", color=ink(), markersize=size, label="training")


def rows_of_dots(records: int) -> Any:
    """Which records of a training run are drawn."""
    return np.unique(np.linspace(1, records - 1, DOTS).astype(int))


def drawable(numbers: Float) -> Float:
    """The numbers with NaN, which draws nothing, in place of what no axis can hold."""
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(numbers) < LARGEST_DRAWN, numbers, np.nan)


def point_if(places: Float) -> dict[str, Any]:
    """A single record is drawn as a point: a line through it would be invisible."""
    return {"marker": "o"} if len(places) == 1 else {}
