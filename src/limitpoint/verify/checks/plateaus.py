"""The plateaus of a flow at small scale against the saddles of its path: values, order, times.

At the middle of the p-th plateau, half-way between two predicted times, the coefficients must be
those of the p-th saddle (values), with its support (order), and the mirror coordinates must have
run as far as the path says (times). How exactly follows from the scale:

- an inactive coefficient is as large as the mirror map says at its mirror coordinate;
- the active ones approach the saddle at the slowest rate of their own flow;
- both happen late: a coefficient activates when its mirror coordinate reaches not the activation
  time but the mirror coordinate of half its value, and the approach takes its time too. While it is
  late the mirror coordinates of the others run at the old negative gradient instead of the new one;
  that is what they are off by from then on, and by which they activate too late in turn.

Mirror coordinates are as large as activation times, which may differ by many orders of magnitude
where the start is spread. So the errors of an integration are relative to the mirror coordinates
and duals themselves.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from limitpoint.dynamics import RelativeResidual, Trajectory, flow
from limitpoint.dynamics.coordinates import RTOL
from limitpoint.foundation.arrays import Float
from limitpoint.mirror import MirrorMap
from limitpoint.problem import Problem
from limitpoint.theory import SaddlePath, saddles
from limitpoint.verify.sensitivity import ACCUMULATION, SAFETY

__all__ = ["Plateau", "compare_plateaus"]

# The approach to a saddle counts as delay until it has come this close, relative.
ARRIVED = 1e-3
# A plateau is resolved, and compared, if the predicted error of its value is at most this: small
# enough for first-order estimates to hold.
RESOLVED = 1e-4
# And if the errors that the flow may have made move its value by at most this: a comparison that
# allows for more would show little.
FOLLOWED = 1e-2

# Duals and times of a path agree to rounding, amplified by its condition.
CONSISTENT = 1e-6


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
    mirror_error, mirror_tolerance
        Distance of a mirror coordinate from its predicted value, in the unit of activation times,
        and what the scale explains; of the mirror coordinate that is furthest beyond that, or
        nearest to it.
    same_support
        Whether exactly the saddle's coefficients are active, with its signs.
    """

    number: int
    time: float
    value_error: float
    value_tolerance: float
    mirror_error: float
    mirror_tolerance: float
    same_support: bool


def compare_plateaus(
    problem: Problem,
    *,
    path_of: Callable[[Problem], SaddlePath] | None = None,
    flow_of: Callable[..., Trajectory] | None = None,
) -> tuple[tuple[Plateau, ...], int]:
    """Compare all plateaus but the last (the limit itself) that the scale resolves.

    Parameters
    ----------
    path_of, flow_of
        Where the saddles come from, and the flow at given times: `saddles` and `flow`.

    Returns
    -------
    plateaus
        The resolved ones.
    unresolved
        How many others there are: too short at this scale to be seen, or degenerate.
    """
    mirror = problem.network.mirror_map(problem.init)
    growth = problem.network.activation_times(problem.init)
    if mirror is None or growth is None or problem.init.log_scale >= 0:
        return (), 0
    path = (path_of or saddles)(problem)
    expected = _Expectation(problem, mirror, path, growth.unit)
    # At a degenerate saddle the path fixes the fit, not the coefficients.
    numbers = [
        p
        for p in range(1, path.n_saddles)
        if not path.degenerate[p] and (expected.resolved(p) or not expected.consistent(p))
    ]
    unresolved = max(path.n_saddles - 1, 0) - len(numbers)
    if not numbers:
        return (), unresolved
    run = (flow_of or flow)(problem, times=np.array([expected.middle(p) for p in numbers]))
    duals = run.duals
    assert duals is not None, "a flow in sample space records its duals"
    plateaus = []
    movable = mirror.lower < mirror.upper
    for row, p in enumerate(numbers[: len(run.times)]):
        if run.times[row] != expected.middle(p):
            break  # the flow failed before it got there
        saddle, coef = path.coefs[p], run.coefs[row]
        active = np.abs(coef) > 0.5 * np.abs(saddle[saddle != 0]).min()
        # A coefficient that can never move has no mirror coordinate: what would move it alone is
        # not integrated.
        xi = problem.regression.X.T @ duals[row] / growth.unit
        off = np.abs(xi - expected.mirror_coords(p))[movable]
        allowed = SAFETY * expected.mirror_errors(p)[movable]
        worst = int(np.argmax(off / allowed))
        plateaus.append(
            Plateau(
                number=p,
                time=float(run.times[row]),
                value_error=float(np.linalg.norm(coef - saddle) / np.linalg.norm(saddle)),
                value_tolerance=SAFETY * expected.value_allowance(p),
                mirror_error=float(off[worst]),
                mirror_tolerance=float(allowed[worst]),
                same_support=bool((np.sign(coef) * active == np.sign(saddle)).all()),
            )
        )
    return tuple(plateaus), unresolved


class _Expectation:
    """What the path and the scale predict for the middle of each plateau.

    Mirror coordinates and times are those of the flow, not in units of h, unless said otherwise.
    """

    def __init__(self, problem: Problem, mirror: MirrorMap, path: SaddlePath, unit: float) -> None:
        task = problem.regression
        self._X, self._factor = task.X, task.loss_factor
        # What the growth before and the fading after adds to a wait of one.
        self._tail = max(1.0, mirror.degree / 2)
        self._mirror, self._path, self._unit = mirror, path, unit
        self._residuals = [task.y - task.X @ coef for coef in path.coefs]
        self._neg_grads = [task.loss_factor * task.X.T @ r for r in self._residuals]
        self._rounding = _Rounding(problem, mirror, path, unit)
        numbers = range(1, path.n_saddles + 1)
        with np.errstate(all="ignore"):  # k may be unknown where the path goes
            slopes = [mirror.slopes_of(coef) for coef in path.coefs]
            # How far from its activation time the mirror coordinate of an active coefficient stops.
            short = [
                np.abs(mirror.mirror_coords(path.coefs[p]) - self._ideal(p)) for p in (0, *numbers)
            ]
        self._slopes = [np.where(path.coefs[p] != 0, slopes[p], 0.0) for p in (0, *numbers)]
        self._short = [np.nan_to_num(one, nan=np.inf, posinf=np.inf) for one in short]
        self._rates = [np.inf] + [self._slowest_rate(task.loss_factor, p) for p in numbers]
        # By how much each saddle is late, and by how much each ξ is off from then on.
        self._delays, self._off = [0.0], [np.zeros(task.n_features)]
        for p in numbers:
            self._delays.append(self._delay(p))
            self._off.append(self._mirror_off(p))

    def resolved(self, p: int) -> bool:
        """Whether the scale is small enough, and the flow good enough, for a comparison."""
        return self.value_error(p) <= RESOLVED and self.value_rounding(p) <= FOLLOWED

    def consistent(self, p: int) -> bool:
        """Whether duals advance from saddle to saddle as the residual says, `Δλ = factor·r·Δt`.

        Of a path on which they do not nothing is known, and what it predicts here no excuse: its
        saddles are compared whether or not they look resolved.
        """
        path = self._path
        with np.errstate(invalid="ignore"):
            advance = np.diff(path.duals, axis=0)[: p + 1] * self._unit
            waits = np.diff(path.path_times)[: p + 1, None] * path.time_unit
            driven = self._factor * np.stack(self._residuals[: p + 1]) * waits
            off = np.abs(advance - driven)
            sizes = np.abs(path.duals).max() * self._unit + np.abs(driven)
        return not bool((off > CONSISTENT * sizes).any())

    def value_allowance(self, p: int) -> float:
        """What the value of a saddle may be off by, relative."""
        return min(self.value_error(p), RESOLVED) + min(self.value_rounding(p), FOLLOWED)

    def middle(self, p: int) -> float:
        """Time half-way between two predicted saddles."""
        return (
            float(self._path.path_times[p] + self._path.path_times[p + 1])
            / 2
            * self._path.time_unit
        )

    def mirror_coords(self, p: int) -> Float:
        """Mirror coordinates at that time, in units of h."""
        xi: Float = (self._path.mirrors[p] + self._path.mirrors[p + 1]) / 2
        return xi

    def mirror_errors(self, p: int) -> Float:
        """What delays and integration leave open of the mirror coordinates, in units of h."""
        # First-order estimates, doubled before they serve as bounds.
        return (SAFETY * self._off[p] + self._rounding.of_duals(p)) / self._unit

    def value_error(self, p: int) -> float:
        """What inactive coefficients and the approach leave open of the value, relative."""
        half = (self._path.path_times[p + 1] - self._path.path_times[p]) / 2 * self._path.time_unit
        delay = SAFETY * self._delays[p]
        saddle = self._path.coefs[p]
        size = float(np.linalg.norm(saddle))
        if size == 0 or not np.isfinite(delay):
            return np.inf
        late = SAFETY * self._off[p]
        xi = self.mirror_coords(p) * self._unit
        with np.errstate(over="ignore"):
            grown = np.maximum(
                np.abs(self._mirror.coefs(xi + late)), np.abs(self._mirror.coefs(xi - late))
            )
            grown = np.minimum(grown, size / RESOLVED)  # far from resolved, and far from overflow
            approach = float(np.exp(-self._rates[p] * max(half - delay, 0.0)))
        active = saddle != 0
        # The active coefficients fit what the inactive ones leave: a regression of the one on the
        # other. In the metric of the flow, 1/slope, the approach is monotone.
        fitted = np.linalg.pinv(self._X[:, active]) @ (self._X[:, ~active] * grown[~active])
        inactive = float(np.linalg.norm(grown[~active])) + float(np.abs(fitted).sum())
        slopes = self._slopes[p][active]
        spread = float(np.sqrt(slopes.max() / slopes.min()))
        return inactive / size + spread * approach

    def value_rounding(self, p: int) -> float:
        """What the integration leaves open of the value, relative."""
        return self._rounding.of_value(p, self._slopes[p])

    def _ideal(self, p: int) -> Float:
        """Mirror coordinates when the p-th saddle is reached, as the path has them."""
        xi: Float = self._path.mirrors[p] * self._unit
        return xi

    def _delay(self, p: int) -> float:
        """How much later, or earlier, than predicted the p-th saddle is reached.

        A coefficient that enters has its mirror coordinate off by what earlier delays did to it,
        and needs that of half its value rather than its activation time. Next to a pole it grows as
        the power `−L/(L−2)` of the distance g that its mirror coordinate has left, so that what it
        does before adds `g(L−2)/2`.
        """
        entered, left = list(self._path.entered[p - 1]), list(self._path.left[p - 1])
        value = np.zeros_like(self._path.coefs[p])
        value[entered] = self._path.coefs[p][entered] / 2
        with np.errstate(all="ignore"):
            needed = np.abs(np.abs(self._mirror.mirror_coords(value)) - np.abs(self._ideal(p)))
            activation = (self._tail * needed + self._off[p - 1] + self._rounding.of_mirror(p))[
                entered
            ]
            times = np.concatenate(
                [
                    activation / np.abs(self._neg_grads[p - 1][entered]),
                    (self._tail * self._fading(p) / np.abs(self._neg_grads[p]))[left],
                    [-np.log(ARRIVED) / self._rates[p]],
                ]
            )
            # A coefficient that re-enters where its gradient is zero tells nothing: never resolved.
            moves = np.nan_to_num(times, nan=np.inf, posinf=np.inf)
            return float(moves[: len(entered)].max(initial=0.0) + moves[len(entered) :].sum())

    def _fading(self, p: int) -> Float:
        """How far the ξ of coefficients that leave run ahead, until these count no more.

        What is left of one, β, adds up to `factor ‖x‖² β` to its own negative gradient, which is
        less than the gradient that it has in the end when it has come down to the ratio of the two.
        """
        before = self._path.coefs[p - 1]
        weights = self._factor * np.sum(self._X**2, axis=0)
        small = np.minimum(np.abs(before) / 2, np.abs(self._neg_grads[p]) / weights)
        run: Float = np.abs(
            self._mirror.mirror_coords(np.sign(before) * small) - self._mirror.mirror_coords(before)
        )
        return run

    def _mirror_off(self, p: int) -> Float:
        """By how much the ξ are off at the p-th saddle, where they are not at their ends."""
        if not np.isfinite(self._delays[p]):
            return np.full(len(self._slopes[p]), np.inf)
        with np.errstate(over="ignore"):
            moved = (
                self._off[p - 1]
                + np.abs(self._neg_grads[p] - self._neg_grads[p - 1]) * self._delays[p]
            )
        # The mirror coordinate of what is active stands still where its value is that of the
        # saddle.
        held = self._short[p] + self._rounding.of_mirror(p)
        return np.where(self._path.coefs[p] != 0, held, moved)

    def _slowest_rate(self, factor: float, p: int) -> float:
        """Smallest rate of the flow of the active coefficients, linearised at the saddle."""
        active = self._path.coefs[p] != 0
        if not active.any():
            return np.inf
        slopes = self._slopes[p][active]
        if not np.isfinite(slopes).all():
            return 0.0  # the network cannot be there, as far as is known: it never arrives
        values = np.linalg.svd(self._X[:, active] * np.sqrt(slopes), compute_uv=False)
        return factor * float(values[-1]) ** 2


class _Rounding:
    """Errors of the integration.

    Those of a step are relative: of the duals to themselves, of growth to the growth so far, in
    logarithms. A relative error of the growth is one of the mirror coordinate of an inactive
    coefficient. What is active is drawn back to the saddle, so that only the errors of the last
    step are left of its value: in sample space those of its mirror coordinate, which the slope of
    the map turns into errors of the coefficient; in parameter space those of the growth, which are
    relative already.
    """

    def __init__(self, problem: Problem, mirror: MirrorMap, path: SaddlePath, unit: float) -> None:
        task, rtol = problem.regression, RTOL
        self._path, self._unit, self._resolved = path, unit, mirror.resolves(task.fit_size)
        with np.errstate(all="ignore"):
            grown = np.stack([np.abs(mirror.growth_of(coef)) for coef in path.coefs])
        seen = np.isfinite(grown) & (path.coefs != 0)
        longest = max(-problem.init.log_scale, float(np.max(grown, where=seen, initial=0.0)))
        self._growth = ACCUMULATION * rtol * (1.0 + longest)
        # Next to a pole the flow in sample space resolves mirror coordinates as much better as they
        # are long.
        step = rtol / max(1.0, float(np.exp(mirror.log_mirror_unit))) if self._resolved else rtol
        measure = RelativeResidual.of(task, mirror.start_coefs(), mirror.lower, mirror.upper)
        # What the integrator tolerates of duals that vanish, in units of h: of mirror coordinates
        # of size one in sample space, and of the unit itself in parameter space.
        widest = float(np.linalg.norm(task.X, 2)) or 1.0
        least = 1.0 / (widest * unit) if self._resolved else 1.0
        reached = np.linalg.norm(path.duals @ measure.basis, axis=1)
        # By Cauchy and Schwarz, of one step, for every mirror coordinate at every saddle.
        columns = np.linalg.norm(measure.basis.T @ task.X, axis=0)
        self._steps = unit * np.outer(step * reached + rtol * least, columns)

    def of_duals(self, p: int) -> Float:
        """Of the mirror coordinates that the duals give, up to the saddle after the p-th."""
        rounding: Float = ACCUMULATION * self._steps[: p + 2].max(axis=0)
        return rounding

    def of_mirror(self, p: int) -> Float:
        """Of the mirror coordinates at which coefficients activate, up to the p-th saddle."""
        own = self._growth * np.abs(self._path.mirrors[p]) * self._unit
        rounding: Float = own + ACCUMULATION * self._steps[: p + 1].max(axis=0)
        return rounding

    def of_value(self, p: int, slopes: Float) -> float:
        """Of the value of the p-th saddle, relative."""
        if not self._resolved:
            return self._growth
        size = float(np.linalg.norm(self._path.coefs[p]))
        moved = slopes * self._steps[p : p + 2].max(axis=0)
        return float(np.linalg.norm(moved)) / size if size > 0 else np.inf
