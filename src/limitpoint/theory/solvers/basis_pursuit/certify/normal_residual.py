"""Whether a residual is that of a least-squares fit, judged row by row and column by column.

Rows in small units have their say only through what is left when the larger ones are fitted, and of
those a part remains that is far below their own rounding (see the module `graded_factor`). So the
residual is not taken from k, whose last bits would drown it, but made orthogonal to the columns
that move; that k belongs to it is the business of the error bound.
"""

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.theory.certificates.certificate import CERTIFICATE_TOLERANCE
from limitpoint.theory.solvers.basis_pursuit.column_factor import EPS
from limitpoint.theory.solvers.basis_pursuit.data_matrix import Design
from limitpoint.theory.solvers.basis_pursuit.graded_factor import RowwiseQR
from limitpoint.theory.solvers.basis_pursuit.penalty import WeightedL1

# Rounding of the terms that a row adds up, in EPS: theirs and that of their sum.
ROUNDING_UNITS = 4.0
# A slope above this fraction of its terms is no rounding error, and y may be fitted after all,
# however ill-conditioned the columns: counts as the tolerance of the certificate. (A thousand EPS:
# rank is decided against the rounding of the entries, whose errors add up over rows and columns.)
SLOPE_ROUNDING = 1e3 * EPS
# A row of the residual says something if it is this many times what rounding may have put there: a
# slope hidden by rounding is then below a millionth of the others. With a row's terms as large as
# its target, what is less than that counts as fitted (1e6 · 4 EPS = 1e-9).
RESOLVED = 1e6


def normal_residual(
    design: Design,
    k: Float,
    penalty: WeightedL1,
    factor: RowwiseQR,
    left: Float,
    sizes: Float,
    scales: Float,
) -> float:
    """Return the largest slope by which a column could still lower the loss, relative to rounding.

    ``|xᵢᵀr|`` over columns that may move downhill, relative to ``|xᵢ|ᵀ(|r| + |A⁺|ᵀ|A|ᵀ|r|)``: what
    rounding of the columns could make of it, without EPS. Of columns that have entries only in rows
    which are fitted, the rounding of those rows is taken off first. Infinite where rounding hides
    whether a row is fitted.

    ``left`` is ``y − Xk``, ``sizes`` what its rows add up, ``scales`` what they are compared with.
    """
    residual = factor.outside(left[:, None])[:, 0]
    turned, followed = factor.residual_rounding(residual, left, sizes)
    rounding = ROUNDING_UNITS * EPS * turned
    seen = np.abs(residual) > RESOLVED * rounding
    fitted = np.abs(residual) <= CERTIFICATE_TOLERANCE * scales
    if not (seen | fitted).all() or not seen.any():
        return float("inf")
    slopes = design.rmatvec(residual)
    can_move = np.where(slopes > 0, k < penalty.upper, k > penalty.lower)
    unseen = design.moduli_products(np.where(seen, residual, 0.0)) == 0
    allowed = np.where(unseen, design.moduli_products(rounding), 0.0)
    excess = (np.abs(slopes) - allowed).clip(min=0.0)
    ratios = np.zeros_like(excess)
    counts = can_move & (excess > 0)
    np.divide(excess, design.moduli_products(followed), out=ratios, where=counts)
    return float(ratios.max()) * (CERTIFICATE_TOLERANCE / SLOPE_ROUNDING)
