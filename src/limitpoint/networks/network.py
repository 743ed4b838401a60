"""The interface of a network."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from limitpoint.errors import InitError, NetworkError
from limitpoint.foundation.arrays import Float, as_kind
from limitpoint.foundation.conditions import Condition
from limitpoint.foundation.display import Setting
from limitpoint.foundation.labels import as_names
from limitpoint.foundation.values import Value
from limitpoint.init import Init
from limitpoint.mirror import ActivationTimes, MirrorMap
from limitpoint.mirror.charts.log_chart import LogChart
from limitpoint.networks.kinds.layer_gradients import hessian_of_multilinear
from limitpoint.tasks import Regression, Task

__all__ = ["Network", "activation_times", "as_network"]


class Network(Setting, Value, ABC):
    """A network; where it is linear in its input, `f(x) = ⟨β(θ), x⟩`, it has coefficients β."""

    @property
    def is_linear(self) -> bool:
        """Whether the outputs are linear in the input: only then are there coefficients.

        A network that is not gives its outputs instead, and coefficients of width 0. It can be
        trained and followed in parameter space, and nothing else is known of it.
        """
        return True

    @property
    @abstractmethod
    def degree(self) -> int:
        """Homogeneity L: layers times c give coefficients times c^L (near 0 at least)."""

    @property
    def is_homogeneous(self) -> bool:
        """Whether layers times c give coefficients times c^degree exactly."""
        return True

    @abstractmethod
    def layer_shapes(self, task: Task) -> tuple[tuple[int, ...], ...]:
        """The shape of every layer for this task, or `NetworkError` if the two do not fit."""

    @abstractmethod
    def coef(self, layers: Sequence[Any]) -> Any:
        """Coefficients from layers; NumPy arrays and traced JAX arrays alike."""

    def outputs(self, layers: Sequence[Any], X: Any) -> Any:
        """Outputs for the samples in the rows of X, of the shape of y; traceable by JAX."""
        return X @ self.coef(layers)

    def smooth_outputs(self, layers: Sequence[Any], X: Any, size: float) -> Any:
        """Outputs with kinks rounded off, for the flow; `size` is that of the layers' entries.

        By default the outputs, which have none.
        """
        return self.outputs(layers, X)

    @property
    def writes_gradient(self) -> bool:
        """Whether its gradient is written out; else JAX differentiates the coefficients."""
        return type(self).layer_gradients is not Network.layer_gradients

    def layer_gradients(
        self, layers: Sequence[Float], direction: Float
    ) -> tuple[Float, ...] | None:
        """The gradient of `⟨β, direction⟩` in every layer, where it is written out.

        Leading axes of layers and direction are broadcast. By default None: then JAX
        differentiates the coefficients.
        """
        return None

    def layer_hessian(self, layers: Sequence[Float], direction: Float) -> Float:
        """The second derivatives of `⟨β, direction⟩` in all entries, where the gradient is known.

        By default those of a network that is linear in each of its layers.
        """
        return hessian_of_multilinear(self, layers, direction)

    @abstractmethod
    def invariants(self, layers: Sequence[Float]) -> Float:
        """Quantities that gradient flow conserves, stacked on a new first axis."""

    @property
    def affine_at_zero(self) -> bool:
        """Whether a conserved quantity is zero on a union of linear subspaces only.

        The set on which it keeps its value is then affine where it is zero, and curved elsewhere.
        """
        return True

    @property
    def invariants_are_quadratic(self) -> bool:
        """Whether they are quadratic forms in the layers."""
        return True

    @property
    def invariants_cancel(self) -> bool:
        """Whether they are differences of squares, lost to rounding beside these."""
        return True

    @abstractmethod
    def mirror_map(self, init: Init) -> MirrorMap | None:
        """The network's mirror map from this start, or None if it has none (yet)."""

    @abstractmethod
    def layers_at(self, init: Init, xi: Float) -> tuple[Float, ...] | None:
        """The layers at given mirror coordinates, where the network has a mirror map."""

    @abstractmethod
    def activation_times(self, init: Init) -> ActivationTimes | None:
        """Activation times at vanishing scale, where the network has such."""

    def unit_layers(self, task: Task, direction: Float | None) -> tuple[Float, ...] | None:
        """All layers but the last of `Init.zero_last`, or None where equal layers are right.

        `direction` is what the caller gave for them, or None for the network's own choice.
        """
        return None

    def assumptions(self, init: Init) -> tuple[Condition, ...]:
        """What the definition of the model supposes; empty where it supposes nothing."""
        return ()

    @abstractmethod
    def log_chart(self, init: Init) -> LogChart | None:
        """Coordinates that hold the flow at any scale, where the network has such."""


def as_network(value: Any) -> Network:
    """Return the argument `network` of a function, which must be one, or raise `NetworkError`."""
    return as_kind(value, Network, "like Diagonal()", "network", NetworkError)


def activation_times(
    network: Network, init: Init, *, feature_names: Sequence[str] | None = None
) -> ActivationTimes:
    """Activation times t⁺ and t⁻ of every coefficient, and the unit of time at the scale of `init`.

    As the scale s vanishes, coefficient i becomes visible when its mirror coordinate reaches
    `t_plus[i]·unit` or `−t_minus[i]·unit`. The unit is `log(1/s)` for two layers and `s^(2−L)` for
    L ≥ 3. The turn by the sign of the other layers, which Assumption 4.4 of Zhao et al. (2026)
    leaves out, is included.

    Parameters
    ----------
    network, init
        The network and its initialisation.
    feature_names
        The names of the features, like `task.feature_names`; the result shows them.

    Raises
    ------
    NetworkError
        If the coefficients of the network have no activation times.

    Examples
    --------
    >>> import limitpoint as lp
    >>> init = lp.Init([[1.0, 0.5], [1.0, 0.5], [0.0, 0.0]], scale=1e-2)
    >>> times = activation_times(lp.Diagonal(depth=3), init)
    >>> times.t_plus.round(4).tolist(), round(times.unit, 9)
    ([1.5708, 3.1416], 100.0)
    """
    as_network(network)
    as_kind(init, Init, "an Init, like Init.random(...)", "init", InitError)
    given = tuple(layer.shape for layer in init.direction)
    # As many outputs as the last of several layers has columns.
    outputs = given[-1][1:] if len(given) > 1 else ()
    any_task = Regression(np.ones((1, given[0][0])), np.ones((1, *outputs)))
    wanted = network.layer_shapes(any_task)
    if given != wanted:
        raise InitError(
            f"init has layers of shapes {given}; {network} on {given[0][0]} features needs {wanted}"
        )
    times = network.activation_times(init)
    if times is None:
        raise NetworkError(f"the coefficients of {network} have no activation times")
    count = len(times.t_plus)
    names = as_names(feature_names, None, count, "feature_names", "feature", NetworkError)
    return times if names is None else replace(times, feature_names=names)
