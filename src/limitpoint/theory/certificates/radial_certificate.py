"""The certificate of a limit under a radial map."""

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.linalg import EPS
from limitpoint.mirror import RadialMap
from limitpoint.theory.certificates.certificate import (
    CERTIFICATE_TOLERANCE,
    ERROR_BOUND,
    ROUNDING_UNITS,
    Certificate,
    allowed_errors,
    fit_residuals,
    missed_rows,
    relative,
    weights_of,
)
from limitpoint.theory.certificates.constraint import Constraint
from limitpoint.theory.certificates.contribution_errors import error_bounds
from limitpoint.theory.certificates.row_space_projection import in_row_space
from limitpoint.theory.solvers.least_norm import LeastNorm

__all__ = ["certify_radial_limit"]


def certify_radial_limit(
    constraint: Constraint, radial: RadialMap, coef: Float, xi: Float
) -> Certificate:
    """Check that `coef` minimises `V(β) = Φ*(β) − βᵀz(0)` among the best fits of the data.

    The conditions, with z the inverse of the map at β and ξ the mirror coordinates:

    - feasibility and missed targets, or the normal equations, as for every limit;
    - stationarity: `z − z(0) = ξ` with ξ in the row space of X, coefficient by coefficient relative
      to `|z_i| + |z_i(0)|` and what ξ_i is added up from;
    - duality gap: `Φ*(β) + Φ(z(0) + ξ) − βᵀ(z(0) + ξ) = 0`, relative to the sum of the terms;
    - error bound.
    """
    start = radial.start
    reached, z = start + xi, radial.inverse(coef)
    moved = (z - start)[None]
    inside, terms = (row[0] for row in in_row_space(constraint, moved, np.abs(z) + np.abs(start)))
    sums = np.abs(start) + terms
    sizes = np.abs(z) + sums
    off = np.where(constraint.seen, np.abs(z - (start + inside)), np.abs(z - start))
    conjugate = radial.conjugate(float(reached @ reached))
    primal = float(coef @ z) - radial.conjugate(float(z @ z))
    pairing = float(coef @ reached)
    stationary = np.divide(off, sizes, out=np.zeros_like(off), where=sizes > 0)
    return Certificate(
        {
            **fit_residuals(constraint, coef, radial.coef(start)),
            "stationarity": float(stationary.max(initial=0.0)),
            "duality gap": relative(
                abs(primal + conjugate - pairing), abs(primal) + abs(conjugate) + abs(pairing)
            ),
            ERROR_BOUND: _error_bound(constraint, radial, coef, z, off, sums),
        }
    )


@np.errstate(invalid="ignore")  # zero times infinity: nothing is known, and the bound infinite
def _error_bound(
    constraint: Constraint, radial: RadialMap, coef: Float, z: Float, off: Float, sums: Float
) -> float:
    """To first order; the derivative of the map is `Ξ (I + 2s zzᵀ)`, `s = (log Ξ)'`.

    With K the matrix of the minimum-norm solution and `u = (XXᵀ)⁻¹Xz`, the exact limit is at
    `K'r + (I − K'X)e` from the answer, `K' = K + 2s/(1 + 2s zᵀXᵀu) P_null z uᵀ`.
    """
    square = float(z @ z)
    if square <= radial.lowest or not coef.any():
        return 0.0 if not constraint.fit.any() else np.inf
    multiplier = radial.multiplier(square)
    _, slope = radial.log_multiplier(square - radial.lowest)
    units, seen = constraint.units, constraint.seen
    weights = weights_of(constraint, coef)
    rounding = ROUNDING_UNITS * EPS * sums
    missed = missed_rows(constraint, coef)
    strayed = multiplier * (off + rounding)
    blurred = seen & (weights * multiplier * rounding > CERTIFICATE_TOLERANCE)
    free = np.where(blurred | ~seen, 0.0, 1.0)
    bounds, _ = error_bounds(
        constraint,
        np.where(seen, multiplier / units**2, 0.0) * free,
        missed,
        strayed / units * free,
        blurred,
        (off + rounding) * units,
        allowed_errors(weights * units),
    )
    bounds = units * bounds
    norm = LeastNorm(constraint, np.ones_like(coef))
    hidden, turn = norm.without(z)
    grown = 2 * slope * float(hidden @ hidden)
    # zᵀXᵀu is what is left of ‖z‖².
    share = 2 * slope / (1 + 2 * slope * square - grown)
    moved = np.abs(turn) @ (missed + np.abs(constraint.X) @ np.where(blurred, bounds, strayed))
    bounds = bounds + share * np.abs(hidden) * float(moved)
    return float(np.nan_to_num(weights * bounds, nan=np.inf).max(initial=0.0))
