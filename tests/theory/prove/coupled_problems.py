"""Rank-one, dense and two-layer problems, and their proofs as a checker reads them."""

import json

import numpy as np

import limitpoint as lp

FAMILIES = (
    "RankOne 2",
    "RankOne 3",
    "RankOne 4",
    "FullyConnected 2",
    "FullyConnected 3",
    "FullyConnected 4",
    "TwoLayer",
    "scale 0 coupled",
)


def gaussian(m, n, seed=0, outputs=()):
    rng = np.random.default_rng(seed)
    return lp.Regression(rng.standard_normal((m, n)), rng.standard_normal((m, *outputs)))


def balanced(network, task, seed=1, **scale):
    return lp.Problem(network, lp.Init.balanced(network, task, seed=seed, **scale), task)


def saddle(sign=-1.0, network=None, y=2.0):
    layers = [[3.0, 4.0], [sign * 5.0, 0.0], [5.0, 0.0]]
    if isinstance(network, lp.FullyConnected):
        layers = [[[sign * 3.0], [sign * 4.0]], [5.0]]
    task = lp.Regression([[3.0, 4.0]], [y])
    return lp.Problem(network or lp.RankOne(2, 2), lp.Init(layers, 0.01), task)


def vanishing(network, task, layers=None):
    init = lp.Init(layers, 0.0) if layers else lp.Init.balanced(network, task, scale=0.0, seed=1)
    return lp.Problem(network, init, task)


def two_layers(task, scale, width=4):
    network = lp.TwoLayer(width)
    first = np.eye(task.n_features, width)
    return lp.Problem(network, lp.Init([first, np.zeros((width, *task.y.shape[1:]))], scale), task)


CHECKED = {
    "any start": lambda: lp.Problem(
        lp.RankOne(2, 2),
        lp.Init([[1.0, 2.0, -3.0, 4.0], [9.0, 1.0], [8.0, 2.0]], 0.5),
        gaussian(2, 4),
    ),
    "rank-one": lambda: balanced(lp.RankOne(3, 2), gaussian(2, 4), log_scale=-2302.6),
    "dense": lambda: balanced(lp.FullyConnected((2, 3)), gaussian(2, 4), scale=0.1),
    "least squares": lambda: balanced(lp.FullyConnected((2, 3)), gaussian(5, 3), scale=0.1),
    "dependent rows": lambda: balanced(
        lp.RankOne(2, 2), lp.Regression([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0]], [1.0, 3.0]), scale=3.0
    ),
    "zero fits": lambda: balanced(
        lp.FullyConnected((2,)), lp.Regression([[1.0, 2.0]], [0.0]), scale=0.5
    ),
    "saddle": saddle,
    "dense saddle": lambda: saddle(network=lp.FullyConnected((1,))),
    "vanishing": lambda: vanishing(lp.FullyConnected((2, 3)), gaussian(2, 4)),
    "vanishing rank-one": lambda: vanishing(lp.RankOne(2, 3), gaussian(2, 4)),
    "vanishing identities": lambda: lp.Problem(
        lp.FullyConnected((3, 4)),
        lp.Init([np.eye(3), np.eye(3, 4), np.zeros(4)], 0.0),
        gaussian(2, 3),
    ),
    "two layers": lambda: two_layers(gaussian(2, 3, outputs=(2,)), 0.25),
    "rows to rounding": lambda: lp.Problem(
        lp.TwoLayer(3),
        lp.Init.orthogonal(lp.TwoLayer(3), gaussian(4, 2, outputs=(2,)), scale=2.0, seed=0),
        gaussian(4, 2, outputs=(2,)),
    ),
    "one output": lambda: two_layers(gaussian(2, 3), 1e-3),
    "tied singular values": lambda: two_layers(
        lp.Regression(np.eye(3), np.diag([2.0, -2.0, 0.0])), 0.5
    ),
    "vanishing layers": lambda: two_layers(gaussian(2, 3, outputs=(2,)), 0.0),
}


def exported(name):
    found = json.loads(json.dumps(lp.prove(CHECKED[name](), digits=20).to_dict()))
    assert found["ok"], found["reason"]
    return found
