"""What all figures share."""

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

__all__ = ["COLOURS", "new_figure"]

# Okabe–Ito: told apart with any colour vision. Black is kept for the loss.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31")


def new_figure(size: tuple[float, float]) -> Figure:
    """An empty figure of this size in inches, which no window manager knows of."""
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure
