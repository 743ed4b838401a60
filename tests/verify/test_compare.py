"""Runs that were made elsewhere: right ones never fail, those off by a percent never pass."""

import numpy as np
import pytest

import limitpoint as lp
from limitpoint.results import Outcome

RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, 8))
EVEN = X + X[:, (-np.arange(8)) % 8]
Y = X @ (np.arange(8) < 2) * 0.5

CASES = {
    "two layers": (lp.Diagonal(2), X, lambda n, t: lp.Init.random(n, t, 0.3, seed=1)),
    "three layers": (lp.Diagonal(3), X, lambda n, t: lp.Init.zero_last(n, t, 0.8)),
    "powers": (lp.SignedPower(3), X, lambda n, t: lp.Init.unbiased(n, t, 0.4)),
    "pairs": (lp.Paired(), X, lambda n, t: lp.Init.shaped(n, t, 0.4, shape=0.3)),
    "rank one": (lp.RankOne(2, 5), X, lambda n, t: lp.Init.balanced(n, t, 0.5)),
    "dense": (lp.FullyConnected((5,)), X, lambda n, t: lp.Init.balanced(n, t, 0.5)),
    "convolution": (lp.Convolutional((8, 8)), EVEN, lambda n, t: lp.Init.zero_last(n, t, 0.5)),
}


def problem_of(name):
    network, data, start = CASES[name]
    task = lp.Regression(data, Y)
    return lp.Problem(network, start(network, task), task)


def trained_by_hand(problem, rate, steps, dtype=float):
    """Gradient descent in NumPy, by the gradient that the network writes out."""
    task, network = problem.regression, problem.network
    data, targets = task.X.astype(dtype), task.y.astype(dtype)
    layers = [layer.astype(dtype) for layer in problem.init.layers]
    for _ in range(steps):
        slope = data.T @ (data @ np.asarray(network.coef(layers), dtype) - targets)
        steps_of = network.layer_gradients(layers, slope)
        layers = [a - dtype(rate) * b.astype(dtype) for a, b in zip(layers, steps_of, strict=True)]
    return layers


def off_in_the_null_space(problem, coef, by):
    null = np.linalg.svd(problem.task.X)[2][-1]
    return coef + by * np.linalg.norm(coef) * null


@pytest.fixture(scope="module")
def runs():
    """Layers that gradient descent by hand ended with, steps of 1e-2."""
    return {name: trained_by_hand(problem_of(name), 1e-2, 6000) for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_right_runs_pass_and_wrong_ones_fail(runs, name):
    problem, layers = problem_of(name), runs[name]
    rule = {"training": lp.GD(1e-2), "steps": 6000}
    verdict = lp.compare(problem, layers, **rule)
    assert verdict.outcome is Outcome.PASSED, verdict
    # Half a percent at most is explained, so that a percent is not.
    checks = {check.name: check for check in verdict.checks}
    assert checks["run: distance out of the row space of X"].tolerance < 5e-3
    coef = problem.network.coef(layers)
    assert lp.compare(problem, coef, **rule).outcome is Outcome.PASSED
    wrong = lp.compare(problem, off_in_the_null_space(problem, coef, 0.01), **rule)
    assert wrong.outcome is Outcome.FAILED
    assert lp.compare(problem, 1.01 * coef, **rule).outcome is not Outcome.PASSED


@pytest.mark.parametrize("name", CASES)
def test_without_the_optimiser_nothing_fails(runs, name):
    problem, layers = problem_of(name), runs[name]
    coef = problem.network.coef(layers)
    assert lp.compare(problem, layers).outcome is not Outcome.FAILED
    for wrong in (1.01 * coef, off_in_the_null_space(problem, coef, 0.01)):
        assert lp.compare(problem, wrong).outcome is Outcome.INCONCLUSIVE


def test_a_run_in_single_precision():
    problem = problem_of("powers")
    layers = trained_by_hand(problem, 1e-2, 6000, np.float32)
    assert layers[0].dtype == np.float32
    verdict = lp.compare(problem, layers, lp.GD(1e-2), steps=6000)
    assert verdict.passed, verdict
    coef = problem.network.coef(layers)
    wrong = off_in_the_null_space(problem, coef, 0.01)
    assert not lp.compare(problem, wrong, lp.GD(1e-2), steps=6000).passed


def test_the_number_of_steps_is_found_where_it_is_not_known(runs):
    for name in ("powers", "convolution"):
        assert lp.compare(problem_of(name), runs[name], lp.GD(1e-2)).passed


def test_batches():
    """The batches of a run elsewhere are not known: their spread is measured."""
    problem = problem_of("two layers")
    run = lp.train(problem, lp.SGD(2e-3, 1, seed=77), 30_000)
    rule = {"training": lp.SGD(2e-3, 1), "steps": 30_000}
    assert lp.compare(problem, run.coef, **rule).outcome is not Outcome.FAILED
    wrong = off_in_the_null_space(problem, run.coef, 0.05)
    assert lp.compare(problem, wrong, **rule).outcome is Outcome.FAILED


def test_a_run_that_has_not_ended():
    problem = problem_of("two layers")
    verdict = lp.compare(problem, lp.train(problem, lp.GD(1e-2), 50), lp.GD(1e-2))
    assert verdict.outcome is Outcome.INCONCLUSIVE


def test_a_run_that_diverged():
    problem = problem_of("two layers")
    verdict = lp.compare(problem, np.full(8, np.nan), lp.GD(1e-2))
    assert not verdict.passed
    assert "diverged" in str(verdict)


def test_a_flow_passes():
    problem = problem_of("two layers")
    assert lp.compare(problem, lp.flow(problem)).passed


def test_what_is_said(runs):
    problem = problem_of("two layers")
    layers = runs["two layers"]
    verdict = lp.compare(problem, layers, lp.GD(1e-2), steps=6000)
    first, drift, scale = verdict.notes
    assert "in the row space of X" in first
    assert "the law of the step" in first
    assert "8 conserved quantities" in drift
    assert "of your scale" in scale
    names = [check.name for check in verdict.checks if check.name.startswith("run")]
    assert names == [
        "run: relative residual",
        "run: distance in the row space of X",
        "run: distance out of the row space of X",
    ]


def test_the_scale_from_which_it_seems_to_have_started():
    problem = problem_of("two layers")
    smaller = lp.predict(lp.Problem(problem.network, problem.init.at_scale(0.21), problem.task))
    verdict = lp.compare(problem, smaller.coef)
    assert "as if started from 0.7 of your scale" in verdict.notes[-1]


def test_checkpoints(runs):
    problem = problem_of("powers")
    layers = runs["powers"]
    coef = np.asarray(problem.network.coef(layers))
    halfway = trained_by_hand(problem, 1e-2, 100)
    expected = lp.compare(problem, layers, lp.GD(1e-2), steps=6000)
    for run in ([halfway, layers], [problem.network.coef(halfway), coef, coef], {"coef": coef}):
        found = lp.compare(problem, run, lp.GD(1e-2), steps=6000)
        assert found.outcome is expected.outcome
        np.testing.assert_array_equal(found.training.coef, coef)
    assert lp.compare(problem, dict(zip("uw", layers, strict=True)), lp.GD(1e-2)).passed


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (np.zeros(3), r"coefficients have shape \(8,\), the layers \(8,\), \(8,\)"),
        ("weights", "run must be coefficients"),
        (7, "run must be coefficients"),
        (None, "run must be coefficients"),
        ([], "run must be coefficients"),
        ([np.zeros(8), [np.zeros(8)] * 2, np.zeros(8)], "checkpoints of coefficients and others"),
    ],
)
def test_what_is_no_run(run, words):
    with pytest.raises(lp.errors.LimitpointError, match=words):
        lp.compare(problem_of("two layers"), run)


def test_what_cannot_be_compared():
    problem = problem_of("two layers")
    with pytest.raises(lp.errors.LimitpointError, match="training must be an optimiser"):
        lp.compare(problem, np.zeros(8), training=0.01)
    with pytest.raises(lp.errors.LimitpointError, match="steps must be"):
        lp.compare(problem, np.zeros(8), lp.GD(1e-2), steps=0)
    vanishing = lp.Problem(problem.network, problem.init.at_scale(0.0), problem.task)
    with pytest.raises(lp.errors.InitError, match="the scale that the run started from"):
        lp.compare(vanishing, np.zeros(8))
    two = lp.examples.yun_two_points()
    network = lp.Diagonal(2)
    classes = lp.Problem(network, lp.Init.random(network, two, 1.0, seed=0), two)
    with pytest.raises(lp.errors.LimitpointError, match="compare judges regressions"):
        lp.compare(classes, np.zeros(2))
