"""The certificate of the limit of coefficients that move on curves of their own."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.linalg import EPS
from limitpoint.mirror import CurveMap, MirrorMap
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

__all__ = ["certify_mirror_limits"]

# Next to a pole a coefficient is compared by its mirror coordinate, which must agree to 1e-13, a
# few hundred roundings, of what it is added up from: so much of that counts as the tolerance 1e-9.
MIRROR_WEIGHT = 1e4
# Square roots of these, and their products with entries near one, are normal numbers.
TINY, LARGEST = 1e-290, 1e290


def certify_mirror_limits(
    constraint: Constraint, mirror: MirrorMap, coefs: Float, xi: Float
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
        size = float(np.abs(mirror.evaluate(np.zeros_like(xi)).conjugates).sum())
    answers = _curve_answers if isinstance(mirror, CurveMap) else _closed_answers
    found = answers(constraint, mirror, coefs, xi)
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
    rounding
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
    rounding: Float
    lost: Float
    terms: Float
    blurred: NDArray[np.bool_]
    gaps: Float

    def stationarity(self, k: int) -> float:
        """The worst coefficient, by what it contributes, or by its mirror coordinate."""
        parts = self._weights(k)
        with np.errstate(invalid="ignore", over="ignore"):
            gap = np.where(self.strayed[k] == 0.0, 0.0, parts * self.strayed[k])
        gap = np.fmin(gap, MIRROR_WEIGHT * self.gaps[k])
        gap = np.where(self.constraint.seen, gap, 0.0)
        return float(np.nan_to_num(gap, nan=np.inf, posinf=np.inf).max(initial=0.0))

    def coef_errors(self, k: int) -> Float:
        """A bound on the error of every coefficient."""
        constraint, units = self.constraint, self.constraint.units
        coef = self.coefs[k]
        missed = missed_rows(constraint, coef)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            slopes = self.slopes[k] / units**2
            rounding = self.rounding[k] * units
            everywhere = self.strayed[k] / units + np.where(rounding > 0, slopes * rounding, 0.0)
            everywhere = np.where(constraint.seen, everywhere, 0.0)
            strayed = np.where(self.blurred[k], 0.0, everywhere)
            if not np.isfinite(strayed).all():
                return np.full_like(coef, np.inf)
            # A direction that nothing active fixes is fixed by whoever becomes active: rounding
            # then shows as if every mirror coordinate could still run its whole range.
            size = float(np.abs(coef / units)[constraint.seen].max(initial=0.0))
            # In the unit of the largest rounding of them, whatever their own.
            unit = float(rounding.max(initial=0.0)) or 1.0
            rounding, slopes = rounding / unit, slopes * unit
            floor = EPS * size * ROUNDING_UNITS * EPS if rounding.any() else 0.0
            slopes = np.minimum(slopes, LARGEST)
            slopes = np.where(constraint.seen, np.maximum(slopes, max(floor, TINY)), 0.0)
            weights = self._weights(k) * units
            # The more coefficients are left to the fit, the less rounding of the mirror coordinates
            # matters, as long as the fit determines them: each choice gives a bound.
            found = [
                self._bounds_left_to(left, k, slopes, missed, strayed, everywhere, rounding)
                for left in _left_to_the_fit(self.blurred[k], weights * strayed)
            ]
            if np.isfinite(everywhere).all():
                none, any_ = np.zeros_like(self.blurred[k]), np.full_like(weights, np.inf)
                found += [
                    error_bounds(constraint, slopes, missed, everywhere, none, rounding, any_)[0]
                ]
        best: Float = min(found, key=lambda bounds: _most(weights, bounds))
        return best * units + _own_rounding(coef)

    def _bounds_left_to(
        self,
        left: NDArray[np.bool_],
        k: int,
        slopes: Float,
        missed: Float,
        strayed: Float,
        everywhere: Float,
        rounding: Float,
    ) -> Float:
        """With some coefficients left to the fit, of which not all are blurred.

        Of a blurred one `Δb/D` is less than rounding of its mirror coordinate. That of another is
        off by `(Δb − e)/D` as well, for which a bound on Δb is needed first: one that it keeps
        within twice its size is one.
        """
        units = self.constraint.units
        allowed = allowed_errors(self._weights(k) * units)
        data = self.constraint
        first, fixed = error_bounds(data, slopes, missed, strayed, left, rounding, allowed)
        chosen = fixed & ~self.blurred[k]
        if not chosen.any():
            return first
        own = (everywhere + 2.0 * first) / np.maximum(slopes, TINY)
        deltas = np.where(self.blurred[k], rounding, rounding + own)
        found, fixed = error_bounds(data, slopes, missed, strayed, left, deltas, allowed)
        kept = found <= 2.0 * first
        return found if kept[fixed & ~self.blurred[k]].all() else np.full_like(found, np.inf)

    def _weights(self, k: int) -> Float:
        return weights_of(self.constraint, self.coefs[k])


def _own_rounding(coef: Float) -> Float:
    """What rounding leaves open of a coefficient `±e^l` itself: some units of 1 + |l|, as of l."""
    size = np.abs(coef)
    logs = np.log(np.where(size > 0, size, 1.0))
    found: Float = ROUNDING_UNITS * EPS * (1.0 + np.abs(logs)) * size
    return found


def _left_to_the_fit(blurred: NDArray[np.bool_], strayed: Float) -> Iterator[NDArray[np.bool_]]:
    """The coefficients that mirror coordinates do not resolve; and others that they blur."""
    yield blurred
    for share in (1e-3, 1e-6):
        others = blurred | (strayed > share * CERTIFICATE_TOLERANCE)
        if (others != blurred).any():
            yield others


def _closed_answers(constraint: Constraint, mirror: MirrorMap, coefs: Float, xi: Float) -> _Answers:
    projected, sums = in_row_space(constraint, xi)
    point, conjugates = mirror.evaluate(projected), mirror.evaluate(xi).conjugates
    primal, pairing = mirror.potential(coefs), coefs * xi
    rounding = ROUNDING_UNITS * EPS * sums
    with np.errstate(all="ignore"):
        reached = mirror.mirror_coords(coefs)
    return _Answers(
        constraint,
        coefs,
        slopes=point.slopes,
        strayed=np.abs(coefs - point.coefs),
        rounding=rounding,
        lost=np.abs(primal + conjugates - pairing),
        terms=np.abs(primal) + np.abs(conjugates) + np.abs(pairing),
        blurred=_blurred(constraint, coefs, point.slopes, rounding),
        gaps=_gaps(reached, projected, sums),
    )


def _curve_answers(constraint: Constraint, mirror: MirrorMap, coefs: Float, xi: Float) -> _Answers:
    assert isinstance(mirror, CurveMap)
    reached, primal, slopes = mirror.mirror_potential_and_slopes(coefs)
    projected, sums = in_row_space(constraint, xi)
    rounding = ROUNDING_UNITS * EPS * sums
    # What float64 holds as zero may have no mirror coordinate; beside a pole mirror coordinates are
    # near its largest.
    with np.errstate(all="ignore"):
        # Coefficients as near to their poles as rounding, though small, may be active too.
        below, above = mirror.poles
        at = projected / mirror.mirror_unit
        near = np.minimum(above - at, at - below) <= rounding / mirror.mirror_unit
        blurred = _blurred(constraint, coefs, slopes, rounding) | (near & constraint.seen)
        strayed = np.abs(coefs - mirror.coefs(projected))
        by_mirror = slopes * np.abs(reached - projected)
        strayed = np.fmin(strayed, np.where(np.isfinite(by_mirror), by_mirror, np.inf))
        lost = np.where(coefs == 0, 0.0, np.abs(coefs * (reached - xi)))
        terms = np.abs(coefs * xi) + np.abs(primal)
    return _Answers(
        constraint,
        coefs,
        slopes=np.nan_to_num(slopes, nan=0.0, posinf=0.0),
        strayed=np.nan_to_num(strayed, nan=np.inf, posinf=np.inf),
        rounding=rounding,
        lost=lost,
        terms=terms,
        blurred=blurred,
        gaps=_gaps(reached, projected, sums),
    )


def _blurred(
    constraint: Constraint, coefs: Float, slopes: Float, rounding: Float
) -> NDArray[np.bool_]:
    """Coefficients that rounding of ξ moves by more than a certificate allows."""
    with np.errstate(all="ignore"):
        moved = np.stack([weights_of(constraint, coef) for coef in coefs]) * slopes * rounding
    return np.asarray((moved > CERTIFICATE_TOLERANCE) & constraint.seen)


def _gaps(reached: Float, projected: Float, sums: Float) -> Float:
    """`|Q'(β) − ξ|` relative to what ξ is added up from."""
    with np.errstate(all="ignore"):
        gaps = np.where(reached == projected, 0.0, np.abs(reached - projected) / sums)
    return np.nan_to_num(gaps, nan=np.inf, posinf=np.inf)
