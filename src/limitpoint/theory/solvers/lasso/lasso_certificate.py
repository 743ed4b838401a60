"""The certificate of a lasso: its optimality conditions, from coefficients and residual alone.

Notation: `r` the residual that is claimed, E the columns for which `|x_iᵀr|` comes as near to τ as
a certificate tolerates, those of coefficients that are not zero among them.
"""

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.linalg import EPS
from limitpoint.theory.certificates.certificate import (
    CERTIFICATE_TOLERANCE,
    ERROR_BOUND,
    ROUNDING_UNITS,
    Certificate,
    worst_ratio,
)
from limitpoint.theory.certificates.compensated import residuals
from limitpoint.theory.certificates.contribution_errors import contributions
from limitpoint.theory.solvers.basis_pursuit.certify.uniqueness import is_ambiguous
from limitpoint.theory.solvers.basis_pursuit.data_matrix import as_design
from limitpoint.theory.solvers.basis_pursuit.graded_factor import RowwiseQR
from limitpoint.theory.solvers.lasso.lasso_problem import Lasso

__all__ = ["certify_lasso"]

# Backward error of a QR factorisation of p columns, in EPS, per column: the constants of Higham
# (2002, section 19.3) without their worst-case growth.
UNITS_PER_COLUMN = 4.0
# A pseudo-inverse that is off by more than this part of itself bounds nothing.
LARGEST_SOLVE_ERROR = 0.1


def certify_lasso(lasso: Lasso, coef: Float, left: Float) -> tuple[Certificate, bool]:
    """Residuals of the conditions, and whether other coefficients fulfil them as well.

    - fit: `|y_j − x_jᵀβ − r_j|` relative to `|x_j|ᵀ|β| + |y_j|`, row by row;
    - stationarity: `|s_i x_iᵀr − τ|` where β_i has the sign s_i, which must be allowed;
    - subgradient: by how much `x_iᵀr` exceeds τ, on the sides that are open, where β_i is zero.
      Both relative to τ, so that no size of the data hides it, beyond what rounding of r makes,
      `eps |x_i|ᵀ|r|`;
    - error bound: of first order, `Δβ = E⁺(y − Xβ − r) − (EᵀE)⁻¹(τs − Eᵀr)`, rounding of r
      included, by what it contributes.
    """
    X, y, weight = lasso.X, lasso.y, lasso.weight
    with np.errstate(all="ignore"):  # products beyond float64 certify nothing
        missed = residuals(np.hstack([X, np.eye(len(y))]), np.concatenate([coef, left]), y)
        slopes = -residuals(X.T, left, np.zeros(X.shape[1]))
    rounding = ROUNDING_UNITS * EPS * (np.abs(X).T @ np.abs(left))
    signs, active = np.sign(coef), coef != 0
    sides = np.where(active, signs, np.where((slopes < 0) & lasso.falls, -1.0, 1.0))
    open_ = np.where(sides > 0, lasso.rises, lasso.falls)
    beyond = np.where(open_, sides * slopes - weight, -np.inf)
    off = np.where(active, np.abs(beyond), beyond)
    tied = ~active & (beyond >= -CERTIFICATE_TOLERANCE * weight - rounding)
    tight, turned = active | tied, np.abs(beyond) + rounding
    errors = _errors(X[:, tight], missed, turned[tight])
    ambiguous = False
    # Ties that rounding alone makes are not known to be any.
    if errors is None and (rounding[tied] <= CERTIFICATE_TOLERANCE * weight).all():
        tight = active
        errors = _errors(X[:, tight], missed, turned[tight])
        directions = np.where(tied, sides, 0.0).astype(np.int8)
        columns = X[:, active]
        ambiguous = is_ambiguous(as_design(X), columns, RowwiseQR(columns), directions)
    bounds = np.zeros(len(coef))
    bounds[tight] = np.inf if errors is None else errors
    relative = (off - rounding).clip(min=0.0) / weight
    sizes = np.abs(X) @ np.abs(coef) + np.abs(y)
    # A row whose terms are all zero is no size for an error; a column of E meets others, as
    # `x_iᵀr` is not zero.
    shares = contributions(X[sizes > 0], y[sizes > 0], coef)[tight]
    with np.errstate(invalid="ignore"):
        errors = shares * bounds[tight]
    found = {
        "fit": worst_ratio(np.abs(missed), sizes),
        "stationarity": _worst(relative[active]),
        "subgradient": _worst(relative[~active]),
        ERROR_BOUND: _worst(errors),
    }
    return Certificate(found, coef_errors=bounds), ambiguous


def _worst(values: Float) -> float:
    return float(np.nan_to_num(values, nan=np.inf, posinf=np.inf).max(initial=0.0))


def _errors(columns: Float, missed: Float, turned: Float) -> Float | None:
    """`|E⁺||y − Xβ − r| + |(EᵀE)⁻¹||τs − Eᵀr|`; None where the columns are not independent."""
    count = columns.shape[1]
    if not count:
        return np.zeros(0)
    factor = RowwiseQR(columns)
    if not factor.is_regular:
        return None
    inverse = np.abs(factor.inverse())
    # Errors of a factorisation are relative to the largest entry of each row, in even columns.
    largest = np.abs(columns).max(axis=0)
    condition = float((largest * (inverse @ (np.abs(columns) / largest).max(axis=1))).max())
    if not UNITS_PER_COLUMN * count * EPS * condition <= LARGEST_SOLVE_ERROR:
        return None
    return np.asarray(inverse @ np.abs(missed) + inverse @ (inverse.T @ turned))
