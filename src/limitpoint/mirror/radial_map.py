"""Radial maps: networks with a dual per sample, but no mirror coordinate per coefficient.

Notation: z the first layer (up to a sign), ρ = ‖z‖², `β = Ξ(ρ) z` with Ξ > 0 increasing. Under
gradient flow `dz/dt = Ξ(ρ)·(−∇_β loss)`: in the time `dτ = Ξ dt` it is `z = z(0) + Xᵀν` with
`dν/dτ = loss_factor (y − Xβ)`. Since `β = ∇Φ(z)`, `Φ = ½∫Ξ dρ`, this is the mirror flow of the
potential `Φ*` up to a change of time (lyu, Theorems 1 and 2).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq

from limitpoint.foundation.arrays import Float

__all__ = ["PairRadius", "PowerRadius", "RadialMap"]

# Accuracy of the inversion of the map, in logarithms, and of the potential by quadrature.
ACCURACY = 1e-14
QUADRATURE = 1e-13


@dataclass(frozen=True, eq=False)
class RadialMap(ABC):
    """`β = Ξ(‖z‖²) z`.

    Attributes
    ----------
    start
        z at the start of training.
    """

    start: Float

    @property
    @abstractmethod
    def lowest(self) -> float:
        """The ρ at which Ξ vanishes; below it the map ends."""

    @abstractmethod
    def log_multiplier(self, above: float) -> tuple[float, float]:
        """`log Ξ` and its derivative in ρ at `ρ = lowest + above`; loses nothing next to it."""

    @abstractmethod
    def conjugate(self, square: float) -> float:
        """`Φ = ½∫Ξ dρ` from `lowest`, or 0 if that is larger, to ρ."""

    @abstractmethod
    def square_of(self, norm: float) -> float:
        """The ρ at which coefficients have this norm."""

    def multiplier(self, square: float) -> float:
        """`Ξ(ρ)`; zero at and below `lowest`."""
        if square <= self.lowest:
            return 0.0
        with np.errstate(under="ignore", over="ignore"):
            return float(np.exp(self.log_multiplier(square - self.lowest)[0]))

    def coef(self, z: Float) -> Float:
        """`β = Ξ(‖z‖²) z`."""
        return self.multiplier(float(z @ z)) * z

    def jacobian_times(self, z: Float, matrix: Float) -> Float:
        """`dβ/dz` times a matrix (n, …): `Ξ (M + 2(log Ξ)' z zᵀM)`."""
        square = float(z @ z)
        if square <= self.lowest:
            return np.zeros_like(matrix)
        _, slope = self.log_multiplier(square - self.lowest)
        along = np.tensordot(z, matrix, axes=1)
        result: Float = self.multiplier(square) * (matrix + 2 * slope * np.multiply.outer(z, along))
        return result

    def inverse(self, coef: Float) -> Float:
        """The z of these coefficients."""
        norm = float(np.linalg.norm(coef))
        if norm == 0.0:
            return np.zeros_like(coef)
        z: Float = np.sqrt(self.square_of(norm)) / norm * coef
        return z

    def potential(self, coef: Float) -> float:
        """`V(β) = Φ*(β) − βᵀz(0)`, the potential that is minimised."""
        z = self.inverse(coef)
        return float(coef @ (z - self.start)) - self.conjugate(float(z @ z))


@dataclass(frozen=True, eq=False)
class PowerRadius(RadialMap):
    """Balanced layers: `β = ‖z‖^{D−1} z` for a network homogeneous of degree D.

    `V = ‖β‖^{1+1/D}/(1+1/D) − βᵀz(0)` with `z = ‖β‖^{1/D−1}β`: lyu's Theorem 1 (rank-one, D = 2L−1)
    and Theorem 2 (dense, D = L).
    """

    degree: int

    @property
    def lowest(self) -> float:
        """Zero: ρ can be any positive number."""
        return 0.0

    def log_multiplier(self, above: float) -> tuple[float, float]:
        """`½(D−1) log ρ`."""
        power = 0.5 * (self.degree - 1)
        return power * float(np.log(above)), power / above

    def conjugate(self, square: float) -> float:
        """`‖z‖^{D+1}/(D+1)`."""
        return float(square ** (0.5 * (self.degree + 1))) / (self.degree + 1)

    def square_of(self, norm: float) -> float:
        """`‖β‖^{2/D}`."""
        return float(norm ** (2.0 / self.degree))


@dataclass(frozen=True, eq=False)
class PairRadius(RadialMap):
    """A rank-one network from any start: `Ξ = Π_k ½√((ψ_k − c_k)(ψ_k + c_k))`, `ψ_k = 2ρ + δ_k`.

    Each pair (u, v) of inner vectors conserves `δ = ‖u‖² + ‖v‖² − 2ρ` and `c = ‖u+v‖‖u−v‖`; its
    product uᵀv follows from them until it vanishes (then ρ is `lowest`, and the sign is lost).
    Balanced pairs have δ = c = 0.
    """

    offsets: Float  # δ_k
    crosses: Float  # c_k

    @property
    def lowest(self) -> float:
        """The largest of `½(c_k − δ_k)`, where one pair becomes orthogonal."""
        return float((0.5 * (self.crosses - self.offsets)).max())

    def log_multiplier(self, above: float) -> tuple[float, float]:
        """`Σ_k ½ log((ψ_k − c_k)(ψ_k + c_k)/4)`."""
        ends = 0.5 * (self.crosses - self.offsets)
        lower = 2 * (above + (self.lowest - ends))
        upper = lower + 2 * self.crosses
        value = 0.5 * float(np.sum(np.log(lower) + np.log(upper))) - len(lower) * np.log(2.0)
        return float(value), float(np.sum(1 / lower + 1 / upper))

    def conjugate(self, square: float) -> float:
        """By quadrature after `ρ = base + w²`, which removes the square root at the end."""
        base = max(self.lowest, 0.0)
        reach, gap = np.sqrt(max(square - base, 0.0)), base - self.lowest
        value, _ = quad(
            lambda w: w * np.exp(self.log_multiplier(gap + w * w)[0]) if w > 0 else 0.0,
            0.0,
            reach,
            epsabs=0.0,
            epsrel=QUADRATURE,
        )
        return float(value)

    def square_of(self, norm: float) -> float:
        """By bisection and secants in `log(ρ − base)`, in which `‖β‖` increases.

        The base is `lowest`, or 0 where Ξ does not vanish for any ρ ≥ 0.
        """
        base, goal = max(self.lowest, 0.0), float(np.log(norm))
        gap = base - self.lowest

        def excess(log_above: float) -> float:
            above = float(np.exp(log_above))
            return self.log_multiplier(gap + above)[0] + 0.5 * float(np.log(base + above)) - goal

        # ‖β‖² = ρ Ξ², and Ξ² < (ρ + largest shift)^{2(L−1)}: brackets by doubling from there.
        middle = 2 * goal / (2 * len(self.offsets) + 1)
        reach = 1.0
        while excess(middle + reach) < 0:
            reach *= 2
        back = 1.0
        while excess(middle - back) > 0:
            back *= 2
        root = brentq(excess, middle - back, middle + reach, xtol=ACCURACY, rtol=ACCURACY)
        return base + float(np.exp(root))
