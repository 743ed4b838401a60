"""Verdicts on classification: directions approach the predicted ones, and wrong ones are told."""

import dataclasses
import sys

import numpy as np
import pytest

import limitpoint as lp
from limitpoint.errors import LimitpointError, NoTheoremApplies

TASK = lp.Classification([[1.0, 2.0], [0.0, -3.0]], [1, -1])


def problem_of(network, task=TASK, scale=0.5):
    shapes = network.layer_shapes(task)
    rng = np.random.default_rng(3)
    layers = [
        np.eye(*shape) if len(shape) == 2 else 1.0 + rng.random(shape) * np.eye(1, *shape)[0]
        for shape in shapes[:-1]
    ]
    return lp.Problem(network, lp.Init([*layers, np.zeros(shapes[-1])], scale), task)


NETWORKS = {
    "diagonal": lp.Diagonal(depth=2),
    "convolutional": lp.Convolutional((2, 2)),
    "dense": lp.FullyConnected((2,)),
    "deep dense": lp.FullyConnected((2, 2)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_two_points(name, loss):
    task = lp.Classification(TASK.X, TASK.y, loss=loss)
    verdict = lp.verify(problem_of(NETWORKS[name], task))
    assert verdict.passed, verdict
    assert verdict.limit is not None
    assert verdict.limit.certificate.ok


@pytest.mark.slow
@pytest.mark.parametrize(
    "network", [lp.Diagonal(depth=3), lp.Convolutional((2, 2, 2))], ids=["diagonal", "convolution"]
)
def test_a_set_is_tested_by_its_conditions(network):
    verdict = lp.verify(problem_of(network))
    assert verdict.passed, verdict
    assert verdict.limit is None
    assert any(check.name.startswith("stationary point") for check in verdict.checks)
    assert "fixes a set, not a point" in verdict.notes[0]
    assert verdict.to_dict()["limit"] is None


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("angle", [0.05, 1e-4])
def test_a_wrong_direction_is_told(name, angle, monkeypatch):
    problem = problem_of(NETWORKS[name])
    right = lp.predict(problem)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    wrong = dataclasses.replace(right, coef=turn @ right.coef)
    module = sys.modules["limitpoint.verify.engines"]
    monkeypatch.setattr(module, "predict", lambda problem: wrong)
    failed = [check.name for check in lp.verify(problem).checks if not check.passed]
    assert failed[0] == "direction: distance at its end"


@pytest.mark.slow
def test_a_wrong_exponent_is_told(monkeypatch):
    problem = problem_of(NETWORKS["dense"])
    right = lp.predict(problem)
    wrong = dataclasses.replace(right, rate=right.rate + 0.3)
    module = sys.modules["limitpoint.verify.engines"]
    monkeypatch.setattr(module, "predict", lambda problem: wrong)
    failed = [check.name for check in lp.verify(problem).checks if not check.passed]
    assert failed == [f"direction: exponent behind {right.rate + 0.3:.3g}"]


def spread_problem(seed, network, shape):
    """A start and data on which directions converge as late as at margins of 10^1000."""
    rng = np.random.default_rng(seed)
    task = lp.Classification(rng.standard_normal(shape), np.sign(rng.standard_normal(shape[0])))
    sizes = network.layer_shapes(task)
    layers = [1 + rng.random(sizes[0]), rng.uniform(-0.5, 0.5, sizes[1])]
    return lp.Problem(network, lp.Init(layers, 0.3), task)


# (seed, network, shape): distance from the limit at margin 1e8, and predicted exponent.
LATE = {
    "nearly another vertex": (17, lp.Diagonal(depth=2), (4, 6), 0.1, 0.122),
    "slow": (9, lp.Diagonal(depth=2), (5, 12), 0.5, 0.0173),
    "slowest": (14, lp.Diagonal(depth=2), (5, 12), 0.2, 0.0056),
    "passing by": (3, lp.Diagonal(depth=2), (6, 9), 0.5, 0.152),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LATE)
def test_directions_far_from_their_limit_at_any_margin_of_float64(name, monkeypatch):
    """They pass, with nothing left open; the runner-up direction in their place does not."""
    seed, network, shape, far, rate = LATE[name]
    problem = spread_problem(seed, network, shape)
    verdict = lp.verify(problem)
    assert verdict.passed, verdict
    assert not verdict.notes
    limit, run = verdict.limit, verdict.flows[0]
    assert limit.rate == pytest.approx(rate, rel=0.01)
    assert np.linalg.norm(run.directions[-1] - limit.direction) > far
    # Where the flow is at margin 1e8 is taken for its limit.
    wrong = dataclasses.replace(limit, coef=run.directions[-1])
    module = sys.modules["limitpoint.verify.engines"]
    monkeypatch.setattr(module, "predict", lambda problem: wrong)
    failed = [check.name for check in lp.verify(problem).checks if not check.passed]
    assert "direction: distance at its end" in failed


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 2])
def test_deep_flows_are_tested_at_their_end(seed):
    """At margin 1e8 they are still turning."""
    rng = np.random.default_rng(seed)
    task = lp.Classification(rng.standard_normal((6, 9)), np.sign(rng.standard_normal(6)))
    verdict = lp.verify(problem_of(lp.Convolutional((9, 9, 9)), task))
    assert verdict.passed, verdict
    assert any(check.name.startswith("stationary point") for check in verdict.checks)


def test_training_is_not_judged():
    with pytest.raises(LimitpointError, match="does not judge the training of a classification"):
        lp.verify(problem_of(NETWORKS["diagonal"]), training=lp.GD(1e-3))


def test_nothing_known_is_said():
    network = lp.Convolutional((1, 2))
    with pytest.raises(NoTheoremApplies):
        lp.verify(problem_of(network))


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.1, 1e-30])
def test_the_layers_themselves_stand_behind_a_verdict(scale):
    """At the problem's own scale, or at the smallest that float64 holds, which a note names."""
    task = lp.Classification([[1, 2], [0, -3]], [1, -1])
    network = lp.Diagonal(depth=2)
    verdict = lp.verify(lp.Problem(network, lp.Init.zero_last(network, task, scale), task))
    assert verdict.passed
    names = [check.name for check in verdict.checks if "layers' flow" in check.name]
    assert names == [
        f"{'' if scale > 1e-9 else 'at scale 1e-09, '}layers' flow: distance at margin 1e+08"
    ]
    assert len(verdict.flows) == 2
    assert any("scale 1e-09" in note for note in verdict.notes) == (scale < 1e-9)


def test_layers_that_float64_cannot_hold_beside_each_other_leave_a_verdict_open():
    task = lp.Classification([[1, 2], [0, -3]], [1, -1])
    init = lp.Init([[1.0, 1e-20], [0.0, 0.0]])
    verdict = lp.verify(lp.Problem(lp.Diagonal(depth=2), init, task))
    assert verdict.outcome is lp.results.Outcome.INCONCLUSIVE
    assert any("differ by more than float64 holds" in line for line in verdict.missing)
