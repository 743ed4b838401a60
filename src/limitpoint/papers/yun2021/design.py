"""Remark 3: a network made for a transform of the solution, and what S = T makes instead."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from scipy.fft import dct
from scipy.optimize import linprog

from limitpoint.dynamics import flow
from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.networks import OrthogonalTensor, design
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.measured import Check
from limitpoint.papers.shared.coordinates import coordinates
from limitpoint.papers.shared.linear_program import minimum_l1
from limitpoint.papers.yun2021.classification_directions import separable
from limitpoint.papers.yun2021.exponents import along_margins, exponent, exponent_error
from limitpoint.papers.yun2021.named import limit_by
from limitpoint.plot.style import COLOURS, new_figure
from limitpoint.problem import Problem
from limitpoint.tasks import Classification, Regression

__all__ = ["Design", "differences"]

DEPTH = 3
# What the scale leaves of coefficients that vanish at scale 0 is of the order of its square or
# less.
LEFT = 1.0
# The exponent of the classification is measured from this margin on, at so many.
FROM, POINTS = 1e7, 30


@register
@dataclass(frozen=True)
class Design(Experiment):
    """Steps found from few values, by a network that is sparse under differences; and waves."""

    paper: ClassVar[str] = "yun2021"
    figure: ClassVar[str] = "design"
    title: ClassVar[str] = "A network designed for a transform, and the printed rule S = T"
    setup: ClassVar[str] = (
        "A worked example of Remark 3 with Theorems 2 and 5, from random Gaussian measurements. A "
        "signal with steps, T takes differences (not orthogonal); a sum of two cosines, T the "
        "cosine transform (orthogonal). Networks of three layers with U_l = I, from ones and "
        "a last layer of zeros times 1e-3. By Theorem 5 the bias is towards small ‖S^{−T}β‖₁: "
        "S = T^{−T} makes Tβ sparse; S = T, printed for a transform of the inputs, does so only if "
        "T is orthogonal. Then the "
        "classification of `classification_directions` by two layers made for differences, where "
        "Theorem 2 has the same rule."
    )
    theorems: ClassVar[tuple[str, ...]] = ("yun2021.theorem5", "yun2021.theorem2")

    length: int = 40
    seen: int = 16
    scale: float = 1e-3
    margin: float = 1e8
    seed: int = 0

    def quick(self) -> "Design":
        """Shorter signals, and a larger scale, from which they are found sooner."""
        return replace(self, length=20, seen=12, scale=1e-2)

    def run(self) -> xr.Dataset:
        """Fit by the designed and by the printed network; classify by the designed one."""
        rng = np.random.default_rng(self.seed)
        n = self.length
        X = rng.standard_normal((self.seen, n))
        steps = np.repeat([0.5, -1.0, 1.0, 0.0], [n // 4, n // 4, n // 4, n - 3 * (n // 4)])
        cosines = dct(np.eye(n), norm="ortho", axis=0)
        signals = {"steps": (steps, differences(n)), "waves": (cosines[3] - cosines[8], cosines)}
        rows: dict[str, list[Float]] = {}
        for signal, T in signals.values():
            task = Regression(X, X @ signal)
            inverse = np.linalg.inv(T)
            for name, network in (("designed", design(T, DEPTH)), ("printed", _printed(T))):
                start = Init([np.ones(n)] * (DEPTH - 1) + [np.zeros(n)], self.scale)
                problem = Problem(network, start, task)
                found = flow(problem).coef if name == "designed" else None
                limit = limit_by("yun2021.theorem5", problem)
                if found is not None:
                    rows.setdefault("coef", []).append(found)
                rows.setdefault(f"predicted_{name}", []).append(limit.coef)
            rows.setdefault("signal", []).append(signal)
            least = inverse @ minimum_l1(task.X @ inverse, task.y)
            rows.setdefault("sparse", []).append(least)
            rows.setdefault("sparse_printed", []).append(T.T @ minimum_l1(X @ T.T, task.y))
            rows.setdefault("transform", []).append(T)
        axes = {"transform": ("case", "coordinate", "feature")}
        return xr.Dataset(
            {
                **{k: (axes.get(k, ("case", "feature")), np.stack(v)) for k, v in rows.items()},
                **self._classify(),
            },
            coords={"case": list(signals)},
        )

    def _classify(self) -> dict[str, tuple[tuple[str, ...], Float]]:
        """The direction of two layers beside the solution of the margin problem by a program."""
        task = separable()
        n = task.n_features
        T = differences(n)
        network = design(T, depth=2)
        problem = Problem(network, Init([np.ones(n), np.zeros(n)], 0.1), task)
        limit = limit_by("yun2021.theorem2", problem)
        run = flow(problem, margin=self.margin, space=coordinates(problem, 1e-9))
        margins = np.geomspace(FROM, self.margin, POINTS)
        return {
            "turned": (("direction",), run.directions[-1]),
            "margin": (("along",), margins),
            "turning": (("along", "direction"), along_margins(run, margins)),
            "predicted_turned": (("direction",), limit.direction),
            "norm": ((), np.asarray(_least_norm(task, T))),
            "predicted_norm": ((), np.asarray(limit.potential)),
            "predicted_exponent": ((), np.asarray(limit.rate or 0.0)),
        }

    def checks(self, data: xr.Dataset) -> list[Check]:
        """What is found, what is sparsest, and what the printed rule gives."""
        found, small = [], LEFT * self.scale**2
        for c, case in enumerate(data["case"].values):
            coef, designed = data["coef"].values[c], data["predicted_designed"].values[c]
            sparse, T = data["sparse"].values[c], data["transform"].values[c]
            printed = data["predicted_printed"].values[c]
            # The flow stops at a relative residual of 1e-10.
            off = float(np.abs(coef - designed).max())
            found.append(Check(f"{case}: flow to the limit", off, 0.0, 1e-7))
            off = float(np.abs(coef - sparse).max())
            found.append(Check(f"{case}: flow to the sparsest Tβ", off, 0.0, small))
            # By Theorem 5 the printed rule makes T^{−T}β sparse.
            dual = np.linalg.inv(T).T
            sparsest = float(np.abs(dual @ data["sparse_printed"].values[c]).sum())
            excess = float(np.abs(dual @ printed).sum()) / sparsest - 1.0
            found.append(Check(f"{case}: S = T, excess of ‖T^−Tβ‖₁", excess, 0.0, small))
            # There are enough measurements for the signal itself to be the sparsest.
            off = float(np.abs(coef - data["signal"].values[c]).max())
            found.append(Check(f"{case}: flow to the signal", off, 0.0, small))
            excess = float(np.abs(T @ coef).sum() / np.abs(T @ sparse).sum() - 1.0)
            found.append(Check(f"{case}: excess of ‖Tβ‖₁", excess, 0.0, small))
        distance = float(np.linalg.norm(data["turned"].values - data["predicted_turned"].values))
        allowed = self.margin ** -float(data["predicted_exponent"])
        found.append(Check("classification: direction", distance, 0.0, allowed))
        margins, due = data["margin"].values, float(data["predicted_exponent"])
        turning = data["turning"].values - data["predicted_turned"].values
        slope = exponent(margins, np.linalg.norm(turning, axis=1), FROM)
        # The next power is a part margin^−r of the leading one.
        allowed = exponent_error(margins, due, FROM)
        found.append(Check("classification: exponent", slope, due, allowed))
        norm, due = float(data["norm"]), float(data["predicted_norm"])
        # A linear program, to its own tolerance.
        found.append(Check("classification: least ‖Tβ‖₁", norm, due, 1e-7 * norm))
        return found

    def plot(self, data: xr.Dataset) -> Figure:
        """Signals, and what the networks make of measurements of them."""
        figure = new_figure((12, 4.6))
        places = np.arange(self.length)
        for c, axes in enumerate(figure.subplots(1, 2)):
            signal = data["signal"].values[c]
            axes.plot(
                places,
                data["predicted_printed"].values[c],
                color=COLOURS[1],
                linestyle="--",
                linewidth=1.4,
                drawstyle="steps-mid",
                label="printed rule, S = T",
            )
            axes.plot(
                places,
                data["predicted_designed"].values[c],
                color=COLOURS[0],
                linewidth=2,
                drawstyle="steps-mid",
                label="$S = T^{-T}$, predicted",
            )
            axes.plot(places, data["coef"].values[c], "k.", markersize=4, label="flow")
            axes.plot(
                places,
                signal,
                color="0.7",
                linewidth=5,
                zorder=0,
                drawstyle="steps-mid",
                label="signal",
            )
            axes.set(xlabel="place", title=("differences", "cosine transform")[c])
        figure.axes[0].set_ylabel("coefficients")
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
        return figure


def differences(size: int) -> Float:
    """The first value, and then differences from one value to the next."""
    return np.eye(size) - np.eye(size, k=-1)


def _printed(T: Float) -> OrthogonalTensor:
    """Remark 3 as printed."""
    return OrthogonalTensor(T, [np.eye(len(T))] * DEPTH)


def _least_norm(task: Classification, T: Float) -> float:
    """`min ‖Tβ‖₁` with all margins at least 1, by linear programming."""
    rows = task.signed @ np.linalg.inv(T)
    found = linprog(
        np.ones(2 * len(T)),
        A_ub=-np.hstack([rows, -rows]),
        b_ub=-np.ones(task.n_samples),
        bounds=(0, None),
    )
    return float(found.fun)
