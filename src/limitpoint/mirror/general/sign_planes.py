"""Components of blocks that keep their sign, however small they become.

Where ∇k does not lead out of the plane `z_j = 0`, `∂_jk = z_j g_j` with a smooth g_j, and

    d log|z_j|/dξ = g_j(z) = ∫₀¹ ∂_jj k(z₁, …, t z_j, …, z_p) dt.

A formula of ∂_jk, evaluated in float64, is right relative to the whole gradient only; g_j is right
relative to the Hessian, so that log|z_j| is known to all digits while z_j is below any float. Such
a component matters: `p²/2 − q²/2 + pq²` has `g = 2p − 1`, and q, which shrinks until p is ½, grows
by `e^{2p}` per unit of ξ from there on.
"""

import math

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float
from limitpoint.mirror.general.block_model import BlockModel

__all__ = ["OWN_ROUNDING", "SMALL_COMPONENT", "growth_rates"]

# Below this part of the block the mean of ∂_jj k replaces the quotient ∂_jk/z_j: above it the
# quotient has lost no more than a digit or two.
SMALL_COMPONENT = 0.05
# So much of the quotient is rounding, at most.
OWN_ROUNDING = 4 * float(np.finfo(np.float64).eps) / SMALL_COMPONENT
# Four Gauss points leave about 2e-5 x^8 of the mean, x the component over the length on which
# ∂_jj k changes: nothing where that is the nonlinearity's length ρ and x below SMALL_COMPONENT.
# Beyond, two points, which leave about x^4/100, tell: where they agree to this, four leave 1e-16.
GAUSS_POINTS, FEWER_POINTS, AGREE = 4, 2, 1e-8


def growth_rates(
    model: BlockModel, radii: Float, directions: Float, gradient: Float, which: NDArray[np.intp]
) -> Float:
    """`g_j` of these components at blocks `re` (p, N), from `∇k/r` there; zero for the others."""
    rates = np.zeros_like(gradient)
    size = np.sqrt((directions * directions).sum(axis=0))
    steep = np.sqrt((gradient * gradient).sum(axis=0)) / size
    for j in which:
        part = np.abs(directions[j])
        small = np.flatnonzero(part < SMALL_COMPONENT * size)
        rates[j] = gradient[j] / np.where(part < SMALL_COMPONENT * size, 1.0, directions[j])
        if len(small) == 0:
            continue
        mean = _mean_curvature(model, j, radii[small], directions[:, small], GAUSS_POINTS)
        rates[j, small] = mean
        far = part[small] * radii[small] >= SMALL_COMPONENT * model.nonlinear_length
        if far.any():
            at = small[far]
            other = _mean_curvature(model, j, radii[at], directions[:, at], FEWER_POINTS)
            scale = np.maximum(np.abs(mean[far]), steep[at])
            bad = at[~(np.abs(other - mean[far]) <= AGREE * scale)]
            rates[j, bad] = gradient[j, bad] / directions[j, bad]
    return rates


def _mean_curvature(
    model: BlockModel, j: int, radii: Float, directions: Float, points: int
) -> Float:
    """The mean of `∂_jj k` along the component j, from zero to where it is."""
    total = np.zeros(len(radii))
    nodes, weights = np.polynomial.legendre.leggauss(points)
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        at = directions.copy()
        at[j] *= node
        total += weight * _curvature(model, j, radii, at)
    return total


def _curvature(model: BlockModel, j: int, radii: Float, directions: Float) -> Float:
    """`∂_jj k`, by the series near zero."""
    lengths = radii * np.sqrt((directions * directions).sum(axis=0))
    near = lengths < model.taylor_radius
    result = np.empty(len(radii))
    if near.any():
        result[near] = _series(model, j, radii[near] * directions[:, near])
    if not near.all():
        result[~near] = model.hessian((radii[~near] * directions[:, ~near]).T)[:, j, j]
    return result


def _series(model: BlockModel, j: int, z: Float) -> Float:
    """`λ_j + T_3[j,j,z] + T_4[j,j,z,z]/2 + …`."""
    total = np.full(z.shape[1], model.eigenvalues[j])
    for power, tensor in enumerate(model.tensors, start=1):
        part = tensor[j, j]
        value = part.reshape(-1, model.size) @ z
        for _ in range(power - 1):
            value = (value.reshape(-1, model.size, z.shape[1]) * z).sum(axis=1)
        total = total + value.reshape(-1) / math.factorial(power)
    return np.asarray(total)
