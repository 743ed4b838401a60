"""The exact flow in sample space, `dν/dt = loss_factor (y − XΨ(Xᵀν))`, at any scale."""

import numpy as np

from limitpoint.dynamics.integrate.until_converged import LARGEST_TRIAL, integrate
from limitpoint.dynamics.relative_residual import RelativeResidual
from limitpoint.dynamics.trajectory import Trajectory
from limitpoint.foundation.arrays import Float
from limitpoint.mirror import MirrorMap
from limitpoint.problem import Problem

__all__ = ["flow_in_sample_space"]

# Relative to mirror coordinates of the size of their unit; next to a pole, where the distance
# counts, the tolerance is so much smaller, down to what the integrator can do.
FINEST_RTOL = 1e-13


def flow_in_sample_space(
    problem: Problem,
    mirror: MirrorMap,
    t_end: float | None,
    times: Float | None,
    rtol: float,
    residual_tolerance: float,
    max_steps: int,
) -> Trajectory:
    """Integrate the duals in an orthonormal basis of the reachable part of sample space."""
    task = problem.regression
    measure = RelativeResidual.of(task, mirror.start_coefs(), mirror.lower, mirror.upper)
    # Outside the range of X the residual never changes and moves no coefficient; what ν does there
    # is left out of the state (it would grow for ever).
    rows, target = measure.basis.T @ task.X, measure.basis.T @ task.y
    factor = task.loss_factor

    at = _LastPoint(mirror, rows)

    def velocity(dual: Float) -> Float:
        coefs = np.clip(at(dual)[0], -LARGEST_TRIAL, LARGEST_TRIAL)
        result: Float = factor * (target - rows @ coefs)
        return result

    def jacobian(dual: Float) -> Float:
        slopes = np.minimum(at(dual)[1], LARGEST_TRIAL)
        result: Float = -factor * ((rows * slopes) @ rows.T)
        return result

    moduli = np.abs(rows)
    unit = float(np.exp(mirror.log_mirror_unit))

    def rounding(dual: Float) -> float:
        # A mirror coordinate x_iᵀν is rounded by eps·|x_i|ᵀ|ν|, and once more where the map adds it
        # to the mirror coordinate of the start, of the size of its unit; its coefficient by slope
        # times that.
        errors = at(dual)[1] * (np.abs(dual) @ moduli + unit)
        return measure.rounding(np.finfo(np.float64).eps * errors)

    found = integrate(
        velocity,
        jacobian,
        np.zeros(rows.shape[0]),
        relative_residual=lambda dual: measure.relative_residual(at(dual)[0]),
        rounding=rounding,
        residual_tolerance=residual_tolerance,
        arrived=measure.arrived,
        t_end=t_end,
        times=times,
        rtol=max(rtol / max(1.0, unit), FINEST_RTOL),
        atol=_absolute_tolerance(mirror, rows, target, rtol),
        max_steps=max_steps,
    )
    xi = found.states @ rows
    coefs = mirror.coefs(xi)
    signs, logs = mirror.signs_and_logs(xi)
    return Trajectory.build(
        kind="gradient flow in sample space",
        status=found.status,
        times=found.times,
        coefs=coefs,
        losses=np.array([task.loss(coef) for coef in coefs]),
        signs=signs,
        logs=logs,
        layers=problem.network.layers_at(problem.init, xi),
        duals=found.states @ measure.basis.T,
        relative_residual=measure.relative_residual(coefs[-1]),
    )


class _LastPoint:
    """Coefficients and slopes at a dual; kept, since the integrator asks for them repeatedly."""

    def __init__(self, mirror: MirrorMap, rows: Float) -> None:
        self._mirror, self._rows = mirror, rows
        self._dual = b""
        self._point: tuple[Float, Float] | None = None

    def __call__(self, dual: Float) -> tuple[Float, Float]:
        key = dual.tobytes()
        if self._point is None or key != self._dual:
            self._dual, self._point = key, self._mirror.coefs_and_slopes(dual @ self._rows)
        return self._point


def _absolute_tolerance(mirror: MirrorMap, rows: Float, target: Float, rtol: float) -> float:
    """Error of ν that moves the coefficients by `rtol`, relative.

    A mirror coordinate off by δ moves a visible coefficient by about 2δ of itself; at large scale
    it moves it by slope·δ, where coefficients have the size `‖y‖/‖X‖`.
    """
    norm = float(np.linalg.norm(rows, 2)) if rows.size else 0.0
    slope = float(mirror.slopes(np.zeros(rows.shape[1])).max())
    if norm == 0.0:
        return rtol
    lazy_mirror = float(np.linalg.norm(target)) / (norm * slope) if slope > 0 else np.inf
    xi = min(1.0, lazy_mirror) if lazy_mirror > 0 else 1.0
    return rtol * xi / norm
