"""The verdict on a classification: does the direction of the flow approach the predicted one?

Directions converge as powers of the margin, often slow ones. So it is not a distance that is
judged but its exponent: that of a flow that tended elsewhere would be zero.
"""

import numpy as np

from limitpoint.arrays import Float
from limitpoint.dynamics import NormalisedTime, Trajectory, drift, flow
from limitpoint.errors import NoTheoremApplies
from limitpoint.problem import Problem
from limitpoint.sensitivity import ACCUMULATION
from limitpoint.theory import Limit, explain, predict, stationarity, unrest
from limitpoint.verify.verdict import Check, Verdict, certificate_checks, in_words

__all__ = ["verdict_on_classification"]

# The flow is followed to the second margin, and exponents are measured from the first on: before
# that the start may still be seen, where samples tie or layers pass near other stationary points.
FROM, TO = 1e6, 1e8
# A logarithm of the margin that multiplies a power takes so much from its exponent at most.
LOGARITHM = 1.0 / np.log(FROM)
# A part of the coefficients that outgrows the largest as a power of the margin above this will
# have changed the direction long before the margin is 10^1000. Active parts that settle slowly
# show as much for a while, so that an exponent that is behind is then left open, not excused: the
# note says that it was not compared.
AT_REST = 1e-3
# Directions nearer than this, in units of the integrator's tolerance, are at its accuracy.
FLOOR = 100.0


def verdict_on_classification(problem: Problem) -> Verdict:
    """Predict, flow to a large margin, and compare how the direction approaches its limit.

    Where the theory fixes a set of stationary points and not one of them, the test of a
    stationary point is applied along the flow instead.
    """
    limit, fixed_set = _prediction(problem)
    space = NormalisedTime(margin=TO)
    run = flow(problem, space=space)
    margins = _smallest_margins(run)
    accumulated = ACCUMULATION * space.rtol * (1.0 + float(np.log(TO)))
    checks = [
        *([] if limit is None else certificate_checks(limit)),
        Check(
            "flow: short of the margin",
            max(0.0, float(1.0 - margins[-1] / TO)),
            space.rtol,
            f"the margin {TO:g} must be reached ({in_words(run)})",
        ),
        Check(
            "flow: invariant drift",
            drift(problem.network, run).relative,
            accumulated,
            f"{ACCUMULATION:g} rtol (1 + log margin)",
        ),
    ]
    notes: tuple[str, ...] = ()
    if not (margins[-1] > FROM):
        return Verdict(problem, tuple(checks), limit, (run,), None, notes)
    if limit is not None:
        distances = np.linalg.norm(run.directions - limit.direction, axis=1)
        floor = FLOOR * space.rtol
        approach = _exponent("direction", margins, distances, limit.rate or 0.0, floor)
        passing = None if approach.passed else unrest(problem, run.coef)
        if passing is not None and passing > AT_REST:
            # The direction in which the flow is now is not where it will end, by its own pulls.
            notes = _passing(passing, margins, distances)
        else:
            checks.append(approach)
            notes = _notes(limit, margins, distances)
    if fixed_set:
        found, said = _stationary_checks(problem, run, margins)
        checks += found
        notes = (f"The theory fixes a set, not a point ({fixed_set}): {said}",)
    return Verdict(problem, tuple(checks), limit, (run,), None, notes)


def _prediction(problem: Problem) -> tuple[Limit | None, str]:
    """The limit; or the theorem that fixes a set, where one applies and no other does."""
    try:
        return predict(problem), ""
    except NoTheoremApplies:
        sets = [theorem for theorem in explain(problem).applicable if theorem.concludes == "set"]
        if not sets:
            raise
        return None, sets[0].id


def _smallest_margins(run: Trajectory) -> Float:
    """The smallest margin along a run."""
    if run.margins is None:
        raise TypeError("the record is not of a classification")
    smallest: Float = run.margins.min(axis=1)
    return smallest


def _exponent(name: str, margins: Float, sizes: Float, rate: float, floor: float) -> Check:
    """How far the exponent with which a quantity falls stays behind the predicted one."""
    seen = (margins >= FROM) & (sizes > floor)
    if sizes[-1] <= floor or seen.sum() < 2:
        return Check(f"{name}: distance", float(sizes[-1]), floor, "accuracy of the flow")
    slope = np.polyfit(np.log(margins[seen]), np.log(sizes[seen]), 1)[0]
    return Check(
        f"{name}: exponent behind {rate:.3g}",
        max(0.0, rate + float(slope)),
        LOGARITHM,
        f"a logarithm in place of a constant, from margin {FROM:g} on",
    )


def _stationary_checks(
    problem: Problem, run: Trajectory, margins: Float
) -> tuple[list[Check], str]:
    """The test of a stationary point at the end of the flow, and what was done in words.

    No point that a flow is just leaving is stationary: while it turns, nothing is tested.
    """
    found = stationarity(problem, run.directions[-1], active=float(margins[-1]) ** -0.5)
    earlier = int(np.argmax(margins >= 0.1 * margins[-1]))
    moved = float(np.linalg.norm(run.directions[-1] - run.directions[earlier]))
    if moved > found.tolerance:
        return [], (
            f"at margin {margins[-1]:.3g} the direction of the flow is still turning, by "
            f"{moved:.1g} in the last decade, so that it was not tested as a stationary point."
        )
    reason = "layers still differ by what they did at the start"
    return [
        Check(f"stationary point: {name}", value, found.tolerance, reason)
        for name, value in found.residuals.items()
    ], "the direction of the flow was tested as a stationary point of the margin problem."


def _passing(excess: float, margins: Float, distances: Float) -> tuple[str, ...]:
    """What is said of a flow that is on its way, and is not compared."""
    return (
        f"At margin {margins[-1]:.3g} the flow is {distances[-1]:.3g} from the limit and is only "
        "passing by the direction it is in: by its own pulls some coefficient outgrows the others "
        f"as margin^{excess:.2g}. Its exponent was not compared.",
    )


def _notes(limit: Limit, margins: Float, distances: Float) -> tuple[str, ...]:
    """What the exponent cannot tell."""
    if limit.rate is None or limit.rate > LOGARITHM:
        return ()
    return (
        f"The direction converges as margin^−{limit.rate:.3g} only, too slowly for a flow to "
        f"confirm it: it is {distances[-1]:.3g} from the limit at margin {margins[-1]:.3g}.",
    )
