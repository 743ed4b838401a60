"""Theorem 2 and Corollaries 1 to 3 on a larger sample: exponents of the approach."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from limitpoint.dynamics import Trajectory, flow
from limitpoint.init import Init
from limitpoint.networks import (
    Convolutional,
    Diagonal,
    FullyConnected,
    Network,
    OrthogonalTensor,
)
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.measured import Check
from limitpoint.papers.shared.coordinates import coordinates
from limitpoint.papers.yun2021.exponents import along_margins, exponent, exponent_error
from limitpoint.papers.yun2021.named import limit_by
from limitpoint.plot.style import COLOURS, new_figure
from limitpoint.problem import Problem
from limitpoint.tasks import Classification

__all__ = ["FEATURES", "ClassificationDirections", "separable", "tensor_network"]

FEATURES = 5
# Networks with their theorem and the seed of their start. The third dense layer makes it slower.
CASES: dict[str, tuple[Network, str, int]]


def separable() -> Classification:
    """Four samples of five features, standard normal: always separable, since they are fewer."""
    rng = np.random.default_rng(4)
    return Classification(rng.standard_normal((4, FEATURES)), [1.0, -1.0, 1.0, -1.0])


def tensor_network(depth: int, seed: int) -> OrthogonalTensor:
    """An orthogonally decomposable network with random S and U_l."""
    rng = np.random.default_rng(seed)
    S = rng.standard_normal((FEATURES, FEATURES))
    rectangles = [rng.standard_normal((FEATURES + 1, FEATURES)) for _ in range(depth)]
    return OrthogonalTensor(S, [np.linalg.qr(one)[0] for one in rectangles])


CASES = {
    "dense, 2 layers": (FullyConnected(widths=(FEATURES,)), "yun2021.corollary1", 4),
    "dense, 3 layers": (FullyConnected(widths=(FEATURES,) * 2), "yun2021.corollary1", 8),
    "diagonal": (Diagonal(depth=2), "yun2021.corollary2", 4),
    "convolutional": (Convolutional((FEATURES,) * 2), "yun2021.corollary3", 4),
    "tensor": (tensor_network(2, seed=13), "yun2021.theorem2", 4),
}


@register
@dataclass(frozen=True)
class ClassificationDirections(Experiment):
    """How fast the directions of five networks get to their max-margin problems' solutions."""

    paper: ClassVar[str] = "yun2021"
    figure: ClassVar[str] = "classification_directions"
    title: ClassVar[str] = "Max-margin directions are reached as powers of the margin"
    setup: ClassVar[str] = (
        "A worked example of Theorem 2 and Corollaries 1 to 3: four random samples of five "
        "features; dense networks of two and three layers, diagonal, convolutional (full length) "
        "and orthogonally decomposable ones of two layers, from random starts of scale 0.3. The "
        "flow in normalised time goes to margin 1e8. The paper says where it ends; the exponents "
        "are those of limitpoint. Seeds are such that no two vertices of the margin problems "
        "nearly tie: the flow would stay at the wrong one for many decades."
    )
    theorems: ClassVar[tuple[str, ...]] = (
        "yun2021.theorem2",
        "yun2021.corollary1",
        "yun2021.corollary2",
        "yun2021.corollary3",
    )

    scale: float = 0.3
    margin: float = 1e8
    measured_from: float = 1e6
    points: int = 80
    rtol: float = 1e-9

    def quick(self) -> "ClassificationDirections":
        """Fewer points: what takes time is compiled once."""
        return replace(self, points=40)

    def run(self) -> xr.Dataset:
        """Follow all networks, and predict where they turn to and how fast."""
        margins = np.geomspace(1.0, self.margin, self.points)
        task = separable()
        problems = {
            name: Problem(network, Init.random(network, task, scale=self.scale, seed=seed), task)
            for name, (network, _, seed) in CASES.items()
        }
        with ThreadPoolExecutor(max_workers=2) as pool:
            runs = list(pool.map(self._flow, problems.values()))
        limits = [limit_by(CASES[name][1], problem) for name, problem in problems.items()]
        return xr.Dataset(
            {
                "direction": (
                    ("network", "margin", "feature"),
                    np.stack([along_margins(run, margins) for run in runs]),
                ),
                "predicted_direction": (
                    ("network", "feature"),
                    np.stack([limit.direction for limit in limits]),
                ),
                "predicted_exponent": ("network", [limit.rate or 0.0 for limit in limits]),
            },
            coords={"network": list(CASES), "margin": margins},
        )

    def _flow(self, problem: Problem) -> Trajectory:
        return flow(problem, margin=self.margin, space=coordinates(problem, self.rtol))

    def checks(self, data: xr.Dataset) -> list[Check]:
        """Distances at the end, and the exponents with which they fall."""
        margins = data["margin"].values
        distances = _distances(data)
        found = []
        for n, name in enumerate(CASES):
            due = float(data["predicted_exponent"].values[n])
            slope = exponent(margins, distances[n], self.measured_from)
            # Margins of the support vectors differ by about 1, of 1e6 where the measurement
            # begins; the next power is a part margin^−r of the leading one.
            allowed = exponent_error(margins, due, self.measured_from)
            found.append(Check(f"{name}: exponent", slope, due, allowed))
            # A multiple of margin^−r, of order 1.
            found.append(
                Check(
                    f"{name}: distance at the end",
                    float(distances[n, -1]),
                    0.0,
                    self.margin**-due,
                )
            )
        return found

    def plot(self, data: xr.Dataset) -> Figure:
        """Distances from the predicted direction against the margin."""
        figure = new_figure((9, 5.4))
        axes = figure.subplots()
        margins = data["margin"].values
        tail = margins >= 1e4
        for n, (name, distance) in enumerate(zip(CASES, _distances(data), strict=True)):
            due = float(data["predicted_exponent"].values[n])
            label = f"{name}: $r = {due:.3f}$"
            axes.plot(margins, distance, color=COLOURS[n], linewidth=2, label=label)
            line = distance[-1] * (margins[tail] / margins[-1]) ** -due
            axes.plot(margins[tail], 1.5 * line, "--", color=COLOURS[n], linewidth=1.2)
        axes.plot([], [], "k--", linewidth=1.2, label="predicted slope, margin$^{-r}$")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set(xlabel="smallest margin", ylabel="distance from the max-margin direction")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        return figure


def _distances(data: xr.Dataset) -> np.ndarray:
    off = data["direction"].values - data["predicted_direction"].values[:, None, :]
    return np.asarray(np.linalg.norm(off, axis=-1))
