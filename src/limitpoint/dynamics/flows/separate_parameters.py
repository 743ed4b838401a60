"""The parameters of networks each of whose coefficients has parameters of its own, as they are.

Coordinates z, (k, n), are the layers' entries in an orthonormal basis of each coefficient's own
parameters, which a gradient flow does not notice: `ż = −∂loss/∂z = u ∂β/∂z` with `u = −∇_β loss`.

- Two layers that are multiplied: `z = (a ± b)/√2`, `ab = ½z₊² − ½z₋²`. Where a coefficient grows
  from the scale s to order 1, a and b agree to `s²`, and float64 loses their difference below 1e-16
  of them; z₋ it holds, down to 1e-308.
- Layers of a deep product that start with equal moduli stay so: their common direction is one
  coordinate, and the others, which start at zero, stay there.

Nothing is in logarithms, and no coordinate is computed from a conserved quantity: `z₊z₋`, say, is
one that errors of the integration can move.

Where the start is large and its coefficient is not, that is a small difference of large products,
and hardly moves them: a state is then the distance of its coordinates from the start, another
change of basis, and the coefficient `β(0) + (β(z) − β(z(0)))`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float
from limitpoint.networks import Diagonal, Network, Paired, Power, SignedPower

__all__ = ["OwnParameters", "own_parameters"]

ROOT = float(np.sqrt(0.5))

Mask = NDArray[np.bool_]


class OwnParameters(ABC):
    """Coordinates z of the parameters, one column per coefficient; states are `z − origin`.

    Attributes
    ----------
    start
        z at the start, (k, n).
    far
        Which coefficients have states that are counted from the start, (n,).
    kept
        β at the origin from which states are counted: that of the start, or zero.
    """

    start: Float
    far: Mask
    kept: Float

    @cached_property
    def origin(self) -> Float:
        """What states are counted from, (k, n): zero, or the start."""
        return np.where(self.far, self.start, 0.0)

    @property
    @abstractmethod
    def moving(self) -> Mask:
        """Which coordinates can move, (k, n)."""

    @property
    @abstractmethod
    def signs(self) -> tuple[Mask, Mask]:
        """Which coefficients can be positive, and which negative."""

    @abstractmethod
    def layers(self, values: Float) -> tuple[Float, ...]:
        """The layers from z; k and n are the last two axes."""

    @abstractmethod
    def coefs(self, moved: Float) -> Float:
        """Coefficients from `z − origin`; k and n are the last two axes."""

    @abstractmethod
    def gradient(self, values: Float) -> Float:
        """`∂β_i/∂z_ji` at z."""

    @abstractmethod
    def hessian(self, values: Float) -> Float:
        """`∂²β_i/∂z_ji∂z_li` at z, (k, k, n)."""

    def terms(self) -> Float:
        """What errors of the size of the start's units make of each coefficient there."""
        with np.errstate(over="ignore"):
            terms: Float = (self.units() * np.abs(self.gradient(self.start))).sum(axis=0)
        return terms

    def units(self) -> Float:
        """The size of each coordinate to which its errors may be relative at first."""
        return np.abs(self.start)


@dataclass(frozen=True, eq=False)
class SumsOfPowers(OwnParameters):
    """`β = Σ_j w_j z_j^d`: each coordinate keeps its sign, and zero where it starts there."""

    start: Float
    far: Mask
    kept: Float
    weights: Float  # (k, 1)
    power: int
    to_layers: Callable[[Sequence[Float]], tuple[Float, ...]]

    @property
    def moving(self) -> Mask:
        """All coordinates but those that start at zero, and stay there."""
        moving: Mask = self.start != 0
        return moving

    @property
    def signs(self) -> tuple[Mask, Mask]:
        """By the signs of the terms."""
        terms = self.weights * np.sign(self.start) ** self.power
        return (terms > 0).any(axis=0), (terms < 0).any(axis=0)

    def layers(self, values: Float) -> tuple[Float, ...]:
        """By the inverse of the change of basis."""
        return self.to_layers(list(np.moveaxis(values, -2, 0)))

    def coefs(self, moved: Float) -> Float:
        """`β(origin) + Σ_j w_j (z_j^d − origin_j^d)`."""
        if not self.far.any():
            whole: Float = (self.weights * moved**self.power).sum(axis=-2)
            return whole
        changed = _power_change(self.origin, moved, self.power)
        coefs: Float = self.kept + (self.weights * changed).sum(axis=-2)
        return coefs

    def gradient(self, values: Float) -> Float:
        """`d w_j z_j^(d−1)`."""
        gradient: Float = self.power * self.weights * values ** (self.power - 1)
        return gradient

    def hessian(self, values: Float) -> Float:
        """`d(d−1) w_j z_j^(d−2)` on the diagonal."""
        bends = self.power * (self.power - 1) * self.weights * values ** (self.power - 2)
        hessian: Float = np.eye(len(values))[:, :, None] * bends
        return hessian


@dataclass(frozen=True, eq=False)
class Products(OwnParameters):
    """`β = w Π_g z_g^{c_g}`: a coordinate for each c_g layers that start with equal moduli.

    Such layers are `a_j = ±z_g/√c_g`, so that `w = ± Π_g c_g^{−c_g/2}`. A row whose c is zero in
    some column is not used there.
    """

    start: Float
    far: Mask
    kept: Float
    counts: NDArray[np.int64]  # c, (k, n)
    weights: Float  # w, (n,)
    groups: NDArray[np.intp]  # the row of each layer, (L, n)
    shares: Float  # ±1/√c of each layer, (L, n)

    @property
    def moving(self) -> Mask:
        """Where there is a coordinate, and not two layers that are zero."""
        moving: Mask = (self.counts > 0) & ~self._frozen
        return moving

    @property
    def signs(self) -> tuple[Mask, Mask]:
        """Both, unless two layers tie for the smallest: then none of them can cross zero."""
        sizes = np.where(
            self.counts > 0, np.abs(self.start) / np.sqrt(np.maximum(self.counts, 1)), np.inf
        )
        smallest = np.take_along_axis(self.counts, sizes.argmin(axis=0)[None], axis=0)[0]
        value = self.weights * (self.start**self.counts).prod(axis=0)
        crossing = smallest == 1
        return (crossing | (value > 0)) & ~self._frozen, (crossing | (value < 0)) & ~self._frozen

    def layers(self, values: Float) -> tuple[Float, ...]:
        """Every layer from the coordinate of those that share its modulus."""
        chosen = np.take_along_axis(
            values, np.broadcast_to(self.groups, (*values.shape[:-2], *self.groups.shape)), axis=-2
        )
        return tuple(np.moveaxis(self.shares * chosen, -2, 0))

    def coefs(self, moved: Float) -> Float:
        """`β(origin) + w (Π z^c − Π origin^c)`, one coordinate after the other."""
        values = self.origin + moved
        powers = values**self.counts
        if not self.far.any():
            whole: Float = self.weights * powers.prod(axis=-2)
            return whole
        after, total = self._after, np.zeros(moved.shape[:-2] + moved.shape[-1:])
        before = np.ones_like(total)
        for g in range(len(self.start)):
            change = _power_change(self.origin[g], moved[..., g, :], self.counts[g])
            total = total + before * change * after[g]
            before = before * powers[..., g, :]
        coefs: Float = self.kept + self.weights * total
        return coefs

    def gradient(self, values: Float) -> Float:
        """`w c_g z_g^(c_g−1) Π_{h≠g} z_h^{c_h}`."""
        gradient: Float = self.weights * self._slopes(values) * _others(values**self.counts)
        return gradient

    def hessian(self, values: Float) -> Float:
        """Two coordinates bent or differentiated, the others as they are."""
        k = len(values)
        powers, slopes = values**self.counts, self._slopes(values)
        steps = self.counts * (self.counts - 1)
        bends = steps * values ** np.maximum(self.counts - 2, 0)
        hessian = np.zeros((k, k, values.shape[1]))
        for g in range(k):
            hessian[g, g] = bends[g] * np.delete(powers, g, axis=0).prod(axis=0)
            for h in range(g):
                rest = np.delete(powers, (g, h), axis=0).prod(axis=0)
                hessian[g, h] = hessian[h, g] = slopes[g] * slopes[h] * rest
        bent: Float = self.weights * hessian
        return bent

    def units(self) -> Float:
        """Their own; the smallest layer, where it is one, is seen beside the next only."""
        sizes = np.where(self.counts > 0, np.abs(self.start), np.inf)
        order = np.argsort(sizes, axis=0)
        rows = np.arange(sizes.shape[1])
        units = np.abs(self.start)
        first, second = order[0], order[min(1, len(order) - 1)]
        single = self.counts[first, rows] == 1
        next_size = sizes[second, rows]
        units[first, rows] = np.where(
            single & np.isfinite(next_size), next_size, units[first, rows]
        )
        return units

    @cached_property
    def _frozen(self) -> Mask:
        frozen: Mask = ((self.counts > 1) & (self.start == 0)).any(axis=0)
        return frozen

    @cached_property
    def _after(self) -> Float:
        """The products of what comes after each coordinate, at the origin."""
        powers = self.origin**self.counts
        after = np.ones_like(powers)
        for g in range(len(powers) - 2, -1, -1):
            after[g] = after[g + 1] * powers[g + 1]
        return after

    def _slopes(self, values: Float) -> Float:
        slopes: Float = self.counts * values ** np.maximum(self.counts - 1, 0)
        return slopes


AnyOwn = TypeVar("AnyOwn", SumsOfPowers, Products)


def own_parameters(network: Network, layers: Sequence[Float], size: float) -> OwnParameters | None:
    """Coordinates of these layers; None for other networks than products and powers of entries.

    `size` is that of the coefficients that fit the data: a state is counted from the start where
    its coefficient is no larger, but the terms that it is a difference of are.
    """
    if isinstance(network, Diagonal) and network.depth > 2:
        return _products(np.stack(layers), size)
    found = _powers(network, layers)
    if found is None:
        return None
    start, weights, power, to_layers, coef = found
    near = np.zeros(coef.shape, dtype=bool)
    here = SumsOfPowers(start, near, np.zeros_like(coef), weights, power, to_layers)
    return _from_far(here, coef, size)


def _from_far(here: AnyOwn, coef: Float, size: float) -> AnyOwn:
    """Count the states of small coefficients with large terms from the start."""
    far = (here.terms() > size) & (np.abs(coef) <= size)
    return replace(here, far=far, kept=np.where(far, coef, 0.0))


def _powers(
    network: Network, layers: Sequence[Float]
) -> tuple[Float, Float, int, Callable[[Sequence[Float]], tuple[Float, ...]], Float] | None:
    """Coordinates, weights, power, the way back, and the coefficients without cancellation."""
    if isinstance(network, Diagonal):
        a, b = layers
        return np.stack(_turned(a, b)), np.array([[0.5], [-0.5]]), 2, _turn_pairs, a * b
    if isinstance(network, Paired):
        u, v, w, x = layers
        start = np.stack([*_turned(u, v), *_turned(w, x)])
        return start, np.array([[0.5], [-0.5], [-0.5], [0.5]]), 2, _turn_pairs, u * v - w * x
    if isinstance(network, Power):
        return layers[0][None], np.ones((1, 1)), network.depth, tuple, layers[0] ** network.depth
    if isinstance(network, SignedPower):
        u, w = layers
        coef = _power_change(w, u - w, network.depth)
        return np.stack([u, w]), np.array([[1.0], [-1.0]]), network.depth, tuple, coef
    return None


def _products(layers: Float, size: float) -> Products:
    """Layers with equal moduli share a coordinate, `√c` times that modulus."""
    depth, n = layers.shape
    moduli, turns = np.abs(layers), np.where(layers < 0, -1.0, 1.0)
    # The first layer of each modulus stands for all that have it.
    groups = (moduli[:, None] == moduli[None]).argmax(axis=1)
    counts = np.stack([(groups == g).sum(axis=0) for g in range(depth)])
    roots = np.sqrt(np.maximum(counts, 1))
    start = np.where(counts > 0, roots * moduli, 0.0)
    shares = turns / np.take_along_axis(roots, groups, axis=0)
    weights = shares.prod(axis=0)
    near = np.zeros(n, dtype=bool)
    here = Products(start, near, np.zeros(n), counts, weights, groups, shares)
    return _from_far(here, layers.prod(axis=0), size)


def _turned(a: Float, b: Float) -> tuple[Float, Float]:
    """`(a ± b)/√2`, which is its own inverse."""
    return ROOT * (a + b), ROOT * (a - b)


def _turn_pairs(values: Sequence[Float]) -> tuple[Float, ...]:
    return tuple(
        layer
        for first, second in zip(values[::2], values[1::2], strict=True)
        for layer in _turned(first, second)
    )


def _power_change(origin: Float, moved: Float, power: int | NDArray[np.int64]) -> Float:
    """`(o + e)^d − o^d = e Σ_i (o + e)^i o^(d−1−i)`, without the cancellation."""
    values = origin + moved
    total = np.zeros_like(values)
    for i in range(int(np.max(power))):
        rest = np.maximum(np.asarray(power) - 1 - i, 0)
        total = total + np.where(i < np.asarray(power), values**i * origin**rest, 0.0)
    change: Float = moved * total
    return change


def _others(factors: Float) -> Float:
    """The product of all factors but each, along the first axis."""
    ahead, behind = np.ones_like(factors), np.ones_like(factors)
    for g in range(1, len(factors)):
        ahead[g] = ahead[g - 1] * factors[g - 1]
        behind[-g - 1] = behind[-g] * factors[-g]
    others: Float = ahead * behind
    return others
