"""The drawing of a tensor network: a tensor that its layers contract one after another."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Polygon

from limitpoint.plot.network_diagrams import Size
from limitpoint.plot.style import GREY, colour, fitting_size, ink, line_width

__all__ = ["draw_tensor"]

# At most so many cells are drawn along an axis, and so many layers, the last among them.
CELLS = 5
LAYERS = 3
# The oblique axis: a cell to the right and up, in cells.
OBLIQUE = (0.35, 0.3)
# Room between the pieces, in cells, and for an arrow.
GAP = 1.1
ARROW = 1.6
# The room for a label, in cells.
LABEL = 3.6
# Tensors of more than three axes are drawn as so many boxes behind each other.
BOXES = 3
SHIFT = 0.45


def draw_tensor(axes: Axes, sizes: Sequence[int], features: Size, width: float) -> None:
    """The data tensor M(x), and what is left of it after each layer (yun Fig. 2).

    The axis that is contracted next stands upright, beside the layer's vector. The axes are so many
    inches wide.
    """
    depth, left, before = len(sizes), 0.0, len(axes.texts)
    left = _piece(axes, left, [features], "$x$", ink())
    left = _arrow(axes, left)
    shown = [*range(depth)] if depth <= LAYERS + 1 else [*range(LAYERS - 1), depth - 1]
    for number, layer in enumerate(shown):
        if number and layer != shown[number - 1] + 1:
            axes.text(left, 0.0, "⋯", ha="center", va="center", fontsize="x-large")
            left = _arrow(axes, left + GAP)
        name = f"H_{{{layer}}}(x)" if layer else "M(x)"
        left = _piece(axes, left, sizes[layer:], f"${name}$", GREY)
        axes.text(left - GAP / 2, 0.0, "∘", ha="center", va="center")
        left = _piece(axes, left, sizes[layer : layer + 1], f"$v_{{{layer + 1}}}$", colour(layer))
        left = _arrow(axes, left)
    left = _piece(axes, left, [1], "$f(x)$", ink())
    axes.set_aspect("equal")
    axes.set_xlim(-0.5, left - GAP + 0.5)
    labels = [text for text in list(axes.texts)[before:] if "\n" in text.get_text()]
    letters = max(len(line) for text in labels for line in text.get_text().split("\n")[1:])
    for text in labels:
        text.set_fontsize(fitting_size(LABEL * width / left, letters, "small"))
    axes.set_ylim(-CELLS / 2 - 2.4, CELLS / 2 + CELLS * OBLIQUE[1] + 0.6)


def _arrow(axes: Axes, left: float) -> float:
    """An arrow from here to the next piece; where that begins."""
    style: dict[str, Any] = {"arrowstyle": "->", "color": ink(), "linewidth": line_width(0.8)}
    axes.annotate("", (left + ARROW - GAP, 0.0), (left - GAP + 0.3, 0.0), arrowprops=style)
    return left + ARROW - GAP + 0.4


def _piece(axes: Axes, left: float, sizes: Sequence[Size], name: str, shade: str) -> float:
    """A vector, a matrix or a box with its name and sizes; where the next piece begins."""
    counts = [min(size, CELLS) if isinstance(size, int) else CELLS for size in sizes]
    rows, across, deep = [*counts, 1, 1][:3]
    boxes = BOXES if len(sizes) > 3 else 1
    for box in reversed(range(boxes)):
        corner = (left + SHIFT * box, -rows / 2 + SHIFT * box)
        _box(axes, corner, (rows, across, deep if len(sizes) > 2 else 0), shade)
    width = across + OBLIQUE[0] * (deep if len(sizes) > 2 else 0) + SHIFT * (boxes - 1)
    words = " × ".join(str(size) if isinstance(size, int) else f"${size}$" for size in sizes)
    low = -CELLS / 2 - 0.3
    axes.text(left + width / 2, low, f"{name}\n{words}", ha="center", va="top")
    return left + width + GAP


def _box(axes: Axes, corner: tuple[float, float], counts: tuple[int, int, int], shade: str) -> None:
    """Cells of the front, the top and the right side."""
    rows, across, deep = counts
    x, y = corner
    right, up, back = np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array(OBLIQUE)
    origin = np.array([x, y])
    faces = [(origin, right, across, up, rows)]
    if deep:
        faces += [
            (origin + rows * up, right, across, back, deep),
            (origin + across * right, up, rows, back, deep),
        ]
    for start, one, ones, two, twos in faces:
        for i in range(ones):
            for j in range(twos):
                first = start + i * one + j * two
                cell = [first, first + one, first + one + two, first + two]
                axes.add_patch(
                    Polygon(
                        cell,
                        closed=True,
                        facecolor=shade,
                        alpha=1.0,
                        edgecolor="white",
                        linewidth=line_width(0.5),
                    )
                )
