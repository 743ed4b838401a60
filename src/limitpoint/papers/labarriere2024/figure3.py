"""Figure 3: of the nodes of a coefficient only the smallest can change its sign."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from limitpoint.init import Init
from limitpoint.networks import Diagonal
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.measured import Check
from limitpoint.papers.shared.raw_flow import product_slopes, raw_flow
from limitpoint.plot.style import COLOURS, new_figure
from limitpoint.problem import Problem
from limitpoint.tasks import Regression
from limitpoint.theory import predict

__all__ = ["Figure3"]

SAMPLES, FEATURES, DEPTH = 10, 5, 4


@register
@dataclass(frozen=True)
class Figure3(Experiment):
    """Nodes of the first component of a network with four layers."""

    paper: ClassVar[str] = "labarriere2024"
    figure: ClassVar[str] = "figure3"
    title: ClassVar[str] = "Only the smallest node of a component crosses zero"
    setup: ClassVar[str] = (
        "Printed: loss ‖Xθ − y‖², X 10×5 and y random, 4 layers; in the first component the third "
        "layer is the smallest and changes sign. Chosen: standard normal data and layers, a seed "
        "for which that is so. The layers are integrated as they stand; the prediction for them "
        "is the mirror map of Theorem 1 at the mirror coordinates −∫∇loss."
    )
    theorems: ClassVar[tuple[str, ...]] = ("labarriere2024.theorem1",)

    seed: int = 41
    t_end: float = 8.0
    records: int = 400

    def quick(self) -> "Figure3":
        """Fewer records."""
        return replace(self, records=100)

    def run(self) -> xr.Dataset:
        """Integrate the layers, and predict them from their mirror coordinates."""
        rng = np.random.default_rng(self.seed)
        X, y = rng.standard_normal((SAMPLES, FEATURES)), rng.standard_normal(SAMPLES)
        start = rng.standard_normal((DEPTH, FEATURES))
        task = Regression(X, y, 2.0)
        network = Diagonal(depth=DEPTH)
        problem = Problem(network, Init.from_layers(start), task)
        times = np.append(0.0, np.geomspace(1e-3, self.t_end, self.records))
        run = raw_flow(product_slopes, start, task, times)
        nodes = [network.layers_at(problem.init, dual @ X) for dual in run.duals]
        return xr.Dataset(
            {
                "node": (("time", "layer", "feature"), run.layers),
                "coef": (("time", "feature"), run.coefs),
                "predicted_node": (
                    ("time", "layer", "feature"),
                    np.stack([np.stack(one) for one in nodes if one is not None]),
                ),
                "predicted_limit": ("feature", predict(problem).coef),
            },
            coords={
                "time": times,
                "layer": np.arange(1, DEPTH + 1, dtype=np.int32),
                "feature": np.arange(1, FEATURES + 1, dtype=np.int32),
            },
        )

    def checks(self, data: xr.Dataset) -> list[Check]:
        """Sign changes, conserved differences, and the mirror map."""
        nodes = data["node"].values
        changes = (np.diff(np.sign(nodes), axis=0) != 0).sum(axis=0)
        smallest = np.abs(nodes[0]).argmin(axis=0)
        free = np.zeros(nodes.shape[1:], dtype=bool)
        free[smallest, np.arange(FEATURES)] = True
        squares = nodes**2
        gaps = squares - squares[:, :1]
        off = np.abs(nodes - data["predicted_node"].values).max()
        end = np.abs(data["coef"].values[-1] - data["predicted_limit"].values).max()
        return [
            Check("smallest layer of the first component", float(smallest[0] + 1), 3.0, 0.0),
            Check("its sign changes", float(changes[smallest[0], 0]), 1.0, 0.0),
            Check("sign changes of all other nodes", float(changes[~free].sum()), 0.0, 0.0),
            Check(
                "drift of the differences of squares", float(np.abs(gaps - gaps[:1]).max()), 0, 1e-8
            ),
            # Integrated to 1e-12 per step, some hundred steps.
            Check("distance of the nodes from the mirror map", float(off), 0.0, 1e-9),
            # The approach is exponential, and complete at the end to this.
            Check("distance of the end from the limit", float(end), 0.0, 1e-6),
        ]

    def plot(self, data: xr.Dataset) -> Figure:
        """The nodes of the first component against time."""
        figure = new_figure((8, 4.8))
        axes = figure.subplots()
        times = data["time"].values
        nodes, expected = data["node"].values[:, :, 0], data["predicted_node"].values[:, :, 0]
        smallest = int(np.abs(nodes[0]).argmin())
        for j in range(DEPTH):
            name = f"$u_1^{j + 1}$" + (" (smallest at the start)" if j == smallest else "")
            axes.plot(times, nodes[:, j], color=COLOURS[j], linewidth=2.5, label=name)
            axes.plot(times, expected[:, j], "k:", linewidth=1.2)
        axes.plot([], [], "k:", linewidth=1.2, label="mirror map at the mirror coordinate")
        axes.axhline(0, color="black", linewidth=0.8)
        axes.set(xlabel="time", ylabel="nodes of the first component")
        axes.set_xlim(0, 0.5 * times[-1])
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        return figure
