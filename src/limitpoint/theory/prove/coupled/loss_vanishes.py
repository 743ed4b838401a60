"""Dense networks as the scale vanishes: the sufficient condition of Theorem 7, in rationals.

`W_lᵀW_l ⪰ W_{l+1}W_{l+1}ᵀ` for l ≤ L − 2 and `W_{L−1}ᵀW_{L−1} ≻ w_Lw_Lᵀ` at the direction. A
symmetric matrix has real eigenvalues, and so none below zero if and only if the coefficients of its
characteristic polynomial alternate in sign (Descartes); and none is zero if the last one is not.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from flint import fmpq, fmpq_mat

from limitpoint.foundation.arrays import Float
from limitpoint.networks import FullyConnected
from limitpoint.problem import Problem
from limitpoint.theory.prove.coupled.balance import ROUNDING
from limitpoint.theory.prove.coupled.coupled import least_norm
from limitpoint.theory.prove.coupled.row_space import RowSpace, square_norm
from limitpoint.theory.prove.exact.numbers import rational_matrix
from limitpoint.theory.prove.outcome import CannotProve, Found, Hint

__all__ = ["prove_vanishing_dense"]


def prove_vanishing_dense(problem: Problem, hint: Hint | None) -> Found:
    """`X⁺y`, in rationals, where the loss vanishes."""
    task, network = problem.regression, problem.network
    if not isinstance(network, FullyConnected):
        raise CannotProve(f"{network} is not a dense network")
    layers = _without_idle_neurons(problem.init.direction)
    if any(layer.shape[0] != task.n_features for layer in layers[1:]):
        raise CannotProve("a hidden layer has not as many busy neurons as there are features")
    matrices = [rational_matrix(layer) for layer in layers]
    assumed: tuple[str, ...] = ()
    for place, (one, following) in enumerate(pairwise(matrices), start=1):
        difference = one.transpose() * one - following * following.transpose()
        last = place == len(matrices) - 1
        if _is_semidefinite(difference, strictly=last):
            continue
        if last or not _is_semidefinite(_raised(difference, square_norm(one))):
            raise CannotProve(
                f"W_{place}ᵀW_{place} is not larger than W_{place + 1}W_{place + 1}ᵀ in every "
                "direction, and nothing else known says that the loss vanishes"
            )
        assumed += (
            f"W_{place}ᵀW_{place} ⪰ W_{place + 1}W_{place + 1}ᵀ at the start, which holds to "
            "rounding, so that the loss vanishes",
        )
    space = RowSpace.of(task.X, task.y)
    order = "assumed" if assumed else "exact"
    return least_norm(space, assumed=assumed, witness={"order": order})


def _is_semidefinite(matrix: fmpq_mat, strictly: bool = False) -> bool:
    """By the signs of the characteristic polynomial."""
    coefs = matrix.charpoly().coeffs()
    degree = matrix.nrows()
    alternate = all(one * (-1) ** (degree - k) >= 0 for k, one in enumerate(coefs))
    return alternate and not (strictly and coefs[0] == 0)


def _raised(matrix: fmpq_mat, square: fmpq) -> fmpq_mat:
    """With what counts as rounding of the first of the two Gram matrices on the diagonal."""
    n = matrix.nrows()
    return matrix + fmpq_mat(
        n, n, [ROUNDING * square if i == j else fmpq(0) for i in range(n) for j in range(n)]
    )


def _without_idle_neurons(direction: Sequence[Float]) -> list[Float]:
    """The layers as matrices, without neurons that no weights link to data or output.

    No gradient reaches them, through whatever weights they have among themselves.
    """
    layers = [np.array(layer) for layer in direction[:-1]] + [direction[-1][:, None]]
    busy = [np.zeros(layer.shape[0], dtype=np.bool_) for layer in layers]
    busy[0][:] = True
    busy.append(np.ones(1, dtype=np.bool_))
    count = -1
    while count != (count := sum(int(one.sum()) for one in busy)):
        for k, layer in enumerate(layers):
            busy[k + 1] |= (layer[busy[k]] != 0).any(axis=0)
        for k in reversed(range(len(layers))):
            busy[k] |= (layers[k][:, busy[k + 1]] != 0).any(axis=1)
    kept = zip(layers, busy, busy[1:], strict=False)
    return [layer[rows][:, columns] for layer, rows, columns in kept]
