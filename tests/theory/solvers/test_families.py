"""`predict` on random problems of every family and depth, against a brute-force flow.

The theorem, for most of them, is limitpoint.separable.

The acceptance line, of which a third is here: 200 problems of each family and depth, certified to
1e-9, and equal to the end of a flow in parameter space to 1e-7. Here all are certified, and small
ones compared; the flows of all 200 take hours and are run by
`python -m tests.oracles.full_families`.
"""

import numpy as np
import pytest
from tests.oracles.brute.flow import limit, power
from tests.oracles.problem_sets import random_problems

import limitpoint as lp

CERTIFIED = 1e-9
# Of the distance to the end of the flow, relative to ‖β‖.
AGREED = 1e-7
SEED = 0
PROBLEMS = 66
# Of these sizes the flow takes a tenth of a second; depth 2 does at all sizes.
COMPARED = 12
AT_TINY_SCALES = 15
SMALL = {"most_samples": 4, "most_features": 20}
# Scales below those of the flow, for networks whose limit still depends on them.
TINY_SCALES = (-30.0, -6.0)

NETWORKS = {
    "diagonal": lp.Diagonal,
    "diagonal ties": lp.Diagonal,
    "power": lp.Power,
    "signed power": lp.SignedPower,
    "paired": lambda _: lp.Paired(),
}
CASES = [
    (family, depth)
    for family in NETWORKS
    for depth in range(2, 7)
    if family != "paired" or depth == 2
]
DEEP_CASES = [(family, depth) for family, depth in CASES if depth > 2]
every_case = pytest.mark.parametrize(("family", "depth"), CASES, ids=str)


def prediction(family, depth, X, y, layers, scale, log_scale=None):
    """The limit for layers given with their scale, at that scale or at another."""
    log_scale = np.log(scale) if log_scale is None else log_scale
    init = lp.Init(layers / scale, log_scale=float(log_scale))
    return lp.predict(lp.Problem(NETWORKS[family](depth), init, lp.Regression(X, y)))


def end_of_flow(family, depth, X, y, layers):
    """Where the layers' own gradient flow ends."""
    name = {"diagonal": "diagonal", "diagonal ties": "diagonal", "paired": "paired"}.get(family)
    return limit(name or power(depth), X, y, layers)


def distance(found, reference):
    return float(np.linalg.norm(found - reference) / np.linalg.norm(reference))


def why_not_certified(found):
    """None, or what is wrong with a limit that should interpolate."""
    if found.status is lp.Status.CONVERGED and found.certificate.worst <= CERTIFIED:
        return None
    # Where rounding hides the smallest target of a large start, exact arithmetic takes over.
    if found.status is lp.Status.PROVED:
        return None
    return f"{found.status.name} {found.certificate.worst:.1e} in {found.iterations} steps"


def why_not_fitted(X, y, coef):
    """None, or the relative residual relative to what is summed.

    With no regard to the start's size.
    """
    relative_residual = np.linalg.norm(X @ coef - y) / np.linalg.norm(np.abs(X) @ np.abs(coef))
    return (
        None
        if relative_residual <= CERTIFIED
        else f"certified with relative residual {relative_residual:.1e}"
    )


@pytest.mark.slow
@every_case
def test_all_are_certified(family, depth):
    failures = {}
    for number, problem in enumerate(random_problems(PROBLEMS, SEED, family, depth)):
        found = prediction(family, depth, *problem)
        failures[number] = why_not_certified(found) or why_not_fitted(*problem[:2], found.coef)
    assert not {number: why for number, why in failures.items() if why}


@pytest.mark.slow
@pytest.mark.parametrize(("family", "depth"), DEEP_CASES, ids=str)
def test_certified_at_tiny_scales(family, depth):
    rng = np.random.default_rng([SEED, depth])
    failures = {}
    for number, problem in enumerate(random_problems(AT_TINY_SCALES, SEED, family, depth)):
        log_scale = np.log(10.0) * rng.uniform(*TINY_SCALES)
        failures[number] = why_not_certified(
            prediction(family, depth, *problem, log_scale=log_scale)
        )
    assert not {number: why for number, why in failures.items() if why}


# Problems, by seed and number, in which mirror coordinates differ by ten orders of magnitude and
# more, or small coefficients are left from a start of 1e9: an earlier solver missed each, one in
# thousands.
HARD = [
    ("power", 6, 0, 26),
    ("signed power", 5, 0, 6),
    ("signed power", 5, 1000, 116),
    ("signed power", 5, 1000, 122),
    ("signed power", 5, 1000, 191),
    ("diagonal ties", 6, 2000, 131),
    ("diagonal ties", 6, 3000, 628),
    ("signed power", 5, 3000, 169),
    ("power", 6, 8000, 164),
]


@pytest.mark.parametrize(("family", "depth", "seed", "number"), HARD, ids=str)
def test_graded_problems_are_certified(family, depth, seed, number):
    *_, problem = random_problems(number + 1, seed, family, depth)
    found = prediction(family, depth, *problem)
    assert why_not_certified(found) is None
    assert why_not_fitted(*problem[:2], found.coef) is None


@pytest.mark.slow
@every_case
def test_the_flow_ends_at_the_predicted_limit(family, depth):
    sizes = {} if depth == 2 else SMALL
    for X, y, layers, scale in random_problems(COMPARED, SEED, family, depth, **sizes):
        found = prediction(family, depth, X, y, layers, scale)
        assert why_not_certified(found) is None
        assert distance(found.coef, end_of_flow(family, depth, X, y, layers)) <= AGREED
