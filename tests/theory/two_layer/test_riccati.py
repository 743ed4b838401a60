"""Singular values on whitened data in closed form, and their jumps: varre2023.theoremC.12."""

import math

import numpy as np
import pytest
from mpmath import mp, mpf
from tests.oracles.many_digits import two_layer_mp as oracle

from limitpoint.errors import DataError, InitError, LimitpointError
from limitpoint.theory.two_layer.riccati import (
    JumpProcess,
    jumps,
    layer_singular_values,
    log_layer_singular_values,
    riccati_alphas,
    riccati_log_singular_values,
    riccati_singular_values,
)

TARGETS = np.array([3.0, 1.0, 0.5, 0.04])
EPS = float(np.finfo(np.float64).eps)
GAMMAS = [1e3, 1.0, 1e-4, 1e-8, 1e-16, 1e-100, 1e-300]


def moments(target, gamma):
    """Zero, early, around the jump, and late."""
    jump = max(math.log(1 / gamma), 1.0) / (2 * target)
    spread = 1 / target
    around = jump + spread * np.array([-2.0, -0.5, 0.0, 0.5, 2.0])
    return np.array([0.0, 1e-9, 1e-3 * jump, 0.3 * jump, *around[around > 0], 3 * jump, 30 * jump])


def worst(found, expected):
    """Largest relative error, measured in mpmath; zeros must be zero."""
    errors = [
        abs(mpf(float(a)) / b - 1) if b else abs(mpf(float(a)))
        for a, b in zip(found, expected, strict=True)
    ]
    return float(max(errors))


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("target", TARGETS)
def test_against_sixty_digits(target, gamma):
    times = moments(target, gamma)
    exact = [oracle.riccati(target, gamma, t) for t in times]
    found = riccati_singular_values([target], times, gamma=gamma)[:, 0]
    # Rounding of exponents of 700 at most, a few times: 4 · 700 · 1.1e-16 < 1e-12.
    assert worst(found, [beta for _, beta in exact]) < 1e-12
    alphas = riccati_alphas([target], times, gamma=gamma)[:, 0]
    assert worst(alphas, [alpha for alpha, _ in exact]) < 1e-13
    first, second = layer_singular_values(found, gamma=gamma)
    layers = [oracle.layers(beta, gamma) for _, beta in exact]
    assert worst(first, [pair[0] for pair in layers]) < 1e-12
    assert worst(second, [pair[1] for pair in layers]) < 1e-12


@pytest.mark.parametrize("log_gamma", [-800.0, -2302.6])
def test_below_the_smallest_float(log_gamma):
    with mp.workdps(60):
        gamma = mp.exp(mpf(log_gamma))
    jump = -log_gamma / 2
    times = np.array([1e-3, 0.5 * jump, jump - 1, jump, jump + 1, 2 * jump])
    logs = riccati_log_singular_values([1.0], times, log_gamma=log_gamma)[:, 0]
    with mp.workdps(60):
        exact = [mp.log(oracle.riccati(1.0, gamma, t)[1]) for t in times]
    # Absolute errors of the logarithms: eps times the exponents, a few times.
    assert max(abs(float(mpf(float(a)) - b)) for a, b in zip(logs, exact, strict=True)) < 2e-12
    first, second = log_layer_singular_values(logs, log_gamma=log_gamma)
    np.testing.assert_allclose(first + second, logs, atol=1e-12)
    values = layer_singular_values(np.exp(logs), log_gamma=log_gamma)
    np.testing.assert_allclose(values[0][-3:], np.exp(first[-3:]), rtol=1e-12)
    alphas = riccati_alphas([1.0], times, log_gamma=log_gamma)
    # σ_α no longer sees γ: it is tanh t.
    np.testing.assert_allclose(alphas[:, 0], np.tanh(times), rtol=1e-14)


def test_the_printed_form_loses_its_digits_below_1e_minus_8():
    def lost(gamma):
        times = math.log(1 / gamma) / 2 + np.linspace(0.5, 1.5, 11)
        exact = np.array([float(oracle.riccati(1.0, gamma, t)[1]) for t in times])
        ours = riccati_singular_values([1.0], times, gamma=gamma)[:, 0]
        np.testing.assert_allclose(ours, exact, rtol=1e-12)
        return np.max(np.abs(oracle.printed_float(1.0, gamma, times) / exact - 1))

    # 1 − σ_α² is of order γ and carries rounding of eps: a relative error of eps/γ, until σ_α is 1.
    for gamma in (1e-3, 1e-6, 1e-8, 1e-10, 1e-12):
        assert 0.1 * EPS / gamma < lost(gamma) < 10 * EPS / gamma
    assert lost(1e-17) == np.inf


@pytest.mark.parametrize("gamma", [1.0, 1e-2, 1e-6, 1e-12])
def test_against_the_flow_of_the_layers(gamma):
    """`XᵀX = c·I` on a row space of dimension 3 in R⁴, and a loss factor."""
    rng = np.random.default_rng(3)
    rows = np.linalg.qr(rng.standard_normal((4, 3)))[0].T
    c, factor = 2.0, 1.5
    X = np.linalg.qr(rng.standard_normal((3, 3)))[0] @ rows * np.sqrt(c)
    Y = rng.standard_normal((3, 2))
    targets = np.linalg.svd(np.linalg.pinv(X) @ Y, compute_uv=False)
    ends = math.log(1 / gamma) / (2 * c * factor * targets)
    times = np.unique(np.concatenate([[0.0, 0.1], ends, ends + 0.5, [2 * ends[-1] + 2]]))
    W1, W2 = oracle.flow(X, Y, *oracle.orthonormal_start(4, 5, 2, gamma, 0), times, factor)
    predicted = riccati_singular_values(targets, times, gamma=gamma, curvature=c * factor)
    found = np.linalg.svd(W1 @ W2, compute_uv=False)
    # Issue's figure; the absolute tolerance of the oracle, 1e-15, grows by √(1/γ) with the layers.
    np.testing.assert_allclose(found, predicted, rtol=1e-8, atol=1e-8)
    first, second = layer_singular_values(predicted, gamma=gamma)
    np.testing.assert_allclose(np.linalg.svd(W1, compute_uv=False)[:, :2], first, atol=1e-8)
    np.testing.assert_allclose(
        np.linalg.svd(W1, compute_uv=False)[:, 2:], np.sqrt(2 * gamma), atol=1e-8
    )
    np.testing.assert_allclose(np.linalg.svd(W2, compute_uv=False), second, atol=1e-8)


def test_curvature_rescales_time():
    times = np.array([0.0, 1.0, 3.0])
    np.testing.assert_allclose(
        riccati_singular_values(TARGETS, times, gamma=1e-3, curvature=2.5),
        riccati_singular_values(TARGETS, 2.5 * times, gamma=1e-3),
        rtol=1e-13,
    )


@pytest.mark.parametrize("scale", [{"gamma": 1e-3}, {"log_gamma": -2000.0}])
def test_a_target_of_zero_stays_zero(scale):
    times = [0.0, 1.0, 1e300]
    np.testing.assert_array_equal(riccati_singular_values([0.0], times, **scale), 0.0)
    np.testing.assert_array_equal(riccati_alphas([0.0], times, **scale), 0.0)
    assert riccati_singular_values([2.0, 0.0], 5.0, **scale).shape == (2,)
    end = riccati_singular_values([2.0], 1e300, **scale)
    np.testing.assert_allclose(end, 2.0, rtol=1e-14)


# ---------------------------------------------------------------- jumps


def test_jumps_in_order():
    process = jumps([0.5, 2.0, 0.0, 1.0], gamma=1e-4)
    assert process.indices.tolist() == [1, 3, 0]
    np.testing.assert_array_equal(process.targets, [2.0, 1.0, 0.5])
    np.testing.assert_allclose(process.path_times, [0.25, 0.5, 1.0])
    np.testing.assert_allclose(process.values, [0.4, 1 / 3, 0.25])
    assert process.unit == pytest.approx(math.log(1e4), rel=1e-15)
    np.testing.assert_allclose(jumps([2.0], curvature=4.0).path_times, [1 / 16])


@pytest.mark.parametrize("target", [0.3, 1.0, 4.0])
def test_values_tend_to_the_step_process(target):
    process = jumps([target])
    moments_in_units = np.array([0.5, 1.0, 1.5]) * process.path_times
    log_gamma = -1e5
    found = riccati_singular_values([target], moments_in_units * -log_gamma, log_gamma=log_gamma)
    expected = process.coefs_at(moments_in_units)
    # The exponents are 1e5 here: eps times a few of them.
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    np.testing.assert_allclose(expected[:, 0], [0, target / (1 + 2 * target), target], rtol=1e-15)


@pytest.mark.parametrize("target", [0.2, 1.0, 3.0])
def test_jump_times_converge_as_one_over_log(target):
    """Where half of the target is reached, by bisection, against the jump time."""
    logs = -np.array([50.0, 100.0, 200.0, 400.0, 800.0])
    errors = []
    for log_gamma in logs:
        low, high = 0.0, -2 * log_gamma / target
        for _ in range(80):
            middle = (low + high) / 2
            value = riccati_singular_values([target], middle, log_gamma=log_gamma)[0]
            low, high = (middle, high) if value < target / 2 else (low, middle)
        errors.append(low / -log_gamma - jumps([target]).path_times[0])
    slope, constant = np.polyfit(np.log(-logs), np.log(np.abs(errors)), 1)
    # At γ = e^−50 the corrections are of order γ; what is left is rounding of the middle.
    assert slope == pytest.approx(-1.0, abs=1e-9)
    expected = math.log(2 * target) / (2 * target)
    assert np.sign(errors[-1]) * math.exp(constant) == pytest.approx(expected, rel=1e-8)


def test_the_value_at_the_jump_is_not_the_target():
    target = 2.0
    time = 300 / (2 * target)
    found = riccati_singular_values([target], time, log_gamma=-300.0)[0]
    # γ = e^−300 is the only correction; rounding of exponents of 300.
    assert found == pytest.approx(target / (1 + 2 * target), rel=1e-12)
    assert abs(found - target) > 1


def test_a_process_is_a_value():
    process = jumps([1.0, 2.0], gamma=1e-6)
    assert isinstance(process, JumpProcess)
    assert len(process) == 2
    with pytest.raises(ValueError, match="read-only"):
        process.path_times[0] = 1.0
    plain = process.to_dict()
    assert plain["indices"] == [1, 0]
    assert plain["unit"] == process.unit
    data = process.to_xarray()
    assert data["path_time"].dims == ("jump",)
    assert data.attrs["unit"] == process.unit
    text = str(process)
    assert "Jumps: 2" in text
    assert "13.8" in text
    assert "<table>" in process._repr_html_()
    many = str(jumps(np.arange(1.0, 30.0)))
    assert "Jumps: 29, in units of log(1/γ)" in many
    assert "12 of 29 jumps shown" in many
    assert len(jumps([0.0])) == 0


def test_bad_input():
    with pytest.raises(InitError, match="gamma or log_gamma, one of the two"):
        riccati_singular_values([1.0], 0.0)
    with pytest.raises(InitError, match="gamma or log_gamma, one of the two"):
        riccati_singular_values([1.0], 0.0, gamma=1.0, log_gamma=0.0)
    with pytest.raises(InitError, match="gamma must be a positive number; it is 0"):
        riccati_singular_values([1.0], 0.0, gamma=0.0)
    with pytest.raises(InitError, match="log_gamma must be a finite number"):
        riccati_alphas([1.0], 0.0, log_gamma=math.inf)
    with pytest.raises(DataError, match="targets must be singular values"):
        riccati_singular_values([-1.0], 0.0, gamma=1.0)
    with pytest.raises(LimitpointError, match="times must not be negative"):
        riccati_singular_values([1.0], [-1.0], gamma=1.0)
    with pytest.raises(LimitpointError, match="coefs must be singular values"):
        layer_singular_values([-1.0], gamma=1.0)
    with pytest.raises(DataError, match="curvature must be a positive number"):
        jumps([1.0], curvature=0.0)
    with pytest.raises(InitError, match="gamma must be below 1"):
        jumps([1.0], gamma=1.0)
