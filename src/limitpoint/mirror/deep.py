"""Mirror map of the diagonal network of three layers and more.

With v the smallest layer of a coordinate and Δ_j its distances from the others (see
`smallest_layer`), `dv/dξ = Π_j √(v² + Δ_j)` and `β = v Π_j √(v² + Δ_j)`. Along the position σ with

    v = c sinh(τ₀ + σ),  c = √Δ_min            (one layer strictly smallest)
    v = v₀ e^{±σ}                              (tied: v keeps its sign)

the smallest distance drops out of the clock's rate,

    dξ/dσ = 1/Π_{j ≠ min} √(v² + Δ_j),

which is analytic within π/2 of the real axis. So Gauss's rule on panels of length ½ integrates
`ξ = F(v)` to rounding, from the start outwards; where all that is left is a power of v, the
integral is closed. This is the entropy `Q' = F(v(β))` that Labarrière et al. leave open.

Everything is tabulated for the direction, at scale 1; at scale s, `β = s^L β₁`, `ξ = s^{2−L} ξ₁`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limitpoint.arrays import Float
from limitpoint.mirror.curve import CurveMap, CurvePoint
from limitpoint.mirror.growth import GrowthTimes, diagonal_growth_times
from limitpoint.mirror.smallest_layer import smallest_layer

__all__ = ["DeepMap"]

# Eight nodes on a panel of length ½, with the nearest singularity π/2 off its middle: the error is
# 12.6^-16, below rounding.
NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)
PANEL = 0.5
# This far beyond the largest distance (or below the smallest) the integrand is a power of v up to
# (√Δ/v)² = 1e-16.
BEYOND_ALL = 1e8
# Products of 2(L − 2) numbers up to 1e8 times the L-th root of this are finite up to depth 10.
MODERATE = 1e100
DEEPEST_MODERATE = 10
# Newton's method on a panel starts within a few per cent of the root: four steps reach rounding,
# two more are for coordinates whose panel is cut by the tail.
INVERSION_STEPS = 6
# Newton's method doubles its digits, so after a step this short, relative, the position is exact.
POSITION_ACCURACY = 1e-9
# In logarithms the coefficient is convex and piecewise linear up to corners of width 1; from the
# upper bound below, Newton's method is monotone and needs about five steps.
LOG_STEPS = 60
# sinh of this is still finite.
LARGEST_POSITION = 700.0


@dataclass(frozen=True, eq=False)
class DeepMap(CurveMap):
    """Mirror map of `β = a₁ ⊙ … ⊙ a_L`, L ≥ 3, from any layers.

    Examples
    --------
    Three layers that start at (1, 1, 0): `β = tan ξ · sec² ξ`, with a pole at π/2.

    >>> import numpy as np
    >>> deep = DeepMap.from_layers([np.ones(1), np.ones(1), np.zeros(1)], log_scale=0.0)
    >>> bool(np.isclose(deep.coefs(np.array([1.0]))[0], np.tan(1) / np.cos(1) ** 2, rtol=1e-13))
    True
    """

    table: "_Table"
    log_scale_: float

    @classmethod
    def from_layers(cls, layers: Sequence[Float], log_scale: float) -> "DeepMap":
        """The map that starts at `e^log_scale` times these layers."""
        return cls(_Table(layers), float(log_scale))

    @property
    def log_scale(self) -> float:
        """Logarithm of the initialisation's scale."""
        return self.log_scale_

    @property
    def degree(self) -> int:
        """Number of layers."""
        return self.table.start.depth

    @property
    def log_clock_unit(self) -> float:
        """`s^{2−L}`."""
        return (2 - self.degree) * self.log_scale_

    @property
    def lower(self) -> Float:
        """−∞, or 0 where layers tie and the coefficient starts positive (or frozen)."""
        start = self.table.start
        return np.where(start.tied & (start.value >= 0), 0.0, -np.inf)

    @property
    def upper(self) -> Float:
        """∞, or 0 where layers tie and the coefficient starts negative (or frozen)."""
        start = self.table.start
        return np.where(start.tied & (start.value <= 0), 0.0, np.inf)

    @property
    def offsets(self) -> Float:
        """`τ₀`; nothing on a half-line."""
        return self.table.offsets

    def along(self, positions: Float, log_unit: float = 0.0) -> CurvePoint:
        """`v Π√(v²+Δ)` and its derivative, the clocks by quadrature."""
        table = self.table
        with np.errstate(all="ignore"):
            factor = np.exp(self.log_scale_ - log_unit / self.degree)
            v = table.layer(positions)
            coefs, bend = factor * v, 1.0
            for width in table.widths:
                other = np.hypot(v, width)
                coefs = coefs * (factor * other)
                bend = bend + (v / other) ** 2
            # dβ/dσ = √(v²+Δ_min) · dβ/dv, and dβ/dv = (β/v) · bend.
            other = np.hypot(v, table.widths[0])
            rates = factor * other * bend
            for width in table.widths:
                rates = rates * (factor * np.hypot(v, width))
            frozen = table.start.frozen
            return CurvePoint(
                coefs=np.where(frozen, 0.0, coefs),
                coef_rates=np.where(frozen, 0.0, rates),
                clocks=table.clocks(positions),
                clock_rates=np.where(frozen, 1.0, table.rates(v)),
            )

    def positions(self, clocks: Float) -> Float:
        """By Newton's method on the panel that holds the clock."""
        return self.table.positions(np.asarray(clocks, dtype=np.float64))

    def positions_of(self, coefs: Float) -> Float:
        """By Newton's method in the logarithm of v, then once in the position itself."""
        with np.errstate(all="ignore"):
            logs = np.log(np.abs(coefs)) - self.degree * self.log_scale_
            positions = self.table.positions_of(np.sign(coefs), logs)
            # The last digits, where the coefficient is close to its start.
            point = self.along(positions)
            better = positions - (point.coefs - coefs) / point.coef_rates
            near = np.abs(better - positions) < 1e-3
        refined: Float = np.where(near, better, positions)
        return refined

    def signs_and_logs_at(self, positions: Float) -> tuple[Float, Float]:
        """Signs and log-moduli of `v Π√(v²+Δ)`."""
        table = self.table
        with np.errstate(all="ignore"):
            v = table.layer(positions)
            logs = np.log(np.abs(v)) + self.degree * self.log_scale_
            for width in table.widths:
                logs = logs + np.log(np.hypot(v, width))
        frozen = table.start.frozen
        return np.where(frozen, 0.0, np.sign(v)), np.where(frozen, -np.inf, logs)

    def conjugates_at(self, positions: Float) -> Float:
        """`Ψ̂ = ½v²` at every depth: `dΨ̂/dξ = v dv/dξ = β`."""
        with np.errstate(all="ignore"):
            v = np.exp(self.log_scale_) * self.table.layer(positions)
            conjugates: Float = np.where(self.table.start.frozen, 0.0, 0.5 * v * v)
        return conjugates

    def growth_times(self) -> GrowthTimes:
        """The poles of the direction, and their unit `s^{2−L}`."""
        return replace(self.table.times, unit=self.clock_unit)

    def at_log_scale(self, log_scale: float) -> "DeepMap":
        """The same direction at another scale; shares the table."""
        return replace(self, log_scale_=float(log_scale))


class _Table:
    """Clocks of the direction at panel ends, from the start outwards in both directions."""

    def __init__(self, layers: Sequence[Float]) -> None:
        self.start = start = smallest_layer(layers)
        self._layers = layers
        self.widths = np.sqrt(start.gaps)
        self._unit = np.where(start.tied, 1.0, self.widths[0])
        self._start = np.arcsinh(start.value / self._unit)
        # Within reach of the table v is at most 1e8 times the largest width: products of squares
        # then stay within range, and are cheaper than products of roots.
        sizes = np.concatenate([self.widths.ravel(), np.abs(start.value)])
        sizes = sizes[sizes > 0]
        span = MODERATE ** (1 / start.depth)
        inside = ((sizes < span) & (sizes > 1 / span)).all()
        self._moderate = start.depth <= DEEPEST_MODERATE and bool(inside)
        self._any_tied = bool(start.tied.any())
        # On a half-line v = ±e^{±σ}|v₀|: the sign of v, along which |v| grows.
        self._side = np.sign(start.value)

    @property
    def offsets(self) -> Float:
        """Moduli of τ₀; zero on half-lines, whose positions are added to nothing."""
        return np.where(self.start.tied, 0.0, np.abs(self._start))

    @cached_property
    def times(self) -> GrowthTimes:
        """Where the poles are."""
        return diagonal_growth_times(self._layers, 0.0)

    def layer(self, positions: Float) -> Float:
        """The turned smallest layer, v."""
        if not self._any_tied:
            free_only: Float = self._unit * np.sinh(self._start + positions)
            return free_only
        tied = self._side * np.abs(self.start.value) * np.exp(self._side * positions)
        free = self._unit * np.sinh(self._start + positions)
        v: Float = np.where(self.start.tied, tied, free)
        return v

    def rates(self, v: Float) -> Float:
        """`dξ/dσ`: one factor per distance, the smallest left out."""
        rates = np.ones_like(v)
        for width in self.widths[1:]:
            rates = rates / np.hypot(v, width)
        return rates

    def clocks(self, positions: Float) -> Float:
        """The integral of the rates from the start, closed beyond the last panel."""
        if not positions.any():
            return np.zeros_like(positions)
        nodes = self._nodes
        count = len(nodes) // 2
        inside = np.clip(np.nan_to_num(positions), -self._reach, self._reach)
        panel = np.trunc(inside / PANEL).astype(np.intp)
        clocks = np.take_along_axis(nodes, np.atleast_2d(panel + count), axis=0).reshape(
            panel.shape
        )
        clocks = clocks + self._integral(panel * PANEL, inside)
        beyond = np.abs(positions) > self._reach
        if beyond.any():
            clocks = np.where(beyond, self._tail(positions, clocks), clocks)
        known = ~np.isnan(positions)
        return np.where(self.start.frozen | ~known, positions, clocks)

    def positions(self, clocks: Float) -> Float:
        """Inverse of `clocks`."""
        if clocks.ndim > 1:
            rows = clocks.reshape(-1, clocks.shape[-1])
            return np.stack([self.positions(row) for row in rows]).reshape(clocks.shape)
        nodes = self._nodes
        count = len(nodes) // 2
        columns = np.arange(len(clocks))
        left = np.clip((nodes <= clocks).sum(axis=0) - 1, 0, len(nodes) - 2)
        low, high = nodes[left, columns], nodes[left + 1, columns]
        with np.errstate(all="ignore"):
            fraction = np.clip((clocks - low) / (high - low), 0.0, 1.0)
            positions = (left - count + np.nan_to_num(fraction)) * PANEL
            floor, ceiling = (left - count) * PANEL, (left - count + 1) * PANEL
            for _ in range(INVERSION_STEPS):
                error = self.clocks(positions) - clocks
                step = error / self.rates(self.layer(positions))
                positions = np.clip(positions - step, floor, ceiling)
                if not np.any(np.abs(step) > POSITION_ACCURACY * np.abs(positions)):
                    break
            outside = (clocks > nodes[-1]) | (clocks < nodes[0])
            if outside.any():
                positions = np.where(outside, self._tail_position(clocks), positions)
        return np.where(self.start.frozen, clocks, positions)

    def positions_of(self, signs: Float, logs: Float) -> Float:
        """Position at which `v Π√(v²+Δ)` has this sign and log-modulus."""
        # v^{k+1} Π_{j≥k} √Δ_j is below |β| for every k: so many upper bounds on log|v|.
        log_widths = np.log(self.widths)
        left = np.concatenate(
            [
                np.cumsum(log_widths[::-1], axis=0)[::-1],
                np.zeros_like(logs)[None] if logs.ndim == 1 else np.zeros((1, log_widths.shape[1])),
            ]
        )
        bounds = [(logs - rest) / (k + 1) for k, rest in enumerate(left)]
        log_v = np.nanmin(np.where(np.isposinf(bounds), np.inf, bounds), axis=0)
        zero = np.isneginf(logs)
        log_v = np.where(zero, 0.0, log_v)
        for _ in range(LOG_STEPS):
            value, slope = log_v - logs, np.ones_like(log_v)
            for width in log_widths:
                apart = np.clip(2 * (width - log_v), -LARGEST_POSITION, LARGEST_POSITION)
                value = value + log_v + 0.5 * np.log1p(np.exp(apart))
                slope = slope + 1 / (1 + np.exp(apart))
            step = np.where(zero, 0.0, value / slope)
            log_v = log_v - step
            if not np.any(np.abs(step) > 1e-15 * (1 + np.abs(log_v))):
                break
        v = np.where(zero, 0.0, signs * np.exp(log_v))
        tied = self._side * (log_v - np.log(np.abs(self.start.value)))
        tied = np.where(zero, -self._side * np.inf, np.where(signs == self._side, tied, np.nan))
        free = np.arcsinh(v / self._unit) - self._start
        positions = np.where(self.start.tied, tied, free)
        return np.where(self.start.frozen, np.where(zero, 0.0, np.nan), positions)

    def _integral(self, first: Any, last: Any) -> Float:
        """`∫ dξ/dσ` over intervals no longer than a panel."""
        half, middle = (last - first) / 2, (last + first) / 2
        at = middle + np.multiply.outer(NODES, half)
        v = self.layer(at)
        if self._moderate:
            square = v * v
            product = square + self.start.gaps[1]
            for gap in self.start.gaps[2:]:
                product *= square + gap
            rates = 1 / np.sqrt(product)
        else:
            rates = self.rates(v)
        return np.asarray(half * np.tensordot(WEIGHTS, rates, axes=1))

    @cached_property
    def _panels(self) -> int:
        """Panels on each side, until v is beyond all distances (or below all, on a half-line)."""
        start = self.start
        moved = ~start.frozen
        largest = np.maximum(self.widths[-1], np.abs(start.value))[moved]
        smallest = np.where(self.widths > 0, self.widths, np.inf).min(axis=0)[moved]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            up = np.arcsinh(BEYOND_ALL * largest / self._unit[moved]) + np.abs(self._start[moved])
            ratio = BEYOND_ALL * np.maximum(
                largest / np.abs(start.value[moved]), np.abs(start.value[moved]) / smallest
            )
            longest = np.where(start.tied[moved], np.log(np.maximum(ratio, 1.0)), up)
        return int(np.ceil(float(longest.max(initial=PANEL)) / PANEL)) + 1

    @property
    def _reach(self) -> float:
        return self._panels * PANEL

    @cached_property
    def _nodes(self) -> Float:
        """Clocks at all panel ends, (2·panels + 1) × n, increasing."""
        count = self._panels
        with np.errstate(all="ignore"):
            sides = []
            for side in (-1.0, 1.0):
                ends = side * PANEL * np.arange(count + 1)[:, None]
                each = self._integral(ends[:-1], ends[1:])
                sides.append(np.cumsum(each, axis=0))
        return np.concatenate([sides[0][::-1], np.zeros((1, len(self._side))), sides[1]])

    def _rising(self, positions: Float) -> NDArray[np.bool_]:
        """Whether this end of the curve runs to infinity (else, on a half-line, to zero)."""
        rising: NDArray[np.bool_] = ~self.start.tied | (np.sign(positions) == self._side)
        return rising

    @cached_property
    def _fall(self) -> tuple[NDArray[np.int64], Float]:
        """On a half-line towards zero `dξ/dσ = |v|^−q / rest`: q and the rest."""
        zeros = (self.widths[1:] == 0).sum(axis=0)
        rest = np.prod(np.where(self.widths > 0, self.widths, 1.0), axis=0)
        return zeros, rest

    def _tail(self, positions: Float, ends: Float) -> Float:
        """Clocks beyond the table: to infinity a power of v that vanishes, to zero one that grows.

        `ends` are the clocks at the table's own end.
        """
        side = np.sign(positions)
        power = self.start.depth - 2
        with np.errstate(all="ignore"):
            v = np.abs(self.layer(positions))
            pole = np.where(side > 0, self.times.t_plus, self.times.t_minus)
            rising = pole - v**-power / power
            zeros, rest = self._fall
            v_end = np.abs(self.layer(side * self._reach))
            further = np.where(
                zeros == 0,
                np.abs(positions) - self._reach,
                (v ** -zeros.astype(float) - v_end ** -zeros.astype(float)) / np.maximum(zeros, 1),
            )
            falling = np.abs(ends) + further / rest
        return side * np.where(self._rising(positions), rising, falling)

    def _tail_position(self, clocks: Float) -> Float:
        """Inverse of `_tail`; infinite at and beyond the pole."""
        side = np.sign(clocks)
        power = self.start.depth - 2
        pole = np.where(side > 0, self.times.t_plus, self.times.t_minus)
        room = pole - np.abs(clocks)
        v = (power * np.maximum(room, 0.0)) ** (-1.0 / power)
        free = np.arcsinh(side * v / self._unit) - self._start
        tied = side * np.log(v / np.abs(self.start.value))
        rising = np.where(self.start.tied, tied, free)
        rising = np.where(room > 0, rising, side * np.inf)
        zeros, rest = self._fall
        ends = np.where(side > 0, self._nodes[-1], self._nodes[0])
        v_end = np.abs(self.layer(side * self._reach))
        further = (np.abs(clocks) - np.abs(ends)) * rest
        count = np.maximum(zeros, 1).astype(float)
        low = (count * further + v_end**-count) ** (-1 / count)
        falling = np.where(
            zeros == 0,
            self._reach + further,
            np.log(np.abs(self.start.value) / low),
        )
        return np.where(self._rising(clocks), rising, side * falling)
