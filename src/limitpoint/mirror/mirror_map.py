"""The interface of a mirror map.

Notation
--------
ξ   the mirror coordinate of a coefficient, `ξ_i(t) = ∫ u_i dt` with `u = loss_factor · Xᵀ(y − Xβ)`
Ψ   the mirror map, `β_i = Ψ_i(ξ_i)`, increasing, `Ψ_i(0) = β_i(0)`
Q   the potential, `Q_i' = Ψ_i⁻¹`, that the limit minimises among the interpolators
Ψ̂   its convex conjugate, `Ψ̂_i' = Ψ_i`
s   the scale of the initialisation
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.mirror.activation_times import ActivationTimes

__all__ = ["MirrorMap", "MirrorPoint"]


class MirrorPoint(NamedTuple):
    """Everything a solver needs at given mirror coordinates: `Ψ(ξ)`, `Ψ'(ξ)` and `Ψ̂(ξ)`."""

    coefs: Float
    slopes: Float
    conjugates: Float


class MirrorMap(ABC):
    """One increasing function per coefficient, evaluated on all coefficients at once.

    Arrays of mirror coordinates and coefficients have the coefficient as their last axis, so that a
    whole trajectory (times × n) can be passed.
    """

    @property
    @abstractmethod
    def log_scale(self) -> float:
        """Logarithm of the initialisation's scale."""

    @property
    @abstractmethod
    def degree(self) -> int:
        """Homogeneity L of the network: layers times c give coefficients times c^L."""

    @property
    @abstractmethod
    def lower(self) -> Float:
        """Infimum of each coefficient: −∞, or 0 where it cannot become negative."""

    @property
    @abstractmethod
    def upper(self) -> Float:
        """Supremum of each coefficient: ∞, or 0 where it cannot become positive."""

    @abstractmethod
    def evaluate(self, xi: Float) -> MirrorPoint:
        """`Ψ`, `Ψ'` and `Ψ̂` together.

        `Ψ̂_i(ξ) = max_β (ξβ − Q_i(β))`. All three overflow to ±∞ and vanish to 0 as floats do.
        """

    @property
    def log_mirror_unit(self) -> float | Float:
        """Logarithm of the size of mirror coordinates relative to their distance from a pole."""
        return 0.0

    def resolves(self, size: float) -> bool:
        """Whether float64 mirror coordinates give coefficients of this size, also along a flow."""
        del size
        return True

    def coefs_and_slopes(self, xi: Float) -> tuple[Float, Float]:
        """`Ψ` and `Ψ'` together."""
        point = self.evaluate(xi)
        return point.coefs, point.slopes

    def coefs(self, xi: Float) -> Float:
        """`β = Ψ(ξ)`."""
        return self.coefs_and_slopes(xi)[0]

    def start_coefs(self) -> Float:
        """`Ψ(0)`, where training starts."""
        return self.coefs(np.zeros_like(self.lower))

    def slopes(self, xi: Float) -> Float:
        """`Ψ'(ξ)`, the squared norm of the coefficient's gradient in its parameters."""
        return self.coefs_and_slopes(xi)[1]

    def slopes_of(self, coefs: Float) -> Float:
        """`Ψ'` where the coefficients are these."""
        return self.slopes(self.mirror_coords(coefs))

    def growth_of(self, coefs: Float) -> Float:
        """How far from the start coefficients are.

        Their mirror coordinates, or logarithms of parameters.
        """
        return self.mirror_coords(coefs)

    @abstractmethod
    def signs_and_logs(self, xi: Float) -> tuple[Float, Float]:
        """Sign and log-modulus of `Ψ(ξ)`, also where float64 cannot hold the value itself."""

    @abstractmethod
    def mirror_coords(self, coefs: Float) -> Float:
        """`ξ = Ψ⁻¹(β) = Q'(β)`; infinite at a bound of the coefficient, 0 for a frozen one."""

    @abstractmethod
    def potential(self, coefs: Float) -> Float:
        """`Q_i(β_i)` for each coefficient, normalised by `Q_i(0) = 0`."""

    @abstractmethod
    def activation_times(self) -> ActivationTimes:
        """Activation times of the direction, and their unit at this scale."""

    @abstractmethod
    def at_log_scale(self, log_scale: float) -> "MirrorMap":
        """The same direction at another scale."""

    def at_log_scales(self, log_scales: Sequence[float]) -> Iterator["MirrorMap"]:
        """The same direction at one scale after the other."""
        return (self.at_log_scale(log_scale) for log_scale in log_scales)

    def across(self, log_scales: Float) -> "MirrorMap | None":
        """The same direction at several scales at once: row k of every array is at scale k.

        Its scale, and what is the same multiple of it for all coefficients, are then columns.
        None where each scale has a table of its own.
        """
        del log_scales
        return None
