"""Logarithmic coordinates of the deep diagonal network: its smallest layers, in logarithms."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.mirror.charts.log_chart import LogChart

__all__ = ["DeepDiagonalChart"]

# A state beyond this makes exponentials overflow.
LARGEST_STATE = 700.0
# Speeds are cut off here, in trial steps only: those of a flow are at most `s^{2−L}`, a float.
FASTEST = 1e307


@dataclass(frozen=True, eq=False)
class DeepDiagonalChart(LogChart):
    """Each coordinate's smallest layer as `a = c·sinh(τ)`, state τ less its start.

    The flow conserves `a_j² − a²`, so the other layers are `±√(a² + Δ_j)`, and

        τ̇ = u · Π_j a_j / √(a² + c²),    c² = min Δ_j,

    u the negative gradient in the coefficient and j the other layers. Where layers tie for the
    smallest (c = 0) none of them crosses zero, and `a = a(0)e^τ`. Everything is kept relative to
    the scale s of the start, with time in units of `s^{2−L}`: so float64 holds the flow at any
    scale.

    Attributes
    ----------
    log_scale
        Logarithm of the scale.
    smallest
        Which layer is the smallest.
    value
        Its start.
    roots
        √Δ_j of the other layers in their order, (L − 1) × n.
    signs
        Of the other layers.
    """

    log_scale: float
    smallest: NDArray[np.intp]
    value: Float
    roots: Float
    signs: Float

    @classmethod
    def of(cls, init: Init) -> "DeepDiagonalChart":
        """The coordinates that start at this initialisation."""
        stack = np.stack(init.direction)
        smallest = np.argmin(np.abs(stack), axis=0)
        is_other = np.arange(len(stack))[:, None] != smallest
        others = stack.T[is_other.T].reshape(stack.shape[1], -1).T
        value = stack[smallest, np.arange(stack.shape[1])]
        sizes, least = np.abs(others), np.abs(value)
        return cls(
            log_scale=init.log_scale,
            smallest=smallest,
            value=value,
            # Root by root: the distance itself vanishes in float64 for layers below 1e-162.
            roots=np.sqrt(sizes - least) * np.sqrt(sizes + least),
            signs=np.where(others < 0, -1.0, 1.0),
        )

    @property
    def depth(self) -> int:
        """Number of layers."""
        return len(self.roots) + 1

    @property
    def dimension(self) -> int:
        """One number per coefficient."""
        return len(self.value)

    @cached_property
    def movable(self) -> Float:
        """Zero where two layers start at zero."""
        return np.where(self._tied & (self.value == 0), 0.0, 1.0)

    @property
    def lower(self) -> Float:
        """Zero where layers tie and the coefficient starts positive."""
        return np.where(self._tied & (self._turn * self.value >= 0), 0.0, -np.inf)

    @property
    def upper(self) -> Float:
        """Zero where layers tie and the coefficient starts negative."""
        return np.where(self._tied & (self._turn * self.value <= 0), 0.0, np.inf)

    @property
    def log_time_unit(self) -> float:
        """`s^{2−L}`."""
        return (2 - self.depth) * self.log_scale

    def velocity(self, neg_grad: Float, state: Float) -> Float:
        """`u · Π a_j / √(a² + c²)`."""
        with np.errstate(all="ignore"):
            velocity = (neg_grad.T * self._rate(*self._sizes(state))).T
            return np.clip(velocity, -FASTEST, FASTEST)

    def velocity_gradient(self, neg_grad: Float, state: Float) -> Float:
        """Diagonal: every coefficient has its own number.

        `d log(rate)/dτ = Σ_j a a'/(a² + Δ_j) − d log(a')/dτ`, with `a' = da/dτ`.
        """
        layer, others = self._sizes(state)
        with np.errstate(all="ignore"):
            speed = self._speed(layer)
            bend = ((layer / others) * (speed / others)).sum(axis=0)
            bend = bend - np.where(self._tied, 1.0, layer / speed)
            diagonal = np.nan_to_num(neg_grad * self._rate(layer, others) * bend)
        return np.diag(np.clip(diagonal, -FASTEST, FASTEST))

    def coefs(self, states: Float) -> Float:
        """The product of the layers."""
        layer, others = self._sizes(states)
        with np.errstate(over="ignore", under="ignore"):
            scale = np.exp(self.log_scale)
            coefs: Float = self._turn * (scale * layer) * (scale * others).prod(axis=0)
        return coefs

    def times_gradient(self, matrix: Float, state: Float) -> Float:
        """The derivative in τ is `a' Π_j a_j · (1 + Σ_j a²/(a² + Δ_j))`."""
        layer, others = self._sizes(state)
        with np.errstate(all="ignore"):
            scale = np.exp(self.log_scale)
            bend = 1.0 + ((layer / others) ** 2).sum(axis=0)
            slope = self._turn * (scale * self._speed(layer)) * (scale * others).prod(axis=0) * bend
            slope = np.clip(np.nan_to_num(slope) * self.movable, -FASTEST, FASTEST)
        gradient: Float = matrix * slope
        return gradient

    def signs_and_logs(self, states: Float) -> tuple[Float, Float]:
        """Of the product of the layers."""
        layer, others = self._sizes(states)
        with np.errstate(divide="ignore"):
            logs = np.log(np.abs(layer)) + np.log(others).sum(axis=0)
        signs = self._turn * np.sign(layer) * self.movable
        return signs, logs + self.depth * self.log_scale

    def layers(self, states: Float) -> tuple[Float, ...]:
        """The smallest layer and, from the conserved differences, the others."""
        layer, others = self._sizes(states)
        scale = np.exp(self.log_scale)
        signs = self.signs.reshape(self.depth - 1, *[1] * (states.ndim - 1), -1)
        with np.errstate(over="ignore", under="ignore"):
            others = scale * signs * others
            return tuple(
                np.select(
                    [self.smallest == j, self.smallest > j],
                    [scale * layer, others[min(j, self.depth - 2)]],
                    default=others[max(j - 1, 0)],
                )
                for j in range(self.depth)
            )

    def states_at(self, curve_params: Float) -> Float:
        """States from curve parameters, which run with the coefficient, not the layer."""
        side = np.where(self._tied, np.sign(self._turn * self.value), self._turn)
        states: Float = side * curve_params
        return states

    @cached_property
    def _width(self) -> Float:
        """The distance c to the nearest layer."""
        width: Float = self.roots.min(axis=0)
        return width

    @cached_property
    def _tied(self) -> NDArray[np.bool_]:
        tied: NDArray[np.bool_] = self._width == 0
        return tied

    @cached_property
    def _turn(self) -> Float:
        """Sign of the product of the other layers."""
        turn: Float = np.prod(self.signs, axis=0)
        return turn

    @cached_property
    def _offset(self) -> Float:
        """τ at the start."""
        offset: Float = np.arcsinh(self.value / np.where(self._tied, 1.0, self._width))
        return offset

    def _sizes(self, states: Float) -> tuple[Float, Float]:
        """The smallest layer and the moduli of the others, at scale 1.

        The last ones are kept: the flow asks for one state several times.
        """
        key = states.shape, states.tobytes()
        if key not in self._last:
            states = np.clip(states, -LARGEST_STATE, LARGEST_STATE)
            layer: Float = self._width * np.sinh(self._offset + states)
            if self._any_tied:
                layer = np.where(self._tied, self.value * np.exp(states), layer)
            roots = self.roots.reshape(self.depth - 1, *[1] * (states.ndim - 1), -1)
            self._last.clear()
            self._last[key] = layer, np.hypot(layer, roots)
        return self._last[key]

    @cached_property
    def _last(self) -> dict[tuple[tuple[int, ...], bytes], tuple[Float, Float]]:
        return {}

    @cached_property
    def _any_tied(self) -> bool:
        return bool(self._tied.any())

    def _speed(self, layer: Float) -> Float:
        """`da/dτ`."""
        speed: Float = np.hypot(layer, self._width)
        return np.where(self._tied, layer, speed) if self._any_tied else speed

    @cached_property
    def _farther(self) -> NDArray[np.intp]:
        """The other layers but the nearest, (L − 2) × n: layers keep their order."""
        farther: NDArray[np.intp] = np.argsort(self.roots, axis=0, kind="stable")[1:]
        return farther

    def _rate(self, layer: Float, others: Float) -> Float:
        """Velocity per unit of negative gradient; the nearest layer is `|da/dτ|`, and cancels."""
        with np.errstate(all="ignore"):
            rate = self._turn * np.take_along_axis(others, self._farther, axis=0).prod(axis=0)
            if self._any_tied:
                rate = np.where(self._tied, np.sign(layer), 1.0) * rate
            rate = np.where(self.movable > 0, rate, 0.0)
        return np.asarray(np.clip(np.nan_to_num(rate), -FASTEST, FASTEST))
