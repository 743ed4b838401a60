"""Deep networks at small and tiny scale: plateaus, saddle times and inactive coefficients."""

import importlib
import re

import numpy as np
import pytest

import limitpoint as lp
from limitpoint.dynamics.integrate.log_time_change import LogTimeChange

LOG_FLOW = importlib.import_module("limitpoint.dynamics.flows.log_coordinates")


def problem(depth, scale, seed, network=None):
    task, network = lp.examples.zhao_eq7(), network or lp.Diagonal(depth)
    return lp.Problem(network, lp.Init.random(network, task, scale, seed=seed), task)


def half_way_times(run, path):
    """When each entering coefficient first passes half its value at the saddle it makes."""
    times = []
    for p in range(1, path.n_saddles + 1):
        for j in path.entered[p - 1]:
            wanted = path.coefs[p][j]
            passed = run.coefs[:, j] * np.sign(wanted) > 0.5 * abs(wanted)
            # A coefficient that activates again counts from its second time on.
            late = run.times >= 0.5 * (path.path_times[p - 1] + path.path_times[p]) * path.time_unit
            times.append(run.times[np.argmax(passed & late)])
    return np.array(times)


def predicted_times(path):
    count = [len(entered) for entered in path.entered]
    return np.repeat(path.path_times[1:], count) * path.time_unit


def plateaus(given):
    """Coefficients of flow and path half-way between the saddles, the limit left out."""
    path = lp.analysis.saddles(given)
    middles = (path.path_times[1:-1] + path.path_times[2:]) / 2 * path.time_unit
    run = lp.flow(given, times=middles)
    return run.coefs, path.coefs[1:-1]


@pytest.mark.parametrize("seed", [1, 3])
class TestDepthThree:
    def test_plateaus_and_times_at_1e_minus_4(self, seed):
        """The acceptance list: values to 1e-6, times to 1e-3 (the delay is about the scale)."""
        given = problem(3, 1e-4, seed)
        found, expected = plateaus(given)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
        path, run = lp.analysis.saddles(given), lp.flow(given)
        np.testing.assert_allclose(half_way_times(run, path), predicted_times(path), rtol=1e-3)

    def test_plateaus_and_times_at_1e_minus_30(self, seed):
        """Values to 1e-9 and times to 1e-6: here both are set by the integrator alone."""
        given = problem(3, 1e-30, seed)
        found, expected = plateaus(given)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
        path, run = lp.analysis.saddles(given), lp.flow(given)
        assert run.status is lp.Status.CONVERGED
        np.testing.assert_allclose(half_way_times(run, path), predicted_times(path), rtol=1e-6)

    def test_the_limit_is_the_predicted_one(self, seed):
        given = problem(3, 1e-30, seed)
        limit, run = lp.predict(given), lp.flow(given)
        # The flow stops at a relative residual of 1e-10; the sensitivity here is below 10.
        np.testing.assert_allclose(run.coef, limit.coef, rtol=0, atol=1e-9)
        inactive = limit.coef**2 < 1e-30
        assert inactive.any()
        np.testing.assert_array_equal(run.signs[-1][inactive], limit.signs[inactive])
        # Growth is integrated to 1e-10 relative, and is about 70: 100 times that.
        np.testing.assert_allclose(
            run.log_abs_coefs[-1][inactive], limit.log_abs_coef[inactive], rtol=0, atol=1e-6
        )


@pytest.mark.parametrize(("depth", "scales"), [(3, (1e-2, 3e-3, 1e-3)), (4, (0.1, 0.05, 0.02))])
def test_the_error_of_plateaus_falls_with_the_power_of_the_depth(depth, scales):
    """An inactive coefficient is s^L times a number set by its ξ in units of s^(2−L).

    The mirror coordinate in the middle of a plateau does not depend on the scale, so all inactive
    coefficients, and the shift of the active ones that fit what these leave, scale as s^L.
    """
    errors = []
    for scale in scales:
        found, expected = plateaus(problem(depth, scale, seed=1))
        errors.append(np.abs(found - expected).max())
    slope = np.polyfit(np.log(scales), np.log(errors), 1)[0]
    # Corrections are of relative order s^(L−2) (the delay), at most 0.01 here.
    assert slope == pytest.approx(depth, abs=0.1)


@pytest.mark.slow
def test_times_lag_by_the_power_of_the_depth_less_two():
    """A coefficient is visible once its ξ is within O(1) of its pole, of s^(2−L) in all."""
    scales, lags = (1e-2, 1e-3, 1e-4), []
    for scale in scales:
        given = problem(3, scale, seed=1)
        path, run = lp.analysis.saddles(given), lp.flow(given)
        ratio = half_way_times(run, path)[0] / predicted_times(path)[0]
        lags.append(abs(ratio - 1))
    slope = np.polyfit(np.log(scales), np.log(lags), 1)[0]
    # The crossing is read off the integrator's steps, a few per cent of the delay apart.
    assert slope == pytest.approx(1.0, abs=0.1)


@pytest.mark.slow
def test_depth_six_at_a_time_unit_of_1e48():
    given = problem(6, 1e-12, seed=3)
    limit, run = lp.predict(given), lp.flow(given)
    assert run.status is lp.Status.CONVERGED
    assert limit.certificate.ok
    np.testing.assert_allclose(run.coef, limit.coef, rtol=0, atol=1e-9)
    path = lp.analysis.saddles(given)
    np.testing.assert_allclose(half_way_times(run, path), predicted_times(path), rtol=1e-6)


@pytest.mark.slow
def test_verify_passes_and_says_nothing_of_a_sample_flow_it_cannot_run():
    """By the chain: the layers at the smallest scale that is held, their logarithms at both."""
    verdict = lp.verify(problem(3, 1e-30, seed=1))
    assert verdict.passed
    assert len(verdict.flows) == 3
    held = re.search(r"integrated at scale (\S+), not at 1e-30", " ".join(verdict.notes))
    assert 1e-9 <= float(held[1]) <= 1e-3
    assert any(check.name.startswith("saddle") for check in verdict.checks)


def test_sample_and_parameter_space_agree_where_mirror_coordinates_are_resolved():
    given = problem(3, 0.1, seed=1)
    times = np.array([1.0, 5.0, 20.0, 50.0])
    sample = lp.flow(given, times=times, space=lp.SampleSpace())
    parameter = lp.flow(given, times=times, space=lp.ParameterSpace())
    logs = lp.flow(given, times=times, space=lp.LogCoordinates())
    # 100 times the integrators' tolerance 1e-10.
    np.testing.assert_allclose(sample.coefs, parameter.coefs, rtol=0, atol=1e-8)
    np.testing.assert_allclose(sample.coefs, logs.coefs, rtol=0, atol=1e-8)
    np.testing.assert_allclose(sample.duals, logs.duals, rtol=1e-8, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("network", "scale"),
    [
        (lp.Diagonal(3), 1e-300),
        (lp.Diagonal(4), 1e-100),
        (lp.SignedPower(4), 1e-100),
        (lp.SignedPower(5), 1e-46),
    ],
    ids=repr,
)
def test_by_a_time_change_a_flow_takes_no_longer_at_tinier_scales(network, scale):
    """In time the first did not end in 100 s, the last in 40; oracle: path and limit."""
    given = problem(None, scale, seed=1, network=network)
    limit, path = lp.predict(given), lp.analysis.saddles(given)
    run = lp.flow(given, space=lp.LogCoordinates(max_steps=20_000))  # in time, more than 100 000
    assert run.status is lp.Status.CONVERGED
    # The flow stops at a relative residual of 1e-10; the sensitivity here is below 100.
    np.testing.assert_allclose(run.coef, limit.coef, rtol=0, atol=1e-8)
    # 100 times the integrator's tolerance; the delay is of the order of the scale.
    np.testing.assert_allclose(half_way_times(run, path), predicted_times(path), rtol=1e-8)
    found, expected = plateaus(given)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-30, 1e-300])
def test_a_coefficient_that_leaves_and_turns_is_not_passed_over(scale):
    """It shrinks along a straight line, waits with the others, and would grow with the other sign.

    A step over all of that sees one slope on both sides; the flow then ended 7e-3 from its limit.
    """
    rng = np.random.default_rng(305)
    X = rng.standard_normal((3, 5))
    y = X[:, 0] * rng.uniform(0.5, 2) + 0.3 * rng.standard_normal(3)
    task, network = lp.Regression(X, y), lp.Diagonal(3)
    given = lp.Problem(network, lp.Init.random(network, task, scale=scale, seed=1), task)
    path = lp.analysis.saddles(given)
    assert any(path.left)
    run = lp.flow(given)
    np.testing.assert_allclose(run.coef, lp.predict(given).coef, rtol=0, atol=1e-8)
    assert run.times[-1] == pytest.approx(path.path_times[-1] * path.time_unit, rel=1e-8)


def test_times_and_ends_are_met_by_a_time_change_as_well():
    given = problem(3, 1e-30, seed=1)
    path, limit = lp.analysis.saddles(given), lp.predict(given)
    end = path.path_times[-1] * path.time_unit
    middle = (path.path_times[1] + path.path_times[2]) / 2 * path.time_unit
    times = np.array([0.0, 1e-40, middle, 2 * end, 100 * end])
    run = lp.flow(given, times=times)
    np.testing.assert_array_equal(run.times, times)
    assert run.status is lp.Status.CONVERGED
    # Values on a plateau do not depend on when: integrator's tolerance, 100 times.
    np.testing.assert_allclose(run.coefs[2], path.coefs[1], rtol=0, atol=1e-8)
    np.testing.assert_allclose(run.coefs[3:], np.tile(limit.coef, (2, 1)), rtol=0, atol=1e-8)
    early = lp.flow(given, t_end=middle)
    assert early.status is lp.Status.REACHED_END
    assert early.times[-1] == middle
    np.testing.assert_allclose(early.coef, run.coefs[2], rtol=0, atol=1e-8)
    np.testing.assert_allclose(early.duals[-1], run.duals[2], rtol=1e-8)


@pytest.mark.parametrize(
    "network", [lp.Diagonal(3), lp.Diagonal(5), lp.SignedPower(3), lp.SignedPower(4)], ids=repr
)
def test_by_a_time_change_flows_are_where_they_are_in_sample_space(network, monkeypatch):
    """At scales that the mirror map resolves, where time would be the time change."""
    given = problem(None, 0.3, seed=1, network=network)
    times = np.array([0.0, 0.1, 1.0, 5.0, 20.0, 200.0])
    sample = lp.flow(given, times=times, space=lp.SampleSpace())
    monkeypatch.setattr(LOG_FLOW, "FAR_APART", -np.inf)
    changed = lp.flow(given, times=times, space=lp.LogCoordinates())
    # 100 times the integrators' tolerance 1e-10.
    np.testing.assert_allclose(changed.coefs, sample.coefs, rtol=0, atol=1e-8)
    np.testing.assert_allclose(changed.duals, sample.duals, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("held", [[0, 0, 0, 0], [1, 0, 0, 1]])
@pytest.mark.parametrize("network", [lp.Diagonal(4), lp.SignedPower(3)], ids=repr)
def test_the_jacobian_of_the_time_change_is_its_derivative(network, held):
    given = problem(None, 0.1, seed=1, network=network)
    growth, task = network.log_chart(given.init), given.regression
    time_change = LogTimeChange.of(growth, task.X, task.y, 2.0)
    time_change = LogTimeChange(**vars(time_change) | {"held": np.array(held, dtype=bool)})
    rng = np.random.default_rng(0)
    state = 0.5 * rng.standard_normal(growth.dimension + len(task.y) + 1)
    step = 1e-6
    columns = [
        (time_change.velocity(state + change) - time_change.velocity(state - change)) / (2 * step)
        for change in step * np.eye(len(state))
    ]
    found = time_change.jacobian(state)
    # Central differences: step² and eps/step, of derivatives of this size.
    size = np.abs(found).max()
    np.testing.assert_allclose(found, np.array(columns).T, rtol=0, atol=1e-8 * max(1.0, size))


def test_data_far_above_the_start_are_followed_in_logarithms():
    """Next to a pole mirror coordinates hold coefficients of 1e12 to a few digits, at any scale."""
    rng = np.random.default_rng(5)
    task = lp.Regression(rng.standard_normal((3, 6)), 1e12 * rng.standard_normal(3))
    network = lp.SignedPower(6)
    problem = lp.Problem(network, lp.Init.random(network, task, scale=0.5, seed=1), task)
    run, limit = lp.flow(problem), lp.predict(problem)
    assert run.kind == "gradient flow in logarithmic coordinates"
    assert run.status is lp.Status.CONVERGED
    assert np.linalg.norm(run.coef - limit.coef) <= 1e-8 * np.linalg.norm(limit.coef)
    assert lp.verify(problem).passed
    with pytest.raises(lp.errors.InitError, match=r"coefficients of size .*e\+1"):
        lp.flow(problem, space=lp.SampleSpace())


@pytest.mark.slow
def test_steps_that_stability_holds_back_are_noticed():
    """Steps of Adams' method that varied by a few per cent, for ever, at the last coefficient."""
    rng = np.random.default_rng(13)
    task = lp.Regression(rng.standard_normal((4, 6)), rng.standard_normal(4))
    layers = [rng.choice([-1, 1], 6) * 10 ** rng.uniform(-3.5, 0, 6) for _ in range(5)]
    problem = lp.Problem(lp.Diagonal(5), lp.Init(layers, 1e-6), task)
    # 18,000 to 20,300 steps for eight roundings of the data.
    run = lp.flow(problem, space=lp.LogCoordinates(max_steps=40_000))
    assert run.status is lp.Status.CONVERGED
    limit = lp.predict(problem)
    assert np.linalg.norm(run.coef - limit.coef) <= 1e-8 * np.linalg.norm(limit.coef)
