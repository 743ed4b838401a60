"""One sample and two layers: a diagonal network on the singular values of the data matrix.

Notation: `f(x) = v₁ᵀM(x)v₂`, compact SVD `M(x) = U₁ diag(s) U₂ᵀ`, `p = U₁ᵀv₁`, `q = U₂ᵀv₂`. Then
`f = sᵀ(p ⊙ q)`, and training moves p and q as those of the diagonal network on the one sample s:
`p ± q` grow and decay as `e^{±sν}` with one dual ν. What of v_l is orthogonal to U_l
never moves.

Layers that are matrices come in copies: `f = Σ_b W₁[:, b]ᵀ A W₂[b, :]ᵀ`, which has the singular
values of the matrix A(x) as often as there are columns b, and needs no more than its SVD.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.networks import (
    Convolutional,
    Diagonal,
    FullyConnected,
    MatrixProduct,
    Network,
    OrthogonalTensor,
    Tensor,
    snapped,
)
from limitpoint.problem import Problem
from limitpoint.tasks import Regression

__all__ = ["OneSample", "Spectrum"]

EPS = float(np.finfo(np.float64).eps)

Pair = tuple[Float, Float]


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The data matrix A(x) of one sample and its decomposition `A = left · diag(values) · rightᵀ`.

    Attributes
    ----------
    matrix
        A itself, or None where it is its decomposition that is given.
    left, right
        Orthonormal columns, or None for the unit vectors.
    values
        Numbers without zeros in an SVD; of any sign in a decomposition that is given.
    copies
        How many columns of the first layer meet A.
    summed
        Rounding of values that are given, in units of eps times the largest.
    """

    matrix: Float | None
    left: Float | None
    values: Float
    right: Float | None
    copies: int = 1
    summed: float = 1.0

    @classmethod
    def of(cls, network: Network, x: Float) -> "Spectrum | None":
        """For a network of two layers, where it is known."""
        if isinstance(network, Diagonal) and network.depth == 2:
            return cls(None, None, x, None)
        if isinstance(network, OrthogonalTensor) and network.depth == 2:
            values = network.S @ x
            # The values are sums whose terms may cancel, and two of them are compared.
            largest = float(np.abs(values).max())
            terms = float((np.abs(network.S) @ np.abs(x)).max())
            summed = 2 * x.size * terms / largest if largest > 0 else 1.0
            return cls(None, network.U[0], values, network.U[1], summed=summed)
        if isinstance(network, Convolutional) and network.depth == 2:
            short, full = network.filter_sizes
            return cls._of_matrix(x[(np.arange(short)[:, None] + np.arange(full)) % full])
        if isinstance(network, Tensor) and network.depth == 2:
            return cls._of_matrix(np.tensordot(x, network.M, axes=1))
        if isinstance(network, FullyConnected) and network.depth == 2:
            return cls._of_matrix(x[:, None], network.widths[0])
        if isinstance(network, MatrixProduct) and network.depth == 2:
            side = int(np.sqrt(x.size))
            return cls._of_matrix(x.reshape(side, side), side)
        return None

    @classmethod
    def _of_matrix(cls, matrix: Float, copies: int = 1) -> "Spectrum":
        """By its SVD, cut at the usual numerical rank (largest side × eps × s₁)."""
        left, values, rows = np.linalg.svd(matrix, full_matrices=False)
        rank = int((values > max(matrix.shape) * EPS * values[0]).sum())
        return cls(matrix, left[:, :rank], values[:rank], rows[:rank].T, copies)

    @property
    def data(self) -> Float:
        """The values, each as often as there are copies."""
        return np.repeat(self.values, self.copies)

    @property
    def resolution(self) -> float:
        """Values closer than this, relative to the largest, are equal up to rounding."""
        return EPS * (max(self.matrix.shape) if self.matrix is not None else self.summed)

    def inner(self, layers: Sequence[Float]) -> Pair:
        """`p = U₁ᵀv₁` and `q = U₂ᵀv₂`."""
        first, second = self._blocks(layers)
        return _turned(self.left, first).ravel(), _turned(self.right, second).ravel()

    def inner_moduli(self, layers: Sequence[Float]) -> Pair:
        """`|U₁|ᵀ|v₁|` and `|U₂|ᵀ|v₂|`, to which their rounding is relative."""
        sizes = [np.abs(layer) for layer in layers]
        left, right = (None if one is None else np.abs(one) for one in (self.left, self.right))
        first, second = self._blocks(sizes)
        return _turned(left, first).ravel(), _turned(right, second).ravel()

    def outer(self, inner: Pair, start: Sequence[Float]) -> Pair:
        """`U_lη_l + (I − U_lU_lᵀ)v_l(0)`."""
        kept = self.still(start)
        moved = [eta.reshape(len(self.values), -1) for eta in inner]
        first = moved[0] if self.left is None else self.left @ moved[0]
        second = moved[1] if self.right is None else self.right @ moved[1]
        return (
            first.reshape(start[0].shape) + kept[0],
            second.T.reshape(start[1].shape) + kept[1],
        )

    def still(self, layers: Sequence[Float]) -> Pair:
        """What never moves, `(I − U_lU_lᵀ)v_l`."""
        first, second = self._blocks(layers)
        kept = []
        for block, columns in ((first, self.left), (second, self.right)):
            along = block if columns is None else columns @ (columns.T @ block)
            kept.append(block - along)
        return kept[0].reshape(layers[0].shape), kept[1].T.reshape(layers[1].shape)

    def times(self, layers: Sequence[Float]) -> Pair:
        """`M(x)v₂` and `M(x)ᵀv₁`: how the layers move with ν."""
        first, second = self._blocks(layers)
        if self.matrix is not None:
            ahead, back = self.matrix @ second, self.matrix.T @ first
        else:
            along = self.values[:, None]
            ahead, back = along * _turned(self.right, second), along * _turned(self.left, first)
            ahead = ahead if self.left is None else self.left @ ahead
            back = back if self.right is None else self.right @ back
        return ahead.reshape(layers[0].shape), back.T.reshape(layers[1].shape)

    def largest(self) -> float:
        """The largest singular value, by the eigenvalues of the smaller Gram matrix."""
        if self.matrix is None:
            return float(np.abs(self.values).max())
        rows, columns = self.matrix.shape
        gram = self.matrix @ self.matrix.T if rows <= columns else self.matrix.T @ self.matrix
        return float(np.sqrt(np.linalg.eigvalsh(gram)[-1]))

    def _blocks(self, layers: Sequence[Float]) -> Pair:
        """The layers as columns that A meets from the left and from the right."""
        first, second = layers
        return first.reshape(-1, self.copies), second.reshape(self.copies, -1).T


def _turned(columns: Float | None, block: Float) -> Float:
    """`Uᵀv`."""
    turned: Float = block if columns is None else columns.T @ block
    return turned


@dataclass(frozen=True, eq=False)
class OneSample:
    """A problem of one sample and two layers.

    Attributes
    ----------
    spectrum
        The data matrix.
    first, second
        p and q of the direction, without what rounding has added.
    target
        y.
    """

    problem: Problem
    spectrum: Spectrum
    first: Float
    second: Float
    target: float

    @classmethod
    def of(cls, problem: Problem) -> "OneSample | None":
        """Where the problem is one, and its sample is not zero."""
        task = problem.task
        if task.n_samples != 1 or not task.X.any():
            return None
        spectrum = Spectrum.of(problem.network, task.X[0])
        if spectrum is None or not spectrum.values.any():
            return None
        direction = problem.init.direction
        first, second = snapped(spectrum.inner(direction), spectrum.inner_moduli(direction))
        return cls(problem, spectrum, first, second, float(task.y[0]))

    @property
    def lead(self) -> float:
        """The λ of Theorems 3 and 6: the smallest `p_j² − q_j²`, for the best choice of an SVD.

        Where singular values tie their vectors can be turned so that all of them share alike: the
        diagonal of `ppᵀ − qqᵀ` can be made constant, and that is the mean.
        """
        gaps = (self.first - self.second) * (self.first + self.second)
        return min(float(gaps[alike].mean()) for alike in self.ties())

    def ties(self) -> list[NDArray[np.bool_]]:
        """Where the moduli of the values agree up to rounding, the largest first; none is zero."""
        data = np.abs(self.spectrum.data)
        order = np.argsort(-data, kind="stable")
        ranked = data[order]
        cuts = np.flatnonzero(ranked[1:] < ranked[:-1] * (1 - self.spectrum.resolution)) + 1
        found = []
        for places in np.split(order, cuts):
            alike = np.zeros(data.size, dtype=np.bool_)
            alike[places[data[places] > 0]] = True
            if alike.any():
                found.append(alike)
        return found

    @property
    def push(self) -> float:
        """By how much the start can move towards y: 0 if it never gets there.

        The largest modulus of the combinations that grow as the output does towards y.
        """
        signs = (np.sign(self.target),) if self.target else (1.0, -1.0)
        data = self.spectrum.data
        return min(float(np.abs(self.growing(sign))[data != 0].max()) for sign in signs)

    def growing(self, sign: float) -> Float:
        """`p + q` or `p − q`, entry by entry whichever grows as the output goes that way."""
        growing: Float = self.first + sign * np.sign(self.spectrum.data) * self.second
        return growing

    @property
    def diagonal(self) -> Problem:
        """The diagonal network of p and q on the one sample s."""
        task = self.problem.regression
        data = Regression(self.spectrum.data[None], task.y, task.loss_factor)
        init = Init((self.first, self.second), log_scale=self.problem.init.log_scale)
        return Problem(Diagonal(2), init, data)

    def top(self, sign: float) -> Float:
        """`p ± q` where the value is the largest that grows, zero elsewhere."""
        growing, data = self.growing(sign), np.abs(self.spectrum.data)
        largest = float(data[growing != 0].max(initial=0.0))
        tied = data >= largest * (1 - self.spectrum.resolution)
        return np.where(tied & (growing != 0), growing, 0.0)

    def outer(self, first: Float, second: Float) -> Pair:
        """Layers of the network with these p and q, and nothing besides."""
        zeros = [np.zeros_like(layer) for layer in self.problem.init.direction]
        return self.spectrum.outer((first, second), zeros)
