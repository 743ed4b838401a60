"""Panels: the axes of a figure by their names, in a new figure or that of the caller."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from matplotlib import rcParams, rcParamsDefault
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import as_number, shown
from limitpoint.plot.style import letters_in, new_figure, show_once, wrapped

__all__ = ["AxesGiven", "Panels", "PanelsGiven", "SizeGiven", "open_panels"]

# Figures at least this wide, in inches, have their legends at the right; others above the axes.
WIDE = 6.0
# The room of a legend's handle, in letters, and its width above axes, as a part of theirs.
HANDLE = 4
LEGEND_PART = 0.95
# The height of a line of small letters above axes, as a multiple of the font's size.
SMALL_LINE = 1.3
# Panels of a new figure that are not asked for by name have this height at least, in inches.
ROOM = 1.3
# A figure has at most so many inches a side: beyond, its pixels fill the memory.
LONGEST_SIDE = 200.0
# Figures are at least this high, or wide, in inches, when panels are left out.
LEAST_HEIGHT = 3.2
LEAST_WIDTH = 6.4

AxesGiven: TypeAlias = Axes | Sequence[Axes] | NDArray[Any] | None
PanelsGiven: TypeAlias = str | Sequence[str] | None
SizeGiven: TypeAlias = tuple[float, float] | None


@dataclass(frozen=True)
class Panels:
    """The axes of a figure by the names of its panels, those that were chosen.

    Attributes
    ----------
    figure
        The figure that holds them.
    axes
        From the first panel to the last.
    ours
        Whether the figure was made here. Then legends may stand beside or above the axes; in a
        caller's figure they stay inside.
    labelled
        The axes below which the axis of x is named: all, or the last of those that share it.
    """

    figure: Figure
    axes: Mapping[str, Axes]
    ours: bool
    labelled: tuple[Axes, ...]

    def __contains__(self, name: str) -> bool:
        return name in self.axes

    def __getitem__(self, name: str) -> Axes:
        return self.axes[name]

    @property
    def wide(self) -> bool:
        """Whether there is room for a legend at the right of the axes."""
        return self.ours and self.figure.get_figwidth() >= WIDE

    def set_title(self, text: str, *, over_all: bool = False) -> None:
        """Write the title over the first panel; over what stands above the axes, if anything does.

        That is the legend of a narrow figure; `over_all` says that there is something else.
        """
        size, weight = rcParams["axes.titlesize"], rcParams["axes.titleweight"]
        if not self.wide and size == rcParamsDefault["axes.titlesize"]:
            size = "medium"
        if self.ours and (over_all or not self.wide):
            words = wrapped(text, self.figure.get_figwidth(), size)
            self.figure.suptitle(words, fontsize=size, fontweight=weight)
        else:
            first = next(iter(self.axes.values()))
            pad = rcParams["axes.titlepad"] + (
                SMALL_LINE * rcParams["font.size"] if over_all else 0.0
            )
            first.set_title(wrapped(text, self.inches(first)[0], size), fontsize=size, pad=pad)

    def set_xlabel(self, text: str, name: str | None = None) -> None:
        """Name the axis of x that panels share, or that of one panel alone."""
        for axes in self.labelled if name is None else (self.axes[name],):
            axes.set_xlabel(wrapped(text, self.inches(axes)[0], rcParams["axes.labelsize"]))

    def set_ylabel(self, text: str, name: str) -> None:
        """Name the axis of y of a panel."""
        axes = self.axes[name]
        axes.set_ylabel(wrapped(text, self.inches(axes)[1], rcParams["axes.labelsize"]))

    def inches(self, axes: Axes) -> tuple[float, float]:
        """Width and height of axes, before a legend takes some of it."""
        place = axes.get_position()
        width, height = self.figure.get_size_inches()
        return float(place.width * width), float(place.height * height)

    def add_legend(self, name: str, *, above: bool = False) -> None:
        """Explain the lines of a panel that have names, if there are any.

        At the right of the axes; above them in a narrow figure, or if there is no room between
        panels; inside the axes of a caller.
        """
        axes = self.axes[name]
        handles, labels = axes.get_legend_handles_labels()
        if not handles:
            return
        if self.wide and not above:
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        elif self.ours:
            room = letters_in(self.inches(axes)[0] * LEGEND_PART, "small")
            axes.legend(
                loc="lower center",
                bbox_to_anchor=(0.5, 1.0),
                ncols=_columns(labels, room),
                fontsize="small",
                frameon=False,
                handlelength=1.3,
                columnspacing=1.0,
                borderaxespad=0.2,
            )
        else:
            axes.legend(fontsize="small")


def open_panels(
    offered: Mapping[str, float],
    size: tuple[float, float],
    *,
    panels: PanelsGiven = None,
    ax: AxesGiven = None,
    figsize: SizeGiven = None,
    across: bool = False,
    apart: Sequence[str] = (),
) -> Panels:
    """The axes to draw into: those of the caller, or a new figure with a panel for each name.

    Parameters
    ----------
    offered
        The panels that there are, and how high they are against each other (across: how wide).
    size
        Width and height of a new figure with all of them, in inches.
    panels
        The panels asked for, by name; by default all for which the figure has room.
    ax
        Axes of the caller, one for each panel.
    figsize
        Width and height of a new figure, in inches.
    across
        Whether the panels have axes of their own, and stand side by side where there is room.
    apart
        Panels of a column that do not share the axis of x with the others.
    """
    names = _chosen(offered, panels)
    if ax is None and figsize is not None and panels is None:
        side_by_side = across and _as_size(figsize)[0] >= WIDE
        count = len(names) if side_by_side else int(_as_size(figsize)[1] // ROOM)
        names = names[: max(count, 1)]
    if ax is not None:
        if figsize is not None:
            raise LimitpointError("figsize is for a new figure; ax is in a figure that has a size")
        given = dict(zip(names, _as_axes(ax, names), strict=True))
        figure = next(iter(given.values())).get_figure(root=True)
        assert figure is not None
        show_once(figure)
        labelled = tuple(given[name] for name in names if name not in apart)
        return Panels(figure, given, ours=False, labelled=labelled)
    ratios = [offered[name] for name in names]
    if figsize is not None:
        size = _as_size(figsize)
    else:
        part = sum(ratios) / sum(offered.values())
        least = LEAST_WIDTH if across else LEAST_HEIGHT
        side = 0 if across else 1
        length = min(size[side], max(part * size[side], least))
        size = (length, size[1]) if across else (size[0], length)
    figure = new_figure(size)
    if across and size[0] >= WIDE:
        every = figure.subplots(1, len(names), width_ratios=ratios, squeeze=False)[0]
    else:
        every = figure.subplots(len(names), 1, height_ratios=ratios, squeeze=False)[:, 0]
    own = dict(zip(names, every, strict=True))
    alone = names if across else apart
    shared = [own[name] for name in names if name not in alone]
    for axes in shared[:-1]:
        axes.sharex(shared[-1])
        axes.tick_params(labelbottom=False)
    labelled = tuple(every) if across else tuple(shared[-1:])
    return Panels(figure, own, ours=True, labelled=labelled)


def _chosen(offered: Mapping[str, float], panels: PanelsGiven) -> list[str]:
    if panels is None:
        return list(offered)
    names = [panels] if isinstance(panels, str) else panels
    known = ", ".join(offered)
    rule = f"panels must be one or more of {known}, each once"
    if not isinstance(names, list | tuple) or not names:
        raise LimitpointError(f"{rule}; it is {shown(panels)}")
    for name in names:
        if not isinstance(name, str) or name not in offered or list(names).count(name) > 1:
            raise LimitpointError(f"{rule}; it is {shown(panels)}")
    return list(names)


def _as_axes(ax: Any, names: Sequence[str]) -> list[Axes]:
    """The axes of the caller, one for each panel, in the order in which they were named."""
    given = [ax] if isinstance(ax, Axes) else ax
    if isinstance(given, np.ndarray):
        given = given.ravel().tolist()
    rule = "ax must be axes of matplotlib, as plt.subplots() makes them"
    if not isinstance(given, list | tuple) or not all(map(_is_plain, given)):
        raise LimitpointError(f"{rule}; it is {shown(ax)}")
    if len(given) != len(names) or len({id(one) for one in given}) < len(given):
        panels = f"one for each of the {len(names)} panels {', '.join(names)}"
        wanted = "a single one" if len(names) == 1 else panels
        raise LimitpointError(f"ax must be {wanted}; there are {len(given)}")
    return list(given)


def _is_plain(one: Any) -> bool:
    """Whether these are axes of a figure, with an axis of x and one of y."""
    return isinstance(one, Axes) and one.name == "rectilinear" and one.figure is not None


def _as_size(figsize: Any) -> tuple[float, float]:
    rule = f"figsize must be width and height in inches, each positive and up to {LONGEST_SIDE:g}"
    sides = figsize.tolist() if isinstance(figsize, np.ndarray) else figsize
    if not isinstance(sides, list | tuple) or len(sides) != 2:
        raise LimitpointError(f"{rule}; it is {shown(figsize)}")
    width, height = (as_number(side, rule, LimitpointError) for side in sides)
    if not (0 < width <= LONGEST_SIDE and 0 < height <= LONGEST_SIDE):
        raise LimitpointError(f"{rule}; it is {shown(figsize)}")
    return width, height


def _columns(labels: Sequence[str], room: float) -> int:
    """In how many columns a legend has room, given in letters; it is filled column by column."""
    widths = [max(map(_length, label.split("\n"))) + HANDLE for label in labels]
    for count in range(len(labels), 1, -1):
        rows = -(-len(labels) // count)
        columns = [widths[i : i + rows] for i in range(0, len(widths), rows)]
        if len(columns) == count and sum(map(max, columns)) <= room:
            return count
    return 1


def _length(label: str) -> int:
    """Letters of a label, without the marks of formulas."""
    return len(re.sub(r"[${}_^]", "", re.sub(r"\\mathrm|\\[a-z]+", "σ", label)))
