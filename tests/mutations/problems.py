"""A small problem of every network family, on which all checks of `verify` come up."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import limitpoint as lp

# Two samples of four features, with an entry of zero and saddles that come and go.
DATA = lp.examples.zhao_eq7()
POSITIVE = lp.Regression(np.abs(DATA.X), [1.0, 0.9])
# No coefficients of one sign fit these.
NEGATIVE = lp.Regression([[1.0, 0.5, 0.7, -0.2], [0.5, 1.0, 0.1, 0.7]], [-1.0, 0.4])
# The only fit of one sign leaves out the last two features.
EDGE = lp.Regression(
    [[1.0, 0.5, 2.0, 0.3], [0.5, 1.0, 0.3, 2.0], [1.0, 0.5, 3.0, 0.8]], [1.0, 0.8, 1.0]
)
# The bound on the loss is attained at first: equal rates in orthogonal directions.
ISOTROPIC = lp.Regression(np.eye(2, 3), [1.0, -0.5])
ONE = lp.Regression([[0.8, -0.5, 0.3, 1.1]], [-0.7])
THREE = lp.Regression([[1.0, 0.5, -0.3], [0.2, -0.4, 1.0]], [1.0, -0.5])
OUTPUTS = lp.Regression(THREE.X, [[1.0, -0.4], [-0.5, 0.8]])
WHITENED = lp.Regression(np.eye(2), [[2.0, 0.3], [-0.4, 1.0]])
# Out of reach: two samples of the same features.
TWICE = lp.Regression([[1.0, 2.0, -0.5], [1.0, 2.0, -0.5]], [1.0, 0.4])
SEPARABLE = lp.Classification([[1.0, 2.0, 0.3], [0.2, -3.0, 0.5], [2.0, 6.0, 1.0]], [1, -1, 1])
SLOW = lp.Classification([[0.2, -0.5, -0.4], [-2.4, 1.8, 1.1], [-0.3, 0.8, 0.3]], [-1, 1, -1])
# Two support vectors, and as many features that are used.
CORNER = lp.Classification([[1.0, 0.1, 0.2], [0.2, 1.0, -0.1], [2.0, 1.0, 0.5]], [1, 1, 1])
# Two equal features: how they share is left open.
OPEN = lp.Classification([[1.0, 1.0, 0.1, 0.3], [0.5, 0.5, 1.0, 0.2]], [1, 1])
ONE_LABEL = lp.Classification([[0.8, -0.5, 0.3]], [-1])


@dataclass(eq=False)
class Case:
    """A problem of one family, with the training that is judged besides, if any.

    Attributes
    ----------
    runs
        The flows and training runs that `verify` asked for, while it is being broken.
    """

    group: str
    name: str
    make: Callable[[], lp.Problem]
    training: object = None
    steps: int = 0
    runs: object = None

    @cached_property
    def problem(self):
        return self.make()

    def verdict(self):
        if self.training is None:
            return lp.verify(self.problem, prove=True)
        return lp.verify(self.problem, training=self.training, steps=self.steps, prove=True)


def random(network, task=DATA, scale=0.3, seed=1, **size):
    size = size or {"scale": scale}
    return lambda: lp.Problem(network, lp.Init.random(network, task, seed=seed, **size), task)


def zero_last(network, task, scale=0.4):
    return lambda: lp.Problem(network, lp.Init.zero_last(network, task, scale), task)


def balanced(network, task=DATA, norm=0.5):
    return lambda: lp.Problem(network, lp.Init.balanced(network, task, norm=norm, seed=4), task)


def orthogonal(task, width=4, gamma=0.1):
    network = lp.TwoLayer(width)
    return lambda: lp.Problem(network, lp.Init.orthogonal(network, task, gamma=gamma), task)


def start(network, task, *layers, scale=1.0):
    return lambda: lp.Problem(network, lp.Init(layers, scale), task)


def even(vectors):
    return (vectors + np.roll(vectors[..., ::-1], 1, axis=-1)) / 2


def quartic(block):
    """A block whose coefficient has a curve of its own, quadratic near zero."""
    a, b = block[0] ** 2, block[1] ** 2
    return a / 2 + a * a / 4 - b / 2 - b * b / 4


def tensor(depth=2, scale=0.5):
    rng = np.random.default_rng(2)
    bases = [np.linalg.qr(rng.standard_normal((4, 3)))[0] for _ in range(depth)]
    network = lp.OrthogonalTensor(rng.standard_normal((3, 3)), bases)
    return random(network, THREE, scale)()


def convolution():
    task = lp.Regression(even(np.array([[1.0, 0.4, -0.3, 0.1], [0.2, -0.8, 0.5, 0.3]])), [1.0, 0.4])
    return zero_last(lp.Convolutional((4, 4)), task)()


def sensing():
    basis = np.linalg.qr(np.array([[1.0, 0.3], [-0.4, 1.0]]))[0]
    sensors = [(basis * row) @ basis.T for row in ([1.0, -0.5], [0.6, 0.9])]
    return zero_last(lp.MatrixProduct(2), lp.MatrixSensing(sensors, [1.0, 0.4]))()


def to_saddle():
    network = lp.FullyConnected((2,))
    init = lp.Init.balanced(network, ONE, 0.5, direction=-ONE.X[0] * ONE.y[0])
    return lp.Problem(network, init, ONE)


SHORT = lp.Tensor(np.random.default_rng(0).standard_normal((4, 3, 2)))
FULL, SHORTER = lp.Convolutional((3, 3)), lp.Convolutional((2, 3))

CASES = (
    Case("separable", "Diagonal2", random(lp.Diagonal(2), THREE), lp.GD(0.002), 10_000),
    Case("separable", "Diagonal3", random(lp.Diagonal(3), scale=0.6)),
    Case("separable", "isotropic", zero_last(lp.Diagonal(2), ISOTROPIC)),
    Case("separable", "Power3", start(lp.Power(3), POSITIVE, np.ones(4), scale=0.5)),
    Case("separable", "SgnPower3", random(lp.SignedPower(3), scale=0.6)),
    Case("separable", "Paired", random(lp.Paired(), THREE), lp.SGD(0.01, 1), 3000),
    Case("bounds", "General", random(lp.General(quartic, block_size=2))),
    Case("bounds", "Power2 bd", start(lp.Power(2), NEGATIVE, np.ones(4), scale=0.5)),
    Case("bounds", "Diag2 tied", start(lp.Diagonal(2), NEGATIVE, *[[1, 2, 0.5, 1]] * 2, scale=0.5)),
    Case("bounds", "edge", start(lp.Power(2), EDGE, np.ones(4), scale=0.5)),
    Case("bounds", "no fit", random(lp.Diagonal(2), TWICE)),
    Case("tiny scale", "Diagonal2", random(lp.Diagonal(2), log_scale=-2302.6)),
    Case("tiny scale", "Diagonal3", random(lp.Diagonal(3), scale=1e-9)),
    Case("tiny scale", "SgnPower2", random(lp.SignedPower(2), log_scale=-2302.6)),
    Case("tiny scale", "Paired", random(lp.Paired(), log_scale=-2302.6)),
    Case("tiny scale", "General", random(lp.General(quartic, block_size=2), scale=1e-30)),
    Case("tiny scale", "OrthTensor", lambda: tensor(3, 1e-8)),
    Case("coupled", "RankOne", balanced(lp.RankOne(2, 2), THREE), lp.GD(0.002), 10_000),
    Case("coupled", "FullyConn", balanced(lp.FullyConnected((2, 2)), THREE), lp.SGD(0.02, 1), 3000),
    Case("coupled", "to saddle", to_saddle),
    Case("coupled", "TwoLayer", orthogonal(OUTPUTS), lp.GD(0.001), 10_000),
    Case("coupled", "1 output", orthogonal(THREE)),
    Case("coupled", "whitened", orthogonal(WHITENED)),
    Case("reducible", "OrthTensor", tensor),
    Case("reducible", "Convolut.", convolution, lp.GD(0.002), 10_000),
    Case("reducible", "MatrixProd", sensing),
    Case("one sample", "Tensor", random(SHORT, ONE, 0.5)),
    Case("one sample", "Convolut.", random(lp.Convolutional((2, 4)), ONE, 0.5)),
    Case("one sample", "FullyConn", random(lp.FullyConnected((2,)), ONE, 0.5)),
    Case("classification", "Diagonal2", zero_last(lp.Diagonal(2), SEPARABLE)),
    Case("classification", "Convolut.", start(FULL, SLOW, [1.0, 0.3, 0.2], np.zeros(3))),
    Case("classification", "FullyConn", zero_last(lp.FullyConnected((3,)), SEPARABLE)),
    Case("classification", "Diagonal3", zero_last(lp.Diagonal(3), CORNER)),
    Case("classification", "one label", start(SHORTER, ONE_LABEL, [1.0, 0.4], np.zeros(3))),
    Case("classification", "open", start(lp.Diagonal(2), OPEN, [1, 0.8, 1.1, 0.9], np.zeros(4))),
)
