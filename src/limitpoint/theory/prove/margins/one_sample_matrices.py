"""The matrix through which two layers meet one sample, in rationals.

Notation: `f(x) = Σ_c v₁cᵀ A(x) v₂c`, the sum over copies: columns of a first layer that is a matrix
with the rows of the second. `A(x) = Σ_i x_i A_i`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from limitpoint.networks import (
    Convolutional,
    Diagonal,
    FullyConnected,
    MatrixProduct,
    OrthogonalTensor,
    Tensor,
)
from limitpoint.problem import Problem
from limitpoint.theory.prove.exact.numbers import (
    as_rationals,
    column,
    entries,
    rational_matrix,
)
from limitpoint.theory.prove.outcome import CannotProve

__all__ = ["Layered", "Spread", "as_layers", "layered", "spread"]


@dataclass(frozen=True)
class Layered:
    """`A(x)`, the A_i, and the layers as columns, one for each copy.

    `flipped` says that A is transposed and the layers are exchanged, so that A has no more rows
    than columns.
    """

    matrix: fmpq_mat
    parts: list[fmpq_mat]
    first: fmpq_mat
    second: fmpq_mat
    flipped: bool


@dataclass(frozen=True)
class Spread:
    """`A = U₁ diag(s) U₂ᵀ` with `s = Sx`, of orthonormal columns; and `U_lᵀv_l`."""

    transform: fmpq_mat | None
    bases: tuple[fmpq_mat, fmpq_mat] | None
    values: list[fmpq]
    first: list[fmpq]
    second: list[fmpq]


def spread(problem: Problem) -> Spread | None:
    """Of a network that is a diagonal one exactly; None of any other."""
    network, x = problem.network, as_rationals(problem.task.X[0].tolist())
    first, second = (as_rationals(one.ravel().tolist()) for one in problem.init.direction)
    if isinstance(network, Diagonal):
        return Spread(None, None, x, first, second)
    if not isinstance(network, OrthogonalTensor):
        return None
    bases = (rational_matrix(network.U[0]), rational_matrix(network.U[1]))
    for basis in bases:
        size = basis.ncols()
        unit = fmpq_mat(size, size, [fmpq(i == j) for i in range(size) for j in range(size)])
        if basis.transpose() * basis != unit:
            return None
    transform = rational_matrix(network.S)
    p, q = (
        entries(basis.transpose() * column(one))
        for basis, one in zip(bases, (first, second), strict=True)
    )
    return Spread(transform, bases, entries(transform * column(x)), p, q)


def layered(problem: Problem) -> Layered:
    """Of any network of two layers."""
    parts, copies = _parts(problem)
    x = as_rationals(problem.task.X[0].tolist())
    rows, columns = parts[0].nrows(), parts[0].ncols()
    matrix = fmpq_mat(rows, columns)
    for value, part in zip(x, parts, strict=True):
        if value != 0:
            matrix = matrix + value * part
    one, two = problem.init.direction
    first = rational_matrix(one.reshape(-1, copies))
    second = rational_matrix(np.ascontiguousarray(two.reshape(copies, -1).T))
    if rows <= columns:
        return Layered(matrix, parts, first, second, flipped=False)
    turned = [part.transpose() for part in parts]
    return Layered(matrix.transpose(), turned, second, first, flipped=True)


def as_layers(
    problem: Problem, first: Sequence[Any], second: Sequence[Any], copies: int
) -> dict[str, NDArray[Any]]:
    """Columns of two layers, given row by row, in the shapes of the network."""
    one, two = problem.init.direction
    a, b = np.empty(one.size, dtype=object), np.empty(two.size, dtype=object)
    a[:], b[:] = first, second
    turned = b.reshape(-1, copies).T.reshape(two.shape)
    return {"first layer": a.reshape(one.shape), "second layer": turned}


def _parts(problem: Problem) -> tuple[list[fmpq_mat], int]:
    """The matrices A_i, and how many copies there are."""
    network, n = problem.network, problem.task.n_features
    if isinstance(network, Tensor):
        return [rational_matrix(np.ascontiguousarray(part)) for part in network.M], 1
    if isinstance(network, Convolutional):
        short, full = network.filter_sizes
        shifts = (np.arange(short)[:, None] + np.arange(full)) % full
        return [rational_matrix((shifts == i).astype(np.float64)) for i in range(n)], 1
    if isinstance(network, FullyConnected):
        return [rational_matrix(one[:, None]) for one in np.eye(n)], network.widths[0]
    if isinstance(network, MatrixProduct):
        side = int(np.sqrt(n))
        return [rational_matrix(one.reshape(side, side)) for one in np.eye(n)], side
    if isinstance(network, OrthogonalTensor):
        left, right = (rational_matrix(one) for one in network.U)
        lines = [as_rationals(line) for line in network.S.T.tolist()]
        return [left * _diagonal(line) * right.transpose() for line in lines], 1
    raise CannotProve(f"one sample of {network} is not proved so far")


def _diagonal(values: Sequence[fmpq]) -> fmpq_mat:
    size = len(values)
    flat = [values[i] if i == j else fmpq(0) for i in range(size) for j in range(size)]
    return fmpq_mat(size, size, flat)
