"""A PyTorch module that is linear in its input, as a problem of this library."""

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from limitpoint.foundation.extras import lazy_module
from limitpoint.own import Model, Recognised, recognise
from limitpoint.problem import Problem
from limitpoint.tasks import Regression, Task
from limitpoint.torch.derivatives import Differentiated
from limitpoint.torch.examination import examine
from limitpoint.torch.twin import Twin, as_module, values_of

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_module("torch", "limitpoint.torch")

__all__ = ["model_of", "problem", "recognised"]

# The attribute of a problem that holds what its module was recognised as.
REMEMBERED = "_recognised_module"


def problem(module: Any, X: ArrayLike, y: ArrayLike, *, loss_factor: float = 1.0) -> Problem:
    """The problem of training a module from its present weights, on the loss `c · ½‖f(X) − y‖²`.

    The module is examined in a copy, in float64 on the CPU; neither it nor any random state is
    changed. Its structure is found, not asked for: hidden behind permutations, transposes, factors
    in another order, parametrisations and frozen parameters, too.

    Parameters
    ----------
    module
        A `torch.nn.Module` that is linear in its input: one number, or k, for each sample.
    X
        Samples, (m, n), an array or a tensor. Where the module takes samples of another shape, let
        it begin with a `torch.nn.Unflatten`: `Unflatten(1, (1, n))` before a `Conv1d`.
    y
        Targets, (m,), (m, 1) or (m, k).
    loss_factor
        The c in front of the loss. The mean squared error, `torch.nn.MSELoss()`, is that of
        `2 / (number of targets)`, and the same with reduction="sum" that of 2.

    Returns
    -------
    Problem
        Of the network that the module is, started at its weights. Learning rates are the module's.

    Raises
    ------
    NetworkError
        Naming the submodule that is not linear in its input, with what would help.
    """
    module = as_module(module)
    task = Regression(_array(X), _array(y), loss_factor)
    if task.n_outputs == 1:
        task = Regression(task.X, task.y[:, 0], loss_factor, feature_names=task.feature_names)
    found = recognise(model_of(module, task), task)
    # Not a part of the value: two modules may be the same problem, with other weights for layers.
    vars(found.problem)[REMEMBERED] = found
    return found.problem


def recognised(problem: Problem) -> Recognised | None:
    """What the module was recognised as that a problem was made from, if it was made here."""
    found: Recognised | None = vars(problem).get(REMEMBERED)
    return found


def model_of(module: Any, task: Task) -> Model:
    """A module as a model of the user's own."""
    twin = Twin.of(module)
    examine(twin, task.n_features)
    return Model.from_outputs(
        twin.outputs,
        twin.names,
        twin.start,
        n_features=task.n_features,
        target_shape=task.y.shape[1:],
        frozen=twin.frozen,
        traced=Differentiated(twin, task.n_features),
    )


def _array(value: Any) -> Any:
    """A tensor as an array, wherever it is; all else as it is."""
    return values_of(value) if isinstance(value, torch.Tensor) else value
