"""Watch a module train: how far it is from where the theory says that it ends."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from limitpoint.dynamics import Optimiser, Trajectory, drift, flow
from limitpoint.errors import LimitpointError, NoTheoremApplies
from limitpoint.foundation.arrays import Float, as_whole_number
from limitpoint.problem import Problem
from limitpoint.status import Status
from limitpoint.theory import Limit, predict
from limitpoint.torch.loading import Link
from limitpoint.verify import Verdict, compare

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Watch"]

# A record is made whenever the number of steps has grown by this factor since the last one.
RATIO = 1.1
# So many are kept; when there are more, every other one goes, and from then on they are as rare.
MOST_RECORDS = 256


class Watch:
    """A few lines in a loop of the user's own, which compare what is trained with its limit.

    Make it before training, and call `step` after every step of the optimiser:

    .. code-block:: python

        problem = lp.torch.problem(module, X, y, loss_factor=2 / len(y))
        watch = lp.torch.Watch(problem, module)
        for _ in range(20_000):
            optimiser.zero_grad()
            loss_function(module(X), y).backward()
            optimiser.step()
            watch.step()
        print(watch.verdict(lp.GD(learning_rate=1e-2)))
        watch.plot()

    Parameters
    ----------
    problem
        From `limitpoint.torch.problem`.
    module
        The module that is trained.
    every
        Record so often; by default at numbers of steps that grow by a tenth.

    Attributes
    ----------
    limit
        What the theory predicts; where no theorem applies, the gradient flow that ends there.
    n_steps
        The number of steps so far.
    """

    def __init__(self, problem: Problem, module: Any, *, every: int | None = None) -> None:
        if every is not None:
            every = as_whole_number(every, 1, "every", LimitpointError)
        self.problem = problem
        self._link = Link.of(problem, module)
        try:
            self.limit: Limit | Trajectory = predict(problem)
        except NoTheoremApplies:
            self.limit = flow(problem)
        self.n_steps = 0
        self._every, self._ratio = every, RATIO
        self._steps: list[int] = []
        self._layers: list[tuple[Float, ...]] = []
        self._next = 0
        self._record()

    def __repr__(self) -> str:
        return f"Watch({self.n_steps} steps, {len(self._steps)} records of {self.problem.network})"

    def step(self) -> None:
        """Count a step of the optimiser, and record where it has come to from time to time."""
        self.n_steps += 1
        if self.n_steps >= self._next:
            self._record()

    def _record(self) -> None:
        self._steps.append(self.n_steps)
        self._layers.append(self._link.layers)
        if len(self._steps) > MOST_RECORDS:
            del self._steps[1::2], self._layers[1::2]
            self._every, self._ratio = self._every and 2 * self._every, self._ratio**2
        grown = math.ceil(self._ratio * self.n_steps)
        self._next = self.n_steps + self._every if self._every else max(grown, self.n_steps + 1)

    @property
    def run(self) -> Trajectory:
        """What was recorded, and where the module is now, in layers of the problem's network."""
        now = self._steps[-1] == self.n_steps
        steps = np.array(self._steps if now else [*self._steps, self.n_steps])
        records = self._layers if now else [*self._layers, self._link.layers]
        coefs = np.stack([np.asarray(self.problem.network.coef(layers)) for layers in records])
        task = self.problem.regression
        with np.errstate(over="ignore", invalid="ignore"):
            losses = np.array([float(task.loss(coef)) for coef in coefs])
        return Trajectory.build(
            kind="training of a PyTorch module",
            status=Status.REACHED_END if np.isfinite(losses[-1]) else Status.DIVERGED,
            times=steps.astype(float),
            coefs=coefs,
            losses=losses,
            relative_residual=np.nan,
            layers=tuple(np.stack(each) for each in zip(*records, strict=True)),
            steps=steps,
        )

    @property
    def distances(self) -> Float:
        """Of every record of `run` from the limit, relative to its norm."""
        away = (self.run.coefs - self.limit.coef).reshape(len(self.run.times), -1)
        found: Float = np.linalg.norm(away, axis=1)
        return found / (float(np.linalg.norm(self.limit.coef)) or 1.0)

    @property
    def drifts(self) -> Float:
        """By how much the conserved quantities have moved at every record, the largest of them.

        Relative to the squared layers, like `Drift.relative` in `limitpoint.analysis`. Gradient
        flow conserves them: what moves them is the step, the draw of batches and rounding.
        """
        run, network = self.run, self.problem.network
        assert run.layers is not None, "recorded above"
        values = np.asarray(network.invariants(run.layers))
        moved = np.abs(values - values[:, :1]).swapaxes(0, 1).reshape(len(run.times), -1)
        size = drift(network, run).size
        largest: Float = moved.max(axis=1, initial=0.0)
        return largest / size if 0 < size < np.inf else largest

    def verdict(self, training: Optimiser | None = None) -> Verdict:
        """Compare where the module is now with the limit: `limitpoint.compare`.

        Parameters
        ----------
        training
            The optimiser, like `GD(learning_rate=1e-2)`, if it is one of ours.
        """
        return compare(self.problem, self._link.module, training, steps=self.n_steps)

    def plot(self) -> "Figure":
        """Distance from the limit, loss and drift of the conserved quantities against the step."""
        from limitpoint.plot.watched import plot_watched

        run = self.run
        return plot_watched(run.steps, self.distances, run.losses, self.drifts)
