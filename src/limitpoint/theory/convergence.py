"""How fast: bounds on the loss along the flow."""

import numpy as np
from numpy.typing import ArrayLike

from limitpoint.errors import InitError, LimitpointError, NoTheoremApplies
from limitpoint.foundation.arrays import MOST_AXES, Float, as_number_array, shown
from limitpoint.networks import Diagonal, TwoLayer
from limitpoint.problem import Problem, as_problem
from limitpoint.theory.theorems.shared_conditions import finite_scale
from limitpoint.theory.theorems.varre2023 import log_imbalance_of, orthonormal_start
from limitpoint.theory.two_layer.orthonormal_rows import orthonormal_rows
from limitpoint.theory.two_layer.two_layer_rates import (
    two_layer_exponential_bound,
    two_layer_mirror_bound,
)

__all__ = ["convergence_bound", "two_layer_bounds"]


def convergence_bound(problem: Problem, times: ArrayLike) -> Float:
    """Upper bound on the loss at each time; exact inequality, any time.

    Diagonal networks of any depth (labarriere Thm 2): `loss* + e^{−2σμt}(loss(0) − loss*)`; see the
    theorem's statement for σ and μ. σ is zero, and the bound the initial loss, where two layers tie
    for the smallest. Two-layer networks from orthonormal rows: the smaller one of
    `two_layer_bounds`.

    Raises
    ------
    NoTheoremApplies
        If the network is neither.
    InitError
        If the scale is zero or infinite, or if the initial loss overflows float64.
    LimitpointError
        If a time is not a number, or before the start, where the inequality says nothing.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task = lp.Regression([[1.0, 2.0]], [1.0])
    >>> network = lp.Diagonal(depth=3)
    >>> problem = lp.Problem(network, lp.Init.zero_last(network, task), task)
    >>> convergence_bound(problem, [0.0, 1.0]).round(6).tolist()  # ½ and ½e^{−10}
    [0.5, 2.3e-05]
    """
    task, init = as_problem(problem).regression, problem.init
    if not init.is_finite:
        raise InitError("the bound needs a positive, finite scale: at 0 and infinity nothing moves")
    times = _checked(times)
    if isinstance(problem.network, TwoLayer):
        smallest: Float = np.minimum.reduce(list(two_layer_bounds(problem, times).values()))
        return smallest
    if not isinstance(problem.network, Diagonal):
        raise NoTheoremApplies(
            "the bound is known for diagonal and two-layer networks; "
            f"the network is {problem.network}"
        )
    squares = np.sort(np.stack(init.direction) ** 2, axis=0)
    sigma = float(np.min(np.prod(squares[1:] - squares[0], axis=0)))
    data = orthonormal_rows(task.X, task.y)
    log_scale_power = 2 * (problem.network.degree - 1) * init.log_scale
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        initial = float(task.loss(_start(problem)))
        if not np.isfinite(initial):
            raise InitError(
                f"at log_scale={init.log_scale:.6g} the initial loss of {problem.network} "
                "overflows float64; use a smaller scale"
            )
        if data.singular_values.size == 0:
            return np.full(np.shape(times), initial)
        mu = task.loss_factor * float(data.singular_values[-1]) ** 2
        rate = 2 * sigma * float(np.exp(log_scale_power)) * mu
        floor = float(task.loss(data.target @ data.rows))
        # An infinite rate leaves the initial loss at time 0, and nothing of it later.
        decayed = np.where((rate > 0) & (times > 0), np.exp(-rate * times), 1.0)
        bound: Float = floor + decayed * (initial - floor)
    return bound


def _checked(times: ArrayLike) -> Float:
    rule = "times must be numbers, 0 or later"
    try:
        values = as_number_array(times, "times", LimitpointError, range(MOST_AXES))
    except LimitpointError as error:
        raise LimitpointError(f"{rule}: {error}") from None
    if (values < 0).any():
        raise LimitpointError(f"{rule}; it is {shown(times)}")
    return values


def _start(problem: Problem) -> Float:
    """Coefficients at the start; one that is zero stays so at any scale."""
    degree, init = problem.network.degree, problem.init
    along = np.asarray(problem.network.coef(init.direction))
    return np.where(along == 0, 0.0, along * np.exp(degree * init.log_scale))


def two_layer_bounds(problem: Problem, times: ArrayLike) -> dict[str, Float]:
    """Upper bounds on the loss of a two-layer network, by the theorem that gives each.

    Raises
    ------
    NoTheoremApplies
        If it does not start from orthonormal rows and a zero second layer.
    """
    as_problem(problem)
    failed = [c for c in (*orthonormal_start(problem), finite_scale(problem)) if not c.holds]
    if failed:
        raise NoTheoremApplies(f"no bound is known: {failed[0].name} fails, {failed[0].detail}")
    task = problem.regression
    settings = {"log_gamma": log_imbalance_of(problem), "loss_factor": task.loss_factor}
    bounds = {"varre2023.lemmaC.6": two_layer_exponential_bound(task.X, task.y, times, **settings)}
    if task.n_outputs in (None, 1):
        bounds["varre2023.lemmaC.8"] = two_layer_mirror_bound(task.X, task.y, times, **settings)
    return bounds
