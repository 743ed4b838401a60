"""One sample and two layers, classification: Theorem 3 and Corollary 4."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from limitpoint.dynamics import Trajectory, flow
from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.networks import Convolutional
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.measured import Check
from limitpoint.papers.shared.coordinates import coordinates
from limitpoint.papers.yun2021.exponents import along_margins, exponent
from limitpoint.papers.yun2021.named import limit_by
from limitpoint.papers.yun2021.printed_theorem6 import data_matrix
from limitpoint.plot.style import COLOURS, new_figure
from limitpoint.problem import Problem
from limitpoint.tasks import Classification

__all__ = ["Corollary4"]

LENGTH = 10
LABEL = -1.0
# Filter length, sign of the sample's autocorrelation, theorem.
CASES = {
    "length 1": (1, 1.0, "yun2021.corollary4"),
    "length 2, smooth sample": (2, 1.0, "yun2021.corollary4"),
    "length 2, rough sample": (2, -1.0, "yun2021.corollary4"),
    "length 4, smooth sample": (4, 1.0, "yun2021.theorem3"),
}


@register
@dataclass(frozen=True)
class Corollary4(Experiment):
    """Short filters make a filtered version of the sample."""

    paper: ClassVar[str] = "yun2021"
    figure: ClassVar[str] = "corollary4"
    title: ClassVar[str] = "One sample, short filters: the classifier is a filtered sample"
    setup: ClassVar[str] = (
        "A worked example of Theorem 3 and Corollary 4: convolutional networks of two layers, "
        "first filters of length 1, 2 and 4, one sample of length 10 with label −1: a raised wave "
        "with noise, or the same with alternating signs. Random starts with p² > q². The flow in "
        "normalised time goes to margin 1e8."
    )
    theorems: ClassVar[tuple[str, ...]] = ("yun2021.theorem3", "yun2021.corollary4")

    scale: float = 0.5
    seed: int = 5
    margin: float = 1e8
    measured_from: float = 1e5
    points: int = 80
    rtol: float = 1e-9

    def quick(self) -> "Corollary4":
        """Fewer points: what takes time is compiled once."""
        return replace(self, points=40)

    def run(self) -> xr.Dataset:
        """Follow all four, and predict them, the printed forms among the predictions."""
        margins = np.geomspace(1.0, self.margin, self.points)
        rng = np.random.default_rng(self.seed)
        wave = np.sin(2 * np.pi * np.arange(LENGTH) / LENGTH)
        slow = 1.0 + 0.7 * wave + 0.3 * rng.standard_normal(LENGTH)
        problems, samples = [], []
        for size, sign, _ in CASES.values():
            x = slow * sign ** np.arange(LENGTH)
            network = Convolutional((size, LENGTH))
            layers = _leading_start(rng, data_matrix(network, x))
            task = Classification(x[None], [LABEL])
            problems.append(Problem(network, Init(layers, self.scale), task))
            samples.append(x)
        with ThreadPoolExecutor(max_workers=2) as pool:
            runs = list(pool.map(self._flow, problems))
        limits = [
            limit_by(name, problem)
            for (_, _, name), problem in zip(CASES.values(), problems, strict=True)
        ]
        printed = [
            _printed(size, x) for (size, _, _), x in zip(CASES.values(), samples, strict=True)
        ]
        return xr.Dataset(
            {
                "sample": (("case", "feature"), np.stack(samples)),
                "direction": (
                    ("case", "margin", "feature"),
                    np.stack([along_margins(run, margins) for run in runs]),
                ),
                "predicted_direction": (
                    ("case", "feature"),
                    np.stack([limit.direction for limit in limits]),
                ),
                "predicted_printed": (("case", "feature"), np.stack(printed)),
                "predicted_exponent": ("case", [limit.rate or 0.0 for limit in limits]),
            },
            coords={"case": list(CASES), "margin": margins},
        )

    def _flow(self, problem: Problem) -> Trajectory:
        return flow(problem, margin=self.margin, space=coordinates(problem, self.rtol))

    def checks(self, data: xr.Dataset) -> list[Check]:
        """Directions, the printed forms, and the exponents."""
        margins, distances = data["margin"].values, _distances(data)
        apart = data["predicted_direction"].values - data["predicted_printed"].values
        found = []
        for c, case in enumerate(CASES):
            due = float(data["predicted_exponent"].values[c])
            # Of order 1 times margin^−r.
            end = float(distances[c, -1])
            found.append(Check(f"{case}: direction", end, 0.0, 3 * self.margin**-due))
            slope = exponent(margins, distances[c], self.measured_from)
            # The next part is what never moves, which is margin^−½ of the leading one, or where
            # that is the error itself its square: by so much smaller, it bends the line by `gap`
            # times its share.
            gap = 0.5 - due if due < 0.5 else 0.5
            tolerance = gap * self.measured_from**-gap
            found.append(Check(f"{case}: exponent", slope, due, tolerance))
            # Two ways to the same singular vectors.
            name = f"{case}: predict to the printed form"
            found.append(Check(name, float(np.linalg.norm(apart[c])), 0.0, 1e-9))
        return found

    def plot(self, data: xr.Dataset) -> Figure:
        """The samples and what the networks make of them; distances against the margin."""
        figure = new_figure((14, 6.6))
        grid = figure.add_gridspec(2, 3, width_ratios=(1, 1, 1.4))
        places = np.arange(LENGTH)
        for c, case in enumerate(CASES):
            axes = figure.add_subplot(grid[c // 2, c % 2])
            x = LABEL * data["sample"].values[c]
            axes.plot(places, x / np.linalg.norm(x), color="0.6", label="y·x, norm 1")
            end = data["direction"].values[c, -1]
            due = data["predicted_direction"].values[c]
            axes.plot(places, due, color=COLOURS[c], linewidth=2, label="predicted")
            axes.plot(places, end, "ko", markersize=5, markerfacecolor="none", label="flow")
            axes.axhline(0, color="0.85", linewidth=0.7, zorder=0)
            axes.set_title(case)
            if c % 2 == 0:
                axes.set_ylabel("direction of β")
        axes = figure.add_subplot(grid[:, 2])
        margins = data["margin"].values
        tail = margins >= 1e3
        for c, distance in enumerate(_distances(data)):
            due = float(data["predicted_exponent"].values[c])
            name = f"{list(CASES)[c]}: $r = {due:.3f}$"
            axes.plot(margins, distance, color=COLOURS[c], linewidth=2, label=name)
            line = 1.5 * distance[-1] * (margins[tail] / margins[-1]) ** -due
            axes.plot(margins[tail], line, "--", color=COLOURS[c], linewidth=1.2)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set(xlabel="margin", title="distance from the prediction")
        axes.plot([], [], "k--", linewidth=1.2, label="predicted slope")
        axes.legend(loc="lower left", frameon=False)
        handles = figure.axes[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower left", ncols=3, frameon=False)
        return figure


def _leading_start(rng: np.random.Generator, matrix: Float) -> tuple[Float, Float]:
    """Layers with `p² − q²` of 0.2 to 1 along all singular vectors, and a part that never moves."""
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    q = rng.uniform(-0.7, 0.7, len(values))
    p = np.sqrt(q**2 + rng.uniform(0.2, 1.0, len(values)))
    still: Float = np.asarray(rng.standard_normal(matrix.shape[1]))
    still -= right.T @ (right @ still)
    return left @ p, right.T @ q + 0.5 * still


def _printed(size: int, x: Float) -> Float:
    """Corollary 4 as printed; beyond length 2 the top singular vectors of the data matrix."""
    ahead, behind = np.roll(x, -1), np.roll(x, 1)
    if size == 1:
        coef = LABEL * x
    elif size == 2:
        sign = np.sign(x @ ahead)
        coef = 2 * LABEL * x + sign * LABEL * (ahead + behind)
    else:
        network = Convolutional((size, LENGTH))
        left, _, right = np.linalg.svd(data_matrix(network, x))
        coef = LABEL * np.asarray(network.coef((left[:, 0], right[0])))
    found: Float = coef / np.linalg.norm(coef)
    return found


def _distances(data: xr.Dataset) -> Float:
    off = data["direction"].values - data["predicted_direction"].values[:, None, :]
    return np.asarray(np.linalg.norm(off, axis=-1))
