"""The two kinds of curve of a power network, at scale 1 (notation: `limitpoint.mirror.power_map`).

All is computed from logarithms: what has a pole there, or vanishes, is a sum here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.mirror.curve_map import CurvePoint

__all__ = ["Rising", "Straddling"]

# Newton's method on functions whose second derivative is of the order of the first: the error
# after a step δ is of order δ², which is below rounding after a step of this size. The starts are
# within log 8 of the root, from where it takes about eight; the limit is for NaN.
LAST_STEP = 1e-9
NEWTON_STEPS = 40

# Below this argument functions are computed by their change (log1p, expm1); above it by logarithms.
SMALL = 0.5

# exp of this is still finite. An activation time beyond it is cut off: nothing that starts so small
# moves in the time that float64 holds.
LARGEST_LOG = 709.0

# Below this logarithm `log(1 + e^x) = e^x` to the last bit.
NEGLIGIBLE_LOG = -40.0


@dataclass(frozen=True, eq=False)
class Straddling:
    """Curves of one rising and one falling term.

    Attributes
    ----------
    depth
        L.
    start
        `ρ(0)`, the logarithm of the ratio of the rising modulus to the falling one.
    log_c
        `log C`, `C = x⁺(0)^−k + x⁻(0)^−k`.
    """

    depth: int
    start: Float
    log_c: Float

    @classmethod
    def of(cls, rising: Float, falling: Float, depth: int) -> "Straddling":
        """From the positive moduli of the two terms."""
        k = depth - 2
        start = log_ratio(rising, falling)
        return cls(
            depth=depth,
            start=start,
            log_c=softplus(-k * np.abs(start)) - k * _log_min(rising, falling),
        )

    @cached_property
    def t_plus(self) -> Float:
        """The mirror coordinate at which the rising term is infinite."""
        return _time(self._log_width - softplus(self._k * self.start))

    @cached_property
    def t_minus(self) -> Float:
        """The same for the falling term, as a distance."""
        return _time(self._log_width - softplus(-self._k * self.start))

    def along(self, curve_params: Float, log_factor: float | Float) -> CurvePoint:
        """Coefficients times `e^log_factor`, mirror coordinates, and their rates."""
        k, depth = self._k, self.depth
        rho = self.start + curve_params
        above, below = softplus(k * rho), softplus(-k * rho)
        log_size = log_factor - depth / k * self.log_c
        signs, logs = self.signs_and_logs(curve_params)
        # dx⁺/dσ = x⁺(t⁻ + ξ)/W and dx⁻/dσ = −x⁻(t⁺ − ξ)/W.
        rates = np.exp(log_size + depth / k * above - below)
        rates = rates + np.exp(log_size + depth / k * below - above)
        ahead = -np.expm1(-k * np.maximum(curve_params, 0.0)) * np.exp(-below)
        behind = np.expm1(k * np.minimum(curve_params, 0.0)) * np.exp(-above)
        return CurvePoint(
            coefs=signs * np.exp(logs + log_factor),
            coef_rates=depth * rates,
            mirror=self.t_plus * ahead + self.t_minus * behind,
            mirror_rates=k * np.exp(self._log_width - above - below),
        )

    def curve_params(self, xi: Float) -> Float:
        """`e^kσ = (1 + ξ/t⁻)/(1 − ξ/t⁺)`."""
        behind = np.log1p(np.maximum(xi / self.t_minus, -1.0))
        ahead = np.log1p(np.maximum(-xi / self.t_plus, -1.0))
        return np.asarray((behind - ahead) / self._k)

    def curve_params_of(self, signs: Float, logs: Float) -> Float:
        """Curve parameters of coefficients given by sign and log-modulus.

        Solves `log B(ρ) = log|β|/m^L` for log ρ, `B = 2cosh(kρ/2)^(L/k) sinh(Lρ/2)`. That is
        increasing and convex in log ρ, so that Newton's method falls to the root from above; it
        starts from `(2^(L/k) B) ≥ e^Lρ − 1`, less than log 8 above the root.
        """
        k, depth = self._k, self.depth
        target = logs - depth * self._log_balance
        bound = target + depth / k * np.log(2.0)
        start = np.where(bound < NEGLIGIBLE_LOG, bound, np.log(softplus(bound))) - np.log(depth)

        def value_and_slope(log_rho: Float) -> tuple[Float, Float]:
            rho = np.exp(log_rho)
            value = np.log(2.0) + depth / k * log_cosh(k * rho / 2)
            tiny = log_rho + np.log(depth / 2)  # sinh x = x, also where x is no longer a float
            value = value + np.where(tiny < NEGLIGIBLE_LOG, tiny, log_sinh(depth * rho / 2))
            bend = np.where(rho > 0, (depth * rho / 2) / np.tanh(depth * rho / 2), 1.0)
            return value - target, depth * rho / 2 * np.tanh(k * rho / 2) + bend

        rho = signs * np.exp(_newton(value_and_slope, start))
        rho = np.where(np.isneginf(logs), 0.0, np.where(np.isposinf(logs), signs * np.inf, rho))
        return np.asarray(rho - self.start)

    def signs_and_logs(self, curve_params: Float) -> tuple[Float, Float]:
        """Of `2m^L cosh(kρ/2)^(L/k) sinh(Lρ/2)`."""
        k, depth = self._k, self.depth
        rho = self.start + curve_params
        size = np.abs(rho)
        logs = np.log(2.0) + depth * self._log_balance + depth / k * log_cosh(k * size / 2)
        return np.sign(rho), logs + log_sinh(depth * size / 2)

    def conjugates(self, curve_params: Float, log_factor: float | Float) -> Float:
        """`(m²/L)(cosh ρ cosh(kρ/2)^(2/k) − 1)` times `e^log_factor`."""
        k, rho = self._k, self.start + curve_params
        growth = log_cosh(rho) + 2 / k * log_cosh(k * rho / 2)
        log_size = 2 * self._log_balance + log_factor - np.log(self.depth)
        # The exponential alone may overflow where its product with m² does not.
        far = np.exp(growth + log_size)
        size = np.exp(log_size)
        return np.asarray(np.where(growth < SMALL, np.expm1(growth) * size, far - size))

    def log_growths(self, curve_params: Float) -> tuple[Float, Float]:
        """`log(x/x(0))` of the rising and of the falling term."""
        k = self._k
        first, rho = k * self.start, k * (self.start + curve_params)
        return (
            np.asarray(softplus(rho) - softplus(first)) / k,
            np.asarray(softplus(-rho) - softplus(-first)) / k,
        )

    @property
    def _k(self) -> int:
        return self.depth - 2

    @cached_property
    def _log_width(self) -> Float:
        """`log W`."""
        return np.asarray(self.log_c - np.log(self.depth * self._k))

    @cached_property
    def _log_balance(self) -> Float:
        """`log m`."""
        return np.asarray((np.log(2.0) - self.log_c) / self._k)


@dataclass(frozen=True, eq=False)
class Rising:
    """Curves of one or two rising terms.

    Attributes
    ----------
    depth
        L.
    log_larger
        Logarithm of the larger modulus at the start.
    log_lag
        `log((x(0)/y(0))^k − 1)`; infinite where there is one term only, −∞ where they are equal.
    """

    depth: int
    log_larger: Float
    log_lag: Float

    @classmethod
    def of(cls, larger: Float, smaller: Float, depth: int) -> "Rising":
        """From a positive modulus and one that is not larger (zero: no second term)."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            lead = (depth - 2) * np.where(smaller > 0, log_ratio(larger, smaller), np.inf)
            log_lag = np.where(lead > -NEGLIGIBLE_LOG, lead, np.log(np.expm1(lead)))
        return cls(depth=depth, log_larger=np.log(larger), log_lag=log_lag)

    @cached_property
    def t_plus(self) -> Float:
        """The mirror coordinate at which the larger modulus is infinite."""
        k = self.depth - 2
        return _time(-k * self.log_larger - np.log(self.depth * k))

    def along(self, curve_params: Float, log_factor: float | Float) -> CurvePoint:
        """Coefficients times `e^log_factor`, mirror coordinates, and their rates."""
        k, depth = self.depth - 2, self.depth
        behind = self._behind(curve_params)
        powers = np.exp(depth * (self.log_larger + curve_params) + log_factor)
        # dx/dσ = x, and dy/dσ = y(y/x)^k.
        return CurvePoint(
            coefs=powers * (1 + np.exp(-depth * behind)),
            coef_rates=depth * powers * (1 + np.exp(-(depth + k) * behind)),
            mirror=-self.t_plus * np.expm1(-k * curve_params),
            mirror_rates=self.t_plus * (k * np.exp(-k * curve_params)),
        )

    def curve_params(self, xi: Float) -> Float:
        """`e^−kσ = 1 − ξ/t⁺`."""
        return np.asarray(-np.log1p(np.maximum(-xi / self.t_plus, -1.0)) / (self.depth - 2))

    def curve_params_of(self, logs: Float) -> Float:
        """Curve parameters of positive coefficients given by their logarithms.

        `log(x^L + y^L)` has a slope between L/2 and L in the curve parameter: Newton's method from
        the curve parameter that it would have without the second term.
        """
        depth, k = self.depth, self.depth - 2

        def value_and_slope(curve_params: Float) -> tuple[Float, Float]:
            behind = self._behind(curve_params)
            slopes = (1 + np.exp(-(depth + k) * behind)) / (1 + np.exp(-depth * behind))
            return self.logs(curve_params) - logs, depth * slopes

        start = logs / depth - self.log_larger
        return np.where(np.isinf(logs), logs, _newton(value_and_slope, start))

    def logs(self, curve_params: Float) -> Float:
        """Logarithms of the coefficients."""
        second = np.log1p(np.exp(-self.depth * self._behind(curve_params)))
        return np.asarray(self.depth * (self.log_larger + curve_params) + second)

    def conjugates(self, curve_params: Float, log_factor: float | Float) -> Float:
        """`(x² + y²)/(2L)` times `e^log_factor`."""
        squares = np.exp(2 * (self.log_larger + curve_params) + log_factor)
        return np.asarray(
            squares * (1 + np.exp(-2 * self._behind(curve_params))) / (2 * self.depth)
        )

    def log_growths(self, curve_params: Float) -> tuple[Float, Float]:
        """`log(x/x(0))` of the larger and of the smaller term (the latter 0 if there is none)."""
        later = self._behind(curve_params) - self._behind(np.zeros_like(curve_params))
        return curve_params, np.where(np.isposinf(self.log_lag), 0.0, curve_params - later)

    def _behind(self, curve_params: Float) -> Float:
        """`log(x/y)`."""
        k = self.depth - 2
        single, equal = np.isposinf(self.log_lag), np.isneginf(self.log_lag)
        lag = np.where(single | equal, 0.0, self.log_lag)
        behind = softplus(lag + k * curve_params) / k
        return np.where(single, np.inf, np.where(equal, 0.0, behind))


def softplus(x: Float) -> Float:
    """`log(1 + e^x)`, accurate relative to itself."""
    return np.asarray(np.logaddexp(0.0, x))


def log_cosh(x: Float) -> Float:
    """`log cosh x`, accurate relative to itself also near zero."""
    size = np.abs(x)
    near = np.log1p(2 * np.sinh(np.minimum(size, SMALL) / 2) ** 2)
    far = size + np.log1p(np.exp(-2 * size)) - np.log(2.0)
    return np.asarray(np.where(size < SMALL, near, far))


def log_sinh(x: Float) -> Float:
    """`log sinh x` for x ≥ 0."""
    near = np.log(np.sinh(np.minimum(x, SMALL)))
    return np.where(x < SMALL, near, x + np.log(-np.expm1(-2 * x) / 2))


def log_ratio(numerator: Float, denominator: Float) -> Float:
    """`log(a/b)` of positive numbers, accurate relative to itself also where they nearly agree."""
    excess = (numerator - denominator) / denominator
    near = np.log1p(np.clip(excess, -SMALL, SMALL))
    return np.where(np.abs(excess) < SMALL, near, np.log(numerator) - np.log(denominator))


def _newton(value_and_slope: Callable[[Float], tuple[Float, Float]], start: Float) -> Float:
    """The root of an increasing function, entry by entry."""
    root = start
    for _ in range(NEWTON_STEPS):
        value, slope = value_and_slope(root)
        step = value / slope
        root = root - step
        if not (np.abs(step) > LAST_STEP).any():
            break
    return root


def _time(log_time: Float) -> Float:
    return np.asarray(np.exp(np.minimum(log_time, LARGEST_LOG)))


def _log_min(a: Float, b: Float) -> Float:
    return np.asarray(np.log(np.minimum(a, b)))
