"""Random networks, tasks, starts and problems; small, so that thousands are cheap."""

from typing import Any

import numpy as np
from tests.fuzz.draw import NOT_ARRAYS, NOT_NUMBERS, OBJECTS, Draw
from tests.fuzz.judge import Judge

import limitpoint as lp


def _product(block):
    return block[0] * block[1]


def network(draw: Draw, call: Judge, n: int, sensing: bool = False) -> Any:
    """A network on n features, made by a constructor whose arguments are mostly right."""
    depth, width = draw.count(2, 4, 0.04), draw.count(1, 3, 0.04)
    sizes = draw.mostly((draw.whole(1, n), n), (*NOT_ARRAYS, 2, [3, 2], [0, 2], (n, n, n)), 0.1)
    widths = draw.mostly(
        tuple(draw.whole(1, 3) for _ in range(draw.whole(1, 2))), (*OBJECTS, 2, [0], [1.5], [-1])
    )
    makers = (
        lambda: call(lp.Diagonal, depth),
        lambda: call(lp.Diagonal, 2),
        lambda: call(lp.Power, depth),
        lambda: call(lp.SignedPower, depth),
        lambda: call(lp.Paired),
        lambda: call(lp.RankOne, depth, width),
        lambda: call(lp.TwoLayer, draw.mostly(n, (width,), 0.3)),
        lambda: call(lp.FullyConnected, widths),
        lambda: call(lp.Convolutional, sizes),
        lambda: call(lp.MatrixProduct, depth),
        lambda: call(lp.ReLU, widths),
        lambda: call(lp.Tensor, draw.array(n, 2, 2)),
        lambda: call(
            lp.OrthogonalTensor,
            draw.mostly(np.eye(n), NOT_ARRAYS, 0.1),
            draw.mostly([np.eye(n)] * 2, (*OBJECTS, [np.ones((n, n))] * 2), 0.1),
        ),
        lambda: call(lp.General, _product, block_size=draw.mostly(2, (*NOT_NUMBERS, 1), 0.1)),
    )
    weights = np.array([3, 9, 2, 2, 2, 3, 2, 3, 2, 0.3, 1, 1, 1, 0.3])
    if sensing:
        weights[9] = 9
    return makers[int(draw.rng.choice(len(makers), p=weights / weights.sum()))]()


def task(draw: Draw, call: Judge, kind: str | None = None) -> Any:
    """A task on one to three samples of one to four features."""
    m, n = draw.whole(1, 3), draw.whole(1, 4)
    kind = kind or draw.pick(("regression",) * 6 + ("classification",) * 2 + ("sensing",))
    factor = {"loss_factor": draw.number()} if draw.chance(0.2) else {}
    if kind == "classification":
        X = draw.array(m, n)
        y = draw.mostly(draw.rng.choice([-1.0, 1.0], m), (*NOT_ARRAYS, [0, 1], np.ones(m)), 0.05)
        loss = draw.options(loss=lambda: draw.pick(("exponential", "logistic", "hinge", 5)))
        return call(lp.Classification, X, y, **loss, **factor)
    if kind == "sensing":
        A = draw.numbers(m, 2, 2)
        A = A + A.transpose(0, 2, 1) if draw.chance(0.5) else A
        return call(lp.MatrixSensing, draw.mostly(A, NOT_ARRAYS, 0.1), draw.array(m), **factor)
    outputs = (draw.whole(1, 2),) if draw.chance(0.07) else ()
    return call(lp.Regression, draw.array(m, n), draw.array(m, *outputs), **factor)


def init(draw: Draw, call: Judge, net: Any, data: Any) -> Any:
    """A start by one of the constructors, whether or not it is one for this network."""
    scale = draw.options(scale=draw.scale)
    if draw.chance(0.05):
        scale = {"log_scale": draw.pick((*NOT_NUMBERS, -1e4, -1.0, 0.0, 800.0))}
    n = getattr(data, "n_features", 2)
    direction = draw.options(direction=lambda: draw.array(n))
    seed = draw.mostly(draw.whole(0, 9), (*NOT_NUMBERS, 2**64, np.random.default_rng(0)), 0.05)
    starts = (
        lambda: call(lp.Init.random, net, data, seed=seed, **scale),
        lambda: call(lp.Init.zero_last, net, data, **scale, **direction),
        lambda: call(lp.Init.unbiased, net, data, **scale, **direction),
        lambda: call(lp.Init.shaped, net, data, shape=draw.array(), **scale),
        lambda: call(lp.Init.balanced, net, data, seed=seed, **scale, **direction),
        lambda: call(lp.Init.perturbed, net, data, imbalance=draw.number(), seed=seed, **scale),
        lambda: call(lp.Init.one_neuron, net, data, seed=seed, **scale),
        lambda: call(lp.Init.orthogonal, net, data, seed=seed, **scale),
        lambda: _from_layers(draw, call, net, data, scale),
    )
    own = {lp.RankOne: 4, lp.TwoLayer: 7, lp.Paired: 2, lp.SignedPower: 2, lp.FullyConnected: 4}
    if type(net) in own and draw.chance(0.6):
        return starts[own[type(net)]]()
    weights = np.array([6, 6, 1, 0.5, 1, 0.5, 0.5, 0.5, 3])
    return starts[int(draw.rng.choice(len(starts), p=weights / weights.sum()))]()


def _from_layers(draw: Draw, call: Judge, net: Any, data: Any, scale: Any) -> Any:
    layers = [draw.numbers(*shape) for shape in call(net.layer_shapes, data)]
    wrong = (*OBJECTS, [[1.0]], [[1.0], [0.0]], layers[:1], [layer * np.nan for layer in layers])
    layers = draw.mostly(layers, wrong, 0.1)
    return call(lp.Init, layers, **scale) if scale else call(lp.Init.from_layers, layers)


def problem(draw: Draw, call: Judge, kind: str | None = None) -> Any:
    """A problem, or `Refused` by the first of its parts that cannot be."""
    data = task(draw, call, kind)
    net = network(draw, call, data.n_features, isinstance(data, lp.MatrixSensing))
    start = init(draw, call, net, data)
    if draw.chance(0.03):
        net = draw.pick((*OBJECTS, lp.Diagonal, lp.Diagonal(5)))
    return call(lp.Problem, net, start, data)


def tame_problem(draw: Draw, call: Judge, kind: str | None = None) -> Any:
    """A problem of which every part is right, for the calls that come after it."""
    rng, n = draw.rng, draw.whole(2, 3)
    kind = kind or draw.pick(("diagonal", "rank one", "two layers", "power", "classes", "dense"))
    X, y = rng.standard_normal((2, n)), rng.standard_normal(2)
    data: Any = lp.Regression(X, y)
    net, start = {
        "diagonal": (lp.Diagonal(draw.whole(2, 3)), lp.Init.zero_last),
        "rank one": (lp.RankOne(2, 2), lp.Init.balanced),
        "two layers": (lp.TwoLayer(n), lp.Init.orthogonal),
        "power": (lp.SignedPower(2), lp.Init.unbiased),
        "classes": (lp.Diagonal(2), lp.Init.zero_last),
        "dense": (lp.FullyConnected((2,)), lp.Init.balanced),
    }[kind]
    if kind == "classes":
        data = call(lp.Classification, X, np.sign(X @ np.ones(n)))
    return lp.Problem(net, start(net, data, draw.pick((0.1, 0.5, 1.0))), data)
