"""What all figures share."""

from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from limitpoint.foundation.arrays import Float

__all__ = ["COLOURS", "flat", "largest", "new_figure", "style_of"]

# Okabe–Ito: told apart with any colour vision. Black is kept for the loss.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31")
# Coefficients named in the legend: the largest at the end; the others are drawn in grey.
NAMED = 7


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


def style_of(feature: int, named: list[int], shape: tuple[int, ...]) -> dict[str, Any]:
    """The line of a coefficient: its colour and name, or grey."""
    if feature in named:
        place = ", ".join(str(i) for i in np.unravel_index(feature, shape))
        return {
            "color": COLOURS[named.index(feature)],
            "label": f"β[{place}]",
            "linewidth": 1.6,
            "zorder": 3,
        }
    return {"color": "0.75", "linewidth": 0.8}
