"""Results computed in several threads leave the process as it was: its filters of warnings.

`warnings.catch_warnings` puts back the filters that it found, and threads that overlap find each
other's: the last to leave keeps what another has changed, for good.
"""

import ast
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import limitpoint as lp
from limitpoint.dynamics.integrate.quiet_solvers import QuietBDF, QuietLSODA

THREADS = 8
# How often threads take turns, in seconds: often enough that their steps overlap.
SWITCH_INTERVAL = 1e-6
SOURCE = Path(lp.__file__).parent


@pytest.fixture
def short_turns():
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL)
    yield
    sys.setswitchinterval(before)


def regression(network, seed=0):
    rng = np.random.default_rng(seed)
    task = lp.Regression(rng.standard_normal((3, 5)), rng.standard_normal(3))
    return lp.Problem(network, lp.Init.random(network, task, 1e-2, seed=seed), task)


def classification(network, seed=0):
    rng = np.random.default_rng(seed)
    task = lp.Classification(rng.standard_normal((3, 5)), [1, -1, 1])
    return lp.Problem(network, lp.Init.random(network, task, 1e-2, seed=seed), task)


CALLS = {
    "flow": lambda: lp.flow(regression(lp.Diagonal(2))).coef,
    "flow of parameters": lambda: (
        lp.flow(regression(lp.Diagonal(3)), space=lp.ParameterSpace(rtol=1e-6)).coef
    ),
    "limit": lambda: lp.predict(regression(lp.Diagonal(3))).coef,
    "margins, by cones": lambda: lp.predict(classification(lp.Convolutional((5, 5)))).direction,
    "saddles": lambda: lp.analysis.saddles(regression(lp.Diagonal(2))).coef,
}


@pytest.mark.usefixtures("short_turns")
@pytest.mark.parametrize("name", CALLS)
def test_threads_leave_the_filters_of_warnings_as_they_were(name):
    expected = CALLS[name]()
    before = list(warnings.filters)
    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(lambda _: CALLS[name](), range(THREADS)))
    assert list(warnings.filters) == before
    for one in found:
        np.testing.assert_array_equal(one, expected)


@pytest.mark.slow
def test_nothing_in_the_package_changes_the_filters():
    changing = {"catch_warnings", "simplefilter", "filterwarnings", "resetwarnings"}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(node, "attr", getattr(node, "id", None))
            assert name not in changing, f"{path.name}:{node.lineno} uses {name}"


def test_lsoda_that_can_do_no_more_says_so_in_its_status_alone():
    """The corrector fails at the smallest step. Warnings are errors here."""
    solver = QuietLSODA(
        lambda _, state: -1e300 * np.sign(state - 0.5), 0.0, np.zeros(1), 1.0, rtol=1e-12, atol=0.0
    )
    while solver.status == "running":
        before = solver.t, solver.y.copy()
        solver.step()
    assert solver.status == "failed"
    assert solver.t == before[0]
    np.testing.assert_array_equal(solver.y, before[1])


def test_bdf_does_not_comment_on_a_singular_matrix():
    solver = QuietBDF(lambda _, state: -state, 0.0, np.ones(2), 1.0, rtol=1e-6)
    factors, pivots = solver.lu(np.array([[1.0, 1.0], [1.0, 1.0]]))
    assert factors[1, 1] == 0.0
    assert solver.nlu == 1
    np.testing.assert_array_equal(pivots, [0, 1])
