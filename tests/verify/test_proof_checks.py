"""The prediction against its proof, in a verdict."""

import dataclasses
import importlib

import numpy as np
import pytest

import limitpoint as lp
from limitpoint.results import Outcome

ENGINES = importlib.import_module("limitpoint.verify.engines")
NAME = "limit: distance from the proved one"


def problem(scale=0.1, y=1.0):
    task = lp.Regression([[1.0, 2.0, 3.0]], [y])
    return lp.Problem(lp.Diagonal(2), lp.Init([[1.0, 2.0, 3.0], [3.0, -1.0, 0.5]], scale), task)


def check_of(verdict):
    return next((one for one in verdict.checks if one.name == NAME), None)


def test_proves_only_when_asked():
    assert check_of(lp.verify(problem())) is None
    verdict = lp.verify(problem(), prove=True)
    assert verdict.passed
    assert check_of(verdict).measured < 1e-14
    assert NAME in str(verdict)


@pytest.mark.parametrize("size", [1e-6, 0.01])
def test_a_prediction_that_is_off_fails(monkeypatch, size):
    def predict(problem, **options):
        limit = lp.predict(problem, **options)
        return dataclasses.replace(limit, coef=limit.coef * (1 + size))

    monkeypatch.setattr(ENGINES, "predict", predict)
    verdict = lp.verify(problem(), prove=True)
    assert verdict.outcome is Outcome.FAILED
    assert not check_of(verdict).passed


def test_a_proof_of_another_limit_fails(monkeypatch):
    def prove(problem):
        proof = lp.prove(problem)
        middle = np.array([f"{1.01 * value:.17g}" for value in proof.coef.values])
        balls = dataclasses.replace(proof.coef, midpoint=middle)
        return dataclasses.replace(proof, coef=balls)

    monkeypatch.setattr(ENGINES, "prove", prove)
    assert lp.verify(problem(), prove=True).outcome is Outcome.FAILED


def test_says_why_there_is_no_proof():
    task = lp.Regression([[1.0, 2.0]], [1.0])
    network = lp.General(lambda z: z[0] * z[1], block_size=2)
    init = lp.Init.random(network, task, scale=0.5, seed=0)
    verdict = lp.verify(lp.Problem(network, init, task), prove=True)
    assert any(note.startswith("The limit was not proved") for note in verdict.notes)
    assert verdict.passed


def test_a_limit_from_exact_arithmetic_is_compared_with_a_run():
    """Float64 does not certify zeros of a square matrix; runs end there all the same."""
    task = lp.Regression([[1.0, 2.0], [3.0, -1.0]], [0.0, 0.0])
    init = lp.Init([[1.0, 0.5], [0.3, 2.0]], 0.5)
    verdict = lp.verify(lp.Problem(lp.Diagonal(2), init, task))
    assert verdict.limit.status is lp.Status.PROVED
    assert verdict.passed, verdict
    assert check_of(verdict).passed
    assert any(one.name.startswith("parameter flow") for one in verdict.checks)


def test_what_rounding_hides_from_every_run_is_inconclusive():
    verdict = lp.verify(problem(1e5))
    assert verdict.limit.status is lp.Status.PROVED
    assert check_of(verdict).passed
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "hides the data" in verdict.missing[0]
