"""How far rounding leads the curves of blocks astray: first-order propagation of errors.

What is off by δ at one place is off by Φδ further on, Φ the derivative of the flow of the curve.
Errors that one panel adds are independent of those of the others, so that their covariance C goes
on as `ΦCΦᵀ`. A shift along the curve itself is none of the curve: k says where on it one is, and
only ξ is off there. What is left moves the curve, and with it the rates of k and ξ. Where that is
more than a table may be off, its curve has to end: a component that rounding has made, or that was
known relative to the whole block only, may be all of the block later on.
"""

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.mirror.general.block_model import BlockModel
from limitpoint.mirror.general.collocation import components, field_at, rule

__all__ = ["propagate"]

# Step of the differences that stand for derivatives, relative to the block: half of the digits, so
# that the derivatives have the other half.
STEP = 1e-7
# Of a panel's twenty points, those at which derivatives are taken, the last among them: an estimate
# of errors needs fewer than the curve does.
PLACES = np.array([2, 6, 10, 14, 17, 19])
# Terms of the exponential of a matrix of norm 1 or less, and the most often that it is squared.
TERMS, SQUARINGS = 8, 16


def propagate(
    model: BlockModel,
    at: tuple[Float, Float, Float, Float],
    values: Float,
    length: float,
    covariance: Float,
    local: Float,
) -> tuple[Float, Float, Float]:
    """The covariance (N, p, p) at the end of a panel, and how far the curves are off there.

    Relative to the block and to the rates (N,), and by how many units of the curve parameter they
    have been shifted along themselves on this panel (N,). `at` are the radius, side, held and signs
    of the N curves, `values` (p, points, N) those of the panel, `local` (N, p) the errors that it
    adds.
    """
    _, _, _, signs = at
    points, values = rule()[0][PLACES], values[:, PLACES]
    slopes, log_slopes, velocity = _derivatives(model, at, values)
    steps = length / 2 * np.diff(points, prepend=-1.0)
    flow = _exponentials(np.moveaxis(slopes, (2, 3), (0, 1)) * steps[:, None, None, None])
    whole = flow[0]
    for one in flow[1:]:
        whole = one @ whole
    covariance = covariance + _diagonal(local**2)
    covariance = whole @ covariance @ np.swapaxes(whole, 1, 2) + _diagonal(local**2)
    y = components(values[:, -1], signs)
    norm = np.sqrt((y * y).sum(axis=0))
    scale = np.where(signs != 0, y, 1.0)
    across, along = _off_the_curve(velocity[:, -1].T, scale.T)
    shift = np.sqrt(np.abs(np.einsum("ni,nij,nj->n", along, covariance, along)))
    covariance = across @ covariance @ np.swapaxes(across, 1, 2)
    spread = np.concatenate([(scale / norm).T[:, None, :] * np.eye(len(y)), log_slopes], axis=1)
    off = np.einsum("nij,njk,nik->ni", spread, covariance, spread)
    # The block is scaled at the end of a panel, the components that are not logarithms with it.
    unit = np.where(signs != 0, 1.0, 1.0 / norm).T
    scaled = covariance * unit[:, :, None] * unit[:, None, :]
    return scaled, np.sqrt(np.abs(off).max(axis=1)), shift


def _derivatives(
    model: BlockModel, at: tuple[Float, Float, Float, Float], values: Float
) -> tuple[Float, Float, Float]:
    """Of the velocities (p, p, points, N), and of the logs of both rates at the end (N, 2, p)."""
    radius, side, held, signs = at
    velocity, norm, steep = field_at(model, radius, values, side, held, signs)
    size = values.shape[0]
    slopes = np.zeros((size, *values.shape))
    log_slopes = np.zeros((values.shape[2], 2, size))
    for j in range(size):
        moved = values.copy()
        step = STEP * np.where(signs[j] != 0, 1.0, norm)
        moved[j] += step
        other, other_norm, other_steep = field_at(model, radius, moved, side, held, signs)
        slopes[:, j] = (other - velocity) / step
        ratio = np.log((other_norm / norm)[-1]), np.log((other_steep / steep)[-1])
        log_slopes[:, 0, j] = (ratio[0] - ratio[1]) / step[-1]
        log_slopes[:, 1, j] = (ratio[0] + ratio[1]) / step[-1]
    slopes *= held[None, :, None] * held[:, None, None]
    return slopes, log_slopes * held.T[:, None], velocity


def _off_the_curve(velocity: Float, scale: Float) -> tuple[Float, Float]:
    """`I − v̇aᵀ/aᵀv̇` (N, p, p), which moves along the curve so far that k is as it was; `a/aᵀv̇`.

    With `δy = Sδv`, the change of k is `∇k·Sδv`, and `∇k` is along `Sv̇`.
    """
    normal = scale**2 * velocity
    along = normal / np.einsum("ni,ni->n", normal, velocity)[:, None]
    return np.eye(velocity.shape[1]) - velocity[:, :, None] * along[:, None], along


def _exponentials(matrices: Float) -> Float:
    """`e^M` for matrices (..., p, p), by the series of a small part, squared."""
    largest = float(np.abs(matrices).sum(axis=-1).max(initial=0.0))
    times = int(min(SQUARINGS, max(0, np.ceil(np.log2(largest))))) if largest > 1 else 0
    part = matrices / 2.0**times
    identity = np.eye(matrices.shape[-1])
    result = identity + part / TERMS
    for order in range(TERMS - 1, 0, -1):
        result = identity + part @ result / order
    for _ in range(times):
        result = result @ result
    return np.asarray(result)


def _diagonal(values: Float) -> Float:
    """Diagonal matrices (N, p, p)."""
    return np.asarray(values[:, :, None] * np.eye(values.shape[1]))
