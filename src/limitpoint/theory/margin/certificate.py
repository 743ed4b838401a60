"""The certificate of a max-margin direction: primal and dual feasibility, gap, stationarity.

Computed from the coefficients and the multipliers by another way to the norm than the solver's
(for a convolution, the Fourier transform of all n complex entries); nothing is taken over.
"""

import numpy as np

from limitpoint.arrays import Float
from limitpoint.tasks import Classification
from limitpoint.theory.certificate import Certificate, relative
from limitpoint.theory.margin.spaces import MarginSpace

__all__ = ["certify_margins"]


def certify_margins(
    task: Classification, space: MarginSpace, coef: Float, coordinates: Float, multipliers: Float
) -> Certificate:
    """Check that `coef` minimises the norm of the space among all with margins at least 1.

    With the clocks `ξ = Xᵀ(y⊙μ)` and the parts z_g of the coefficients and ξ_g of the clocks:

    - margins: what a margin lacks of 1, relative to 1 and the moduli that are added up in it;
    - multipliers: how negative one is, relative to the largest;
    - dual feasibility: what the largest ‖ξ_g‖ has above 1;
    - stationarity: `‖z_g‖ξ_g = z_g` for all g, relative to the largest ‖z_g‖;
    - duality gap: `Σ‖z_g‖ − Σμ_i`, relative to `Σ‖z_g‖`.
    """
    lacking = 1.0 - task.margins(coef)
    lacking /= 1.0 + np.abs(task.X) @ np.abs(coef)
    primal = space.primal_parts(coef, coordinates)
    dual = space.dual_parts(multipliers @ task.signed)
    sizes = np.linalg.norm(primal, axis=1)
    off = np.linalg.norm(sizes[:, None] * dual - primal, axis=1)
    norm = float(sizes.sum())
    largest = float(np.abs(multipliers).max())
    return Certificate(
        {
            "margins": max(0.0, float(lacking.max())),
            "multipliers": relative(max(0.0, -float(multipliers.min())), largest),
            "dual feasibility": max(0.0, float(np.linalg.norm(dual, axis=1).max()) - 1.0),
            "stationarity": relative(float(off.max()), float(sizes.max())),
            "duality gap": relative(abs(norm - float(multipliers.sum())), norm),
        }
    )
