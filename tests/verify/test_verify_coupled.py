"""Verdicts on rank-one and dense networks: they pass when right, and fail when not."""

import dataclasses
import importlib

import numpy as np
import pytest
from tests.oracles.flows import radial_flow as oracle

import limitpoint as lp
from limitpoint.verify.sensitivity import sensitivity_of

# Where `verify` takes prediction and dynamics from.
module = importlib.import_module("limitpoint.verify.engines")

X, Y = oracle.sparse_data(3, 6, 2, seed=5)
TASK = lp.Regression(X, Y)
RANK_ONE = lp.RankOne(depth=3, width=2)
DENSE = lp.FullyConnected(widths=(2, 3))
NETWORKS = pytest.mark.parametrize("network", [RANK_ONE, DENSE], ids=["rank-one", "dense"])


def balanced(network, task=TASK, **size):
    return lp.Problem(network, lp.Init.balanced(network, task, seed=4, **size), task)


def failed(verdict):
    return {check.name for check in verdict.checks if not check.passed}


def moved(limit, shift):
    coef = limit.coef + shift
    return dataclasses.replace(
        limit, coef=coef, signs=np.sign(coef), log_abs_coef=np.log(np.abs(coef))
    )


@pytest.mark.parametrize(
    ("network", "norm"), [(RANK_ONE, 1e-3), (DENSE, 0.5), (RANK_ONE, 1e3)], ids=str
)
def test_right_predictions_pass(network, norm):
    verdict = lp.verify(balanced(network, norm=norm))
    assert verdict.passed, verdict
    names = {check.name for check in verdict.checks}
    assert {"sample flow: distance", "parameter flow: distance"} <= names
    assert {"parameter flow: null-space law", "parameter flow: invariant drift"} <= names


def test_unbalanced_and_trained():
    init = lp.Init.perturbed(RANK_ONE, TASK, norm=0.5, imbalance=0.1, seed=10)
    problem = lp.Problem(RANK_ONE, init, TASK)
    verdict = lp.verify(problem, training=lp.GD(learning_rate=0.01), steps=3000)
    assert verdict.passed, verdict
    assert "training: null-space law" in {check.name for check in verdict.checks}


@NETWORKS
def test_a_prediction_moved_by_a_percent_fails(network, monkeypatch):
    """Along the null space, where the data say nothing: only the flows can tell."""
    problem = balanced(network, norm=0.5)
    limit = lp.predict(problem)
    null = np.linalg.svd(X)[2][-1]
    wrong = moved(limit, 0.01 * np.linalg.norm(limit.coef) * null)
    monkeypatch.setattr(module, "predict", lambda problem: wrong)
    verdict = lp.verify(problem)
    assert {"sample flow: distance", "parameter flow: distance"} <= failed(verdict)


@NETWORKS
def test_even_one_moved_by_a_millionth(network):
    """What the flow's own errors explain is far less."""
    problem = balanced(network, norm=0.5)
    limit = lp.predict(problem)
    null = np.linalg.svd(X)[2][-1]
    wrong = moved(limit, 1e-6 * np.linalg.norm(limit.coef) * null)
    run = lp.flow(problem)
    for candidate, right in ((limit, True), (wrong, False)):
        scales = sensitivity_of(problem, candidate)
        assert (scales.distance(run.coef) <= scales.tolerance(run.coef)) is right


@NETWORKS
def test_the_stable_manifold_passes(network):
    task = lp.Regression(X[:2], Y[:2])
    z = oracle.start_on_manifold(task.X, task.y, network.degree, 1.0)
    init = lp.Init.balanced(network, task, float(np.linalg.norm(z)), direction=z)
    verdict = lp.verify(lp.Problem(network, init, task))
    assert verdict.limit.status is lp.Status.SADDLE
    assert verdict.passed, verdict
    assert "on the stable manifold of the saddle" in " ".join(verdict.notes)


@NETWORKS
@pytest.mark.parametrize(
    "task",
    [
        lp.Regression([[1, 2, 0, 1], [2, 4, 0, 2], [0, 1, 1, 0]], [1, 3, 1]),
        lp.Regression(np.eye(2), [0.0, 0.0]),
    ],
    ids=["out of range", "nothing to fit"],
)
def test_edge_cases_pass(network, task):
    """Where the limit is zero itself, distances are relative to the start."""
    verdict = lp.verify(balanced(network, task, norm=0.5))
    assert verdict.passed, verdict


def test_sensitivity_by_finite_differences():
    """`K r` is how the limit moves with the data: `dβ = K dy`."""
    problem = balanced(DENSE, norm=0.5)
    limit = lp.predict(problem)
    step = 1e-6 * np.linalg.norm(Y)
    scales = sensitivity_of(problem, limit)
    gain = scales._gain(limit.coef) @ scales._range.T
    for direction in np.eye(3):
        sides = [
            lp.predict(
                lp.Problem(DENSE, problem.init, lp.Regression(X, Y + s * step * direction))
            ).coef
            for s in (1, -1)
        ]
        # Central differences: h² ~ 1e-12 and eps/h ~ 1e-10.
        expected = (sides[0] - sides[1]) / (2 * step)
        np.testing.assert_allclose(gain @ direction, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("network", [lp.RankOne(depth=6, width=2), lp.FullyConnected((2,) * 8)])
def test_starts_that_hide_the_data_decide_nothing(network):
    """β(0) of 1e27 and more beside targets of order one: no flow in float64 sees them."""
    verdict = lp.verify(lp.Problem(network, lp.Init.balanced(network, TASK, scale=1e3), TASK))
    assert verdict.limit.status is lp.Status.PROVED
    assert verdict.outcome is lp.results.Outcome.INCONCLUSIVE
    assert "rounding hides the data" in verdict.missing[0]
