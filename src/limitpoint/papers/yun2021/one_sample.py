"""One sample and two layers, regression: Theorem 6, and starts that it leaves out."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from limitpoint.dynamics import ParameterSpace, flow
from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.networks import Tensor
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.measured import Check
from limitpoint.papers.yun2021.named import limit_by
from limitpoint.plot.style import COLOURS, new_figure
from limitpoint.problem import Problem
from limitpoint.tasks import Regression

__all__ = ["OneSampleRegression"]

FEATURES, SIZES = 4, (5, 4)
THEOREMS = {"p² > q²": "yun2021.theorem6", "random start": "limitpoint.one_sample"}
# Multiples that are said to be of order 1 are below this.
CONSTANT = 5.0


@register
@dataclass(frozen=True)
class OneSampleRegression(Experiment):
    """The limit of both layers of a random tensor network, at several scales."""

    paper: ClassVar[str] = "yun2021"
    figure: ClassVar[str] = "one_sample"
    title: ClassVar[str] = "One sample, two layers: the limit in closed form, from any start"
    setup: ClassVar[str] = (
        "A worked example of Theorem 6: a random tensor of 4 features with layers of 5 and 4 "
        "numbers, one random sample with target 1. First from a start with p² > q² along every "
        "singular vector, as the theorem asks for; then (beyond the paper) from a random one that "
        "breaks it. Layers are integrated as they stand and compared with the predicted ones; as "
        "α vanishes, the top singular vectors are left."
    )
    theorems: ClassVar[tuple[str, ...]] = tuple(THEOREMS.values())

    scales: tuple[float, ...] = (1.0, 0.3, 0.1, 0.01, 0.001, 1e-5)
    seed: int = 30

    def quick(self) -> "OneSampleRegression":
        """Fewer scales."""
        return replace(self, scales=(1.0, 0.001, 1e-5))

    def run(self) -> xr.Dataset:
        """Integrate from both starts at all scales, and predict."""
        rng = np.random.default_rng(self.seed)
        network = Tensor(rng.standard_normal((FEATURES, *SIZES)))
        task = Regression(rng.standard_normal((1, FEATURES)), [1.0])
        matrix = np.tensordot(task.X[0], network.M, axes=1)
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
        q = rng.uniform(-0.5, 0.5, len(values))
        p = np.sqrt(q**2 + rng.uniform(0.5, 1.0, len(values)))
        still = rng.standard_normal(SIZES[0])
        still -= left @ (left.T @ still)
        starts = (left @ p + still, right.T @ q), tuple(rng.standard_normal(k) for k in SIZES)
        ends: dict[str, list[Float]] = {"layer_1": [], "layer_2": [], "coef": []}
        due: dict[str, list[Float]] = {name: [] for name in ends}
        for name, layers in zip(THEOREMS.values(), starts, strict=True):
            for scale in self.scales:
                problem = Problem(network, Init(layers, scale), task)
                run, limit = flow(problem, space=ParameterSpace()), limit_by(name, problem)
                assert run.layers is not None, "parameter flows record their layers"
                assert limit.layers is not None, "the theorem is about the layers"
                for i in range(2):
                    ends[f"layer_{i + 1}"].append(run.layers[i][-1])
                    due[f"layer_{i + 1}"].append(limit.layers[i])
                ends["coef"].append(run.coef)
                due["coef"].append(limit.coef)
        # What is along the second singular vectors, and grows.
        second = np.reshape(
            [
                abs(left[:, 1] @ one + right[1] @ two)
                for one, two in zip(ends["layer_1"], ends["layer_2"], strict=True)
            ],
            (len(THEOREMS), len(self.scales)),
        )
        top = network.coef((left[:, 0], right[0])) / values[0]
        axes = {"layer_1": "row", "layer_2": "column", "coef": "feature"}
        shape = (len(THEOREMS), len(self.scales), -1)
        return xr.Dataset(
            {
                **{n: (("case", "scale", axes[n]), np.reshape(v, shape)) for n, v in ends.items()},
                **{
                    f"predicted_{n}": (("case", "scale", axes[n]), np.reshape(v, shape))
                    for n, v in due.items()
                },
                "second": (("case", "scale"), second),
                "predicted_top": ("feature", top),
                "predicted_power": ((), 1 - values[1] / values[0]),
            },
            coords={"case": list(THEOREMS), "scale": np.array(self.scales)},
        )

    def checks(self, data: xr.Dataset) -> list[Check]:
        """Layers and coefficients at every scale, and what is left as the scale vanishes."""
        found = []
        for c, case in enumerate(THEOREMS):
            for name in ("layer_1", "layer_2", "coef"):
                off = data[name].values[c] - data[f"predicted_{name}"].values[c]
                # The flow stops at a relative residual of 1e-10, integrated to 1e-10 per step and
                # through a growth by 1e6 at most.
                worst = float(np.abs(off).max())
                found.append(Check(f"{case}: {name.replace('_', ' ')}", worst, 0.0, 1e-7))
            top = data["predicted_top"].values
            left = np.linalg.norm(data["coef"].values[c, -1] - top) / np.linalg.norm(top)
            # Beside the first singular vectors the second ones grow, as α·α^{−s₂/s₁}: what is left
            # of them, and of the start, is a multiple of that, of order 1.
            small, scales = float(data["predicted_power"]), data["scale"].values
            tolerance = CONSTANT * float(scales[-1] ** small)
            found.append(Check(f"{case}: smallest α, to the top", float(left), 0.0, tolerance))
            # The first end at a size that does not depend on α, up to that part squared.
            power = np.diff(np.log(data["second"].values[c, -2:]))[0]
            power /= np.log(scales[-1] / scales[-2])
            tolerance = (
                CONSTANT * float(scales[-2] ** (2 * small)) / np.log(scales[-2] / scales[-1])
            )
            found.append(Check(f"{case}: power of the second", float(power), small, tolerance))
        return found

    def plot(self, data: xr.Dataset) -> Figure:
        """Coefficients at the limit against the scale, one panel for each start."""
        figure = new_figure((11, 4.8))
        scales = data["scale"].values
        for c, (axes, case) in enumerate(zip(figure.subplots(1, 2), THEOREMS, strict=True)):
            for i in range(FEATURES):
                colour = COLOURS[i]
                due, end = data["predicted_coef"].values[c, :, i], data["coef"].values[c, :, i]
                axes.plot(scales, due, color=colour, linewidth=1.6, label=f"β[{i}], predicted")
                axes.plot(scales, end, "o", color=colour, markersize=7, markerfacecolor="none")
                axes.axhline(data["predicted_top"].values[i], color=colour, linestyle=":")
            axes.set_xscale("log")
            axes.set(
                title=f"start with {case}" if c == 0 else "a random start",
                xlabel="α",
                ylabel="coefficients at the end",
            )
        handles, labels = axes.get_legend_handles_labels()
        circle = axes.plot([], [], "ko", markersize=7, markerfacecolor="none")[0]
        dots = axes.plot([], [], "k:")[0]
        figure.legend(
            [*handles, circle, dots],
            [*labels, "flow of the layers", "top singular vectors"],
            loc="outside lower center",
            ncols=6,
            frameon=False,
        )
        return figure
