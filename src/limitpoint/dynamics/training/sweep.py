"""The record of many training runs: optimisers × scales × seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from limitpoint.dynamics.fit import measure_of
from limitpoint.dynamics.training.divergence import has_diverged
from limitpoint.dynamics.training.ensemble import Ends
from limitpoint.dynamics.training.optimisers import Optimiser
from limitpoint.dynamics.training.probes import Probe
from limitpoint.dynamics.training.start_of_flow import EffectiveStart
from limitpoint.dynamics.training.train import RESIDUAL_TOLERANCE
from limitpoint.foundation.arrays import Float, read_only
from limitpoint.foundation.display import Page, counted, left_out, number, table
from limitpoint.foundation.extras import lazy_module
from limitpoint.foundation.labels import Labelled
from limitpoint.foundation.result import Result
from limitpoint.problem import Problem
from limitpoint.status import Status

if TYPE_CHECKING:
    import xarray as xr
else:
    xr = lazy_module("xarray", "to_xarray")

__all__ = ["Sweep"]

# A printed table shows at most this many scales.
ROWS_SHOWN = 12
# Names that the record itself uses.
RUNS = ("optimiser", "scale", "seed")
RESERVED = (
    *("loss", "coef", "outer", "status", "runs", "runs_diverged", "time", *RUNS),
    *("step", "feature", "neuron", "output", "log_shrinkage", "shift"),
)


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(Labelled, Result):
    """Loss and probes along many training runs, backed by an `xarray.Dataset`.

    Attributes
    ----------
    data
        The labelled record, with axes optimiser, scale, seed and step: `loss` and every probe along
        the steps; `coef`, the coefficients at the end; `outer`, the product of all layers but the
        first at the end, for rank-one and dense networks; `status`, how each run ended, by name;
        of networks of two layers with one number per coefficient and layer `log_shrinkage`, `shift`
        and `effective_layer_0`, …: the effective start at the end (`Trajectory.effective_init`);
        `runs`, over how many runs a mean is: those that did not diverge, one where all seeds are
        the same run; `runs_diverged`, how many did.
    probes
        The names of the probes.
    feature_names, target_names
        The names that the task has for its features and outputs, or None.
    """

    data: "xr.Dataset"
    probes: tuple[str, ...]

    @classmethod
    def build(
        cls,
        problem: Problem,
        optimisers: Sequence[Optimiser],
        probes: Sequence[Probe],
        scales: Float,
        seeds: NDArray[np.int64],
        steps: NDArray[np.int64],
        ends: Sequence[Ends],
    ) -> "Sweep":
        """Assemble the data set from what is kept of each optimiser's runs."""
        names = tuple(probe.name for probe in probes)
        labels = [optimiser.label for optimiser in optimisers]
        axes = {"optimiser": labels, "scale": scales, "seed": seeds, "step": steps}
        data = _dataset(problem, optimisers, names, axes, ends)
        # Without draws all seeds are one run.
        seeds_drawn = np.array([len(seeds) if rule.is_random else 1 for rule in optimisers])
        diverged = np.asarray(data["status"].values == Status.DIVERGED.name)
        for name, chosen in (("runs", ~diverged), ("runs_diverged", diverged)):
            counts = np.minimum(chosen.sum(axis=2), seeds_drawn[:, None])
            data[name] = (RUNS[:2], counts.astype(np.int64))
        times_per_step = np.array([optimiser.time_per_step for optimiser in optimisers])
        data = data.assign_coords(
            time=(("optimiser", "step"), np.multiply.outer(times_per_step, steps))
        )
        for variable in data.variables.values():
            read_only(variable.values)
        return cls(data, names)

    @property
    def optimisers(self) -> tuple[str, ...]:
        """The optimisers in words."""
        return tuple(str(label) for label in self.data["optimiser"].values)

    @property
    def scales(self) -> Float:
        """The scales of the initialisation."""
        return np.asarray(self.data["scale"].values)

    @property
    def seeds(self) -> NDArray[np.int64]:
        """The seeds of the runs, in the order given."""
        return np.asarray(self.data["seed"].values)

    @property
    def steps(self) -> NDArray[np.int64]:
        """The step numbers of the records."""
        return np.asarray(self.data["step"].values)

    @property
    def losses(self) -> Float:
        """Loss, optimisers × scales × seeds × steps."""
        return np.asarray(self.data["loss"].values)

    @property
    def coefs(self) -> Float:
        """Coefficients at the end, optimisers × scales × seeds × features."""
        return np.asarray(self.data["coef"].values)

    @property
    def outers(self) -> Float | None:
        """Outer products at the end, where the network has one: a number or a vector per run."""
        return np.asarray(self.data["outer"].values) if "outer" in self.data else None

    @property
    def diverged(self) -> NDArray[np.bool_]:
        """Which runs ended with a loss beyond all that is fitted, optimisers × scales × seeds."""
        return np.asarray(self.data["status"].values == Status.DIVERGED.name)

    @property
    def runs(self) -> NDArray[np.int64]:
        """Over how many runs a mean is, optimisers × scales: those that did not diverge."""
        return np.asarray(self.data["runs"].values)

    @property
    def runs_diverged(self) -> NDArray[np.int64]:
        """How many runs diverged, optimisers × scales."""
        return np.asarray(self.data["runs_diverged"].values)

    def to_xarray(self) -> "xr.Dataset":
        """A copy of the labelled record."""
        return self.data.assign_coords(self._coords(self.coefs.shape[3]))

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values, nested in the order of the axes."""
        names = (
            "loss",
            *self.probes,
            "coef",
            "status",
            "runs",
            "runs_diverged",
            *(["outer"] if "outer" in self.data else []),
        )
        return {
            **self._names(),
            "optimisers": list(self.optimisers),
            "scales": self.scales.tolist(),
            "seeds": self.seeds.tolist(),
            "steps": self.steps.tolist(),
            **{name: self.data[name].values.tolist() for name in names},
        }

    def _facts(self) -> tuple[str, ...]:
        counts = (len(self.optimisers), len(self.scales), len(self.seeds))
        words = ("optimiser", "scale", "seed")
        runs = " × ".join(counted(count, word) for count, word in zip(counts, words, strict=True))
        lost = int(self.diverged.sum())
        return runs, f"{self.steps[-1]} steps", *([f"{lost} diverged"] if lost else [])

    def _page(self) -> Page:
        shown = np.unique(np.linspace(0, len(self.scales) - 1, ROWS_SHOWN).astype(int))
        columns = ("scale", "loss", *self.probes, "runs", "ended")
        tables = [
            table(
                label,
                columns,
                [
                    (
                        number(float(self.scales[j])),
                        *(self._over_seeds(name, i, j) for name in columns[1:-2]),
                        self._counted(i, j),
                        self._endings(i, j),
                    )
                    for j in shown
                ],
                left_out((len(shown), len(self.scales), "scales"), where=".data or --json"),
            )
            for i, label in enumerate(self.optimisers)
        ]
        title = (
            f"{len(self.optimisers)} optimisers × {len(self.scales)} scales × {len(self.seeds)} "
            f"seeds, {self.steps[-1]} steps; at the end, mean ± standard error over the runs that "
            "did not diverge"
        )
        return Page(title, *tables)

    def _over_seeds(self, name: str, i: int, j: int) -> str:
        """Mean and standard error at the end, of the runs that did not diverge."""
        ends = self.data[name].values[i, j, :, -1][~self.diverged[i, j]]
        if not len(ends):
            return "–"
        mean = f"{ends.mean():.4g}"
        if len(ends) == 1 or (ends == ends[0]).all():
            return mean
        return f"{mean} ± {ends.std(ddof=1) / np.sqrt(len(ends)):.2g}"

    def _counted(self, i: int, j: int) -> str:
        """Over how many runs the means are, of how many."""
        runs, diverged = int(self.runs[i, j]), int(self.runs_diverged[i, j])
        return f"{runs} of {runs + diverged}" if diverged else str(runs)

    def _endings(self, i: int, j: int) -> str:
        names, counts = np.unique(self.data["status"].values[i, j], return_counts=True)
        words = [Status[str(name)].words for name in names]
        if len(words) == 1:
            return words[0]
        return ", ".join(f"{count} {word}" for word, count in zip(words, counts, strict=True))


def _dataset(
    problem: Problem,
    optimisers: Sequence[Optimiser],
    names: tuple[str, ...],
    axes: dict[str, Any],
    ends: Sequence[Ends],
) -> "xr.Dataset":
    """The record of all optimisers; what has no seeds is repeated along them."""

    def stacked(arrays: Sequence[Float]) -> Float:
        shape = (len(axes["scale"]), len(axes["seed"]))
        return np.stack([np.broadcast_to(a, (*shape, *a.shape[2:])) for a in arrays])

    records = stacked([end.records for end in ends])
    coefs = stacked([end.coefs for end in ends])
    outputs = stacked([end.outputs for end in ends])
    features = ("feature", "output")[: coefs.ndim - 3]
    data = xr.Dataset(
        {
            **{
                name: ((*RUNS, "step"), np.ascontiguousarray(records[..., i]))
                for i, name in enumerate(("loss", *names))
            },
            "coef": ((*RUNS, *features), coefs),
            "status": (
                RUNS,
                _statuses(problem, optimisers, axes["scale"], outputs, records[..., 0]),
            ),
        },
        coords={**axes, "feature": np.arange(coefs.shape[3])},
    )
    outers = [end.outers for end in ends if end.outers is not None]
    if outers:
        outer = stacked(outers)
        data["outer"] = ((*RUNS, "neuron")[: outer.ndim], outer)
    growths = [end.growth for end in ends if end.growth is not None]
    if len(growths) == len(ends):
        _add_effective_starts(data, problem, axes["scale"], stacked(growths))
    return data


def _add_effective_starts(
    data: "xr.Dataset", problem: Problem, scales: Float, growth: Float
) -> None:
    """From where gradient flow would get where each run is, and the sums that this takes."""
    along = (*RUNS, "feature")
    starts = [
        EffectiveStart.of(
            Problem(problem.network, problem.init.at_scale(float(scale)), problem.task),
            growth[:, j],
        )
        for j, scale in enumerate(scales)
    ]
    data["log_shrinkage"] = (along, np.stack([one.log_shrinkage for one in starts], 1))
    data["shift"] = (along, np.stack([one.shift for one in starts], 1))
    for i, layers in enumerate(zip(*(one.layers for one in starts), strict=True)):
        data[f"effective_layer_{i}"] = (along, np.stack(layers, 1))


def _statuses(
    problem: Problem,
    optimisers: Sequence[Optimiser],
    scales: Float,
    outputs: Float,
    losses: Float,
) -> NDArray[np.str_]:
    """How each run ended, by name."""
    # What can be reached does not depend on the scale.
    init = problem.init.at_scale(float(scales[0]))
    measure = measure_of(Problem(problem.network, init, problem.regression), init.layers)
    with np.errstate(over="ignore", invalid="ignore"):
        # The axis of samples is the fourth, after those of the runs.
        fits = np.moveaxis(np.tensordot(outputs, measure.basis, axes=(len(RUNS), 0)), -1, 3)
        gaps = (fits - measure.target).reshape(*losses.shape[:-1], -1)
        relative_residuals = np.linalg.norm(gaps, axis=-1)
    arrived = relative_residuals <= RESIDUAL_TOLERANCE * measure.unit
    names = np.where(arrived, measure.arrived.name, Status.REACHED_END.name)
    with np.errstate(divide="ignore"):
        logs = np.log(losses)
    diverged = [
        has_diverged(problem, rule, log[..., 0], log[..., -1])
        for rule, log in zip(optimisers, logs, strict=True)
    ]
    return np.where(diverged, Status.DIVERGED.name, names)
