"""Activation times of a network: how long each coefficient stays inactive at vanishing scale."""

import numpy as np

from limitpoint.arrays import as_kind
from limitpoint.errors import InitError, NetworkError
from limitpoint.init import Init
from limitpoint.mirror import ActivationTimes
from limitpoint.networks.base import Network, as_network
from limitpoint.tasks import Regression

__all__ = ["activation_times"]


def activation_times(network: Network, init: Init) -> ActivationTimes:
    """Activation times t⁺ and t⁻ of every coefficient, and the unit of time at the scale of `init`.

    As the scale s vanishes, coefficient i becomes visible when its mirror coordinate reaches
    `t_plus[i]·unit` or `−t_minus[i]·unit`. The unit is `log(1/s)` for two layers and `s^(2−L)` for
    L ≥ 3. The turn by the sign of the other layers, which Assumption 4.4 of Zhao et al. (2026)
    leaves out, is included.

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
    return times
