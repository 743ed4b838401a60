"""What the experiments of Lyu and Zhu share: their data, their networks, and runs of GD and SGD.

Notation: θ the coefficients, `D(θ, θ') = ‖θ − θ'‖`, θ* the truth, `θ_ℓ2 = X⁺y` the solution of
minimum norm, η the learning rate, b the batch size, L the depth. The loss is the mean of squares.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

import limitpoint as lp
from limitpoint.foundation.arrays import Float

__all__ = [
    "DISTANCES",
    "GD_AND_SGD",
    "LAW",
    "NEARER",
    "VANISHING",
    "Data",
    "along_flow",
    "by_law",
    "extrapolated",
    "limits",
    "nearer",
    "rank_one",
    "relative",
    "scales",
    "second_order",
    "second_order_of",
    "standard",
    "sweep",
    "vanishing",
]

GD_AND_SGD = ["GD", "SGD"]
# Our names of the distances to θ_ℓ2 and to θ*, and what `train_many` calls them.
DISTANCES = {"distance": "distance_l2", "distance_truth": "distance_truth"}
# SGD counts as nearer when its mean is so many standard errors below GD.
NEARER = 5.0
# How far a run may be from where the law puts it, relative. Runs that have fitted the data to
# rounding, as all here have, are there to rounding.
LAW = 1e-8
# From vanishing starts D is the scale times a number, up to the square of the scale, times a small
# multiple: powers of the ratio of ‖P_null v‖ ≤ 1 to ‖X⁺y‖^{1/(2L−1)}, which is above 1 here.
VANISHING = 5.0
# A first-order error ε of the step leaves one of second order, a small multiple of ε², when it is
# extrapolated away: the multiple is the ratio of two coefficients of one expansion.
SECOND_ORDER = 5.0


@dataclass(frozen=True, eq=False)
class Data:
    """Gaussian samples labelled by a sparse truth, as in Appendix A."""

    task: lp.Regression
    truth: Float
    least: Float

    @classmethod
    def draw(cls, samples: int, features: int, informative: int, seed: int) -> "Data":
        """`x_i ~ N(0, I)`, `y_i = θ*ᵀx_i`; informative entries of θ* are N(0, 1), our choice."""
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((samples, features))
        truth = np.zeros(features)
        truth[:informative] = rng.standard_normal(informative)
        task = lp.Regression(X, X @ truth, loss_factor=2 / samples)
        least: Float = np.asarray(np.linalg.lstsq(X, task.y, rcond=None)[0], dtype=np.float64)
        return cls(task, truth, least)

    def distance(self, coefs: Float) -> Float:
        """`D(θ, θ_ℓ2)` over the last axis."""
        return np.asarray(np.linalg.norm(coefs - self.least, axis=-1))

    def distance_truth(self, coefs: Float) -> Float:
        """`D(θ, θ*)` over the last axis."""
        return np.asarray(np.linalg.norm(coefs - self.truth, axis=-1))


def rank_one(data: Data, depth: int, width: int, seed: int, imbalance: float = 0.0) -> lp.Problem:
    """A rank-one network at ‖θ(0)‖ = 1 in a random direction, off balance by Δ."""
    network = lp.RankOne(depth=depth, width=width)
    if imbalance == 0.0:
        init = lp.Init.balanced(network, data.task, norm=1.0, seed=seed)
    else:
        init = lp.Init.perturbed(network, data.task, norm=1.0, imbalance=imbalance, seed=seed)
    return lp.Problem(network, init, data.task)


def standard(data: Data, depth: int, width: int, seed: int) -> lp.Problem:
    """A dense network, balanced, at ‖θ(0)‖ = 1 in a random direction."""
    network = lp.FullyConnected(widths=(width,) * (depth - 1))
    return lp.Problem(network, lp.Init.balanced(network, data.task, norm=1.0, seed=seed), data.task)


def scales(problem: lp.Problem, norms: ArrayLike) -> Float:
    """The scales at which ‖θ(0)‖ has these values."""
    return np.asarray(norms, dtype=np.float64) ** (1 / problem.network.degree)


def sweep(
    problem: lp.Problem,
    data: Data,
    *,
    norms: Sequence[float],
    seeds: int,
    learning_rate: float,
    batch_size: int,
    steps: int,
    record: Sequence[int] = (),
    probes: Iterable[lp.analysis.Probe] | None = None,
) -> xr.Dataset:
    """Runs of GD and SGD from every norm: the record of `train_many`, at the steps asked for.

    GD with half the step goes along: what it records at the same times has names ending in
    `_half_step`. So that it can, all runs go on for twice as many steps; `coef`, its half-step
    companion and `outer` are from the end.
    """
    optimisers = [
        lp.GD(learning_rate),
        lp.SGD(learning_rate, batch_size),
        lp.GD(learning_rate / 2),
    ]
    shown = np.unique([0, *record, steps])
    found = lp.train_many(
        problem,
        optimisers,
        2 * steps,
        scales=scales(problem, norms),
        seeds=range(seeds),
        truth=data.truth,
        record=np.union1d(shown, 2 * shown),
        probes=probes,
    ).to_xarray()
    runs = found.isel(optimiser=[0, 1]).sel(step=shown).assign_coords(optimiser=GD_AND_SGD)
    half = found.isel(optimiser=2, seed=0).sel(step=2 * shown)
    for name, values in half.data_vars.items():
        if values.dims == ("scale", "step"):
            runs[f"{name}_half_step"] = (("scale", "step"), values.values)
    runs["coef_half_step"] = (("scale", "feature"), half["coef"].values)
    return runs


def extrapolated(whole: Float, half: Float) -> Float:
    """What GD tends to as its step vanishes, from runs with the whole and half the step."""
    return 2 * half - whole


def second_order(whole: Float, half: Float) -> Float:
    """How far off `extrapolated` may be, by the size of the first-order error."""
    first = 2 * np.abs(half - whole) / np.abs(half)
    return np.asarray(SECOND_ORDER * first**2 * np.abs(half))


def second_order_of(whole: Float, half: Float) -> Float:
    """The same for vectors over the last axis, and for their distance from any point.

    A distance may by chance not change to first order; its second-order error is the vector's.
    """
    norm = np.linalg.norm(half, axis=-1)
    first = 2 * np.linalg.norm(half - whole, axis=-1) / norm
    return np.asarray(SECOND_ORDER * first**2 * norm)


def limits(problem: lp.Problem, norms: Sequence[float]) -> Float:
    """The limit of gradient flow from every norm, norms × features."""
    return np.stack([lp.predict(_at(problem, scale)).coef for scale in scales(problem, norms)])


def along_flow(problem: lp.Problem, sizes: ArrayLike, times: Float) -> Float:
    """Coefficients along gradient flow from every scale, scales × times × features."""
    return np.stack(
        [lp.flow(_at(problem, scale), times=times).coefs for scale in np.atleast_1d(sizes)]
    )


def by_law(problem: lp.Problem, runs: xr.Dataset) -> Float:
    """Where the null-space law puts each run, from its own outer layers at the end.

    The axes are optimiser, norm, seed and feature. No step changes the first layer in the null
    space of X, so that `θ(∞) = X⁺y + P_null A(0)·o(∞)`, exactly, for any step and batch.
    """
    outers = runs["outer"].values
    found = np.empty((*outers.shape[:3], problem.task.n_features))
    for i, scale in enumerate(runs["scale"].values):
        here = _at(problem, float(scale))
        for j, k in np.ndindex(outers.shape[0], outers.shape[2]):
            found[j, i, k] = lp.analysis.limit_given_outer(here, outer=outers[j, i, k]).coef
    return found


def vanishing(
    problem: lp.Problem, data: Data, norms: Sequence[float]
) -> tuple[Float, Float, float]:
    """Scales, `D(θ(∞), θ_ℓ2)` of the flow from them, and what their ratio tends to.

    `D = ξ(∞)·scale·‖P_null v‖`, v the direction of v₁. As the scale vanishes `θ(∞) → X⁺y`, where
    the layers are balanced in comparison with the start, so that `ξ(∞) → ‖X⁺y‖^λ`.
    """
    sizes = scales(problem, norms)
    ends = np.stack([lp.flow(_at(problem, scale)).coef for scale in sizes])
    direction = problem.init.direction[0]
    rows = np.linalg.qr(data.task.X.T)[0]
    outside = float(np.linalg.norm(direction - rows @ (rows.T @ direction)))
    power = 1 - 1 / problem.network.degree
    return sizes, data.distance(ends), float(np.linalg.norm(data.least)) ** power * outside


def relative(ends: Float, predicted: Float) -> Float:
    """`‖ends − predicted‖/‖predicted‖` over the last axis."""
    return np.asarray(
        np.linalg.norm(ends - predicted, axis=-1) / np.linalg.norm(predicted, axis=-1)
    )


def nearer(distances: Float) -> int:
    """At how many norms SGD's mean is *not* five standard errors below GD.

    Parameters
    ----------
    distances
        Optimiser (GD, SGD) × norm × seed.
    """
    quiet, noisy = distances[0, :, 0], distances[1]
    error = noisy.std(axis=1, ddof=1) / np.sqrt(noisy.shape[1])
    return int(np.sum(noisy.mean(axis=1) + NEARER * error >= quiet))


def _at(problem: lp.Problem, scale: float) -> lp.Problem:
    return lp.Problem(problem.network, problem.init.at_scale(float(scale)), problem.task)
