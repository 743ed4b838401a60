"""Models given as a function in JAX and a tree of parameters, as in Flax and Equinox."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from limitpoint.errors import LimitpointError, NetworkError
from limitpoint.foundation.arrays import Float, as_float_array, one_line, shown
from limitpoint.foundation.extras import lazy_module
from limitpoint.own.model import Model
from limitpoint.own.recognise import recognise
from limitpoint.problem import Problem
from limitpoint.tasks import Regression

if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
    from jax import tree_util
else:
    jax, jnp, tree_util = (
        lazy_module(name, "from_function") for name in ("jax", "jax.numpy", "jax.tree_util")
    )

__all__ = ["from_function"]


@dataclass(frozen=True)
class Applied:
    """The user's function, of the leaves of its tree of parameters."""

    apply: Callable[[Any, Any], Any]
    names: tuple[str, ...]
    # Trees are not compared; the names of their leaves are.
    tree: Any = field(compare=False)

    def __call__(self, leaves: Sequence[Any], X: Any) -> Any:
        """Its outputs."""
        return self.apply(tree_util.tree_unflatten(self.tree, list(leaves)), X)


def from_function(
    apply: Callable[[Any, Any], Any],
    params: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    loss_factor: float = 1.0,
) -> Problem:
    """The problem of a function of your own that is linear in its input.

    Which network it is need not be said: it is found by probing, behind permutations, rotations and
    transpositions of the parameters and in any order of the factors, and checked. A function that
    is none of the known networks can be followed and trained; `explain` says what is missing.

    Parameters
    ----------
    apply
        From parameters and data (m, n) to outputs (m,), (m, 1) or (m, k), in `jax.numpy`.
    params
        The parameters: arrays in any tree that JAX knows. The problem starts from their values, in
        float64. Constants belong into the function.
    X, y
        The data. Targets of shape (m, 1) count as (m,).
    loss_factor
        As for `Regression`: for the mean over the samples of squared errors, 2/m.

    Returns
    -------
    Problem
        Its coefficients are those of the function. Its layers are the parameters, up to
        permutations, rotations and one common factor; its loss factor is the square of that factor
        times the one given, so that times and learning rates are those of the function.

    Raises
    ------
    NetworkError
        If the function is not linear in its input, or a parameter is no array of real numbers.

    Examples
    --------
    >>> def apply(params, X):
    ...     return X @ (params["a"] * params["b"])
    >>> params = {"a": [1.0, 0.5], "b": [0.0, 0.1]}
    >>> params = {name: np.array(value) for name, value in params.items()}
    >>> from_function(apply, params, [[1.0, 2.0]], [1.0])
    Problem(Diagonal(depth=2), scale=1, 1 samples × 2 features)
    """
    task = Regression(X, y, loss_factor)
    if task.n_outputs == 1:
        task = Regression(task.X, task.y[:, 0], loss_factor, feature_names=task.feature_names)
    if not callable(apply):
        raise NetworkError(f"apply must be a function of parameters and data; it is {shown(apply)}")
    names_of, start, tree = _leaves(params)

    traced = Applied(apply, tuple(names_of), tree)
    model = Model.from_outputs(
        _compiled(traced),
        names_of,
        start,
        n_features=task.n_features,
        target_shape=task.y.shape[1:],
        traced=traced,
    )
    return recognise(model, task).problem


def _leaves(params: Any) -> tuple[list[str], list[Float], Any]:
    """The names and the values of the parameters in float64, and the tree that they make."""
    try:
        found, tree = tree_util.tree_flatten_with_path(params)
    except LimitpointError:
        raise
    except Exception as error:
        raise NetworkError(
            f"params must be a tree of arrays that JAX knows; it says: {one_line(error)}"
        ) from None
    if not found:
        raise NetworkError("params must hold at least one array; it is empty")
    names = [f"params{tree_util.keystr(path)}" for path, _ in found]
    start = []
    for name, (_, leaf) in zip(names, found, strict=True):
        kind = getattr(getattr(leaf, "dtype", None), "kind", None)
        if not hasattr(leaf, "shape") or kind is None:
            raise NetworkError(
                f"{name} must be an array; it is {shown(leaf)}. Leave what is not trained out of "
                "the parameters, as equinox.partition(model, equinox.is_inexact_array) does"
            )
        # The small floats of JAX are of NumPy's kind V.
        if kind not in "fV" or (kind == "V" and not jnp.issubdtype(leaf.dtype, jnp.floating)):
            raise NetworkError(
                f"{name} must hold real numbers to be trained; its type is {leaf.dtype}. Leave "
                "constants out of the parameters"
            )
        wide = leaf if kind == "f" else np.asarray(leaf).astype(np.float64)
        start.append(as_float_array(wide, name, NetworkError, ndim=range(len(leaf.shape) + 1)))
    return names, start, tree


def _compiled(
    traced: Callable[[Sequence[Any], Any], Any],
) -> Callable[[Sequence[Float], Float], Float]:
    """The function in float64, on NumPy arrays; what it raises as `NetworkError`."""
    compiled = jax.jit(traced)

    def outputs(blocks: Sequence[Float], X: Float) -> Float:
        with jax.enable_x64(True):
            try:
                found = compiled([jnp.asarray(block) for block in blocks], jnp.asarray(X))
                dtype = jnp.asarray(found).dtype
            except Exception as error:
                raise NetworkError(
                    "apply must take parameters and data of shape (m, n), and be written with "
                    f"jax.numpy; it raised {type(error).__name__}: {one_line(error)}"
                ) from error
            if dtype != np.float64:
                raise NetworkError(
                    f"apply must return float64 where its arguments are; it returns {dtype}. Leave "
                    "out what fixes another type, like dtype=float32 of a layer"
                )
            return np.asarray(found)

    return outputs
