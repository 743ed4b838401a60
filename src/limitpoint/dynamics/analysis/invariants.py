"""Drift of the quantities that gradient flow conserves."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from limitpoint.dynamics.trajectory import Trajectory, as_trajectory
from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import Float, read_only
from limitpoint.foundation.display import Page, number, table
from limitpoint.foundation.extras import lazy_module
from limitpoint.foundation.result import Result
from limitpoint.networks import Network, WithoutMirrorMap, as_network

if TYPE_CHECKING:
    import xarray as xr
else:
    xr = lazy_module("xarray", "to_xarray")

__all__ = ["Drift", "drift"]


@dataclass(frozen=True, eq=False, repr=False)
class Drift(Result):
    """How far the conserved quantities moved along a trajectory.

    The set of parameters on which a quantity keeps its value is either affine (where the quantity
    is zero: two layers equal or opposite, say) or curved. Gradient flow stays on both; a gradient
    step is tangent to the set, so that it stays on an affine one exactly and leaves a curved one:
    under gradient descent `a² − b²` shrinks by the factor `1 − (ηu)²` each step, η the learning
    rate and u the negative gradient.

    Attributes
    ----------
    start
        The quantities at the start: one row per kind and one column per coefficient, or one long
        row where they belong to no coefficient.
    moved
        The largest change of each at any time.
    size
        The unit in which changes are relative: the largest squared norm of a layer's vector
        reached (of single parameters where each coefficient has its own; 1 for quantities that are
        not quadratic).
    affine_at_zero
        Whether quantities that are zero have an affine level set in this network.
    """

    start: Float
    moved: Float
    size: float
    affine_at_zero: bool = True

    def __post_init__(self) -> None:
        read_only(self.start)
        read_only(self.moved)

    @property
    def affine(self) -> NDArray[np.bool_]:
        """Which of them have an affine level set."""
        affine: NDArray[np.bool_] = (self.start == 0) & self.affine_at_zero
        return affine

    @property
    def total(self) -> float:
        """Sum over all of them of the largest change at any time."""
        return float(self.moved.sum())

    @property
    def relative(self) -> float:
        """The largest single change, relative to the size."""
        return self._relative(np.ones_like(self.affine))

    @property
    def relative_affine(self) -> float:
        """The largest change among the affine ones, relative to the size."""
        return self._relative(self.affine)

    @property
    def relative_curved(self) -> float:
        """The largest change among the curved ones, relative to the size."""
        return self._relative(~self.affine)

    def _relative(self, chosen: NDArray[np.bool_]) -> float:
        largest = float(self.moved[chosen].max(initial=0.0))
        return largest / self.size if 0 < self.size < np.inf else largest

    def to_xarray(self) -> "xr.Dataset":
        """As a labelled data set: start, change and kind of every conserved quantity."""
        axes = ("quantity", "feature")[: self.start.ndim]
        return xr.Dataset(
            {
                "start": (axes, self.start),
                "moved": (axes, self.moved),
                "affine": (axes, self.affine),
            },
            attrs={"size": self.size},
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values."""
        return {
            "start": self.start.tolist(),
            "moved": self.moved.tolist(),
            "affine": self.affine.tolist(),
            "size": self.size,
            "total": self.total,
            "relative": self.relative,
        }

    def _facts(self) -> tuple[str, ...]:
        count = f"{self.start.size} conserved quantities"
        return count, f"largest relative drift {number(self.relative)}"

    def _page(self) -> Page:
        rows = [
            (kind, str(int(chosen.sum())), number(self._relative(chosen)))
            for kind, chosen in (("affine", self.affine), ("curved", ~self.affine))
        ]
        title = f"Conserved quantities: {self.start.size}"
        return table(title, ("level set", "number", "largest drift, relative"), rows)


def drift(network: Network, trajectory: Trajectory) -> Drift:
    """Measure the drift of `network.invariants` along a trajectory that recorded its layers.

    Examples
    --------
    Gradient descent leaks where the layers differ, and nowhere else:

    >>> import limitpoint as lp
    >>> task = lp.Regression([[1.0, 1.0]], [1.0])
    >>> network = lp.Diagonal(depth=2)
    >>> init = lp.Init([[0.5, 0.5], [0.5, 0.1]])
    >>> run = lp.train(lp.Problem(network, init, task), lp.GD(learning_rate=0.1), steps=100)
    >>> found = drift(network, run)
    >>> found.relative_affine, bool(found.relative_curved > 1e-3)
    (0.0, True)
    """
    layers = as_trajectory(trajectory).layers
    as_network(network)
    if layers is None:
        raise LimitpointError(
            "trajectory must have recorded its layers, or its conserved quantities are unknown"
        )
    with np.errstate(over="ignore", invalid="ignore"):  # a diverged run has infinite drift
        values: Float = network.invariants(layers)  # invariants × times × …
        moved = np.nan_to_num(np.abs(values - values[:, :1]), nan=np.inf).max(axis=1)
        largest = max(_largest_square(network, layer) for layer in layers)
    size = largest if network.invariants_are_quadratic else 1.0
    return Drift(values[:, 0], moved, size, network.affine_at_zero)


def _largest_square(network: Network, layer: Float) -> float:
    """Of single entries, or of whole layers where the conserved quantities are sums over them."""
    if not isinstance(network, WithoutMirrorMap):
        return float(np.max(layer**2))
    return float(np.max(np.sum(layer.reshape(len(layer), -1) ** 2, axis=-1)))
