"""The lasso by non-negative least squares: exactly, where that does not take long.

Notation: A the columns ±x_i of the sides on which coefficients can be, `β = ±z`, `z ≥ 0`; r the
residual `y − Az`. The dual of the lasso asks for the shortest `u = y − r` with `Aᵀr ≤ τ`, that is
`Aᵀu ≥ h`, `h = Aᵀy − τ`: least distance programming, which Lawson and Hanson (1974, chapter 23.4)
solve by non-negative least squares, `w = argmin ‖(A; hᵀ)w − (0, 1)‖` over `w ≥ 0`. From their
conditions `z = w/(1 − hᵀw)`.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.linalg import EPS
from limitpoint.theory.certificates.certificate import ROUNDING_UNITS
from limitpoint.theory.certificates.contribution_errors import contributions
from limitpoint.theory.solvers.basis_pursuit import saddle_path
from limitpoint.theory.solvers.basis_pursuit.graded_factor import RowwiseQR
from limitpoint.theory.solvers.lasso.lasso_problem import Lasso

__all__ = ["solutions"]

# Products of the rational Gram matrix of all sides: within this size it takes about a second.
LARGEST = 100_000

Indices = NDArray[np.intp]


def solutions(lasso: Lasso) -> Iterator[tuple[Float, Float]]:
    """Coefficients and residual, in ways that become dearer: the first that is certified is right.

    By the sides that are used as float64 finds them; by those of the limit τ → 0, where τ is below
    the rounding of the data; in rational arithmetic, where that takes no more than a second or so.
    """
    yield _on(lasso, *_used(lasso))
    yield _on(lasso, *_used_in_the_limit(lasso))
    samples, features = lasso.X.shape
    if samples * (2 * features) ** 2 <= LARGEST:
        yield _exactly(lasso)


def _on(lasso: Lasso, used: Indices, signs: Float) -> tuple[Float, Float]:
    """On columns S with signs s, `β = S⁺y − τ(SᵀS)⁻¹s` and `r = (I − SS⁺)y + τ(S⁺)ᵀs`.

    The part of r that the penalty leaves is known relative to τ, however small that is.
    """
    coef = np.zeros(lasso.X.shape[1])
    factor = RowwiseQR(lasso.X[:, used])
    if not factor.is_regular:
        return coef, lasso.y.copy()
    with np.errstate(over="ignore", invalid="ignore"):  # of what no certificate will hold of
        shrunk = lasso.weight * factor.lift(signs)
    outside = factor.outside(lasso.y[:, None])[:, 0]
    coef[used] = factor.solve(lasso.y - outside - shrunk)
    with np.errstate(invalid="ignore"):
        shares = np.abs(coef) * contributions(lasso.X, lasso.y, coef)
    # What contributes no more than rounding is zero: a coefficient at its tie.
    return np.where(shares <= ROUNDING_UNITS * EPS, 0.0, coef), outside + shrunk


def _exactly(lasso: Lasso) -> tuple[Float, Float]:
    """In rational arithmetic, rounded once."""
    from flint import fmpq, fmpq_mat  # loads python-flint

    from limitpoint.theory.prove.exact.nonnegative import best_fit
    from limitpoint.theory.prove.exact.numbers import as_rationals, column, entries, rational

    features, signs = _sides(lasso)
    y = as_rationals(lasso.y)
    rows = [as_rationals(row) for row in lasso.X[:, features] * signs]
    columns = list(zip(*rows, strict=True))
    weight = rational(lasso.weight)
    excess = [sum((a * t for a, t in zip(c, y, strict=True)), -weight) for c in columns]
    z = [fmpq(0)] * len(columns)
    if any(h > 0 for h in excess):
        flat = [entry for row in (*rows, excess) for entry in row]
        system = fmpq_mat(len(y) + 1, len(columns), flat)
        w = best_fit(system, [*[fmpq(0)] * len(y), fmpq(1)], []).coef
        left = 1 - sum((h * v for h, v in zip(excess, w, strict=True)), fmpq(0))
        z = [v / left for v in w]
    coef = np.zeros(lasso.X.shape[1])
    for i, sign, value in zip(features, signs, z, strict=True):
        if value:
            coef[i] = sign * float(value)
    if not columns:
        return coef, lasso.y.copy()
    fit = entries(fmpq_mat(len(y), len(columns), [a for row in rows for a in row]) * column(z))
    return coef, np.array([float(t - f) for t, f in zip(y, fit, strict=True)])


def _sides(lasso: Lasso) -> tuple[Indices, Float]:
    """The features and signs of the sides of columns that are not zero."""
    seen = lasso.X.any(axis=0)
    up, down = np.flatnonzero(seen & lasso.rises), np.flatnonzero(seen & lasso.falls)
    return np.concatenate([up, down]), np.repeat([1.0, -1.0], [up.size, down.size])


def _used(lasso: Lasso) -> tuple[Indices, Float]:
    """Which sides coefficients are on; in units of y, and columns of length one."""
    features, signs = _sides(lasso)
    size = float(np.linalg.norm(lasso.y))
    if not features.size or size == 0.0:
        return features[:0], signs[:0]
    columns = lasso.X[:, features] * signs
    columns = columns / np.abs(columns).max(axis=0)
    lengths = np.linalg.norm(columns, axis=0)
    columns = columns / lengths
    with np.errstate(over="ignore"):
        weights = lasso.weight / size / np.abs(lasso.X[:, features]).max(axis=0) / lengths
    excess = columns.T @ (lasso.y / size) - weights
    # What cannot be reached by any fit is not needed, and may be infinite.
    near = np.flatnonzero(weights < 1.0)
    if not near.size or not (excess > 0).any():
        return features[:0], signs[:0]
    system = np.vstack([columns[:, near], excess[near]])
    try:
        found, _ = nnls(system, np.append(np.zeros(len(lasso.y)), 1.0))
    except RuntimeError:  # it did not end
        return features[:0], signs[:0]
    used = near[np.flatnonzero(found)]
    return features[used], signs[used]


def _used_in_the_limit(lasso: Lasso) -> tuple[Indices, Float]:
    """Those of the best fit of least ℓ1 norm."""
    lower, upper = np.where(lasso.falls, -np.inf, 0.0), np.where(lasso.rises, np.inf, 0.0)
    coef = saddle_path(lasso.X, lasso.y, lower=lower, upper=upper).coef
    used = np.flatnonzero(coef)
    return used, np.sign(coef[used])
