"""The singular values of a two-layer network on whitened data: in closed form, and their jumps."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from limitpoint.errors import InitError, LimitpointError, NoTheoremApplies
from limitpoint.foundation.arrays import as_float_array
from limitpoint.foundation.extras import lazy_module
from limitpoint.problem import Problem, as_problem
from limitpoint.theory.theorems.varre2023 import is_whitened, log_imbalance_of, orthonormal_start
from limitpoint.theory.two_layer.orthonormal_rows import orthonormal_rows
from limitpoint.theory.two_layer.riccati import (
    JumpProcess,
    jumps,
    layer_singular_values,
    riccati_singular_values,
)

if TYPE_CHECKING:
    import xarray as xr
else:
    xr = lazy_module("xarray", "to_xarray")

__all__ = ["exact_spectrum", "spectral_jumps"]


def exact_spectrum(problem: Problem, times: ArrayLike) -> "xr.Dataset":
    """Singular values of β, W₁ and W₂ along the flow, in closed form (varre C.12); exact.

    Needs whitened data and a start from orthonormal rows with a zero second layer.

    Returns
    -------
    xarray.Dataset
        `coef`, `layer_0` and `layer_1`, each time × value, the largest at the end first. W₁ has
        further singular values, which stay `√(2γ)`.

    Raises
    ------
    NoTheoremApplies
        Naming the condition that fails.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task, network = lp.Regression(np.eye(2), np.diag([2.0, 1.0])), lp.TwoLayer(width=2)
    >>> problem = lp.Problem(network, lp.Init.orthogonal(network, task, gamma=1e-100), task)
    >>> exact_spectrum(problem, [0.0, 70.0, 200.0])["coef"].values.round(6).tolist()
    [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0]]
    """
    log_gamma, targets, curvature = _set_up(problem)
    if not problem.init.is_finite:
        raise InitError("exact_spectrum needs a positive, finite scale: at 0 nothing moves")
    moments = as_float_array(times, "times", LimitpointError, ndim=(1,))
    settings = {"log_gamma": log_gamma}
    coefs = riccati_singular_values(targets, moments, **settings, curvature=curvature)
    first, second = layer_singular_values(coefs, **settings)
    return xr.Dataset(
        {
            "coef": (("time", "value"), coefs),
            "layer_0": (("time", "value"), first),
            "layer_1": (("time", "value"), second),
        },
        coords={"time": moments, "value": np.arange(len(targets))},
    )


def spectral_jumps(problem: Problem) -> JumpProcess:
    """Singular values of β in the order in which they appear as γ → 0, with their times.

    Asymptotic: `times · unit` holds to a part of order `1/unit`, `unit = log(1/γ)`; at scale 0 the
    unit is infinite.

    Raises
    ------
    NoTheoremApplies
        Naming the condition that fails.
    InitError
        If γ is not below 1.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task, network = lp.Regression(np.eye(2), np.diag([2.0, 1.0])), lp.TwoLayer(width=2)
    >>> init = lp.Init.orthogonal(network, task, gamma=0.0)
    >>> path = spectral_jumps(lp.Problem(network, init, task))
    >>> path.targets.tolist(), path.path_times.tolist()
    ([2.0, 1.0], [0.25, 0.5])
    """
    log_gamma, targets, curvature = _set_up(problem)
    if log_gamma >= 0:
        raise InitError("spectral_jumps needs γ = scale²/2 below 1, where values appear by jumps")
    if np.isneginf(log_gamma):
        process = jumps(targets, curvature=curvature)
        arrays = (process.indices, process.targets, process.path_times, process.values)
        return JumpProcess(*arrays, unit=np.inf)
    return jumps(targets, log_gamma=log_gamma, curvature=curvature)


def _set_up(problem: Problem) -> tuple[float, np.ndarray, float]:
    """`log γ`, the singular values of X⁺Y, and c of XᵀX = cI times the loss factor."""
    conditions = list(orthonormal_start(as_problem(problem)))
    if conditions[0].holds:
        conditions.append(is_whitened(problem.regression))
    for condition in conditions:
        if not condition.holds:
            raise NoTheoremApplies(
                f"varre2023.theoremC.12 does not apply: {condition.name} fails, {condition.detail}"
            )
    task = problem.regression
    data = orthonormal_rows(task.X, task.y)
    coef = (data.rows.T @ data.target).reshape(task.n_features, -1)
    curvature = task.loss_factor * float(data.singular_values[0]) ** 2
    return log_imbalance_of(problem), np.linalg.svd(coef, compute_uv=False), curvature
