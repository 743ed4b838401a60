"""A small problem for every theorem, on which its conditions can be named."""

import numpy as np

from limitpoint import examples
from limitpoint.init import Init
from limitpoint.networks import (
    Convolutional,
    Diagonal,
    FullyConnected,
    MatrixProduct,
    Network,
    OrthogonalTensor,
    Power,
    RankOne,
    TwoLayer,
)
from limitpoint.problem import Problem
from limitpoint.tasks import Classification, MatrixSensing, Regression, Task

__all__ = ["sample_problems"]


def sample_problems() -> tuple[Problem, ...]:
    """Problems such that every theorem has one of which all its conditions hold."""
    data = examples.zhao_eq7()
    point, two = Regression([[1.0, 2.0]], [1.0]), Classification([[1.0, 2.0], [0.0, -3.0]], [1, -1])
    one = Classification([[1.0, 2.0]], [1])
    whitened = Regression(np.eye(2), np.diag([2.0, 1.0]))
    sensors = MatrixSensing([np.eye(2), np.diag([1.0, 2.0])], [1.0, 0.5])
    transform = OrthogonalTensor(np.array([[1.0, 1.0], [1.0, -1.0]]), [np.eye(2)] * 2)
    deep_transform = OrthogonalTensor(transform.S, [np.eye(2)] * 3)
    rank_one, dense = RankOne(depth=2, width=2), FullyConnected((2,))
    odd = FullyConnected((2, 2))
    two_layer = TwoLayer(width=4)
    even = Convolutional((2, 2))
    on_manifold = Init.balanced(dense, point, 1.0, direction=[-1.0, -2.0])
    return (
        *(
            _random(Diagonal(depth), data, scale)
            for depth in (2, 3)
            for scale in (0.0, 1.0, np.inf)
        ),
        *(_last_zero(Diagonal(depth), data, scale) for depth in (2, 3) for scale in (0.5, np.inf)),
        _tied(data),
        Problem(Power(3), Init([np.ones(4)], 0.1), Regression(data.X, [1.0, 1.0])),
        Problem(Power(3), Init([np.ones(4)], 0.0), Regression(data.X, [1.0, 1.0])),
        Problem(Power(3), Init([np.ones(4)], 0.1), Regression(-np.abs(data.X), [1.0, 1.0])),
        *(
            Problem(network, Init.balanced(network, data, scale), data)
            for network in (rank_one, dense)
            for scale in (0.0, 1.0)
        ),
        *(
            Problem(rank_one, Init.perturbed(rank_one, data, s, imbalance=1.0), data)
            for s in (0.0, 1.0)
        ),
        Problem(dense, on_manifold, point),
        Problem(odd, Init.one_neuron(odd, data, 1.0), data),
        *(
            Problem(two_layer, Init.orthogonal(two_layer, task, gamma=gamma), task)
            for task in (whitened, Regression(whitened.X, [1.0, 2.0]))
            for gamma in (0.0, 0.5)
        ),
        *(_last_zero(network, point) for network in (transform, even, dense)),
        *(_last_zero(network, point, 0.0) for network in (transform, even, dense)),
        _random(transform, point, 1.0),
        _random(Convolutional((1, 2)), point, 1.0),
        _last_zero(MatrixProduct(2), sensors),
        *(_last_zero(network, two) for network in (Diagonal(2), even, dense, transform)),
        *(_last_zero(n, two) for n in (Diagonal(3), Convolutional((2, 2, 2)), deep_transform)),
        Problem(Convolutional((1, 2)), Init([[2.0], [0.0, 0.0]], 1.0), one),
        Problem(Diagonal(2), Init([[1.0, 1.0], [0.0, 0.0]], 1.0), one),
    )


def _random(network: Network, task: Task, scale: float) -> Problem:
    return Problem(network, Init.random(network, task, scale, seed=0), task)


def _last_zero(network: Network, task: Task, scale: float = 0.5) -> Problem:
    return Problem(network, Init.zero_last(network, task, scale), task)


def _tied(task: Task) -> Problem:
    """Equal layers: no coefficient can cross zero."""
    network = Diagonal(2)
    return Problem(network, Init([np.ones(4), np.ones(4)], 0.1), task)
