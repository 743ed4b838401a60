"""What all figures share."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.labels import coef_label, place_label

__all__ = ["COLOURS", "drawn", "flat", "largest", "name_ticks", "new_figure", "style_of"]

# Okabe–Ito: told apart with any colour vision. Black is kept for the loss.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31")
# Coefficients named in the legend: the largest at the end; the others are drawn in grey.
NAMED = 7
# Names of more letters than these in all do not fit side by side along an axis.
LETTERS_ALONG = 16


def new_figure(size: tuple[float, float]) -> Figure:
    """An empty figure of this size in inches, which no window manager knows of."""
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def largest(sizes: Any) -> list[int]:
    """The coefficients that are named, given sizes or their logarithms; in order."""
    order = np.argsort(-sizes, kind="stable")[:NAMED]
    return sorted(int(i) for i in order)


def flat(coefs: Float) -> Float:
    """Records × coefficients, however many outputs there are."""
    return coefs.reshape(len(coefs), -1)


def style_of(
    feature: int, named: list[int], shape: tuple[int, ...], result: Any = None
) -> dict[str, Any]:
    """The line of a coefficient: its colour and what the result calls it, or grey."""
    if feature in named:
        place = np.unravel_index(feature, shape)
        names = (getattr(result, "feature_names", None), getattr(result, "target_names", None))
        return {
            "color": COLOURS[named.index(feature)],
            "label": drawn(coef_label(place, *names)),
            "linewidth": 1.6,
            "zorder": 3,
        }
    return {"color": "0.75", "linewidth": 0.8}


def name_ticks(axes: Axes, features: Sequence[int], result: Any, **settings: Any) -> None:
    """Write the names of features along an axis, or their numbers; upright where they are long."""
    names = [drawn(place_label((i,), result.feature_names)) for i in features]
    upright = sum(len(name) for name in names) > LETTERS_ALONG
    axes.set_xticks(np.arange(len(names)), names, rotation=90 if upright else 0, **settings)


def drawn(name: str) -> str:
    """A name as it is written: no mathematics in it, and in the legend whatever it begins with."""
    return (f" {name}" if name.startswith("_") else name).replace("$", r"\$")
