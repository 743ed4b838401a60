"""One block's coefficient `k(θ)` as a table needs it: near zero a Taylor series, then as it is.

Notation
--------
H    the Hessian of k at 0, with eigenvalues λ_j
z    the block in the eigenbasis of H, `θ = Vz`
r    its norm
T_m  the tensor of the m-th derivatives of k at 0, in that basis

A formula such as `(e^b − 1)²` loses `ε/r` of itself near zero, where the Taylor series loses `r^4`:
each is used where it is the better one.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float
from limitpoint.mirror.general.eigen_components import eigen_components

__all__ = ["BlockModel"]

EPS = float(np.finfo(np.float64).eps)
# A relative error that vanishes against rounding (1.1e-16) even after a few of them are added.
BELOW_ROUNDING = 1e-17
# Eigenvalues below this part of the largest are zero up to the rounding of the Hessian.
ZERO_EIGENVALUE = 1e-13
# The radii at which series and formula are compared, in units of the nonlinearity's own length.
RADII = np.logspace(-6, -1, 26)
# Directions in which they are compared.
DIRECTIONS = 16
# Roundings of a component of the gradient that is zero, relative to the whole: of the formula, and
# of the products with the eigenvectors.
ROUNDING_UNITS = 8


@dataclass(frozen=True, eq=False)
class BlockModel:
    """`k` of one block, its derivatives at zero, and as functions of arrays (N, p).

    Parameters
    ----------
    hessian_at_zero
        H, in the block's own coordinates.
    eigenvalues, basis
        Those of H, ascending; the basis has the eigenvectors as columns.
    tensors
        T_3, T_4 and T_5 in the eigenbasis.
    value, gradient, hessian
        k in the block's own coordinates; its gradient and Hessian in the eigenbasis.
    """

    hessian_at_zero: Float
    eigenvalues: Float
    basis: Float
    tensors: tuple[Float, ...]
    value: Callable[[Float], Float]
    gradient: Callable[[Float], Float]
    hessian: Callable[[Float], Float]

    @classmethod
    def of(
        cls,
        hessian_at_zero: Float,
        tensors: Sequence[Float],
        value: Callable[[Float], Float],
        gradient: Callable[[Float], Float],
        hessian: Callable[[Float], Float],
    ) -> "BlockModel":
        """The model, from tensors and functions in the block's own coordinates."""
        symmetric = (hessian_at_zero + hessian_at_zero.T) / 2
        eigenvalues, basis = np.linalg.eigh(symmetric)
        largest = np.abs(eigenvalues).max(initial=0.0)
        eigenvalues = np.where(np.abs(eigenvalues) <= ZERO_EIGENVALUE * largest, 0.0, eigenvalues)
        return cls(
            hessian_at_zero=symmetric,
            eigenvalues=eigenvalues,
            basis=basis,
            tensors=tuple(_rotate(tensor, basis) for tensor in tensors),
            value=value,
            gradient=lambda z: gradient(z @ basis.T) @ basis,
            hessian=lambda z: np.einsum("ai,nab,bj->nij", basis, hessian(z @ basis.T), basis),
        )

    def components(self, blocks: Float) -> tuple[Float, Float]:
        """Blocks (N, p) in the eigenbasis, and how far rounding of H may put them off.

        Eigenvectors of a rounded H are off by its rounding over the gap between eigenvalues; those
        of an H of few binary digits, which no rounding has made, are refined to all digits. Equal
        eigenvalues share their plane, in which any basis will do.
        """
        return eigen_components(self.hessian_at_zero, self.eigenvalues, self.basis, blocks)

    @property
    def size(self) -> int:
        """Number of parameters of the block."""
        return len(self.eigenvalues)

    @property
    def rate(self) -> float:
        """`‖H‖`: curve parameters in the linear stage are mirror coordinates times this."""
        return float(np.abs(self.eigenvalues).max())

    @cached_property
    def nonlinear_length(self) -> float:
        """The radius at which some Taylor term is as large as the linear one, at most 1."""
        slow = self._slowest
        lengths = [
            (slow / strength) ** (1 / order)
            for order, strength in enumerate(self._strengths, start=1)
            if strength > 0 and slow > 0
        ]
        return float(min([1.0, *lengths]))

    @cached_property
    def linear_radius(self) -> float:
        """Below this radius the gradient is `Hz` up to rounding; zero if H is zero."""
        if self.rate == 0:
            return 0.0
        # What the series leaves out starts with the power r^4 relative to the linear term.
        radius = BELOW_ROUNDING**0.25 * self.nonlinear_length
        for order, strength in enumerate(self._strengths, start=1):
            if strength > 0:
                radius = min(radius, (BELOW_ROUNDING * self._slowest / strength) ** (1 / order))
        return float(radius)

    def invariant_planes(self, free: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Components j for which ∇k does not lead out of `z_j = 0`, for blocks (N, p).

        Only the components that are free are ever other than zero. Judged at random points of the
        plane, up to the rounding of the gradient: k is analytic, so what holds there holds on all
        of it.
        """
        patterns, which = np.unique(free, axis=0, return_inverse=True)
        return np.array([self._invariant(pattern) for pattern in patterns])[which.reshape(-1)]

    def _invariant(self, free: NDArray[np.bool_]) -> NDArray[np.bool_]:
        key = free.tobytes()
        if key not in self._invariants:
            rng = np.random.default_rng(0)
            points = rng.standard_normal((2 * DIRECTIONS, self.size)) * free
            points *= self.nonlinear_length * np.repeat([0.1, 0.5], DIRECTIONS)[:, None]
            keeps = free.copy()
            for j in np.flatnonzero(free):
                plane = points.copy()
                plane[:, j] = 0.0
                with np.errstate(all="ignore"):
                    gradient = self.gradient(plane)
                    size = np.linalg.norm(gradient, axis=1)
                    rounding = max(ROUNDING_UNITS * EPS, 4 * self.disagreement) * size
                    keeps[j] = bool((np.abs(gradient[:, j]) <= rounding).all())
            self._invariants[key] = keeps
        return self._invariants[key]

    @cached_property
    def _invariants(self) -> dict[bytes, NDArray[np.bool_]]:
        return {}

    @property
    def taylor_radius(self) -> float:
        """Where the series and the formula agree best: the errors of both are equal there."""
        return self._comparison[0]

    @property
    def disagreement(self) -> float:
        """How well they agree there, relative to the gradient: the accuracy of k itself."""
        return self._comparison[1]

    @cached_property
    def _comparison(self) -> tuple[float, float]:
        rng = np.random.default_rng(0)
        directions = rng.standard_normal((self.size, DIRECTIONS))
        directions /= np.linalg.norm(directions, axis=0)
        radii = self.nonlinear_length * RADII
        with np.errstate(all="ignore"):
            gaps = np.array([self._disagreement(radius, directions) for radius in radii])
        gaps = np.where(np.isfinite(gaps), gaps, np.inf)
        # Where they agree to rounding at several radii (polynomials), the smallest will do.
        best = np.flatnonzero(gaps <= 2 * gaps.min())[0]
        return float(radii[best]), float(gaps[best])

    def is_exact_in_components(self, radii: Float) -> NDArray[np.bool_]:
        """Whether ∇k up to these radii is right in every component, or relative to the whole only.

        The series is, in its eigenbasis; components of a formula may be differences of large terms.
        """
        return np.asarray(radii < self.taylor_radius)

    def scaled_gradient(self, radii: Float, directions: Float) -> Float:
        """`∇k(re)/r` for radii (N,) and vectors e (p, N), of any length near 1."""
        lengths = radii * np.sqrt((directions * directions).sum(axis=0))
        near = lengths < self.taylor_radius
        if near.all():
            return self._series(radii, directions)
        if not near.any():
            return self._formula(radii, directions)
        result = np.empty_like(directions)
        result[:, near] = self._series(radii[near], directions[:, near])
        result[:, ~near] = self._formula(radii[~near], directions[:, ~near])
        return result

    def rounding(self, blocks: Float) -> Float:
        """Relative error of ∇k at blocks (N, p) in the eigenbasis, from their own rounding alone.

        Large where ∇k is a small difference of large terms, as on slow manifolds far out.
        """
        result = np.zeros(len(blocks))
        far = np.linalg.norm(blocks, axis=1) > self.taylor_radius
        if far.any():
            at = blocks[far]
            perturbation = np.einsum("nij,nj->ni", np.abs(self.hessian(at)), np.abs(at))
            steep = np.linalg.norm(self.gradient(at), axis=1)
            result[far] = EPS * np.linalg.norm(perturbation, axis=1) / steep
        return np.maximum(result, self.disagreement)

    def critical_distances(self, blocks: Float, sides: Float) -> Float:
        """Newton's step along ∇k to where it vanishes, relative to the norm of blocks (N, p).

        Infinite where the gradient grows in the direction of travel, up ∇k on the side 1 and down
        it on the side −1: a singularity ahead makes steps as short as a critical point does.
        """
        slope = self.gradient(blocks)
        with np.errstate(divide="ignore", invalid="ignore"):
            steep = np.linalg.norm(slope, axis=1)
            unit = slope / steep[:, None]
            bend = -sides * np.einsum("ni,nij,nj->n", unit, self.hessian(blocks), unit)
            found = steep / bend / np.linalg.norm(blocks, axis=1)
        return np.where(steep == 0, 0.0, np.where(bend > 0, found, np.inf))

    def start_value(self, blocks: Float, scale: float) -> Float:
        """`k(sθ)` for blocks (N, p) in their own coordinates."""
        size = scale * np.linalg.norm(blocks, axis=1)
        quadratic = 0.5 * scale**2 * np.einsum("na,ab,nb->n", blocks, self.hessian_at_zero, blocks)
        series = quadratic + self._beyond_quadratic(scale * (blocks @ self.basis))
        near = size < self.taylor_radius
        with np.errstate(all="ignore"):
            far = self.value(scale * blocks)
        return np.asarray(np.where(near, series, far))

    def value_at(self, z: Float) -> Float:
        """`k` at blocks (N, p) in the eigenbasis; right relative to `‖z‖²`."""
        near = np.linalg.norm(z, axis=1) < self.taylor_radius
        result = 0.5 * (z * z) @ self.eigenvalues + self._beyond_quadratic(z)
        if not near.all():
            result[~near] = self.value(z[~near] @ self.basis.T)
        return np.asarray(result)

    def _beyond_quadratic(self, z: Float) -> Float:
        """The terms of the series from the cubic ones on."""
        total = np.zeros(len(z))
        for order, tensor in enumerate(self.tensors, start=3):
            total += (z.T * _contract(tensor, z.T)).sum(axis=0) / math.factorial(order)
        return total

    @cached_property
    def _slowest(self) -> float:
        moving = np.abs(self.eigenvalues[self.eigenvalues != 0])
        return float(moving.min(initial=np.inf)) if len(moving) else 0.0

    @cached_property
    def _strengths(self) -> tuple[float, ...]:
        """Size of the gradient's Taylor terms at radius 1, of orders 2, 3 and 4."""
        return tuple(
            float(np.linalg.norm(tensor)) / math.factorial(order)
            for order, tensor in enumerate(self.tensors, start=2)
        )

    @cached_property
    def component_strengths(self) -> tuple[Float, ...]:
        """The same for each component of the gradient, (p,)."""
        return tuple(
            np.linalg.norm(tensor.reshape(self.size, -1), axis=1) / math.factorial(order)
            for order, tensor in enumerate(self.tensors, start=2)
        )

    def _formula(self, radii: Float, directions: Float) -> Float:
        return np.asarray(self.gradient((radii * directions).T).T / radii)

    def _series(self, radii: Float, directions: Float) -> Float:
        """`Λe + r T_3[e,e]/2 + r² T_4[e,e,e]/6 + …`, to all orders: small ones move zeros."""
        result = directions * self.eigenvalues[:, None]
        for power, (tensor, strength) in enumerate(
            zip(self.tensors, self._strengths, strict=True), start=1
        ):
            if strength > 0:
                term = _contract(tensor, directions)
                result = result + (radii**power / math.factorial(power + 1)) * term
        return result

    def _disagreement(self, radius: float, directions: Float) -> float:
        radii = np.full(directions.shape[1], radius)
        formula = self._formula(radii, directions)
        gap = self._series(radii, directions) - formula
        return float(np.linalg.norm(gap, axis=0).max() / np.linalg.norm(formula, axis=0).min())


def _rotate(tensor: Float, basis: Float) -> Float:
    """The tensor in the basis: every axis times V."""
    for _ in range(tensor.ndim):
        tensor = np.tensordot(tensor, basis, axes=(0, 0))
    return tensor


def _contract(tensor: Float, vectors: Float) -> Float:
    """`T[v, …, v]` with one axis left, for vectors (p, N)."""
    size, count = vectors.shape
    result = tensor.reshape(-1, size) @ vectors
    for _ in range(tensor.ndim - 2):
        result = (result.reshape(-1, size, count) * vectors).sum(axis=1)
    return result
