"""How far the linear stage may reach, where components are small or zero at the start.

What the stage leaves out moves every component, `dz_j/dξ = λ_j z_j + N_j(z)`, and N_j is below
rounding beside the whole block but not beside a component that is small or zero. Such a component
matters where it grows faster than the block does: the stage must end before that.
"""

import math

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float
from limitpoint.mirror.general.block_model import BlockModel
from limitpoint.mirror.general.linear_stage import LinearStage

__all__ = ["linear_radii"]

# Error of a component that matters, relative to itself: the tables have 1e-13 on each panel.
DRIVE = 1e-13
# The stage is tried with radii smaller by this factor each, then without it.
STEP = math.log(1e5)


def linear_radii(model: BlockModel, stage: LinearStage, held: Float) -> Float:
    """Radii (N,) at which the stages of blocks end; zero where even their start is too late.

    `held` is zero for components that stay zero for ever.
    """
    radii = stage.radius.copy()
    if model.rate == 0 or np.isneginf(stage.log_scale):
        return radii
    start = stage.log_sizes
    for _ in range(int(700 / STEP) + 1):
        stage = stage.with_radius(radii)
        wrong = stage.active & (_misled(model, stage, held, 1) | _misled(model, stage, held, -1))
        if not wrong.any():
            return radii
        with np.errstate(divide="ignore", under="ignore"):
            smaller = np.log(radii) - STEP
            radii = np.where(wrong, np.where(smaller > start, np.exp(smaller), 0.0), radii)
    return radii


def _misled(model: BlockModel, stage: LinearStage, held: Float, side: int) -> NDArray[np.bool_]:
    """Whether the stage, ended at its radius, leaves out what matters on that side.

    With `|N_j| ≤ Σ_m S_jm |z|^m`, and log|z| convex in ξ, these terms add at most
    `T Σ_m S_jm max(e^{λ_j T} |z(0)|^m, R^m)` to a component over the stage, T its length in ξ. At
    the exit the block grows at the rate g, over `log(ℓ/R)` until it is as large as the
    nonlinearity's length ℓ, and a component with λ_j > g gains `(λ_j/g − 1) log(ℓ/R)` on it: it
    need be right relative to itself, or to that part of R. Where nothing grows, a component that is
    driven and would not shrink goes on.
    """
    speeds = side * model.eigenvalues
    exits = stage.exits(side)
    endless = np.isinf(exits)
    free = held != 0
    xi = np.where(endless, 0.0, exits)
    rows = np.flatnonzero(stage.active)
    directions = np.zeros(held.shape)
    directions[rows] = stage.directions_at(rows, side * xi[rows], side)
    with np.errstate(all="ignore"):
        growth = (directions * directions) @ speeds
        edge = np.log(stage.radius)
        grown = xi[:, None] * speeds
        added = np.full(grown.shape, -np.inf)
        for order, strengths in enumerate(model.component_strengths, start=2):
            ends = np.maximum(grown + (order * stage.log_sizes)[:, None], (order * edge)[:, None])
            added = np.maximum(added, np.log(strengths) + ends)
        added += np.log(xi)[:, None]
        gains = np.maximum(speeds - growth[:, None], 0.0) / growth[:, None]
        later = edge[:, None] - gains * (math.log(model.nonlinear_length) - edge)[:, None]
        own = stage.logs + stage.log_scale + grown
        spoilt = added > math.log(DRIVE) + np.maximum(own, later)
    driven = np.any([strengths > 0 for strengths in model.component_strengths], axis=0)
    goes_on = free & driven & (speeds >= 0)
    return np.asarray(np.where(endless, goes_on.any(axis=1), (free & spoilt).any(axis=1)))
