"""Networks that reduce to diagonal ones: the way there and the way back.

Notation: `M(x) = Σ_j [Sx]_j [U₁]_j ⊗ ⋯ ⊗ [U_L]_j` with orthonormal columns `[U_l]_j` on the layers
that training can reach; `η_l = U_lᵀv_l`, `ρ = η₁ ⊙ ⋯ ⊙ η_L`, `β = Sᵀρ` (Yun et al. 2021,
Theorem 5).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.networks.tensor.orthogonal_tensor import OrthogonalTensor

__all__ = ["CommutingForm", "DiagonalForm", "EvenForm", "OrthogonalForm", "snapped"]

EPS = float(np.finfo(np.float64).eps)
# Rounding of a sum, in units of eps times the sum of the moduli of its terms.
SUM_ROUNDING = 16.0


class DiagonalForm(ABC):
    """The diagonal network within another one. Leading axes (of records, say) are kept."""

    @abstractmethod
    def data(self, X: Float) -> Float:
        """The data `XSᵀ` of the diagonal network."""

    @abstractmethod
    def inner_layers(self, layers: Sequence[Float]) -> tuple[Float, ...]:
        """`η_l = U_lᵀv_l`."""

    @abstractmethod
    def inner_moduli(self, layers: Sequence[Float]) -> tuple[Float, ...]:
        """At least `|U_l|ᵀ|v_l|`, to which the rounding of η_l is relative."""

    @abstractmethod
    def outer_layers(self, diagonal: Sequence[Float], start: Sequence[Float]) -> tuple[Float, ...]:
        """`v_l = U_lη_l`, and what of the start never moves."""

    @abstractmethod
    def outer_coefs(self, products: Float) -> Float:
        """`β = Sᵀρ`."""

    @abstractmethod
    def inner_coefs(self, coefs: Float) -> Float | None:
        """ρ from β, or None where β does not determine it."""


@dataclass(frozen=True, eq=False)
class OrthogonalForm(DiagonalForm):
    """An orthogonally decomposable tensor, which is of this form from any start."""

    network: OrthogonalTensor

    def data(self, X: Float) -> Float:
        """`XSᵀ`."""
        data: Float = X @ self.network.S.T
        return data

    def inner_layers(self, layers: Sequence[Float]) -> tuple[Float, ...]:
        """`U_lᵀv_l`."""
        return self.network.diagonal_layers(layers)

    def inner_moduli(self, layers: Sequence[Float]) -> tuple[Float, ...]:
        """`|U_l|ᵀ|v_l|`."""
        pairs = zip(layers, self.network.U, strict=True)
        return tuple(np.abs(layer) @ np.abs(matrix) for layer, matrix in pairs)

    def outer_layers(self, diagonal: Sequence[Float], start: Sequence[Float]) -> tuple[Float, ...]:
        """`U_lη_l + (I − U_lU_lᵀ)v_l(0)`."""
        return self.network.layers_of_diagonal(diagonal, start)

    def outer_coefs(self, products: Float) -> Float:
        """`Sᵀρ`."""
        coefs: Float = self.network.coef_of_products(products)
        return coefs

    def inner_coefs(self, coefs: Float) -> Float | None:
        """By least squares, where the rows of S are independent."""
        rows, columns = self.network.S.shape
        if rows > columns:
            return None
        inverse = np.linalg.pinv(self.network.S)
        products: Float = coefs @ inverse
        return products


@dataclass(frozen=True)
class EvenForm(DiagonalForm):
    """A convolution of even filters on even data, folded: one number for each pair of frequencies.

    An even vector of length d has a real unitary Fourier transform, equal at the frequencies ±k. In
    the orthonormal basis of cosines its coordinate is that transform times `√μ_k`, where μ_k is the
    number of frequencies folded: 1 at 0 and d/2, else 2. All U_l are that basis C, and
    `S = diag((d/μ)^{(L−1)/2}) Cᵀ`.
    """

    size: int
    depth: int

    @property
    def _folded(self) -> Float:
        """How many frequencies each coordinate of an even vector stands for, μ."""
        folded = np.full(self.size // 2 + 1, 2.0)
        folded[0] = 1.0
        if self.size % 2 == 0:
            folded[-1] = 1.0
        return folded

    @property
    def _weights(self) -> Float:
        """`(d/μ)^{(L−1)/2}`."""
        weights: Float = (self.size / self._folded) ** ((self.depth - 1) / 2)
        return weights

    def _cosines(self, vectors: Float) -> Float:
        """`Cᵀx` of even vectors, along the last axis."""
        found: Float = np.sqrt(self._folded) * np.fft.rfft(vectors, norm="ortho").real
        return found

    def _vectors(self, cosines: Float) -> Float:
        """`Cη`."""
        found: Float = np.fft.irfft(cosines / np.sqrt(self._folded), n=self.size, norm="ortho")
        return found

    def data(self, X: Float) -> Float:
        """The weighted transforms of the samples."""
        return self._weights * self._cosines(X)

    def inner_layers(self, layers: Sequence[Float]) -> tuple[Float, ...]:
        """The transforms of the filters."""
        return tuple(self._cosines(layer) for layer in layers)

    def inner_moduli(self, layers: Sequence[Float]) -> tuple[Float, ...]:
        """A Fourier transform has the rounding of its norm at every frequency."""
        ones = np.ones(self.size // 2 + 1)
        return tuple(np.linalg.norm(layer, axis=-1, keepdims=True) * ones for layer in layers)

    def outer_layers(self, diagonal: Sequence[Float], start: Sequence[Float]) -> tuple[Float, ...]:
        """The filters with these transforms; all of an even filter moves."""
        return tuple(self._vectors(eta) for eta in diagonal)

    def outer_coefs(self, products: Float) -> Float:
        """The even coefficients with these transforms, up to the weights."""
        return self._vectors(self._weights * products)

    def inner_coefs(self, coefs: Float) -> Float | None:
        """Their transform without the weights."""
        return self._cosines(coefs) / self._weights


@dataclass(frozen=True, eq=False)
class CommutingForm(DiagonalForm):
    """A product of matrices on sensors that commute, in their common eigenbasis V.

    All U_l have the columns `vec(V_jV_jᵀ)`, and `S = Uᵀ`: the diagonal network is that of the
    eigenvalues.
    """

    basis: Float

    def data(self, X: Float) -> Float:
        """The eigenvalues of the sensors."""
        return self._eigenvalues(X.reshape(*X.shape[:-1], *self.basis.shape))

    def inner_layers(self, layers: Sequence[Float]) -> tuple[Float, ...]:
        """The eigenvalues of the layers."""
        return tuple(self._eigenvalues(layer) for layer in layers)

    def inner_moduli(self, layers: Sequence[Float]) -> tuple[Float, ...]:
        """`|V|ᵀ|W||V|` on the diagonal."""
        size = np.abs(self.basis)
        return tuple(np.einsum("aj,...ab,bj->...j", size, np.abs(one), size) for one in layers)

    def outer_layers(self, diagonal: Sequence[Float], start: Sequence[Float]) -> tuple[Float, ...]:
        """`V diag(η_l) Vᵀ`."""
        return tuple(self._matrices(eta) for eta in diagonal)

    def outer_coefs(self, products: Float) -> Float:
        """The entries of `V diag(ρ) Vᵀ`, row by row."""
        return self._matrices(products).reshape(*products.shape[:-1], -1)

    def inner_coefs(self, coefs: Float) -> Float | None:
        """The eigenvalues of the product."""
        return self.data(coefs)

    def _eigenvalues(self, matrices: Float) -> Float:
        """The diagonal of `VᵀWV`."""
        found: Float = np.einsum("aj,...aj->...j", self.basis, matrices @ self.basis)
        return found

    def _matrices(self, values: Float) -> Float:
        found: Float = (self.basis * values[..., None, :]) @ self.basis.T
        return found


def snapped(layers: Sequence[Float], moduli: Sequence[Float]) -> tuple[Float, ...]:
    """Layers without what rounding has added: zeros are zero, and equal moduli are equal.

    A coefficient whose two smallest layers tie keeps its sign for ever, and one that two layers
    start at zero never moves: a rounding of layers that were transformed must not undo that.
    `moduli` are the sums of moduli to which the roundings are relative.
    """
    sizes = np.stack([np.abs(layer) for layer in layers])
    rounding = SUM_ROUNDING * EPS * np.stack(moduli)
    sizes[sizes <= rounding] = 0.0
    order = np.argsort(sizes, axis=0, kind="stable")
    ranked = np.take_along_axis(sizes, order, axis=0)
    ranked_rounding = np.take_along_axis(rounding, order, axis=0)
    for before, after, off, more in zip(
        ranked[:-1], ranked[1:], ranked_rounding[:-1], ranked_rounding[1:], strict=True
    ):
        tied = (before > 0) & (after - before <= off + more)
        after[tied] = before[tied]
    np.put_along_axis(sizes, order, ranked, axis=0)
    return tuple(np.sign(layer) * size for layer, size in zip(layers, sizes, strict=True))
