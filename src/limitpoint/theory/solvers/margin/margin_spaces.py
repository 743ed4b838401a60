"""The coordinates in which a network's bias is a sum of norms."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.linalg import EPS
from limitpoint.theory.solvers.margin.margin_problem import Integers, MarginProblem

__all__ = ["Coordinates", "Euclidean", "Fourier", "MarginSpace", "Transformed"]

# A fast Fourier transform rounds by this many eps of the vector's length for every halving of it.
TRANSFORM_ROUNDING = 4.0
# A sum of n products rounds by n eps of the sum of their moduli, at most; as much again for sums in
# which products have been added up before.
PRODUCT_ROUNDING = 2.0

Parts = NDArray[np.float64] | NDArray[np.complex128]


class MarginSpace(ABC):
    """Coordinates ρ of the coefficients β, cut into groups whose norms are added up.

    `problem` and `coef` are for the solver. `primal_parts` and `dual_parts` are for the
    certificate, which has its own way to the same norm: parts, one per row, all of weight 1.
    """

    @abstractmethod
    def problem(self, signed: Float) -> MarginProblem:
        """The margin problem of samples given as `y_i x_i`."""

    @abstractmethod
    def coef(self, coordinates: Float) -> Float:
        """Coefficients from coordinates."""

    @abstractmethod
    def coordinates(self, coef: Float) -> Float:
        """Coordinates from coefficients, where these determine them."""

    @abstractmethod
    def primal_parts(self, coef: Float, coordinates: Float) -> Parts:
        """The parts of a solution; the norm is the sum of theirs. They may be complex."""

    def parts_rounding(self, coef: Float) -> float:
        """What a primal part is off by rounding; nothing where no transform is needed."""
        return 0.0

    def coef_rounding(self, coordinates: Float) -> Float:
        """What coefficients are off by rounding; nothing where no transform is needed."""
        return np.zeros_like(coordinates)

    @abstractmethod
    def dual_parts(self, xi: Float) -> Parts:
        """The parts of `Xᵀν`, none of which may have a norm above 1. They may be complex."""


@dataclass(frozen=True)
class Coordinates(MarginSpace):
    """`‖β‖₁`: every coefficient is a group of its own."""

    def problem(self, signed: Float) -> MarginProblem:
        """On the samples as they are."""
        n = signed.shape[1]
        return MarginProblem.of(signed, np.ones(n, dtype=np.int64), np.ones(n))

    def coef(self, coordinates: Float) -> Float:
        """Coefficients are the coordinates themselves."""
        return coordinates

    def coordinates(self, coef: Float) -> Float:
        """Coordinates are the coefficients themselves."""
        return coef

    def primal_parts(self, coef: Float, coordinates: Float) -> Parts:
        """Each coefficient by itself: groups of one."""
        return coef[:, None]

    def dual_parts(self, xi: Float) -> Parts:
        """Each mirror coordinate by itself: groups of one."""
        return xi[:, None]


@dataclass(frozen=True)
class Euclidean(MarginSpace):
    """`‖β‖₂`: all coefficients are one group."""

    def problem(self, signed: Float) -> MarginProblem:
        """On the samples as they are."""
        return MarginProblem.of(signed, np.array([signed.shape[1]], dtype=np.int64), np.ones(1))

    def coef(self, coordinates: Float) -> Float:
        """Coefficients are the coordinates themselves."""
        return coordinates

    def coordinates(self, coef: Float) -> Float:
        """Coordinates are the coefficients themselves."""
        return coef

    def primal_parts(self, coef: Float, coordinates: Float) -> Parts:
        """All coefficients together: one group."""
        return coef[None, :]

    def dual_parts(self, xi: Float) -> Parts:
        """All mirror coordinates together: one group."""
        return xi[None, :]


@dataclass(frozen=True)
class Fourier(MarginSpace):
    """`‖Fβ‖₁` with the unitary discrete Fourier transform F: one group per frequency.

    A real β has equal moduli at the frequencies ±k. With `√2 (Re, Im)` of one of the two as
    coordinates, and the frequencies 0 and n/2, which are real, the transform is orthogonal, and
    the norm is the sum of the groups' norms with weight √2 for the pairs and 1 for the others.
    """

    n: int

    def problem(self, signed: Float) -> MarginProblem:
        """On the transformed samples."""
        sizes = self._sizes()
        rounding = self._rounding(signed)[:, None]
        return MarginProblem.of(self.coordinates(signed), sizes, np.sqrt(sizes), rounding)

    def coef(self, coordinates: Float) -> Float:
        """The inverse transform; the coordinates are the last axis."""
        spectrum = np.zeros((*coordinates.shape[:-1], self.n // 2 + 1), dtype=np.complex128)
        starts, paired = self._layout()
        spectrum[..., ~paired] = coordinates[..., starts[~paired]]
        spectrum.real[..., paired] = coordinates[..., starts[paired]] / np.sqrt(2)
        spectrum.imag[..., paired] = coordinates[..., starts[paired] + 1] / np.sqrt(2)
        coef: Float = np.fft.irfft(spectrum, n=self.n, norm="ortho")
        return coef

    def coordinates(self, coef: Float) -> Float:
        """The transform; the coefficients are the last axis."""
        spectrum = np.fft.rfft(coef, norm="ortho")
        starts, paired = self._layout()
        coordinates = np.empty_like(coef)
        coordinates[..., starts[~paired]] = spectrum.real[..., ~paired]
        coordinates[..., starts[paired]] = np.sqrt(2) * spectrum.real[..., paired]
        coordinates[..., starts[paired] + 1] = np.sqrt(2) * spectrum.imag[..., paired]
        return coordinates

    def coef_rounding(self, coordinates: Float) -> Float:
        """That of a transform."""
        return np.full(self.n, float(self._rounding(coordinates)))

    def parts_rounding(self, coef: Float) -> float:
        """That of a transform there and back."""
        return 2 * float(self._rounding(coef))

    def primal_parts(self, coef: Float, coordinates: Float) -> Parts:
        """All n complex entries of Fβ."""
        return np.fft.fft(coef, norm="ortho")[:, None]

    def dual_parts(self, xi: Float) -> Parts:
        """All n complex entries of the mirror coordinates' transform."""
        return np.fft.fft(xi, norm="ortho")[:, None]

    def _rounding(self, vectors: Float) -> Float:
        """Of each entry of the transforms of vectors, which are the last axis."""
        # The largest entry is taken out, so that squares neither overflow nor vanish.
        largest = float(np.abs(vectors).max()) or 1.0
        lengths = largest * np.linalg.norm(vectors / largest, axis=-1)
        rounding: Float = TRANSFORM_ROUNDING * EPS * (1.0 + np.log2(self.n)) * lengths
        return rounding

    def _sizes(self) -> Integers:
        """One for the frequencies 0 and n/2, two for the others."""
        frequencies = np.arange(self.n // 2 + 1)
        return np.where((frequencies == 0) | (2 * frequencies == self.n), 1, 2)

    def _layout(self) -> tuple[Integers, Integers]:
        """Where each frequency begins, and a mask of those that are pairs."""
        sizes = self._sizes()
        return np.cumsum(sizes) - sizes, sizes == 2


@dataclass(frozen=True, eq=False)
class Transformed(MarginSpace):
    """`min ‖ρ‖₁` with `β = Sᵀρ`, for a matrix S (r, n) of full column rank."""

    S: Float

    def problem(self, signed: Float) -> MarginProblem:
        """On the samples `S x_i`."""
        r, n = self.S.shape
        rounding = PRODUCT_ROUNDING * n * EPS * (np.abs(signed) @ np.abs(self.S.T))
        sizes = np.ones(r, dtype=np.int64)
        return MarginProblem.of(signed @ self.S.T, sizes, np.ones(r), rounding)

    def coef(self, coordinates: Float) -> Float:
        """`Sᵀρ`."""
        return coordinates @ self.S

    def coordinates(self, coef: Float) -> Float:
        """`S^{−T}β`; S must be square."""
        return np.asarray(np.linalg.solve(self.S.T, coef), dtype=np.float64)

    def coef_rounding(self, coordinates: Float) -> Float:
        """That of sums of products."""
        rounding: Float = np.abs(coordinates) @ np.abs(self.S)
        return PRODUCT_ROUNDING * len(self.S) * EPS * rounding

    def primal_parts(self, coef: Float, coordinates: Float) -> Parts:
        """Each coordinate by itself: groups of one."""
        return coordinates[:, None]

    def dual_parts(self, xi: Float) -> Parts:
        """`S Xᵀν`, entry by entry."""
        return (self.S @ xi)[:, None]
