"""The exact flow of networks with a radial map, in the row space of the data.

Notation: `X = UΣVᵀ`, z the first layer, `ζ = Vᵀz` the part of it that moves, `z_null` the part that
does not, `Ξ = Ξ(‖z_null‖² + ‖ζ‖²)`, `β = Ξ(z_null + Vζ)`. Then
`dζ/dt = loss_factor · Ξ Σ²(Σ⁻¹Uᵀy − Ξζ)`: as many numbers as X has rank, instead of all weights. In
the time `dτ = Ξ dt` there are no plateaus, so that is what is integrated, with t beside it, unless
moments of t are asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from limitpoint.dynamics.integrate.until_converged import LARGEST_TRIAL, Integration, integrate
from limitpoint.dynamics.relative_residual import RelativeResidual
from limitpoint.dynamics.row_space import RowSpace
from limitpoint.dynamics.trajectory import Trajectory
from limitpoint.foundation.arrays import Float
from limitpoint.mirror import RadialMap
from limitpoint.networks import CoupledNetwork
from limitpoint.problem import Problem
from limitpoint.status import Status

__all__ = ["flow_in_row_space", "safe_radial_map"]

EPS = float(np.finfo(np.float64).eps)
# A part of the start in the null space below this, relative, is rounding; from such a start the
# saddle at zero can be met, and counts as met when z has shrunk by this.
ROUNDING = 1e-14
ON_MANIFOLD = 1e-10
# Degree of a network whose times are as small or large as squares of the scale.
SQUARES = 4
# Rounding of the state and of products with it, in units.
ROUNDING_UNITS = 8.0


@dataclass(frozen=True, eq=False)
class _RowSpace:
    """Data and start in the coordinates of the row space."""

    radial: RadialMap
    left: Float  # U
    rows: Float  # Vᵀ
    values: Float  # Σ
    target: Float  # Σ⁻¹Uᵀy
    start: Float  # ζ(0)
    kept: Float  # z_null
    measure: RelativeResidual

    @classmethod
    def of(cls, problem: Problem, radial: RadialMap) -> "_RowSpace":
        task, start = problem.regression, radial.start
        data = RowSpace.of(task.X)
        left, values, rows = data.left, data.values, data.rows
        inside = left.T @ task.y
        null = start - rows.T @ (rows @ start)
        if np.linalg.norm(null) <= ROUNDING * np.linalg.norm(start):
            null = np.zeros_like(null)
        measure = RelativeResidual.of(task, radial.coef(start))
        return cls(radial, left, rows, values, inside / values, rows @ start, null, measure)

    @property
    def square_kept(self) -> float:
        return float(self.kept @ self.kept)

    def log_multiplier(self, inside: Float) -> tuple[float, float]:
        """`log Ξ` and its derivative in ρ; the map's end and zero are never met exactly."""
        above = self.square_kept - self.radial.lowest + float(inside @ inside)
        return self.radial.log_multiplier(max(above, np.finfo(np.float64).tiny))

    def multiplier(self, inside: Float) -> float:
        return float(np.exp(np.clip(self.log_multiplier(inside)[0], -700.0, 340.0)))

    def inputs(self, inside: Float) -> Float:
        """The first layer z; ζ is the last axis."""
        return self.kept + inside @ self.rows

    def coefs(self, inside: Float) -> Float:
        return np.array([self.multiplier(zeta) * self.inputs(zeta) for zeta in inside])

    def relative_residual(self, inside: Float) -> float:
        """Distance of Xβ from the best fit, relative."""
        return self.measure.relative_residual(self.multiplier(inside) * self.inputs(inside))

    def rounding(self, inside: Float) -> float:
        """The relative residual that rounding of ζ causes."""
        along = self.values * self.multiplier(inside) * np.abs(inside)
        return self.measure.relative(ROUNDING_UNITS * EPS * (np.abs(self.left) @ along))

    def on_manifold(self, inside: Float) -> bool:
        """Whether z has shrunk to the saddle at zero, which only starts in the row space can."""
        wanted = float(np.linalg.norm(self.target))
        if self.square_kept > 0 or wanted == 0.0:
            return False
        # A large start shrinks a lot on its way to the end.
        end = float(np.sqrt(self.radial.square_of(wanted)))
        size = min(float(np.linalg.norm(self.start)), end)
        return bool(np.linalg.norm(inside) <= ON_MANIFOLD * size)


def safe_radial_map(problem: Problem) -> RadialMap | None:
    """The radial map of the problem, if training can never leave it.

    An unbalanced rank-one network leaves it where a pair of inner vectors becomes orthogonal; it
    cannot if `‖z‖²`, which never falls below `‖z_null‖²`, stays above that.
    """
    network = problem.network
    radial = network.radial_map(problem.init) if isinstance(network, CoupledNetwork) else None
    if radial is None or radial.lowest <= 0.0:
        return radial
    return radial if _RowSpace.of(problem, radial).square_kept > radial.lowest else None


def flow_in_row_space(
    problem: Problem,
    radial: RadialMap,
    t_end: float | None,
    times: Float | None,
    rtol: float,
    residual_tolerance: float,
    max_steps: int,
) -> Trajectory:
    """Integrate ζ; all layers follow from it."""
    # Times of order scale^(2 − degree), and squares of the first layer, must be representable.
    problem.init.check_mirror(max(problem.network.degree, SQUARES))
    space = _RowSpace.of(problem, radial)
    task, network = problem.regression, problem.network
    if not isinstance(network, CoupledNetwork):
        raise TypeError(f"{network} has no first layer that alone meets the data")
    size = len(space.start)
    warped = t_end is None and times is None
    flow = _warped(space, task.loss_factor) if warped else _in_time(space, task.loss_factor)
    found = integrate(
        flow.velocity,
        flow.jacobian,
        flow.start,
        relative_residual=lambda state: (
            0.0 if space.on_manifold(state[:size]) else space.relative_residual(state[:size])
        ),
        rounding=lambda state: space.rounding(state[:size]),
        residual_tolerance=residual_tolerance,
        arrived=space.measure.arrived,
        t_end=t_end,
        times=times,
        rtol=rtol,
        atol=rtol * _resolution(space),
        max_steps=max_steps,
    )
    inside = found.states[:, :size]
    coefs = space.coefs(inside)
    return Trajectory.build(
        kind="gradient flow in sample space",
        status=Status.SADDLE if space.on_manifold(inside[-1]) else found.status,
        times=_times(space, found, warped),
        coefs=coefs,
        losses=np.array([task.loss(coef) for coef in coefs]),
        layers=network.layers_along(problem.init, space.inputs(inside)),
        relative_residual=space.relative_residual(inside[-1]),
    )


@dataclass(frozen=True, eq=False)
class _Flow:
    start: Float
    velocity: Callable[[Float], Float]
    jacobian: Callable[[Float], Float]


def _warped(space: _RowSpace, factor: float) -> _Flow:
    """In the time τ; the last entry of the state is `Ξ(0)·t`."""
    rates, size = factor * space.values**2, len(space.start)
    log_unit = space.log_multiplier(space.start)[0]

    def scaled_time(inside: Float) -> tuple[float, Float]:
        """`Ξ(0) dt/dτ` and its derivative in ζ."""
        value, slope = space.log_multiplier(inside)
        rate = float(np.exp(min(log_unit - value, 300.0)))
        return rate, -2 * rate * slope * inside

    def velocity(state: Float) -> Float:
        inside = state[:size]
        moved = rates * (space.target - space.multiplier(inside) * inside)
        return np.append(np.clip(moved, -LARGEST_TRIAL, LARGEST_TRIAL), scaled_time(inside)[0])

    def jacobian(state: Float) -> Float:
        inside = state[:size]
        slope = space.log_multiplier(inside)[1]
        whole = np.zeros((size + 1, size + 1))
        change = np.eye(size) + 2 * slope * np.outer(inside, inside)
        whole[:size, :size] = -space.multiplier(inside) * rates[:, None] * change
        whole[size, :size] = scaled_time(inside)[1]
        return np.clip(whole, -LARGEST_TRIAL, LARGEST_TRIAL)

    return _Flow(np.append(space.start, 0.0), velocity, jacobian)


def _in_time(space: _RowSpace, factor: float) -> _Flow:
    """In the time t itself."""
    rates = factor * space.values**2

    def velocity(inside: Float) -> Float:
        multiplier = space.multiplier(inside)
        moved = multiplier * rates * (space.target - multiplier * inside)
        return np.clip(moved, -LARGEST_TRIAL, LARGEST_TRIAL)

    def jacobian(inside: Float) -> Float:
        multiplier, slope = space.multiplier(inside), space.log_multiplier(inside)[1]
        moved = rates * (space.target - 2 * multiplier * inside)
        whole = 2 * multiplier * slope * np.outer(moved, inside) - np.diag(multiplier**2 * rates)
        return np.clip(whole, -LARGEST_TRIAL, LARGEST_TRIAL)

    return _Flow(space.start, velocity, jacobian)


def _resolution(space: _RowSpace) -> float:
    """The smallest size that ζ must be resolved at: that of the start, or of the end.

    At the end it is at most that of `Σ⁻¹Uᵀy/Ξ` with Ξ where the start left it.
    """
    start = float(np.linalg.norm(space.start) + np.linalg.norm(space.kept))
    wanted = float(np.linalg.norm(space.target))
    end = wanted / space.multiplier(space.start) if wanted > 0 else start
    return min(start, end) if start > 0 else 1.0


def _times(space: _RowSpace, found: Integration, warped: bool) -> Float:
    """Times t of the records."""
    if not warped:
        return found.times
    # In logarithms: Ξ(0) alone may be too small for float64.
    with np.errstate(divide="ignore"):
        times: Float = np.exp(np.log(found.states[:, -1]) - space.log_multiplier(space.start)[0])
    return times
