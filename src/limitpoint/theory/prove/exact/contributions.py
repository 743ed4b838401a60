"""What an error of a coefficient whose sign is not decided is measured by."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import arb

from limitpoint.foundation.arrays import Float
from limitpoint.theory.prove.exact.numbers import ball, ball_column, ball_matrix, entries

__all__ = ["visible_sizes"]


def visible_sizes(X: Float, y: Float, coef: Sequence[Any]) -> list[Any]:
    """The smallest over samples of `(|x_j|ᵀ|β| + |y_j|) / |x_ji|`; None for a column of zeros.

    None, too, for a coefficient whose sign is decided.
    """
    moduli = ball_matrix(np.abs(X))
    totals = entries(
        moduli * ball_column([abs(ball(c)) for c in coef]) + ball_column(np.abs(y).tolist())
    )
    found: list[Any] = []
    for i, value in enumerate(coef):
        seen = np.flatnonzero(X[:, i]).tolist() if ball(value).contains(0) else []
        ratios = [totals[j] / abs(arb(float(X[j, i]))) for j in seen]
        found.append(min(ratios, key=lambda one: float(one.mid())) if ratios else None)
    return found
