"""Figure 1a: vector regression from orthogonal and Gaussian starts."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from limitpoint.dynamics.trajectory import Trajectory
from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.networks import TwoLayer
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.measured import Check
from limitpoint.papers.varre2023.linear import (
    HiddenBounds,
    bounds_off,
    draw_bounds,
    flow_on_grid,
    hidden_values,
    integral,
    padded_values,
    vector_task,
)
from limitpoint.plot.style import COLOURS, new_figure
from limitpoint.problem import Problem
from limitpoint.tasks import Regression
from limitpoint.theory.convergence import two_layer_bounds
from limitpoint.theory.predict import predict
from limitpoint.theory.two_layer.spectral_potential import layer_potential, spectral_gradient

__all__ = ["Figure1a"]

# What the flow may be off by, relative: a thousand times its tolerance of 1e-10.
FLOW = 1e-7
# A number that is computed in two ways.
IDENTITY = 1e-12
# The figure shows so many singular values.
SHOWN = 4


@register
@dataclass(frozen=True)
class Figure1a(Experiment):
    """Small starts give a hidden layer of rank k, large ones do not."""

    paper: ClassVar[str] = "varre2023"
    figure: ClassVar[str] = "figure1a"
    title: ClassVar[str] = "Hidden singular values in vector regression"
    setup: ClassVar[str] = (
        "Printed: 5 Gaussian samples in R¹⁰, 3 outputs of a ground truth, width 200; orthogonal "
        "starts with γ = 1 and 1e-4, and a Gaussian one N(0, 0.01). Chosen: Gaussian truth, seeds, "
        "exact gradient flow. A variance of 0.01 at this width is as large as γ = 1 and gives full "
        "rank; a standard deviation of 0.01 gives what the figure shows. Both are drawn."
    )
    theorems: ClassVar[tuple[str, ...]] = (
        "varre2023.theorem3.1",
        "varre2023.theorem3.1_at_zero",
        "varre2023.theorem3.2a",
        "varre2023.lemmaC.6",
    )

    samples: int = 5
    features: int = 10
    outputs: int = 3
    width: int = 200
    gammas: tuple[float, ...] = (1.0, 1e-4)
    deviations: tuple[float, ...] = (0.01, 0.1)
    records: int = 2001
    seed: int = 0

    def quick(self) -> Self:
        """Fewer records and a narrower network."""
        return replace(self, records=1001, width=100)

    def run(self) -> xr.Dataset:
        """Flow from all starts; predict those from the orthogonal ones."""
        task = vector_task(self.samples, self.features, self.outputs, self.seed)
        network = TwoLayer(self.width)
        data: dict[str, tuple[Any, ...]] = {}
        for i, gamma in enumerate(self.gammas):
            init = Init.orthogonal(network, task, gamma=gamma, seed=self.seed)
            problem = Problem(network, init, task)
            run = flow_on_grid(problem, self.records)
            data |= _curves(f"orthogonal{i}", run)
            data |= _against_theory(f"orthogonal{i}", problem, run, gamma)
        zero = Problem(network, Init.orthogonal(network, task, gamma=0.0, seed=self.seed), task)
        layers = predict(zero).layers or ()
        data["predicted_values_at_zero"] = ("value", hidden_values(layers[0]))
        rng = np.random.default_rng(self.seed + 1)
        drawn = rng.standard_normal((self.features, self.width))
        for i, deviation in enumerate(self.deviations):
            init = Init.from_layers([deviation * drawn, np.zeros((self.width, self.outputs))])
            run = flow_on_grid(Problem(network, init, task), self.records)
            name = f"gaussian{i}"
            data |= _curves(name, run)
            bounds = HiddenBounds.of(*init.layers)
            low, high = bounds.around(run.coef, self.features)
            data[f"predicted_low_{name}"] = ("value", low)
            data[f"predicted_high_{name}"] = ("value", high)
            assert run.layers is not None
            kept = HiddenBounds.of(run.layers[0][-1], run.layers[1][-1])
            data[f"conserved_{name}"] = ("end", kept.ends)
            data[f"coef_values_{name}"] = ("value", padded_values(run.coef, self.features))
        return xr.Dataset(data)

    def checks(self, data: xr.Dataset) -> list[Check]:
        """Corollary 3.1 to 1e-5, the minimum norm, the mirror flow, the rate, the Gaussian."""
        found = []
        for i, gamma in enumerate(self.gammas):
            found += self._orthogonal(data, f"orthogonal{i}", f"γ = {gamma:g}")
        least, smallest = int(np.argmin(self.gammas)), min(self.gammas)
        at_zero = data["predicted_values_at_zero"].values
        values = data[f"values_orthogonal{least}"].values[-1]
        # √(√(σ²+γ²)+γ) − √σ is below γ/(2√σ) + γ²/(4σ^{3/2}), and the others are √(2γ).
        root = at_zero[self.outputs - 1]
        allowed = smallest / (2 * root) + smallest**2 / (2 * root**3)
        off = float(np.abs(values - at_zero)[: self.outputs].max())
        found.append(Check("γ → 0: largest distance of the top k", off, 0.0, allowed))
        rest = float(np.abs(values - at_zero)[self.outputs :].max())
        found.append(Check("γ → 0: the others", rest, float(np.sqrt(2 * smallest)), FLOW))
        for i, deviation in enumerate(self.deviations):
            found += self._gaussian(data, f"gaussian{i}", deviation)
        return found

    def _orthogonal(self, data: xr.Dataset, name: str, words: str) -> list[Check]:
        off = {
            what: float(np.abs(data[f"{what}_{name}"] - data[f"predicted_{what}_{name}"]).max())
            for what in ("coef", "dual")
        }
        final = data[f"values_{name}"].values[-1] - data[f"predicted_values_{name}"].values
        outer = data[f"outer_{name}"].values - data[f"predicted_outer_{name}"].values
        potential = float(data[f"predicted_potential_{name}"])
        ratio = (data[f"loss_{name}"] / data[f"predicted_bound_{name}"]).values
        # 1e-5 is what a reader of the figure could ask for; the flow is right to 1e-9.
        return [
            Check(
                f"{words}: hidden values against Cor. 3.1", float(np.abs(final).max()), 0.0, 1e-5
            ),
            Check(f"{words}: values of W₂", float(np.abs(outer).max()), 0.0, 1e-5),
            Check(f"{words}: β against X⁺Y", off["coef"], 0.0, 1e-5),
            Check(
                f"{words}: the potential of Thm 3.1 at the end",
                float(data[f"potential_{name}"]),
                potential,
                FLOW * (1 + abs(potential)),
            ),
            # Simpson's rule and the flow.
            Check(
                f"{words}: ½ asinh(D/γ) against its mirror flow",
                off["dual"],
                0.0,
                float(data[f"dual_error_{name}"]) + 100 * FLOW,
            ),
            Check(f"{words}: loss over its bound", max(float(ratio.max()) - 1, 0.0), 0.0, FLOW),
            Check(f"{words}: the same at the start", float(ratio[0]), 1.0, IDENTITY),
        ]

    def _gaussian(self, data: xr.Dataset, name: str, deviation: float) -> list[Check]:
        values = data[f"values_{name}"].values[-1]
        low, high = data[f"predicted_low_{name}"].values, data[f"predicted_high_{name}"].values
        outside = float(np.maximum(low - values, values - high).max())
        words = f"Gaussian, deviation {deviation:g}"
        share = _share(values, self.outputs)
        # Least where the top is as high and the others as low as they may be; most the other way.
        top = np.arange(len(low)) < self.outputs
        least = _share(np.where(top, high, low), self.outputs)
        most = _share(np.where(top, low, high), self.outputs)
        middle, reach = (most + least) / 2, (most - least) / 2
        return [
            Check(f"{words}: farthest out of the bounds", max(outside, 0.0), 0.0, FLOW),
            # The bounds are made from the start; C is conserved, so that the end gives them too.
            Check(
                f"{words}: the bounds in M² − 2gM = σ², g and σ of the end",
                bounds_off(
                    low,
                    high,
                    data[f"conserved_{name}"].values,
                    data[f"coef_values_{name}"].values,
                ),
                0.0,
                FLOW,
            ),
            Check(f"{words}: share outside rank k", share, middle, reach),
        ]

    def plot(self, data: xr.Dataset) -> Figure:
        """One panel per start: the top four against time."""
        figure = new_figure((10.0, 6.4))
        panels = figure.subplots(2, 2, sharex=True).ravel()
        titles = {
            **{f"orthogonal{i}": f"orthogonal, γ = {g:g}" for i, g in enumerate(self.gammas)},
            **{
                f"gaussian{i}": f"Gaussian, standard deviation {s:g} (variance {s * s:.2g})"
                for i, s in enumerate(self.deviations)
            },
        }
        for axes, (name, title) in zip(panels, titles.items(), strict=False):
            time, values = data[f"time_{name}"].values, data[f"values_{name}"].values
            for i in range(values.shape[1]):
                colour, label = (COLOURS[i], f"$\\sigma_{i + 1}$") if i < SHOWN else ("0.75", None)
                order = 3 if i < SHOWN else 2
                axes.plot(time, values[:, i], color=colour, label=label, zorder=order)
            axes.plot([], [], color="0.75", label="the others")
            if f"predicted_values_{name}" in data:
                for value in np.unique(data[f"predicted_values_{name}"].values.round(9)):
                    axes.axhline(value, color="black", linestyle="--", linewidth=1.0, zorder=4)
            else:
                bounds = [data[f"predicted_{what}_{name}"].values for what in ("low", "high")]
                draw_bounds(axes, bounds[0], bounds[1], self.outputs, at=60.0)
            axes.set_title(title)
            axes.set_xscale("log")
            axes.set_xlim(0.02, 130.0)
            axes.set_ylim(bottom=0)
        panels[0].plot([], [], color="black", linestyle="--", linewidth=1.0, label="Cor. 3.1")
        panels[0].plot([], [], color="black", marker="_", linewidth=1.2, label="exact bounds")
        for axes in panels[2:]:
            axes.set_xlabel("time")
        for axes in panels[::2]:
            axes.set_ylabel("singular values of $W_1$")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=7, frameon=False)
        return figure


def _curves(name: str, run: Trajectory) -> dict[str, tuple[Any, ...]]:
    assert run.layers is not None
    moment = f"moment_{name}"
    return {
        f"time_{name}": (moment, run.times),
        f"values_{name}": ((moment, "value"), hidden_values(run.layers[0])),
        f"loss_{name}": (moment, run.losses),
    }


def _against_theory(
    name: str, problem: Problem, run: Trajectory, gamma: float
) -> dict[str, tuple[Any, ...]]:
    assert run.layers is not None
    limit = predict(problem)
    assert limit.layers is not None
    first, second = limit.layers
    dual, predicted, error = _mirror_flow(problem.regression, run, gamma)
    moment = f"moment_{name}"
    return {
        f"predicted_values_{name}": ("value", hidden_values(first)),
        f"outer_{name}": ("output", hidden_values(run.layers[1][-1])),
        f"predicted_outer_{name}": ("output", hidden_values(second)),
        f"coef_{name}": (("feature", "output"), run.coef),
        f"predicted_coef_{name}": (("feature", "output"), limit.coef),
        f"potential_{name}": (
            (),
            layer_potential(run.layers[0][-1], run.layers[1][-1], gamma=gamma),
        ),
        f"predicted_potential_{name}": ((), limit.potential),
        f"predicted_bound_{name}": (
            moment,
            two_layer_bounds(problem, run.times)["varre2023.lemmaC.6"],
        ),
        f"dual_{name}": ((f"half_{name}", "output"), dual),
        f"predicted_dual_{name}": ((f"half_{name}", "output"), predicted),
        f"dual_error_{name}": ((), error),
    }


def _mirror_flow(task: Regression, run: Trajectory, gamma: float) -> tuple[Float, Float, float]:
    """`∇Ψ(D) = ½ asinh(D/γ)` at every second time, `−∫∇_D loss dt`, and the latter's error."""
    neg_grad = -task.loss_factor * task.X.T @ (task.X @ run.coefs - task.y)
    left, values, right = np.linalg.svd(run.coefs, full_matrices=False)
    slopes = np.einsum("tij,tik,tjk->tj", left, neg_grad, right)
    # β(0) = 0 has no singular vectors of its own: they are those of its first move, the negative
    # gradient's.
    slopes[0] = np.linalg.svd(neg_grad[0], compute_uv=False)
    predicted, error = integral(slopes, run.times)
    return spectral_gradient(values[::2], gamma=gamma), predicted, error


def _share(values: Float, rank: int) -> float:
    """How much of `‖W₁‖²` is beyond the largest values."""
    return float((values[rank:] ** 2).sum() / (values**2).sum())
