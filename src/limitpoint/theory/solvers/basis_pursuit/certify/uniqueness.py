"""Whether other coefficients have the same fit and the same penalty."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.linalg import equilibrate
from limitpoint.theory.solvers.basis_pursuit.data_matrix import Design
from limitpoint.theory.solvers.basis_pursuit.graded_factor import RowwiseQR

# Columns whose combination is shorter than this, in units in which rows and columns are of order
# one, add up to zero: the projections are accurate to a few EPS, and non-negative least squares to
# about its square root of a sum of squares.
AMBIGUITY_TOL = 1e-10


def is_ambiguous(
    design: Design, columns: Float, factor: RowwiseQR, directions: NDArray[np.int8]
) -> bool:
    """Whether coefficients at rest could move, as ``directions`` allow, without changing the fit.

    That is, whether ``Σ wᵢdᵢ(xᵢ − proj xᵢ) = 0`` for some w ≥ 0, w ≠ 0, with dᵢ = ±1 the directions
    (2 stands for both) and the projection that on the ``columns`` that move, which make up for it.
    """
    loose = np.flatnonzero(directions)
    if not len(loose) or not factor.is_regular:
        return False
    if columns.shape[0] == columns.shape[1]:
        return True
    up = loose[directions[loose] > 0]
    down = loose[(directions[loose] < 0) | (directions[loose] == 2)]
    others = np.hstack([design.columns(up.tolist()), -design.columns(down.tolist())])
    rows, scales = equilibrate(np.hstack([columns, others]))
    outside = rows[:, None] * factor.outside(others) * scales[columns.shape[1] :]
    # The weights sum to 1 in the last row; the rest of the residual is then the sum above.
    system = np.vstack([outside, np.ones(outside.shape[1])])
    _, distance = nnls(system, np.append(np.zeros(len(outside)), 1.0))
    return bool(distance <= AMBIGUITY_TOL)
