"""General two-layer networks (Zhao 2026, Definition 4.1): `β_i = k_i(θ_i)` for any smooth k."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from limitpoint.errors import NetworkError
from limitpoint.foundation.arrays import Float, as_whole_number, shown
from limitpoint.foundation.conditions import Condition
from limitpoint.foundation.extras import lazy_module
from limitpoint.init import Init
from limitpoint.mirror import ActivationTimes, MirrorMap
from limitpoint.mirror.charts.log_chart import LogChart
from limitpoint.mirror.general.tabulate import CRITICAL_DISTANCE
from limitpoint.mirror.general.tabulated_map import TabulatedMap
from limitpoint.networks.general.block_function import SMOOTH, BlockFunction, block_function
from limitpoint.networks.general.eigen_chart import EigenChart
from limitpoint.networks.network import Network
from limitpoint.tasks import Task

if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
else:
    jax, jnp = (
        lazy_module("jax", "a General network"),
        lazy_module("jax.numpy", "a General network"),
    )

__all__ = ["General"]

# k(0) is zero up to a few roundings of numbers of order 1.
ZERO_VALUE = 1e-14
# A block is the parameters of one coefficient; a k of more is refused before it fills the memory.
LARGEST_BLOCK = 2**20
# So many tables are kept, the last ones used.
TABLES_KEPT = 16


@dataclass(frozen=True, repr=False)
class General(Network):
    """A network whose every coefficient is its own function of its own block of parameters.

    Parameters
    ----------
    k
        A function of one block, an array of shape (p,), to a number, written with `jax.numpy`; or
        one such function for each coefficient. `k(0)` must be 0.
    block_size
        The number p of parameters of a block, the same for all (one may be left unused).

    The layers are one array (n, p), a block per row.

    Examples
    --------
    >>> import numpy as np
    >>> network = General(lambda block: block[0] * block[1], block_size=2)
    >>> network.coef([np.array([[1.0, 2.0], [3.0, -1.0]])]).tolist()
    [2.0, -3.0]
    """

    k: Any
    block_size: int

    def __init__(self, k: Any, *, block_size: int) -> None:
        size = as_whole_number(block_size, 1, "block_size", NetworkError, most=LARGEST_BLOCK)
        object.__setattr__(self, "block_size", size)
        if callable(k):
            functions: tuple[Any, ...] = (k,)
            object.__setattr__(self, "k", k)
        elif isinstance(k, Iterable) and not isinstance(k, str | bytes | dict):
            functions = tuple(k)
            object.__setattr__(self, "k", functions)
        else:
            raise NetworkError(
                "k must be a function of one block, or a sequence of one such function per "
                f"coefficient; it is {shown(k)}"
            )
        if not functions:
            raise NetworkError("k must hold one function per coefficient; it is empty")
        for index, one in enumerate(functions):
            name = "k" if callable(k) else f"k[{index}]"
            _check_function(one, size, name)

    def __repr__(self) -> str:
        functions = self.k if isinstance(self.k, tuple) else (self.k,)
        names = [getattr(one, "__name__", type(one).__name__) for one in functions]
        shown = ", ".join(dict.fromkeys(names))
        return f"General({shown}, block_size={self.block_size})"

    @property
    def degree(self) -> int:
        """Two: near zero every k is a quadratic form."""
        return 2

    def layer_shapes(self, task: Task) -> tuple[tuple[int, ...], ...]:
        """One array with a block per feature."""
        if task.n_outputs is not None:
            raise NetworkError(
                f"a general network has one output; y has shape {task.y.shape}. "
                "Pass y as a vector of shape (m,)"
            )
        if isinstance(self.k, tuple) and len(self.k) != task.n_features:
            raise NetworkError(
                f"k must hold one function per feature; it holds {len(self.k)} and the data have "
                f"{task.n_features} features"
            )
        return ((task.n_features, self.block_size),)

    def coef(self, layers: Sequence[Any]) -> Any:
        """`k_i` of every block; further axes may come first."""
        (blocks,) = layers
        if isinstance(blocks, jax.Array):
            return self._coef(blocks)
        with jax.enable_x64(True):
            return np.asarray(self._coef(jnp.asarray(np.asarray(blocks, dtype=np.float64))))

    def invariants(self, layers: Sequence[Float]) -> Float:
        """None is known in general."""
        return np.empty((0, *np.shape(layers[0])[:-1]))

    @property
    def is_homogeneous(self) -> bool:
        """Only near zero."""
        return False

    def mirror_map(self, init: Init) -> MirrorMap | None:
        """The tabulated map, or None if zero is not a critical point at which k is smooth."""
        return _mirror_map(self, init)

    def layers_at(self, init: Init, xi: Float) -> tuple[Float, ...] | None:
        """The blocks, from the table."""
        mirror = self.mirror_map(init)
        if not isinstance(mirror, TabulatedMap):
            return None
        return (mirror.layers_at(mirror.curve_params(xi)),)

    def activation_times(self, init: Init) -> ActivationTimes | None:
        """`1/λ_max(H_i)` and `−1/λ_min(H_i)`, `H_i = ∇²k_i(0)` (Zhao et al., Assumption 4.4).

        With the bounds, if any, that k has along the limit curves.
        """
        mirror = self.mirror_map(init)
        if mirror is None or not self._is_quadratic(init):
            return None
        limit = _mirror_map(self, init, vanishing=True)
        assert limit is not None, "it exists at one scale, so at all"
        return replace(mirror.activation_times(), lower=limit.lower, upper=limit.upper)

    def assumptions(self, init: Init) -> tuple[Condition, ...]:
        """Those of Definition 4.1 of Zhao et al. for this direction.

        The curves on which critical points and bounds are looked for are the limit curves, those
        of vanishing scale.
        """
        return _assumptions(self, init)

    def log_chart(self, init: Init) -> LogChart | None:
        """The blocks in the eigenbasis of their Hessian, in logarithms."""
        blocks = init.direction[0]
        functions = self._block_functions(len(blocks))
        if not all(one.is_regular and one.model.rate > 0 for one in set(functions)):
            return None
        return EigenChart.of(functions, blocks, init.log_scale)

    @cached_property
    def _by_function(self) -> list[tuple[Any, NDArray[np.intp] | None]]:
        """The distinct functions, and the coefficients that have them."""
        if not isinstance(self.k, tuple):
            return [(self.k, None)]
        distinct = list({id(one): one for one in self.k}.values())
        return [(one, np.flatnonzero([other is one for other in self.k])) for one in distinct]

    def _coef(self, blocks: "jax.Array") -> "jax.Array":
        def each(function: Any, part: "jax.Array") -> "jax.Array":
            flat = jax.vmap(function)(part.reshape(-1, self.block_size))
            result: jax.Array = jnp.reshape(flat, part.shape[:-1])
            return result

        parts = self._by_function
        if parts[0][1] is None:
            return each(parts[0][0], blocks)
        values = [each(function, blocks[..., where, :]) for function, where in parts]
        order = np.argsort(np.concatenate([where for _, where in parts if where is not None]))
        return jnp.concatenate(values, axis=-1)[..., order]

    def _is_quadratic(self, init: Init) -> bool:
        """Whether no Hessian vanishes at zero, so that there are activation times."""
        functions = self._block_functions(len(init.direction[0]))
        return all(one.model.rate > 0 for one in set(functions))

    def _block_functions(self, count: int) -> tuple[BlockFunction, ...]:
        functions = self.k if isinstance(self.k, tuple) else (self.k,) * count
        return tuple(block_function(one, self.block_size) for one in functions)


@lru_cache(maxsize=TABLES_KEPT)
def _mirror_map(network: General, init: Init, vanishing: bool = False) -> TabulatedMap | None:
    """The map, kept for the next time: its table is costly, and predictions ask for it often."""
    blocks = init.direction[0]
    functions = network._block_functions(len(blocks))
    if not all(one.is_regular for one in set(functions)):
        return None
    log_scale = -np.inf if vanishing else init.log_scale
    return TabulatedMap.from_blocks([one.model for one in functions], blocks, log_scale)


def _assumptions(network: General, init: Init) -> tuple[Condition, ...]:
    functions = network._block_functions(len(init.direction[0]))
    slope = max(one.gradient_at_zero for one in functions)
    critical = Condition(
        name="zero is a critical point",
        holds=slope <= ZERO_VALUE,
        margin=0.0 - slope,
        detail=f"|k(0)| and the norm of its gradient there are at most {slope:.3g}",
        change="use a k whose value and gradient vanish at zero",
        about="network",
    )
    if not critical.holds:
        return (critical,)
    smooth = _smooth_at_zero(functions)
    mirror = network.mirror_map(init)
    if not isinstance(mirror, TabulatedMap):
        return (critical, smooth)
    if not network._is_quadratic(init):
        return (critical, smooth, _opposite_eigenvalues(functions))
    limit = _mirror_map(network, init, vanishing=True)
    assert limit is not None, "it exists at one scale, so at all"
    return (
        critical,
        smooth,
        _opposite_eigenvalues(functions),
        _not_orthogonal(mirror),
        *_limit_curves(limit),
    )


def _smooth_at_zero(functions: tuple[BlockFunction, ...]) -> Condition:
    """Whether k is its Taylor series near zero, and that series is not nothing."""
    flat = [
        one.model.rate == 0 and not any(tensor.any() for tensor in one.model.tensors)
        for one in functions
    ]
    gaps = [
        np.inf if none else one.model.disagreement
        for one, none in zip(functions, flat, strict=True)
    ]
    worst = int(np.argmax(gaps))
    holds = gaps[worst] <= SMOOTH and all(one.is_regular for one in set(functions))
    if holds:
        detail = f"it agrees with its Taylor series to {gaps[worst]:.3g}"
    elif flat[worst]:
        detail = (
            f"that of coefficient {worst} has no derivative there but zeros, up to the fifth: it "
            "is constant, or not smooth"
        )
    else:
        detail = (
            f"that of coefficient {worst} is not smooth there: nearby its gradient is off that of "
            f"its Taylor series by {gaps[worst]:.3g} of itself"
        )
    return Condition(
        name="k is analytic at zero",
        holds=holds,
        margin=SMOOTH - gaps[worst],
        detail=detail,
        change="use a k that is smooth at zero and not constant",
        about="network",
    )


def _opposite_eigenvalues(functions: tuple[BlockFunction, ...]) -> Condition:
    margins = []
    for one in functions:
        values = one.model.eigenvalues
        gaps = [float(values[-1]), float(-values[0])]
        if len(values) > 1:
            gaps += [float(values[-1] - values[-2]), float(values[1] - values[0])]
        margins.append(min(gaps) / max(one.model.rate, np.finfo(np.float64).tiny))
    worst = int(np.argmin(margins))
    return Condition(
        name="the Hessian's extreme eigenvalues are simple and of opposite sign",
        holds=margins[worst] > 0,
        margin=margins[worst],
        detail=f"coefficient {worst} has eigenvalues "
        + ", ".join(f"{value:.6g}" for value in functions[worst].model.eigenvalues),
        change="use a k with a saddle at zero, like a*b, that curves up and down",
        about="network",
    )


def _not_orthogonal(mirror: TabulatedMap) -> Condition:
    size = sum(len(where) for where in mirror.columns)
    margins = np.zeros(size)
    for group, where in zip(mirror.groups, mirror.columns, strict=True):
        norms = np.linalg.norm(group.blocks, axis=1)
        extreme = np.abs(group.starts.linear.components[:, [0, -1]]).min(axis=1)
        margins[where] = np.divide(extreme, norms, out=np.zeros_like(norms), where=norms > 0)
    worst = int(np.argmin(margins))
    return Condition(
        name="the direction is orthogonal to neither extreme eigenvector",
        holds=bool(margins[worst] > 0),
        margin=float(margins[worst]),
        detail=f"the smallest cosine is {margins[worst]:.3g}, of coefficient {worst}",
        change="start from another direction: Init.random(...)",
    )


def _limit_curves(limit: TabulatedMap) -> tuple[Condition, ...]:
    """Where the curves of vanishing scale end: at kinks, at critical points, at bounds."""
    size = sum(len(where) for where in limit.columns)
    distance = np.full(size, np.inf)
    for group, where in zip(limit.groups, limit.columns, strict=True):
        distance[where] = group.critical_distances
    nearest = int(np.argmin(distance))
    met = bool(distance[nearest] < CRITICAL_DISTANCE)
    lower, upper = limit.lower, limit.upper
    bounded = [
        f"coefficient {i} is at least {lower[i]:.6g}" for i in np.flatnonzero(lower > -np.inf)
    ]
    bounded += [
        f"coefficient {i} is at most {upper[i]:.6g}" for i in np.flatnonzero(upper < np.inf)
    ]
    reach = float(np.minimum(np.abs(lower), np.abs(upper)).min())
    return (
        Condition(
            name="k is analytic along the curves",
            holds=not limit.not_smooth,
            margin=None,
            detail="; ".join(limit.unknown) or "every curve can be followed",
            change="use a k without kinks along its curves",
            about="network",
        ),
        Condition(
            name="the curves meet no critical point but zero",
            holds=not met,
            margin=float(distance[nearest] - CRITICAL_DISTANCE),
            detail=f"coefficient {nearest} ends at another critical point"
            if met
            else "the gradient of k vanishes nowhere on them",
            change="use a k with no critical point but zero",
            about="network",
        ),
        Condition(
            name="k is unbounded on both sides",
            holds=not bounded,
            margin=reach if not bounded else -1.0 / max(reach, np.finfo(np.float64).tiny),
            detail="; ".join(bounded)
            or "no coefficient is bounded" + (", as far as it is known" if limit.unknown else ""),
            change="use a k that takes all values, from −∞ to ∞",
            about="network",
        ),
    )


def _check_function(function: Callable[..., Any], size: int, name: str) -> None:
    """Raise `NetworkError` if this is not a function of a block with k(0) = 0."""
    if not callable(function):
        raise NetworkError(f"{name} must be a function of one block; it is {shown(function)}")
    try:
        hash(function)
    except TypeError:
        raise NetworkError(f"{name} must be hashable, as functions are; wrap it in one") from None
    with jax.enable_x64(True):
        zero = jnp.zeros(size)
        try:
            # Traced, as it will be differentiated and compiled.
            shape = jax.eval_shape(lambda block: jnp.asarray(function(block)), zero)
            value = jnp.asarray(function(zero))
        except Exception as error:
            raise NetworkError(
                f"{name} must take one block, an array of shape ({size},), and be written with "
                f"jax.numpy; it raised {type(error).__name__}: {error}"
            ) from error
        if value.shape != ():
            raise NetworkError(
                f"{name} must return one number; for a block of shape ({size},) it returned an "
                f"array of shape {value.shape}"
            )
        if not jnp.issubdtype(shape.dtype, jnp.floating):
            raise NetworkError(
                f"{name} must return a real number computed from its block; it returned one of "
                f"type {shape.dtype}"
            )
        number = complex(value)
    if number.imag != 0 or not np.isfinite(number.real) or abs(number.real) > ZERO_VALUE:
        raise NetworkError(f"{name} must be 0 at 0; it is {number.real:g} there")
