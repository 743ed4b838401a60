"""The verdict on a start on the stable manifold of the saddle at zero."""

import numpy as np

from limitpoint.dynamics import ParameterSpace, SampleSpace
from limitpoint.dynamics.coordinates import RTOL
from limitpoint.problem import Problem
from limitpoint.theory import Limit
from limitpoint.verify import engines
from limitpoint.verify.sensitivity import ACCUMULATION
from limitpoint.verify.verdict import Check, Verdict, certificate_checks, in_words

__all__ = ["verdict_on_stable_manifold"]

# Flows into the saddle are followed until so much of the start is left.
FOLLOWED = 1e-3


def verdict_on_stable_manifold(problem: Problem, limit: Limit) -> Verdict:
    """A start on the stable manifold of the saddle at zero: both flows on their way there.

    Not to the end: in parameter space rounding gets away at last, as any perturbation does.
    """
    inwards = engines.flow(problem, space=SampleSpace())
    sizes = np.linalg.norm(inwards.coefs, axis=1)
    until = inwards.times[int(np.argmax(sizes <= FOLLOWED * sizes[0]))]
    flows = tuple(
        engines.flow(problem, times=np.array([0.0, until]), space=space)
        for space in (SampleSpace(), ParameterSpace())
    )
    apart = float(np.linalg.norm(flows[0].coef - flows[1].coef)) / float(sizes[0])
    accumulated = ACCUMULATION * RTOL * (1.0 - float(np.log(FOLLOWED)))
    checks = (
        *certificate_checks(limit),
        Check(
            "sample flow: distance",
            float(sizes[-1] / sizes[0]),
            FOLLOWED,
            f"it ends at the saddle ({in_words(inwards)})",
        ),
        Check(
            f"flows apart when {FOLLOWED:g} of the start is left",
            apart,
            accumulated,
            f"{ACCUMULATION:g} rtol (1 + growth)",
        ),
    )
    note = (
        "The start is on the stable manifold of the saddle at zero. The flow in parameter space "
        "was followed on its way there only, and no training was run: rounding escapes from the "
        "saddle at last."
    )
    return Verdict(problem, checks, limit, flows, None, (note,))
