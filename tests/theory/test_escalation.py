"""Exact arithmetic where float64 does not certify: classes of random problems that it refused."""

from fractions import Fraction

import numpy as np
import pytest
from tests.campaign.families import draw

import limitpoint as lp
from limitpoint.theory import escalation

NETWORKS = (lp.Diagonal(2), lp.Diagonal(3), lp.SignedPower(2), lp.SignedPower(3), lp.Paired())
FLOAT64 = (lp.Status.CONVERGED, lp.Status.LEAST_SQUARES)
PROVED = (lp.Status.PROVED, lp.Status.PROVED_LEAST_SQUARES)


def problem(network, scale, X, y, rng):
    task = lp.Regression(X, y)
    layers = [rng.standard_normal(shape) for shape in network.layer_shapes(task)]
    if isinstance(network, lp.SignedPower):
        layers = [np.abs(layer) for layer in layers]
    return lp.Problem(network, lp.Init(layers, scale), task)


def sizes(rng):
    return int(rng.integers(1, 6)), int(rng.integers(6, 12))


def far_units(rng, network):
    """Rows and columns 10^±8 apart."""
    m, n = sizes(rng)
    X, rows = rng.standard_normal((m, n)), 10.0 ** rng.uniform(-8, 8, m)
    y = X @ rng.standard_normal(n)
    return problem(network, 0.1, rows[:, None] * X * 10.0 ** rng.uniform(-8, 8, n), rows * y, rng)


def large_targets(rng, network):
    size = 10.0 ** rng.uniform(3, 8)
    m, n = sizes(rng)
    return problem(network, 0.1, rng.standard_normal((m, n)), size * rng.standard_normal(m), rng)


def large_start(rng, network):
    m, n = sizes(rng)
    size = 10.0 ** rng.uniform(3, 8)
    return problem(network, size, rng.standard_normal((m, n)), rng.standard_normal(m), rng)


def zero_targets(rng, network):
    n = int(rng.integers(2, 8))
    return problem(network, 0.1, rng.standard_normal((n, n)), np.zeros(n), rng)


def tiny_targets(rng, network):
    m, n = sizes(rng)
    size = 10.0 ** rng.uniform(-62, -58)
    return problem(network, 0.1, rng.standard_normal((m, n)), size * rng.standard_normal(m), rng)


# Each with how many of 10 problems of every network float64 alone refuses, at least.
CLASSES = {
    "far units": (far_units, 0),
    "large targets": (large_targets, 0),
    "large start": (large_start, 25),
    "zero targets": (zero_targets, 15),
    "tiny targets": (tiny_targets, 35),
}


@pytest.mark.parametrize("name", CLASSES)
def test_what_float64_refuses_is_answered(name):
    make, refused = CLASSES[name]
    rng, escalated = np.random.default_rng(11), 0
    for network in NETWORKS:
        for _ in range(10):
            limit = lp.predict(make(rng, network))
            assert limit.status.ok
            assert limit.certificate.ok
            assert (limit.proof is None) == (limit.status in FLOAT64)
            escalated += limit.status in PROVED
    assert escalated >= refused


@pytest.mark.parametrize("name", ["Diagonal 2 tied", "Power 2", "Power 3", "SignedPower 3 opp."])
def test_what_keeps_its_sign_in_random_units_is_answered(name):
    """Where the oracle's limit is unique, whatever float64 alone says."""
    for number in range(15):
        limit = lp.predict(draw(name, 5, number).problem)
        assert limit.status.ok, (number, limit.status)


def hidden(scale=1e6, network=None, y=1.0):
    task = lp.Regression([[1.0, 2.0, 3.0]], [y])
    init = lp.Init([[1.0, 2.0, 3.0], [3.0, -1.0, 0.5]], scale)
    return lp.Problem(network or lp.Diagonal(2), init, task)


def test_it_can_be_turned_off():
    limit = lp.predict(hidden(), escalate=False)
    assert limit.status is lp.Status.DATA_HIDDEN
    assert limit.proof is None


def test_coefficients_are_the_nearest_floats():
    limit = lp.predict(hidden())
    assert limit.status is lp.Status.PROVED
    proof = lp.prove(hidden(), digits=60)
    for value, middle, error in zip(
        limit.coef, proof.coef.midpoint, limit.certificate.coef_errors, strict=True
    ):
        exact = Fraction(middle)
        near = [np.nextafter(value, -np.inf), np.nextafter(value, np.inf)]
        off = abs(Fraction(float(value)) - exact)
        assert off <= min(abs(Fraction(float(one)) - exact) for one in near)
        assert off <= Fraction(float(error))
    np.testing.assert_array_equal(limit.signs, proof.coef.signs)
    np.testing.assert_allclose(limit.log_abs_coef, np.log(np.abs(limit.coef)), rtol=1e-15)


def test_mirror_dual_and_potential_belong_to_the_proved_coefficients():
    made = hidden(1e7)
    limit = lp.predict(made)
    np.testing.assert_allclose(limit.mirror, made.task.X.T @ limit.dual, rtol=1e-14)
    np.testing.assert_allclose(limit.mirror, limit.proof.mirror.values, rtol=0)
    mirror = made.network.mirror_map(made.init)
    np.testing.assert_allclose(limit.potential, mirror.potential(limit.coef).sum(), rtol=1e-14)


def test_coefficients_below_the_smallest_float_keep_sign_and_logarithm():
    task = lp.Regression(np.eye(2) + 0.1, [0.0, 1e-60])
    init = lp.Init([[1.0, 2.0], [0.5, 1.0]], log_scale=-800.0)
    limit = lp.predict(lp.Problem(lp.Diagonal(2), init, task))
    assert limit.status.ok
    proof = lp.prove(lp.Problem(lp.Diagonal(2), init, task))
    np.testing.assert_allclose(limit.log_abs_coef, proof.coef.log_abs, rtol=1e-12)
    np.testing.assert_array_equal(limit.signs, proof.coef.signs)


def test_coefficients_that_no_float_holds_are_left_as_they_were(monkeypatch):
    """Data that would make such coefficients are refused: balls are made too large instead."""
    monkeypatch.setattr(
        lp.results.Balls, "values", property(lambda self: np.full(self.midpoint.shape, np.inf))
    )
    assert lp.predict(hidden()).status is lp.Status.DATA_HIDDEN


def test_what_would_take_long_is_not_tried(monkeypatch):
    monkeypatch.setattr(escalation, "LARGEST", 2)
    assert lp.predict(hidden()).status is lp.Status.DATA_HIDDEN


def test_certified_limits_are_left_alone():
    made = hidden(0.1)
    limit, plain = lp.predict(made), lp.predict(made, escalate=False)
    assert limit.proof is None
    np.testing.assert_array_equal(limit.coef, plain.coef)


def test_a_path_over_scales_goes_on_too():
    path = lp.predict_path(hidden(), [1e-3, 1e6, 1e7])
    assert [one.status for one in path.limits][1:] == [lp.Status.PROVED] * 2
    single = lp.predict(hidden(1e6))
    np.testing.assert_array_equal(path.limits[1].coef, single.coef)
    plain = lp.predict_path(hidden(), [1e6], escalate=False)
    assert plain.limits[0].status is lp.Status.DATA_HIDDEN


def test_the_status_says_so():
    text = str(lp.predict(hidden()))
    assert "float64 alone does not certify" in text
    assert "rounded" in text
