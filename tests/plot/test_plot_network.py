"""Drawings of networks: the nodes, links and names that the architecture has."""

import numpy as np
import pytest

import limitpoint as lp

RNG = np.random.default_rng(0)
EYE = np.eye(4)
TASK = lp.Regression(RNG.standard_normal((3, 40)), RNG.standard_normal(3))
OUTPUTS = lp.Regression(RNG.standard_normal((3, 8)), RNG.standard_normal((3, 5)))
SENSORS = lp.MatrixSensing(RNG.standard_normal((3, 3, 3)), RNG.standard_normal(3))


def block(theta):
    return theta[0] * theta[1]


def drawn(network, *arguments, **options):
    """The axes, after they were drawn once."""
    figure = lp.plot.plot_network(network, *arguments, **options)
    figure.canvas.draw()
    (axes,) = figure.axes
    return axes


def nodes(axes):
    """The number of nodes in each column, from the left."""
    places = [float(line.get_xdata()[0]) for line in axes.lines]
    return [places.count(place) for place in sorted(set(places))]


def links(axes):
    """The number of links of each group, in the order in which they were drawn."""
    return [len(group.get_segments()) for group in axes.collections]


def words(axes):
    return [text.get_text() for text in axes.texts]


# The nodes of each column, the links between them, and a name that is written.
NETWORKS = {
    "diagonal": (lp.Diagonal(2), {"features": 5}, [5, 5, 1], [5, 5], "$a_{2}$\n5"),
    "deep diagonal": (lp.Diagonal(3), {"features": 6}, [6, 6, 6, 1], [6, 6, 6], "$a_{3}$\n6"),
    "elided": (lp.Diagonal(3), {"task": TASK}, [5, 5, 5, 1], [5, 5, 5], "$x_{40}$"),
    "letters": (lp.Diagonal(2), {}, [3, 3, 1], [3, 3], "$x_{n}$"),
    "very deep": (lp.Diagonal(9), {"features": 2}, [2, 2, 2, 2, 2, 1], [2, 2, 2, 2], "$a_{9}$\n2"),
    "power": (lp.Power(2), {"features": 3}, [3, 3, 1], [3, 3], "$u$\n3"),
    "signed": (lp.SignedPower(2), {"features": 4}, [4, 8, 1], [4, 4, 4, 4], "$w$"),
    "paired": (lp.Paired(), {"task": TASK}, [3, 6, 1], [3, 3, 3, 3], "$v_-$"),
    "general": (
        lp.General(block, block_size=2),
        {"features": 3},
        [3, 3, 1],
        [3, 3],
        "$k(\\theta_i)$\n3 × 2",
    ),
    "convolutional": (lp.Convolutional((3, 5)), {}, [5, 5, 1], [15, 5], "$w_{1}$\n3"),
    "fully connected": (
        lp.FullyConnected((4, 3)),
        {"features": 5},
        [5, 4, 3, 1],
        [20, 12, 3],
        "$W_{1}$\n5 × 4",
    ),
    "rank one": (
        lp.RankOne(depth=3, width=2),
        {"features": 4},
        [4, 1, 2, 1, 2, 1],
        [4, 2, 2, 2, 2],
        "$v_{3}$\n2",
    ),
    "two layers": (lp.TwoLayer(20), {"task": OUTPUTS}, [5, 5, 5], [25, 25], "$W_2$\n20 × 5"),
    "outputs in letters": (lp.TwoLayer(4), {}, [3, 4, 3], [12, 12], "$f_{k}$"),
    "matrix product": (lp.MatrixProduct(2), {"task": SENSORS}, [3, 3, 3], [9, 9], "$W_{1}$\n3 × 3"),
    "side": (lp.MatrixProduct(2), {"features": 16}, [4, 4, 4], [16, 16], "$W_{1}$\n4 × 4"),
    "orthogonal": (
        lp.OrthogonalTensor(np.eye(4, 6), [EYE, EYE]),
        {},
        [6, 4, 4, 1],
        [24, 4, 4],
        "$S$\n4 × 6",
    ),
    "relu": (lp.ReLU((3,)), {"features": 2}, [2, 3, 1], [6, 3], "$\\sigma$"),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_nodes_links_and_names(name):
    network, sizes, columns, groups, label = NETWORKS[name]
    axes = drawn(network, **sizes)
    assert nodes(axes) == columns
    assert links(axes) == groups
    assert label in words(axes)
    assert axes.get_title()
    elided = name in ("elided", "letters", "paired", "two layers", "outputs in letters")
    assert ("⋮" in words(axes)) == elided
    assert ("⋯" in words(axes)) == (name == "very deep")
    assert drawn(network, **sizes, figsize=(3.3, 2.5)).has_data()


def test_links_of_a_convolution_go_around():
    """[a ⋆ b]_i = Σ_j a_{i+j} b_j: node i sees those from i on, each by one entry of the filter."""
    axes = drawn(lp.Convolutional((2, 4)))
    heights = sorted(
        {float(line.get_ydata()[0]) for line in axes.lines if line.get_xdata()[0] == 0}
    )
    number = {height: 3 - i for i, height in enumerate(heights)}
    group = axes.collections[0]
    ends = [tuple(number[float(y)] for y in segment[:, 1]) for segment in group.get_segments()]
    assert sorted(ends) == sorted([(i, i) for i in range(4)] + [((i + 1) % 4, i) for i in range(4)])
    shades = {
        start == end: tuple(shade)
        for (start, end), shade in zip(ends, group.get_colors(), strict=True)
    }
    assert len(set(shades.values())) == 2


def test_shared_layers_have_one_colour():
    colours = {tuple(group.get_colors()[0]) for group in drawn(lp.Power(4)).collections}
    assert len(colours) == 1
    colours = {tuple(group.get_colors()[0]) for group in drawn(lp.Diagonal(4)).collections}
    assert len(colours) == 4


@pytest.mark.parametrize(
    ("sizes", "names"),
    [
        ((5, 4), ["M(x)", "v_{1}", "H_{1}(x)", "v_{2}"]),
        ((5, 4, 3), ["M(x)", "v_{1}", "H_{1}(x)", "v_{2}", "H_{2}(x)", "v_{3}"]),
        ((2, 3, 2, 2, 7), ["M(x)", "v_{1}", "H_{1}(x)", "v_{2}", "H_{4}(x)", "v_{5}"]),
    ],
)
def test_a_tensor_is_contracted_layer_by_layer(sizes, names):
    axes = drawn(lp.Tensor(np.ones((6, *sizes))))
    labels = dict(word.split("\n") for word in words(axes) if "\n" in word)
    assert list(labels) == ["$x$", *(f"${name}$" for name in names), "$f(x)$"]
    assert labels["$M(x)$"] == " × ".join(map(str, sizes))
    assert labels["$v_{2}$"] == str(sizes[1])
    assert ("⋯" in words(axes)) == (len(sizes) > 4)


@pytest.mark.parametrize(
    ("network", "options", "message"),
    [
        ("diagonal", {}, "network must be"),
        (lp.Diagonal(2), {"task": "task"}, "task must be"),
        (lp.Diagonal(2), {"task": OUTPUTS}, "one output"),
        (lp.Convolutional((2, 3)), {"task": TASK}, "3.*40"),
        (lp.Diagonal(2), {"features": 0}, "features must be a whole number"),
        (lp.Diagonal(2), {"features": 3, "task": TASK}, "features must be left out"),
        (lp.Convolutional((2, 3)), {"features": 4}, "features must be 3"),
        (lp.Tensor(np.ones((2, 3, 4))), {"features": 4}, "features must be 2"),
        (lp.MatrixProduct(2), {"features": 5}, "features must be a square number"),
    ],
)
def test_what_cannot_be_drawn(network, options, message):
    with pytest.raises(lp.errors.LimitpointError, match=message):
        lp.plot.plot_network(network, **options)


def test_a_network_of_another_kind():
    class Own(lp.extend.WithoutMirrorMap):
        degree = 1

        def layer_shapes(self, task):
            return ((task.n_features,),)

        def coef(self, layers):
            return layers[0]

        def invariants(self, layers):
            return np.empty((0, 1))

    with pytest.raises(lp.errors.LimitpointError, match="network must be one of Diagonal, Power"):
        lp.plot.plot_network(Own())
