"""Certificates: the residuals of the optimality conditions a limit claims to fulfil.

They are computed from the answer (coefficients and clocks) and the data alone; nothing is taken
over from the solver. Every residual is judged row by row, or column by column by what the column
contributes to the rows, so that no choice of units can hide one; and a bound on the error of the
answer itself, to first order, says what the residuals and rounding leave open.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from limitpoint.arrays import Float
from limitpoint.display import number, table, to_html, to_text
from limitpoint.linalg import EPS
from limitpoint.mirror import CurveMap, MirrorMap
from limitpoint.status import Status
from limitpoint.theory.constraint import Constraint
from limitpoint.theory.error_bound import contributions, error_bounds

__all__ = [
    "ERROR_BOUND",
    "MISSED",
    "Certificate",
    "allowed_errors",
    "certify_mirror_limits",
    "certify_weighted_least_norm",
    "error_of_least_norm",
    "fit_residuals",
    "in_row_space",
    "missed_rows",
    "relative",
    "status_of",
    "weights_of",
]

# Default accuracy of a certified answer, relative. Newton reaches about 1e-13 on well-conditioned
# data; four digits are left for data whose condition number is high.
CERTIFICATE_TOLERANCE = 1e-9
# What is promised of a certified answer is 1e-6: of every target that it is missed by no more, and
# of every coefficient, in what it contributes, that its error is no larger. The bound on the error
# is of first order, and a tenth of that is asked for; how far a target is missed is measured, and
# rounding of the measurement is no more than half of it where it matters.
MISSED, ERROR_BOUND = "missed targets", "error bound"
PROMISED = {MISSED: 5e-7, ERROR_BOUND: 1e-7}
# What is rounded when a row or a mirror coordinate is added up, in units of eps times the sum of
# the moduli: random errors of some hundred terms.
ROUNDING_UNITS = 8.0
# Next to a pole a coefficient is compared by its clock, which must agree to 1e-13, a few hundred
# roundings, of what it is added up from: so much of that counts as the tolerance 1e-9.
CLOCK_WEIGHT = 1e4
# Mirror coordinates below this part of the largest are as good as zero when the columns that carry
# the dual are chosen.
SMALLEST_CLOCK = 1e-30
# Each step takes what ν misses down by the condition number of the chosen columns times eps.
DUAL_STEPS = 3
# Coefficients are read off a map, whose powers and logarithms round by a few units each.
ROUNDING_UNITS = 8.0


@dataclass(frozen=True)
class Certificate:
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

    def __reduce__(self) -> tuple[Any, ...]:
        return Certificate, (dict(self.residuals), self.tolerance, self.coef_errors)

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

    def to_xarray(self) -> xr.Dataset:
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

    def __rich__(self) -> Any:
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

    def __repr__(self) -> str:
        return to_text(self.__rich__())

    def _repr_html_(self) -> str:
        return to_html(repr(self))


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
        return {"normal equations": _worst(forces, most)}
    found = {"feasibility": _worst(np.abs(residual), sizes)}
    if y.any():
        found[MISSED] = _worst(np.abs(residual), _references(constraint))
    return found


def _worst(values: Float, sizes: Float) -> float:
    """The largest ratio, entry by entry; nothing relative to nothing is nothing."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = np.where(values == 0.0, 0.0, values / sizes)
    return float(np.nan_to_num(ratios, nan=np.inf, posinf=np.inf).max(initial=0.0))


def missed_rows(constraint: Constraint, coef: Float) -> Float:
    """By how much each row may be off the best fit, rounding of its terms included."""
    X, y = constraint.X, constraint.y
    rounding = ROUNDING_UNITS * EPS * (np.abs(X) @ np.abs(coef) + np.abs(y))
    return np.asarray(np.abs(constraint.fit - X @ coef) + rounding + constraint.fit_error)


def certify_mirror_limits(
    constraint: Constraint, mirror: MirrorMap, coefs: Float, clocks: Float
) -> list[Certificate]:
    """Check of each row of `coefs` that it minimises `Σ Q_i(β_i)` among the best fits of the data.

    The conditions, with `ξ = Q'(β)` the mirror coordinates:

    - feasibility and missed targets, or the normal equations: `fit_residuals`;
    - stationarity: `β = Ψ(ξ)` with ξ in the row space of X, as computed from a few entries of ξ
      that determine ν; relative to what each coefficient contributes to the rows. Next to a pole
      of the map, where float64 does not resolve Ψ, instead `Q'(β) = ξ` up to rounding;
    - duality gap: `Σ (Q_i(β_i) + Ψ̂_i(ξ_i) − β_iξ_i) = 0` (Fenchel–Young), relative to the sum of
      the moduli of the terms; for maps with poles its first-order form `Σ |β_i (Q_i'(β_i) − ξ_i)|`;
    - error bound: what the residuals and rounding leave open of the coefficients.

    The map may be one for all rows or have one scale for each (`MirrorMap.across`).
    """
    start = np.broadcast_to(mirror.start_coefs(), coefs.shape)
    # Where every target is zero, the potential at the start is all that gives a size.
    size = 0.0
    if not constraint.fit.any():
        size = float(np.abs(mirror.evaluate(np.zeros_like(clocks)).conjugates).sum())
    answers = _curve_answers if isinstance(mirror, CurveMap) else _closed_answers
    found = answers(constraint, mirror, coefs, clocks)
    errors = [found.coef_errors(k) for k in range(len(coefs))]
    return [
        Certificate(
            {
                **fit_residuals(constraint, coef, start[k]),
                "stationarity": found.stationarity(k),
                "duality gap": relative(
                    float(found.lost[k].sum()), float(found.terms[k].sum()) + size
                ),
                ERROR_BOUND: _most(weights_of(constraint, coef), errors[k]),
            },
            coef_errors=errors[k],
        )
        for k, coef in enumerate(coefs)
    ]


def _most(weights: Float, errors: Float) -> float:
    """What the worst of these errors contributes."""
    with np.errstate(invalid="ignore", over="ignore"):
        parts = np.where(errors == 0.0, 0.0, weights * errors)
    return float(np.nan_to_num(parts, nan=np.inf, posinf=np.inf).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class _Answers:
    """What the certificate needs of each answer, one row each, in the units of the constraint.

    Attributes
    ----------
    strayed
        `|β − Ψ(ξ)|`, rounding of ξ apart.
    noise
        Rounding of ξ.
    gaps
        `|Q'(β) − ξ|` relative to what ξ is added up from.
    blurred
        Coefficients that ξ does not resolve.
    """

    constraint: Constraint
    coefs: Float
    slopes: Float
    strayed: Float
    noise: Float
    lost: Float
    terms: Float
    blurred: NDArray[np.bool_]
    gaps: Float

    def stationarity(self, k: int) -> float:
        """The worst coefficient, by what it contributes, or by its mirror coordinate."""
        parts = self._weights(k)
        with np.errstate(invalid="ignore", over="ignore"):
            gap = np.where(self.strayed[k] == 0.0, 0.0, parts * self.strayed[k])
        gap = np.fmin(gap, CLOCK_WEIGHT * self.gaps[k])
        gap = np.where(self.constraint.seen, gap, 0.0)
        return float(np.nan_to_num(gap, nan=np.inf, posinf=np.inf).max(initial=0.0))

    def coef_errors(self, k: int) -> Float:
        """A bound on the error of every coefficient."""
        constraint, units = self.constraint, self.constraint.units
        coef = self.coefs[k]
        missed = missed_rows(constraint, coef)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            slopes = self.slopes[k] / units**2
            noise = self.noise[k] * units
            everywhere = self.strayed[k] / units + np.where(noise > 0, slopes * noise, 0.0)
            everywhere = np.where(constraint.seen, everywhere, 0.0)
            strayed = np.where(self.blurred[k], 0.0, everywhere)
            if not np.isfinite(strayed).all():
                return np.full_like(coef, np.inf)
            # A direction that nothing active fixes is fixed by whoever becomes active: rounding
            # then shows as if every mirror coordinate could still run its whole range.
            size = float(np.abs(coef / units)[constraint.seen].max(initial=0.0))
            reach = float(noise.max(initial=0.0)) / (ROUNDING_UNITS * EPS)
            floor = EPS * size / reach if reach > 0 else 0.0
            slopes = np.minimum(slopes, LARGEST)
            slopes = np.where(constraint.seen, np.maximum(slopes, max(floor, TINY)), 0.0)
            weights = self._weights(k) * units
            # The more coefficients are left to the fit, the less rounding of the mirror coordinates
            # matters, as long as the fit determines them: each choice gives a bound.
            allowed = allowed_errors(weights)
            found = [
                error_bounds(constraint, slopes, missed, strayed, left, noise, allowed)
                for left in _left_to_the_fit(self.blurred[k], weights * strayed)
            ]
            if np.isfinite(everywhere).all():
                none, any_ = np.zeros_like(self.blurred[k]), np.full_like(allowed, np.inf)
                found += [error_bounds(constraint, slopes, missed, everywhere, none, noise, any_)]
        best: Float = min(found, key=lambda bounds: _most(weights, bounds))
        return best * units

    def _weights(self, k: int) -> Float:
        return weights_of(self.constraint, self.coefs[k])


def allowed_errors(weights: Float) -> Float:
    """Errors of coefficients that contribute what a certificate tolerates."""
    unlimited = np.full_like(weights, np.inf)
    return np.divide(CERTIFICATE_TOLERANCE, weights, out=unlimited, where=weights > 0)


def _left_to_the_fit(blurred: NDArray[np.bool_], strayed: Float) -> Iterator[NDArray[np.bool_]]:
    """The coefficients that mirror coordinates do not resolve; and others that they blur."""
    yield blurred
    for share in (1e-3, 1e-6):
        others = blurred | (strayed > share * CERTIFICATE_TOLERANCE)
        if (others != blurred).any():
            yield others


# Square roots of these, and their products with entries near one, are normal numbers.
TINY, LARGEST = 1e-290, 1e290


def weights_of(constraint: Constraint, coef: Float) -> Float:
    """What one unit of each coefficient contributes, relative; to the start's sizes if y is 0."""
    if not constraint.fit.any() and not coef.any():
        return np.zeros_like(coef)
    return contributions(constraint.X, constraint.y, coef)


def _closed_answers(
    constraint: Constraint, mirror: MirrorMap, coefs: Float, clocks: Float
) -> _Answers:
    projected, sums = in_row_space(constraint, clocks)
    point, conjugates = mirror.evaluate(projected), mirror.evaluate(clocks).conjugates
    primal, pairing = mirror.potential(coefs), coefs * clocks
    noise = ROUNDING_UNITS * EPS * sums
    with np.errstate(all="ignore"):
        reached = mirror.clocks(coefs)
    return _Answers(
        constraint,
        coefs,
        slopes=point.slopes,
        strayed=np.abs(coefs - point.coefs),
        noise=noise,
        lost=np.abs(primal + conjugates - pairing),
        terms=np.abs(primal) + np.abs(conjugates) + np.abs(pairing),
        blurred=_blurred(constraint, coefs, point.slopes, noise),
        gaps=_gaps(reached, projected, sums),
    )


def _curve_answers(
    constraint: Constraint, mirror: MirrorMap, coefs: Float, clocks: Float
) -> _Answers:
    assert isinstance(mirror, CurveMap)
    reached, primal, slopes = mirror.clocks_potential_and_slopes(coefs)
    projected, sums = in_row_space(constraint, clocks)
    noise = ROUNDING_UNITS * EPS * sums
    # What float64 holds as zero may have no clock; beside a pole clocks are near its largest.
    with np.errstate(all="ignore"):
        # Coefficients as near to their poles as rounding, though small, may be active too.
        below, above = mirror.poles
        at = projected / mirror.clock_unit
        near = np.minimum(above - at, at - below) <= noise / mirror.clock_unit
        blurred = _blurred(constraint, coefs, slopes, noise) | (near & constraint.seen)
        strayed = np.abs(coefs - mirror.coefs(projected))
        by_clock = slopes * np.abs(reached - projected)
        strayed = np.fmin(strayed, np.where(np.isfinite(by_clock), by_clock, np.inf))
        lost = np.where(coefs == 0, 0.0, np.abs(coefs * (reached - clocks)))
        terms = np.abs(coefs * clocks) + np.abs(primal)
    return _Answers(
        constraint,
        coefs,
        slopes=np.nan_to_num(slopes, nan=0.0, posinf=0.0),
        strayed=np.nan_to_num(strayed, nan=np.inf, posinf=np.inf),
        noise=noise,
        lost=lost,
        terms=terms,
        blurred=blurred,
        gaps=_gaps(reached, projected, sums),
    )


def _blurred(
    constraint: Constraint, coefs: Float, slopes: Float, noise: Float
) -> NDArray[np.bool_]:
    """Coefficients that rounding of ξ moves by more than a certificate allows."""
    with np.errstate(all="ignore"):
        moved = np.stack([weights_of(constraint, coef) for coef in coefs]) * slopes * noise
    return np.asarray((moved > CERTIFICATE_TOLERANCE) & constraint.seen)


def _gaps(reached: Float, projected: Float, sums: Float) -> Float:
    """`|Q'(β) − ξ|` relative to what ξ is added up from."""
    with np.errstate(all="ignore"):
        gaps = np.where(reached == projected, 0.0, np.abs(reached - projected) / sums)
    return np.nan_to_num(gaps, nan=np.inf, posinf=np.inf)


def in_row_space(
    constraint: Constraint, clocks: Float, terms: Float | float = 0.0
) -> tuple[Float, Float]:
    """Mirror coordinates in the row space of X that agree with these, and what they add up from.

    As many columns as X has rank determine ν: those with the smallest mirror coordinates (greedily,
    by pivoted QR of the columns divided by them), so that no term of the sums exceeds, but for the
    moderate factors of pivoting, the sum itself. `terms` are the sizes of what the given ones were
    added up from, where that is more than themselves.
    """
    rows, units = constraint.rows, constraint.units
    inside, sums = np.zeros_like(clocks), np.zeros_like(clocks)
    for k, given in enumerate(clocks * units):
        sizes = np.maximum(np.abs(given), terms * units)
        largest = float(sizes.max(initial=0.0))
        if not 0.0 < largest < np.inf or not len(rows):
            inside[k] = np.where(np.isfinite(given), 0.0, np.nan)
            continue
        sizes = np.maximum(sizes, SMALLEST_CLOCK * largest)
        inside[k], sums[k] = _from_few(constraint, given, sizes)
    return inside / units, sums / units


def _from_few(constraint: Constraint, given: Float, sizes: Float) -> tuple[Float, Float]:
    """The same of one row of mirror coordinates, in the units of the constraint.

    By combining the chosen entries, or as `Xᵀν`, whichever adds up from less: orthonormal rows have
    lost what is far below one in X, and ν may be large where rows of X are nearly dependent.
    """
    rows = constraint.rows
    basis, triangle, order = qr(rows / sizes, mode="economic", pivoting=True, check_finite=False)
    rank = len(rows)
    chosen, square = order[:rank], triangle[:, :rank]
    if not np.diag(square).all():
        return np.full_like(given, np.nan), np.zeros_like(given)
    parts = np.empty_like(rows)
    parts[:, order] = solve_triangular(square, triangle, check_finite=False)
    parts *= sizes / sizes[chosen, None]
    few = given[chosen]
    inside, sums = few @ parts, np.abs(few) @ np.abs(parts)
    inverse = solve_triangular(square, np.eye(rank), check_finite=False)
    gains = np.linalg.norm(inverse, axis=1) / sizes[chosen]
    sums = sums + float(np.abs(few) @ gains) * np.linalg.norm(rows, axis=0)
    columns = constraint.X * constraint.units
    dual, missing = np.zeros(len(columns)), few
    for _ in range(DUAL_STEPS):
        dual = dual + constraint.sample_dual(basis @ (inverse.T @ (missing / sizes[chosen])))
        missing = few - columns[:, chosen].T @ dual
    left = np.abs(missing) @ np.abs(parts) / EPS
    added, terms = columns.T @ dual, np.abs(columns).T @ np.abs(dual) + left
    inside, sums = np.where(terms < sums, added, inside), np.minimum(terms, sums)
    inside[chosen], sums[chosen] = few, np.abs(few)
    return inside, sums


def certify_weighted_least_norm(constraint: Constraint, slopes: Float, coef: Float) -> Certificate:
    """Check that `coef` minimises `½ Σ β_i²/D_i` among the best fits.

    Feasibility and missed targets, or the normal equations; stationarity: `β/D` in the row
    space of X, relative to what is added up; error bound.
    """
    clocks = np.divide(coef, slopes, out=np.zeros_like(coef), where=slopes > 0)
    inside, sums = (row[0] for row in in_row_space(constraint, clocks[None]))
    off = np.where(slopes > 0, np.abs(clocks - inside), np.abs(coef))
    return Certificate(
        {
            **fit_residuals(constraint, coef),
            "stationarity": _worst(off, np.abs(clocks) + sums),
            ERROR_BOUND: error_of_least_norm(constraint, slopes, coef),
        }
    )


def error_of_least_norm(constraint: Constraint, slopes: Float, coef: Float) -> float:
    """A bound on the error of `argmin ½ Σ β_i²/D_i`, in what coefficients contribute.

    `β = DXᵀν` is linear: nothing of second order is left out.
    """
    units, seen, worst = constraint.units, constraint.seen, 0.0
    scaled = np.where(seen, np.maximum(slopes / units**2, TINY), 0.0)
    clocks = np.divide(coef.T, slopes, out=np.zeros(coef.T.shape), where=slopes > 0)
    inside, sums = in_row_space(constraint, np.atleast_2d(clocks))
    outputs = [(coef, constraint)]
    if coef.ndim == 2:
        outputs = [(coef[:, k], constraint.output(k)) for k in range(coef.shape[1])]
    for k, (one, single) in enumerate(outputs):
        noise = ROUNDING_UNITS * EPS * sums[k]
        off = slopes * noise + np.abs(one - slopes * inside[k])
        weights = weights_of(single, one) * units
        blurred = seen & (weights * off / units > CERTIFICATE_TOLERANCE)
        missed = missed_rows(single, one)
        strayed = np.where(seen & ~blurred, off / units, 0.0)
        bounds = error_bounds(
            single, scaled, missed, strayed, blurred, noise * units, allowed_errors(weights)
        )
        worst = max(worst, float(np.nan_to_num(weights * bounds, nan=np.inf).max(initial=0.0)))
    return worst


def relative(value: float, scale: float) -> float:
    """`value/scale`, where nothing relative to nothing is nothing; infinite if it overflows."""
    if value == 0.0:
        return 0.0
    return value / scale if scale > 0.0 and np.isfinite(value) else np.inf
