"""Dense networks of rectified linear units: to be trained, not predicted."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.networks.kinds.widths import as_widths
from limitpoint.networks.kinds.without_mirror_map import WithoutMirrorMap
from limitpoint.tasks import Task

__all__ = ["ReLU"]

# Kinks are rounded off over so much of a neuron's input at the start. The flow is off by about as
# much; a hundred times less is beyond what the integrator can follow at its usual tolerance.
ROUNDED_OFF = 1e-6


@dataclass(frozen=True)
class ReLU(WithoutMirrorMap):
    """A dense network of rectified linear units, `f(x) = w_Lᵀ σ(… σ(W₁ᵀx))`, `σ(z) = max(z, 0)`.

    It has no coefficients, and no theorem of the atlas is about it: `train`, `train_many` and the
    flow in parameter space run it, `predict` says `NoTheoremApplies`.

    Parameters
    ----------
    widths
        `(d₂, …, d_L)`, the numbers of hidden neurons; the depth L is one more than their number.

    Notes
    -----
    The layers are W₁ (n, d₂), W₂ (d₂, d₃), …, and w_L (d_L,), or (d_L, k) for k outputs.

    Training takes `σ'(0) = 0`. The gradient flow is smooth only between changes of the activations,
    and where both sides of such a kink push towards it, trajectories slide along it (solutions in
    the sense of Filippov; with a few neurons and samples this is the rule). The flow is therefore
    that of a network whose kinks are rounded off, `σ(z) = (z + √(z² + ε²))/2`, with ε a millionth
    of the inputs of a layer at the start: the flow is off by a few times as much. That is stiff
    and needs a Jacobian: beyond 2000 parameters train with small steps instead.

    Examples
    --------
    >>> import numpy as np
    >>> network = ReLU(widths=(2,))
    >>> layers = [np.array([[1.0, -1.0]]), np.array([1.0, 3.0])]
    >>> network.outputs(layers, np.array([[2.0], [-2.0]])).tolist()
    [2.0, 6.0]
    """

    widths: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "widths", as_widths(self.widths))

    @property
    def is_linear(self) -> bool:
        """No: outputs are not linear in the input, and there are no coefficients."""
        return False

    @property
    def depth(self) -> int:
        """Number of layers, L."""
        return len(self.widths) + 1

    @property
    def degree(self) -> int:
        """The depth: layers times c > 0 give outputs times c^L."""
        return self.depth

    def layer_shapes(self, task: Task) -> tuple[tuple[int, ...], ...]:
        """Matrices from n features through the widths, and a vector (a matrix where y is one)."""
        sizes = (task.n_features, *self.widths)
        return (*pairwise(sizes), (sizes[-1], *task.y.shape[1:]))

    def coef(self, layers: Sequence[Any]) -> Any:
        """None: an array of width 0; leading axes (of records, say) are kept."""
        first = layers[0]
        return first.reshape(*first.shape[:-2], -1)[..., :0]

    def outputs(self, layers: Sequence[Any], X: Any) -> Any:
        """`σ(… σ(XW₁) …)w_L`; leading axes of the layers are kept."""
        hidden = X
        for matrix in layers[:-1]:
            reached = hidden @ matrix
            hidden = reached * (reached > 0)
        return _read_out(hidden, layers)

    def smooth_outputs(self, layers: Sequence[Any], X: Any, size: float) -> Any:
        """The same with `(z + √(z² + ε²))/2` in place of σ."""
        hidden, width = X, ROUNDED_OFF * float(np.abs(X).max())
        for matrix in layers[:-1]:
            width *= size
            reached = hidden @ matrix
            hidden = 0.5 * (reached + (reached * reached + width * width) ** 0.5)
        return _read_out(hidden, layers)

    def invariants(self, layers: Sequence[Float]) -> Float:
        """For every hidden neuron the squares of its weights inwards less those outwards.

        Kept by the flow since a neuron's weights times c, and its outgoing ones by 1/c, give the
        same outputs for every c > 0.
        """
        *matrices, last = layers
        columns = last if last.ndim == matrices[0].ndim else last[..., None]
        kept = [
            (before**2).sum(axis=-2) - (after**2).sum(axis=-1)
            for before, after in pairwise([*matrices, columns])
        ]
        return np.moveaxis(np.concatenate(kept, axis=-1), -1, 0)


def _read_out(hidden: Any, layers: Sequence[Any]) -> Any:
    """The last layer, a matrix or a vector, applied to the neurons before it."""
    last = layers[-1]
    if last.ndim == layers[0].ndim:
        return hidden @ last
    return (hidden @ last[..., None])[..., 0]
