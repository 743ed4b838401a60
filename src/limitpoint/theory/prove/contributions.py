"""What an error of a coefficient whose sign is not decided is measured by."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import arb

from limitpoint.foundation.arrays import Float
from limitpoint.theory.prove.numbers import ball, ball_column, ball_matrix, entries

__all__ = ["visible_sizes"]


def visible_sizes(X: Float, y: Float, coef: Sequence[Any]) -> list[Any]:
    """The smallest over samples of `(|x_j|ᵀ|β| + |y_j|) / |x_ji|`; None for a column of zeros."""
    moduli = ball_matrix(np.abs(X))
    totals = entries(
        moduli * ball_column([abs(ball(c)) for c in coef]) + ball_column(np.abs(y).tolist())
    )
    found: list[Any] = []
    for i in range(X.shape[1]):
        ratios = [totals[j] / abs(arb(float(X[j, i]))) for j in range(len(y)) if X[j, i] != 0]
        found.append(min(ratios, key=lambda one: float(one.mid())) if ratios else None)
    return found
