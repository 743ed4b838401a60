"""The certificate of a weighted least norm, and a bound on its error."""

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.linalg import EPS
from limitpoint.theory.certificates.certificate import (
    CERTIFICATE_TOLERANCE,
    ERROR_BOUND,
    ROUNDING_UNITS,
    Certificate,
    allowed_errors,
    fit_residuals,
    missed_rows,
    weights_of,
    worst_ratio,
)
from limitpoint.theory.certificates.constraint import Constraint
from limitpoint.theory.certificates.contribution_errors import error_bounds
from limitpoint.theory.certificates.row_space_projection import in_row_space

__all__ = ["certify_weighted_least_norm", "error_of_least_norm"]

# Its square root, and products of that with entries near one, are normal numbers.
TINY = 1e-290


def certify_weighted_least_norm(constraint: Constraint, slopes: Float, coef: Float) -> Certificate:
    """Check that `coef` minimises `½ Σ β_i²/D_i` among the best fits.

    Feasibility and missed targets, or the normal equations; stationarity: `β/D` in the row
    space of X, relative to what is added up; error bound.
    """
    xi = np.divide(coef, slopes, out=np.zeros_like(coef), where=slopes > 0)
    inside, sums = (row[0] for row in in_row_space(constraint, xi[None]))
    off = np.where(slopes > 0, np.abs(xi - inside), np.abs(coef))
    return Certificate(
        {
            **fit_residuals(constraint, coef),
            "stationarity": worst_ratio(off, np.abs(xi) + sums),
            ERROR_BOUND: error_of_least_norm(constraint, slopes, coef),
        }
    )


def error_of_least_norm(constraint: Constraint, slopes: Float, coef: Float) -> float:
    """A bound on the error of `argmin ½ Σ β_i²/D_i`, in what coefficients contribute.

    `β = DXᵀν` is linear: nothing of second order is left out.
    """
    units, seen, worst = constraint.units, constraint.seen, 0.0
    scaled = np.where(seen, np.maximum(slopes / units**2, TINY), 0.0)
    xi = np.divide(coef.T, slopes, out=np.zeros(coef.T.shape), where=slopes > 0)
    inside, sums = in_row_space(constraint, np.atleast_2d(xi))
    outputs = [(coef, constraint)]
    if coef.ndim == 2:
        outputs = [(coef[:, k], constraint.output(k)) for k in range(coef.shape[1])]
    for k, (one, single) in enumerate(outputs):
        rounding = ROUNDING_UNITS * EPS * sums[k]
        off = slopes * rounding + np.abs(one - slopes * inside[k])
        weights = weights_of(single, one) * units
        blurred = seen & (_times(weights, off / units) > CERTIFICATE_TOLERANCE)
        missed = missed_rows(single, one)
        strayed = np.where(seen & ~blurred, off / units, 0.0)
        bounds, _ = error_bounds(
            single, scaled, missed, strayed, blurred, rounding * units, allowed_errors(weights)
        )
        worst = max(
            worst, float(np.nan_to_num(_times(weights, bounds), nan=np.inf).max(initial=0.0))
        )
    return worst


def _times(weights: Float, errors: Float) -> Float:
    """Contributions of errors, of none where there is none: weights may be infinite.

    They are where a row has neither a target nor a coefficient, as in a diagonal X.
    """
    return np.multiply(weights, errors, out=np.zeros_like(weights), where=errors != 0)
