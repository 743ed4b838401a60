"""Networks of two layers as bilinear forms, exactly: `β_i = Σ_b V₁[:, b]ᵀ A_i V₂[:, b]`.

Layers that are matrices come in columns b that share the A_i: of a dense network A_i is the i-th
unit vector, of a product of matrices it has a one at (row, column) of entry i.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb, fmpq, fmpq_mat

from limitpoint.networks import (
    Convolutional,
    Diagonal,
    FullyConnected,
    MatrixProduct,
    OrthogonalTensor,
    Tensor,
)
from limitpoint.problem import Problem
from limitpoint.theory.prove.exact.numbers import as_rationals, entries, rational, rational_matrix
from limitpoint.theory.prove.outcome import CannotProve

__all__ = ["BilinearForm", "bilinear_form"]

# Entries that are not zero: row, column and value.
Sparse = list[tuple[int, int, fmpq]]


@dataclass(frozen=True)
class BilinearForm:
    """The A_i, and the directions V₁ (k₁, copies) and V₂ (k₂, copies) of the layers."""

    matrices: Sequence[Sparse]
    first: fmpq_mat
    second: fmpq_mat

    def at(self, x: Sequence[fmpq]) -> fmpq_mat:
        """`A(x) = Σ x_i A_i`."""
        found = fmpq_mat(self.first.nrows(), self.second.nrows())
        for one, sparse in zip(x, self.matrices, strict=True):
            for a, b, value in sparse:
                found[a, b] += one * value
        return found

    def coefs(self, first: Any, second: Any) -> list[Any]:
        """The coefficients of layers: balls or rationals."""
        products = first * second.transpose()
        return [
            sum((value * products[a, b] for a, b, value in sparse), 0 * products[0, 0])
            for sparse in self.matrices
        ]

    def norms(self) -> list[arb]:
        """The Frobenius norms of the A_i."""
        squares = [sum((v * v for _, _, v in sparse), fmpq(0)) for sparse in self.matrices]
        return [arb(one).sqrt() for one in squares]


def bilinear_form(problem: Problem) -> BilinearForm:
    """The form of a network of two layers."""
    network, (first, second) = problem.network, problem.init.direction
    if isinstance(network, FullyConnected):
        rows = range(problem.task.n_features)
        return BilinearForm(
            [[(i, 0, fmpq(1))] for i in rows], rational_matrix(first), _row(second.tolist())
        )
    if isinstance(network, MatrixProduct):
        side = range(len(first))
        return BilinearForm(
            [[(a, b, fmpq(1))] for a in side for b in side],
            rational_matrix(first),
            rational_matrix(second).transpose(),
        )
    if isinstance(network, Diagonal):
        matrices = [[(i, i, fmpq(1))] for i in range(len(first))]
    elif isinstance(network, OrthogonalTensor):
        matrices = _of_orthogonal(network)
    elif isinstance(network, Tensor | Convolutional):
        matrices = [_sparse(rational_matrix(one)) for one in network.tensor(problem.task)]
    else:
        raise CannotProve(f"{network} is not known as a bilinear form")
    return BilinearForm(matrices, _column(first.tolist()), _column(second.tolist()))


def _of_orthogonal(network: OrthogonalTensor) -> list[Sparse]:
    """`A_i = U₁ diag(S[:, i]) U₂ᵀ`."""
    left, right = (rational_matrix(one) for one in network.U)
    found = []
    for weights in network.S.T.tolist():
        middle = fmpq_mat(len(weights), len(weights))
        for j, weight in enumerate(weights):
            middle[j, j] = rational(weight)
        found.append(_sparse(left * middle * right.transpose()))
    return found


def _sparse(matrix: fmpq_mat) -> Sparse:
    columns = matrix.ncols()
    flat = enumerate(entries(matrix))
    return [(*divmod(k, columns), value) for k, value in flat if value != 0]


def _column(values: Sequence[float]) -> fmpq_mat:
    return fmpq_mat(len(values), 1, as_rationals(values))


def _row(values: Sequence[float]) -> fmpq_mat:
    return fmpq_mat(1, len(values), as_rationals(values))
