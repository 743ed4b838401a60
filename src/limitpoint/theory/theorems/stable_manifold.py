"""The saddle at zero: which balanced starts never leave it (lyu's Proposition 2, corrected).

In the time `dτ = Ξ dt` training passes through z = 0 without noticing; but there dt/dτ is
infinite, so that it never gets there. The starts from which it goes there form one curve, the
trajectory that ends at 0, which lies in the row space of X and leaves 0 in the direction of `−Xᵀy`.
"""

import numpy as np
from scipy.integrate import solve_ivp

from limitpoint.foundation.arrays import Float
from limitpoint.tasks import Regression
from limitpoint.theory.solvers.radial_limit import NullSpace
from limitpoint.theory.two_layer.orthonormal_rows import orthonormal_rows

__all__ = ["ON_MANIFOLD", "distance_from_manifold"]

# A part of the start in the null space below this, relative, is rounding.
ROUNDING = 1e-14
# The curve is followed to this accuracy.
RTOL, ATOL = 1e-12, 1e-14
# Closer to zero than this, in logarithms, the curve is straight to all digits.
STRAIGHT = -230.0
# Starts nearer to the curve than this, relative, count as on it: a hundred times its accuracy.
ON_MANIFOLD = 1e-10


def distance_from_manifold(
    task: Regression, direction: Float, log_scale: float, degree: int
) -> float:
    """How far from the curve of starts that end at the saddle, relative to the start.

    On it where this is at most `ON_MANIFOLD`. The start is `e^log_scale · direction`; where it is
    so small that the curve is a straight line to all digits (at scale 0, say) its size is not used.
    """
    length = float(np.linalg.norm(direction))
    if length == 0.0:
        return 0.0
    unit = direction / length
    log_size = log_scale + float(np.log(length))
    found = NullSpace.of(task, unit)
    data = orthonormal_rows(task.X, task.y)
    if not np.any(data.target):
        return 1.0  # zero fits the data: no saddle there
    outside = float(np.linalg.norm(found.kept))
    outside = outside if outside > ROUNDING else 0.0
    rates = data.singular_values**2
    if log_size < STRAIGHT or len(rates) == 1:
        end: Float = -rates * data.target / float(np.linalg.norm(rates * data.target))
    else:
        size = float(np.exp(log_size))
        end = _back_from_zero(data.target, rates, degree, size) / size
    return float(np.hypot(outside, np.linalg.norm(data.rows @ unit - end)))


def _back_from_zero(target: Float, rates: Float, degree: int, size: float) -> Float:
    """The point at this distance from 0 on the curve, in coordinates of the row space.

    Backwards in time `dη/dτ = −Σ²(Σ⁻¹Uᵀy − ‖η‖^{D−1}η)`, here by length of arc.
    """

    def direction(_: float, state: Float) -> Float:
        radius = float(np.linalg.norm(state))
        velocity = rates * (radius ** (degree - 1) * state - target)
        unit: Float = velocity / float(np.linalg.norm(velocity))
        return unit

    def away(_: float, state: Float) -> float:
        return float(np.linalg.norm(state)) - size

    away.terminal = True  # type: ignore[attr-defined]  # how the integrator is told to stop
    # The curve moves away from 0 all the time, but not straight: its length is a few times size.
    path = solve_ivp(
        direction,
        (0.0, 1e3 * size),
        np.zeros_like(target),
        method="DOP853",
        rtol=RTOL,
        atol=ATOL * size,
        events=away,
    )
    end: Float = path.y[:, -1]
    return end
