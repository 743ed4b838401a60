"""The certificate of a max-margin direction: primal and dual feasibility, gap, stationarity.

Computed from the coefficients and the multipliers by another way to the norm than the solver's
(for a convolution, the Fourier transform of all n complex entries); nothing is taken over.
"""

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.linalg import EPS, equilibrate
from limitpoint.tasks import Classification
from limitpoint.theory.certificates.certificate import (
    ERROR_BOUND,
    MISSED,
    PROMISED,
    Certificate,
    relative,
)
from limitpoint.theory.solvers.margin.margin_spaces import MarginSpace
from limitpoint.theory.solvers.margin.sums_of_products import sums_of_products

__all__ = ["certify_margins", "hides_margins"]


def certify_margins(
    task: Classification,
    space: MarginSpace,
    coef: Float,
    coordinates: Float,
    multipliers: Float,
    corrections: Float | None = None,
    errors: Float | None = None,
) -> Certificate:
    """Check that `coef` minimises the norm of the space among all with margins at least 1.

    The multipliers μ are `multipliers + corrections`. With the mirror coordinates `ξ = Xᵀ(y⊙μ)` and
    the parts z_g of the coefficients and ξ_g of the mirror coordinates, each sample, feature and
    part by itself:

    - margins: what a margin lacks of 1, relative to 1 and the moduli that are added up in it;
    - missed targets: what a margin lacks of 1, and what it has above 1 if its sample has a share
      in any mirror coordinate (or that share, if it is less);
    - multipliers: how negative one is, in its share of any mirror coordinate;
    - complementarity: the share of a multiplier in any mirror coordinate or the excess of that
      margin over 1, whichever is less, this one relative to the moduli that are added up in it;
    - dual feasibility: what a ‖ξ_g‖ has above 1;
    - stationarity: `‖z_g‖ξ_g = z_g`, relative to ‖z_g‖, up to the rounding of z_g; or what z_g
      contributes to any margin, if that is less;
    - duality gap: `Σ‖z_g‖ − Σμ_i`, relative to `Σ‖z_g‖`;
    - error bound: `max_j Σ_i |x_ji Δβ_i| / (|x_j|ᵀ|β| + 1)`, where `errors` are bounds on |Δβ|.
    """
    margins, sizes = task.margins(coef), 1.0 + np.abs(task.X) @ np.abs(coef)
    shares = _shares(task, multipliers)
    low = np.zeros_like(multipliers) if corrections is None else corrections
    primal = space.primal_parts(coef, coordinates)
    dual = space.dual_parts(_mirror_coords(task, multipliers, low))
    norms = np.linalg.norm(primal, axis=1)
    off = np.linalg.norm(norms[:, None] * dual - primal, axis=1) - space.parts_rounding(coef)
    used = norms > 0
    off[used] = np.minimum(off[used] / norms[used], _contributions(task, space, norms)[used])
    norm = float(norms.sum())
    residuals = {
        "margins": max(0.0, float(((1.0 - margins) / sizes).max())),
        MISSED: max(0.0, float(np.maximum(1.0 - margins, np.minimum(shares, margins - 1.0)).max())),
        "multipliers": float(shares[multipliers < 0].max(initial=0.0)),
        "complementarity": max(0.0, float(np.minimum(shares, (margins - 1.0) / sizes).max())),
        "dual feasibility": max(0.0, float(np.linalg.norm(dual, axis=1).max()) - 1.0),
        "stationarity": float(off.max(initial=0.0, where=used)),
        "duality gap": relative(abs(norm - float(multipliers.sum())), norm),
    }
    if errors is not None:
        with np.errstate(invalid="ignore"):
            bounds = (np.abs(task.X) @ (errors + EPS * np.abs(coef))) / sizes
        residuals[ERROR_BOUND] = float(np.nan_to_num(bounds, nan=np.inf).max())
    return Certificate(residuals)


def hides_margins(task: Classification, coef: Float) -> bool:
    """Whether float64 rounds a margin of these coefficients, where it is near 1, by too much.

    The coefficients as float64 holds them have a margin up to eps times the moduli that are added
    up in it, and so has every partial sum.
    """
    rounding = len(coef) * EPS * (np.abs(task.X) @ np.abs(coef))
    allowed = PROMISED[ERROR_BOUND]
    return bool(((rounding > allowed) & (task.margins(coef) - 1.0 <= rounding / allowed)).any())


def _contributions(task: Classification, space: MarginSpace, norms: Float) -> Float:
    """What each part contributes to the margin to which it contributes most, a share."""
    terms = norms * [np.linalg.norm(space.dual_parts(row), axis=1) for row in task.signed]
    return np.asarray((terms / (1.0 + terms.sum(axis=1, keepdims=True))).max(axis=0))


def _shares(task: Classification, multipliers: Float) -> Float:
    """What each sample contributes to the ξ of the feature to which it contributes most."""
    terms = np.abs(multipliers)[:, None] * np.abs(task.X)
    totals = terms.sum(axis=0)
    return np.asarray((terms / np.where(totals > 0, totals, 1.0)).max(axis=1))


def _mirror_coords(task: Classification, multipliers: Float, corrections: Float) -> Float:
    """`Xᵀ(y⊙μ)`, rounded once, in units in which nothing overflows."""
    by_row, by_column = equilibrate(task.X)
    rows = by_row[:, None] * task.signed * by_column
    nothing = np.zeros(rows.shape[1])
    xi = sums_of_products(rows, multipliers / by_row, corrections / by_row, nothing)
    return xi / by_column
