"""The limit of training a network from the start that is standard for it."""

from typing import Any

import numpy as np

from limitpoint.errors import InitError, NetworkError, NoTheoremApplies
from limitpoint.init import Init
from limitpoint.networks import Diagonal, Network, TwoLayer, as_network
from limitpoint.problem import Problem
from limitpoint.tasks import Classification, Task
from limitpoint.theory import Limit, predict

__all__ = ["as_linear_network", "standard_limit"]


def as_linear_network(network: Any) -> Network:
    """Return the parameter `network` of an estimator; None is `Diagonal(depth=2)`."""
    if network is None:
        return Diagonal(depth=2)
    checked = as_network(network)
    if not checked.is_linear:
        raise NetworkError(f"network must be linear in its input, like Diagonal(); it is {checked}")
    return checked


def standard_limit(network: Network, task: Task, scale: float = 1.0) -> Limit:
    """The limit from the first of the standard starts for which a theorem gives one.

    First those from which the coefficients are zero, then a balanced one (of a classification along
    a direction that separates the classes, so that the loss is below that at zero), then ones.
    Two-layer networks start from orthonormal rows.

    Raises
    ------
    NoTheoremApplies
        With the conditions from the first start that the network has.
    """
    if isinstance(network, TwoLayer):  # it has one only, and says why not on these data
        return predict(
            Problem(network, Init.orthogonal(network, task, scale), task), escalate=False
        )
    refused: NoTheoremApplies | None = None
    for start in (Init.zero_last, Init.unbiased, _balanced, _ones):
        try:
            init = start(network, task, scale)
        except InitError:
            continue
        try:
            # Of rows that are equal but for rounding, the exact limit has huge coefficients, which
            # nobody who fits data means.
            return predict(Problem(network, init, task), escalate=False)
        except NoTheoremApplies as error:
            refused = refused or error
    if refused is not None:
        raise refused
    raise NetworkError(
        f"network must have a standard start on these data; {network} has none. "
        "limitpoint.predict takes a start of your own"
    )


def _balanced(network: Network, task: Task, scale: float) -> Init:
    along = task.separation.direction if isinstance(task, Classification) else None
    return Init.balanced(network, task, scale, direction=along)


def _ones(network: Network, task: Task, scale: float) -> Init:
    """Of a network of one layer with a number for each feature, like `Power`."""
    shapes = network.layer_shapes(task)
    if shapes != ((task.n_features,),):
        raise InitError(f"{network} has no start at ones")
    return Init([np.ones(task.n_features)], scale)
