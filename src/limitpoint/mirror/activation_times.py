"""Activation times: how long a coefficient stays inactive as the initialisation vanishes.

For `β = v Π_j √(v² + Δ_j)` (L − 1 factors), v turned by the sign of the product of the other
layers, the mirror coordinate that takes v from v₀ to infinity is

    t⁺ = ∫_{v₀}^{∞} dx / Π_j √(x² + Δ_j),      t⁻ = ∫_{−v₀}^{∞} dx / Π_j √(x² + Δ_j)

(zhao, Assumption 4.4; printed there without the turn, which exchanges the two when the product of
the other layers is negative). Where two layers tie for the smallest, v cannot cross zero, and the
side on which it did not start is never reached.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import elliprf

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.display import Page, counted, left_out, number, table
from limitpoint.foundation.extras import lazy_module
from limitpoint.foundation.labels import Labelled
from limitpoint.foundation.result import Result
from limitpoint.mirror.deep_diagonal.gauss_rule import gauss_rule
from limitpoint.mirror.deep_diagonal.smallest_layer import smallest_layer

if TYPE_CHECKING:
    import xarray as xr
else:
    xr = lazy_module("xarray", "to_xarray")

__all__ = ["ActivationTimes", "diagonal_activation_times"]

# Panels of τ, `x = c sinh τ`: short against the distance π/2 to the nearest singularity.
PANEL_LENGTH = 1.0
# Below this ratio of x to z, `R_F(x², y², z²) = log(4z/(x + y))/z` up to `(y/z)² log(z/y)`
# (DLMF 19.27.1), which is then below 1e-16; the squares would underflow further down.
FAR_BELOW = 1e-9
# This far beyond the largest scale the integrand is a power of x up to (√Δ/x)² = 1e-16.
BEYOND_ALL = 1e8
# A printed table shows this many coefficients.
ROWS_SHOWN = 12


@dataclass(frozen=True, eq=False, repr=False)
class ActivationTimes(Labelled, Result):
    """Activation times under a negative gradient of 1, and their unit at the given scale.

    A coefficient whose mirror coordinate reaches `t_plus · unit` (or `−t_minus · unit`) becomes
    visible as scale → 0; infinite where it can never grow with that sign. The unit is `log(1/s)` at
    depth 2 and `s^(2−L)` at depth L ≥ 3.

    Attributes
    ----------
    t_plus, t_minus
        Activation times of the positive and of the negative side.
    unit
        Their unit of time.
    lower, upper
        Bounds that a coefficient cannot cross once it has grown.
    feature_names
        The names of the features, or None.
    """

    t_plus: Float
    t_minus: Float
    unit: float
    lower: Float | float = -np.inf
    upper: Float | float = np.inf

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values."""
        return {
            **self._names(),
            "t_plus": self.t_plus.tolist(),
            "t_minus": self.t_minus.tolist(),
            "unit": self.unit,
            "lower": np.broadcast_to(self.lower, self.t_plus.shape).tolist(),
            "upper": np.broadcast_to(self.upper, self.t_plus.shape).tolist(),
        }

    def to_xarray(self) -> "xr.Dataset":
        """As a labelled data set."""
        shape = self.t_plus.shape
        return xr.Dataset(
            {
                "t_plus": ("feature", self.t_plus),
                "t_minus": ("feature", self.t_minus),
                "lower": ("feature", np.broadcast_to(self.lower, shape).copy()),
                "upper": ("feature", np.broadcast_to(self.upper, shape).copy()),
            },
            coords=self._coords(len(self.t_plus)),
            attrs={"unit": self.unit},
        )

    def _facts(self) -> tuple[str, ...]:
        first = float(np.minimum(self.t_plus, self.t_minus).min(initial=np.inf))
        count = counted(len(self.t_plus), "coefficient")
        return count, f"the soonest at {number(first)}", f"unit {number(self.unit)}"

    def _page(self) -> Page:
        soonest = np.argsort(np.minimum(self.t_plus, self.t_minus), kind="stable")[:ROWS_SHOWN]
        rows = [
            (self._place((i,)), number(self.t_plus[i]), number(self.t_minus[i])) for i in soonest
        ]
        unit = f"in units of {number(self.unit)}" if np.isfinite(self.unit) else "in units of h(s)"
        every = len(self.t_plus)
        which = (
            f"the {len(rows)} soonest of {every}"
            if len(rows) < every
            else counted(every, "feature")
        )
        title = f"Activation times: {which}, {unit}"
        some = left_out(
            (len(rows), len(self.t_plus), "coefficients"), where=".t_plus and .t_minus or --json"
        )
        return table(title, ("feature", "t⁺", "t⁻"), rows, some)


def diagonal_activation_times(layers: Sequence[Float], log_scale: float) -> ActivationTimes:
    """Activation times of the diagonal network that starts along these layers.

    Examples
    --------
    The zero-balanced start of depth 3, `a = b = α, c = 0`, has `t = π/(2α)`:

    >>> import numpy as np
    >>> alpha = np.array([1.0, 0.5])
    >>> times = diagonal_activation_times([alpha, alpha, np.zeros(2)], log_scale=0.0)
    >>> np.allclose(times.t_plus, np.pi / (2 * alpha), rtol=1e-14)
    True
    """
    start = smallest_layer(layers)
    v, widths, tied = start.value, start.widths, start.tied
    depth = start.depth
    if depth == 2:
        t_plus = t_minus = np.ones_like(v)
    else:
        t_plus, t_minus = (_time_to_infinity(side * v, widths, tied) for side in (1, -1))
    return ActivationTimes(
        t_plus=np.where(tied & (v <= 0), np.inf, t_plus),
        t_minus=np.where(tied & (v >= 0), np.inf, t_minus),
        unit=_unit(depth, log_scale),
    )


def _unit(depth: int, log_scale: float) -> float:
    if depth == 2:
        return -log_scale
    with np.errstate(over="ignore", under="ignore"):
        return float(np.exp((2 - depth) * log_scale))


def _time_to_infinity(v: Float, widths: Float, tied: NDArray[np.bool_]) -> Float:
    """`∫_v^∞ dx / Π √(x² + Δ_j)`, where it is finite (1 elsewhere, to be replaced)."""
    reachable = ~(tied & (v <= 0))
    start, width = np.where(reachable, np.abs(v), 1.0), np.where(reachable, widths, 1.0)
    beyond = _integral(start, width)
    # From a negative start: all of the line less what is beyond the mirrored start.
    whole = 2 * _integral(np.zeros_like(start), np.where(tied, 1.0, width))
    times: Float = np.where(v >= 0, beyond, whole - beyond)
    return np.where(reachable, times, 1.0)


def _integral(start: Float, widths: Float) -> Float:
    """The same from a start ≥ 0: Carlson's integral at depth 3, quadrature beyond.

    With `x = c sinh τ`, c the smallest √Δ, the integrand is analytic within π/2 of the real axis,
    so that a Gauss rule on short panels is accurate to rounding; what lies beyond the last panel
    is a power of x.
    """
    with np.errstate(over="ignore", under="ignore"):
        return _elliptic(start, widths) if len(widths) == 2 else _quadrature(start, widths)


def _elliptic(start: Float, widths: Float) -> Float:
    """`R_F(v², v² + Δ_1, v² + Δ_2)`, of degree −½: in units of its largest argument."""
    middle, largest = np.hypot(start, widths[0]), np.hypot(start, widths[1])
    low, mid = start / largest, middle / largest
    far = np.log(4 / (low + mid))
    near = np.asarray(elliprf(low * low, np.maximum(mid, FAR_BELOW) ** 2, 1.0))
    return np.asarray(np.where(mid < FAR_BELOW, far, near) / largest)


def _quadrature(start: Float, widths: Float) -> Float:
    """In τ with `x = c sinh τ`, or `x = v₀e^τ` where c is zero."""
    tied = widths[0] == 0
    unit = np.where(tied, start, widths[0])
    end = BEYOND_ALL * np.maximum(widths[-1], start)
    first = np.where(tied, 0.0, np.arcsinh(start / unit))
    last = np.where(tied, np.log(end / unit), np.arcsinh(end / unit))
    panels = max(1, int(np.ceil(float((last - first).max()) / PANEL_LENGTH)))
    power = len(widths) - 1
    nodes, weights = gauss_rule(power, PANEL_LENGTH)
    fractions = (np.arange(panels)[:, None] + (nodes + 1) / 2).ravel() / panels
    tau = first + fractions[:, None] * (last - first)
    x = unit * np.where(tied, np.exp(tau), np.sinh(tau))
    # dx/dτ = √(x² + Δ_min) in both cases: that factor drops out.
    values = np.ones_like(x)
    for width in widths[1:]:
        values = values / np.hypot(x, width)
    inside = (last - first) / (2 * panels) * (np.tile(weights, panels) @ values)
    tail: Float = end**-power / power
    return np.asarray(inside + tail)
