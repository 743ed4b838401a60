"""Flows of networks that reduce to diagonal ones, where rounding breaks the reduction.

Commuting matrices do not stay so for ever in float64: what rounding adds outside their common
eigenbasis grows while an eigenvalue waits to grow, and takes over in the end. The network that is
trained is then another one. So it is where a coefficient ends at a bound, which only rounding could
pass; and a flow in parameter space cannot know what the form keeps out of reach, and never ends.
"""

from collections.abc import Sequence

import numpy as np

from limitpoint.dynamics import LogCoordinates, Trajectory
from limitpoint.foundation.arrays import Float
from limitpoint.status import Status
from limitpoint.theory import Reduction
from limitpoint.verify import engines
from limitpoint.verify.sensitivity import Sensitivity

__all__ = ["end_within", "strayed_from", "within_the_form"]


def end_within(reduction: Reduction | None, scales: Sensitivity) -> float | None:
    """When the flow within the form ends, where that of the layers might not; else None.

    Where the form does not reach the data the flow within it knows, and stops.
    """
    limit = scales.limit
    endless = limit.status is Status.LEAST_SQUARES or not np.isfinite(limit.mirror).all()
    if not endless or reduction is None:
        return None
    return float(engines.flow(reduction.diagonal, space=LogCoordinates()).times[-1])


def strayed_from(reduction: Reduction | None, run: Trajectory, tolerance: float) -> bool:
    """Whether a run has left the diagonal form by more than this, relative to its layers."""
    if reduction is None or run.layers is None:
        return False
    layers = [layer[-1] for layer in run.layers]
    return max(reduction.strayed(layers), _beyond_bounds(reduction, layers)) > tolerance


def _beyond_bounds(reduction: Reduction, layers: Sequence[Float]) -> float:
    """How far products have passed a bound that no exact flow passes, relative to the largest."""
    mirror = reduction.diagonal.network.mirror_map(reduction.diagonal.init)
    if mirror is None:
        return 0.0
    products: Float = np.prod(np.stack(reduction.form.inner_layers(layers)), axis=0)
    beyond = np.maximum(mirror.lower - products, products - mirror.upper)
    largest = float(np.abs(products).max()) or 1.0
    return float(np.max(beyond, initial=0.0)) / largest


def within_the_form(reduction: Reduction, space: LogCoordinates) -> Trajectory:
    """The flow of the diagonal network within, in coefficients and layers of the problem itself."""
    run = engines.flow(reduction.diagonal, space=space)
    form, init = reduction.form, reduction.problem.init
    assert run.layers is not None, "of a flow in logarithmic coordinates"
    start = [init.scale * layer for layer in init.direction]
    records = [
        form.outer_layers([layer[t] for layer in run.layers], start) for t in range(len(run.times))
    ]
    return Trajectory.build(
        kind=f"{run.kind}, within the diagonal form",
        status=run.status,
        times=run.times,
        coefs=np.stack([form.outer_coefs(coef) for coef in run.coefs]),
        losses=run.losses,
        relative_residual=run.relative_residual,
        layers=tuple(np.stack(each) for each in zip(*records, strict=True)),
    )
