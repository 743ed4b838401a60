"""The curves of a deep product, tabulated at scale 1 (notation: `deep_diagonal_map`)."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float
from limitpoint.mirror.activation_times import ActivationTimes, diagonal_activation_times
from limitpoint.mirror.deep_diagonal.gauss_rule import gauss_rule
from limitpoint.mirror.deep_diagonal.smallest_layer import smallest_layer

__all__ = ["DeepTable"]

# Length of a panel: short against the distance π/2 to the nearest singularity.
PANEL = 0.5
# This far beyond the largest distance (or below the smallest) the integrand is a power of v up to
# (√Δ/v)² = 1e-16.
BEYOND_ALL = 1e8
# Products of 2(L − 2) numbers up to 1e8 times the L-th root of this are finite up to depth 10.
MODERATE = 1e100
DEEPEST_MODERATE = 10
# Within a panel the mirror coordinate's rate changes by at most e^{(L−2)/2}, all the way of
# Newton's method if it starts at the wrong end: a step gains about one factor e, then the digits
# double. The limit is for NaN; at three layers it takes four steps.
INVERSION_STEPS = 100
# Newton's method doubles its digits, so after a step this short, relative, the curve parameter is
# exact.
CURVE_PARAM_ACCURACY = 1e-9
# Mirror coordinates inverted at once: each takes an array over the nodes of Gauss's rule, a few
# tens.
ENTRIES_TOGETHER = 20_000
# In logarithms the coefficient is convex and piecewise linear up to corners of width 1; from the
# upper bound below, Newton's method is monotone and needs about five steps.
LOG_STEPS = 60
# Slopes in logarithms are 0 or 1 to the last bit beyond this.
LARGEST_LOG = 700.0
# Above this, `sinh τ = e^τ/2` and `asinh x = log 2x` to the last bit, and their logarithms are
# taken instead: what multiplies them may bring them back within range.
LARGE_TAU = 300.0


class DeepTable:
    """Mirror coordinates of the direction at panel ends, from the start outwards both ways."""

    def __init__(self, layers: Sequence[Float]) -> None:
        self.start = start = smallest_layer(layers)
        self._layers = layers
        self.widths = start.widths
        self._nodes_and_weights = gauss_rule(start.depth - 2, PANEL)
        self._unit = np.where(start.tied, 1.0, self.widths[0])
        self._start = np.arcsinh(start.value / self._unit)
        # Within reach of the table v is at most 1e8 times the largest width: products of squares
        # then stay within range, and are cheaper than products of roots.
        sizes = np.concatenate([self.widths.ravel(), np.abs(start.value)])
        sizes = sizes[sizes > 0]
        span = MODERATE ** (1 / start.depth)
        inside = ((sizes < span) & (sizes > 1 / span)).all()
        self._moderate = start.depth <= DEEPEST_MODERATE and bool(inside)
        self._gaps = start.gaps
        self._any_tied = bool(start.tied.any())
        # Under a sign constraint v = ±e^{±σ}|v₀|: the sign of v, along which |v| grows.
        self._side = np.sign(start.value)

    @property
    def offsets(self) -> Float:
        """Moduli of τ₀.

        Zero under sign constraints, where curve parameters are added to nothing.
        """
        return np.where(self.start.tied, 0.0, np.abs(self._start))

    @cached_property
    def times(self) -> ActivationTimes:
        """Where the poles are."""
        return diagonal_activation_times(self._layers, 0.0)

    def layer(self, curve_params: Float, log_factor: float | Float = 0.0) -> Float:
        """The turned smallest layer, v, times `e^log_factor`."""
        tau = self._start + curve_params
        size = np.abs(tau)
        plain = np.exp(log_factor) * self._unit * np.sinh(np.clip(tau, -LARGE_TAU, LARGE_TAU))
        v: Float = plain
        if (size > LARGE_TAU).any():
            far = np.exp(size - np.log(2.0) + np.log(self._unit) + log_factor)
            v = np.where(size > LARGE_TAU, np.sign(tau) * far, plain)
        if self._any_tied:
            grown = self._side * curve_params
            tied = np.exp(log_factor) * self.start.value * np.exp(np.minimum(grown, LARGE_TAU))
            far = self._side * np.exp(grown + np.log(np.abs(self.start.value)) + log_factor)
            v = np.where(self.start.tied, np.where(np.abs(grown) > LARGE_TAU, far, tied), v)
        return v

    def sign_and_log(self, curve_params: Float) -> tuple[Float, Float]:
        """Sign and log-modulus of v."""
        tau = self._start + curve_params
        size = np.abs(tau)
        near = np.log(np.sinh(np.minimum(size, 1.0)))
        logs = np.where(size < 1, near, size + np.log1p(-np.exp(-2 * size)) - np.log(2.0))
        logs = logs + np.log(self._unit)
        grown = self._side * curve_params + np.log(np.abs(self.start.value))
        return (
            np.where(self.start.tied, self._side, np.sign(tau)),
            np.where(self.start.tied, grown, logs),
        )

    def rates(self, v: Float) -> Float:
        """`dξ/dσ`: one factor per distance, the smallest left out."""
        rates = np.ones_like(v)
        for width in self.widths[1:]:
            rates = rates / np.hypot(v, width)
        return rates

    def mirror_coords(self, curve_params: Float) -> Float:
        """The integral of the rates from the start, closed beyond the last panel."""
        if not curve_params.any():
            return np.zeros_like(curve_params)
        nodes = self._nodes
        count = len(nodes) // 2
        inside = np.clip(np.nan_to_num(curve_params), -self._reach, self._reach)
        panel = np.trunc(inside / PANEL).astype(np.intp)
        xi = np.take_along_axis(nodes, np.atleast_2d(panel + count), axis=0).reshape(panel.shape)
        xi = xi + self._integral(panel * PANEL, inside)
        beyond = np.abs(curve_params) > self._reach
        if beyond.any():
            xi = np.where(beyond, self._tail(curve_params, xi), xi)
        known = ~np.isnan(curve_params)
        return np.where(self.start.frozen | ~known, curve_params, xi)

    def curve_params(self, xi: Float) -> Float:
        """Curve parameters at given mirror coordinates: the inverse of `mirror_coords`."""
        rows = xi.reshape(-1, xi.shape[-1])
        together = max(1, ENTRIES_TOGETHER // rows.shape[1])
        blocks = [rows[i : i + together] for i in range(0, len(rows), together)]
        return np.concatenate([self._inverse(block) for block in blocks]).reshape(xi.shape)

    def _inverse(self, xi: Float) -> Float:
        """By Newton's method on the panels that hold the mirror coordinates."""
        nodes = self._nodes
        count = len(nodes) // 2
        columns = np.arange(xi.shape[1])
        # Row by row: all comparisons at once would be as many arrays as there are nodes.
        below = np.stack([(nodes <= row).sum(axis=0) for row in xi])
        left = np.clip(below - 1, 0, len(nodes) - 2)
        low, high = nodes[left, columns], nodes[left + 1, columns]
        with np.errstate(all="ignore"):
            fraction = np.clip((xi - low) / (high - low), 0.0, 1.0)
            curve_params = (left - count + np.nan_to_num(fraction)) * PANEL
            floor, ceiling = (left - count) * PANEL, (left - count + 1) * PANEL
            for _ in range(INVERSION_STEPS):
                error = self.mirror_coords(curve_params) - xi
                # A frozen coefficient has no curve parameter to look for.
                step = np.where(
                    self.start.frozen, 0.0, error / self.rates(self.layer(curve_params))
                )
                curve_params = np.clip(curve_params - step, floor, ceiling)
                if not np.any(np.abs(step) > CURVE_PARAM_ACCURACY * np.abs(curve_params)):
                    break
            outside = (xi > nodes[-1]) | (xi < nodes[0])
            if outside.any():
                curve_params = np.where(outside, self._tail_curve_param(xi), curve_params)
        return np.where(self.start.frozen, xi, curve_params)

    def curve_params_of(self, signs: Float, logs: Float) -> Float:
        """Curve parameter at which `v Π√(v²+Δ)` has this sign and log-modulus."""
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
                apart = np.clip(2 * (width - log_v), -LARGEST_LOG, LARGEST_LOG)
                value = value + 0.5 * np.logaddexp(2 * log_v, 2 * width)
                slope = slope + 1 / (1 + np.exp(apart))
            step = np.where(zero, 0.0, value / slope)
            log_v = log_v - step
            if not np.any(np.abs(step) > 1e-15 * (1 + np.abs(log_v))):
                break
        tied = self._side * (log_v - np.log(np.abs(self.start.value)))
        tied = np.where(zero, -self._side * np.inf, np.where(signs == self._side, tied, np.nan))
        log_ratio = np.where(zero, -np.inf, log_v - np.log(self._unit))
        free = signs * _asinh_of_exp(log_ratio) - self._start
        curve_params = np.where(self.start.tied, tied, free)
        return np.where(self.start.frozen, np.where(zero, 0.0, np.nan), curve_params)

    def _integral(self, first: Any, last: Any) -> Float:
        """`∫ dξ/dσ` over intervals no longer than a panel."""
        nodes, weights = self._nodes_and_weights
        half, middle = (last - first) / 2, (last + first) / 2
        at = middle + np.multiply.outer(nodes, half)
        v = self.layer(at)
        if self._moderate:
            square = v * v
            product = square + self._gaps[1]
            for gap in self._gaps[2:]:
                product *= square + gap
            rates = 1 / np.sqrt(product)
        else:
            rates = self.rates(v)
        return np.asarray(half * np.tensordot(weights, rates, axes=1))

    @cached_property
    def _panels(self) -> int:
        """Panels on each side, until v is beyond all distances (or below all, if it stays)."""
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
        """Mirror coordinates at all panel ends, (2·panels + 1) × n, increasing."""
        count = self._panels
        with np.errstate(all="ignore"):
            sides = []
            for side in (-1.0, 1.0):
                ends = side * PANEL * np.arange(count + 1)[:, None]
                each = self._integral(ends[:-1], ends[1:])
                sides.append(np.cumsum(each, axis=0))
        return np.concatenate([sides[0][::-1], np.zeros((1, len(self._side))), sides[1]])

    def _rising(self, curve_params: Float) -> NDArray[np.bool_]:
        """Whether this end of the curve runs to infinity (else, if the sign is kept, to zero)."""
        rising: NDArray[np.bool_] = ~self.start.tied | (np.sign(curve_params) == self._side)
        return rising

    @cached_property
    def _fall(self) -> tuple[NDArray[np.int64], Float]:
        """Under a sign constraint towards zero `dξ/dσ = |v|^−q / rest`: q and the rest."""
        zeros = (self.widths[1:] == 0).sum(axis=0)
        rest = np.prod(np.where(self.widths > 0, self.widths, 1.0), axis=0)
        return zeros, rest

    def _tail(self, curve_params: Float, ends: Float) -> Float:
        """ξ beyond the table: to infinity a power of v that vanishes, to zero one that grows.

        `ends` are the mirror coordinates at the table's own end.
        """
        side = np.sign(curve_params)
        power = self.start.depth - 2
        with np.errstate(all="ignore"):
            v = np.abs(self.layer(curve_params))
            pole = np.where(side > 0, self.times.t_plus, self.times.t_minus)
            rising = pole - v**-power / power
            zeros, rest = self._fall
            v_end = np.abs(self.layer(side * self._reach))
            further = np.where(
                zeros == 0,
                np.abs(curve_params) - self._reach,
                (v ** -zeros.astype(float) - v_end ** -zeros.astype(float)) / np.maximum(zeros, 1),
            )
            falling = np.abs(ends) + further / rest
        return side * np.where(self._rising(curve_params), rising, falling)

    def _tail_curve_param(self, xi: Float) -> Float:
        """Inverse of `_tail`; infinite at and beyond the pole."""
        side = np.sign(xi)
        power = self.start.depth - 2
        pole = np.where(side > 0, self.times.t_plus, self.times.t_minus)
        room = pole - np.abs(xi)
        v = (power * np.maximum(room, 0.0)) ** (-1.0 / power)
        free = side * _asinh_of_exp(np.log(v) - np.log(self._unit)) - self._start
        tied = side * (np.log(v) - np.log(np.abs(self.start.value)))
        rising = np.where(self.start.tied, tied, free)
        rising = np.where(room > 0, rising, side * np.inf)
        zeros, rest = self._fall
        ends = np.where(side > 0, self._nodes[-1], self._nodes[0])
        v_end = np.abs(self.layer(side * self._reach))
        further = (np.abs(xi) - np.abs(ends)) * rest
        count = np.maximum(zeros, 1).astype(float)
        low = (count * further + v_end**-count) ** (-1 / count)
        falling = np.where(
            zeros == 0,
            self._reach + further,
            np.log(np.abs(self.start.value) / low),
        )
        return np.where(self._rising(xi), rising, side * falling)


def _asinh_of_exp(log_x: Float) -> Float:
    """`asinh x` from log x: x itself may overflow."""
    near = np.arcsinh(np.exp(np.minimum(log_x, LARGE_TAU)))
    return np.where(log_x < LARGE_TAU, near, log_x + np.log(2.0))
