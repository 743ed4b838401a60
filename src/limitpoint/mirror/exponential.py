"""Mirror maps of two-layer networks: the difference of a growing and a decaying exponential.

For `β = a·b` the sum and the difference of the layers run exponentially in the clock,
`a + b = (a₀+b₀)e^ξ` and `a − b = (a₀−b₀)e^−ξ`, so that

    β = Ψ(ξ) = g₊ e^{2ξ} − g₋ e^{−2ξ},    g₊ = (a₀+b₀)²/4,   g₋ = (a₀−b₀)²/4.

With `Δ = 4√(g₊g₋) = |a₀² − b₀²|` and `c = ½ log(g₊/g₋)` this is `½Δ sinh(2ξ + c)`, and

    Q'(β) = ½ asinh(2β/Δ) − ½c,    Q(β) = βQ'(β) − ½(√(β² + Δ²/4) − Δ/2),

which is (20) of Labarrière et al. with its prefactor corrected from ½ to ¼. Where the layers tie
in modulus, g₊ or g₋ is zero and the map covers a half-line only.
"""

from dataclasses import dataclass, replace

import numpy as np

from limitpoint.arrays import Float
from limitpoint.mirror.base import GrowthTimes, MirrorMap

__all__ = ["ExponentialMap"]

# Both exponents are doubled clocks: Ψ(ξ) = g₊ e^{RATE·ξ} − g₋ e^{−RATE·ξ}.
RATE = 2.0

# Below this |RATE·ξ| the change from the start is computed as such (by expm1), so that nothing is
# lost when the start is far larger than the change; above it the two forms are equally accurate.
SMALL_EXPONENT = 1.0

# sinh and cosh of this argument are still finite, and asinh(x) = log(2x) to the last bit above it.
LARGE_ARGUMENT = 350.0


@dataclass(frozen=True, eq=False)
class ExponentialMap(MirrorMap):
    """Mirror map of the depth-2 diagonal network, in log coordinates at any scale.

    Parameters
    ----------
    log_plus, log_minus
        `log g₊` and `log g₋` of the direction; −∞ where the layers tie.
    start_sign, start_log
        Sign and log-modulus of the direction's own coefficient `a·b`.
    log_scale
        Logarithm of the scale.

    Examples
    --------
    >>> import numpy as np
    >>> start = ExponentialMap.from_layers(np.array([1.0]), np.array([0.0]), log_scale=0.0)
    >>> float(start.coefs(np.array([0.5]))[0]) == 0.5 * float(np.sinh(1.0))
    True
    """

    log_plus: Float
    log_minus: Float
    start_sign: Float
    start_log: Float
    log_scale_: float

    @classmethod
    def from_layers(cls, a: Float, b: Float, log_scale: float) -> "ExponentialMap":
        """The map of `β = a·b` that starts at `e^log_scale` times these layers."""
        with np.errstate(divide="ignore"):
            return cls(
                log_plus=2 * np.log(np.abs(a + b) / 2),
                log_minus=2 * np.log(np.abs(a - b) / 2),
                start_sign=np.sign(a) * np.sign(b),
                start_log=np.log(np.abs(a)) + np.log(np.abs(b)),
                log_scale_=float(log_scale),
            )

    @property
    def log_scale(self) -> float:
        """Logarithm of the initialisation's scale."""
        return self.log_scale_

    @property
    def degree(self) -> int:
        """Two layers."""
        return 2

    @property
    def lower(self) -> Float:
        """−∞, or 0 where the layers start equal."""
        return np.where(np.isneginf(self.log_minus), 0.0, -np.inf)

    @property
    def upper(self) -> Float:
        """∞, or 0 where the layers start opposite."""
        return np.where(np.isneginf(self.log_plus), 0.0, np.inf)

    def coefs(self, clocks: Float) -> Float:
        """`g₊ e^{2ξ} − g₋ e^{−2ξ}`."""
        plus, minus = self._exponents(clocks)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            far = np.exp(plus) - np.exp(minus)
            near = self._near_start(clocks) * np.exp(self._shift)
        return np.where(np.abs(RATE * clocks) < SMALL_EXPONENT, near, far)

    def signs_and_logs(self, clocks: Float) -> tuple[Float, Float]:
        """Sign and log-modulus of the difference of the two exponentials."""
        plus, minus = self._exponents(clocks)
        high, low = np.maximum(plus, minus), np.minimum(plus, minus)
        frozen = np.isneginf(high)
        near = self._near_start(clocks)
        with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
            far_signs = np.where(frozen, 0.0, np.sign(plus - minus))
            far_logs = np.where(frozen, -np.inf, high + np.log(-np.expm1(low - high)))
            near_logs = np.log(np.abs(near)) + self._shift
        is_near = np.abs(RATE * clocks) < SMALL_EXPONENT
        return np.where(is_near, np.sign(near), far_signs), np.where(is_near, near_logs, far_logs)

    def slopes(self, clocks: Float) -> Float:
        """`2(g₊ e^{2ξ} + g₋ e^{−2ξ}) = a² + b²`."""
        plus, minus = self._exponents(clocks)
        with np.errstate(over="ignore", under="ignore"):
            return RATE * (np.exp(plus) + np.exp(minus))

    def clocks(self, coefs: Float) -> Float:
        """`½ asinh(2β/Δ) − ½c`, without cancellation when β is near its start."""
        log_plus, log_minus = self._logs_at_start()
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            log_half_delta = np.log(2.0) + 0.5 * (log_plus + log_minus)
            log_abs = np.log(np.abs(coefs))
            centre = 0.5 * (log_plus - log_minus)
            # asinh(x) with log|x| in hand: x itself may overflow.
            log_x = log_abs - log_half_delta
            x = np.exp(np.minimum(log_x, LARGE_ARGUMENT))
            asinh = np.where(log_x < LARGE_ARGUMENT, np.arcsinh(x), log_x + np.log(2.0))
            both = (np.sign(coefs) * asinh - centre) / RATE
            start = self.start_sign * np.exp(self.start_log + self._shift)
            near = _asinh_difference(coefs, start, np.exp(log_half_delta)) / RATE
            both = np.where(np.abs(RATE * both) < SMALL_EXPONENT, near, both)
            rising = (log_abs - log_plus) / RATE
            falling = (log_minus - log_abs) / RATE
        no_plus, no_minus = np.isneginf(self.log_plus), np.isneginf(self.log_minus)
        one_sided = np.where(no_minus, rising, falling)
        clocks = np.where(no_plus | no_minus, one_sided, both)
        return np.where(no_plus & no_minus, 0.0, clocks)

    def potential(self, coefs: Float) -> Float:
        """`βξ − ½(√(β² + Δ²/4) − Δ/2)` with `ξ = Q'(β)`."""
        log_plus, log_minus = self._logs_at_start()
        with np.errstate(under="ignore", invalid="ignore", divide="ignore"):
            half_delta = 2.0 * np.exp(0.5 * (log_plus + log_minus))
            # √(β²+d²) − d = β²/(√(β²+d²) + d), exact when β ≪ d.
            size = np.hypot(coefs, half_delta) + half_delta
            bend = np.where(size > 0, coefs * (coefs / size), 0.0)
            linear = np.where(coefs == 0, 0.0, coefs * self.clocks(coefs))
        return linear - bend / RATE

    def conjugate(self, clocks: Float) -> Float:
        """`½(g₊ e^{2ξ} + g₋ e^{−2ξ}) − Δ/4`."""
        plus, minus = self._exponents(clocks)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            # e^p + e^m − 2e^{(p+m)/2} = (e^{p/2} − e^{m/2})² = 4e^{(p+m)/2} sinh²((p−m)/4), where
            # p − m is taken part by part: at large scale the two are nearly equal.
            gap = (self.log_plus - self.log_minus) + 2 * RATE * clocks
            near = (2 * np.exp((plus + minus) / 4) * np.sinh(gap / 4)) ** 2
            far = (np.exp(plus / 2) - np.exp(minus / 2)) ** 2
        return np.where(np.abs(gap) < SMALL_EXPONENT, near, far) / RATE

    def growth_times(self) -> GrowthTimes:
        """One in both directions (zhao: 1/λ of the Hessian of a·b); the unit is log(1/s)."""
        return GrowthTimes(
            t_plus=np.where(np.isneginf(self.log_plus), np.inf, 1.0),
            t_minus=np.where(np.isneginf(self.log_minus), np.inf, 1.0),
            unit=-self.log_scale,
        )

    def at_log_scale(self, log_scale: float) -> "ExponentialMap":
        """The same direction at another scale."""
        return replace(self, log_scale_=float(log_scale))

    def _near_start(self, clocks: Float) -> Float:
        """The coefficients at scale 1 as start plus change; accurate for small exponents only."""
        exponent = np.clip(RATE * clocks, -SMALL_EXPONENT, SMALL_EXPONENT)
        start = self.start_sign * np.exp(self.start_log)
        rise = np.exp(self.log_plus) * np.expm1(exponent)
        fall = np.exp(self.log_minus) * np.expm1(-exponent)
        near: Float = start + rise - fall
        return near

    @property
    def _shift(self) -> float:
        return self.degree * self.log_scale

    def _logs_at_start(self) -> tuple[Float, Float]:
        return self.log_plus + self._shift, self.log_minus + self._shift

    def _exponents(self, clocks: Float) -> tuple[Float, Float]:
        log_plus, log_minus = self._logs_at_start()
        return log_plus + RATE * clocks, log_minus - RATE * clocks


def _asinh_difference(coefs: Float, start: Float, half_delta: Float) -> Float:
    """`asinh(β/d) − asinh(β₀/d)` for β near β₀, from the difference β − β₀ itself.

    `asinh x − asinh z = asinh(x√(1+z²) − z√(1+x²))`, and for x and z of one sign the argument is
    `(x−z)(x+z) / (x√(1+z²) + z√(1+x²))`.
    """
    x, z = coefs / half_delta, start / half_delta
    straight = x * np.hypot(1.0, z) - z * np.hypot(1.0, x)
    sum_ = x * np.hypot(1.0, z) + z * np.hypot(1.0, x)
    same_sign = (x * z) > 0
    ratio = (coefs - start) / half_delta * (x + z) / np.where(same_sign, sum_, 1.0)
    return np.arcsinh(np.where(same_sign, ratio, straight))
