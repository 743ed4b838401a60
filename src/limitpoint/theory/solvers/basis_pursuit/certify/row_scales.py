"""What the residual of a row is compared with.

Its target; where that is 0, what the row adds up at the smallest solution, ``|xⱼ|ᵀ|β|`` with β the
solution of least norm in units in which all rows and columns are alike: the size of the terms that
have to cancel there, whatever the answer that is being judged.
"""

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsmr

from limitpoint.foundation.arrays import Float
from limitpoint.theory.solvers.basis_pursuit.data_matrix import Design

# The scale of a row need not be known better than this.
ACCURACY = 1e-3
ITERATIONS = 100
# Rows of a matrix-free X are added up with this many random signs: 1/sqrt(2·8), within 25 %.
PROBES = 8


def row_scales(design: Design, y: Float) -> Float:
    """Return ``|yⱼ|``, or ``|xⱼ|ᵀ|β|`` where that is 0; all 0 for y = 0.

    Examples
    --------
    >>> from limitpoint.theory.solvers.basis_pursuit.data_matrix import as_design
    >>> row_scales(as_design([[1.0, 1.0], [1.0, -1.0]]), np.array([3.0, 0.0])).round(3)
    array([3., 3.])
    """
    scales = np.abs(y)
    empty = scales == 0
    if empty.any() and not empty.all():
        scales[empty] = _least_norm_sizes(design, y)[empty]
    return scales


def _least_norm_sizes(design: Design, y: Float) -> Float:
    """``|X||β|`` of the smallest solution in equilibrated units, roughly."""
    columns = 1.0 / np.where(design.norms > 0, design.norms, 1.0)
    rows = np.ones(len(y)) if design.moduli is None else design.moduli.matvec(columns)
    rows = 1.0 / np.where(rows > 0, rows, 1.0)
    even = LinearOperator(
        design.shape,
        matvec=lambda v: rows * design.matvec(columns * np.ravel(v)),
        rmatvec=lambda v: columns * design.rmatvec(rows * np.ravel(v)),
        dtype=np.float64,
    )
    found = lsmr(even, rows * y, atol=ACCURACY, btol=ACCURACY, maxiter=ITERATIONS)[0]
    found = columns * np.abs(found)
    if design.moduli is not None:
        return design.moduli.matvec(found)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (PROBES, len(found)))
    squares = np.mean([design.matvec(found * sign) ** 2 for sign in signs], axis=0)
    return np.asarray(np.sqrt(squares))
