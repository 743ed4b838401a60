"""Charts of parameter space for the flow of a classification in normalised time.

Normalised time τ has `dτ = loss dt`, so that the flow reads `dθ/dτ = −∇ log loss`. It is integrated
along a third time s that runs as the parameters grow, relative to themselves:

    dτ/ds = 1 / (N ρ),    N = Σ_i w_i ‖x_i‖,    w_i = −∂ log loss/∂m_i ≥ 0,

with ρ the rate at which a negative gradient of one moves the parameters relative to themselves:
`‖θ‖^(L−2)` of layers as they are. Both N and ρ are positive wherever the flow gets to. A time
change by the velocity itself, arc length, would be all rounding on plateaus, and break down where
the flow comes to rest.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from limitpoint.foundation.arrays import Float

__all__ = ["EPS", "FINEST", "NormalisedChart", "norm", "sharpening"]

EPS = float(np.finfo(np.float64).eps)
# The integrator accepts no smaller relative tolerance than this, 100 roundings.
FINEST = 100 * EPS
# A smallest margin below this part of the largest modulus is taken for it: in trial steps it may be
# on the wrong side.
SMALLEST_MARGIN = 1e-6


@dataclass(frozen=True, eq=False)
class NormalisedChart:
    """The flow in some coordinates of parameter space, along the time s.

    Attributes
    ----------
    start
        The state at the start.
    motion
        From a state, `d state/ds` and, last, `log(dt/ds)`.
    slope
        The derivative of all that in the state, (d + 1, d); None: too large.
    margins, log_loss
        Of one state.
    coefs, layers, signs_and_logs
        Of states; the state is the last axis.
    rtol, atol
        Tolerances of the state, in units of the tolerance asked for.
    at_rest
        Whether a state whose loss is at a standstill will stay there.
    reparametrised
        From a state, the same chart with another time change that suits it better, or None.
    """

    start: Float
    motion: Callable[[Float], Float]
    slope: Callable[[Float], Float] | None
    margins: Callable[[Float], Float]
    log_loss: Callable[[Float], float]
    coefs: Callable[[Float], Float]
    layers: Callable[[Float], tuple[Float, ...]]
    signs_and_logs: Callable[[Float], tuple[Float | None, Float | None]]
    rtol: Float
    atol: Float
    at_rest: Callable[[Float], bool]
    reparametrised: "Callable[[Float], NormalisedChart | None]" = lambda state: None


def norm(vector: Float) -> float:
    """Euclidean norm, of entries whose squares may overflow or vanish."""
    largest = float(np.abs(vector).max(initial=0.0))
    if largest == 0.0 or not np.isfinite(largest):
        return largest
    return largest * float(np.linalg.norm(vector / largest))


def sharpening(margins: Any, sharpness: float) -> Any:
    """What margins must be multiplied by for the smallest to be as large as the sharpness.

    NumPy and traced JAX arrays alike.
    """
    array = margins.__array_namespace__()
    least = SMALLEST_MARGIN * array.max(array.abs(margins))
    return sharpness / array.maximum(array.min(margins), least)
