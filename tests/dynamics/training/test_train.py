"""Training by gradient descent: against a plain loop, its laws, its schedule and its errors."""

import numpy as np
import pytest
from tests.theory.problems import diagonal_problem, gaussian_data, random_layers

import limitpoint as lp


def small_problem(scale=0.5, depth=2, loss_factor=1.0):
    layers = random_layers(6, depth, seed=20)
    return diagonal_problem(*gaussian_data(3, 6), *layers, scale=scale, loss_factor=loss_factor)


def plain_descent(problem, learning_rate, steps):
    """Gradient descent in a NumPy loop; the layers after every step."""
    X, y, factor = problem.task.X, problem.task.y, problem.task.loss_factor
    layers = np.stack(problem.init.layers)
    history = [layers]
    for _ in range(steps):
        neg_grad = factor * X.T @ (y - X @ np.prod(layers, axis=0))
        others = [np.prod(np.delete(layers, j, axis=0), axis=0) for j in range(len(layers))]
        layers = layers + learning_rate * neg_grad * np.stack(others)
        history.append(layers)
    return np.stack(history)


@pytest.mark.parametrize("depth", [2, 3, 5])
@pytest.mark.parametrize("loss_factor", [1.0, 2.0])
def test_equals_a_plain_loop(depth, loss_factor):
    problem = small_problem(depth=depth, loss_factor=loss_factor)
    run = lp.train(problem, lp.GD(1e-2), steps=500, record=range(501))
    expected = plain_descent(problem, 1e-2, 500)
    # An identity of 500 contracting steps, each with a few roundings.
    for j in range(depth):
        np.testing.assert_allclose(run.layers[j], expected[:, j], rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.coefs, np.prod(expected, axis=1), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(run.steps, np.arange(501))
    np.testing.assert_allclose(run.times, 1e-2 * np.arange(501), rtol=1e-14)


def test_losses_belong_to_the_coefficients():
    problem = small_problem(loss_factor=2.0)
    run = lp.train(problem, lp.GD(1e-2), steps=100)
    residuals = problem.task.y - run.coefs @ problem.task.X.T
    np.testing.assert_allclose(run.losses, np.sum(residuals**2, axis=1), rtol=1e-12)


def test_differences_of_squares_shrink_by_the_exact_law():
    """`a² − b²` is multiplied by `1 − (ηu)²` in every step (MATH.md, section 2)."""
    problem, rate = small_problem(loss_factor=2.0), 2e-2
    run = lp.train(problem, lp.GD(rate), steps=200, record=range(201))
    a, b = run.layers
    X, y = problem.task.X, problem.task.y
    neg_grads = 2.0 * (y - run.coefs @ X.T) @ X
    expected = (a**2 - b**2)[:-1] * (1 - (rate * neg_grads[:-1]) ** 2)
    # One step's rounding of squares of order 1.
    np.testing.assert_allclose((a**2 - b**2)[1:], expected, rtol=0, atol=1e-14)


def test_distance_to_the_predicted_limit_is_first_order_in_the_step():
    problem = small_problem()
    limit = lp.predict(problem)
    rates = np.array([0.02, 0.01, 0.005, 0.0025])
    errors = []
    for rate in rates:
        run = lp.train(problem, lp.GD(rate), steps=int(400 / rate))
        # The runs must have ended, or the distance would be theirs and not the step's.
        assert run.status is lp.Status.CONVERGED
        errors.append(np.linalg.norm(run.coef - limit.coef))
    slope = np.polyfit(np.log(rates), np.log(errors), 1)[0]
    # The second order adds a relative ηλ to the error, ηλ ≤ 0.02·λ with λ of order 10 at the
    # coarsest: the slope is one to about a tenth.
    assert slope == pytest.approx(1, abs=0.1)


class TestSchedule:
    problem = small_problem()

    def steps(self, count, **arguments):
        return lp.train(self.problem, lp.GD(1e-3), count, **arguments).steps.tolist()

    def test_default_is_log_spaced_with_both_ends(self):
        steps = np.array(self.steps(10_000))
        assert steps[0] == 0
        assert steps[-1] == 10_000
        assert (np.diff(steps) > 0).all()
        assert 100 < len(steps) <= 201
        # Half of a log-spaced schedule lies below the square root.
        assert np.median(steps) < 4 * np.sqrt(10_000)

    def test_a_number_of_records(self):
        assert self.steps(1000, record=4) == [0, 1, 10, 100, 1000]

    def test_given_steps_and_always_both_ends(self):
        assert self.steps(50, record=[7, 3, 7]) == [0, 3, 7, 50]
        assert self.steps(50, record=np.array([0, 50])) == [0, 50]
        assert self.steps(50, record=[0]) == [0, 50]

    def test_records_do_not_change_the_run(self):
        often = lp.train(self.problem, lp.GD(1e-2), 100, record=range(101))
        seldom = lp.train(self.problem, lp.GD(1e-2), 100, record=1)
        np.testing.assert_array_equal(often.coef, seldom.coef)

    def test_a_run_longer_than_one_chunk(self):
        long = lp.train(self.problem, lp.GD(1e-3), 120_000, record=[1, 119_999])
        assert long.steps.tolist() == [0, 1, 119_999, 120_000]
        split = lp.train(self.problem, lp.GD(1e-3), 120_000, record=[20_000, 70_000])
        np.testing.assert_array_equal(long.coef, split.coef)


class TestStatus:
    def test_converged(self):
        assert lp.train(small_problem(), lp.GD(1e-2), 40_000).status is lp.Status.CONVERGED

    def test_reached_end(self):
        assert lp.train(small_problem(), lp.GD(1e-2), 10).status is lp.Status.REACHED_END

    def test_least_squares(self):
        rng = np.random.default_rng(3)
        X, y = rng.standard_normal((8, 3)), rng.standard_normal(8)
        run = lp.train(diagonal_problem(X, y, *random_layers(3)), lp.GD(1e-2), 20_000)
        assert run.status is lp.Status.LEAST_SQUARES

    def test_a_frozen_coefficient_that_is_needed_leaves_least_squares(self):
        X, y = np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([1.0, 0.0])
        run = lp.train(diagonal_problem(X, y, [1.0, 0.0], [0.5, 0.0]), lp.GD(1e-2), 20_000)
        np.testing.assert_allclose(run.coef, [0.5, 0.0], atol=1e-9)
        assert run.status is lp.Status.LEAST_SQUARES

    def test_divergence_is_its_own_status_and_stops(self):
        run = lp.train(small_problem(), lp.GD(100.0), 100_000)
        assert run.status is lp.Status.DIVERGED
        assert "learning rate is too large" in str(run.status)
        assert run.steps[-1] < 100_000
        assert np.isfinite(run.losses[0])

    def test_divergence_within_the_last_record(self):
        run = lp.train(small_problem(), lp.GD(100.0), 50, record=[1])
        assert run.status is lp.Status.DIVERGED


class TestBadArguments:
    @pytest.mark.parametrize("steps", [0, -3, 2.5, True, "10", None])
    def test_steps(self, steps):
        with pytest.raises(lp.errors.LimitpointError, match="steps must be a whole number"):
            lp.train(small_problem(), lp.GD(1e-2), steps)

    def test_steps_may_be_a_numpy_integer(self):
        assert lp.train(small_problem(), lp.GD(1e-2), np.int64(3)).steps[-1] == 3

    @pytest.mark.parametrize("rate", [0.0, -1.0, np.nan, np.inf])
    def test_learning_rate(self, rate):
        with pytest.raises(lp.errors.LimitpointError, match="learning_rate must be a positive"):
            lp.GD(rate)

    @pytest.mark.parametrize(
        ("record", "message"),
        [
            (0, "record must be a whole number, at least 1; it is 0"),
            ([1, 11], "record must hold step numbers between 0 and 10"),
            ([-1, 5], "record must hold step numbers between 0 and 10"),
            ([1.5], "record must be a number of records or a list of step numbers"),
            ([[1, 2]], "record must be a number of records or a list of step numbers"),
        ],
    )
    def test_record(self, record, message):
        with pytest.raises(lp.errors.LimitpointError, match=message):
            lp.train(small_problem(), lp.GD(1e-2), 10, record=record)

    def test_a_scale_below_the_smallest_float(self):
        problem = diagonal_problem(*gaussian_data(3, 6), *random_layers(6), log_scale=-2302.6)
        with pytest.raises(lp.errors.ScaleNotRepresentable, match="cannot be held in float64"):
            lp.train(problem, lp.GD(1e-2), 10)

    @pytest.mark.parametrize("scale", [0.0, np.inf])
    def test_the_limits(self, scale):
        problem = diagonal_problem(*gaussian_data(3, 6), *random_layers(6), scale=scale)
        with pytest.raises(lp.errors.ScaleNotRepresentable, match="cannot be held in float64"):
            lp.train(problem, lp.GD(1e-2), 10)


def test_refining_halves_the_step():
    assert lp.GD(0.5).refined() == lp.GD(0.25)
    assert lp.GD(0.5).time_per_step == 0.5


def test_float64_without_touching_jax_s_configuration():
    import jax

    before = jax.config.jax_enable_x64
    run = lp.train(small_problem(), lp.GD(1e-2), 5)
    assert run.coefs.dtype == np.float64
    assert jax.config.jax_enable_x64 == before
