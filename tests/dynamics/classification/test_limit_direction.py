"""The direction of a classification's flow at its end, against max-margin programs of others."""

import numpy as np
import pytest
from tests.oracles import max_margin

import limitpoint as lp
from limitpoint.errors import LimitpointError

TWO_POINTS = lp.Classification([[1.0, 2.0], [0.0, -3.0]], [1, -1])
# Extrapolated over the sharpness: what is left of some 1/κ = 1e-6 is its square, times how near
# samples or coefficients are to taking part. The integrator's own errors do not last.
EXACT = 1e-8


def random_task(seed, shape, loss="exponential"):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal(shape)
    return lp.Classification(X, np.sign(X @ rng.standard_normal(shape[1])), loss=loss)


def problem_of(network, task, seed=0, scale=0.3):
    rng = np.random.default_rng(seed)
    shapes = network.layer_shapes(task)
    layers = [1.0 + rng.random(shape) for shape in shapes[:-1]]
    return lp.Problem(network, lp.Init([*layers, np.zeros(shapes[-1])], scale), task)


def unit(vector):
    return vector / np.linalg.norm(vector)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("network", "direction"),
    [
        (lp.Diagonal(depth=2), (0, 1)),
        (lp.Convolutional((2, 2)), (1, 1)),
        (lp.FullyConnected((2,)), (1, 2)),
    ],
    ids=["diagonal", "convolutional", "dense"],
)
def test_two_points(network, direction):
    found = lp.analysis.limit_direction(problem_of(network, TWO_POINTS))
    assert found.status is lp.Status.DIRECTION_CONVERGED
    np.testing.assert_allclose(found.direction, unit(np.array(direction)), rtol=0, atol=EXACT)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_diagonal_ends_at_the_largest_l1_margin(seed, loss):
    task = random_task(seed, [(3, 4), (4, 6), (5, 8), (6, 6)][seed % 4], loss)
    found = lp.analysis.limit_direction(problem_of(lp.Diagonal(depth=2), task, seed))
    expected = unit(max_margin.l1_by_enumeration(task.signed))
    assert found.status is lp.Status.DIRECTION_CONVERGED
    np.testing.assert_allclose(found.direction, expected, rtol=0, atol=EXACT)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_convolution_ends_at_the_largest_fourier_margin(seed):
    """Clarabel's own solution is right to the root of its gap, some 1e-6."""
    task = random_task(seed, (3, 5))
    found = lp.analysis.limit_direction(problem_of(lp.Convolutional((5, 5)), task, seed))
    expected = unit(max_margin.by_cones(task.signed, 1, max_margin.fourier(5)))
    np.testing.assert_allclose(found.direction, expected, rtol=0, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("hidden", [(3,), (3, 3)])
def test_dense_ends_at_the_largest_l2_margin(hidden):
    task = random_task(0, (4, 5))
    network = lp.FullyConnected(hidden)
    rng = np.random.default_rng(1)
    layers = [rng.standard_normal(shape) for shape in network.layer_shapes(task)]
    found = lp.analysis.limit_direction(lp.Problem(network, lp.Init(layers, 0.5), task))
    expected = unit(max_margin.l2_by_enumeration(task.signed))
    np.testing.assert_allclose(found.direction, expected, rtol=0, atol=EXACT)


@pytest.mark.slow
@pytest.mark.parametrize("depth", [3, 4, 6])
@pytest.mark.parametrize("seed", range(2))
def test_deep_networks_end_at_stationary_points(depth, seed):
    """At margins of 1e10 some are still turning; at their end the conditions hold to 1e-8."""
    problem = problem_of(lp.Diagonal(depth=depth), random_task(seed, (6, 9)), seed)
    found = lp.analysis.limit_direction(problem)
    assert found.status is lp.Status.DIRECTION_CONVERGED
    certificate = lp.analysis.stationarity(problem, found.direction, active=1e-6, tolerance=EXACT)
    assert certificate.ok, certificate


def test_it_goes_on_where_the_exact_flow_ends():
    problem = problem_of(lp.Diagonal(depth=2), random_task(3, (4, 6)))
    found = lp.analysis.limit_direction(problem, margin=1e5)
    run = lp.flow(problem, margin=1e5)
    np.testing.assert_array_equal(found.run.coefs, run.coefs)
    assert found.log_margins[0] == pytest.approx(np.log(1e5), abs=1e-9)
    np.testing.assert_allclose(found.directions[0], run.directions[-1], rtol=0, atol=1e-12)


@pytest.mark.slow
def test_between_the_margins_it_is_the_exact_flow():
    """To some 1/κ of the sharpness κ, which starts to count at once."""
    problem = problem_of(lp.Diagonal(depth=2), random_task(3, (4, 6)))
    found = lp.analysis.limit_direction(problem, margin=1e5)
    run = lp.flow(problem, margin=1e8)
    logs = np.log(np.maximum(run.margins.min(axis=1), 1.0))
    for place in (np.log(1e6), np.log(1e7)):
        index = int(np.argmin(np.abs(found.log_margins - place)))
        there = [np.interp(found.log_margins[index], logs, entry) for entry in run.directions.T]
        # Interpolated linearly between records at most 0.1 apart where it moves as margin^−0.2.
        np.testing.assert_allclose(found.directions[index], there, rtol=0, atol=2e-5)


@pytest.mark.slow
def test_the_extrapolation_gains_what_it_says():
    """The end moves as 1/κ, the extrapolated one as 1/κ²."""
    problem = problem_of(lp.Diagonal(depth=2), random_task(1, (5, 5)), seed=1)
    expected = unit(max_margin.l1_by_enumeration(problem.classification.signed))
    plain, extrapolated = [], []
    for sharpness in (1e3, 1e4, 1e5):
        found = lp.analysis.limit_direction(problem, sharpness=sharpness)
        plain.append(np.linalg.norm(found.directions[-1] - expected))
        extrapolated.append(np.linalg.norm(found.direction - expected))
        assert extrapolated[-1] < found.uncertainty
    np.testing.assert_allclose(np.diff(np.log10(plain)), -1.0, atol=0.05)
    assert np.all(np.diff(np.log10(extrapolated)) < -1.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "shape", "rate"), [(14, (5, 12), 0.0056), (13, (6, 9), 0.0088), (3, (6, 9), 0.152)]
)
def test_exponents(seed, shape, rate):
    """As `Limit.rate` has them, however small: to two per cent."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal(shape), np.sign(rng.standard_normal(shape[0]))
    layers = [1 + rng.random(shape[1]), rng.uniform(-0.5, 0.5, shape[1])]
    problem = lp.Problem(lp.Diagonal(depth=2), lp.Init(layers, 0.3), lp.Classification(X, y))
    found, limit = lp.analysis.limit_direction(problem), lp.predict(problem)
    assert limit.rate == pytest.approx(rate, rel=0.01)
    assert found.rate == pytest.approx(limit.rate, rel=0.02)
    np.testing.assert_allclose(found.direction, limit.direction, rtol=0, atol=EXACT)


def test_a_flow_that_does_not_separate_is_said_to():
    network = lp.Power(depth=3)  # coefficients keep their sign
    task = lp.Classification([[1.0, -1.0], [-1.0, 2.0]], [1, -1])
    problem = lp.Problem(network, lp.Init([np.array([-0.5, 0.5])], 1.0), task)
    found = lp.analysis.limit_direction(problem)
    assert found.status is found.run.status
    assert found.status is not lp.Status.SEPARATED
    assert found.uncertainty == np.inf
    assert np.isnan(found.rate)


def test_tiny_starts_of_deep_networks_stop_where_growth_overflows():
    problem = problem_of(lp.Diagonal(depth=3), random_task(0, (3, 4)), scale=1e-100)
    found = lp.analysis.limit_direction(problem)
    assert found.status is lp.Status.DIRECTION_CONVERGED
    assert found.log_margins[-1] < 3 * (600 - np.log(1e100)) + 1


def test_the_record():
    problem = problem_of(lp.Diagonal(depth=2), random_task(2, (4, 6)))
    found = lp.analysis.limit_direction(problem)
    data = found.to_xarray()
    np.testing.assert_array_equal(data["direction"], found.directions)
    assert found.to_dict()["status"] == "DIRECTION_CONVERGED"
    assert found.to_dict()["log_margin"] >= 1e5
    assert "converged" in str(found)
    assert found.turned <= found.uncertainty


def test_what_is_refused():
    regression = lp.Regression([[1.0, 2.0]], [1.0])
    network = lp.Diagonal(depth=2)
    plain = lp.Problem(network, lp.Init.zero_last(network, regression, scale=0.1), regression)
    with pytest.raises(LimitpointError, match="direction of a classification"):
        lp.analysis.limit_direction(plain)
    relu = lp.ReLU(3)
    problem = lp.Problem(relu, lp.Init.random(relu, TWO_POINTS, scale=0.1, seed=0), TWO_POINTS)
    with pytest.raises(LimitpointError, match="linear in its input"):
        lp.analysis.limit_direction(problem)
    problem = problem_of(network, TWO_POINTS)
    for options in ({"sharpness": 1.0}, {"sharpness": 1e12}, {"log_margin": -1.0}, {"margin": 0}):
        with pytest.raises(LimitpointError, match=next(iter(options))):
            lp.analysis.limit_direction(problem, **options)
    wide = random_task(0, (3, 1500))
    with pytest.raises(LimitpointError, match="3000 numbers"):
        lp.analysis.limit_direction(problem_of(network, wide))
