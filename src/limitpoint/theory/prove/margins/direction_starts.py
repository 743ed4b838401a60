"""What the theorems on limit directions need of the start, decided exactly."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from flint import arb, fmpq, fmpq_mat

from limitpoint.foundation.arrays import Float
from limitpoint.networks import FullyConnected, RankOne
from limitpoint.problem import Problem
from limitpoint.theory.prove.exact.numbers import (
    as_balls,
    as_rationals,
    column,
    entries,
    rational_matrix,
    scale_ball,
)
from limitpoint.theory.prove.margins.frequencies import Transforms, vanishes
from limitpoint.theory.prove.margins.signed_rows import signed_rows
from limitpoint.theory.prove.outcome import CannotProve, MorePrecision

__all__ = [
    "CONVERGENCE",
    "check_diagonal_start",
    "check_filters_start",
    "loss_of_chain",
    "orthonormal_to",
]

CONVERGENCE = "the negative gradient Xᵀr converges in direction, which the theorem supposes"
LOSS = (
    "the loss falls below its value at zero coefficients at some time: none of the conditions from "
    "which that follows holds exactly of these floats, though one holds to rounding"
)


def check_diagonal_start(layers: Sequence[Sequence[fmpq]], rows: fmpq_mat) -> None:
    """`|η₁| ≠ |η₂|` in each coordinate that some sample moves: exactly, or `CannotProve`."""
    first, second = layers
    for j, (a, b) in enumerate(zip(first, second, strict=True)):
        if abs(a) == abs(b) and any(rows[i, j] != 0 for i in range(rows.nrows())):
            raise CannotProve(
                f"the two layers start with equal moduli in coordinate {j}, where the theorem "
                "needs them to differ"
            )


def check_filters_start(problem: Problem, rows: fmpq_mat) -> None:
    """The transforms of the filters differ in modulus wherever some sample has a frequency."""
    layers = [as_rationals(layer.tolist()) for layer in problem.init.direction]
    n = len(layers[0])
    # The squared modulus is the transform of the autocorrelation, which is even.
    lags = [
        sum((a[j] * a[j - d] for j in range(n)), fmpq(0)) * sign
        for a, sign in zip(layers, (1, -1), strict=True)
        for d in range(n)
    ]
    apart = [lags[d] + lags[n + d] for d in range(n)]
    found = Transforms(fmpq_mat(1, n, apart)).real
    for k in range(n // 2 + 1):
        if found[0, k] != 0:
            continue
        if not vanishes(apart, k):
            raise MorePrecision(f"whether the filters differ in modulus at frequency {k}")
        if not all(vanishes([rows[i, j] for j in range(n)], k) for i in range(rows.nrows())):
            raise CannotProve(
                f"the transforms of the two filters start with equal moduli at frequency {k}, "
                "where the theorem needs them to differ"
            )


def orthonormal_to(bases: Sequence[fmpq_mat]) -> tuple[str, ...]:
    """What is assumed of matrices U_l whose columns are orthonormal to rounding only."""
    for basis in bases:
        one = fmpq_mat(
            basis.ncols(),
            basis.ncols(),
            [fmpq(i == j) for i in range(basis.ncols()) for j in range(basis.ncols())],
        )
        if basis.transpose() * basis != one:
            return ("the columns of the U_l are orthonormal, which they are to rounding",)
    return ()


def loss_of_chain(problem: Problem) -> tuple[str, tuple[str, ...], dict[str, Any]]:
    """Why the loss of a product of matrices vanishes, what is assumed for it, and the witness."""
    layers = _matrices(problem)
    matrices = [rational_matrix(one) for one in layers]
    dense = isinstance(problem.network, FullyConnected)
    if _descends(problem, matrices):
        why = "the start is not above zero coefficients in loss, nor stationary"
        return why, (), {"start": "descends"}
    if dense and len(matrices) == 2:
        vector = _lowest(layers[0], layers[1])
        if _is_negative(matrices[0], matrices[1], vector):
            why = "W₁ᵀW₁ − w₂w₂ᵀ, which is conserved, has a negative eigenvalue"
            return why, (), {"start": "kept", "vector": vector}
    if dense and _layers_keep_rank(matrices):
        why = "the Gram matrices of the layers are ordered as Theorem 7 needs it"
        return why, (), {"start": "ordered"}
    return "the classes are separable", (LOSS,), {"start": "assumed"}


def _matrices(problem: Problem) -> list[Float]:
    """Layers whose product is β; the vectors of a rank-one network are rows and columns in turn."""
    first, *others = problem.init.direction
    if isinstance(problem.network, RankOne):
        inner = [one[None] if k % 2 == 0 else one[:, None] for k, one in enumerate(others)]
        return [first[:, None], *inner]
    return [first, *others[:-1], others[-1][:, None]]


def _descends(problem: Problem, matrices: Sequence[fmpq_mat]) -> bool:
    """Whether the loss at the start is no higher than at zero, with a gradient that is not zero."""
    rows, init = signed_rows(problem), problem.init
    product = matrices[-1]
    for one in matrices[-2::-1]:
        product = one * product
    margins = entries(rows * product)
    if not any(margins):
        return _moves(rows, matrices)
    if init.log_scale == np.inf:
        return bool(min(margins) >= 0)
    if init.log_scale == -np.inf:
        # By convexity a start that changes nothing in first order ascends.
        return bool(sum(margins, fmpq(0)) > 0)
    unit = scale_ball(init) ** problem.network.degree
    changes = [(-unit * one).expm1() for one in as_balls(margins)]
    if problem.classification.loss_name == "logistic":
        changes = [(one / 2).log1p() for one in changes]
    risen = sum(changes, arb(0))
    if not risen.is_finite() or risen.contains(0):
        raise MorePrecision("whether the loss starts below that of zero coefficients")
    return bool(risen < 0)


def _moves(rows: fmpq_mat, matrices: Sequence[fmpq_mat]) -> bool:
    """Whether some layer has a gradient at coefficients of margins 0: all samples weigh alike."""
    ahead = rows.transpose() * column([fmpq(1)] * rows.nrows())
    heads = [ahead]
    for one in matrices[:-1]:
        heads.append(one.transpose() * heads[-1])
    tails = [fmpq_mat(1, 1, [fmpq(1)])]
    for one in matrices[:0:-1]:
        tails.append(one * tails[-1])
    return any(
        any(entries(head)) and any(entries(tail))
        for head, tail in zip(heads, tails[::-1], strict=True)
    )


def _lowest(first: Float, last: Float) -> list[float]:
    """About the lowest eigenvector of `W₁ᵀW₁ − w₂w₂ᵀ`."""
    unit = float(np.abs(first).max()) or 1.0
    first, last = first / unit, last / unit
    found: list[float] = np.linalg.eigh(first.T @ first - last @ last.T)[1][:, 0].tolist()
    return found


def _is_negative(first: fmpq_mat, last: fmpq_mat, vector: Sequence[float]) -> bool:
    """`‖W₁v‖² < (w₂ᵀv)²`."""
    v = column(as_rationals(vector))
    square = sum((a * a for a in entries(first * v)), fmpq(0))
    return bool(square < entries(last.transpose() * v)[0] ** 2)


def _layers_keep_rank(matrices: Sequence[fmpq_mat]) -> bool:
    """`W_lᵀW_l ⪰ W_{l+1}W_{l+1}ᵀ`, the last strictly, with as many last neurons as features.

    What is positive semidefinite is shown to be zero or positive definite here.
    """
    if matrices[-1].nrows() != matrices[0].nrows():
        return False
    *inner, last = [a.transpose() * a - b * b.transpose() for a, b in pairwise(matrices)]
    ordered = all(not any(entries(one)) or _is_positive_definite(one) for one in inner)
    return ordered and _is_positive_definite(last)


def _is_positive_definite(matrix: fmpq_mat) -> bool:
    """By the pivots of Gauss's elimination, in balls; False if these do not tell."""
    n = matrix.nrows()
    left = [[arb(matrix[i, j]) for j in range(n)] for i in range(n)]
    for k, pivots in enumerate(left):
        if not pivots[k] > 0:
            return False
        for i in range(k + 1, n):
            factor = left[i][k] / pivots[k]
            left[i] = [a - factor * b for a, b in zip(left[i], pivots, strict=True)]
    return True
