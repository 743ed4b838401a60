"""Mirror map of networks of degree 2: the parameters are exponentials of the mirror coordinate.

For `β = a·b` the sum and the difference of the layers run exponentially in the mirror coordinate,
`a + b = (a₀+b₀)e^ξ` and `a − b = (a₀−b₀)e^−ξ`. With `P = |a₀+b₀|/2` and `M = |a₀−b₀|/2`, the
layer that starts smaller in modulus (turned by the sign of the other) and the larger one are

    v = Pe^rξ − Me^−rξ,   w = Pe^rξ + Me^−rξ,   β = Ψ(ξ) = vw,   Ψ' = r(v² + w²),   Ψ̂ = v²/(2r)

at the rate r = 1. Other networks of degree 2 have the same map:

    β = u²            P = |u₀|, M = 0          r = 2
    β = u² − w²       P = |u₀|, M = |w₀|       r = 2
    β = u₊v₊ − u₋v₋   P² = ¼[(u₊+v₊)² + (u₋−v₋)²], M² = ¼[(u₊−v₊)² + (u₋+v₋)²]   r = 1

With `Δ = w² − v² = 4PM` (`|a₀² − b₀²|` for the diagonal network) and `c = log(P/M)` this is
`½Δ sinh(2rξ + c)`, and

    Q'(β) = (asinh(2β/Δ) − c)/(2r),    Q(β) = βQ'(β) − (√(β² + Δ²/4) − Δ/2)/(2r),

which for r = 1 is (20) of Labarrière et al. with its prefactor corrected from ½ to ¼. Where P or M
is zero (the diagonal network's layers tie in modulus) the map covers one sign only.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.mirror.activation_times import ActivationTimes
from limitpoint.mirror.mirror_map import MirrorMap, MirrorPoint

__all__ = ["ExponentialMap"]

# Below this mirror coordinate, times r, the change from the start is computed as such (by expm1),
# so that nothing is lost when the start is far larger than the change; above it the two forms are
# equally accurate.
SMALL_MIRROR = 0.5

# exp of this is still a normal number, to full precision.
SMALLEST_LOG = -700.0

# Below this part of P + M their difference gives log(P/M) by artanh; above it the two logarithms
# differ by more than log 3, and lose nothing to each other.
BALANCED = 0.5

# sinh and cosh of this argument are still finite, and asinh(x) = log(2x) to the last bit above it.
LARGE_ARGUMENT = 350.0


@dataclass(frozen=True, eq=False)
class ExponentialMap(MirrorMap):
    """Mirror map of a network of degree 2, in log coordinates at any scale.

    Parameters
    ----------
    plus, minus
        `P` and `M` of the direction; zero where the map covers one sign.
    smaller
        `v` of the direction (for the diagonal network the smaller layer, times the sign of the
        larger one).
    start
        The direction's own coefficients `vw`.
    log_plus, log_minus
        Logarithms of P and M.
    log_scale_
        Logarithm of the scale.
    rate
        `r`, the growth of the logarithms of the parameters per unit of the mirror coordinate.

    Examples
    --------
    >>> import numpy as np
    >>> start = ExponentialMap.from_layers(np.array([1.0]), np.array([0.0]), log_scale=0.0)
    >>> bool(np.isclose(start.coefs(np.array([0.5]))[0], 0.5 * np.sinh(1.0), rtol=1e-15))
    True
    """

    plus: Float
    minus: Float
    smaller: Float
    start: Float
    log_plus: Float
    log_minus: Float
    log_scale_: float | Float
    rate: float = 1.0

    @classmethod
    def from_layers(cls, a: Float, b: Float, log_scale: float) -> "ExponentialMap":
        """The map of `β = a·b` that starts at `e^log_scale` times these layers."""
        with np.errstate(over="ignore", under="ignore"):
            start = a * b
        return cls.from_exponentials(
            plus=np.abs(a + b) / 2,
            minus=np.abs(a - b) / 2,
            smaller=np.sign(a) * np.sign(b) * np.minimum(np.abs(a), np.abs(b)),
            start=start,
            log_scale=log_scale,
        )

    @classmethod
    def from_exponentials(
        cls,
        plus: Float,
        minus: Float,
        smaller: Float,
        start: Float,
        log_scale: float,
        rate: float = 1.0,
    ) -> "ExponentialMap":
        """The map of `β = P²e^(2rξ) − M²e^(−2rξ)`, with `v = P − M` and `P² − M²` as exact.

        Where P and M nearly cancel, v and the start must come from the layers themselves.
        """
        with np.errstate(divide="ignore"):
            return cls(
                plus=plus,
                minus=minus,
                smaller=smaller,
                start=start,
                log_plus=np.log(plus),
                log_minus=np.log(minus),
                log_scale_=float(log_scale),
                rate=float(rate),
            )

    @property
    def log_scale(self) -> float:
        """Logarithm of the initialisation's scale."""
        return float(self.log_scale_)

    @property
    def degree(self) -> int:
        """Two: coefficients are quadratic in the parameters."""
        return 2

    @property
    def lower(self) -> Float:
        """−∞, or 0 where M is zero."""
        return np.where(self.minus == 0, 0.0, -np.inf)

    @property
    def upper(self) -> Float:
        """∞, or 0 where P is zero."""
        return np.where(self.plus == 0, 0.0, np.inf)

    def evaluate(self, xi: Float) -> MirrorPoint:
        """Coefficients `vw`, slopes `r(v² + w²)`, conjugate `v²/(2r)`."""
        with np.errstate(all="ignore"):
            log_rise, log_fall, scale = self._at_start
            growth = self.rate * xi
            rise = np.exp(log_rise + growth)
            fall = np.exp(log_fall - growth)
            w = rise + fall
            near = scale * self._smaller_near_start(growth)
            v = np.where(np.abs(growth) < SMALL_MIRROR, near, rise - fall)
            square = v * v
            return MirrorPoint(
                coefs=v * w,
                slopes=self.rate * (square + w * w),
                conjugates=(0.5 / self.rate) * square,
            )

    def signs_and_logs(self, xi: Float) -> tuple[Float, Float]:
        """Signs and log-moduli of `vw`."""
        log_rise, log_fall, _ = self._at_start
        growth = self.rate * xi
        plus, minus = log_rise + growth, log_fall - growth
        high, low = np.maximum(plus, minus), np.minimum(plus, minus)
        is_near, frozen = np.abs(growth) < SMALL_MIRROR, np.isneginf(high)
        with np.errstate(all="ignore"):
            near = self._smaller_near_start(growth)
            far_log = np.where(frozen, -np.inf, high + np.log(-np.expm1(low - high)))
            log_v = np.where(is_near, np.log(np.abs(near)) + self.log_scale_, far_log)
            signs = np.sign(np.where(is_near, near, plus - minus))
        return np.where(frozen, 0.0, signs), log_v + np.logaddexp(plus, minus)

    def mirror_coords(self, coefs: Float) -> Float:
        """`(asinh(2β/Δ) − c)/(2r)`, without cancellation when β is near its start."""
        shift = self.degree * self.log_scale_
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            log_half_delta = self._log_half_delta()
            log_abs = np.log(np.abs(coefs))
            centre = self._centre
            # asinh(x) with log|x| in hand: x itself may overflow.
            log_x = log_abs - log_half_delta
            x = np.exp(np.minimum(log_x, LARGE_ARGUMENT))
            asinh = np.where(log_x < LARGE_ARGUMENT, np.arcsinh(x), log_x + np.log(2.0))
            both = (np.sign(coefs) * asinh - centre) / 2
            near = _asinh_difference(coefs, self._start_at_scale, np.exp(log_half_delta)) / 2
            held = log_half_delta > SMALLEST_LOG  # else Δ vanishes, and with it the difference
            both = np.where((np.abs(both) < SMALL_MIRROR) & held, near, both)
            # Under a sign constraint β = β₀e^(±2rξ): near its start the change says more than
            # logarithms.
            change = (coefs - self._start_at_scale) / self._start_at_scale
            held = np.abs(self._start_at_scale) > np.finfo(np.float64).tiny
            is_near = held & (np.abs(change) < SMALL_MIRROR)
            log_start = 2 * np.where(self.minus == 0, self.log_plus, self.log_minus)
            grown = np.where(is_near, np.log1p(change), log_abs - shift - log_start) / 2
        no_plus, no_minus = self.plus == 0, self.minus == 0
        one_sided = np.where(no_minus, grown, -grown)
        xi = np.where(no_plus | no_minus, one_sided, both)
        return np.where(no_plus & no_minus, 0.0, xi) / self.rate

    def potential(self, coefs: Float) -> Float:
        """`βξ − (√(β² + Δ²/4) − Δ/2)/(2r)` with `ξ = Q'(β)`."""
        with np.errstate(under="ignore", invalid="ignore", divide="ignore"):
            half_delta = np.exp(self._log_half_delta())
            # √(β²+d²) − d = β²/(√(β²+d²) + d), exact when β ≪ d.
            size = np.hypot(coefs, half_delta) + half_delta
            bend = np.where(size > 0, coefs * (coefs / size), 0.0)
            linear = np.where(coefs == 0, 0.0, coefs * self.mirror_coords(coefs))
        return np.asarray(linear - bend / (2 * self.rate))

    def activation_times(self) -> ActivationTimes:
        """`1/r` in both directions (zhao: 1/λ of the Hessian, 1 for a·b); the unit is log(1/s)."""
        time = 1 / self.rate
        return ActivationTimes(
            t_plus=np.where(self.plus == 0, np.inf, time),
            t_minus=np.where(self.minus == 0, np.inf, time),
            unit=-self.log_scale,
        )

    def at_log_scale(self, log_scale: float) -> "ExponentialMap":
        """The same direction at another scale."""
        return replace(self, log_scale_=float(log_scale))

    def across(self, log_scales: Float) -> "ExponentialMap":
        """At several scales at once, one per row."""
        return replace(self, log_scale_=log_scales[:, None])

    @cached_property
    def _at_start(self) -> tuple[Float, Float, float | Float]:
        """`log P`, `log M` and the scale itself, at this scale."""
        return (
            self.log_plus + self.log_scale_,
            self.log_minus + self.log_scale_,
            np.exp(self.log_scale_),
        )

    @cached_property
    def _centre(self) -> Float:
        """`c = log(P/M) = 2 artanh(v/(P+M))`: right relative to itself also where P and M agree."""
        with np.errstate(divide="ignore", invalid="ignore"):
            part = self.smaller / (self.plus + self.minus)
            near = 2 * np.arctanh(part)
            return np.where(np.abs(part) < BALANCED, near, self.log_plus - self.log_minus)

    @cached_property
    def _start_at_scale(self) -> Float:
        """`s²vw`, by its factors where the direction's own product is beyond float64."""
        scale = np.exp(self.log_scale_)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            factors = (scale * self.smaller) * (scale * (self.plus + self.minus))
            size = np.abs(self.start)
            held = (size > np.finfo(np.float64).tiny) & np.isfinite(size)
            return np.where(held, np.exp(self.degree * self.log_scale_) * self.start, factors)

    def _smaller_near_start(self, growth: Float) -> Float:
        """`v` at scale 1 as its start plus its change.

        Accurate for small mirror coordinates only.
        """
        near: Float = self.smaller + self.plus * np.expm1(growth) - self.minus * np.expm1(-growth)
        return near

    def _log_half_delta(self) -> Float:
        """`log(Δ/2) = log(2PM)`, at this scale."""
        result: Float = np.log(2.0) + self.log_plus + self.log_minus + self.degree * self.log_scale_
        return result


def _asinh_difference(coefs: Float, start: Float, half_delta: Float) -> Float:
    """`asinh(β/d) − asinh(β₀/d)` for β near β₀, from the difference β − β₀ itself.

    `asinh x − asinh z = asinh(x√(1+z²) − z√(1+x²))`, and for x and z of one sign the argument is
    `(x−z)(x+z) / (x√(1+z²) + z√(1+x²))`: both divided by the larger of the two, since their
    product overflows where P and M are 150 orders of magnitude apart.
    """
    x, z = coefs / half_delta, start / half_delta
    straight = x * np.hypot(1.0, z) - z * np.hypot(1.0, x)
    same_sign = (np.sign(x) * np.sign(z)) > 0
    larger = np.where(same_sign, np.maximum(np.abs(coefs), np.abs(start)), 1.0)
    sum_ = (coefs / larger) * np.hypot(1.0, z) + (start / larger) * np.hypot(1.0, x)
    ratio = (coefs - start) / larger * (x + z) / np.where(same_sign, sum_, 1.0)
    return np.arcsinh(np.where(same_sign, ratio, straight))
