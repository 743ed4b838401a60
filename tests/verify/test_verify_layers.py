"""Predicted layers are compared, and what flows conserve: each is broken by a percent."""

import dataclasses
import importlib

import numpy as np
import pytest
from tests.verify.test_verify_tensor import convolution, orthogonal, sensing

import limitpoint as lp

ENGINES = importlib.import_module("limitpoint.verify.engines")
ONE = lp.Regression(np.random.default_rng(2).standard_normal((1, 4)), [-0.7])
# One sample of each network whose layers are predicted.
PREDICTED = {
    "orthogonally decomposable": orthogonal(3),
    "even convolution": convolution(2),
    "matrices": sensing(3),
    "one sample, short filter": (lp.Convolutional((2, 4)), ONE),
    "one sample, dense": (lp.FullyConnected((2,)), ONE),
    "one sample, tensor": (lp.Tensor(np.random.default_rng(0).standard_normal((4, 3, 2))), ONE),
}
# One of each family with conserved quantities.
DATA = lp.Regression([[1.0, 0.5, -0.3], [0.2, -0.4, 1.0]], [1.0, -0.5])
CONSERVED = {
    "two layers": lp.Diagonal(2),
    "three layers": lp.Diagonal(3),
    "pairs": lp.Paired(),
    "powers": lp.SignedPower(2),
    "cubes": lp.SignedPower(3),
    "rank one": lp.RankOne(depth=2, width=2),
    "dense": lp.FullyConnected((2, 2)),
    "two dense layers": lp.TwoLayer(4),
}


def failing(verdict):
    return {check.name for check in verdict.checks if not check.passed}


@pytest.mark.parametrize("which", [0, -1], ids=["first", "last"])
@pytest.mark.parametrize("name", PREDICTED)
def test_a_predicted_layer_off_by_a_percent(name, which, monkeypatch):
    network, task = PREDICTED[name]
    init = (
        lp.Init.random(network, task, 0.5, seed=0)
        if isinstance(network, lp.Tensor)
        else lp.Init.zero_last(network, task, 0.5)
    )
    problem = lp.Problem(network, init, task)
    right = lp.predict(problem)
    run = lp.flow(problem, space=lp.ParameterSpace())
    monkeypatch.setattr(ENGINES, "flow", lambda problem, space: run)
    assert failing(lp.verify(problem)) == set()
    layers = list(right.layers)
    layers[which] = 1.01 * layers[which]
    wrong = dataclasses.replace(right, layers=tuple(layers))
    monkeypatch.setattr(ENGINES, "predict", lambda problem: wrong)
    verdict = lp.verify(problem)
    assert failing(verdict) == {"parameter flow: layers"}
    assert verdict.outcome is lp.results.Outcome.FAILED


def start(network):
    if isinstance(network, lp.TwoLayer):
        return lp.Init.orthogonal(network, DATA, 0.5)
    if isinstance(network, lp.RankOne | lp.FullyConnected):
        return lp.Init.balanced(network, DATA, 0.5)
    return lp.Init.random(network, DATA, 0.5, seed=4)


@pytest.mark.parametrize("share", [0.02, 0.5, 1.0], ids=["early", "half-way", "at the end"])
@pytest.mark.parametrize("name", CONSERVED)
def test_a_layer_that_strays_by_a_percent_on_the_way(name, share, monkeypatch):
    """At one moment of the independent run; at no other, and of no other run."""
    network = CONSERVED[name]
    problem = lp.Problem(network, start(network), DATA)
    run = lp.flow(problem, space=lp.ParameterSpace())
    layer = np.array(run.layers[0])
    layer[int(share * (len(layer) - 1))] *= 1.01
    strayed = dataclasses.replace(run, layers=(layer, *run.layers[1:]))

    def flow(problem, space):
        return strayed if isinstance(space, lp.ParameterSpace) else lp.flow(problem, space=space)

    monkeypatch.setattr(ENGINES, "flow", flow)
    verdict = lp.verify(problem)
    assert verdict.outcome is lp.results.Outcome.FAILED
    assert "parameter flow: invariant drift" in failing(verdict)
