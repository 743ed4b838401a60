"""What all figures share: colours, line widths, fonts and the names of coefficients.

Settings of matplotlib are respected: fonts, sizes, line widths, a colour cycle other than
matplotlib's own. What is ours is what they leave open.
"""

import textwrap
from collections.abc import Sequence
from functools import partial
from io import BytesIO
from typing import Any

import numpy as np
from matplotlib import get_backend, is_interactive, rcParams, rcParamsDefault
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.labels import coef_label, place_label

__all__ = [
    "COLOURS",
    "GREY",
    "ShownFigure",
    "colour",
    "colours",
    "drawn",
    "fitting_size",
    "flat",
    "ink",
    "largest",
    "letters_in",
    "line_width",
    "name_others",
    "name_ticks",
    "new_figure",
    "show_once",
    "style_of",
    "wrapped",
]

# Okabe–Ito: told apart with any colour vision. Black is kept for the loss.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31")
# Coefficients named in the legend: the largest at the end; the others are drawn in grey.
NAMED = 7
GREY = "0.7"
# Fonts are not made smaller than this to fit, in points.
SMALLEST_FONT = 4.0
# The mean width of a letter, as a part of the size of the font.
LETTER = 0.53
# Names along an axis stand upright if one has more letters than this, and all more than these.
LETTERS_LEVEL = 2
LETTERS_ALONG = 16
# The longest name of a tick, in letters.
LONGEST_TICK = 12
# A text is not broken into shorter lines than this.
FEWEST_LETTERS = 12
# The names of the backend that shows the figures of pyplot at the end of a cell.
INLINE = ("inline", "module://matplotlib_inline.backend_inline")


class ShownFigure(Figure):
    """A figure that shows itself in a notebook, and that no window manager knows of.

    pyplot does not show it again, since it does not know of it; where pyplot has told the notebook
    how to draw figures, that way is taken.
    """

    def _repr_png_(self) -> bytes:
        content = BytesIO()
        self.savefig(content, format="png", dpi="figure")
        return content.getvalue()


def new_figure(size: tuple[float, float]) -> Figure:
    """An empty figure of this size in inches, which no window manager knows of."""
    figure = ShownFigure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def show_once(figure: Figure) -> None:
    """Let a figure of pyplot be shown once in a notebook, although the cell ends with it.

    The inline backend shows all figures of pyplot at the end of a cell and closes them, whether or
    not the cell's value was one of them. There is no telling who asks for a picture: so the first
    one closes the figure, as the end of the cell does, and nobody shows it again.
    """
    if figure.canvas.manager is not None and get_backend().lower() in INLINE:
        # IPython asks the object itself first.
        vars(figure)["_ipython_display_"] = partial(_show_and_close, figure)


def _show_and_close(figure: Figure) -> None:
    from IPython.display import display
    from matplotlib import pyplot
    from matplotlib_inline.config import InlineBackend

    del vars(figure)["_ipython_display_"]  # from now on it is shown like any other
    display(figure)  # type: ignore[no-untyped-call]  # IPython does not annotate it
    # Figures that stay open from cell to cell, or are shown when asked for only, are the caller's.
    if is_interactive() and InlineBackend.instance().close_figures:
        pyplot.close(figure)


def colours() -> tuple[str, ...]:
    """Okabe and Ito's colours; or the caller's cycle, if it is not the one matplotlib begins with.

    At most as many as coefficients are named.
    """
    cycle = rcParams["axes.prop_cycle"]
    own = cycle.by_key().get("color", [])
    if not own or cycle == rcParamsDefault["axes.prop_cycle"]:
        return COLOURS
    return tuple(dict.fromkeys(own))[:NAMED]


def colour(rank: int) -> str:
    """The colour of the line with this number, from 0 on."""
    every = colours()
    return every[rank % len(every)]


def ink() -> str:
    """The colour of text: black, or light where the background is dark."""
    colour: str = rcParams["text.color"]
    return colour


def line_width(factor: float = 1.0) -> float:
    """The caller's width of lines, times a factor."""
    return factor * float(rcParams["lines.linewidth"])


def fitting_size(width: float, letters: int, size: str = "medium") -> float:
    """The size of a font in points, at most the named one, in which letters fit into inches."""
    points = float(FontProperties(size=size).get_size_in_points())
    return min(points, max(width * 72.0 / (LETTER * max(letters, 1)), SMALLEST_FONT))


def largest(sizes: Any) -> list[int]:
    """The coefficients that are named, given sizes or their logarithms; in order."""
    order = np.argsort(-sizes, kind="stable")[: len(colours())]
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
            "color": colour(named.index(feature)),
            "label": drawn(coef_label(place, *names)),
            "linewidth": line_width(),
            "zorder": 3,
        }
    return {"color": GREY, "linewidth": line_width(0.5)}


def name_ticks(
    axes: Axes, features: Sequence[int], result: Any, places: Sequence[float] | None = None
) -> None:
    """Write the names of features along an axis, or their numbers; upright where they are long."""
    known = getattr(result, "feature_names", None)
    names = [drawn(place_label((i,), known, longest=LONGEST_TICK)) for i in features]
    longest = max(map(len, names), default=0)
    level = longest <= LETTERS_LEVEL or sum(map(len, names)) <= LETTERS_ALONG
    where = np.arange(len(names)) if places is None else places
    axes.set_xticks(where, names, rotation=0 if level else 90, fontsize="small")


def drawn(name: str) -> str:
    """A name as it is written: no mathematics in it, and in the legend whatever it begins with."""
    return (f" {name}" if name.startswith("_") else name).replace("$", r"\$")


def name_others(axes: Axes, others: int, named: int) -> None:
    """Say in the legend how many lines are grey, if any."""
    if not others:
        return
    if named:
        words = f"{others} other" + "s" * (others > 1)
    else:
        words = "the only one" if others == 1 else f"all {others}"
    axes.plot([], [], color=GREY, linewidth=line_width(0.5), label=words)


def letters_in(width: float, size: Any) -> float:
    """How many letters have room in a width in inches."""
    points = FontProperties(size=size).get_size_in_points()
    return width * 72.0 / (LETTER * points)


def wrapped(text: str, width: float, size: Any) -> str:
    """The text in lines that fit into a width in inches."""
    letters = max(int(letters_in(width, size)), FEWEST_LETTERS)
    return textwrap.fill(text, letters, break_long_words=False, break_on_hyphens=False)
