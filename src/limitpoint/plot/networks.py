"""Drawings of networks: nodes and links, and the tensor of a tensor network."""

from dataclasses import dataclass
from itertools import product
from math import isqrt
from typing import Any

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import as_whole_number
from limitpoint.networks import (
    Convolutional,
    General,
    MatrixProduct,
    Network,
    OrthogonalTensor,
    Tensor,
    TwoLayer,
    as_network,
)
from limitpoint.plot.network_diagrams import Column, Diagram, Links, Size, diagram_of
from limitpoint.plot.panels import AxesGiven, Panels, SizeGiven, open_panels
from limitpoint.plot.style import GREY, colour, colours, fitting_size, ink, line_width
from limitpoint.plot.tensors import draw_tensor
from limitpoint.tasks import Task, as_task

__all__ = ["plot_network"]

# More nodes than this have dots in the middle; in each of several blocks fewer have room.
NODES_SHOWN = 6
NODES_OF_BLOCK = 4
# Links around a circle are seen only if most nodes are.
NODES_OF_CIRCLE = 8
# More layers than this have dots in the middle, with so many on each side.
LAYERS_SHOWN = 6
LAYERS_OF_SIDE = 2
# The size of a node in points: at most, and as a part of the room between two.
NODE = 16.0
NODE_PART = 0.55
# Inches of a new figure for each layer, and for the names beside them.
LAYER_WIDTH = 1.7
BESIDE = 1.2


def plot_network(
    network: Network,
    task: Task | None = None,
    *,
    features: int | None = None,
    ax: AxesGiven = None,
    figsize: SizeGiven = None,
) -> Figure:
    """The architecture: nodes, links and the names of the layers (labarriere Fig. 1 and 2).

    Each colour is one layer, or one block of it; in a convolution each is one entry of the filter.
    Grey links are fixed. A `Tensor` network is drawn as the tensor that its layers contract (yun
    Fig. 2). Where there are more nodes or layers than can be told apart, dots stand for the rest.

    Parameters
    ----------
    network
        Any network.
    task
        A task, which says how many features and outputs there are.
    features
        How many features there are, where there is no task. Without either, numbers that the
        network does not know itself are drawn as letters.
    ax
        Axes to draw into.
    figsize
        Width and height of a new figure, in inches.

    Returns
    -------
    Figure
        A new figure, or that of `ax`.

    Examples
    --------
    >>> import limitpoint as lp
    >>> figure = lp.plot.plot_network(lp.Diagonal(depth=3), features=6)
    >>> figure.axes[0].get_title().split(",")[0]
    'diagonal linear network of depth 3'
    """
    as_network(network)
    count, outputs = _sizes(network, task, features)
    if isinstance(network, Tensor):
        opened = open_panels({"network": 1.0}, (9.0, 3.6), ax=ax, figsize=figsize)
        width = opened.inches(opened["network"])[0]
        draw_tensor(opened["network"], network.sizes, count, width)
        depth = network.depth
        title = rf"tensor network of depth {depth}, $f(x)=M(x)\circ(v_1,\ldots,v_{{{depth}}})$"
    else:
        diagram = diagram_of(network, count, outputs)
        title = diagram.title
        columns = min(len(diagram.links), LAYERS_SHOWN)
        size = (max(BESIDE + LAYER_WIDTH * columns, 6.0), 4.2)
        opened = open_panels({"network": 1.0}, size, ax=ax, figsize=figsize)
        _draw(opened, diagram)
    opened["network"].set_axis_off()
    opened.set_title(title)
    return opened.figure


def _sizes(network: Network, task: Task | None, features: int | None) -> tuple[Size, Size]:
    """How many features and outputs there are, as numbers or letters."""
    if task is not None:
        if features is not None:
            raise LimitpointError("features must be left out where a task says how many there are")
        network.layer_shapes(as_task(task))
        return task.n_features, task.n_outputs or 1
    own = _own_features(network)
    outputs: Size = "k" if isinstance(network, TwoLayer) else 1
    if features is None:
        return "n" if own is None else own, outputs
    count = as_whole_number(features, 1, "features", LimitpointError)
    if own is not None and count != own:
        raise LimitpointError(f"features must be {own}, as in {network}; it is {count}")
    if isinstance(network, MatrixProduct) and isqrt(count) ** 2 != count:
        raise LimitpointError(
            f"features must be a square number, the entries of a matrix; it is {count}"
        )
    return count, outputs


def _own_features(network: Network) -> int | None:
    """The number of features, where the network knows it."""
    if isinstance(network, Convolutional):
        return network.filter_sizes[-1]
    if isinstance(network, OrthogonalTensor):
        return int(network.S.shape[1])
    if isinstance(network, Tensor):
        return len(network.M)
    if isinstance(network, General) and isinstance(network.k, tuple):
        return len(network.k)
    return None


@dataclass(frozen=True)
class _Nodes:
    """The nodes of a column that are drawn: for each block the height of each, by its number.

    None is the number of the dots in the middle.
    """

    column: Column
    place: float
    blocks: tuple[dict[Size | None, float], ...]


def _draw(opened: Panels, diagram: Diagram) -> None:
    """All columns and links, from the inputs at the left."""
    axes = opened["network"]
    kept, links, gap = _elided(diagram)
    most = NODES_OF_CIRCLE if any(link.kind == "circular" for link in links) else NODES_SHOWN
    if any(column.blocks > 1 for column in kept):
        most = NODES_OF_BLOCK
    slots = max(_slots(column, most) for column in kept)
    columns = [_placed(column, place, most, slots) for place, column in enumerate(kept)]
    width, height = opened.inches(axes)
    line = 1.6 * float(rcParams["font.size"]) / 72.0 / height
    room = 72.0 * min(height / (slots + 2.0), 0.6 * width / len(kept))
    size = min(NODE, NODE_PART * room)
    # The same name is the same layer.
    names = list(dict.fromkeys(name for link in links for name in link.names if link.trained))
    letters = max(len(link.shape.replace("$", "")) for link in links)
    font = fitting_size(width / (len(kept) + 1), letters)
    for number, link in enumerate(links):
        after = number + (gap is not None and number >= gap)
        _draw_links(axes, columns[after], columns[after + 1], link, names, font)
    if gap is not None:
        axes.text(gap + 0.5, 0.5, "⋯", ha="center", va="center", fontsize="x-large")
    for nodes in columns:
        _draw_nodes(axes, nodes, size, first=nodes is columns[0], last=nodes is columns[-1])
    beside = BESIDE / 2 * len(kept) / width
    axes.set_xlim(-beside, len(kept) - 1 + beside)
    blocks = any(len(nodes.blocks) > 1 for nodes in columns)
    axes.set_ylim(-0.03 - line * (1 + blocks), 1.03 + 2.2 * line)


def _elided(diagram: Diagram) -> tuple[list[Column], list[Links], int | None]:
    """The columns and links that are drawn, and after which column others are left out."""
    columns, links = list(diagram.columns), list(diagram.links)
    if len(links) <= LAYERS_SHOWN:
        return columns, links, None
    side = LAYERS_OF_SIDE
    return (
        columns[: side + 1] + columns[-side - 1 :],
        links[:side] + links[-side:],
        side,
    )


def _numbers(column: Column, most: int) -> list[Size | None]:
    """The nodes of a block that are drawn, None for the dots in the middle."""
    if isinstance(column.size, str):
        return [0, 1, None, column.size]
    if column.size <= most:
        return list(range(column.size))
    return [*range(most - 2), None, column.size - 1]


def _slots(column: Column, most: int) -> int:
    return (len(_numbers(column, most)) + 1) * column.blocks - 1


def _placed(column: Column, place: int, most: int, slots: int) -> _Nodes:
    """Heights from 1 at the top to 0, all columns in the middle."""
    numbers = _numbers(column, most)
    step = 1.0 / max(slots, 2)
    top = 0.5 + step * (_slots(column, most) - 1) / 2
    blocks = tuple(
        {number: top - step * (block * (len(numbers) + 1) + i) for i, number in enumerate(numbers)}
        for block in range(column.blocks)
    )
    return _Nodes(column, float(place), blocks)


def _draw_links(
    axes: Axes, left: _Nodes, right: _Nodes, links: Links, names: list[str], font: float
) -> None:
    """The links between two columns, and the names of their weights above and below."""
    blocks = max(len(left.blocks), len(right.blocks))
    for block in range(blocks):
        start = left.blocks[block % len(left.blocks)]
        end = right.blocks[block % len(right.blocks)]
        name = links.names[block % len(links.names)]
        shade = colour(names.index(name)) if links.trained else GREY
        pairs = _pairs(start, end, links, left.column.size)
        ends = [[(left.place, start[a]), (right.place, end[b])] for a, b, _ in pairs]
        own = links.kind == "circular" and links.length <= len(colours())
        shades = [colour(tap) if own else shade for _, _, tap in pairs]
        width = line_width(0.6 if links.kind == "all" else 0.9)
        axes.add_collection(
            LineCollection(ends, colors=shades, linewidths=width, alpha=0.8, zorder=1)
        )
        above = block == 0
        words = f"${name}$" + (f"\n{links.shape}" if links.shape and above else "")
        axes.text(
            left.place + 0.5,
            1.03 if above else -0.03,
            words,
            color=ink() if own else shade,
            ha="center",
            va="bottom" if above else "top",
            fontsize=font,
        )


def _pairs(
    start: dict[Size | None, float], end: dict[Size | None, float], links: Links, size: Size
) -> list[tuple[Any, Any, int]]:
    """Which nodes are linked, and by which entry of a filter."""
    if links.kind == "all":
        return [(a, b, 0) for a, b in product(start, end) if a is not None and b is not None]
    if links.kind == "each":
        return [(a, a, 0) for a in start if a is not None and a in end]
    assert isinstance(size, int)
    drawn = [b for b in end if isinstance(b, int)]
    found = [((b + tap) % size, b, tap) for b, tap in product(drawn, range(links.length))]
    return [pair for pair in found if pair[0] in start]


def _draw_nodes(axes: Axes, nodes: _Nodes, size: float, *, first: bool, last: bool) -> None:
    """The nodes of a column, their names at the sides, and what they are below."""
    column = nodes.column
    for number, height in (item for block in nodes.blocks for item in block.items()):
        if number is None:
            axes.text(nodes.place, height, "⋮", ha="center", va="center", fontsize="large")
            continue
        style: dict[str, Any] = {"markeredgecolor": ink(), "markerfacecolor": "white", "zorder": 3}
        axes.plot([nodes.place], [height], "o", markersize=size, **style)
        if column.inside and size > NODE / 2:
            words: dict[str, Any] = {"ha": "center", "va": "center", "color": "black"}
            axes.text(nodes.place, height, column.inside, fontsize=0.6 * size, zorder=4, **words)
        if column.symbol and (first or last):
            place = (-1.0 if first else 1.0) * (0.5 * size + 4.0)
            index = number + 1 if isinstance(number, int) else number
            name = f"${column.symbol}_{{{index}}}$" if column.size != 1 or first else "$f(x)$"
            axes.annotate(
                name,
                (nodes.place, height),
                (place, 0.0),
                textcoords="offset points",
                ha="right" if first else "left",
                va="center",
            )
    lowest = min(min(block.values()) for block in nodes.blocks)
    axes.annotate(
        column.words,
        (nodes.place, lowest),
        (0.0, -0.5 * size - 4.0),
        textcoords="offset points",
        ha="center",
        va="top",
        fontsize="small",
    )
