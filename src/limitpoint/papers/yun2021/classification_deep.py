"""Three layers: stationary points, singular vectors, and which point it is."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from scipy.linalg import null_space

from limitpoint.dynamics import Trajectory, flow
from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.networks import Convolutional, Diagonal, OrthogonalTensor
from limitpoint.networks.tensor.singular_vectors import singular_vector_residual
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.measured import Check
from limitpoint.papers.shared.coordinates import coordinates
from limitpoint.papers.yun2021.classification_directions import (
    FEATURES,
    separable,
    tensor_network,
)
from limitpoint.papers.yun2021.exponents import (
    along_margins,
    exponent,
    exponent_error,
    smallest_margins,
)
from limitpoint.plot.style import COLOURS, new_figure
from limitpoint.problem import Problem
from limitpoint.tasks import Classification
from limitpoint.theory import stationarity

__all__ = ["ClassificationDeep", "groups_of", "spread", "vertex"]

DEPTH = 3
POWER = 2 / DEPTH
NETWORKS = {
    "diagonal": Diagonal(depth=DEPTH),
    "convolutional": Convolutional((FEATURES,) * DEPTH),
    "tensor": tensor_network(DEPTH, seed=0),
}
# Exponents are measured from here on; with the next term, from here.
FROM = 5e3
FROM_NEXT = 1e3
# Beyond this margin the weights, exponentials of margins, are known to fewer digits than the
# negative gradient is off.
RESOLVED = 2e5
SETS = ("yun2021.corollary2_deep", "yun2021.corollary3_deep", "yun2021.theorem2_deep")


@register
@dataclass(frozen=True)
class ClassificationDeep(Experiment):
    """Diagonal, convolutional and tensor networks of three layers."""

    paper: ClassVar[str] = "yun2021"
    figure: ClassVar[str] = "classification_deep"
    title: ClassVar[str] = "Three layers turn to stationary points, which depend on the start"
    setup: ClassVar[str] = (
        "A worked example of Theorems 1 and 2 and Corollaries 2 and 3 with three layers: the "
        "samples of `classification_directions`, random starts of scale 0.3. For three layers the "
        "theorems name a set of stationary points. Shown along the flow in normalised time: how "
        "far the layers are from singular vectors of the data tensor (8), how far the negative "
        "gradient is from the stationarity condition (b) of D.1.2, and the distance from the "
        "vertex that is predicted from the flow at margin 1e4: the coordinates and support vectors "
        "that are active there, all margins equal."
    )
    theorems: ClassVar[tuple[str, ...]] = ("yun2021.theorem1", *SETS)

    scale: float = 0.3
    seeds: tuple[int, ...] = (0, 2)
    margin: float = 1e8
    predicted_at: float = 1e4
    points: int = 60
    rtol: float = 1e-9

    def quick(self) -> "ClassificationDeep":
        """One start, and fewer points."""
        return replace(self, seeds=(0,), points=30)

    def run(self) -> xr.Dataset:
        """Follow all of them; predict the end on the way."""
        margins, task = np.geomspace(10.0, self.margin, self.points), separable()
        problems = [
            Problem(network, Init.random(network, task, scale=self.scale, seed=seed), task)
            for network in NETWORKS.values()
            for seed in self.seeds
        ]
        with ThreadPoolExecutor(max_workers=2) as pool:
            runs = list(pool.map(self._flow, problems))
        shape = (len(NETWORKS), len(self.seeds))
        residuals, spreads, directed, points, tested = [], [], [], [], []
        for problem, run in zip(problems, runs, strict=True):
            residuals.append(self._residuals(problem, run, margins))
            directions = along_margins(run, margins)
            directed.append(directions)
            early = along_margins(run, np.array([self.predicted_at]))[0]
            points.append(vertex(problem, early, self.predicted_at**-0.5))
            spreads.append(self._spreads(problem, run, margins, points[-1]))
            found = stationarity(problem, directions[-1], active=self.margin**-0.5)
            tested.append(found.worst)
        axes = ("network", "start")
        return xr.Dataset(
            {
                "residual": ((*axes, "margin"), np.reshape(residuals, (*shape, -1))),
                "spread": ((*axes, "margin"), np.reshape(spreads, (*shape, -1))),
                "direction": (
                    (*axes, "margin", "feature"),
                    np.reshape(directed, (*shape, len(margins), -1)),
                ),
                "stationarity": (axes, np.reshape(tested, shape)),
                "predicted_direction": ((*axes, "feature"), np.reshape(points, (*shape, -1))),
                "predicted_residual_exponent": ((), 1 / DEPTH),
                "predicted_spread_exponent": ((), 1.0),
            },
            coords={
                "network": list(NETWORKS),
                "start": np.array(self.seeds, dtype=np.int32),
                "margin": margins,
            },
        )

    def _flow(self, problem: Problem) -> Trajectory:
        return flow(problem, margin=self.margin, space=coordinates(problem, self.rtol))

    def _residuals(self, problem: Problem, run: Trajectory, margins: Float) -> Float:
        layers, near = run.layers, _nearest(run, margins)
        assert layers is not None, "flows of classifications record their layers"
        kept = [layer[near] for layer in layers]
        found = singular_vector_residual(problem.network, problem.classification, kept)
        return _interpolated(run, near, margins, found)

    def _spreads(self, problem: Problem, run: Trajectory, margins: Float, point: Float) -> Float:
        near = _nearest(run, margins)
        assert run.margins is not None, "flows of classifications record their margins"
        found = [spread(problem, run.coefs[i], run.margins[i], point) for i in near]
        return _interpolated(run, near, margins, np.array(found))

    def checks(self, data: xr.Dataset) -> list[Check]:
        """Where it ends, that it is stationary, and how fast the layers get there."""
        margins = data["margin"].values
        apart = np.linalg.norm(
            data["direction"].values[:, :, -1] - data["predicted_direction"].values, axis=-1
        )
        found = []
        for n, name in enumerate(NETWORKS):
            # Support vectors' margins differ by O(1), and inactive coordinates are bounded.
            tolerance = 100 / self.margin
            found.append(Check(f"{name}: to the vertex", float(apart[n].max()), 0.0, tolerance))
            # What limitpoint.analysis.stationarity allows.
            worst = float(data["stationarity"].values[n].max())
            found.append(Check(f"{name}: stationarity of the end", worst, 0.0, 1e-4))
            for key, words, last in (
                ("residual", "singular vectors (8)", self.margin),
                ("spread", "condition (b)", RESOLVED),
            ):
                sizes = data[key].values[n]
                slopes = np.array([exponent(margins, one, FROM, last) for one in sizes])
                due = float(data[f"predicted_{key}_exponent"])
                worst = float(slopes[np.argmax(np.abs(slopes - due))])
                # Layers grow as margin^⅓: the next terms are by that much smaller.
                found.append(
                    Check(f"{name}: exponent of {words}", worst, due, FROM ** (-1 / DEPTH))
                )
        return [*found, *self._typical(data)]

    def _typical(self, data: xr.Dataset) -> list[Check]:
        """Exponents with the next term, a part margin^−⅓, fitted along: the median of all runs.

        What follows is smaller by as much again, times a constant that is of order 1 for most.
        """
        margins, found = data["margin"].values, []
        for key, last in (("residual", self.margin), ("spread", RESOLVED)):
            fit = (FROM_NEXT, last, 1 / DEPTH)
            runs = data[key].values.reshape(-1, len(margins))
            slope = float(np.median([exponent(margins, one, *fit) for one in runs]))
            due = float(data[f"predicted_{key}_exponent"])
            allowed = exponent_error(margins, 2 / DEPTH, *fit)
            found.append(Check(f"exponent of the {key}, median of all runs", slope, due, allowed))
        return found

    def plot(self, data: xr.Dataset) -> Figure:
        """Distances, residuals and spreads against the margin."""
        figure = new_figure((13, 4.6))
        margins = data["margin"].values
        off = data["direction"].values - data["predicted_direction"].values[:, :, None]
        panels = (
            ("distance from the predicted vertex", np.linalg.norm(off, axis=-1), 1.0),
            (
                "residual of the singular vectors, (8)",
                data["residual"].values,
                float(data["predicted_residual_exponent"]),
            ),
            (
                "spread of condition (b)",
                data["spread"].values,
                float(data["predicted_spread_exponent"]),
            ),
        )
        for axes, (words, sizes, due) in zip(figure.subplots(1, 3), panels, strict=True):
            seen = margins <= (RESOLVED if words.startswith("spread") else np.inf)
            for n in range(len(NETWORKS)):
                for line, style in zip(sizes[n], ("-", "-."), strict=False):
                    axes.plot(margins[seen], line[seen], style, color=COLOURS[n], linewidth=1.6)
            largest = float(sizes[..., seen][..., -1].max())
            guide = 4 * largest * (margins[seen] / margins[seen][-1]) ** -due
            axes.plot(margins[seen], guide, "k--", linewidth=1.2)
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set(xlabel="smallest margin", title=words)
        lines = [figure.axes[0].lines[n * len(data["start"])] for n in range(len(NETWORKS))]
        handles = [*lines, figure.axes[0].lines[-1]]
        labels = [*NETWORKS, "predicted slope"]
        if len(data["start"]) > 1:
            handles.append(Line2D([], [], color="black", linestyle="-."))
            labels.append("from another start")
        figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
        return figure


def _nearest(run: Trajectory, margins: Float) -> NDArray[np.int64]:
    """The records at which these margins are reached, each once."""
    after = np.searchsorted(smallest_margins(run), margins).clip(0, len(run.times) - 1)
    return np.unique(after).astype(np.int64)


def _interpolated(run: Trajectory, near: NDArray[np.int64], margins: Float, sizes: Float) -> Float:
    """Sizes at records, at these margins instead; both in logarithms."""
    known = np.log(smallest_margins(run)[near])
    found: Float = np.exp(np.interp(np.log(margins), known, np.log(sizes)))
    return found


def groups_of(problem: Problem) -> list[Float]:
    """Matrices T_g with `‖T_g β‖ = |ρ_g|`: coordinates, or frequencies (real and imaginary)."""
    network, size = problem.network, problem.task.n_features
    if isinstance(network, OrthogonalTensor):
        return [row[None] for row in np.linalg.inv(network.S).T]
    if isinstance(network, Convolutional):
        transform = np.fft.rfft(np.eye(size), axis=0, norm="ortho")
        return [np.stack([row.real, row.imag]) for row in transform]
    return [row[None] for row in np.eye(size)]


def vertex(problem: Problem, direction: Float, near: float) -> Float:
    """The direction in which the active coordinates give all support vectors the same margin.

    Active are coordinates above, and support vectors within, this part of the largest.
    """
    signed = problem.classification.signed
    groups = groups_of(problem)
    sizes = np.array([np.linalg.norm(group @ direction) for group in groups])
    idle = [group for group, size in zip(groups, sizes, strict=True) if size < near * sizes.max()]
    basis = null_space(np.concatenate(idle), rcond=1e-9) if idle else np.eye(len(direction))
    margins = signed @ direction
    support = signed[margins <= (1 + near) * margins.min()]
    if support.shape[0] != basis.shape[1]:
        raise RuntimeError(
            f"no vertex: {support.shape[0]} support vectors, {basis.shape[1]} active coordinates"
        )
    coef = basis @ np.linalg.solve(support @ basis, np.ones(len(support)))
    found: Float = coef / np.linalg.norm(coef)
    return found


def spread(problem: Problem, coef: Float, margins: Float, point: Float) -> float:
    """How far `Re(u_j ρ̄_j)/|ρ_j|^{2/L}` differs among the active coordinates, relative.

    u is the negative gradient in the network's space, `[S Xᵀ(y⊙weights)]_j`, which in the basis of
    T_g is `T_g^{−T}` of the negative gradient in β; condition (b) has it in proportion to
    `|ρ_j|^{2/L−1}`.
    """
    task: Classification = problem.classification
    neg_grad = task.signed.T @ task.weights(margins)
    groups = groups_of(problem)
    sizes = np.array([np.linalg.norm(group @ point) for group in groups])
    inverse = np.linalg.pinv(np.concatenate(groups))
    rows = np.cumsum([0, *(len(group) for group in groups)])
    shares = []
    for g, group in enumerate(groups):
        if sizes[g] > 1e-6 * sizes.max():
            part = group @ coef
            dual = neg_grad @ inverse[:, rows[g] : rows[g + 1]]
            size = float(np.linalg.norm(part))
            # Frequencies but 0 stand for two equal ones, as the negative gradient's inverse
            # transform has it.
            count = 2.0 if isinstance(problem.network, Convolutional) and g > 0 else 1.0
            shares.append(float(dual @ part) / size**POWER / count)
    return float(np.ptp(shares) / np.mean(shares))
