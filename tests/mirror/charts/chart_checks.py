"""What every logarithmic chart must satisfy, checked against the layers themselves."""

import numpy as np

STEP = 1e-5


def some_state(chart, seed=0, size=1.0):
    return size * np.random.default_rng(seed).standard_normal(chart.dimension)


def differences(function, state):
    """Central differences, (outputs, dimension)."""
    columns = [
        (function(state + STEP * unit) - function(state - STEP * unit)) / (2 * STEP)
        for unit in np.eye(len(state))
    ]
    return np.column_stack(columns)


def assert_gradient(chart, state):
    """`times_gradient` of the identity against differences of the coefficients."""
    exact = chart.times_gradient(np.eye(len(chart.movable)), state)
    found = differences(chart.coefs, state)
    # Truncation: step² times the third derivative (up to L² ≤ 36 times the first) over 6; rounding:
    # eps/step times the coefficients; both relative to the largest entry of the row's kind.
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-8 * np.abs(exact).max())


def assert_velocity(chart, state, derivatives):
    """The layers move by `neg_grad · ∂β/∂layer`: the chain rule against the chart's velocity."""
    n = len(chart.movable)
    neg_grad = np.random.default_rng(6).standard_normal(n)
    moving = differences(lambda s: np.concatenate(chart.layers(s)), state)
    velocity = chart.velocity(neg_grad, state) * np.exp(-chart.log_time_unit)
    expected = np.concatenate([neg_grad * part for part in derivatives(chart.layers(state))])
    # Central differences, as above.
    np.testing.assert_allclose(
        moving @ velocity, expected, rtol=1e-7, atol=1e-8 * np.abs(expected).max()
    )


def assert_velocity_gradient(chart, state):
    """Against differences of the velocity at a fixed gradient, and linear in that."""
    n = len(chart.movable)
    neg_grad = np.random.default_rng(7).standard_normal(n)
    exact = chart.velocity_gradient(neg_grad, state)
    assert exact.shape == (chart.dimension, chart.dimension)
    found = differences(lambda s: chart.velocity(neg_grad, s), state)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-8 * max(np.abs(found).max(), 1.0))
    neg_grads = np.random.default_rng(8).standard_normal((n, 3))
    several = chart.velocity(neg_grads, state)
    assert several.shape == (chart.dimension, 3)
    np.testing.assert_array_equal(several[:, 1], chart.velocity(neg_grads[:, 1], state))


def assert_many_states_at_once(chart):
    states = np.stack([some_state(chart, seed) for seed in range(3)])
    np.testing.assert_array_equal(chart.coefs(states)[1], chart.coefs(states[1]))
    for layer, alone in zip(chart.layers(states), chart.layers(states[1]), strict=True):
        np.testing.assert_array_equal(layer[1], alone)
    signs, logs = chart.signs_and_logs(states)
    assert signs.shape == logs.shape == (3, len(chart.movable))


def assert_never_undefined(chart):
    """An integrator's trial states must be rejected by their size, not by a NaN."""
    n = len(chart.movable)
    for size in (1e4, -1e4):
        state = np.full(chart.dimension, size)
        for neg_grad in (np.full(n, 1e100), np.zeros(n), np.full(n, -1e100)):
            assert np.isfinite(chart.velocity(neg_grad, state)).all()
            assert np.isfinite(chart.velocity_gradient(neg_grad, state)).all()
        assert np.isfinite(chart.coefs(state)).all()
        assert np.isfinite(chart.times_gradient(np.eye(n), state)).all()
        assert all(np.isfinite(layer).all() for layer in chart.layers(state))
