"""Smaller problems whose training is the same, up to rounding.

Gradient steps commute with orthogonal changes of the parameters, and leave most of them still:

- The first layer of a rank-one or dense network moves in the row space of X only, so that it stays
  in the span of the rows of X and of its own start: at most m + rank numbers per column instead
  of n.
- A pair (u_k, v_{k+1}) of a rank-one network stays in the plane that it spans at the start.
- Between two dense layers only the directions matter that one of the two meets at the start: the
  gradient of each is a product of the others. Balanced layers have rank one, and then one neuron
  is enough.

In orthonormal bases of these spans the network is a smaller one of the same kind, on rotated data.
The spans do not depend on the scale.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.networks import FullyConnected, RankOne
from limitpoint.problem import Problem
from limitpoint.tasks import Regression

__all__ = ["Compressed", "compress"]

# Directions in which a layer is smaller than so many roundings of its largest are rounding
# themselves: products of vectors, which have rank one, leave such.
RANK_ROUNDINGS = 8.0


@dataclass(frozen=True, eq=False)
class Compressed:
    """A smaller problem, and the way back.

    Attributes
    ----------
    problem
        The smaller problem (or the same, where nothing is saved).
    features
        Orthonormal columns: coefficients are these times the smaller ones. None: they are the same.
    neurons
        The same for the outer product of a dense network.
    """

    problem: Problem
    features: Float | None = None
    neurons: Float | None = None

    def coef(self, small: Any) -> Any:
        """Coefficients of the problem from those of the smaller one; leading axes are kept."""
        return small if self.features is None else small @ self.features.T

    def outer(self, small: Any) -> Any:
        """Outer products of the problem from those of the smaller one; leading axes are kept."""
        return small if self.neurons is None else small @ self.neurons.T


def compress(problem: Problem) -> Compressed:
    """The smallest problem of the same kind that trains in the same way.

    Networks that are not rank-one or dense are returned as they are: orthogonal changes of their
    parameters do not keep their form.

    Examples
    --------
    >>> import limitpoint as lp
    >>> network, task = lp.RankOne(depth=3, width=50), lp.Regression(np.eye(2, 30), [1.0, 2.0])
    >>> problem = lp.Problem(network, lp.Init.balanced(network, task, norm=1.0), task)
    >>> compress(problem).problem
    Problem(RankOne(depth=3, width=2), scale=1, 2 samples × 3 features)
    """
    if isinstance(problem.network, RankOne):
        return _rank_one(problem, problem.network)
    if isinstance(problem.network, FullyConnected):
        return _dense(problem)
    return Compressed(problem)


def _rank_one(problem: Problem, network: RankOne) -> Compressed:
    first, *inner = problem.init.direction
    features = _feature_basis(problem.regression, first[:, None])
    layers = [_rotated(features, first)]
    for u, v in zip(inner[::2], inner[1::2], strict=True):
        plane = np.linalg.qr(np.stack([u, v], axis=1))[0] if network.width > 2 else None
        layers += [_rotated(plane, u), _rotated(plane, v)]
    smaller = replace(network, width=len(layers[1]))
    return Compressed(_problem(problem, smaller, layers, features), features)


def _dense(problem: Problem) -> Compressed:
    direction = problem.init.direction
    columns = [layer if layer.ndim == 2 else layer[:, None] for layer in direction]
    features = _feature_basis(problem.regression, _span(columns[0]))
    # The directions between two layers, from either side, each layer on its own scale.
    between = [
        _span(np.concatenate([_normed(before.T), _normed(after)], axis=1))
        for before, after in pairwise(columns)
    ]
    layers = [_rotated(features, columns[0]) @ between[0]]
    layers += [
        left.T @ layer @ right
        for (left, right), layer in zip(pairwise(between), columns[1:-1], strict=True)
    ]
    layers.append(between[-1].T @ direction[-1])
    smaller = FullyConnected(tuple(basis.shape[1] for basis in between))
    return Compressed(_problem(problem, smaller, layers, features), features, between[0])


def _problem(
    problem: Problem, network: Any, layers: Sequence[Float], features: Float | None
) -> Problem:
    task = problem.regression
    if features is not None:
        task = Regression(task.X @ features, task.y, task.loss_factor)
    return Problem(network, Init(layers, log_scale=problem.init.log_scale), task)


def _feature_basis(task: Regression, start: Float) -> Float | None:
    """Orthonormal columns whose span holds the rows of X and the start; None if it is everything.

    No rank is decided on here: linearly dependent rows only make the span larger than it need be.
    """
    both = np.concatenate([task.X.T, start], axis=1)
    return None if both.shape[1] >= both.shape[0] else np.linalg.qr(both)[0]


def _rotated(basis: Float | None, array: Float) -> Float:
    return array if basis is None else basis.T @ array


def _normed(matrix: Float) -> Float:
    norm = float(np.linalg.norm(matrix))
    return matrix / norm if norm > 0 else matrix


def _span(matrix: Float) -> Float:
    """An orthonormal basis of the columns' span; one arbitrary vector if they are all zero."""
    left, values, _ = np.linalg.svd(matrix, full_matrices=False)
    least = RANK_ROUNDINGS * max(matrix.shape) * np.finfo(np.float64).eps * values[0]
    rank = max(int(np.sum(values > least)), 1)
    # A whole space is left as it is: turning it would save nothing and round.
    basis: Float = np.eye(rank) if rank == len(left) else left[:, :rank]
    return basis
