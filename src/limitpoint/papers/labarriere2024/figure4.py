"""Figure 4: larger layers at the start, faster training; and the bound of Theorem 2."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.networks import Diagonal
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.measured import Check
from limitpoint.papers.shared.raw_flow import RawFlow, product_slopes, raw_flow
from limitpoint.plot.style import COLOURS, new_figure
from limitpoint.problem import Problem
from limitpoint.tasks import Regression
from limitpoint.theory import convergence_bound, predict

__all__ = ["Figure4"]

SAMPLES, FEATURES, DEPTH = 10, 8, 6
# Below this part of the loss at the start, the loss above its minimum is rounding.
RESOLVED = 1e-18
# The library's bound is on the loss itself: above its minimum it is resolved to this part.
BOUND_RESOLVED = 1e-9
# The figure begins here: the three differ in time by factors of ten.
FIRST_SHOWN = 1e-3
# At time 0 loss and bound are one number, computed in two ways: an identity.
IDENTITY = 1e-12


@register
@dataclass(frozen=True)
class Figure4(Experiment):
    """Three networks of six layers whose starts are multiples of each other."""

    paper: ClassVar[str] = "labarriere2024"
    figure: ClassVar[str] = "figure4"
    title: ClassVar[str] = "Larger layers train faster, and never slower than Theorem 2 says"
    setup: ClassVar[str] = (
        "Printed: loss ‖Xθ − y‖², X 10×8 and y random, 6 layers, the first one zero, the others "
        "random, times 1, 1.4 and 1.8. Chosen: standard normal data, layers of random sign with "
        "moduli in [0.6, 1.2], the seed."
    )
    theorems: ClassVar[tuple[str, ...]] = ("labarriere2024.theorem2", "labarriere2024.theorem1")

    seed: int = 4
    factors: tuple[float, ...] = (1.0, 1.4, 1.8)
    t_end: float = 10.0
    records: int = 400

    def quick(self) -> "Figure4":
        """Fewer records, and a fifth of the time."""
        return replace(self, records=60, t_end=2.0)

    def run(self) -> xr.Dataset:
        """Integrate the three networks; predict loss, bound and rate."""
        rng = np.random.default_rng(self.seed)
        X, y = rng.standard_normal((SAMPLES, FEATURES)), rng.standard_normal(SAMPLES)
        moduli = rng.uniform(0.6, 1.2, (DEPTH - 1, FEATURES))
        signs = rng.choice([-1.0, 1.0], (DEPTH - 1, FEATURES))
        first = np.vstack([np.zeros(FEATURES), moduli * signs])
        task = Regression(X, y, 2.0)
        times = np.append(0.0, np.geomspace(1e-4, self.t_end, self.records))
        least = task.loss(np.linalg.lstsq(X, y, rcond=None)[0])
        rows: dict[str, list[Float | float]] = {}
        for factor in self.factors:
            problem = Problem(Diagonal(depth=DEPTH), Init.from_layers(factor * first), task)
            run = raw_flow(product_slopes, factor * first, task, times, stiff=True)
            mapped = np.stack([_at_mirror(problem, dual @ X) for dual in run.duals])
            exact = RawFlow(times, run.layers, mapped, run.duals)
            for name, value in (
                ("excess", run.excess(task)),
                ("rate_matrix", _smallest_rate(run.layers)),
                ("end", run.coefs[-1]),
                ("predicted_excess", exact.excess(task)),
                ("predicted_bound", convergence_bound(problem, times) - least),
                ("predicted_sigma", float(np.min(np.prod((factor * first[1:]) ** 2, axis=0)))),
                ("predicted_limit", predict(problem).coef),
            ):
                rows.setdefault(name, []).append(value)
        axes: dict[str, tuple[str, ...]] = {
            "end": ("network", "feature"),
            "predicted_limit": ("network", "feature"),
            "predicted_sigma": ("network",),
        }
        return xr.Dataset(
            {n: (axes.get(n, ("network", "time")), np.stack(v)) for n, v in rows.items()},
            coords={
                "network": np.array(self.factors),
                "time": times,
                "feature": np.arange(1, FEATURES + 1, dtype=np.int32),
            },
        )

    def checks(self, data: xr.Dataset) -> list[Check]:
        """The bound, its rate, the order of the three, and where they end."""
        found = []
        excess, bound = data["excess"].values, data["predicted_bound"].values
        sigma = data["rate_matrix"].values.min(axis=1)
        for i, factor in enumerate(self.factors):
            # The two are equal at time 0; from then on the loss is below.
            seen = np.append(False, bound[i, 1:] > BOUND_RESOLVED * bound[i, 0])
            ratio = float((excess[i, seen] / bound[i, seen]).max())
            name = f"×{factor}: largest loss over bound (15), between 0 and 1"
            found.append(Check(name, ratio, 0.5, 0.5))
            name = f"×{factor}: bound (15) over the loss at time 0"
            found.append(Check(name, float(bound[i, 0] / excess[i, 0]), 1.0, IDENTITY))
            due = float(data["predicted_sigma"].values[i])
            # The first layer is zero at the start, where the smallest rate is σ itself.
            name = f"×{factor}: smallest rate on the way, over σ"
            found.append(Check(name, float(sigma[i]) / due, 1.0, 1e-9))
            above = excess[i] > RESOLVED * excess[i, 0]
            exact = data["predicted_excess"].values[i]
            # The map is good to 1e-12, relative to coefficients of order 1; the mirror coordinates
            # are integrated to 1e-12 per step. Of the square root of the loss an absolute error.
            off = float(np.abs(np.sqrt(excess[i]) - np.sqrt(exact))[above].max())
            name = f"×{factor}: distance of √loss from that of the mirror map"
            found.append(Check(name, off, 0.0, 1e-9 * float(np.sqrt(excess[i, 0]))))
            found.append(
                Check(
                    f"×{factor}: σ over that of the first network",
                    float(sigma[i] / sigma[0]),
                    factor ** (2 * (DEPTH - 1)),
                    1e-9 * factor ** (2 * (DEPTH - 1)),
                )
            )
        above = (excess > RESOLVED * excess[:, :1]).all(axis=0)
        slower = (np.diff(excess[:, above][:, 1:], axis=0) >= 0).sum()
        found.append(Check("times at which a larger start is behind", float(slower), 0.0, 0.0))
        off = np.abs(data["end"].values[1:] - data["predicted_limit"].values[1:]).max()
        found.append(Check("distance of the two faster ones from the limit", float(off), 0.0, 1e-6))
        return found

    def plot(self, data: xr.Dataset) -> Figure:
        """Logarithm of the loss above its minimum against time, with the bounds dashed."""
        figure = new_figure((8.5, 5))
        axes = figure.subplots()
        times = data["time"].values
        colours = (COLOURS[0], COLOURS[4], COLOURS[2])  # blue, orange, green as in the paper
        for i, factor in enumerate(self.factors):
            excess, bound = data["excess"].values[i], data["predicted_bound"].values[i]
            seen, within = excess > RESOLVED * excess[0], bound > BOUND_RESOLVED * bound[0]
            axes.plot(times[seen], np.log(excess[seen]), color=colours[i], label=f"×{factor:g}")
            axes.plot(times[within], np.log(bound[within]), "--", color=colours[i], linewidth=1.2)
            mirror = data["predicted_excess"].values[i]
            axes.plot(times[seen], np.log(mirror[seen]), "k:", linewidth=1)
        axes.plot([], [], "k--", linewidth=1.2, label="bound (15)")
        axes.plot([], [], "k:", linewidth=1, label="mirror map")
        axes.set_xscale("log")
        axes.set_xlim(FIRST_SHOWN, times[-1])
        axes.set(xlabel="time", ylabel="log(loss − loss*)")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        return figure


def _at_mirror(problem: Problem, xi: Float) -> Float:
    """The coefficients by the mirror map of Theorem 1."""
    layers = problem.network.layers_at(problem.init, xi)
    assert layers is not None, "diagonal networks have a mirror map"
    return np.asarray(problem.network.coef(layers))


def _smallest_rate(layers: Float) -> Float:
    """`min_i Σ_j Π_{k≠j} (u_i^k)²` at each time: the smallest eigenvalue of M(t) in (12)."""
    squares = layers**2
    products = [np.prod(np.delete(squares, j, axis=1), axis=1) for j in range(layers.shape[1])]
    return np.asarray(np.sum(products, axis=0).min(axis=1))
