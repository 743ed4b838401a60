"""What the experiments of Lyu and Zhu compute for themselves, by other means."""

import numpy as np
import pytest

import limitpoint as lp
from limitpoint.papers.errata.lyu2023.point import rank_one_point, standard_point
from limitpoint.papers.lyu2023 import setting
from limitpoint.papers.lyu2023.probes import (
    Alignment,
    LostByBalance,
    LostByModel,
    LostShare,
    projector,
)


@pytest.fixture(scope="module")
def data():
    return setting.Data.draw(samples=6, features=12, informative=4, seed=0)


@pytest.fixture(scope="module")
def problem(data):
    return setting.rank_one(data, depth=3, width=4, seed=1)


def test_extrapolation_removes_the_first_order():
    true, step = np.array([2.0, 3.0]), 1e-2

    def at(size):
        return true * (1 + size + 3 * size**2)

    found = setting.extrapolated(at(step), at(step / 2))
    assert (np.abs(found - true) <= setting.second_order(at(step), at(step / 2))).all()
    assert (np.abs(found - true) < 0.02 * np.abs(at(step) - true)).all()


def test_nearer_counts_what_five_standard_errors_do_not_tell():
    noise = np.array([-1.0, 1.0, 0.0])
    quiet = np.ones((3, 3))
    noisy = np.stack([0.5 + 0.01 * noise, 0.999 + 0.01 * noise, 1.5 + 0.01 * noise])
    assert setting.nearer(np.stack([quiet, noisy])) == 2


def test_vanishing_starts_end_in_proportion_to_their_scale(data, problem):
    sizes, distances, ratio = setting.vanishing(problem, data, [1e-20])
    assert distances[0] / sizes[0] == pytest.approx(ratio, rel=5 * sizes[0] ** 2 + 1e-6)


def test_the_law_is_the_sum_of_two_parts(data, problem):
    runs = setting.sweep(
        problem, data, norms=[0.5], seeds=2, learning_rate=5e-3, batch_size=2, steps=50
    )
    null, start = projector(problem), problem.init.at_scale(0.5**0.2).layers[0]
    expected = data.least + runs["outer"].values[1, 0, 1] * (null @ start)
    assert setting.by_law(problem, runs)[1, 0, 1] == pytest.approx(expected, rel=1e-12)
    assert runs["distance_l2_half_step"].shape == (1, 2)


def test_probes_against_sums_over_the_steps(data, problem):
    """Every step is recorded, and the integrals are added up with NumPy."""
    rate, batch, steps = 1e-3, 2, 40
    optimiser, null = lp.SGD(rate, batch), projector(problem)
    probes = [LostShare(null), LostByModel(null), LostByBalance(batch), Alignment()]
    found = lp.train_many(problem, optimiser, steps, probes=probes, record=[steps]).data
    coefs = lp.train(problem, optimiser, steps, record=np.arange(steps + 1)).coefs
    X, m, power = data.task.X, data.task.n_samples, 0.8
    kept = null @ coefs[0] / np.linalg.norm(coefs[0]) ** power
    g, balance = np.zeros(len(kept)), 0.0
    for theta in coefs[:-1]:
        norm, residual = np.linalg.norm(theta), data.task.y - X @ theta
        across = X - np.outer(X @ theta, theta) / norm**2
        trace = np.sum(across**2)
        g += rate * np.mean(residual**2) * norm ** (3 * power - 2) * trace * theta
        # All pairs of samples that a batch may hold, with replacement.
        moments = [
            np.sum((0.5 * (residual[i] * across[i] + residual[j] * across[j])) ** 2)
            for i in range(m)
            for j in range(m)
        ]
        balance += rate * rate * 4 * norm ** (2 * power) * np.mean(moments)
    end = coefs[-1]
    size = np.linalg.norm(end)
    expected = {
        "lost": 1 - kept @ end / size**power / (kept @ kept),
        "lost_by_model": 2 * power * rate / (m * batch) * kept @ g / (kept @ kept),
        "lost_by_balance": 0.5 * power * balance / size**0.4,
        "alignment": g @ coefs[0] / np.linalg.norm(g) / np.linalg.norm(coefs[0]),
    }
    for name, value in expected.items():
        assert found[name].values[0, 0, 0, -1] == pytest.approx(value, rel=1e-9, abs=1e-13), name


@pytest.mark.parametrize("point", [rank_one_point(), standard_point()])
def test_the_velocity_of_theta_by_differences(point):
    """One small step of GD, from the library's own training, both ways."""
    size = 1e-5
    init = lp.Init.from_layers(point.layers)
    run = lp.train(lp.Problem(point.network, init, point.task), lp.GD(size), 1)
    half = lp.train(lp.Problem(point.network, init, point.task), lp.GD(size / 2), 1)
    slopes = [(one.coef - point.theta) / step for one, step in ((run, size), (half, size / 2))]
    # What is left is of second order in the step, and the rounding of a difference.
    assert point.velocity() == pytest.approx(2 * slopes[1] - slopes[0], rel=1e-6)
