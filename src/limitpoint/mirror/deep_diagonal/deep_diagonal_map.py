"""Mirror map of the diagonal network of three layers and more.

With v the smallest layer of a coordinate and Δ_j its distances from the others (see
`smallest_layer`), `dv/dξ = Π_j √(v² + Δ_j)` and `β = v Π_j √(v² + Δ_j)`. Along the curve parameter
σ with

    v = c sinh(τ₀ + σ),  c = √Δ_min            (one layer strictly smallest)
    v = v₀ e^{±σ}                              (tied: v keeps its sign)

the smallest distance drops out of the mirror coordinate's rate,

    dξ/dσ = 1/Π_{j ≠ min} √(v² + Δ_j),

which is analytic within π/2 of the real axis. So Gauss's rule on panels of length ½ integrates
`ξ = F(v)` to rounding, from the start outwards; where all that is left is a power of v, the
integral is closed. This is the entropy `Q' = F(v(β))` that Labarrière et al. leave open.

Everything is tabulated for the direction, at scale 1; at scale s, `β = s^L β₁`, `ξ = s^{2−L} ξ₁`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.mirror.activation_times import ActivationTimes
from limitpoint.mirror.curve_map import CurveMap, CurvePoint
from limitpoint.mirror.deep_diagonal.deep_diagonal_table import DeepTable

__all__ = ["DeepMap"]


@dataclass(frozen=True, eq=False)
class DeepMap(CurveMap):
    """Mirror map of `β = a₁ ⊙ … ⊙ a_L`, L ≥ 3, from any layers.

    Examples
    --------
    Three layers that start at (1, 1, 0): `β = tan ξ · sec² ξ`, with a pole at π/2.

    >>> import numpy as np
    >>> deep = DeepMap.from_layers([np.ones(1), np.ones(1), np.zeros(1)], log_scale=0.0)
    >>> bool(np.isclose(deep.coefs(np.array([1.0]))[0], np.tan(1) / np.cos(1) ** 2, rtol=1e-13))
    True
    """

    table: DeepTable
    log_scale_: float | Float

    @classmethod
    def from_layers(cls, layers: Sequence[Float], log_scale: float) -> "DeepMap":
        """The map that starts at `e^log_scale` times these layers."""
        return cls(DeepTable(layers), float(log_scale))

    @property
    def log_scale(self) -> float:
        """Logarithm of the initialisation's scale."""
        return float(self.log_scale_)

    @property
    def degree(self) -> int:
        """Number of layers."""
        return self.table.start.depth

    @property
    def log_mirror_unit(self) -> float | Float:
        """`s^{2−L}`."""
        return (2 - self.degree) * self.log_scale_

    @property
    def lower(self) -> Float:
        """−∞, or 0 where layers tie and the coefficient starts positive (or frozen)."""
        start = self.table.start
        return np.where(start.tied & (start.value >= 0), 0.0, -np.inf)

    @property
    def upper(self) -> Float:
        """∞, or 0 where layers tie and the coefficient starts negative (or frozen)."""
        start = self.table.start
        return np.where(start.tied & (start.value <= 0), 0.0, np.inf)

    @property
    def poles(self) -> tuple[Float, Float]:
        """Those of the direction."""
        return -self.table.times.t_minus, self.table.times.t_plus

    @property
    def offsets(self) -> Float:
        """`τ₀`; nothing under a sign constraint."""
        return self.table.offsets

    def along(self, curve_params: Float, log_unit: float = 0.0) -> CurvePoint:
        """`v Π√(v²+Δ)` and its derivative, the mirror coordinates by quadrature."""
        table = self.table
        with np.errstate(all="ignore"):
            log_factor = self.log_scale_ - log_unit / self.degree
            factor = np.exp(log_factor)
            v = table.layer(curve_params)
            scaled = table.layer(curve_params, log_factor)
            coefs, rates = scaled, np.hypot(scaled, factor * table.widths[0])
            bend = np.ones_like(scaled)
            for width in table.widths:
                other = np.hypot(scaled, factor * width)
                coefs, rates = coefs * other, rates * other
                # v²/(v² + Δ), which is 1 for a tied layer, also where v is no longer a float.
                bend = bend + np.where(width == 0, 1.0, 1 / (1 + (width / v) ** 2))
            # dβ/dσ = √(v²+Δ_min) · dβ/dv, and dβ/dv = (β/v) · bend.
            rates = rates * bend
            frozen = table.start.frozen
            return CurvePoint(
                coefs=np.where(frozen, 0.0, coefs),
                coef_rates=np.where(frozen, 0.0, rates),
                mirror=table.mirror_coords(curve_params),
                mirror_rates=np.where(frozen, 1.0, table.rates(v)),
            )

    def curve_params(self, xi: Float) -> Float:
        """By Newton's method on the panel that holds the mirror coordinate."""
        return self.table.curve_params(np.asarray(xi, dtype=np.float64))

    def curve_params_of(self, coefs: Float) -> Float:
        """By Newton's method in the logarithm of v, then once in the curve parameter itself."""
        with np.errstate(all="ignore"):
            logs = np.log(np.abs(coefs)) - self.degree * self.log_scale_
            curve_params = self.table.curve_params_of(np.sign(coefs), logs)
            # The last digits, where the coefficient is close to its start.
            point = self.along(curve_params)
            better = curve_params - (point.coefs - coefs) / point.coef_rates
            near = np.abs(better - curve_params) < 1e-3
        refined: Float = np.where(near, better, curve_params)
        return refined

    def signs_and_logs_at(self, curve_params: Float) -> tuple[Float, Float]:
        """Signs and log-moduli of `v Π√(v²+Δ)`."""
        table = self.table
        with np.errstate(all="ignore"):
            signs, log_v = table.sign_and_log(curve_params)
            logs = log_v + self.degree * self.log_scale_
            for width in table.widths:
                logs = logs + np.logaddexp(2 * log_v, 2 * np.log(width)) / 2
        zero = table.start.frozen | np.isneginf(log_v)
        return np.where(zero, 0.0, signs), np.where(zero, -np.inf, logs)

    def conjugates_at(self, curve_params: Float) -> Float:
        """`Ψ̂ = ½v²` at every depth: `dΨ̂/dξ = v dv/dξ = β`."""
        with np.errstate(all="ignore"):
            v = self.table.layer(curve_params, self.log_scale_)
            conjugates: Float = np.where(self.table.start.frozen, 0.0, 0.5 * v * v)
        return conjugates

    def activation_times(self) -> ActivationTimes:
        """The poles of the direction, and their unit `s^{2−L}`."""
        return replace(self.table.times, unit=float(self.mirror_unit))

    def at_log_scale(self, log_scale: float) -> "DeepMap":
        """The same direction at another scale; shares the table."""
        return replace(self, log_scale_=float(log_scale))

    def across(self, log_scales: Float) -> "DeepMap":
        """At several scales at once, one per row."""
        return replace(self, log_scale_=log_scales[:, None])
