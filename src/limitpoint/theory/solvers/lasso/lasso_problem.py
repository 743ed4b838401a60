"""The lasso: least squares with an ℓ1 penalty, coefficients of which may be held to one sign.

`min ½‖Xβ − y‖² + τ Σ|β_i|`, where β_i is positive only if it can rise and negative only if it can
fall. With `r = y − Xβ` the conditions of Karush, Kuhn and Tucker are `x_iᵀr ≤ τ` where β_i can
rise, `−x_iᵀr ≤ τ` where it can fall, and equality on the side where it is. They are sufficient; Xβ
and r are unique, β is where the columns in equality are independent.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float

__all__ = ["Lasso"]


@dataclass(frozen=True, eq=False)
class Lasso:
    """The data, the weight τ of the penalty, and on which sides of zero coefficients can be."""

    X: Float
    y: Float
    weight: float
    rises: NDArray[np.bool_]
    falls: NDArray[np.bool_]
