"""Optimality residuals of a saddle, from the answer alone, in whatever units.

A pair (k, ν) with ``s = Xᵀν`` solves ``min R(k) s.t. Xk = y, lower ≤ k ≤ upper``, with
``R(k) = Σ t⁺k⁺ + t⁻k⁻``, iff k is feasible and ``s ∈ ∂(R + bounds)(k)``: every s at its
activation time where k moves, within its activation times where k is zero, beyond the activation
time at a bound. Where y cannot be fitted, the same problem is meant with y replaced by its
least-squares fit.

Each row and each column is judged by itself, so that no unit can hide an error:

- feasibility: the largest ``|xⱼᵀk − yⱼ|/|yⱼ|`` (where yⱼ = 0, relative to what the smallest
  solution adds up in the row); or, where that is not small, how far the residual is from optimal
  among least-squares fits (see the module `normal_residual`);
- dual feasibility: the largest excess of s over ``[−t⁻, t⁺]`` where k is zero, relative to the
  activation time that is exceeded;
- complementarity: the largest distance of s from its activation time where k is not zero, relative
  to that activation time;
- bounds: the largest excess of k over its bounds (signs forbidden by t = ∞ included), relative to
  that coefficient;
- error bound: the largest error of what a coefficient contributes to a row, relative to what is
  added up there, to first order (see the module `error_bound`).

All but the last are compared with one tolerance; of the error bound, a tenth of the promised 1e-6
is asked (`Certificate.allowed`). Residuals of an answer as good as float64 can hold are a few EPS
times the condition number of the columns that move, in units in which all contribute alike; the
tolerance of 1e-9 leaves room for a condition number of a million. It is also far above EPS times
anything, so that no rounding error passes for a margin: a mirror coordinate nearer than the
tolerance to an activation time that it need not reach leaves the answer undetermined.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from limitpoint.foundation.arrays import Float
from limitpoint.theory.certificates.certificate import CERTIFICATE_TOLERANCE, Certificate
from limitpoint.theory.certificates.compensated import residuals
from limitpoint.theory.solvers.basis_pursuit.certify.error_bound import (
    fit_error,
    least_squares_error,
)
from limitpoint.theory.solvers.basis_pursuit.certify.normal_residual import normal_residual
from limitpoint.theory.solvers.basis_pursuit.certify.row_scales import row_scales
from limitpoint.theory.solvers.basis_pursuit.certify.uniqueness import is_ambiguous
from limitpoint.theory.solvers.basis_pursuit.column_factor import EPS
from limitpoint.theory.solvers.basis_pursuit.data_matrix import (
    Design,
    Matrix,
    as_design,
    euclidean_norm,
)
from limitpoint.theory.solvers.basis_pursuit.even_units import even_units
from limitpoint.theory.solvers.basis_pursuit.graded_factor import RowwiseQR
from limitpoint.theory.solvers.basis_pursuit.penalty import WeightedL1, weighted_l1

# A mirror coordinate xᵢᵀν is uncertain by this many EPS times |xᵢ|ᵀ|ν|: by the rounding of ν
# itself, and by that of the sum, whose errors grow like the square root of the number of terms at
# random.
MIRROR_UNITS = 8.0
# Corrections of ν in twice the digits; each gains about 16 digits less those of the condition.
DUAL_STEPS = 3


@dataclass(frozen=True, eq=False)
class Examination:
    """What an answer was found to be: its residuals, whether y is fitted, whether it is unique."""

    certificate: Certificate
    is_fitted: bool
    is_ambiguous: bool


def certify(
    X: Matrix | Design,
    y: ArrayLike,
    coef: Float,
    sample_dual: Float,
    t_plus: ArrayLike = 1.0,
    t_minus: ArrayLike = 1.0,
    *,
    lower: ArrayLike = -np.inf,
    upper: ArrayLike = np.inf,
) -> Certificate:
    """Return the optimality residuals of coefficients k with sample-space dual ν.

    Examples
    --------
    >>> X, y = [[1.0, 0.5], [0.0, 1.0]], [1.0, 0.0]
    >>> certify(X, y, np.array([1.0, 0.0]), np.array([1.0, 0.0])).ok
    True
    >>> certify(X, y, np.array([1.0, 0.0]), np.array([2.0, 0.0])).residuals["complementarity"]
    1.0
    """
    design = X if isinstance(X, Design) else as_design(X)
    penalty = weighted_l1(design.shape[1], t_plus, t_minus, lower, upper)
    target = np.asarray(y, dtype=np.float64)
    units = even_units(design, target, penalty)
    scaled = coef / units.columns / units.target
    even, weights = units.design(design), units.penalty(penalty)
    return examine(
        even, target / units.target, scaled, sample_dual / units.time, weights
    ).certificate


def examine(design: Design, y: Float, k: Float, nu: Float, penalty: WeightedL1) -> Examination:
    """``certify`` for checked arguments in even units (`units`), with what else is found."""
    support = np.flatnonzero(k)
    columns, values = design.columns(support.tolist()), k[support]
    moves = (values > penalty.lower[support]) & (values < penalty.upper[support])
    left = residuals(columns, values, y)
    scales = row_scales(design, y) if (left[y == 0] != 0).any() else np.abs(y)
    sizes = np.abs(columns) @ np.abs(values) + scales
    missed = _largest(np.abs(left), scales)
    free = RowwiseQR(columns[:, moves])
    if missed <= CERTIFICATE_TOLERANCE or not free.is_regular:
        feasibility, error = missed, fit_error(columns[:, moves], values[moves], left, sizes)
    else:
        normal = normal_residual(design, k, penalty, free, left, sizes, scales)
        feasibility = min(missed, normal)
        error = least_squares_error(columns[:, moves], values[moves], free, left, sizes)
    dual = _Dual(design, k, nu, penalty, support[moves], free)
    return Examination(
        Certificate(
            {
                "feasibility": feasibility,
                "dual feasibility": dual.worst(k == 0),
                "complementarity": dual.worst(k != 0),
                "bounds": _bounds(k, penalty),
                "error bound": error,
            }
        ),
        is_fitted=bool(missed <= CERTIFICATE_TOLERANCE),
        is_ambiguous=is_ambiguous(design, columns[:, moves], free, dual.loose_directions()),
    )


class _Dual:
    """The mirror coordinates ``s = Xᵀν``, and how far each is from where it must be."""

    def __init__(
        self,
        design: Design,
        k: Float,
        nu: Float,
        penalty: WeightedL1,
        moving: NDArray[np.intp],
        free: RowwiseQR,
    ) -> None:
        self._k, self._penalty = k, penalty
        self._norms = design.norms
        low, high = _mirror_range(k, penalty)
        self._low, self._high = low, high
        xi = design.rmatvec(nu)
        rounding = MIRROR_UNITS * EPS * design.norms * euclidean_norm(nu)
        smallest = np.minimum(_mirror_scale(low, rounding), _mirror_scale(high, rounding))
        if (smallest == 0).any() or (rounding > CERTIFICATE_TOLERANCE * smallest).any():
            # Cauchy and Schwarz will not do: rows, or activation times, in different units.
            rounding = MIRROR_UNITS * EPS * design.moduli_products(nu)
        self._low_scale = _mirror_scale(low, rounding)
        self._high_scale = _mirror_scale(high, rounding)
        self._excess = self._relative_excess(xi, rounding)
        smallest = np.minimum(self._low_scale, self._high_scale)
        blurred = np.flatnonzero(rounding > CERTIFICATE_TOLERANCE * smallest)
        if len(blurred) and free.is_regular:
            # ν determines these mirror coordinates less well than the columns that move do.
            xi[blurred] = _refined_mirror(design, nu, moving, high, blurred, free)
            exact = self._relative_excess(xi, np.zeros_like(rounding))
            self._excess[blurred] = np.maximum(self._excess[blurred], exact[blurred])
        elif len(blurred):
            self._excess[blurred] = np.inf
        self._mirror = xi

    def _relative_excess(self, xi: Float, rounding: Float) -> Float:
        sure = np.where(rounding > CERTIFICATE_TOLERANCE * self._low_scale, rounding, 0.0)
        below = _ratio((self._low - xi - sure).clip(min=0.0), self._low_scale)
        sure = np.where(rounding > CERTIFICATE_TOLERANCE * self._high_scale, rounding, 0.0)
        above = _ratio((xi - self._high - sure).clip(min=0.0), self._high_scale)
        excess = np.maximum(below, above)
        return np.where(np.isnan(xi), np.nan, excess)

    def worst(self, which: NDArray[np.bool_]) -> float:
        """The largest distance of some columns from the range, relative to the activation time."""
        return float(self._excess[which].max(initial=0.0))

    def loose_directions(self) -> NDArray[np.int8]:
        """+1, −1 where a coefficient at rest could as well be larger, smaller; 2 for both; else 0.

        That is where a mirror coordinate, within the tolerance, is at the activation time on that
        side.
        """
        k, penalty = self._k, self._penalty
        at_rest = (k == 0) | (k <= penalty.lower) | (k >= penalty.upper)
        at_rest &= self._norms > 0
        can_rise = at_rest & (_gap(self._high, self._mirror, self._high_scale) <= 0)
        can_fall = at_rest & (_gap(self._mirror, self._low, self._low_scale) <= 0)
        directions: NDArray[np.int8] = can_rise.astype(np.int8) - can_fall.astype(np.int8)
        directions[can_rise & can_fall] = 2
        return directions


def _mirror_range(k: Float, penalty: WeightedL1) -> tuple[Float, Float]:
    """The interval ∂(Rᵢ + bounds)(kᵢ) in which each mirror coordinate must be."""
    low = np.where(penalty.lower < 0, -penalty.t_minus, -np.inf)
    high = np.where(penalty.upper > 0, penalty.t_plus, np.inf)
    low = np.where(k > 0, penalty.t_plus, low)
    high = np.where(k < 0, -penalty.t_minus, high)
    high = np.where((k > 0) & (k >= penalty.upper), np.inf, high)
    low = np.where((k < 0) & (k <= penalty.lower), -np.inf, low)
    return low, high


def _gap(larger: Float, smaller: Float, scale: Float) -> Float:
    """By how much one number is larger than another beyond the tolerance."""
    infinite = np.isinf(scale)
    allowed = np.where(infinite, 0.0, CERTIFICATE_TOLERANCE * np.where(infinite, 0.0, scale))
    return np.asarray(larger - smaller - allowed)


def _mirror_scale(threshold: Float, rounding: Float) -> Float:
    """The size of an activation time.

    Where it is 0, that of the terms which the mirror coordinate adds up.
    """
    terms = rounding / (MIRROR_UNITS * EPS)
    return np.where(np.isinf(threshold), np.inf, np.where(threshold == 0, terms, np.abs(threshold)))


def _refined_mirror(
    design: Design,
    nu: Float,
    moving: NDArray[np.intp],
    thresholds: Float,
    wanted: NDArray[np.intp],
    free: RowwiseQR,
) -> Float:
    """Some s, of the dual next to ν at which those of the moving coefficients are exact."""
    columns = design.columns(moving.tolist())
    tail = np.zeros_like(nu)
    for _ in range(DUAL_STEPS):
        defect = residuals(np.vstack([columns, columns]).T, np.append(nu, tail), thresholds[moving])
        tail += free.lift(defect)
    columns = design.columns(wanted.tolist())
    doubled = np.vstack([columns, columns]).T
    return -residuals(doubled, np.append(nu, tail), np.zeros(len(wanted)))


def _bounds(k: Float, penalty: WeightedL1) -> float:
    excess = np.maximum(penalty.lower - k, k - penalty.upper).clip(min=0.0)
    return float(_ratio(excess, np.abs(k)).max())


def _largest(values: Float, scales: Float) -> float:
    return float(np.nan_to_num(_ratio(values, scales), nan=np.inf).max())


def _ratio(values: Float, scales: Float) -> Float:
    """values/scales, with 0/0 = 0 (nothing there, nothing wrong)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(values == 0, 0.0, values / scales)
