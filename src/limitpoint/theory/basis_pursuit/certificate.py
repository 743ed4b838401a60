"""Optimality residuals of a saddle, from the answer alone.

A pair (k, ν) with ``s = Xᵀν`` solves ``min R(k) s.t. Xk = y, lower ≤ k ≤ upper``, with
``R(k) = Σ t⁺k⁺ + t⁻k⁻``, iff k is feasible and ``s ∈ ∂(R + bounds)(k)``. The second is said by
Fenchel and Young's inequality ``φᵢ = Rᵢ(kᵢ) + Rᵢ*(sᵢ) − kᵢsᵢ ≥ 0``, with equality there; the
conjugate is ``Rᵢ*(s) = max(0, (s − t⁺)·upper, (−s − t⁻)·|lower|)``.

Where y cannot be fitted, the same problem is meant with y replaced by its least-squares fit. The
residuals, all relative:

- feasibility: `‖Xk − y‖/‖y‖`, or, where that is smaller, the largest cosine between the residual
  and a column that may still move to lower it;
- dual feasibility: the largest excess of s over `[−t⁻, t⁺]`, relative to the larger growth time;
- complementarity: `max φᵢ / R(k)`;
- bounds: the largest excess of k over its bounds (signs forbidden by t = ∞ included), relative to
  `max |k|`;
- duality gap: `|R(k) + R*(s) − yᵀν| / R(k)`.
"""

import numpy as np
from numpy.typing import ArrayLike

from limitpoint.arrays import Float
from limitpoint.theory.basis_pursuit.design import Design, Matrix, as_design, euclidean_norm
from limitpoint.theory.basis_pursuit.growth_penalty import GrowthPenalty, growth_penalty
from limitpoint.theory.certificate import Certificate


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
    >>> certify(X, y, np.array([1.0, 0.0]), np.array([2.0, 0.0])).residuals["dual feasibility"]
    1.0
    """
    design = X if isinstance(X, Design) else as_design(X)
    penalty = growth_penalty(design.shape[1], t_plus, t_minus, lower, upper)
    return certify_penalty(design, np.asarray(y, dtype=np.float64), coef, sample_dual, penalty)


def certify_penalty(
    design: Design, y: Float, k: Float, nu: Float, penalty: GrowthPenalty
) -> Certificate:
    """``certify`` for arguments that are already checked."""
    residual = y - design.matvec(k)
    s = design.rmatvec(nu)
    fit = _ratio(euclidean_norm(residual), euclidean_norm(y))
    normal = _normal(design, residual, k, penalty)
    conjugate = _conjugate(s, penalty)
    costs = penalty.t_plus * np.maximum(k, 0.0) + penalty.t_minus * np.maximum(-k, 0.0)
    # Where all of R is free its value is 0, and the products kᵢsᵢ are the scale that is left.
    scale = float(costs.sum()) or float(np.abs(k) @ (design.norms * euclidean_norm(nu)))
    slack = costs + conjugate - k * s
    fitted = y if fit <= normal else y - residual
    gap = float(costs.sum() + conjugate.sum() - fitted @ nu)
    bounds = float(np.maximum(penalty.lower - k, k - penalty.upper).clip(min=0.0).max())
    return Certificate(
        {
            "feasibility": min(fit, normal),
            "dual feasibility": _dual_excess(design, s, nu, penalty),
            "complementarity": _ratio(float(np.abs(slack).max()), scale),
            "bounds": _ratio(bounds, float(np.abs(k).max())),
            "duality gap": _ratio(abs(gap), scale),
        }
    )


def _normal(design: Design, residual: Float, k: Float, penalty: GrowthPenalty) -> float:
    """Max over the columns that may move downhill of |xᵢᵀr| / (‖xᵢ‖‖r‖)."""
    norm = euclidean_norm(residual)
    if norm == 0.0:
        return 0.0
    # Normalised first: xᵀr of a tiny residual must not underflow into a false zero.
    slopes = design.rmatvec(residual / norm)
    can_move = np.where(slopes > 0, k < penalty.upper, k > penalty.lower)
    moving = can_move & (design.norms > 0)
    cosines = np.divide(np.abs(slopes), design.norms, out=np.zeros_like(slopes), where=moving)
    return float(cosines.max())


def _conjugate(s: Float, penalty: GrowthPenalty) -> Float:
    """R*(s) where it is finite; an infinite one is the dual infeasibility's business."""
    above = np.maximum(s - penalty.t_plus, 0.0)
    below = np.maximum(-s - penalty.t_minus, 0.0)
    upper = np.where(np.isinf(penalty.upper), 0.0, penalty.upper)
    lower = np.where(np.isinf(penalty.lower), 0.0, -penalty.lower)
    return np.asarray(above * upper + below * lower)


def _dual_excess(design: Design, s: Float, nu: Float, penalty: GrowthPenalty) -> float:
    above = np.where(np.isinf(penalty.upper), s - penalty.t_plus, 0.0)
    below = np.where(np.isinf(penalty.lower), -s - penalty.t_minus, 0.0)
    excess = np.maximum(above, below).clip(min=0.0)
    scale = np.where(penalty.scale > 0, penalty.scale, design.norms * euclidean_norm(nu))
    return float(np.divide(excess, scale, out=np.zeros_like(excess), where=excess > 0).max())


def _ratio(value: float, scale: float) -> float:
    """value/scale, with 0/0 = 0 (nothing there, nothing wrong)."""
    if value == 0.0:
        return 0.0
    return value / scale if scale > 0 else float("inf")
