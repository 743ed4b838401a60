"""The start of a block's curve, where only the Hessian matters, in closed form.

While the block is so small that cubic terms vanish against rounding,

    z_j = s z_j* e^{λ_j ξ},   k = ½ Σ λ_j z_j²,   Ψ̂ = ¼ Σ z_j² + constant,

with signs and logarithms kept apart, so that no scale is too small. Curve parameters are `‖H‖ξ`
here.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float

__all__ = ["LinearStage"]

# Below this curve parameter the change of k from its start is computed as such (by expm1).
SMALL_CURVE_PARAM = 0.5
# Components below this part of the whole are zero up to the rounding of the eigenvectors.
ZERO_COMPONENT = 8 * float(np.finfo(np.float64).eps)
# Bisections of an interval of doubles end after this many halvings, whatever its length.
HALVINGS = 80


@dataclass(frozen=True, eq=False)
class LinearStage:
    """The linear motion of blocks (N, p) in the eigenbasis, and where it ends on either side.

    Parameters
    ----------
    eigenvalues
        λ (p,).
    components
        z* (N, p), with those that are zero up to rounding set to zero.
    quadratic
        `½θ*ᵀHθ*` (N,), exact where it is zero.
    log_scale
        log s.
    radius
        The stage ends where the norm of a block exceeds this, (N,); zero for one that has none.
    """

    eigenvalues: Float
    components: Float
    quadratic: Float
    log_scale: float
    radius: Float

    @cached_property
    def logs(self) -> Float:
        """`log|z*|`."""
        with np.errstate(divide="ignore"):
            return np.log(np.abs(self.components))

    @cached_property
    def rate(self) -> float:
        """`‖H‖`."""
        return float(np.abs(self.eigenvalues).max())

    @cached_property
    def active(self) -> NDArray[np.bool_]:
        """Blocks that start inside the stage, and not at zero."""
        present = (self.components != 0).any(axis=1)
        with np.errstate(divide="ignore"):
            small = self.log_sizes < np.log(self.radius)
        return np.asarray(small & present & (self.radius > 0))

    @cached_property
    def log_sizes(self) -> Float:
        """`log ‖z‖` at the start."""
        return _log_norm(self.logs) + self.log_scale

    def with_radius(self, radius: Float) -> "LinearStage":
        """The same motion, ended elsewhere."""
        return replace(self, radius=radius)

    def exits(self, side: int) -> Float:
        """`|ξ|` at which each block leaves the stage on that side; 0 if outside from the start.

        Infinite where nothing grows on that side, and at vanishing scale.
        """
        speeds = side * self.eigenvalues
        growing = (self.components != 0) & (speeds > 0)
        exits = np.where(self.active & ~growing.any(axis=1), np.inf, 0.0)
        rows = np.flatnonzero(self.active & growing.any(axis=1))
        if len(rows) == 0:
            return exits
        if np.isneginf(self.log_scale):
            exits[rows] = np.inf
            return exits
        logs, target = self.logs[rows], np.log(self.radius[rows]) - self.log_scale
        # log‖φ‖ is convex and below its target at 0: Newton's method from the right is monotone.
        alone = np.where(
            growing[rows], (target[:, None] - logs) / np.where(speeds > 0, speeds, 1), np.inf
        )
        xi = alone.min(axis=1)  # where the first of the growing components is there by itself
        for _ in range(HALVINGS):
            terms = logs + xi[:, None] * speeds
            excess = _log_norm(terms) - target
            weights = np.exp(2 * (terms - _log_norm(terms)[:, None]))
            step = excess / (weights @ speeds)
            xi = xi - step
            if np.all(np.abs(step) <= 4 * np.finfo(np.float64).eps * np.abs(xi)):
                break
        exits[rows] = xi
        return exits

    def directions_at(self, rows: NDArray[np.intp], xi: Float, side: int) -> Float:
        """Unit vectors of the blocks at mirror coordinates (signed).

        At an infinite one the fastest direction.
        """
        speeds = side * self.eigenvalues
        with np.errstate(invalid="ignore", under="ignore"):
            terms = self.logs[rows] + np.where(np.isinf(xi), 0.0, xi)[:, None] * (self.eigenvalues)
            finite = np.sign(self.components[rows]) * np.exp(terms - _log_norm(terms)[:, None])
        order = np.where(self.components[rows] != 0, speeds, -np.inf)
        fastest = np.where(order == order.max(axis=1, keepdims=True), self.components[rows], 0.0)
        fastest = fastest / np.linalg.norm(fastest, axis=1, keepdims=True)
        return np.where(np.isinf(xi)[:, None], fastest, finite)

    def log_directions_at(self, rows: NDArray[np.intp], xi: Float) -> Float:
        """Log-moduli of the components of those at finite mirror coordinates: none is too small."""
        with np.errstate(invalid="ignore"):
            terms = self.logs[rows] + xi[:, None] * self.eigenvalues
        return np.asarray(terms - _log_norm(terms)[:, None])

    def signs_and_logs(self, columns: NDArray[np.intp], xi: Float) -> tuple[Float, Float]:
        """Sign and log-modulus of k at ξ, for the blocks in `columns` (same shape)."""
        rising, falling = self._log_parts(columns, xi)
        near = self.quadratic[columns] + self._change(columns, xi)
        is_near = np.abs(xi) * self.rate < SMALL_CURVE_PARAM
        with np.errstate(all="ignore"):
            gap = rising - falling
            far = np.maximum(rising, falling) + np.log(-np.expm1(-np.abs(gap)))
            logs = np.where(is_near, np.log(np.abs(near)), far)
            signs = np.sign(np.where(is_near, near, gap))
        return np.where(np.isnan(signs), 0.0, signs), logs + 2 * self.log_scale

    def log_slopes(self, columns: NDArray[np.intp], xi: Float) -> Float:
        """`log dk/dξ = log ‖Hφ‖²`."""
        with np.errstate(divide="ignore"):
            terms = self._terms(columns, xi) + 2 * np.log(np.abs(self.eigenvalues))
        return _log_sum(terms) + 2 * self.log_scale

    def conjugates(self, columns: NDArray[np.intp], xi: Float) -> Float:
        """`Ψ̂`, zero at the start."""
        exponents = 2 * xi[..., None] * self.eigenvalues
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            # log|e^x − 1|, without overflow: what multiplies it may be far below any float.
            growth = np.maximum(exponents, 0.0) + np.log(-np.expm1(-np.abs(exponents)))
            logs = 2 * (self.logs[columns] + self.log_scale) + growth
            terms = np.sign(exponents) * np.exp(np.where(np.isnan(logs), -np.inf, logs))
            return np.asarray(0.25 * terms.sum(axis=-1))

    def components_at(self, columns: NDArray[np.intp], xi: Float) -> Float:
        """The components themselves, as far as float64 holds it."""
        with np.errstate(under="ignore", over="ignore"):
            logs = self.logs[columns] + self.log_scale + xi[..., None] * self.eigenvalues
            return np.asarray(np.sign(self.components[columns]) * np.exp(logs))

    def mirror_of(self, columns: NDArray[np.intp], coefs: Float, low: Float, high: Float) -> Float:
        """The mirror coordinate between `low` and `high` at which k has the given value.

        By bisection.
        """
        signs = np.sign(coefs)
        with np.errstate(divide="ignore"):
            logs = np.log(np.abs(coefs))
        left, right = low.copy(), high.copy()
        for _ in range(HALVINGS):
            middle = left + (right - left) / 2
            sign, log = self.signs_and_logs(columns, middle)
            below = np.where(
                sign == signs, np.where(signs > 0, log < logs, log > logs), sign < signs
            )
            below = np.where((signs == 0) & (sign == 0), False, below)
            left, right = np.where(below, middle, left), np.where(below, right, middle)
        return left + (right - left) / 2

    def _terms(self, columns: NDArray[np.intp], xi: Float) -> Float:
        """`log z_j²` at scale 1."""
        return 2 * (self.logs[columns] + xi[..., None] * self.eigenvalues)

    def _log_parts(self, columns: NDArray[np.intp], xi: Float) -> tuple[Float, Float]:
        """Logs of the positive and of the negative part of k, at scale 1."""
        with np.errstate(divide="ignore"):
            weights = np.log(np.abs(self.eigenvalues) / 2)
        terms = self._terms(columns, xi) + weights
        rising = np.where(self.eigenvalues > 0, terms, -np.inf)
        falling = np.where(self.eigenvalues < 0, terms, -np.inf)
        return _log_sum(rising), _log_sum(falling)

    def _change(self, columns: NDArray[np.intp], xi: Float) -> Float:
        """`k(ξ) − k(0)` at scale 1: terms of one sign."""
        squares = self.components[columns] ** 2
        with np.errstate(over="ignore", invalid="ignore"):
            growth = np.expm1(2 * xi[..., None] * self.eigenvalues)
            return np.asarray((0.5 * self.eigenvalues * squares * growth).sum(axis=-1))


def _log_sum(terms: Float) -> Float:
    """`log Σ e^term` over the last axis."""
    high = terms.max(axis=-1, keepdims=True)
    safe = np.where(np.isfinite(high), high, 0.0)
    with np.errstate(divide="ignore", under="ignore"):
        return np.asarray((safe + np.log(np.exp(terms - safe).sum(axis=-1, keepdims=True)))[..., 0])


def _log_norm(logs: Float) -> Float:
    """`log ‖z‖` from `log|z_j|`."""
    return 0.5 * _log_sum(2 * logs)
