"""Certificates: the residuals of the optimality conditions a limit claims to fulfil.

They are computed from the answer (coefficients and mirror coordinates) and the data alone; nothing
is taken over from the solver. Every residual is judged row by row, or column by column by what the
column contributes to the rows, so that no choice of units can hide one; and a bound on the error of
the answer itself, to first order, says what the residuals and rounding leave open.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from limitpoint.foundation.arrays import Float, read_only
from limitpoint.foundation.display import Page, counted, number, table
from limitpoint.foundation.extras import lazy_module
from limitpoint.foundation.linalg import EPS
from limitpoint.foundation.result import Result
from limitpoint.status import Status
from limitpoint.theory.certificates.compensated import residuals
from limitpoint.theory.certificates.constraint import Constraint
from limitpoint.theory.certificates.contribution_errors import contributions

if TYPE_CHECKING:
    import xarray as xr
else:
    xr = lazy_module("xarray", "to_xarray")

__all__ = [
    "ERROR_BOUND",
    "MISSED",
    "Certificate",
    "allowed_errors",
    "fit_residuals",
    "missed_rows",
    "relative",
    "status_of",
    "weights_of",
    "worst_ratio",
]

# Default accuracy of a certified answer, relative. Newton reaches about 1e-13 on well-conditioned
# data; four digits are left for data whose condition number is high.
CERTIFICATE_TOLERANCE = 1e-9
# What is promised of a certified answer is 1e-6: of every target that it is missed by no more, and
# of every coefficient, in what it contributes, that its error is no larger. The bound on the error
# is of first order, and a tenth of that is asked for; how far a target is missed is measured, in
# twice the digits of float64 where rounding matters.
MISSED, ERROR_BOUND = "missed targets", "error bound"
PROMISED = {MISSED: 5e-7, ERROR_BOUND: 1e-7}
# A row whose rounding is more than this part of that is added up again, exactly.
BLURRED = 1e-2
# What is rounded when a row or a mirror coordinate is added up, in units of eps times the sum of
# the moduli: random errors of some hundred terms.
ROUNDING_UNITS = 8.0


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Result):
    """Named residuals, each at most what is allowed of it when the answer is right.

    Attributes
    ----------
    residuals
        By the name of the condition, relative. `missed targets` is how far a row is from its
        target, `error bound` a bound of first order on the error of the coefficients themselves,
        `max |x_ji Δβ_i| / (|x_j|ᵀ|β| + |y_j|)`; the others are residuals of optimality conditions.
    tolerance
        What is allowed of a residual; of those two, what `allowed` says.
    coef_errors
        The bounds of first order on the error of each coefficient by itself, where they are known.
    """

    residuals: Mapping[str, float]
    tolerance: float = CERTIFICATE_TOLERANCE
    coef_errors: Float | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "residuals", MappingProxyType(dict(self.residuals)))
        if self.coef_errors is not None:
            read_only(self.coef_errors)

    def allowed(self, name: str) -> float:
        """What a residual may be."""
        return max(PROMISED.get(name, 0.0), self.tolerance)

    @property
    def ok(self) -> bool:
        """Whether every residual is a number no larger than what is allowed of it."""
        return all(value <= self.allowed(name) for name, value in self.residuals.items())

    @property
    def worst(self) -> float:
        """The largest residual, each in units in which `tolerance` is allowed; inf for NaN."""
        shares = [value / self.allowed(name) for name, value in self.residuals.items()]
        return self.tolerance * float(np.max(np.nan_to_num(shares, nan=np.inf, posinf=np.inf)))

    @property
    def error_bound(self) -> float | None:
        """The bound on the error of the coefficients, in what they contribute; None: not known."""
        return self.residuals.get(ERROR_BOUND)

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values."""
        return {"ok": self.ok, "tolerance": self.tolerance, "residuals": dict(self.residuals)}

    def to_xarray(self) -> "xr.Dataset":
        """As a labelled data set: one residual per condition, and what is allowed of it."""
        allowed = [self.allowed(name) for name in self.residuals]
        return xr.Dataset(
            {
                "residual": ("condition", list(self.residuals.values())),
                "allowed": ("condition", allowed),
            },
            coords={"condition": list(self.residuals)},
            attrs={"tolerance": self.tolerance},
        )

    def _facts(self) -> tuple[str, ...]:
        worst = f"worst {number(self.worst)} of {number(self.tolerance)}"
        return counted(len(self.residuals), "residual"), worst, "ok" if self.ok else "NOT ok"

    def _page(self) -> Page:
        rows = [
            (
                name,
                number(value),
                number(self.allowed(name)),
                "ok" if value <= self.allowed(name) else "NO",
            )
            for name, value in self.residuals.items()
        ]
        return table("Certificate", ("condition", "residual", "tolerance", ""), rows)


def status_of(certificate: Certificate, constraint: Constraint, coef: Float) -> Status:
    """How a prediction ended: certified, or not because rounding hides the data, or not at all."""
    if not constraint.data.rank_is_exact:
        return Status.RANK_HIDDEN
    if certificate.ok:
        return Status.CONVERGED if constraint.in_range else Status.LEAST_SQUARES
    if constraint.in_range and _hidden(constraint, coef):
        return Status.DATA_HIDDEN
    return Status.NOT_CERTIFIED


def _hidden(constraint: Constraint, coef: Float) -> bool:
    """Whether rounding of what is added up in some row exceeds what its target may be missed by."""
    rounding = ROUNDING_UNITS * EPS * (np.abs(constraint.X) @ np.abs(coef))
    return bool(
        (rounding > PROMISED[MISSED] * _references(constraint)).any() and constraint.y.any()
    )


def _references(constraint: Constraint) -> Float:
    """What a miss of each target is relative to: |y_j|, or what is added up to it where y_j = 0."""
    sums = np.abs(constraint.X) @ np.abs(constraint.least)
    return np.where(constraint.y != 0, np.abs(constraint.y), sums)


def fit_residuals(
    constraint: Constraint, coef: Float, start: Float | None = None
) -> dict[str, float]:
    """How well the data are fitted, row by row, or how far the normal equations hold.

    - feasibility: the componentwise backward error of `Xβ = y` (Oettli and Prager, 1964),
      `max_j |x_jᵀβ − y_j| / (|x_j|ᵀ|β| + |y_j|)`: whether the solver did its work;
    - missed targets: `|x_jᵀβ − y_j|` relative to `|y_j|`, or where that is zero to what the fit of
      least norm adds up there: whether the data are fitted;
    - or, when y is out of reach, the normal equations `x_iᵀ(y − Xβ) = 0` column by column,
      relative to `|x_i|ᵀ(|X||β| + |y|)`.

    Where every target is zero, the coefficients of the start are all that gives a size.
    """
    X, y = constraint.X, constraint.y
    sizes = np.abs(X) @ np.abs(coef) + np.abs(y)
    if not constraint.fit.any() and start is not None:
        sizes = sizes + np.abs(X) @ np.abs(start)
    residual = y - X @ coef
    if not constraint.in_range:
        forces, most = np.abs(X.T @ residual), np.abs(X).T @ sizes
        return {"normal equations": worst_ratio(forces, most)}
    found = {"feasibility": worst_ratio(np.abs(residual), sizes)}
    if y.any():
        found[MISSED] = worst_ratio(
            np.abs(_residual(constraint, coef, residual)), _references(constraint)
        )
    return found


def _residual(constraint: Constraint, coef: Float, plain: Float) -> Float:
    """What is missing of each row; in twice the digits where rounding of a plain sum would show."""
    X, y = constraint.X, constraint.y
    rounding = ROUNDING_UNITS * EPS * (np.abs(X) @ np.abs(coef))
    blurred = rounding > BLURRED * PROMISED[MISSED] * _references(constraint)
    if coef.ndim > 1:  # one output at a time
        columns = [
            _residual(constraint.output(k), coef[:, k], plain[:, k]) for k in range(coef.shape[1])
        ]
        return np.stack(columns, axis=1) if blurred.any() else plain
    if not blurred.any():
        return plain
    exact = plain.copy()
    with np.errstate(all="ignore"):
        exact[blurred] = residuals(X[blurred], coef, y[blurred])
    # Products beyond float64 cannot be split.
    return np.where(np.isfinite(exact), exact, plain)


def worst_ratio(values: Float, sizes: Float) -> float:
    """The largest ratio, entry by entry; nothing relative to nothing is nothing."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = np.where(values == 0.0, 0.0, values / sizes)
    return float(np.nan_to_num(ratios, nan=np.inf, posinf=np.inf).max(initial=0.0))


def missed_rows(constraint: Constraint, coef: Float) -> Float:
    """By how much each row may be off the best fit, rounding of its terms included."""
    X, y = constraint.X, constraint.y
    rounding = ROUNDING_UNITS * EPS * (np.abs(X) @ np.abs(coef) + np.abs(y))
    return np.asarray(np.abs(constraint.fit - X @ coef) + rounding + constraint.fit_error)


def allowed_errors(weights: Float) -> Float:
    """Errors of coefficients that contribute what a certificate tolerates."""
    unlimited = np.full_like(weights, np.inf)
    return np.divide(CERTIFICATE_TOLERANCE, weights, out=unlimited, where=weights > 0)


def weights_of(constraint: Constraint, coef: Float) -> Float:
    """What one unit of each coefficient contributes, relative; to the start's sizes if y is 0."""
    if not constraint.fit.any() and not coef.any():
        return np.zeros_like(coef)
    return contributions(constraint.X, constraint.y, coef)


def relative(value: float, scale: float) -> float:
    """`value/scale`, where nothing relative to nothing is nothing; infinite if it overflows."""
    if value == 0.0:
        return 0.0
    return value / scale if scale > 0.0 and np.isfinite(value) else np.inf
