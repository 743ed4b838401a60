"""The separable penalty whose minimiser the saddle path reaches.

``R(k) = Σ t⁺ᵢ kᵢ⁺ + t⁻ᵢ kᵢ⁻``, restricted to ``lowerᵢ ≤ kᵢ ≤ upperᵢ``, with activation times
t ≥ 0 (zhao, equation (3); the bounds are an addition, for networks whose coefficients are bounded).
``t⁺ᵢ = ∞`` says that kᵢ never becomes positive, which is the bound ``upperᵢ = 0``.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from limitpoint.errors import DataError
from limitpoint.foundation.arrays import MOST_AXES, Float, as_number_array
from limitpoint.foundation.values import Value

# Sums of activation times, and differences from them, must not overflow.
LARGEST_TIME = 1e300


@dataclass(frozen=True, eq=False)
class WeightedL1(Value):
    """Activation times and bounds of every coefficient, all arrays of length n.

    Where a bound is 0 the activation time of that side is stored as 0: the side does not exist.

    Examples
    --------
    >>> penalty = weighted_l1(2, t_plus=[1.0, 2.0], t_minus=np.inf)
    >>> float(penalty.value(np.array([3.0, 1.0]))), penalty.lower
    (5.0, array([0., 0.]))
    """

    t_plus: Float
    t_minus: Float
    lower: Float
    upper: Float

    @cached_property
    def scale(self) -> Float:
        """The size of a meaningful change of sᵢ: the larger activation time; 0 for a free one."""
        return np.maximum(self.t_plus, self.t_minus)

    @cached_property
    def is_bounded(self) -> bool:
        """Whether some coefficient may come to rest away from 0."""
        bounds = np.concatenate([self.lower, self.upper])
        return bool((np.isfinite(bounds) & (bounds != 0)).any())

    def value(self, k: Float) -> float:
        """Return R(k), for a k that respects the bounds; infinite beyond the largest float."""
        with np.errstate(over="ignore"):
            return float(self.t_plus @ np.maximum(k, 0.0) + self.t_minus @ np.maximum(-k, 0.0))

    def thresholds(self) -> tuple[Float, Float]:
        """The values of s at which a zero coefficient starts to fall, and to grow."""
        down = np.where(self.lower < 0, -self.t_minus, -np.inf)
        up = np.where(self.upper > 0, self.t_plus, np.inf)
        return down, up


def weighted_l1(
    n: int,
    t_plus: ArrayLike = 1.0,
    t_minus: ArrayLike = 1.0,
    lower: ArrayLike = -np.inf,
    upper: ArrayLike = np.inf,
) -> WeightedL1:
    """Check activation times and bounds, and spread numbers over all n coefficients."""
    plus = _per_feature("t_plus", t_plus, n)
    minus = _per_feature("t_minus", t_minus, n)
    low = _per_feature("lower", lower, n)
    high = _per_feature("upper", upper, n)
    for name, values in (("t_plus", plus), ("t_minus", minus)):
        if (values < 0).any():
            raise DataError(f"{name} must not be negative: activation times are in [0, inf]")
        if (np.isfinite(values) & (values > LARGEST_TIME)).any():
            raise DataError(
                f"{name} must be at most {LARGEST_TIME:g}, or infinite where a side never grows; "
                f"one is {values[np.isfinite(values)].max():g}"
            )
    if (low > 0).any():
        raise DataError("lower must be at most 0: every coefficient starts at 0")
    if (high < 0).any():
        raise DataError("upper must be at least 0: every coefficient starts at 0")
    low = np.where(np.isinf(minus), 0.0, low)
    high = np.where(np.isinf(plus), 0.0, high)
    plus = np.where(high == 0, 0.0, plus)
    minus = np.where(low == 0, 0.0, minus)
    return WeightedL1(plus, minus, low, high)


def _per_feature(name: str, values: ArrayLike, n: int) -> Float:
    array = as_number_array(values, name, DataError, ndim=range(MOST_AXES))
    if array.ndim > 1 or (array.ndim == 1 and array.shape != (n,)):
        raise DataError(
            f"{name} must be one number or one per feature ({n}), not of shape {array.shape}"
        )
    return np.array(np.broadcast_to(array, (n,)))
