"""The figure of a direction that converges: over margins beyond all floats."""

import numpy as np
from matplotlib.figure import Figure

from limitpoint.dynamics import LimitDirection
from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import as_kind
from limitpoint.plot.margins import plot_separation
from limitpoint.plot.style import largest, new_figure, style_of
from limitpoint.theory import Limit, as_limit

__all__ = ["plot_limit_direction"]

LN10 = float(np.log(10.0))


def plot_limit_direction(found: LimitDirection, limit: Limit | None = None) -> Figure:
    """Directions, and their distance from the end, against the logarithm of the margin.

    With a prediction the distance from that. Of a flow that did not separate the data, the figure
    of the flow.
    """
    wanted = "a LimitDirection, like limit_direction(problem)"
    as_kind(found, LimitDirection, wanted, "found", LimitpointError)
    if limit is not None:
        as_limit(limit, found.direction.shape)
    if not found.status.ok:
        return plot_separation(found.run, limit)
    run, end = found.run, found.direction if limit is None else limit.direction
    smallest = np.asarray(run.margins).min(axis=1)
    shown = smallest > 1.0
    places = np.concatenate([np.log(smallest[shown]), found.log_margins]) / LN10
    directions = np.concatenate([run.directions[shown], found.directions])
    figure = new_figure((9, 6))
    turning, distances = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    named = largest(np.maximum(np.abs(found.direction), np.abs(directions).max(axis=0)))
    for i, line in enumerate(directions.T):
        turning.plot(places, line, **style_of(i, named, found.direction.shape, found))
    turning.set_ylabel("coefficient / norm")
    turning.set_title("The direction of gradient flow, to its end")
    turning.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    away = np.linalg.norm(directions - end, axis=1)
    what = "its end" if limit is None else "the prediction"
    distances.loglog(places, np.maximum(away, 1e-16), color="black", label=f"from {what}")
    distances.axhline(
        found.uncertainty, color="0.6", linestyle=":", label="left by the weights' sharpness"
    )
    distances.set_xlabel("log₁₀ of the smallest margin")
    distances.set_ylabel("distance")
    distances.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure
