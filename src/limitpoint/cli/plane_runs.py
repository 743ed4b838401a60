"""Several networks in the plane from the same coefficients, as in Yun et al. (2021)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from limitpoint import examples
from limitpoint.cli.problem_reading import check_margin
from limitpoint.dynamics import Trajectory, flow
from limitpoint.errors import LimitpointError, NoTheoremApplies
from limitpoint.foundation.arrays import Float, as_whole_number
from limitpoint.foundation.display import Displayed, Page, number, table
from limitpoint.init import Init
from limitpoint.networks import Convolutional, Diagonal, FullyConnected, Network
from limitpoint.problem import Problem
from limitpoint.tasks import Classification, Task
from limitpoint.theory import Limit, predict

__all__ = ["Plane", "PlaneRun", "follow"]

# The networks, by the names of their layers in the examples.
NETWORKS: dict[str, Network] = {
    "dense": FullyConnected(widths=(2,)),
    "diagonal": Diagonal(depth=2),
    "convolutional": Convolutional(filter_sizes=(2, 2)),
}


@dataclass(frozen=True, eq=False)
class PlaneRun:
    """A network followed from one start, and what is predicted of it, if something is."""

    network: str
    run: Trajectory
    limit: Limit | None


@dataclass(frozen=True, eq=False)
class Plane(Displayed):
    """Several networks from the same starts."""

    task: Task
    scale: float
    runs: tuple[PlaneRun, ...]

    def figure(self) -> Any:
        """The plane picture."""
        from limitpoint.papers.plane_figure import plot_plane

        limits: dict[str, list[Limit]] = {name: [] for name in NETWORKS}
        for one in self.runs:
            if one.limit is not None:
                limits[one.network].append(one.limit)
        return plot_plane(
            {name: [one.run for one in self.runs if one.network == name] for name in NETWORKS},
            self.task,
            limits,
            title=f"two-layer networks from scale {self.scale:g}",
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values."""
        return {"scale": self.scale, "runs": [self._entry(one) for one in self.runs]}

    def _entry(self, one: PlaneRun) -> dict[str, Any]:
        end, wanted = self._compared(one)
        limit = {} if one.limit is None else {"theorem": one.limit.theorem.id}
        return {
            "network": one.network,
            "start": one.run.coefs[0].tolist(),
            "end": one.run.coef.tolist(),
            "status": one.run.status.name,
            "predicted": None if wanted is None else wanted.tolist(),
            "distance": None if wanted is None else _distance(end, wanted),
            **limit,
        }

    def _compared(self, one: PlaneRun) -> tuple[Float, Float | None]:
        """The end and its prediction: of a classification their directions."""
        if isinstance(self.task, Classification):
            end: Float = one.run.coef / (float(np.linalg.norm(one.run.coef)) or 1.0)
            return end, None if one.limit is None else one.limit.direction
        return one.run.coef, None if one.limit is None else one.limit.coef

    def _page(self) -> Page:
        rows = []
        for one in self.runs:
            end, wanted = self._compared(one)
            rows.append(
                (
                    one.network,
                    _pair(one.run.coefs[0]),
                    _pair(end),
                    "–" if wanted is None else _pair(wanted),
                    number(None if wanted is None else _distance(end, wanted)),
                )
            )
        turning = isinstance(self.task, Classification)
        columns = ("network", "start", "end, norm 1" if turning else "end", "predicted", "off by")
        ids = {one.limit.theorem.id: None for one in self.runs if one.limit is not None}
        missing = [
            name
            for name in NETWORKS
            if any(one.limit is None for one in self.runs if one.network == name)
        ]
        return Page(
            table(f"Two-layer networks from scale {self.scale:g}", columns, rows),
            *([f"Predicted by {', '.join(ids)}."] if ids else []),
            *([f"No theorem predicts the end of: {', '.join(missing)}."] if missing else []),
        )


def follow(
    task: Task, scale: float, starts: int = 4, seed: int = 0, margin: float | None = None
) -> Plane:
    """Follow the three networks from the same coefficients, `scale²` times directions.

    The directions are spread over the circle, one at random in each of as many equal parts.
    """
    if task.n_features != 2:
        raise LimitpointError(
            f"the plane needs data with two features; they have {task.n_features}"
        )
    starts = as_whole_number(starts, 1, "--starts", LimitpointError)
    seed = as_whole_number(seed, 0, "--seed", LimitpointError)
    turns = (np.arange(starts) + np.random.default_rng(seed).random(starts)) / starts
    directions = np.stack([np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)], axis=1)
    runs = []
    for name, network in NETWORKS.items():
        for direction in directions:
            init = Init(examples.yun_layers(direction)[name], scale)
            problem = Problem(network, init, task)
            check_margin(problem, margin)
            runs.append(PlaneRun(name, flow(problem, margin=margin), _limit(problem)))
    return Plane(task, scale, tuple(runs))


def _limit(problem: Problem) -> Limit | None:
    try:
        return predict(problem)
    except NoTheoremApplies:
        return None


def _pair(point: Float) -> str:
    return f"{point[0]:.3g}, {point[1]:.3g}"


def _distance(one: Float, other: Float) -> float:
    return float(np.linalg.norm(one - other))
