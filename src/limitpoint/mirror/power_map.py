"""Mirror map of power networks, `β = u^L` and `β = u^L − w^L` with L ≥ 3.

Notation
--------
k, K    `L − 2` and `L(L − 2)`
x       the modulus of a layer's entry: `β = Σ ε x^L` with ε = ±1, and `dx/dξ = εLx^(L−1)`
t       `x(0)^−k / K`; the modulus is infinite at the mirror coordinate `εt`: `x^−k = K(t − εξ)`

A term with ε = 1 rises with the mirror coordinate and adds to the coefficient, one with ε = −1
falls and takes away from it. The sign ε of `u^L` is `sign(u)^L` and that of `−w^L` the opposite of
`sign(w)^L`, so that at odd depth both terms may rise, or both fall. An entry that starts at zero
stays there.

**One rising, one falling** (poles t⁺ and −t⁻, `W = t⁺ + t⁻`, `C = KW`): with `ρ = log(x⁺/x⁻)`,

    t⁺ − ξ = W/(1 + e^kρ),   t⁻ + ξ = W/(1 + e^−kρ),   x^± = C^(−1/k) (1 + e^±kρ)^(1/k),
    β = 2m^L cosh(kρ/2)^(L/k) sinh(Lρ/2),   Ψ̂ = (m²/L)(cosh ρ · cosh(kρ/2)^(2/k) − 1),

m the modulus at which the two balance, `m^−k = C/2`. The curve parameter is `σ = ρ − ρ(0)`.

**All terms rising** (of all falling, the mirror image): the curve parameter is `σ = log(x/x(0))`
for the larger modulus x, and a smaller one y follows by `(x/y)^k = 1 + ((x(0)/y(0))^k − 1)e^kσ`. Ψ̂
is `(x² + y²)/(2L)` in both cases, less its value at β = 0.

References
----------
labarriere, (30) and (31), with `u(0)^(L−2)` corrected to `u(0)^−(L−2)` and the factor `L(L−2)`.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float
from limitpoint.mirror.activation_times import ActivationTimes
from limitpoint.mirror.curve_map import CurveMap, CurvePoint
from limitpoint.mirror.power_curves import Rising, Straddling

__all__ = ["PowerMap"]


@dataclass(frozen=True, eq=False)
class PowerMap(CurveMap):
    """Mirror map of `β = u^L − w^L`, L ≥ 3, at any scale.

    Parameters
    ----------
    degree_
        The depth L.
    log_scale_
        Logarithm of the scale.
    straddling
        Curves with a pole on either side; a stand-in where a coefficient has no such curve.
    rising
        Curves with a pole above only, likewise.
    sides
        0 for a coefficient with a pole on either side, 1 where both terms rise, −1 where both fall.
    frozen
        Whether both entries start at zero.
    swapped
        Whether w is the rising term or, of two that rise or fall together, the larger one.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.array([1.0])
    >>> mirror = PowerMap.from_layers(one, one, depth=3, log_scale=0.0)
    >>> mirror.activation_times().t_plus.tolist() == [1 / 3]
    True
    >>> bool(np.isclose(mirror.coefs(np.array([0.1]))[0], 0.7**-3 - 1.3**-3, rtol=1e-14))
    True
    """

    degree_: int
    log_scale_: float | Float
    straddling: Straddling
    rising: Rising
    sides: Float
    frozen: NDArray[np.bool_]
    swapped: NDArray[np.bool_]

    @classmethod
    def from_layers(cls, u: Float, w: Float | None, depth: int, log_scale: float) -> "PowerMap":
        """The map of `β = u^L − w^L` (`u^L` if w is None) from `e^log_scale` times these layers."""
        if w is None:
            w = np.zeros_like(u)
        sizes = np.abs(np.stack([u, w]))
        signs = np.stack([np.sign(u) ** depth, -(np.sign(w) ** depth)])
        total = signs.sum(axis=0)
        is_straddling = (signs[0] != 0) & (total == 0)
        swapped = np.where(is_straddling, signs[0] < 0, sizes[1] > sizes[0])
        # First the rising term, or the larger one; second the other.
        first, second = np.where(swapped, sizes[::-1], sizes)
        frozen = first == 0
        return cls(
            degree_=depth,
            log_scale_=float(log_scale),
            straddling=Straddling.of(
                np.where(is_straddling, first, 1.0), np.where(is_straddling, second, 1.0), depth
            ),
            rising=Rising.of(
                np.where(is_straddling | frozen, 1.0, first),
                np.where(is_straddling | frozen, 0.0, second),
                depth,
            ),
            sides=np.sign(total),
            frozen=frozen,
            swapped=swapped,
        )

    @property
    def log_scale(self) -> float:
        """Logarithm of the initialisation's scale."""
        return float(self.log_scale_)

    @property
    def degree(self) -> int:
        """The depth L."""
        return self.degree_

    @property
    def log_mirror_unit(self) -> float | Float:
        """Mirror coordinates are counted in units of `s^(2−L)`."""
        return (2 - self.degree_) * self.log_scale_

    @property
    def lower(self) -> Float:
        """−∞, or 0 where no term falls."""
        return np.where((self.sides > 0) | self.frozen, 0.0, -np.inf)

    @property
    def upper(self) -> Float:
        """∞, or 0 where no term rises."""
        return np.where((self.sides < 0) | self.frozen, 0.0, np.inf)

    @property
    def poles(self) -> tuple[Float, Float]:
        """Of the nearest term on either side."""
        above, below, one = self.straddling.t_plus, self.straddling.t_minus, self.rising.t_plus
        return (
            -self._pick(below, np.where(self.sides < 0, one, np.inf), np.inf),
            self._pick(above, np.where(self.sides > 0, one, np.inf), np.inf),
        )

    @property
    def offsets(self) -> Float:
        """`ρ(0)`; nothing where both terms rise or fall."""
        return np.where(self.sides == 0, np.abs(self.straddling.start), 0.0)

    def along(self, curve_params: Float, log_unit: float = 0.0) -> CurvePoint:
        """Coefficients, mirror coordinates, and their derivatives in the curve parameter."""
        log_factor = self.degree_ * self.log_scale_ - log_unit
        with np.errstate(all="ignore"):
            both = self.straddling.along(curve_params, log_factor)
            one = self.rising.along(self._turned(curve_params), log_factor)
        return CurvePoint(
            coefs=self._pick(both.coefs, self._turned(one.coefs), 0.0),
            coef_rates=self._pick(both.coef_rates, one.coef_rates, 0.0),
            mirror=self._pick(both.mirror, self._turned(one.mirror), curve_params),
            mirror_rates=self._pick(both.mirror_rates, one.mirror_rates, 1.0),
        )

    def curve_params(self, xi: Float) -> Float:
        """From the distances to the poles; ±∞ at and beyond them."""
        with np.errstate(all="ignore"):
            both = self.straddling.curve_params(np.asarray(xi))
            one = self._turned(self.rising.curve_params(self._turned(xi)))
        return self._pick(both, one, xi)

    def curve_params_of(self, coefs: Float) -> Float:
        """By Newton's method on logarithms; NaN for what the coefficient cannot be."""
        coefs = np.asarray(coefs, dtype=np.float64)
        shift = self.degree_ * self.log_scale_
        with np.errstate(all="ignore"):
            turned = self._turned(coefs)
            logs = np.log(np.abs(coefs)) - shift
            both = self.straddling.curve_params_of(np.sign(coefs), logs)
            one = self._turned(np.where(turned < 0, np.nan, self.rising.curve_params_of(logs)))
        return self._pick(both, one, np.where(coefs == 0, 0.0, np.nan))

    def signs_and_logs_at(self, curve_params: Float) -> tuple[Float, Float]:
        """Signs and log-moduli, by sums of logarithms."""
        shift = self.degree_ * self.log_scale_
        with np.errstate(all="ignore"):
            signs, logs = self.straddling.signs_and_logs(curve_params)
            one = self.rising.logs(self._turned(curve_params))
        one_signs = np.where(np.isneginf(one), 0.0, self.sides)
        return self._pick(signs, one_signs, 0.0), self._pick(logs + shift, one + shift, -np.inf)

    def conjugates_at(self, curve_params: Float) -> Float:
        """`Ψ̂`, without cancellation where the coefficient passes through zero."""
        shift = 2 * self.log_scale_
        with np.errstate(all="ignore"):
            both = self.straddling.conjugates(curve_params, shift)
            one = self.rising.conjugates(self._turned(curve_params), shift)
        return self._pick(both, one, 0.0)

    def log_growths_at(self, curve_params: Float) -> tuple[Float, Float]:
        """`log(|u|/|u(0)|)` and the same for w, which ξ in float64 cannot tell near a pole."""
        with np.errstate(all="ignore"):
            both = self.straddling.log_growths(curve_params)
            one = self.rising.log_growths(self._turned(curve_params))
        first, second = (self._pick(b, o, 0.0) for b, o in zip(both, one, strict=True))
        return np.where(self.swapped, second, first), np.where(self.swapped, first, second)

    def activation_times(self) -> ActivationTimes:
        """The distance to the nearest pole on either side; the unit is `s^(2−L)`."""
        below, above = self.poles
        return ActivationTimes(t_plus=above, t_minus=-below, unit=float(self.mirror_unit))

    def at_log_scale(self, log_scale: float) -> "PowerMap":
        """The same direction at another scale."""
        return replace(self, log_scale_=float(log_scale))

    def across(self, log_scales: Float) -> "PowerMap":
        """At several scales at once, one per row."""
        return replace(self, log_scale_=log_scales[:, None])

    def _turned(self, values: Float) -> Float:
        """Curve parameters, mirror coordinates or coefficients, mirrored where the terms fall."""
        return np.where(self.sides < 0, -np.asarray(values), values)

    def _pick(self, straddling: Float, rising: Float, frozen: Float | float) -> Float:
        """To each coefficient the value for its kind of curve."""
        moving = np.where(self.sides == 0, straddling, rising)
        return np.where(self.frozen, frozen, moving)
