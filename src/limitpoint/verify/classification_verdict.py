"""The verdict on a classification: does the direction of the flow end where it should?

Directions converge as powers of the margin, often slow ones, and pass by others on the way. So the
flow is followed to its end, over margins beyond all floats. Where that is done in logarithmic
coordinates, which use what the flow conserves, a flow of the layers themselves, which shares
nothing with them, must be where they are at the margin to which layers can be followed; at the
nearest scale at which float64 holds the layers, if that is another than the problem's own.
"""

from dataclasses import replace

import numpy as np

from limitpoint.dynamics import LimitDirection, ParameterSpace, Trajectory
from limitpoint.errors import NoTheoremApplies
from limitpoint.foundation.arrays import Float
from limitpoint.problem import Problem
from limitpoint.status import Status
from limitpoint.theory import Limit, explain, stationarity
from limitpoint.verify import engines
from limitpoint.verify.checks.conserved import drift_check
from limitpoint.verify.independent_run import Evidence
from limitpoint.verify.representable_scales import at_log_scale
from limitpoint.verify.sensitivity import ACCUMULATION, SAFETY
from limitpoint.verify.verdict import Check, Verdict, arrival_check, certificate_checks

__all__ = ["verdict_on_classification"]

# The exact flow is followed to the second margin, and its exponent measured from the first on:
# before that the start may still be seen, where samples tie or layers pass near other stationary
# points.
FROM, TO = 1e6, 1e8
# Of the samples' weights from there on.
SHARPNESS = 1e6
# The local error of the exact flow, at the tolerance that its margin asks for.
RTOL = 1e-11
# Directions nearer than this, in units of the exact flow's tolerance, are at its accuracy.
FLOOR = 100.0
# Layers are followed to 1e-13 of their norm: an entry that starts at this part of what the largest
# grows to is then known to a part in ten thousand when it begins to grow.
SMALLEST_HELD = 1e-9
NOTHING_COMPARED = "No flow of the layers themselves could be compared: {}."
DEGENERATE = "Other directions have the same norm and margins as the predicted one"


def verdict_on_classification(problem: Problem) -> Verdict:
    """Predict, follow the direction of the flow to its end, and compare.

    Where the theory fixes a set of stationary points and not one of them, the test of a
    stationary point is applied to that end instead.
    """
    limit, fixed_set = _prediction(problem)
    found = engines.limit_direction(problem, margin=TO, sharpness=SHARPNESS)
    checks = [
        *([] if limit is None else certificate_checks(limit)),
        *_checks_of_flow(problem, found),
    ]
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    if found.status is not Status.DIRECTION_CONVERGED:
        if found.run.status is Status.SEPARATED:
            missing = (_still_turning(found),)
    elif limit is not None and limit.status is not Status.DEGENERATE:
        checks += _against(limit, found)
    else:
        checks += _stationary_checks(problem, found)
        many = f"The theory fixes a set, not a point ({fixed_set})" if limit is None else DEGENERATE
        notes = (
            f"{many}: the end of the flow was tested as a stationary point of the margin problem.",
        )
    flows = [found.run]
    if found.run.status is Status.SEPARATED and _in_logarithms(problem):
        layers = _layers_evidence(problem, found)
        checks += layers.checks
        flows += layers.flows
        notes += layers.notes
        missing += layers.missing
    return Verdict(problem, tuple(checks), limit, tuple(flows), None, notes, missing)


def _in_logarithms(problem: Problem) -> bool:
    """Whether the flow is followed in logarithmic coordinates."""
    return problem.network.log_chart(problem.init) is not None


def _layers_evidence(problem: Problem, found: LimitDirection) -> Evidence:
    """The layers' own flow beside the one in logarithms, at a scale that float64 holds.

    At another scale than the problem's own the end of the flow there is compared with the
    prediction for it too: else nothing would tie the runs to a prediction.
    """
    entries = np.concatenate([np.abs(np.ravel(layer)) for layer in problem.init.direction])
    smallest = float(entries[entries > 0].min(initial=np.inf))
    if smallest < SMALLEST_HELD * float(entries.max()):
        why = "entries of the layers differ by more than float64 holds beside each other"
        return Evidence([], [], missing=(NOTHING_COMPARED.format(why),))
    lowest = float(np.log(SMALLEST_HELD / smallest))
    if problem.init.log_scale >= lowest:
        return _layers_beside(problem, found, "layers' flow")
    held = at_log_scale(problem, lowest)
    words = f"at scale {held.init.scale:.1g}, "
    there = engines.limit_direction(held, margin=TO, sharpness=SHARPNESS)
    limit, _ = _prediction(held)
    evidence = _layers_beside(held, there, f"{words}layers' flow")
    if there.status is not Status.DIRECTION_CONVERGED:
        return replace(evidence, missing=(*evidence.missing, words + _still_turning(there)))
    if limit is not None and limit.status is not Status.DEGENERATE:
        checks = _against(limit, there)
    else:
        checks = _stationary_checks(held, there)
    checks = [replace(check, name=words + check.name) for check in checks]
    note = (
        f"Float64 does not hold layers at scale {problem.init.scale:.3g} beside what they grow to: "
        f"the layers themselves were followed at scale {held.init.scale:.1g}."
    )
    return replace(evidence, checks=[*evidence.checks, *checks], notes=(note,))


def _layers_beside(problem: Problem, found: LimitDirection, name: str) -> Evidence:
    """The flow of the layers themselves, and how far from the other it is at the same margin."""
    run = engines.flow(problem, margin=TO, space=ParameterSpace())
    if run.status is not Status.SEPARATED:
        why = f"their flow did not get to the margin {TO:g} ({run.status.name})"
        return Evidence([], [run], missing=(NOTHING_COMPARED.format(why),))
    grown = float(np.log(TO)) + problem.network.degree * abs(problem.init.log_scale)
    distance = float(np.linalg.norm(run.directions[-1] - found.run.directions[-1]))
    check = Check(
        f"{name}: distance at margin {TO:g}",
        distance,
        ACCUMULATION * RTOL * (1.0 + grown),
        f"{ACCUMULATION:g} rtol (1 + growth) of both flows",
    )
    return Evidence([check], [run])


def _prediction(problem: Problem) -> tuple[Limit | None, str]:
    """The limit; or the theorem that fixes a set, where one applies and no other does."""
    try:
        return engines.predict(problem), ""
    except NoTheoremApplies:
        sets = [theorem for theorem in explain(problem).applicable if theorem.concludes == "set"]
        if not sets:
            raise
        return None, sets[0].id


def _checks_of_flow(problem: Problem, found: LimitDirection) -> list[Check]:
    """Whether the exact flow got as far as it had to, with its invariants."""
    run = found.run
    kept = drift_check(
        "flow: invariant drift",
        problem.network,
        run,
        ACCUMULATION * RTOL * (1.0 + float(np.log(TO))),
        f"{ACCUMULATION:g} rtol (1 + log margin)",
    )
    return [
        arrival_check(
            "flow: short of the margin",
            run,
            max(0.0, 1.0 - float(_margins(run)[-1]) / TO),
            RTOL,
            f"the margin {TO:g} must be reached",
        ),
        *([] if kept is None else [kept]),
    ]


def _margins(run: Trajectory) -> Float:
    """The smallest margin along a run."""
    if run.margins is None:
        raise TypeError("the record is not of a classification")
    smallest: Float = run.margins.min(axis=1)
    return smallest


def _against(limit: Limit, found: LimitDirection) -> list[Check]:
    """The end and the exponent of the flow beside the predicted ones."""
    end = Check(
        "direction: distance at its end",
        float(np.linalg.norm(found.direction - limit.direction)),
        found.uncertainty,
        "what an infinite sharpness of the samples' weights would change",
    )
    others = [_exponent(limit, found), _layers(limit, found)]
    return [end, *(check for check in others if check is not None)]


def _layers(limit: Limit, found: LimitDirection) -> Check | None:
    """How far the layers end from the predicted ones, both of norm one; None: none are predicted.

    They are as far from their end as the direction that they make is.
    """
    if limit.layers is None or found.layers is None:
        return None
    wanted, ended = (
        np.concatenate([np.ravel(layer) for layer in layers])
        for layers in (limit.layers, found.layers)
    )
    wanted, ended = wanted / np.linalg.norm(wanted), ended / np.linalg.norm(ended)
    return Check(
        "layers: distance at their end",
        float(np.linalg.norm(ended - wanted)),
        SAFETY * (found.uncertainty + found.turned),
        "the direction's uncertainty, and what it still turned",
    )


def _exponent(limit: Limit, found: LimitDirection) -> Check | None:
    """How far the exponent of the approach stays behind the predicted one; None: not measured.

    The better of two measurements: along the exact flow, which many directions pass by on their
    way, and along what follows, where samples that tie weigh otherwise.
    """
    if limit.rate is None:
        return None
    # By how much it stays behind, and from where on that was measured.
    behind = []
    if np.isfinite(found.rate):
        behind.append((min(limit.rate, 1.0) - found.rate, found.rate_from))
    margins = _margins(found.run)
    distances = np.linalg.norm(found.run.directions - limit.direction, axis=1)
    seen = (margins >= FROM) & (distances > FLOOR * RTOL)
    if seen.sum() >= 2:
        slope = np.polyfit(np.log(margins[seen]), np.log(distances[seen]), 1)[0]
        behind.append((limit.rate + float(slope), float(np.log(FROM))))
    if not behind:
        return None
    least, log_margin = min(behind)
    return Check(
        f"direction: exponent behind {limit.rate:.3g}",
        max(0.0, least),
        # log m − c in place of a constant takes 1/(log m − c), for c up to half of log m.
        SAFETY / log_margin,
        f"a logarithm in place of a constant, from log margin {log_margin:.3g} on",
    )


def _stationary_checks(problem: Problem, found: LimitDirection) -> list[Check]:
    """The test of a stationary point at the end of the flow."""
    tolerance = SAFETY * found.uncertainty
    certificate = stationarity(problem, found.direction, active=tolerance, tolerance=tolerance)
    reason = "the direction's uncertainty, twice"
    return [
        Check(f"stationary point: {name}", value, tolerance, reason)
        for name, value in certificate.residuals.items()
    ]


def _still_turning(found: LimitDirection) -> str:
    return (
        f"At log margin {found.log_margins[-1]:.3g} the direction of the flow is still turning, by "
        f"{found.turned:.1g} while the margin was squared last, so that it was not compared."
    )
