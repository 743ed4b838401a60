"""Collocation of the curves of blocks on one panel.

The equations `dy/dτ = d |y| g` (see `tabulate`) are collocated at Radau's points, which
include the end, so that slaved components are damped: by Picard's iteration, or by Newton's method
where curves level off and are stiff.

Components that keep their sign (`sign_planes`) are given by their logarithms, `y_j = ±e^{v_j}`
and `dv_j/dτ = d |y| g_j r_a/‖∇k‖`, so that none is too small; the others by themselves. Signs are
zero for the latter.
"""

from functools import cache

import numpy as np
from numpy.polynomial import chebyshev, legendre
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float
from limitpoint.mirror.general.block_model import BlockModel
from limitpoint.mirror.general.sign_planes import SMALL_COMPONENT, growth_rates

__all__ = ["POINTS", "components", "field_at", "newton", "picard", "rule"]

# Twenty points resolve e^{2τ}, the growth of a coefficient, on panels of length 3 to 1e-13.
POINTS = 20
PICARD_STEPS, NEWTON_STEPS = 40, 10
# Its error, K^n/n! for a component that changes by e^K on the panel, grows until n = K: at most 12
# where twenty points resolve it. Later a change that does not fall is rounding.
PICARD_GROWTH = 12
# Components that converge to this, relative to themselves, are as good as the panel's resolution.
OWN_CONVERGENCE = 1e-13
# Components below this part of the block are not resolved by themselves: the smallest starts that
# are followed by a table (1e-100) move others by their square.
SMALLEST_COMPONENT = 1e-150


@cache
def rule() -> tuple[Float, Float, Float]:
    """Radau's points in (−1, 1], the integrals of their Lagrange polynomials, values → Chebyshev.

    The points are the roots of `P_s − P_{s−1}`, which include 1.
    """
    series = np.zeros(POINTS + 1)
    series[POINTS], series[POINTS - 1] = 1.0, -1.0
    points = np.sort(legendre.legroots(series))
    for _ in range(3):  # polish: the companion matrix loses a few digits
        slope = legendre.legval(points, legendre.legder(series))
        points = points - legendre.legval(points, series) / slope
    points[-1] = 1.0
    fit = np.linalg.inv(chebyshev.chebvander(points, POINTS - 1))
    integrals = np.stack(
        [chebyshev.chebval(points, chebyshev.chebint(column, lbnd=-1)) for column in fit.T]
    ).T
    return points, np.asarray(integrals, dtype=np.float64), np.asarray(fit, dtype=np.float64)


def components(values: Float, signs: Float) -> Float:
    """Components y from what is integrated: itself where the sign is zero, or its logarithm."""
    by_itself = signs != 0
    return np.where(by_itself, signs * np.exp(np.where(by_itself, values, 0.0)), values)


def field_at(
    model: BlockModel, radius: Float, values: Float, side: Float, held: Float, signs: Float
) -> tuple[Float, Float, Float]:
    """Velocities, `|y|` and `‖∇k‖/r_a` at values (p, points, N)."""
    size, points, count = values.shape
    radii = np.broadcast_to(radius, (points, count)).ravel()
    y = components(values, signs[:, None])
    flat = y.reshape(size, -1)
    gradient = model.scaled_gradient(radii, flat)
    which = np.flatnonzero((signs != 0).any(axis=1))
    if len(which):
        rates = growth_rates(model, radii, flat, gradient, which).reshape(values.shape)
        gradient = gradient.reshape(values.shape) * held[:, None]
        by_itself = (signs != 0)[:, None]
        gradient = np.where(by_itself, rates * y, gradient)
        moving = np.where(by_itself, rates, gradient)
    else:
        gradient = gradient.reshape(values.shape) * held[:, None]
        moving = gradient
    steep, norm = _norm(gradient), _norm(y)
    return side * norm / steep * moving, norm, steep


def _norm(vectors: Float) -> Float:
    """Over the first axis, which is short."""
    return np.asarray(np.sqrt((vectors * vectors).sum(axis=0)))


def picard(
    model: BlockModel,
    radius: Float,
    y: Float,
    side: Float,
    held: Float,
    signs: Float,
    weights: Float,
    tolerance: Float,
    exact: NDArray[np.bool_],
) -> tuple[Float, NDArray[np.bool_], NDArray[np.bool_]]:
    """Iterate `y ↦ y_a + ∫ dy/dτ`; values are (p, points, N).

    Whether they have converged relative to the block, and each component relative to itself. That
    is waited for where components are exact (p, N), for as long as it makes progress.
    """
    values = np.repeat(y[:, None], len(weights), axis=1)
    left = np.arange(len(radius))
    current, at = values, (radius, y, side, held, signs, exact)
    worst, close = np.full(len(radius), np.inf), np.zeros(len(radius), dtype=bool)
    for step in range(PICARD_STEPS):
        velocity, _, _ = field_at(model, at[0], current, at[2], at[3], at[4])
        new = at[1][:, None] + weights @ velocity
        changes, sizes = np.abs(new - current).max(axis=1), component_sizes(new, at[4])
        size = sizes.max(axis=0)
        values[..., left] = new
        by_itself = at[4] != 0
        logs = np.maximum(np.abs(new).max(axis=1), 1.0)
        own = changes / np.where(by_itself, logs, np.maximum(sizes, SMALLEST_COMPONENT * size))
        own = np.where(at[5], own, 0.0).max(axis=0)
        changes = np.where(by_itself, changes * sizes, changes)
        close[left] = changes.max(axis=0) <= tolerance[left] * size
        stuck = (step >= PICARD_GROWTH) & ~(own < 0.5 * worst[left])
        worst[left] = own
        # A curve that is lost is not followed further.
        waiting = ~(own <= tolerance[left]) & ~stuck
        running = (~close[left] | waiting) & (size < np.inf)
        if running.sum() < 0.75 * len(left):  # fewer: leave the converged ones out
            left, current = left[running], new[..., running]
            at = (
                radius[left],
                y[:, left],
                side[left],
                held[:, left],
                signs[:, left],
                exact[:, left],
            )
            if len(left) == 0:
                break
        else:
            current = new
            if not running.any():
                break
    solved = np.asarray(np.isfinite(values).all(axis=(0, 1))) & close
    return values, solved, worst <= np.maximum(tolerance, OWN_CONVERGENCE)


def component_sizes(values: Float, signs: Float) -> Float:
    """The largest modulus of every component over the points, (p, N)."""
    return np.asarray(np.abs(components(values, signs[:, None])).max(axis=1))


def newton(
    model: BlockModel,
    radius: Float,
    y: Float,
    side: Float,
    held: Float,
    signs: Float,
    weights: Float,
    tolerance: Float,
) -> tuple[Float, NDArray[np.bool_]]:
    """The same equations by Newton's method, where the block is beyond the Taylor series."""
    size, count = y.shape
    points = len(weights)
    values = np.repeat(y[:, None], points, axis=1)
    solved = np.zeros(count, dtype=bool)
    left = np.flatnonzero(radius > 2 * model.taylor_radius)
    for _ in range(NEWTON_STEPS):
        if len(left) == 0:
            break
        at, scale, sign = values[..., left], radius[left], signs[:, left]
        velocity, _, steep = field_at(model, scale, at, side[left], held[:, left], sign)
        residual = at - y[:, left][:, None] - weights @ velocity
        jacobian = _jacobian(model, scale, at, velocity, side[left] / steep, held[:, left], sign)
        # Unknowns in the order (component, point), one system per curve.
        system = -np.einsum("ij,pqjn->npiqj", weights, jacobian).reshape(
            len(left), points * size, points * size
        )
        system += np.eye(points * size)
        right = residual.reshape(points * size, -1).T[..., None]
        usable = np.isfinite(system).all(axis=(1, 2)) & np.isfinite(right).all(axis=(1, 2))
        left, at = left[usable], at[..., usable]
        step = np.linalg.solve(system[usable], right[usable])[..., 0].T.reshape(at.shape)
        values[..., left] = at - step
        sign = signs[:, left]
        steps, sizes = np.abs(step).max(axis=1), component_sizes(at, sign)
        steps = np.where(sign != 0, np.minimum(steps, steps * sizes), steps)
        done = steps.max(axis=0) <= tolerance[left] * sizes.max(axis=0)
        solved[left[done]] = True
        left = left[~done]
    return values, solved


def _jacobian(
    model: BlockModel,
    radius: Float,
    values: Float,
    velocity: Float,
    inverse: Float,
    held: Float,
    signs: Float,
) -> Float:
    """Derivative of the velocities in the values, (p, p, points, N).

    Of dy/dτ in y it is `d g yᵀ/|y| + d |y| (I − ggᵀ)∇²k r_a/‖∇k‖`. The logarithm of a component
    that is small is not differentiated: nothing depends on it, and the next step finds it.
    """
    size, points, count = values.shape
    y = components(values, signs[:, None])
    by_itself = (signs != 0)[:, None]
    speed = np.where(by_itself, velocity * y, velocity)
    flat = (radius * y).reshape(size, -1).T
    bend = np.moveaxis(model.hessian(flat), 0, -1).reshape(size, size, points, count)
    bend = bend * held[:, None, None] * held[None, :, None]
    norm = _norm(y)
    unit = speed / norm
    bent = bend - unit[:, None] * (unit[:, None] * bend).sum(axis=0)
    result = unit[:, None] * (y / norm) + norm * inverse * bent
    # v = log|y|: dv' = dy'/y − y' dy/y², dy = y dv.
    small = by_itself & (np.abs(y) < SMALL_COMPONENT * norm)
    scale = np.where(by_itself, y, 1.0)
    result = result * scale[None] / np.where(small, 1.0, scale)[:, None]
    diagonal = np.einsum("iipn->ipn", result)
    diagonal -= np.where(by_itself & ~small, velocity, 0.0)
    return np.asarray(np.where(small[:, None], 0.0, result))
