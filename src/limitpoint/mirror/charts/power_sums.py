"""Logarithmic coordinates of networks whose coefficients are sums of powers, `β = Σ_j ε_j x_j^L`.

Each x_j > 0 is the modulus of a layer's entry, or of a combination of entries, that moves on its
own: `ẋ_j = ε_j c x_j^(L−1) u` with `u = −∇_β loss` and ε_j = ±1. The state is `log(x_j/x_j(0))`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float
from limitpoint.mirror.charts.log_chart import LogChart

__all__ = ["PowerSums"]

# exp of this is still finite.
LARGEST_LOG = 709.0

LARGEST = float(np.finfo(np.float64).max)

# Below this growth sums are computed by their change, so that small changes of a large start
# survive; above it the logarithms themselves are as accurate.
SMALL_GROWTH = 0.5

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class PowerSums(LogChart):
    """The parameters by the log-growth of the terms of their coefficients.

    Parameters
    ----------
    degree
        L.
    speed
        c: 1 for sums and differences of two layers, L for powers of a layer.
    signs
        ε, (terms, n); zero for a term that starts at zero.
    turns
        Signs of the combinations of layers whose moduli the terms are, (terms, n).
    log_sizes
        `log x(0)` of the direction, (terms, n).
    start
        Coefficients of the direction.
    log_scale
        Logarithm of the scale.
    to_layers
        The layers from the signed combinations.
    """

    degree: int
    speed: float
    signs: Float
    turns: Float
    log_sizes: Float
    start: Float
    log_scale: float
    to_layers: Callable[[Sequence[Float]], tuple[Float, ...]]

    @classmethod
    def of(
        cls,
        terms: Sequence[Float],
        sides: Sequence[int],
        start: Float,
        *,
        degree: int,
        speed: float,
        log_scale: float,
        to_layers: Callable[[Sequence[Float]], tuple[Float, ...]] = tuple,
    ) -> "PowerSums":
        """From combinations of the direction's layers, with `β = Σ_j sides_j · terms_j^L`."""
        values = np.stack(terms)
        turns = np.sign(values)
        with np.errstate(divide="ignore"):
            log_sizes = np.log(np.abs(values))
        return cls(
            degree=degree,
            speed=speed,
            signs=np.asarray(sides)[:, None] * np.abs(turns) * turns**degree,
            turns=turns,
            log_sizes=log_sizes,
            start=start,
            log_scale=float(log_scale),
            to_layers=to_layers,
        )

    @property
    def dimension(self) -> int:
        """One number per term and coefficient."""
        return int(self.signs.size)

    @property
    def movable(self) -> Float:
        """Zero where every term starts at zero."""
        return np.asarray((self.signs != 0).any(axis=0), dtype=np.float64)

    @property
    def lower(self) -> Float:
        """Zero where no term takes away from the coefficient."""
        return np.where((self.signs < 0).any(axis=0), -np.inf, 0.0)

    @property
    def upper(self) -> Float:
        """Zero where no term adds to the coefficient."""
        return np.where((self.signs > 0).any(axis=0), np.inf, 0.0)

    @property
    def log_time_unit(self) -> float:
        """Velocities are per time `s^(2−L)`, in which the activation times do not depend on s."""
        return 0.0 if self.degree == 2 else (2 - self.degree) * self.log_scale

    @property
    def rates(self) -> Float | None:
        """`ε c` for two layers."""
        return self.speed * self.signs.ravel() if self.degree == 2 else None

    def velocity(self, neg_grad: Float, state: Float) -> Float:
        """`ε c x^(L−2) u`, x in units of the scale; cut off at the largest float."""
        growths = self._split(state)
        power = self.degree - 2
        with np.errstate(under="ignore", over="ignore", invalid="ignore"):
            logs = power * (self.log_sizes + growths) if power else np.zeros_like(growths)
            rates = self.signs * self.speed * np.exp(np.minimum(logs, LARGEST_LOG))
            rates = np.where(self.signs == 0, 0.0, np.clip(rates, -LARGEST, LARGEST))
            moved = [np.clip((neg_grad.T * rate).T, -LARGEST, LARGEST) for rate in rates]
        return np.concatenate(moved)

    def velocity_gradient(self, neg_grad: Float, state: Float) -> Float:
        """Each velocity depends on its own growth only, as `e^((L−2)·growth)`."""
        with np.errstate(over="ignore"):
            slopes = (self.degree - 2) * self.velocity(neg_grad, state)
        return np.diag(np.clip(slopes, -LARGEST, LARGEST))

    def coefs(self, states: Float) -> Float:
        """`Σ_j ε_j x_j^L`."""
        signs, logs = self.signs_and_logs(states)
        with np.errstate(under="ignore"):
            return np.asarray(signs * np.exp(np.minimum(logs, LARGEST_LOG)))

    def times_gradient(self, matrix: Float, state: Float) -> Float:
        """The derivative in the growth of a term is `L ε_j x_j^L`."""
        logs = self.degree * (self.log_sizes + self.log_scale + self._split(state))
        with np.errstate(under="ignore", over="ignore"):
            slopes = self.degree * self.signs * np.exp(np.minimum(logs, LARGEST_LOG))
            slopes = np.clip(slopes, -LARGEST, LARGEST)
            return np.hstack([np.clip(matrix * slope, -LARGEST, LARGEST) for slope in slopes])

    def signs_and_logs(self, states: Float) -> tuple[Float, Float]:
        """Of the difference of what rises and what falls, from the logarithms of both."""
        growths = self.degree * self._split(states)
        with np.errstate(all="ignore"):
            rising, falling = self._rising, self._falling
            risen, fallen = rising.log_growth(growths), falling.log_growth(growths)
            high = np.maximum(rising.log_start + risen, falling.log_start + fallen)
            high += self.degree * self.log_scale
            gap = self._start_gap + (risen - fallen)
            logs = high + np.log(-np.expm1(-np.abs(gap)))
        return np.where(self._frozen, 0.0, np.sign(gap)), np.where(self._frozen, -np.inf, logs)

    def layers(self, states: Float) -> tuple[Float, ...]:
        """The layers that have these combinations."""
        logs = self.log_sizes + self.log_scale + self._split(states)
        with np.errstate(under="ignore"):
            values = self.turns * np.exp(np.minimum(logs, LARGEST_LOG))
        return self.to_layers(list(np.moveaxis(values, -2, 0)))

    def _split(self, states: Float) -> Float:
        """States by term, (…, terms, n)."""
        return states.reshape(*states.shape[:-1], *self.signs.shape)

    # Of the start alone, and asked for at every step.

    @cached_property
    def _rising(self) -> "_Side":
        return _Side.of(self.signs > 0, self.degree * self.log_sizes)

    @cached_property
    def _falling(self) -> "_Side":
        return _Side.of(self.signs < 0, self.degree * self.log_sizes)

    @cached_property
    def _frozen(self) -> Mask:
        return np.asarray(self.movable == 0)

    @cached_property
    def _start_gap(self) -> Float:
        """How much more rises than falls, from the start itself where the two nearly cancel."""
        with np.errstate(all="ignore"):
            gap = self._rising.log_start - self._falling.log_start
            near = np.log1p(self.start / np.exp(self._falling.log_start))
        # Neither a tiny direction's underflow nor a large ratio is of use to log1p.
        return np.where((np.abs(gap) < SMALL_GROWTH) & np.isfinite(near), near, gap)


@dataclass(frozen=True, eq=False)
class _Side:
    """The terms that add to their coefficients, or those that take away.

    Attributes
    ----------
    there
        Which terms these are, (terms, n).
    log_start
        Logarithm of their sum at the start, at scale 1.
    log_shares, shares
        Of each term in that sum.
    """

    there: Mask
    log_start: Float
    log_shares: Float
    shares: Float

    @classmethod
    def of(cls, there: Mask, log_powers: Float) -> "_Side":
        """From the logarithms of all terms at the start."""
        with np.errstate(all="ignore"):
            log_start = np.logaddexp.reduce(np.where(there, log_powers, -np.inf), axis=0)
            log_shares = np.where(there, log_powers - log_start, -np.inf)
            return cls(there, np.asarray(log_start), log_shares, np.exp(log_shares))

    def log_growth(self, growths: Float) -> Float:
        """Logarithm of the sum relative to its start; 0 where there is nothing on this side."""
        growths = np.where(self.there, growths, 0.0)
        changes = np.expm1(np.minimum(growths, SMALL_GROWTH))
        near = np.log1p((self.shares * changes).sum(axis=-2))
        far = np.logaddexp.reduce(self.log_shares + growths, axis=-2)
        is_near = (np.abs(growths) < SMALL_GROWTH).all(axis=-2)
        return np.where(self.there.any(axis=0), np.where(is_near, near, far), 0.0)
