"""Linear circular convolutional networks (Yun et al. 2021, equation (12))."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from limitpoint.errors import NetworkError
from limitpoint.foundation.arrays import MOST_LAYERS, Float, as_several, as_whole_number, shown
from limitpoint.networks.kinds.multilinear import (
    MultilinearNetwork,
    check_features,
    check_tensor_size,
)
from limitpoint.networks.kinds.single_output import feature_shape
from limitpoint.tasks import Task

__all__ = ["Convolutional"]

# Up to so many products the sums themselves are as fast as Fourier transforms, or faster, and have
# the rounding of each coefficient rather than that of the largest. (Four layers on 256 features,
# filters of 2: 27 against 49 microseconds; filters of 32: 141 against 27.)
DIRECT_PRODUCTS = 4096


@dataclass(frozen=True)
class Convolutional(MultilinearNetwork):
    """A linear network of circular convolutions, `f(x) = (x ⋆ w₁ ⋆ ⋯ ⋆ w_{L−1})ᵀw_L`.

    Parameters
    ----------
    filter_sizes
        `(k₁, …, k_L)`, at least two; the last is the number of features n, the others at most
        that. All equal to n: full-length filters.

    Notes
    -----
    The layers are L vectors, w_l of length k_l. Yun et al. define
    `[a ⋆ b]_i = Σ_j a_{(i+j−1) mod d} b_j` with indices from 1; with indices from 0,

        β_i = Σ w₁[j₁] ⋯ w_L[j_L]  over  j₁ + ⋯ + j_L ≡ i  (mod n),

    the cyclic convolution of the filters. Its Fourier transform is the product of theirs, which is
    how it is computed unless the filters are small.

    Examples
    --------
    >>> import numpy as np
    >>> network = Convolutional(filter_sizes=(2, 3))
    >>> network.coef([np.array([1.0, 10.0]), np.array([1.0, 2.0, 3.0])]).tolist()
    [31.0, 12.0, 23.0]
    """

    filter_sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        wanted = "the length of each layer's filter, at least two of them"
        given = as_several(self.filter_sizes, wanted, "filter_sizes", NetworkError)
        if not 2 <= len(given) <= MOST_LAYERS:
            raise NetworkError(f"filter_sizes must hold {wanted}; it is {shown(self.filter_sizes)}")
        sizes = tuple(as_whole_number(size, 1, "filter_sizes", NetworkError) for size in given)
        if max(sizes) > sizes[-1]:
            raise NetworkError(
                "filter_sizes must end with the number of features, which no filter exceeds; "
                f"it is {sizes}"
            )
        object.__setattr__(self, "filter_sizes", sizes)

    @property
    def depth(self) -> int:
        """Number of layers, L."""
        return len(self.filter_sizes)

    @property
    def degree(self) -> int:
        """The depth."""
        return self.depth

    @property
    def is_full_length(self) -> bool:
        """Whether every filter is as long as the data."""
        return set(self.filter_sizes) == {self.filter_sizes[-1]}

    def layer_shapes(self, task: Task) -> tuple[tuple[int, ...], ...]:
        """A vector for every filter."""
        (features,) = feature_shape(task, "convolutional")
        check_features(self, self.filter_sizes[-1], features, "the length of the last filter")
        return tuple((size,) for size in self.filter_sizes)

    def coef(self, layers: Sequence[Any]) -> Any:
        """The cyclic convolution of the filters; leading axes are kept."""
        *short, full = self.filter_sizes
        if full * sum(short) <= DIRECT_PRODUCTS:
            return _by_sums(layers)
        return _by_fourier(layers, full)

    def layer_gradients(
        self, layers: Sequence[Float], direction: Float
    ) -> tuple[Float, ...] | None:
        """The direction correlated with the convolution of the other filters."""
        *short, full = self.filter_sizes
        by_sums = full * sum(short) <= DIRECT_PRODUCTS
        return tuple(
            _correlated(direction, _others(layers, place, full, by_sums), size, by_sums)
            for place, size in enumerate(self.filter_sizes)
        )

    def tensor(self, task: Task) -> Float:
        """`M[i, j₁, …, j_L] = 1` where `j₁ + ⋯ + j_L ≡ i (mod n)`, else 0."""
        self.layer_shapes(task)
        shape = (self.filter_sizes[-1], *self.filter_sizes)
        check_tensor_size(self, shape)
        features, *indices = np.ogrid[tuple(slice(size) for size in shape)]
        return np.asarray(features == sum(indices) % shape[0], dtype=np.float64)

    def unit_layers(self, task: Task, direction: Float | None) -> tuple[Float, ...] | None:
        """Impulses, which are even and have no zero in their Fourier transform; ones have many."""
        if direction is not None:
            return None
        return tuple(np.eye(1, size)[0] for size in self.filter_sizes[:-1])

    def invariants(self, layers: Sequence[Float]) -> Float:
        """`|Fw_l|² − |Fw_L|²` at every frequency for full filters, `‖w_l‖² − ‖w_L‖²` for shorter.

        F is the unitary discrete Fourier transform; its frequencies 0 to n/2 are all that there is
        of a real filter. A full filter convolved with any even filter, and another one with its
        inverse, give the same coefficients; a shorter one would not stay short. There are no other
        conserved quadratic forms.
        """
        *others, last = layers
        spectrum = _power(last)
        norm = (last**2).sum(axis=-1, keepdims=True)
        kept = [
            _power(layer) - spectrum
            if layer.shape[-1] == last.shape[-1]
            else (layer**2).sum(axis=-1, keepdims=True) - norm
            for layer in others
        ]
        return np.moveaxis(np.concatenate(kept, axis=-1), -1, 0)

    @property
    def affine_at_zero(self) -> bool:
        """Only of full filters of length 1 or 2, whose Fourier transforms are real.

        Equal moduli of complex numbers, and equal norms, make a cone.
        """
        return self.is_full_length and self.filter_sizes[-1] <= 2


def _by_sums(layers: Sequence[Any]) -> Any:
    """One filter after the other, each as a circulant matrix of what came before times it."""
    *others, product = layers
    size = product.shape[-1]
    for layer in others[::-1]:
        shifts = (np.arange(size)[:, None] - np.arange(layer.shape[-1])) % size
        product = (product[..., shifts] @ layer[..., None])[..., 0]
    return product


def _by_fourier(layers: Sequence[Any], size: int) -> Any:
    """The product of the Fourier transforms of the filters, padded with zeros."""
    kinds = {layer.__array_namespace__() for layer in layers}
    fourier: Any = next((kind for kind in kinds if kind is not np), np).fft
    *others, last = layers
    spectrum = fourier.rfft(last, n=size)
    for layer in others:
        spectrum = spectrum * fourier.rfft(layer, n=size)
    return fourier.irfft(spectrum, n=size)


def _others(layers: Sequence[Float], place: int, size: int, by_sums: bool) -> Float:
    """The convolution of all filters but one, as long as the data."""
    *others, last = [layer for k, layer in enumerate(layers) if k != place]
    padding = [(0, 0)] * (last.ndim - 1) + [(0, size - last.shape[-1])]
    whole = [*others, np.pad(last, padding)]
    return np.asarray(_by_sums(whole) if by_sums else _by_fourier(whole, size))


def _correlated(direction: Float, filter_: Float, size: int, by_sums: bool) -> Float:
    """`Σ_i g_i c_{i−j}` for j up to `size`."""
    length = filter_.shape[-1]
    if by_sums:
        shifts = (np.arange(length)[:, None] - np.arange(size)) % length
        return np.asarray((direction[..., None, :] @ filter_[..., shifts])[..., 0, :])
    product = np.fft.rfft(direction) * np.fft.rfft(filter_).conj()
    return np.fft.irfft(product, n=length)[..., :size]


def _power(layer: Float) -> Float:
    """Squared moduli of the unitary Fourier transform at the frequencies 0 to n/2."""
    spectrum = np.fft.rfft(layer, norm="ortho")
    power: Float = spectrum.real**2 + spectrum.imag**2
    return power
