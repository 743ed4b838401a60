"""What no gradient step changes: the first layer's part in the null space of the data."""

import numpy as np

from limitpoint.dynamics.row_space import RowSpace
from limitpoint.dynamics.trajectory import Trajectory, as_trajectory
from limitpoint.errors import NetworkError
from limitpoint.networks import CoupledNetwork, TwoLayer
from limitpoint.problem import Problem, as_problem

__all__ = ["null_space_drift"]


def null_space_drift(problem: Problem, trajectory: Trajectory) -> float:
    """Largest `‖P_null (A(t) − A(0))‖` along a trajectory, relative to the largest `‖A(t)‖`.

    A is the layer that meets the data: v₁ of a rank-one network, W₁ of a dense or two-layer one.
    Zero but for rounding under gradient flow, GD, SGD and label noise, at any step and batch.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task, network = lp.Regression([[1.0, 2.0]], [1.0]), lp.RankOne(depth=2, width=3)
    >>> problem = lp.Problem(network, lp.Init.balanced(network, task, norm=0.5), task)
    >>> run = lp.train(problem, lp.GD(learning_rate=0.05), steps=500)
    >>> null_space_drift(problem, run) < 1e-14
    True
    """
    as_problem(problem)
    layers = as_trajectory(trajectory).layers
    if not isinstance(problem.network, CoupledNetwork | TwoLayer) or layers is None:
        raise NetworkError(
            "the law is one of rank-one, fully connected and two-layer networks; "
            f"the network is {problem.network}"
        )
    first = layers[0].reshape(*layers[0].shape[:2], -1)
    rows = RowSpace.of(problem.task.X).rows
    with np.errstate(over="ignore", invalid="ignore"):  # a diverged run drifts without bound
        moved = first - first[:1]
        outside = moved - np.einsum("ri,rj,tjd->tid", rows, rows, moved, optimize=True)
        drifted = float(np.max(np.linalg.norm(outside, axis=(1, 2))))
        size = float(np.max(np.linalg.norm(first, axis=(1, 2))))
    return drifted / size if 0 < size < np.inf else drifted
