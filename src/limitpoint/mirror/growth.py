"""Growth times: how long a coefficient stays dormant as the initialisation vanishes.

For `β = v Π_j √(v² + Δ_j)` (L − 1 factors), v turned by the sign of the product of the other
layers, the clock that takes v from v₀ to infinity is

    t⁺ = ∫_{v₀}^{∞} dx / Π_j √(x² + Δ_j),      t⁻ = ∫_{−v₀}^{∞} dx / Π_j √(x² + Δ_j)

(zhao, Assumption 4.4; printed there without the turn, which exchanges the two when the product of
the other layers is negative). Where two layers tie for the smallest, v cannot cross zero, and the
side on which it did not start is never reached.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import tanhsinh
from scipy.special import elliprf

from limitpoint.arrays import Float

__all__ = ["GrowthTimes", "diagonal_growth_times"]


@dataclass(frozen=True, eq=False)
class GrowthTimes:
    """Growth times per unit of constant gradient, and their unit at the given scale.

    A coefficient whose clock reaches `t_plus · unit` (or `−t_minus · unit`) becomes visible as
    scale → 0; infinite where it can never grow with that sign. The unit is `log(1/s)` at depth 2
    and `s^(2−L)` at depth L ≥ 3.
    """

    t_plus: Float
    t_minus: Float
    unit: float


def diagonal_growth_times(layers: Sequence[Float], log_scale: float) -> GrowthTimes:
    """Growth times of the diagonal network that starts along these layers.

    Examples
    --------
    The zero-balanced start of depth 3, `a = b = α, c = 0`, has `t = π/(2α)`:

    >>> import numpy as np
    from numpy.typing import NDArray
    >>> alpha = np.array([1.0, 0.5])
    >>> times = diagonal_growth_times([alpha, alpha, np.zeros(2)], log_scale=0.0)
    >>> np.allclose(times.t_plus, np.pi / (2 * alpha), rtol=1e-14)
    True
    """
    stack = np.stack(layers)
    depth = len(stack)
    smallest = np.argmin(np.abs(stack), axis=0)
    columns = np.arange(stack.shape[1])
    signs = np.sign(stack)
    signs[smallest, columns] = 1.0
    v = stack[smallest, columns] * np.prod(signs, axis=0)
    others = np.abs(stack)
    others[smallest, columns] = np.inf
    others = np.sort(others, axis=0)[:-1]
    gaps = (others - np.abs(v)) * (others + np.abs(v))  # a_j² − v², without cancellation
    tied = gaps[0] == 0
    if depth == 2:
        t_plus = t_minus = np.ones_like(v)
    else:
        t_plus, t_minus = _time_to_infinity(v, gaps, tied), _time_to_infinity(-v, gaps, tied)
    return GrowthTimes(
        t_plus=np.where(tied & (v <= 0), np.inf, t_plus),
        t_minus=np.where(tied & (v >= 0), np.inf, t_minus),
        unit=_unit(depth, log_scale),
    )


def _unit(depth: int, log_scale: float) -> float:
    if depth == 2:
        return -log_scale
    with np.errstate(over="ignore", under="ignore"):
        return float(np.exp((2 - depth) * log_scale))


def _time_to_infinity(v: Float, gaps: Float, tied: NDArray[np.bool_]) -> Float:
    """`∫_v^∞ dx / Π √(x² + Δ_j)`, where it is finite (1 elsewhere, to be replaced)."""
    reachable = ~(tied & (v <= 0))
    start, width = np.where(reachable, v, 1.0), np.where(reachable, gaps, 1.0)
    if len(gaps) == 2:
        beyond = elliprf(start**2, start**2 + width[0], start**2 + width[1])
        whole = 2 * elliprf(0.0, np.where(tied, 1.0, width[0]), width[1])
        times: Float = np.where(start >= 0, beyond, whole - beyond)
        return np.where(reachable, times, 1.0)
    # x = c sinh τ makes the integrand decay exponentially; c is the size at which it bends.
    size = np.sqrt(np.maximum(width.min(axis=0), start**2))
    result = tanhsinh(
        lambda tau, c, *delta: _integrand(tau, c, delta),
        np.arcsinh(start / size),
        np.inf,
        args=(size, *width),
        rtol=QUADRATURE_TOLERANCE,
    )
    return np.where(reachable, result.integral, 1.0)


def _integrand(tau: Float, size: Float, gaps: Sequence[Float]) -> Float:
    """`c cosh τ / Π √(c² sinh² τ + Δ_j)`, zero where both overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        x = size * np.sinh(tau)
        product = size * np.cosh(tau)
        for gap in gaps:
            product = product / np.sqrt(x * x + gap)
    return np.where(np.isfinite(product), product, 0.0)


# Relative; some ten units of rounding.
QUADRATURE_TOLERANCE = 4e-15
