"""Whether a hyperplane through the origin separates two classes, with a proof either way."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from limitpoint.errors import NotSeparable
from limitpoint.foundation.arrays import Float, read_only
from limitpoint.foundation.linalg import EPS, equilibrate
from limitpoint.foundation.values import Value

__all__ = ["Separation"]

# A combination of the samples counts as zero when it is this small relative to what is added up:
# the accuracy of a vertex of the linear program, some thousand roundings per entry.
VANISHING = 1e-12
# A message names at most this many samples.
SAMPLES_NAMED = 5


@dataclass(frozen=True, eq=False)
class Separation(Value):
    """A direction z that separates the classes, and the margin `min_i y_i⟨x_i, z⟩` by which.

    The direction has norm 1. It is one that separates, not the one with the largest margin.
    """

    direction: Float
    margin: float

    @classmethod
    def of(cls, signed: Float) -> "Separation":
        """Separate the samples, given in the rows as `y_i x_i`.

        By the linear program `max γ`, `y_i⟨x_i, z⟩ ≥ γ`, `|z_j| ≤ 1`, on equilibrated rows and
        columns. Its answer is checked by itself: a direction by its margins, weights by their sum,
        column by column.

        Raises
        ------
        NotSeparable
            With weights `μ ≥ 0` for which `Σ μ_i y_i x_i = 0`: no direction has all products with
            the `y_i x_i` positive, since these products would add up to zero.
        """
        by_row, by_column = equilibrate(signed)
        rows = by_row[:, None] * signed * by_column
        m, n = rows.shape
        found = linprog(
            np.append(np.zeros(n), -1.0),
            A_ub=np.hstack([-rows, np.ones((m, 1))]),
            b_ub=np.zeros(m),
            bounds=[*[(-1.0, 1.0)] * n, (None, None)],
            method="highs",
        )
        if found.status != 0:  # pragma: no cover - the program is bounded and feasible
            raise RuntimeError(f"the linear program of the separation failed: {found.message}")
        weights = np.maximum(-found.ineqlin.marginals, 0.0)
        # A margin below the program's tolerance may come out negative; where the samples that
        # decide are independent, a direction with equal products with them is exact.
        tight = weights > EPS
        equal = np.linalg.lstsq(rows[tight], np.ones(int(tight.sum())), rcond=None)[0]
        for scaled in (found.x[:n], equal):
            bound = (n + 2) * EPS * (np.abs(rows) @ np.abs(scaled))
            if (rows @ scaled > bound).all():
                direction = scaled * by_column
                direction /= float(np.linalg.norm(direction))
                return cls(read_only(direction), float((signed @ direction).min()))
        weights /= float(weights.sum()) or 1.0
        terms = weights @ np.abs(rows)
        left = float((np.abs(weights @ rows) / np.where(terms > 0, terms, 1.0)).max())
        raise _refusal(weights * by_row, left)


def _refusal(weights: Float, left: float) -> NotSeparable:
    """The error, with the weights that prove it or with the doubt that is left."""
    weights = weights / float(weights.sum())
    kept = np.flatnonzero(weights > EPS)
    order = kept[np.argsort(-weights[kept], kind="stable")][:SAMPLES_NAMED]
    named = ", ".join(f"{i} ({weights[i]:.3g})" for i in order)
    more = f" and {len(kept) - len(order)} more" if len(kept) > len(order) else ""
    if left <= VANISHING:
        return NotSeparable(
            "X and y are not separable by a hyperplane through the origin: the y_i x_i of samples "
            f"{named}{more}, with these weights, add up to zero (to {left:.1g}, relative), so that "
            "no direction has a positive margin on all of them. More features, or a column of "
            "ones, may separate them",
            weights,
        )
    return NotSeparable(
        "X and y are separable at most by a margin too small to be told from none "
        f"({left:.1g}, relative to the samples). Rescale X, or remove samples {named}{more}",
        weights,
    )
