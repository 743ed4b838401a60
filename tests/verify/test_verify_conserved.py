"""Drift is judged by what errors of the layers may do to a conserved quantity, and by no more."""

import numpy as np
import pytest

import limitpoint as lp
from limitpoint.verify.checks.conserved import drift_check

ERROR = 1e-8
# Opposite signs at odd depth: β keeps its sign, and u and w vanish together where it is to change.
OPPOSITE = ([-0.5, -1.0], [0.4, 0.5])


def flow_at_rest():
    """A classification whose every coefficient is driven to the sign that it cannot have."""
    task = lp.Classification([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0])
    problem = lp.Problem(lp.SignedPower(3), lp.Init(OPPOSITE, 0.67), task)
    return problem, lp.flow(problem, margin=1e8)


@pytest.mark.parametrize("size", [1e-12, 1e-6])
def test_layers_that_vanish_together_in_a_regression(size):
    """Far above their targets, both coefficients nearly end at zero, where u = −w."""
    task = lp.Regression([[1.0, 0.3], [0.2, 1.0]], [size, -size])
    verdict = lp.verify(lp.Problem(lp.SignedPower(3), lp.Init(OPPOSITE, 0.67), task))
    assert [check.name for check in verdict.checks if not check.passed] == []


def test_layers_that_vanish_together_in_a_classification():
    """The angle whose cotangent is `1/u + 1/w` is lost when u + w is rounding."""
    problem, run = flow_at_rest()
    assert run.status is lp.Status.AT_REST
    assert lp.analysis.drift(problem.network, run).relative > 1.0
    assert drift_check("drift", problem.network, run, ERROR, "").passed


@pytest.mark.parametrize("network", [lp.Diagonal(2), lp.SignedPower(3), lp.Paired()], ids=str)
def test_a_layer_off_by_a_percent_is_noticed(network):
    task = lp.Regression([[1.0, 0.5]], [1.0])
    init = lp.Init.random(network, task, scale=0.5, seed=0)
    layers = [np.abs(layer) for layer in init.direction]
    problem = lp.Problem(network, lp.Init(layers, 0.5), task)
    run = lp.flow(problem, space=lp.ParameterSpace())
    assert drift_check("drift", network, run, ERROR, "").passed
    moved = [np.array(layer) for layer in run.layers]
    moved[0][-1] *= 1.01

    class Moved:
        """The run with its first layer moved at the end."""

    Moved.layers = tuple(moved)
    check = drift_check("drift", network, Moved, ERROR, "")
    assert not check.passed
    assert check.tolerance < 100 * ERROR


def test_a_network_without_conserved_quantities():
    network = lp.General(lambda block: block[0] * block[1], block_size=2)
    run = lp.flow(
        lp.Problem(network, lp.Init([[[1.0, 0.5]]]), lp.Regression([[1.0]], [1.0])), t_end=0.1
    )
    # A check that nothing could fail is none.
    assert drift_check("drift", network, run, ERROR, "reason") is None
