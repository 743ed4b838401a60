"""What a drawing of each network shows: columns of nodes, and the links between them."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from limitpoint.errors import LimitpointError
from limitpoint.networks import (
    Convolutional,
    Diagonal,
    FullyConnected,
    General,
    MatrixProduct,
    Network,
    OrthogonalTensor,
    Paired,
    Power,
    RankOne,
    ReLU,
    SignedPower,
    TwoLayer,
)

__all__ = ["Column", "Diagram", "Links", "Size", "diagram_of"]

# A number of nodes, or the letter for one that is not known.
Size = int | str


@dataclass(frozen=True)
class Column:
    """Nodes above each other.

    Attributes
    ----------
    size
        How many there are, in each block.
    words
        What they are, written below.
    symbol
        The name of a node, to which its number is added; written beside it.
    inside
        What is written into every node.
    blocks
        How many such groups stand above each other.
    """

    size: Size
    words: str = ""
    symbol: str = ""
    inside: str = ""
    blocks: int = 1


@dataclass(frozen=True)
class Links:
    """The links from one column to the next.

    Attributes
    ----------
    kind
        "each": from every node to the one beside it; "all": from every node to every other;
        "circular": to as many nodes from the one beside it on as the filter is long.
    names
        The names of their weights, one for each block.
    shape
        The shape of the array of weights, written below the name.
    length
        The length of a filter.
    trained
        Whether they are parameters.
    """

    kind: Literal["each", "all", "circular"]
    names: tuple[str, ...]
    shape: str = ""
    length: int = 0
    trained: bool = True


@dataclass(frozen=True)
class Diagram:
    """A network as columns and the links between them, with a title."""

    title: str
    columns: tuple[Column, ...]
    links: tuple[Links, ...]


def diagram_of(network: Network, features: Size, outputs: Size) -> Diagram:
    """The drawing of a network, given how many features and outputs there are."""
    for kind, make in DIAGRAMS.items():
        if isinstance(network, kind):
            return make(network, features, outputs)
    known = ", ".join([*(kind.__name__ for kind in DIAGRAMS), "Tensor"])
    raise LimitpointError(f"network must be one of {known} to be drawn; it is {network}")


def _inputs(features: Size) -> Column:
    return Column(features, _counted(features, "feature"), "x")


def _output(size: Size = 1) -> Column:
    return Column(size, "output" if size == 1 else _counted(size, "output"), "f")


def _counted(size: Size, what: str) -> str:
    return f"{size if isinstance(size, int) else f'${size}$'} {what}" + "s" * (size != 1)


def _sized(*sizes: Size) -> str:
    return " × ".join(str(size) if isinstance(size, int) else f"${size}$" for size in sizes)


def _product(names: list[str], sign: str) -> str:
    """A product of all layers, with dots for those in the middle."""
    shown = names if len(names) <= 3 else [names[0], r"{\cdots}", names[-1]]
    return sign.join(shown)


def _indexed(symbol: str, depth: int) -> list[str]:
    return [f"{symbol}_{{{i}}}" for i in range(1, depth + 1)]


def _one_to_one(
    title: str, features: Size, layers: list[tuple[str, ...]], hidden: str = ""
) -> Diagram:
    """Every feature passes through weights of its own, and the last ones are summed."""
    blocks = len(layers[0])
    columns = [_inputs(features)]
    columns += [Column(features, hidden, blocks=blocks) for _ in layers[1:]]
    links = [Links("each", names, _sized(features)) for names in layers[:-1]]
    links.append(Links("all", layers[-1], _sized(features)))
    return Diagram(title, (*columns, _output()), tuple(links))


def _diagonal(network: Diagonal, features: Size, outputs: Size) -> Diagram:
    names = _indexed("a", network.depth)
    product = _product(names, r"{\odot}")
    title = rf"diagonal linear network of depth {network.depth}, $\beta={product}$"
    return _one_to_one(title, features, [(name,) for name in names])


def _power(network: Power, features: Size, outputs: Size) -> Diagram:
    title = rf"power network: all layers are one, $\beta=u^{{{network.depth}}}$"
    return _one_to_one(title, features, [("u",)] * network.depth)


def _signed_power(network: SignedPower, features: Size, outputs: Size) -> Diagram:
    power = network.depth
    title = rf"signed power network of depth {power}, $\beta=u^{{{power}}}-w^{{{power}}}$"
    return _one_to_one(title, features, [("u", "w")] * power)


def _paired(network: Paired, features: Size, outputs: Size) -> Diagram:
    title = r"paired network, $\beta=u_+{\odot}v_+-u_-{\odot}v_-$"
    return _one_to_one(title, features, [("u_+", "u_-"), ("v_+", "v_-")])


def _general(network: General, features: Size, outputs: Size) -> Diagram:
    p = network.block_size
    own = r"k_i" if isinstance(network.k, tuple) else "k"
    title = rf"general network, $\beta_i={own}(\theta_i)$ with {_counted(p, 'parameter')} each"
    columns = (_inputs(features), Column(features, r"$\beta_ix_i$"), _output())
    weights = Links("each", (rf"{own}(\theta_i)",), _sized(features, p))
    return Diagram(title, columns, (weights, Links("all", (r"\sum",), trained=False)))


def _dense(
    title: str, sizes: list[Size], names: list[str], output: Column, inside: str = ""
) -> Diagram:
    """Every node with every node of the next column."""
    first, *hidden, last = sizes
    columns = [_inputs(first), *(Column(size, _sized(size), inside=inside) for size in hidden)]
    shapes = [_sized(*pair) for pair in pairwise(sizes)]
    if last == 1:
        shapes[-1] = _sized(sizes[-2])
    links = [Links("all", (name,), shape) for name, shape in zip(names, shapes, strict=True)]
    return Diagram(title, (*columns, output), tuple(links))


def _fully_connected(network: FullyConnected, features: Size, outputs: Size) -> Diagram:
    depth = network.depth
    names = [*_indexed("W", depth - 1), f"w_{{{depth}}}"]
    product = _product(names, "")
    title = rf"fully connected linear network of depth {depth}, $\beta={product}$"
    return _dense(title, [features, *network.widths, 1], names, _output())


def _relu(network: ReLU, features: Size, outputs: Size) -> Diagram:
    depth = network.depth
    names = [*_indexed("W", depth - 1), f"w_{{{depth}}}" if outputs == 1 else f"W_{{{depth}}}"]
    title = rf"ReLU network of depth {depth}, $\sigma(z)=\max(z,0)$"
    sizes = [features, *network.widths, outputs]
    return _dense(title, sizes, names, _output(outputs), r"$\sigma$")


def _two_layer(network: TwoLayer, features: Size, outputs: Size) -> Diagram:
    title = r"two-layer linear network, $\beta=W_1W_2$"
    sizes = [features, network.width, outputs]
    return _dense(title, sizes, ["W_1", "W_2"], _output(outputs))


def _matrix_product(network: MatrixProduct, features: Size, outputs: Size) -> Diagram:
    side: Size = math.isqrt(features) if isinstance(features, int) else "d"
    names = _indexed("W", network.depth)
    product = _product(names, "")
    title = rf"matrix product of depth {network.depth}, $f(A)=\langle{{}}A,{product}\rangle$"
    columns = [Column(side, "rows of $A$")]
    columns += [Column(side, _sized(side)) for _ in names[1:]]
    columns += [Column(side, "columns of $A$")]
    links = [Links("all", (name,), _sized(side, side)) for name in names]
    return Diagram(title, tuple(columns), tuple(links))


def _rank_one(network: RankOne, features: Size, outputs: Size) -> Diagram:
    depth, width = network.depth, network.width
    title = (
        rf"rank-one network of depth {depth}, "
        rf"$\beta=v_1\prod_{{k<{depth}}}(v_{{k+1}}^\top{{}}u_k)$"
    )
    columns, links = [_inputs(features)], [Links("all", ("v_{1}",), _sized(features))]
    for k in range(1, depth):
        columns += [Column(1, "1"), Column(width, _sized(width))]
        links += [
            Links("all", (f"u_{{{k}}}",), _sized(width)),
            Links("all", (f"v_{{{k + 1}}}",), _sized(width)),
        ]
    return Diagram(title, (*columns, _output()), tuple(links))


def _convolutional(network: Convolutional, features: Size, outputs: Size) -> Diagram:
    *short, full = network.filter_sizes
    names = _indexed("w", network.depth)
    title = (
        f"linear network of circular convolutions of depth {network.depth}, filters of length "
        + ", ".join(map(str, network.filter_sizes))
    )
    columns = [_inputs(full), *(Column(full, _sized(full)) for _ in short), _output()]
    links = [
        Links("circular", (name,), _sized(length), length)
        for name, length in zip(names, short, strict=False)
    ]
    return Diagram(title, tuple(columns), (*links, Links("all", (names[-1],), _sized(full))))


def _orthogonal_tensor(network: OrthogonalTensor, features: Size, outputs: Size) -> Diagram:
    terms, count = network.S.shape
    names = [rf"U_{{{i}}}^\top{{}}v_{{{i}}}" for i in range(1, network.depth + 1)]
    product = _product(names, r"{\odot}")
    title = (
        f"orthogonally decomposable tensor network of depth {network.depth}, "
        rf"$\beta=S^\top({product})$"
    )
    rest = _one_to_one(title, terms, [(name,) for name in names])
    words = rf"$Sx$, {_sized(terms)}"
    fixed = Links("all", ("S",), _sized(terms, count), trained=False)
    own = tuple(
        Links(link.kind, link.names, f"$v_{{{i}}}$: {size}")
        for i, (link, size) in enumerate(zip(rest.links, network.sizes, strict=True), start=1)
    )
    columns = (_inputs(count), Column(terms, words), *rest.columns[1:])
    return Diagram(title, columns, (fixed, *own))


DIAGRAMS: dict[type[Network], Callable[[Any, Size, Size], Diagram]] = {
    Diagonal: _diagonal,
    Power: _power,
    SignedPower: _signed_power,
    Paired: _paired,
    General: _general,
    Convolutional: _convolutional,
    FullyConnected: _fully_connected,
    RankOne: _rank_one,
    TwoLayer: _two_layer,
    MatrixProduct: _matrix_product,
    OrthogonalTensor: _orthogonal_tensor,
    ReLU: _relu,
}
