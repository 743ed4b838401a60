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
def test_a_wrong_direction_is_told(name, monkeypatch):
    problem = problem_of(NETWORKS[name])
    right = lp.predict(problem)
    angle = 0.05
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    wrong = dataclasses.replace(right, coef=turn @ right.coef)
    module = sys.modules["limitpoint.verify.classification"]
    monkeypatch.setattr(module, "predict", lambda problem: wrong)
    verdict = lp.verify(problem)
    assert [check.name for check in verdict.checks if not check.passed] == [
        f"direction: exponent behind {right.rate:.3g}"
    ]


@pytest.mark.slow
def test_a_direction_that_is_still_turning_is_not_tested():
    rng = np.random.default_rng(0)
    task = lp.Classification(rng.standard_normal((6, 9)), np.sign(rng.standard_normal(6)))
    verdict = lp.verify(problem_of(lp.Convolutional((9, 9, 9)), task))
    turning = "still turning" in verdict.notes[0]
    tested = any(check.name.startswith("stationary point") for check in verdict.checks)
    assert turning != tested


def test_training_is_not_judged():
    with pytest.raises(LimitpointError, match="does not judge the training of a classification"):
        lp.verify(problem_of(NETWORKS["diagonal"]), training=lp.GD(1e-3))


def test_nothing_known_is_said():
    network = lp.Convolutional((1, 2))
    with pytest.raises(NoTheoremApplies):
        lp.verify(problem_of(network))
