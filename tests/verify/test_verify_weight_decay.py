"""Runs with weight decay end at the penalised limit, or say that they have not come there."""

import dataclasses

import numpy as np
import pytest
from tests.theory.problems import diagonal_problem

import limitpoint as lp
from limitpoint.verify import engines

NAME = "training: distance from the penalised limit"
DECAY = 0.3
# Small enough a step for all four networks: twice as fast a one goes to and fro for ever.
RULE = lp.GD(0.02, weight_decay=DECAY)


def problem_of(network=None, loss_factor=1.0):
    rng = np.random.default_rng(6)
    task = lp.Regression(rng.standard_normal((3, 5)), 2 * rng.standard_normal(3), loss_factor)
    network = lp.Diagonal(2) if network is None else network
    return lp.Problem(network, lp.Init.random(network, task, scale=0.5, seed=1), task)


def check_of(verdict):
    return next((check for check in verdict.checks if check.name == NAME), None)


@pytest.mark.parametrize("factor", [1.0, 0.5])
@pytest.mark.parametrize(
    "network", [lp.Diagonal(2), lp.SignedPower(2), lp.Power(2), lp.Paired()], ids=str
)
def test_a_finished_run_ends_there(network, factor):
    verdict = lp.verify(problem_of(network, factor), training=RULE, steps=20_000)
    check = check_of(verdict)
    assert verdict.passed
    assert check.passed
    assert check.tolerance < 1e-3


def test_the_tolerance_is_what_is_left_of_the_run():
    """Runs that have come farther are compared more closely, and none is off by more."""
    problem = problem_of()
    checks = [check_of(lp.verify(problem, training=RULE, steps=n)) for n in (1_700, 2_700, 3_700)]
    assert all(check.passed for check in checks)
    tolerances = [check.tolerance for check in checks]
    assert tolerances[0] > 10 * tolerances[1] > 100 * tolerances[2]
    # A tolerance of first order, doubled, is no more than some times what is there.
    assert checks[0].measured > 0.1 * tolerances[0]


def test_what_has_not_decayed_yet_counts_by_what_it_moves():
    """A column of ten times the size, all but orthogonal to the residual of the limit."""
    task = lp.Regression([[1.0, 10.0], [0.0, (0.3 - 10.0) * DECAY]], [2.0, 1.0])
    start = lp.Init([[0.5, 0.3], [0.4, -0.1]], 1.0)
    problem = lp.Problem(lp.Diagonal(2), start, task)
    verdict = lp.verify(problem, training=lp.GD(1e-3, weight_decay=DECAY), steps=40_000)
    check, coef = check_of(verdict), verdict.training.coef
    assert check.passed
    assert check.measured * abs(coef[0]) > 5 * abs(coef[1]) > 1e-8


@pytest.mark.parametrize("steps", [1, 100])
def test_a_run_that_has_not_come_there_is_not_compared(steps):
    verdict = lp.verify(problem_of(), training=RULE, steps=steps)
    assert verdict.passed
    assert check_of(verdict) is None
    assert any("not come so near to its penalised limit" in note for note in verdict.notes)


def test_a_run_that_stays_at_a_saddle_is_not_compared():
    """From 1e-30 nothing is to be seen of the coefficients yet, but they grow."""
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((3, 5)), 2 * rng.standard_normal(3)
    problem = diagonal_problem(X, y, *rng.standard_normal((2, 5)), scale=1e-30)
    verdict = lp.verify(problem, training=RULE, steps=100)
    assert np.abs(verdict.training.coef).max() < 1e-9
    assert check_of(verdict) is None


@pytest.mark.parametrize("change", ["coef", "weight", "half"])
def test_another_limit_fails(monkeypatch, change):
    def wrong(problem, decay):
        if change == "coef":
            limit = lp.analysis.penalised_limit(problem, decay)
            return dataclasses.replace(limit, coef=1.01 * limit.coef)
        return lp.analysis.penalised_limit(problem, decay * (1.01 if change == "weight" else 0.5))

    monkeypatch.setattr(engines, "penalised_limit", wrong)
    verdict = lp.verify(problem_of(), training=RULE, steps=20_000)
    assert verdict.outcome is lp.results.Outcome.FAILED
    assert not check_of(verdict).passed


def test_a_limit_that_is_not_unique_is_not_compared():
    task = lp.Regression([[1.0, 1.0, 0.3]], [2.0])
    problem = lp.Problem(
        lp.Diagonal(2), lp.Init.random(lp.Diagonal(2), task, scale=0.5, seed=0), task
    )
    verdict = lp.verify(problem, training=RULE, steps=4_000)
    assert verdict.passed
    assert any("penalised limit is not compared" in note for note in verdict.notes)


@pytest.mark.parametrize(
    "rule", [lp.SGD(0.05, 1, weight_decay=DECAY), lp.LabelNoise(0.05, 0.1), lp.GD(0.05)], ids=str
)
def test_of_noise_and_of_no_weight_decay_nothing_is_said(rule):
    verdict = lp.verify(problem_of(), training=rule, steps=500)
    assert verdict.passed
    assert not any(
        "penalised" in text for text in (*verdict.notes, *(c.name for c in verdict.checks))
    )


def test_a_run_that_diverges_fails_by_the_law_of_the_step():
    verdict = lp.verify(problem_of(), training=lp.GD(5.0, weight_decay=0.1), steps=200)
    assert not verdict.passed
    assert check_of(verdict) is None
