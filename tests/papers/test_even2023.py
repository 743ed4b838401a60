"""Sparse recovery: what the checks of the experiment would miss, and its bound of rounding."""

from dataclasses import replace

import numpy as np
import pytest

import limitpoint as lp
from limitpoint.dynamics.training.start_of_flow import StepSums
from limitpoint.papers.even2023 import Recovery

LAW = "runs off the limit of gradient flow from their effective starts, in roundings"
SMALL = replace(
    Recovery(),
    samples=8,
    features=20,
    informative=2,
    batch_sizes=(8, 1),
    largest=(0.2, 0.02),
    shares=(0.5, 1.0),
    time=10.0,
    seeds=2,
)


@pytest.fixture(scope="module")
def data():
    return SMALL.run()


def law(data):
    return next(check for check in SMALL.checks(data) if check.name == LAW)


def test_the_law_holds_before_the_data_are_fitted(data):
    assert data["loss_left"].values.max() > 1e-3
    assert law(data).passed
    # Rounding explains no more than a billionth.
    assert data["rounding"].values.max() < 1e-9 * np.linalg.norm(data["truth"])


@pytest.mark.parametrize("side", [0, 1], ids=["rises", "falls"])
def test_one_per_cent_off_a_sum_fails(monkeypatch, side):
    growth = StepSums.growth

    def broken(self, sums, steps):
        found = growth(self, sums, steps)
        found[side] *= 1.01
        return found

    monkeypatch.setattr(StepSums, "growth", broken)
    assert not law(SMALL.run()).passed


def test_a_batch_of_all_samples_is_gradient_descent(data):
    problem, _ = SMALL.problem()
    end = lp.train(problem, lp.GD(0.1), steps=100).coef
    found = data["coef"].values[0, 0]
    np.testing.assert_allclose(found, [end, end], rtol=1e-10, atol=1e-14)
