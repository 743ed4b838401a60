"""Paired networks, `β = u₊v₊ − u₋v₋`."""

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
from limitpoint.networks.kinds.single_output import feature_shape
from limitpoint.networks.network import Network
from limitpoint.tasks import Task

__all__ = ["Paired"]


@dataclass(frozen=True)
class Paired(Network):
    """Two diagonal networks of depth 2, one counted negative: `β = u₊v₊ − u₋v₋`.

    The layers are u₊, v₊, u₋, v₋, of shape (n,). With equal pairs at the start, the coefficients
    start at zero and `β = (u(0)² + v(0)²) sinh 2ξ`.

    References
    ----------
    Azulay et al. 2021, *On the implicit bias of initialization shape*.

    Examples
    --------
    >>> import numpy as np
    >>> Paired().coef([np.array([2.0]), np.array([3.0]), np.array([1.0]), np.array([4.0])]).tolist()
    [2.0]
    """

    @property
    def degree(self) -> int:
        """Two layers."""
        return 2

    def layer_shapes(self, task: Task) -> tuple[tuple[int, ...], ...]:
        """Four layers with one entry per feature."""
        return (feature_shape(task, "paired"),) * 4

    def coef(self, layers: Sequence[Any]) -> Any:
        """`u₊v₊ − u₋v₋`."""
        u_plus, v_plus, u_minus, v_minus = layers
        return u_plus * v_plus - u_minus * v_minus

    def layer_gradients(
        self, layers: Sequence[Float], direction: Float
    ) -> tuple[Float, ...] | None:
        """`v₊, u₊, −v₋, −u₋` times the direction."""
        u_plus, v_plus, u_minus, v_minus = layers
        return (
            direction * v_plus,
            direction * u_plus,
            -direction * v_minus,
            -direction * u_minus,
        )

    def layer_hessian(self, layers: Sequence[Float], direction: Float) -> Float:
        """The direction between u₊ and v₊, minus the direction between u₋ and v₋."""
        block, none = np.diag(direction), np.zeros((direction.size, direction.size))
        return np.block(
            [
                [none, block, none, none],
                [block, none, none, none],
                [none, none, none, -block],
                [none, none, -block, none],
            ]
        )

    def invariants(self, layers: Sequence[Float]) -> Float:
        """`u₊² − v₊²`, `u₋² − v₋²`, `(u₊ + v₊)(u₋ + v₋)` and `(u₊ − v₊)(u₋ − v₋)`.

        With the mirror coordinate, `u₊+v₊` and `u₋−v₋` grow as e^ξ while `u₊−v₊` and `u₋+v₋` decay
        as e^−ξ, so that the four products of one that grows and one that decays are conserved.
        Three of the four are independent.
        """
        u_plus, v_plus, u_minus, v_minus = layers
        return np.stack(
            [
                (u_plus - v_plus) * (u_plus + v_plus),
                (u_minus - v_minus) * (u_minus + v_minus),
                (u_plus + v_plus) * (u_minus + v_minus),
                (u_plus - v_plus) * (u_minus - v_minus),
            ]
        )

    def mirror_map(self, init: Init) -> MirrorMap | None:
        """The exponential map of the root mean squares of what grows and what decays."""
        init.check_products(self.degree)
        return self._map(init)

    def layers_at(self, init: Init, xi: Float) -> tuple[Float, ...] | None:
        """Sums and differences run as e^±ξ."""
        xi = np.asarray(xi)
        return _terms(init).layers(np.concatenate([xi, -xi, -xi, xi], axis=-1))

    def activation_times(self, init: Init) -> ActivationTimes | None:
        """One on both sides, infinite on a side towards which nothing grows."""
        return self._map(init).activation_times()

    def log_chart(self, init: Init) -> LogChart | None:
        """The log-growth of the sums and differences of both pairs."""
        init.check_products(self.degree)
        return _terms(init)

    def _map(self, init: Init) -> ExponentialMap:
        p_plus, d_plus, p_minus, d_minus = _halves(init.direction)
        plus, minus = np.hypot(p_plus, d_minus), np.hypot(d_plus, p_minus)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            start, total = self.coef(init.direction), plus + minus
        # v = (P² − M²)/(P + M), with the products divided before they can vanish.
        shared = [layer / np.where(total > 0, total, 1.0) for layer in init.direction[::2]]
        smaller = shared[0] * init.direction[1] - shared[1] * init.direction[3]
        return ExponentialMap.from_exponentials(plus, minus, smaller, start, init.log_scale)


def _halves(layers: Sequence[Float]) -> tuple[Float, Float, Float, Float]:
    """Half the sum and half the difference of each pair."""
    u_plus, v_plus, u_minus, v_minus = layers
    return (
        (u_plus + v_plus) / 2,
        (u_plus - v_plus) / 2,
        (u_minus + v_minus) / 2,
        (u_minus - v_minus) / 2,
    )


def _terms(init: Init) -> PowerSums:
    """`β = p₊² − d₊² − p₋² + d₋²` in half sums p and half differences d."""
    return PowerSums.of(
        _halves(init.direction),
        sides=[1, -1, -1, 1],
        start=np.asarray(Paired().coef(init.direction)),
        degree=2,
        speed=1.0,
        log_scale=init.log_scale,
        to_layers=_whole,
    )


def _whole(halves: Sequence[Float]) -> tuple[Float, ...]:
    p_plus, d_plus, p_minus, d_minus = halves
    return p_plus + d_plus, p_plus - d_plus, p_minus + d_minus, p_minus - d_minus
