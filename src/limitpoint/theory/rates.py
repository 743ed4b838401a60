"""How fast: the convergence bound of labarriere's Theorem 2."""

import numpy as np
from numpy.typing import ArrayLike

from limitpoint.arrays import Float
from limitpoint.errors import InitError, NoTheoremApplies
from limitpoint.networks import Diagonal
from limitpoint.problem import Problem
from limitpoint.theory.whitening import whiten

__all__ = ["convergence_bound"]


def convergence_bound(problem: Problem, times: ArrayLike) -> Float:
    """Upper bound on the loss at each time (labarriere Thm 2); exact inequality, any time.

    `loss* + e^{−2σμt}(loss(0) − loss*)`; see the theorem's statement for σ and μ. Diagonal networks
    of any depth; σ is zero, and the bound the initial loss, where two layers tie for the smallest.

    Raises
    ------
    NoTheoremApplies
        If the network is not diagonal.
    InitError
        If the scale is zero or infinite.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task = lp.Regression([[1.0, 2.0]], [1.0])
    >>> network = lp.Diagonal(depth=3)
    >>> problem = lp.Problem(network, lp.Init.zero_last(network, task), task)
    >>> convergence_bound(problem, [0.0, 1.0]).round(6).tolist()  # ½ and ½e^{−10}
    [0.5, 2.3e-05]
    """
    task, init = problem.task, problem.init
    if not isinstance(problem.network, Diagonal):
        raise NoTheoremApplies(
            f"the bound is known for diagonal networks; the network is {problem.network}"
        )
    if not init.is_finite:
        raise InitError("the bound needs a positive, finite scale: at 0 and infinity nothing moves")
    squares = np.sort(np.stack(init.direction) ** 2, axis=0)
    sigma = float(np.min(np.prod(squares[1:] - squares[0], axis=0)))
    data = whiten(task.X, task.y)
    if data.singular_values.size == 0:
        return np.full(np.shape(times), task.loss(np.zeros(task.n_features)))
    log_scale_power = 2 * (problem.network.degree - 1) * init.log_scale
    mu = task.loss_factor * float(data.singular_values[-1]) ** 2
    with np.errstate(under="ignore", over="ignore"):
        rate = 2 * sigma * float(np.exp(log_scale_power)) * mu
        start = init.scale**problem.network.degree * problem.network.coef(init.direction)
        floor = float(task.loss(data.target @ data.rows))
        bound: Float = floor + np.exp(-rate * np.asarray(times)) * (task.loss(start) - floor)
    return bound
