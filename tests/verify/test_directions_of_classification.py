"""Predicted directions against the flow: reached, and with the exponent that theory gives.

A distance `C·margin^−r` has slope −r in logarithms. What else there is, of other exponents, may
change C by a factor between the ends of the range; a factor of 2 over six decades moves the slope
by `log 2/log 10⁶ = 0.05`, the tolerance.
"""

import numpy as np
import pytest

import limitpoint as lp

TWO_POINTS = lp.Classification([[1.0, 2.0], [0.0, -3.0]], [1, -1])
FROM, TO = 1e2, 1e8
SLOPE_TOLERANCE = np.log(2) / np.log(TO / FROM)


def random_task(seed, samples, features):
    rng = np.random.default_rng(seed)
    return lp.Classification(
        rng.standard_normal((samples, features)), np.sign(rng.standard_normal(samples))
    )


def start_of(network, task, scale=1.0):
    """The last layer small, the others as `zero_last` has them, none of them special."""
    unit = lp.Init.zero_last(network, task)
    rng = np.random.default_rng(5)
    layers = [layer + 0.2 * rng.standard_normal(layer.shape) for layer in unit.direction]
    return lp.Init([*layers[:-1], 0.1 * layers[-1]], scale)


def approach(network, task, init):
    """Predicted direction and exponent; distances along the flow and their slope."""
    problem = lp.Problem(network, init, task)
    limit = lp.predict(problem)
    run = lp.flow(problem, margin=TO)
    assert run.status is lp.Status.SEPARATED
    margins = run.margins.min(axis=1)
    distances = np.linalg.norm(run.directions - limit.direction, axis=1)
    seen = (margins >= FROM) & (distances > 0)
    slope = np.polyfit(np.log(margins[seen]), np.log(distances[seen]), 1)[0]
    return limit, float(slope), float(distances[-1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("network", "direction", "rate"),
    [
        (lp.FullyConnected(widths=(2,)), [1.0, 2.0], 1 / 2),
        (lp.FullyConnected(widths=(2, 2)), [1.0, 2.0], 1 / 3),
        (lp.Diagonal(depth=2), [0.0, 1.0], 1 / 2),
        (lp.Convolutional((2, 2)), [1.0, 1.0], 2 / 3),
    ],
    ids=["dense", "deep dense", "diagonal", "convolutional"],
)
def test_two_points(network, direction, rate):
    limit, slope, distance = approach(network, TWO_POINTS, start_of(network, TWO_POINTS))
    np.testing.assert_allclose(
        limit.direction, np.array(direction) / np.linalg.norm(direction), atol=1e-9
    )
    assert limit.certificate.ok
    # By hand: the dual of the diagonal network is (1/2, 1); two tied points leave 1 − 1/3.
    assert limit.rate == pytest.approx(rate, abs=1e-6)
    assert slope == pytest.approx(-rate, abs=SLOPE_TOLERANCE)
    assert distance < 10 * TO**-rate


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("network", "theorem"),
    [
        (lp.FullyConnected(widths=(5,)), "yun2021.corollary1"),
        (lp.FullyConnected(widths=(5, 5)), "yun2021.corollary1"),
        (lp.Diagonal(depth=2), "yun2021.corollary2"),
        (lp.Convolutional((5, 5)), "yun2021.corollary3"),
    ],
    ids=["dense", "deep dense", "diagonal", "convolutional"],
)
def test_random_data(network, theorem, seed):
    """Of exponents only a lower bound: a second one close by makes the slope steeper."""
    task = random_task(seed, 3, 5)
    start = start_of(network, task)
    if isinstance(network, lp.FullyConnected):
        # Downhill from zero, from where the loss is sure to vanish at any depth.
        *others, last = start.direction
        ahead = (task.y @ task.X) @ network.coef(start.direction)
        start = lp.Init([*others, np.sign(ahead) * last], 0.5)
    limit, slope, _ = approach(network, task, start)
    assert limit.theorem.id == theorem
    assert limit.certificate.ok
    assert limit.rate > 0
    assert -slope > limit.rate - 2 * SLOPE_TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("label", [1, -1])
def test_one_sample_and_a_filter_of_two(sign, label):
    """Corollary 4: the filtered sample, low-pass or high-pass by its autocorrelation."""
    x = np.array([2.0, 1.5 * sign, 0.3, -0.4 * sign, 0.6])
    left, right = np.roll(x, -1), np.roll(x, 1)
    task = lp.Classification([x], [label])
    network = lp.Convolutional((2, 5))
    limit, slope, _ = approach(network, task, start_of(network, task))
    side = np.sign(x @ left)
    expected = label * (2 * x + side * (left + right))
    np.testing.assert_allclose(limit.direction, expected / np.linalg.norm(expected), atol=1e-9)
    # Singular values of the 2-column circulant: ‖x‖² ± x·←x.
    size, along = x @ x, abs(x @ left)
    assert limit.rate == pytest.approx((1 - np.sqrt((size - along) / (size + along))) / 2, rel=1e-9)
    assert slope == pytest.approx(-limit.rate, abs=SLOPE_TOLERANCE)


@pytest.mark.parametrize("label", [1, -1])
def test_one_sample_and_a_filter_of_one(label):
    """Corollary 4: the sample itself; what never moves of the last layer falls as margin^−1/2."""
    x = np.array([2.0, 1.5, 0.3, -0.4])
    task = lp.Classification([x], [label])
    network = lp.Convolutional((1, 4))
    limit, slope, _ = approach(network, task, start_of(network, task))
    np.testing.assert_allclose(limit.direction, label * x / np.linalg.norm(x), atol=1e-9)
    assert limit.rate == pytest.approx(0.5)
    assert slope == pytest.approx(-0.5, abs=SLOPE_TOLERANCE)


DIRECTION_CONVERGED = {"diagonal": (0, 1, 3, 4), "convolutional": (0, 1, 2, 3)}
DEEP = {"diagonal": lp.Diagonal(depth=3), "convolutional": lp.Convolutional((5, 5, 5))}


def deep_flow(name, seed):
    task = random_task(seed, 3, 5)
    problem = lp.Problem(DEEP[name], start_of(DEEP[name], task), task)
    run = lp.flow(problem, margin=1e10)
    margins = run.margins.min(axis=1)
    before = run.directions[np.searchsorted(margins, 1e9)]
    return problem, run.directions[-1], float(np.linalg.norm(run.directions[-1] - before))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "seed"), [(n, s) for n in DIRECTION_CONVERGED for s in DIRECTION_CONVERGED[n]]
)
def test_spread_of_three_layers(name, seed):
    """The flow ends at a stationary point: the conditions hold to better than 1e-4."""
    problem, direction, turned = deep_flow(name, seed)
    assert turned < 1e-4
    found = lp.analysis.stationarity(problem, direction, active=1e-5)
    assert found.residuals["spread"] < 1e-4
    assert found.residuals["margins"] < 1e-4
    with pytest.raises(lp.errors.NoTheoremApplies, match="fixes a set"):
        lp.predict(problem)
    wrong = direction + 0.1 * np.abs(direction).max() * np.eye(5)[0]
    assert not lp.analysis.stationarity(problem, wrong, active=1e-5).ok


@pytest.mark.slow
def test_a_flow_that_passes_by_a_stationary_point():
    """Seed 2 is near one with two active coordinates at 1e4, and leaves it as margin^(1/3)."""
    problem, direction, turned = deep_flow("diagonal", 2)
    assert turned > 1e-2
    assert not lp.analysis.stationarity(problem, direction, active=1e-5).ok
