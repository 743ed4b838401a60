"""Certificates: the residuals of the optimality conditions a limit claims to fulfil.

They are computed from the answer (coefficients and clocks) and the data alone; nothing is taken
over from the solver. All residuals are relative to a stated scale and dimensionless.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.linalg import qr

from limitpoint.arrays import Float
from limitpoint.display import number, table, to_html, to_text
from limitpoint.mirror import CurveMap, MirrorMap
from limitpoint.tasks import Regression

__all__ = [
    "Certificate",
    "certify_mirror_limits",
    "certify_weighted_least_norm",
    "fit_residuals",
    "relative",
    "row_space",
]

EPS = float(np.finfo(np.float64).eps)

# Default accuracy of a certified answer, relative. Newton reaches about 1e-13 on well-conditioned
# data; four digits are left for data whose condition number is high.
CERTIFICATE_TOLERANCE = 1e-9
# Coefficients that end far below their start carry the start's rounding errors, some tens of eps:
# so much of the start, relative to the tolerance, counts as part of the size of the answer.
START_WEIGHT = 1e-5
# Next to a pole a coefficient is compared by its clock, which must agree to 1e-13, a few hundred
# roundings: so much of the largest clock counts as the tolerance 1e-9.
CLOCK_WEIGHT = 1e4
# What is rounded when a clock is added up, in units of the largest.
CLOCK_UNITS = 8.0
# A column takes part in a combination that vanishes if its share is more than rounding.
NULL_COMPONENT = 1e-8


@dataclass(frozen=True)
class Certificate:
    """Named residuals, each at most `tolerance` when the answer is right."""

    residuals: Mapping[str, float]
    tolerance: float = CERTIFICATE_TOLERANCE

    def __post_init__(self) -> None:
        object.__setattr__(self, "residuals", MappingProxyType(dict(self.residuals)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Certificate, (dict(self.residuals), self.tolerance)

    @property
    def ok(self) -> bool:
        """Whether every residual is a number no larger than the tolerance."""
        return all(value <= self.tolerance for value in self.residuals.values())

    @property
    def worst(self) -> float:
        """The largest residual; infinite if one is not a number."""
        return float(np.max(np.nan_to_num(list(self.residuals.values()), nan=np.inf)))

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values."""
        return {"ok": self.ok, "tolerance": self.tolerance, "residuals": dict(self.residuals)}

    def to_xarray(self) -> xr.Dataset:
        """As a labelled data set: one residual per condition."""
        return xr.Dataset(
            {"residual": ("condition", list(self.residuals.values()))},
            coords={"condition": list(self.residuals)},
            attrs={"tolerance": self.tolerance},
        )

    def __rich__(self) -> Any:
        rows = [
            (name, number(value), number(self.tolerance), "ok" if value <= self.tolerance else "NO")
            for name, value in self.residuals.items()
        ]
        return table("Certificate", ("condition", "residual", "tolerance", ""), rows)

    def __repr__(self) -> str:
        return to_text(self.__rich__())

    def _repr_html_(self) -> str:
        return to_html(repr(self))


def certify_mirror_limits(
    task: Regression,
    mirror: MirrorMap,
    coefs: Float,
    clocks: Float,
    in_range: bool,
    basis: Float | None = None,
) -> list[Certificate]:
    """Check of each row of `coefs` that it minimises `Σ Q_i(β_i)` among the best fits of the data.

    The conditions, with `ξ = Q'(β)` the clocks:

    - feasibility: `Xβ = y`, relative to `‖y‖ + ‖|X||β|‖`; or, when y is out of reach, the normal
      equations `Xᵀ(y − Xβ) = 0` on the columns that can move, relative to `‖X‖ (‖y‖ + ‖|X||β|‖)`;
    - stationarity: `β = Ψ(ξ)` with ξ projected onto the row space of X (where `ξ = Xᵀν` must
      lie), relative to the largest coefficient; next to a pole of the map, where float64 does not
      resolve Ψ, instead `Q'(β) = ξ` up to rounding, provided that the fit determines those
      coefficients, their columns being independent;
    - duality gap: `Σ (Q_i(β_i) + Ψ̂_i(ξ_i) − β_iξ_i) = 0` (Fenchel–Young), relative to the sum of
      the moduli of the terms; for maps with poles its first-order form `Σ |β_i (Q_i'(β_i) − ξ_i)|`.

    The map may be one for all rows or have one scale for each (`MirrorMap.across`). `basis` are
    orthonormal columns spanning the row space of X, if the caller has them already.
    """
    begun = np.abs(mirror.start_coefs())
    start = START_WEIGHT * begun
    movable = task.X * (mirror.lower < mirror.upper)
    allowed = start
    if isinstance(mirror, CurveMap):
        # Coefficients on a curve are polished after their positions are found: no allowance,
        # unless the data are as good as zero beside the start.
        visible = _norm(task.y) > EPS * _norms(begun @ np.abs(task.X).T)
        allowed = np.where(visible[..., None], 0.0, start)
    fit, misfits, sizes = _fits(task, movable, coefs, allowed, in_range)
    basis = row_space(movable) if basis is None else basis
    projected = (clocks @ basis) @ basis.T
    largest = _or_one((np.abs(coefs) + start).max(axis=-1, keepdims=True))
    if isinstance(mirror, CurveMap):
        reached, primal, slopes = mirror.clocks_potential_and_slopes(coefs)
        unit = _or_one(np.abs(clocks).max(axis=-1, keepdims=True))
        # What float64 holds as zero may have no clock; beside a pole clocks are near its largest.
        with np.errstate(invalid="ignore", over="ignore"):
            gap = CLOCK_WEIGHT * (np.abs(reached - projected) / unit)
            blurred = slopes * (EPS * np.abs(reached)) > CERTIFICATE_TOLERANCE * largest
            if blurred.any():
                # Others may be as near to their poles, though small: any clock within rounding will
                # do for them.
                below, above = mirror.poles
                at = projected / mirror.clock_unit
                room = np.minimum(above - at, at - below)
                nearest = np.where(blurred, room, -np.inf).max(axis=-1, keepdims=True)
                shift = CLOCK_UNITS * EPS * (unit / mirror.clock_unit)
                unseen = blurred | (room <= np.maximum(nearest, 0.0) + shift)
                unseen &= blurred.any(axis=-1, keepdims=True)
                gap = np.where(_undetermined(movable, unseen), np.inf, gap)
            if not (gap <= CERTIFICATE_TOLERANCE).all():
                gap = np.fmin(gap, np.abs(coefs - mirror.coefs(projected)) / largest)
            lost = np.where(coefs == 0, 0.0, np.abs(coefs * (reached - clocks)))
            terms = np.abs(coefs * clocks) + np.abs(primal)
    else:
        gap = np.abs(coefs - mirror.coefs(projected)) / largest
        primal, pairing = mirror.potential(coefs), coefs * clocks
        conjugate = mirror.evaluate(clocks).conjugates
        lost = np.abs(primal + conjugate - pairing)
        terms = np.abs(primal) + np.abs(conjugate) + np.abs(pairing)
    gaps = np.nan_to_num(gap, nan=np.inf).max(axis=-1)
    lost, terms = lost.sum(axis=-1), terms.sum(axis=-1)
    return [
        Certificate(
            {
                fit: relative(float(misfits[k]), float(sizes[k])),
                "stationarity": float(gaps[k]),
                "duality gap": relative(float(lost[k]), float(terms[k])),
            }
        )
        for k in range(len(coefs))
    ]


def certify_weighted_least_norm(
    task: Regression, slopes: Float, coef: Float, clocks: Float, in_range: bool
) -> Certificate:
    """Check that `coef` minimises `½ Σ β_i²/D_i` among the best fits.

    Feasibility and the normal equations as above; stationarity: `β = Dξ` with ξ projected onto the
    row space of X; duality gap: `½Σβ²/D + ½ΣDξ² − βᵀξ`, relative to the sum of the terms.
    """
    fit = fit_residuals(task, task.X * (slopes > 0), coef, np.zeros_like(coef), in_range)
    basis = row_space(task.X * (slopes > 0))
    gap = np.abs(coef - slopes * (basis @ (basis.T @ clocks)))
    weights = np.divide(1.0, slopes, out=np.zeros_like(slopes), where=slopes > 0)
    primal, conjugate = 0.5 * weights * coef**2, 0.5 * slopes * clocks**2
    lost, terms = np.abs(primal + conjugate - coef * clocks), primal + conjugate
    return Certificate(
        {
            **fit,
            "stationarity": relative(float(gap.max()), float(np.abs(coef).max())),
            "duality gap": relative(float(lost.sum()), float(terms.sum())),
        }
    )


def fit_residuals(
    task: Regression, movable: Float, coef: Float, start: Float, in_range: bool
) -> dict[str, float]:
    """Feasibility, or the normal equations on the columns that can move."""
    size = _norm(task.y) + _norm(np.abs(task.X) @ (np.abs(coef) + start))
    residual = task.y - task.X @ coef
    if in_range:
        return {"feasibility": relative(_norm(residual), size)}
    force, steepest = _norm(movable.T @ residual), float(np.linalg.norm(movable, 2))
    return {"normal equations": relative(force, steepest * size)}


def _fits(
    task: Regression, movable: Float, coefs: Float, start: Float, in_range: bool
) -> tuple[str, Float, Float]:
    """The same of each row: the name of the condition, the misfits, what they are relative to."""
    sizes = _norm(task.y) + _norms((np.abs(coefs) + start) @ np.abs(task.X).T)
    residuals = task.y - coefs @ task.X.T
    if in_range:
        return "feasibility", _norms(residuals), sizes
    steepest = float(np.linalg.norm(movable, 2))
    return "normal equations", _norms(residuals @ movable), steepest * sizes


def row_space(X: Float) -> Float:
    """Orthonormal columns spanning the row space of X, by pivoted QR."""
    basis, triangle, _ = qr(X.T, mode="economic", pivoting=True)
    pivots = np.abs(np.diag(triangle))
    rank = int((pivots > max(X.shape) * np.finfo(np.float64).eps * pivots[0]).sum())
    columns: Float = basis[:, :rank]
    return columns


def _norm(vector: Float) -> float:
    return float(np.linalg.norm(vector))


def _undetermined(X: Float, unseen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which of the coefficients that clocks do not resolve the fit leaves open, row by row.

    Those that some combination of dependent columns moves: equal columns from equal starts, say,
    of whose sum alone float64 can tell.
    """
    found: dict[bytes, NDArray[np.bool_]] = {}
    sizes = np.linalg.norm(X, axis=0)
    for row in unseen:
        key = row.tobytes()
        if key in found:
            continue
        found[key] = np.zeros_like(row)
        columns = np.flatnonzero(row & (sizes > 0))
        if len(columns):
            _, values, right = np.linalg.svd(X[:, columns] / sizes[columns])
            values = np.append(values, np.zeros(len(columns) - len(values)))
            free = right[values <= max(X.shape) * EPS * values[0]]
            found[key][columns] = (np.abs(free) > NULL_COMPONENT).any(axis=0)
    return np.stack([found[row.tobytes()] for row in unseen])


def _norms(rows: Float) -> Float:
    """Of each row; of a vector its own."""
    return np.asarray(np.linalg.norm(rows, axis=-1))


def _or_one(sizes: Float) -> Float:
    """One in place of zero."""
    return np.where(sizes == 0.0, 1.0, sizes)


def relative(value: float, scale: float) -> float:
    """`value/scale`, where nothing relative to nothing is nothing; infinite if it overflows."""
    if value == 0.0:
        return 0.0
    return value / scale if scale > 0.0 and np.isfinite(value) else np.inf
