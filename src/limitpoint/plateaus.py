"""The plateaus of a flow at small scale against the saddles of its path: values, order, times.

At the middle of the p-th plateau, half-way between two predicted times, the coefficients must be
those of the p-th saddle (values), with its support (order), and the clocks must have run as far as
the path says (times). How exactly follows from the scale:

- a dormant coefficient is as large as the mirror map says at its clock;
- the awake ones approach the saddle at the slowest rate of their own flow;
- both happen late: a coefficient wakes when its clock reaches not the growth time but the clock of
  half its value, and the approach takes its time too. These lags add up along the path.
"""

from dataclasses import dataclass

import numpy as np

from limitpoint.arrays import Float
from limitpoint.dynamics import SampleSpace, flow
from limitpoint.mirror import MirrorMap
from limitpoint.problem import Problem
from limitpoint.sensitivity import ACCUMULATION, SAFETY
from limitpoint.theory import SaddlePath, saddles

__all__ = ["Plateau", "compare_plateaus"]

# The approach to a saddle counts as lag until it has come this close, relative.
ARRIVED = 1e-3
# A plateau is resolved, and compared, if the predicted error of its value is at most this: small
# enough for first-order estimates to hold.
RESOLVED = 1e-4


@dataclass(frozen=True, eq=False)
class Plateau:
    """One plateau of a flow beside the saddle it should be at.

    Attributes
    ----------
    number
        Number of the saddle.
    time
        Middle of the plateau.
    value_error, value_tolerance
        Distance of the coefficients from the saddle, relative, and what the scale explains.
    clock_error, clock_tolerance
        Distance of the clocks from their predicted values, relative to the growth time.
    same_support
        Whether exactly the saddle's coefficients are awake, with its signs.
    """

    number: int
    time: float
    value_error: float
    value_tolerance: float
    clock_error: float
    clock_tolerance: float
    same_support: bool


def compare_plateaus(problem: Problem) -> tuple[tuple[Plateau, ...], int]:
    """Compare all plateaus but the last (the limit itself) that the scale resolves.

    Returns
    -------
    plateaus
        The resolved ones.
    unresolved
        How many others there are: too short at this scale to be seen, or degenerate.
    """
    mirror = problem.network.mirror_map(problem.init)
    growth = problem.network.growth_times(problem.init)
    if mirror is None or growth is None or problem.init.log_scale >= 0:
        return (), 0
    path = saddles(problem)
    expected = _Expectation(problem, mirror, path, growth.unit)
    # At a degenerate saddle the path fixes the fit, not the coefficients.
    numbers = [
        p
        for p in range(1, path.n_saddles)
        if not path.degenerate[p] and expected.value_error(p) <= RESOLVED
    ]
    unresolved = max(path.n_saddles - 1, 0) - len(numbers)
    if not numbers:
        return (), unresolved
    # Local errors are relative to the growth so far, in logarithms: as large as log(1/scale).
    # In sample space the duals are integrated as such; in parameter space the growth is, and the
    # duals follow from it with the errors of all steps.
    steps = 1.0 if mirror.resolved else ACCUMULATION
    integration = steps * SampleSpace().rtol * (1.0 - problem.init.log_scale)
    run = flow(problem, times=np.array([expected.middle(p) for p in numbers]))
    duals = run.duals
    assert duals is not None, "a flow in sample space records its duals"
    plateaus = []
    movable = mirror.lower < mirror.upper
    for row, p in enumerate(numbers[: len(run.times)]):
        if run.times[row] != expected.middle(p):
            break  # the flow failed before it got there
        saddle, coef = path.coefs[p], run.coefs[row]
        awake = np.abs(coef) > 0.5 * np.abs(saddle[saddle != 0]).min()
        # A coefficient that can never move has no clock: what pulls it alone is not integrated.
        clocks = (problem.regression.X.T @ duals[row] / growth.unit)[movable]
        plateaus.append(
            Plateau(
                number=p,
                time=float(run.times[row]),
                value_error=float(np.linalg.norm(coef - saddle) / np.linalg.norm(saddle)),
                value_tolerance=SAFETY * (expected.value_error(p) + integration),
                clock_error=float(np.abs(clocks - expected.clocks(p)[movable]).max()),
                clock_tolerance=SAFETY * (expected.clock_error(p) + integration),
                same_support=bool((np.sign(coef) * awake == np.sign(saddle)).all()),
            )
        )
    return tuple(plateaus), unresolved


class _Expectation:
    """What the path and the scale predict for the middle of each plateau."""

    def __init__(self, problem: Problem, mirror: MirrorMap, path: SaddlePath, unit: float) -> None:
        task = problem.regression
        self._X = task.X
        self._mirror, self._path, self._unit = mirror, path, unit
        self._residuals = [task.y - task.X @ coef for coef in path.coefs]
        self._pulls = [task.loss_factor * task.X.T @ r for r in self._residuals]
        self._rates = [np.inf] + [
            self._slowest_rate(task.X, task.loss_factor, path.coefs[p])
            for p in range(1, path.n_saddles + 1)
        ]
        # First-order estimates, doubled before they serve as bounds.
        lags = [self._lag(p) for p in range(1, path.n_saddles + 1)]
        self._lags = SAFETY * np.cumsum([0.0, *lags])

    def middle(self, p: int) -> float:
        """Time half-way between two predicted saddles."""
        return float(self._path.times[p] + self._path.times[p + 1]) / 2 * self._path.time_unit

    def clocks(self, p: int) -> Float:
        """Clocks at that time, in units of h."""
        clocks: Float = (self._path.duals[p] + self._path.duals[p + 1]) / 2
        return clocks

    def clock_error(self, p: int) -> float:
        """What the lags leave open of the clocks, in units of h."""
        fastest = max(float(np.abs(pull).max()) for pull in self._pulls[: p + 1])
        return float(self._lags[p]) * fastest / self._unit

    def value_error(self, p: int) -> float:
        """What dormant coefficients and the approach leave open of the value, relative."""
        half = (self._path.times[p + 1] - self._path.times[p]) / 2 * self._path.time_unit
        lag = float(self._lags[p])
        saddle = self._path.coefs[p]
        size = float(np.linalg.norm(saddle))
        late = np.max(np.abs(self._pulls[: p + 1]), axis=0) * lag
        clocks = self.clocks(p) * self._unit
        with np.errstate(over="ignore"):
            grown = np.maximum(
                np.abs(self._mirror.coefs(clocks + late)), np.abs(self._mirror.coefs(clocks - late))
            )
            grown = np.minimum(grown, size / RESOLVED)  # far from resolved, and far from overflow
            approach = float(np.exp(-self._rates[p] * max(half - lag, 0.0)))
        awake = saddle != 0
        # The awake coefficients fit what the dormant ones leave: a regression of the one on the
        # other. In the metric of the flow, 1/slope, the approach is monotone.
        fitted = np.linalg.pinv(self._X[:, awake]) @ (self._X[:, ~awake] * grown[~awake])
        dormant = float(np.linalg.norm(grown[~awake])) + float(np.abs(fitted).sum())
        slopes = self._mirror.slopes_of(saddle)[awake]
        spread = float(np.sqrt(slopes.max() / slopes.min()))
        return dormant / size + spread * approach if size > 0 else np.inf

    def _lag(self, p: int) -> float:
        """How much later than predicted the p-th saddle is reached, counted from the one before."""
        entered = list(self._path.entered[p - 1])
        if not entered:
            return float(-np.log(ARRIVED) / self._rates[p])
        value = np.zeros_like(self._path.coefs[p])
        value[entered] = self._path.coefs[p][entered] / 2
        needed = np.abs(self._mirror.clocks(value))[entered]
        ideal = np.abs(self._path.duals[p][entered]) * self._unit
        pull = np.abs(self._pulls[p - 1][entered])
        with np.errstate(divide="ignore", invalid="ignore"):
            # A coefficient that re-enters without any pull tells nothing: never resolved.
            waking = float(np.nan_to_num(np.abs(needed - ideal) / pull, nan=np.inf).max())
        return waking - float(np.log(ARRIVED)) / self._rates[p]

    def _slowest_rate(self, X: Float, factor: float, saddle: Float) -> float:
        """Smallest rate of the flow of the awake coefficients, linearised at the saddle."""
        awake = saddle != 0
        slopes = self._mirror.slopes_of(saddle)[awake]
        values = np.linalg.svd(X[:, awake] * np.sqrt(slopes), compute_uv=False)
        return factor * float(values[-1]) ** 2 if awake.any() else np.inf
