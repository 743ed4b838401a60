"""Theorem 5 and its corollaries, from the printed starts and from generic ones."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from scipy.optimize import root

from limitpoint.dynamics import ParameterSpace, flow
from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.networks import (
    Convolutional,
    Diagonal,
    MatrixProduct,
    Network,
    OrthogonalTensor,
)
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.measured import Check
from limitpoint.papers.shared.linear_program import minimum_l1
from limitpoint.papers.yun2021.named import limit_by
from limitpoint.plot.style import COLOURS, new_figure
from limitpoint.problem import Problem
from limitpoint.tasks import MatrixSensing, Regression, Task
from limitpoint.theory import predict

__all__ = ["GenericDirections", "printed_products"]

DEPTH = 3
# Theorems for the printed starts; for generic ones the diagonal network has a theorem of its own.
PRINTED = {
    "tensor": "yun2021.theorem5",
    "diagonal": "yun2021.corollary5",
    "convolutional": "yun2021.corollary6",
    "matrix product": "yun2021.corollary7",
}
GENERIC = dict.fromkeys(PRINTED, "limitpoint.diagonalisable") | {
    "diagonal": "labarriere2024.theorem1"
}
NAMES = tuple(PRINTED)
STARTS = ("printed", "generic")
# What is computed by other means for the tensor network.
FORMULAS = {
    "printed": "Theorem 5 as printed",
    "weighted_l1": "α → 0 is weighted ℓ1",
    "weighted_l2": "α → ∞ is weighted ℓ2",
}
# A matrix product of 4×4 matrices has the most coefficients.
MOST = 16
# A number that is computed in two ways.
IDENTITY = 1e-12

# Layers at the printed and at a generic start.
Starts = tuple[Iterable[Float], Iterable[Float]]


@register
@dataclass(frozen=True)
class GenericDirections(Experiment):
    """Four networks of three layers that reduce to diagonal ones."""

    paper: ClassVar[str] = "yun2021"
    figure: ClassVar[str] = "generic_directions"
    title: ClassVar[str] = "Diagonalisable networks, from any direction"
    setup: ClassVar[str] = (
        "A worked example of Theorem 5 and Corollaries 5 to 7 with three layers: an orthogonally "
        "decomposable tensor (S 5×5 and U_l 7×5 random), a diagonal network of 6 features, a "
        "convolution of length 6 on even data, a product of 4×4 matrices with commuting sensors. "
        "First from the printed start, equal layers and a last one of zero, then (beyond the "
        "paper) from random layers that the diagonal form allows. The layers themselves are "
        "integrated; the prediction knows nothing of that."
    )
    theorems: ClassVar[tuple[str, ...]] = (*PRINTED.values(), "limitpoint.diagonalisable")

    alpha: float = 0.5
    seed: int = 3
    records: int = 200

    def quick(self) -> "GenericDirections":
        """Fewer records: what takes time is compiled once."""
        return replace(self, records=50)

    def run(self) -> xr.Dataset:
        """Integrate and predict all eight."""
        rng = np.random.default_rng(self.seed)
        parts = np.linspace(0.0, 1.0, self.records)
        shape = (len(NAMES), len(STARTS))
        lines, ends = np.zeros((*shape, self.records, MOST)), np.zeros(shape)
        reached, limits = np.zeros((*shape, MOST)), np.zeros((*shape, MOST))
        for n, (name, pair) in enumerate(_problems(rng, self.alpha).items()):
            for k, problem in enumerate(pair):
                run = flow(problem, space=ParameterSpace())
                found = limit_by((PRINTED, GENERIC)[k][name], problem)
                size = run.coef.size
                # The approach is exponential: show the time in which 99.9 % of it happens.
                gap = np.linalg.norm(run.coefs - run.coef, axis=1)
                last = int(np.flatnonzero(gap > 1e-3 * gap[0])[-1]) + 1
                ends[n, k] = run.times[last]
                moments = parts * run.times[last]
                columns = [np.interp(moments, run.times, line) for line in run.coefs.T]
                lines[n, k, :, :size] = np.stack(columns, axis=1)
                reached[n, k, :size], limits[n, k, :size] = run.coef, found.coef
        tensor = _problems(np.random.default_rng(self.seed), self.alpha)["tensor"][0]
        return xr.Dataset(
            {
                "coef": (("network", "start", "part", "coefficient"), lines),
                "duration": (("network", "start"), ends),
                "end": (("network", "start", "coefficient"), reached),
                "predicted_limit": (("network", "start", "coefficient"), limits),
                **_interpolation(tensor),
                **_loss_and_bound(tensor),
            },
            coords={"network": list(NAMES), "start": list(STARTS), "part": parts},
        )

    def checks(self, data: xr.Dataset) -> list[Check]:
        """Ends, the printed formula, both ends of Remark 4, and the bound on the loss."""
        off = np.abs(data["end"].values - data["predicted_limit"].values).max(axis=-1)
        found = [
            # The flow stops at a relative residual of 1e-10, integrated to 1e-10 per step.
            Check(f"{name}, {start} start: flow to the limit", float(off[n, k]), 0.0, 1e-7)
            for n, name in enumerate(NAMES)
            for k, start in enumerate(STARTS)
        ]
        for key, name in FORMULAS.items():
            apart = np.abs(data[key].values - data[f"predicted_{key}"].values).max()
            # Two solvers, each to its own certificate.
            found.append(Check(f"tensor: {name}", float(apart), 0.0, 1e-9))
        ratio = data["loss"].values / data["predicted_bound"].values
        found.append(Check("tensor: loss over bound (62) at the start", ratio[0], 1.0, IDENTITY))
        over = float(ratio[1:].max())
        found.append(Check("tensor: loss over bound (62), between 0 and 1", over, 0.5, 0.5))
        return found

    def plot(self, data: xr.Dataset) -> Figure:
        """Coefficients against time, with the predicted limits dotted."""
        figure = new_figure((14, 6.4))
        panels = figure.subplots(len(STARTS), len(NAMES), sharey=False)
        for (k, n), axes in np.ndenumerate(panels):
            times = data["part"].values * data["duration"].values[n, k]
            lines, limits = data["coef"].values[n, k], data["predicted_limit"].values[n, k]
            shown = np.flatnonzero(np.abs(lines).max(axis=0) > 0)
            for rank, i in enumerate(shown):
                colour = COLOURS[rank % len(COLOURS)]
                axes.plot(times, lines[:, i], color=colour, linewidth=1.8)
                axes.axhline(limits[i], color=colour, linestyle=":", linewidth=1.4)
            axes.set_title(f"{NAMES[n]}, {STARTS[k]} start")
            if k == 1:
                axes.set_xlabel("time")
        for axes in panels[:, 0]:
            axes.set_ylabel("coefficients")
        line, dots = figure.axes[0].lines[:2]
        handles = [line, dots]
        labels = ["gradient flow of the layers", "predicted limit"]
        figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
        return figure


def _problems(rng: np.random.Generator, alpha: float) -> dict[str, tuple[Problem, Problem]]:
    """Each network from its printed and from a generic start."""
    found = {}
    S = rng.standard_normal((5, 5))
    U = [np.linalg.qr(rng.standard_normal((7, 5)))[0] for _ in range(DEPTH)]
    eta = _signed(rng, 5)
    zero = np.zeros(7)
    task = Regression(rng.standard_normal((3, 5)), rng.standard_normal(3))
    starts = [*(matrix @ eta for matrix in U[:-1]), zero], rng.standard_normal((DEPTH, 7))
    network = OrthogonalTensor(S, U)
    found["tensor"] = _pair(network, task, starts, alpha)

    w = _signed(rng, 6)
    task = Regression(rng.standard_normal((3, 6)), rng.standard_normal(3))
    starts = [w, w, np.zeros(6)], rng.standard_normal((DEPTH, 6))
    found["diagonal"] = _pair(Diagonal(depth=DEPTH), task, starts, alpha)

    task = Regression(_even(rng.standard_normal((2, 6))), rng.standard_normal(2))
    w = np.fft.irfft(_signed(rng, 4), n=6, norm="ortho")
    starts = [w, w, np.zeros(6)], _even(rng.standard_normal((DEPTH, 6)))
    found["convolutional"] = _pair(Convolutional((6,) * DEPTH), task, starts, alpha)

    basis = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    sensors = _matrices(basis, rng.standard_normal((2, 4)))
    sensing = MatrixSensing(sensors, rng.standard_normal(2))
    one = np.eye(4)
    layers = [one, one, np.zeros((4, 4))], _matrices(basis, rng.standard_normal((DEPTH, 4)))
    found["matrix product"] = _pair(MatrixProduct(depth=DEPTH), sensing, layers, alpha)
    return found


def _pair(network: Network, task: Task, starts: Starts, alpha: float) -> tuple[Problem, Problem]:
    first, second = (Problem(network, Init(tuple(one), alpha), task) for one in starts)
    return first, second


def _signed(rng: np.random.Generator, size: int) -> Float:
    """Numbers of either sign with moduli between ½ and 1½."""
    drawn: Float = rng.uniform(0.5, 1.5, size) * rng.choice([-1.0, 1.0], size)
    return drawn


def _even(vectors: Float) -> Float:
    """The even part of each row."""
    part: Float = 0.5 * (vectors + np.roll(vectors[..., ::-1], 1, axis=-1))
    return part


def _matrices(basis: Float, values: Float) -> Float:
    """Symmetric matrices with these eigenvalues."""
    found: Float = (basis * values[:, None, :]) @ basis.T
    return found


def printed_products(data: Float, y: Float, eta: Float, alpha: float) -> Float:
    """The solution ρ of the problem in Theorem 5 with three layers, from its KKT conditions (66).

    `ρ = α³|η̄|³ h₃(α|η̄| ⊙ SXᵀν)`, `h₃(t) = tan t · sec² t`, with ν such that the data `XSᵀρ = y`.
    """
    size = alpha * np.abs(eta)

    def products(nu: Float) -> Float:
        tangent = np.tan(size * (data.T @ nu))
        return np.asarray(size**3 * tangent * (1 + tangent**2))

    # From no data on, so that no mirror coordinate passes a pole of h₃ at ±π/2.
    nu = np.zeros(len(y))
    for share in np.linspace(0.05, 1.0, 20):
        nu = root(lambda z, part=share: data @ products(z) - part * y, nu, tol=1e-14).x
    return products(nu)


def _interpolation(problem: Problem) -> dict[str, tuple[str, Float]]:
    """The printed formula and its two limits (Remark 4), beside what is predicted."""
    task, network, init = problem.regression, problem.network, problem.init
    assert isinstance(network, OrthogonalTensor)
    data, eta = task.X @ network.S.T, network.U[0].T @ init.direction[0]
    printed = printed_products(data, task.y, eta, init.scale)
    l1 = minimum_l1(data, task.y, np.abs(eta) ** (2 - DEPTH))
    spread = eta ** (2 * DEPTH - 2)  # min Σ ρ²/spread
    l2 = spread * (data.T @ np.linalg.solve((data * spread) @ data.T, task.y))
    limits = {
        "printed": predict(problem),
        "weighted_l1": predict(Problem(network, init.at_scale(0.0), task)),
        "weighted_l2": predict(Problem(network, init.at_scale(np.inf), task)),
    }
    found = {}
    for name, products in (("printed", printed), ("weighted_l1", l1), ("weighted_l2", l2)):
        found[name] = ("feature", network.S.T @ products)
        found[f"predicted_{name}"] = ("feature", limits[name].coef)
    return found


def _loss_and_bound(problem: Problem) -> dict[str, tuple[str, Float]]:
    """The loss along the flow and `L(0) exp(−2α^{2L−2}λ^{L−1}s_min(S)²s_min(X)²t)`, (62)."""
    task, network, init = problem.regression, problem.network, problem.init
    assert isinstance(network, OrthogonalTensor)
    lowest = float(np.min((network.U[0].T @ init.direction[0]) ** 2))
    rate = 2 * init.scale ** (2 * DEPTH - 2) * lowest ** (DEPTH - 1)
    for matrix in (network.S, task.X):
        rate *= float(np.linalg.svd(matrix, compute_uv=False)[-1]) ** 2
    start = float(task.loss(network.coef(init.layers)))
    run = flow(problem, times=np.linspace(0.0, 30.0, 100), space=ParameterSpace())
    return {
        "loss": ("moment", run.losses),
        "predicted_bound": ("moment", start * np.exp(-rate * run.times)),
    }
