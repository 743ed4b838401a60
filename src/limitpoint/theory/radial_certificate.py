"""The certificate of a limit under a radial map."""

import numpy as np

from limitpoint.arrays import Float
from limitpoint.mirror import RadialMap
from limitpoint.tasks import Regression
from limitpoint.theory.certificate import Certificate, fit_residuals, relative, row_space

__all__ = ["certify_radial_limit"]


def certify_radial_limit(
    task: Regression, radial: RadialMap, coef: Float, clocks: Float, in_range: bool
) -> Certificate:
    """Check that `coef` minimises `V(β) = Φ*(β) − βᵀz(0)` among the best fits of the data.

    The conditions, with z the inverse of the map at β and ξ the clocks:

    - feasibility or the normal equations, as for every limit;
    - stationarity: `z − z(0) = ξ` with ξ projected onto the row space of X, relative to
      `‖z‖ + ‖z(0)‖`;
    - duality gap: `Φ*(β) + Φ(z(0) + ξ) − βᵀ(z(0) + ξ) = 0`, relative to the sum of the terms.
    """
    basis = row_space(task.X)
    reached = radial.start + basis @ (basis.T @ clocks)
    z = radial.inverse(coef)
    size = float(np.linalg.norm(z) + np.linalg.norm(radial.start))
    gap = float(np.linalg.norm(z - reached))
    conjugate = radial.conjugate(float(reached @ reached))
    primal = float(coef @ z) - radial.conjugate(float(z @ z))
    pairing = float(coef @ reached)
    return Certificate(
        {
            **fit_residuals(task, task.X, coef, np.zeros_like(coef), in_range),
            "stationarity": relative(gap, size),
            "duality gap": relative(
                abs(primal + conjugate - pairing), abs(primal) + abs(conjugate) + abs(pairing)
            ),
        }
    )
