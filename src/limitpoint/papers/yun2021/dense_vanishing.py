"""Theorem 7: dense networks as the scale vanishes."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from limitpoint.dynamics import ParameterSpace, flow
from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.networks import FullyConnected
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.measured import Check
from limitpoint.papers.yun2021.named import limit_by
from limitpoint.plot.style import COLOURS, new_figure
from limitpoint.problem import Problem
from limitpoint.tasks import Regression
from limitpoint.theory import limit_given_outer

__all__ = ["DenseVanishing", "leading_layers"]

FEATURES, SAMPLES = 4, 2
# λ of the starts, W̄_{L−1}ᵀW̄_{L−1} − w̄_Lw̄_Lᵀ ⪰ λI.
LOWEST = 0.75
RESOLVED = 1e-20


@register
@dataclass(frozen=True)
class DenseVanishing(Experiment):
    """The distance from minimum norm at the end, depth by depth and scale by scale."""

    paper: ClassVar[str] = "yun2021"
    figure: ClassVar[str] = "dense_vanishing"
    title: ClassVar[str] = "Dense networks of any depth: minimum norm as the scale vanishes"
    setup: ClassVar[str] = (
        "A worked example of Theorem 7: dense networks of 2, 3 and 4 layers on two random samples "
        "of four features, as wide as that; orthogonal matrices times 1 and a last layer of norm "
        "½, so that both conditions of the theorem hold with λ = ¾. The layers are integrated "
        "until the loss vanishes. The end is X⁺y + P_null W₁(0)W₂⋯w_L exactly, so off by order "
        "α; and the loss is below the bound of H.1 with the factor 2 that the proof has lost."
    )
    theorems: ClassVar[tuple[str, ...]] = ("yun2021.theorem7",)

    depths: tuple[int, ...] = (2, 3, 4)
    scales: tuple[float, ...] = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
    seed: int = 0

    def quick(self) -> "DenseVanishing":
        """Fewer scales."""
        return replace(self, scales=(1.0, 0.01, 0.003))

    def run(self) -> xr.Dataset:
        """Integrate at all depths and scales."""
        rng = np.random.default_rng(self.seed)
        X, y = rng.standard_normal((SAMPLES, FEATURES)), rng.standard_normal(SAMPLES)
        task = Regression(X, y)
        shape = (len(self.depths), len(self.scales))
        ends, laws = np.empty((*shape, FEATURES)), np.empty((*shape, FEATURES))
        least, over = np.empty((len(self.depths), FEATURES)), np.empty(shape)
        for d, depth in enumerate(self.depths):
            layers = leading_layers(rng, depth)
            network = FullyConnected(widths=(FEATURES,) * (depth - 1))
            for a, scale in enumerate(self.scales):
                problem = Problem(network, Init(layers, scale), task)
                run = flow(problem, space=ParameterSpace())
                assert run.layers is not None, "parameter flows record their layers"
                ends[d, a] = run.coef
                last = [layer[-1] for layer in run.layers]
                laws[d, a] = limit_given_outer(problem, network.outer(last)).coef
                rate = 2 * scale ** (2 * depth - 2) * LOWEST ** (depth - 1)
                rate *= float(np.linalg.svd(X, compute_uv=False)[-1]) ** 2
                share = run.losses / run.losses[0]
                seen = share > RESOLVED
                over[d, a] = (share[seen] * np.exp(rate * run.times[seen])).max() - 1.0
            at_zero = Problem(network, Init(layers, 0.0), task)
            least[d] = limit_by("yun2021.theorem7", at_zero).coef
        return xr.Dataset(
            {
                "coef": (("depth", "scale", "feature"), ends),
                "over_bound": (("depth", "scale"), over),
                "pseudo_inverse": ("feature", np.linalg.pinv(X) @ y),
                "predicted_law": (("depth", "scale", "feature"), laws),
                "predicted_limit": (("depth", "feature"), least),
                "predicted_power": ((), 1.0),
            },
            coords={
                "depth": np.array(self.depths, dtype=np.int32),
                "scale": np.array(self.scales),
            },
        )

    def checks(self, data: xr.Dataset) -> list[Check]:
        """The limit, the power of α, the exact law, and the bound on the loss."""
        scales, due = data["scale"].values, float(data["predicted_power"])
        off = np.abs(data["coef"].values - data["predicted_law"].values).max(axis=(1, 2))
        found = []
        for d, (depth, distance) in enumerate(zip(self.depths, _distances(data), strict=True)):
            slope = np.log(distance[-1] / distance[-2]) / np.log(scales[-1] / scales[-2])
            # Relative corrections are powers of α^{2/L} at least.
            tolerance = float(scales[-2] ** (2 / depth))
            found.append(Check(f"depth {depth}: power of α", float(slope), due, tolerance))
            # The flow stops at a relative residual of 1e-10.
            found.append(Check(f"depth {depth}: law of the null space", float(off[d]), 0.0, 1e-8))
            end = data["predicted_limit"].values[d] - data["pseudo_inverse"].values
            found.append(Check(f"depth {depth}: limit is X⁺y", float(np.abs(end).max()), 0, 1e-12))
            # An orthogonal part of the start of size α, times what the other layers have grown to.
            worst = float((distance / scales).max())
            found.append(Check(f"depth {depth}: distance over α", worst, 0.5, 0.5))
            above = float(data["over_bound"].values[d].max())
            found.append(Check(f"depth {depth}: loss above the bound", above, 0.0, 1e-7))
        return found

    def plot(self, data: xr.Dataset) -> Figure:
        """Distances against α."""
        figure = new_figure((8.6, 5))
        axes = figure.subplots()
        scales = data["scale"].values
        law = np.linalg.norm(
            data["predicted_law"].values - data["predicted_limit"].values[:, None], axis=-1
        )
        for d, distance in enumerate(_distances(data)):
            colour = COLOURS[d]
            axes.plot(scales, distance, "o", color=colour, markersize=8, mfc="none")
            name = f"depth {self.depths[d]}, $P_{{null}}W_1(0)W_2\\cdots w_L$"
            axes.plot(scales, law[d], color=colour, linewidth=1.6, label=name)
        axes.plot([], [], "ko", markersize=8, mfc="none", label="flow of the layers")
        axes.plot(scales, 0.05 * scales, "k--", linewidth=1.2, label="slope 1, as (88) corrected")
        axes.plot(scales, 0.05 * scales**2, "k:", linewidth=1.2, label="slope 2, as (88) printed")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set(xlabel="α", ylabel="distance from the minimum-norm solution")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        return figure


def leading_layers(rng: np.random.Generator, depth: int) -> tuple[Float, ...]:
    """Orthogonal matrices and a last vector of norm ½."""
    square = [rng.standard_normal((FEATURES, FEATURES)) for _ in range(depth - 1)]
    last = rng.standard_normal(FEATURES)
    last *= np.sqrt(1.0 - LOWEST) / np.linalg.norm(last)
    return (*(np.linalg.qr(one)[0] for one in square), last)


def _distances(data: xr.Dataset) -> Float:
    off = data["coef"].values - data["predicted_limit"].values[:, None]
    return np.asarray(np.linalg.norm(off, axis=-1))
