"""Large learning rates help SGD to recover a sparse truth and hinder GD: by the law of the step.

Notation: `β = u² − w²`, η the learning rate, S the logarithm of what the steps leave of `u·w`,
which gradient flow conserves, for every coefficient (`log_shrinkage`).
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import limitpoint as lp
from limitpoint.foundation.arrays import Float
from limitpoint.papers.even2023 import drawing
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.measured import Check

__all__ = ["Recovery"]

EPS = float(np.finfo(np.float64).eps)
# A step rounds a layer three times: two products and a difference. Its sums take as many.
ROUNDINGS = 6.0
# The data count as fitted where no more than this part of the loss at zero is left, a hundredth of
# the size of y.
FITTED = 1e-4
# A first-order error ε of the step, relative, leaves one of second order when it is extrapolated
# away: ε² times a ratio of two coefficients of one expansion, which is of order 1.
SECOND_ORDER = 5.0
# A mean counts as smaller when it is so many standard errors below.
APART = 5.0


@register
@dataclass(frozen=True)
class Recovery(Experiment):
    """GD and SGD up to the edge of divergence, and where the law of the step puts each run."""

    paper: ClassVar[str] = "even2023"
    figure: ClassVar[str] = "recovery"
    title: ClassVar[str] = "Large learning rates help SGD to recover a sparse truth, and hinder GD"
    setup: ClassVar[str] = (
        "The comparison of the paper: sparse regression without noise, centred Gaussian data, a "
        "diagonal network of two layers from a small start, GD beside SGD, learning rates up to "
        "the edge of divergence. Chosen: 40 samples of 100 features, 5 of them informative with "
        "coefficients ±U(1/2, 2), β = u² − w² from u = w = 0.1, half the mean of squares, batches "
        "of 4 and of 1, η times the number of steps the same in all runs, five seeds. Beyond the "
        "paper: every run, also one that has not come to fit the data, beside the limit of "
        "gradient flow from its effective start."
    )
    theorems: ClassVar[tuple[str, ...]] = ("limitpoint.step_law",)

    samples: int = 40
    features: int = 100
    informative: int = 5
    scale: float = 0.1
    # A batch of all samples is GD.
    batch_sizes: tuple[int, ...] = (40, 4, 1)
    # The largest learning rate at which runs of each come to fit the data, to less than twice.
    largest: tuple[float, ...] = (0.5, 0.16, 0.05)
    # The learning rates, in parts of the largest.
    shares: tuple[float, ...] = tuple(2 ** (-k / 2) for k in range(8, -1, -1))
    time: float = 400.0
    seeds: int = 5
    data_seed: int = 0

    def quick(self) -> Self:
        """Fewer learning rates and seeds."""
        return replace(self, shares=(1 / 16, 1 / 8, 1.0), seeds=3)

    def problem(self) -> tuple[lp.Problem, Float]:
        """The problem, and the truth: its first coefficients are those that are not zero."""
        rng = np.random.default_rng(self.data_seed)
        X = rng.standard_normal((self.samples, self.features))
        truth, count = np.zeros(self.features), self.informative
        truth[:count] = rng.choice([-1.0, 1.0], count) * rng.uniform(0.5, 2.0, count)
        task = lp.Regression(X, X @ truth, loss_factor=1 / self.samples)
        network = lp.SignedPower(depth=2)
        return lp.Problem(network, lp.Init.unbiased(network, task, scale=self.scale), task), truth

    def run(self) -> xr.Dataset:
        """Train at every learning rate, and predict each run from its effective start."""
        problem, truth = self.problem()
        rules = dict(zip(self.batch_sizes, self.largest, strict=True))
        runs = [
            xr.concat([self._ends(problem, b, share * most) for share in self.shares], "share")
            for b, most in rules.items()
        ]
        beyond = [
            self._trained(problem, b, 2 * most)["loss_left"].values for b, most in rules.items()
        ]
        data = xr.concat(runs, "batch_size")
        data["loss_left_beyond"] = (("batch_size", "seed"), np.stack(beyond))
        data["truth"] = ("feature", truth)
        data["predicted_flow"] = ("feature", lp.predict(problem).coef)
        return data.assign_coords(
            batch_size=list(rules),
            share=list(self.shares),
            learning_rate=(
                ("batch_size", "share"),
                np.multiply.outer(self.largest, self.shares),
            ),
        )

    def _trained(self, problem: lp.Problem, batch_size: int, rate: float) -> xr.Dataset:
        """The ends of the runs of one rule."""
        steps, whole = round(self.time / rate), batch_size == self.samples
        rule = lp.GD(rate) if whole else lp.SGD(rate, batch_size)
        found = lp.train_many(problem, rule, steps, seeds=range(self.seeds), record=[steps])
        data = found.to_xarray().isel(optimiser=0, scale=0, step=-1, drop=True)
        at_zero = float(problem.task.loss(np.zeros(self.features)))
        return xr.Dataset(
            {
                **{str(name): data[name] for name in ("coef", "log_shrinkage", "shift")},
                **{f"layer_{i}": data[f"effective_layer_{i}"] for i in range(2)},
                "loss_left": data["loss"] / at_zero,
                "steps": ((), steps),
            }
        )

    def _ends(self, problem: lp.Problem, batch_size: int, rate: float) -> xr.Dataset:
        """With the limits from their effective starts, and how far rounding may take them apart."""
        data = self._trained(problem, batch_size, rate)
        network, X, factor = problem.network, problem.task.X, problem.task.loss_factor
        predicted, solved = np.empty_like(data["coef"].values), np.empty(self.seeds)
        for i, coef in enumerate(data["coef"].values):
            if i and batch_size == self.samples:  # GD draws nothing: all seeds are one run
                predicted[i], solved[i] = predicted[0], solved[0]
                continue
            start = lp.Init.from_layers([data[f"layer_{j}"].values[i] for j in range(2)])
            limit = lp.predict(lp.Problem(network, start, lp.Regression(X, X @ coef, factor)))
            errors = limit.certificate.coef_errors
            predicted[i] = limit.coef
            solved[i] = np.inf if errors is None else np.linalg.norm(errors)
        data["predicted_coef"] = (("seed", "feature"), predicted)
        data["rounding"] = ("seed", solved + self._rounding(data))
        return data.drop_vars(["layer_0", "layer_1"])

    def _rounding(self, data: xr.Dataset) -> Float:
        """How far rounding may take a run from where the law puts it, `‖β − predicted‖`.

        Every step and its sums leave u² and w² off by `2 δ` of themselves, `δ = ROUNDINGS · EPS`: K
        steps move β by `2 K δ (u² + w²)`. On the targets Xβ no more than that is left in the metric
        `1/(u² + w²)`, in which dropping what the targets fix makes no vector longer.
        """
        product = self.scale**2 * np.exp(data["log_shrinkage"].values)
        both = np.hypot(data["coef"].values, 2 * product)
        size = np.sqrt(both.max(axis=-1) * both.sum(axis=-1))
        found: Float = 2 * ROUNDINGS * EPS * int(data["steps"]) * size
        return found

    def checks(self, data: xr.Dataset) -> list[Check]:
        """The law at every learning rate; where GD and SGD go; what shrinks."""
        off = np.linalg.norm(data["coef"] - data["predicted_coef"], axis=-1)
        distances, norms = drawing.distances(data), np.abs(data["coef"].values).sum(axis=-1)
        quiet, noisy = distances[0, :, 0], distances[1:].mean(axis=-1)
        error = distances[1:].std(axis=-1, ddof=1) / np.sqrt(distances.shape[-1])
        left = data["loss_left"].values
        return [
            Check(
                "runs off the limit of gradient flow from their effective starts, in roundings",
                float((off / data["rounding"].values).max()),
                0,
                1,
            ),
            Check(
                "GD as its learning rate vanishes, off the limit of gradient flow, in second-order "
                "errors",
                _off_the_flow(data),
                0,
                1,
            ),
            Check("share of runs that do not come to fit", float((left > FITTED).mean()), 0, 0),
            Check(
                "rules of which runs come to fit at twice their largest learning rate",
                int((data["loss_left_beyond"].values <= FITTED).any(axis=-1).sum()),
                0,
                0,
            ),
            _never(
                "GD: learning rates at which it ends nearer to the truth than at the last", quiet
            ),
            _never("GD: learning rates at which its ℓ1 norm is below the last", norms[0, :, 0]),
            _never("SGD: learning rates at which it ends farther from the truth", -noisy),
            _never("SGD: learning rates at which its ℓ1 norm rises", -norms[1:].mean(axis=-1)),
            Check(
                "SGD: learning rates at which it does not end nearer to the truth than flow does",
                int((noisy + APART * error >= drawing.distance_of_flow(data)).sum()),
                0,
                0,
            ),
            Check(
                "GD: learning rates at which the scale does not shrink less evenly than by SGD",
                int((_unevenness(data)[0] <= _unevenness(data)[1:]).sum()),
                0,
                0,
            ),
        ]

    def plot(self, data: xr.Dataset) -> Figure:
        """Where runs end, what is left of the scale, and how sparse the ends are."""
        return drawing.draw(data)


def _never(name: str, rising: Float) -> Check:
    """What must rise with the learning rate."""
    return Check(name, int((np.diff(rising, axis=-1) <= 0).sum()), 0, 0)


def _off_the_flow(data: xr.Dataset) -> float:
    """GD at the two smallest learning rates, extrapolated to zero."""
    small, large = data["coef"].values[0, :2, 0]
    rates = data["learning_rate"].values[0]
    slope = (large - small) / (rates[1] - rates[0])
    flow = data["predicted_flow"].values
    first = rates[1] * np.linalg.norm(slope) / np.linalg.norm(flow)
    off = np.linalg.norm(small - rates[0] * slope - flow) / np.linalg.norm(flow)
    return float(off / (SECOND_ORDER * first**2))


def _unevenness(data: xr.Dataset) -> Float:
    """`S` on the support of the truth over that off it, means over coefficients and seeds."""
    on = data["truth"].values != 0
    found = data["log_shrinkage"].values
    parts = [found[..., where].mean(axis=(-2, -1)) for where in (on, ~on)]
    return np.asarray(parts[0] / parts[1])
