"""Power networks, `β = u^L` and `β = u^L − w^L`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.mirror.activation_times import ActivationTimes
from limitpoint.mirror.charts.log_chart import LogChart
from limitpoint.mirror.charts.power_sums import PowerSums
from limitpoint.mirror.exponential_map import ExponentialMap
from limitpoint.mirror.mirror_map import MirrorMap
from limitpoint.mirror.power_map import PowerMap
from limitpoint.networks.kinds.layered import LayeredNetwork
from limitpoint.networks.kinds.single_output import feature_shape
from limitpoint.tasks import Task

__all__ = ["Power", "SignedPower"]


@dataclass(frozen=True)
class Power(LayeredNetwork):
    """A network whose coefficients are powers of its one layer, `β = u^L`.

    A coefficient keeps its sign: never negative at even depth, of the sign of u at odd depth, and
    zero for ever where u starts at zero.

    Parameters
    ----------
    depth
        The power L, at least 2. The layer is u, of shape (n,).

    References
    ----------
    Labarrière et al. 2024, appendix A.3.

    Examples
    --------
    >>> import numpy as np
    >>> Power(depth=3).coef([np.array([1.0, -2.0])]).tolist()
    [1.0, -8.0]
    """

    def layer_shapes(self, task: Task) -> tuple[tuple[int, ...], ...]:
        """One layer with one entry per feature."""
        return (feature_shape(task, "power"),)

    def coef(self, layers: Sequence[Any]) -> Any:
        """`u^L`."""
        return layers[0] ** self.depth

    def layer_gradients(
        self, layers: Sequence[Float], direction: Float
    ) -> tuple[Float, ...] | None:
        """`L u^(L−1)` times the direction."""
        return (direction * _slope(layers[0], self.depth),)

    def layer_hessian(self, layers: Sequence[Float], direction: Float) -> Float:
        """`L(L−1) u^(L−2)` times the direction, on the diagonal."""
        return np.diag(direction * _bend(layers[0], self.depth))

    def invariants(self, layers: Sequence[Float]) -> Float:
        """None: each coordinate has a single parameter. The first axis has length zero."""
        return np.empty((0, *np.shape(layers[0])))

    def mirror_map(self, init: Init) -> MirrorMap | None:
        """One exponential at depth 2, a power of the distance to its pole beyond."""
        _check(init, self.depth)
        return _map_of(init.direction[0], None, self.depth, init.log_scale)

    def layers_at(self, init: Init, xi: Float) -> tuple[Float, ...] | None:
        """`u` from `u^(2−L)`, which is linear in the mirror coordinate (`log u` at depth 2)."""
        return _layers_at(self._terms(init), xi)

    def activation_times(self, init: Init) -> ActivationTimes | None:
        """The mirror coordinate that takes a coefficient to infinity.

        ½ in units of log(1/s) at depth 2.
        """
        return _map_of(init.direction[0], None, self.depth, init.log_scale).activation_times()

    def log_chart(self, init: Init) -> LogChart | None:
        """The log-growth of u."""
        _check(init, self.depth)
        return self._terms(init)

    def _terms(self, init: Init) -> PowerSums:
        return PowerSums.of(
            init.direction,
            sides=[1],
            start=self.coef(init.direction),
            degree=self.depth,
            speed=self.depth,
            log_scale=init.log_scale,
        )


@dataclass(frozen=True)
class SignedPower(LayeredNetwork):
    """A network whose coefficients are differences of powers, `β = u^L − w^L`.

    At even depth, and at odd depth where u and w start with one sign, a coefficient can take both
    signs. At odd depth with opposite signs, or where one of the two starts at zero, it keeps its
    sign; where both start at zero, it never moves.

    Parameters
    ----------
    depth
        The power L, at least 2. The layers are u and w, of shape (n,).

    References
    ----------
    Woodworth et al. 2020, *Kernel and rich regimes in overparametrized models*, section 4.

    Examples
    --------
    >>> import numpy as np
    >>> SignedPower(depth=3).coef([np.array([2.0]), np.array([1.0])]).tolist()
    [7.0]
    """

    def layer_shapes(self, task: Task) -> tuple[tuple[int, ...], ...]:
        """Two layers with one entry per feature."""
        return (feature_shape(task, "signed power"),) * 2

    def coef(self, layers: Sequence[Any]) -> Any:
        """`u^L − w^L`."""
        u, w = layers
        return u**self.depth - w**self.depth

    def layer_gradients(
        self, layers: Sequence[Float], direction: Float
    ) -> tuple[Float, ...] | None:
        """`L u^(L−1)` and `−L w^(L−1)` times the direction."""
        u, w = layers
        return direction * _slope(u, self.depth), -direction * _slope(w, self.depth)

    def layer_hessian(self, layers: Sequence[Float], direction: Float) -> Float:
        """`L(L−1) u^(L−2)` and `−L(L−1) w^(L−2)` times the direction, on the diagonal."""
        u, w = layers
        bends = direction * _bend(u, self.depth), -direction * _bend(w, self.depth)
        return np.diag(np.concatenate(bends))

    def invariants(self, layers: Sequence[Float]) -> Float:
        """`uw` at depth 2, beyond it the angle whose cotangent is `u^(2−L) + w^(2−L)`.

        That sum is conserved but infinite where a layer is zero, and its inverse is infinite where
        it vanishes (odd depth, u = −w); the angle of `(u^k + w^k, (uw)^k)`, k = L − 2, is neither.
        """
        u, w = layers
        power = self.depth - 2
        if power == 0:
            return np.asarray(u * w)[None]
        # Adding zero turns −0 into 0, which the angle would tell apart.
        return np.arctan2((u * w) ** power + 0.0, u**power + w**power)[None]

    @property
    def invariants_are_quadratic(self) -> bool:
        """At depth 2."""
        return self.depth == 2

    @property
    def invariants_cancel(self) -> bool:
        """They are functions of u and w, each of which is known by itself."""
        return False

    def mirror_map(self, init: Init) -> MirrorMap | None:
        """The exponential map at depth 2, a map with a pole on each side beyond."""
        _check(init, self.depth)
        u, w = init.direction
        return _map_of(u, w, self.depth, init.log_scale)

    def layers_at(self, init: Init, xi: Float) -> tuple[Float, ...] | None:
        """As for `Power`, u at the mirror coordinate and w at its opposite."""
        return _layers_at(self._terms(init), xi)

    def activation_times(self, init: Init) -> ActivationTimes | None:
        """The mirror coordinates that take a coefficient to ±infinity; ½ of log(1/s) at depth 2."""
        u, w = init.direction
        return _map_of(u, w, self.depth, init.log_scale).activation_times()

    def log_chart(self, init: Init) -> LogChart | None:
        """The log-growth of u and of w."""
        _check(init, self.depth)
        return self._terms(init)

    def _terms(self, init: Init) -> PowerSums:
        u, w = init.direction
        return PowerSums.of(
            [u, w],
            sides=[1, -1],
            start=_difference_of_powers(u, w, self.depth),
            degree=self.depth,
            speed=self.depth,
            log_scale=init.log_scale,
        )


def _check(init: Init, depth: int) -> None:
    """Whether float64 holds the coefficients and, where mirror coordinates have a unit, that."""
    init.check_products(depth)
    if depth > 2:
        init.check_mirror(depth)


def _map_of(u: Float, w: Float | None, depth: int, log_scale: float) -> MirrorMap:
    """The mirror map of `u^L − w^L`."""
    if depth > 2:
        return PowerMap.from_layers(u, w, depth, log_scale)
    plus = np.abs(u)
    minus = np.zeros_like(u) if w is None else np.abs(w)
    smaller = plus - minus
    with np.errstate(over="ignore", under="ignore"):
        start = smaller * (plus + minus)  # the map knows its factors too, where this is no float
    return ExponentialMap.from_exponentials(plus, minus, smaller, start, log_scale, rate=2.0)


def _difference_of_powers(u: Float, w: Float, depth: int) -> Float:
    """`u^L − w^L` by its factor `u − w`, so that nothing cancels but the entries themselves."""
    sums = sum(u**i * w ** (depth - 1 - i) for i in range(depth))
    same_sign: Float = (u - w) * sums
    # With opposite signs the sum alternates; then the powers are to be taken as they are, or by
    # the moduli, which at even depth give the same difference.
    if depth % 2 == 0:
        a, b = np.abs(u), np.abs(w)
        return np.asarray((a - b) * sum(a**i * b ** (depth - 1 - i) for i in range(depth)))
    return np.where(u * w > 0, same_sign, u**depth - w**depth)


def _layers_at(terms: PowerSums, xi: Float) -> tuple[Float, ...]:
    """`log x = log x(0) + cεξ` at depth 2, `x^−k = x(0)^−k − kcεξ` with k = L − 2 beyond."""
    power = terms.degree - 2
    turned = terms.signs * terms.speed * np.asarray(xi)[..., None, :]
    if power == 0:
        growths = turned
    else:
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            # Mirror coordinates times s^(L−2) are those of the direction.
            rates = power * np.exp(power * (terms.log_sizes + terms.log_scale))
            used = np.where(terms.signs == 0, 0.0, np.minimum(rates * turned, 1.0))
            growths = -np.log1p(-used) / power
    return terms.layers(growths.reshape(*growths.shape[:-2], -1))


def _slope(u: Float, power: int) -> Float:
    slope: Float = power * u ** (power - 1)
    return slope


def _bend(u: Float, power: int) -> Float:
    bend: Float = power * (power - 1) * u ** (power - 2)
    return bend
