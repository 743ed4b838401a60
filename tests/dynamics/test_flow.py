"""Exact gradient flow: against brute force, between spaces, at any scale, and its statuses."""

import numpy as np
import pytest
from tests.counting import count_calls
from tests.networks.unmapped import Unmapped
from tests.oracles.brute.flow import flow_coefs, flow_layers
from tests.theory.problems import (
    LOG_OF_1E_MINUS_1000,
    diagonal_problem,
    gaussian_data,
    gaussian_problem,
    random_layers,
    sensitivity,
)

import limitpoint as lp
from limitpoint.dynamics.coordinates import RTOL
from limitpoint.mirror import ExponentialMap

EPS = np.finfo(np.float64).eps
# Local errors accumulate: a hundred of them (STYLE.md), relative to the size of the solution.
ACCUMULATED = 100 * RTOL
SPACES = [lp.SampleSpace(), lp.ParameterSpace(), lp.LogCoordinates()]
SPACE_IDS = ["sample", "parameter", "log"]
FLOW_LOG_SCALES = {
    **{f"{s:g}": float(np.log(s)) for s in (1.0, 1e-2, 1e-10, 1e-100)},
    "1e-1000": LOG_OF_1E_MINUS_1000,
}


def small_problem(scale=0.3, depth=2, loss_factor=1.0, seed=0):
    X, y = gaussian_data(3, 6, seed)
    layers = random_layers(6, depth, seed=seed + 20)
    return diagonal_problem(X, y, *layers, scale=scale, loss_factor=loss_factor)


def unmapped_problem(scale=None, log_scale=None):
    X, y = gaussian_data(3, 6)
    init = lp.Init(random_layers(6, 4), scale, log_scale=log_scale)
    return lp.Problem(Unmapped(), init, lp.Regression(X, y))


def tolerance(problem, coefs, xi):
    """Local errors enter through the mirror coordinates.

    Relative to coefficients and start, times 1 + |ξ|.
    """
    start = np.abs(problem.network.coef(problem.init.layers)).max()
    return ACCUMULATED * (1 + np.abs(xi).max()) * (np.abs(coefs).max() + start)


@pytest.fixture(params=SPACES, ids=SPACE_IDS)
def space(request):
    return request.param


def is_held(space, log_scale):
    """Whether float64 holds parameters as they are, if it is these that are integrated."""
    return log_scale > LOG_OF_1E_MINUS_1000 or not isinstance(space, lp.ParameterSpace)


def check_refused(problem):
    with pytest.raises(lp.errors.ScaleNotRepresentable, match="cannot be held in float64"):
        lp.flow(problem, space=lp.ParameterSpace())


class TestAgainstBruteForce:
    @pytest.mark.parametrize("scale", [2.0, 0.3, 0.02])
    @pytest.mark.parametrize("loss_factor", [1.0, 2.0])
    def test_along_time(self, space, scale, loss_factor):
        problem = small_problem(scale, loss_factor=loss_factor)
        times = np.array([0.0, 0.01, 0.1, 0.3, 1.0, 2.0, 5.0, 10.0])
        run = lp.flow(problem, times=times, space=space)
        task = problem.task
        expected = flow_coefs(task.X, task.y, problem.init.layers, times, loss_factor)
        xi = lp.predict(problem).mirror
        np.testing.assert_array_equal(run.times, times)
        atol = tolerance(problem, expected, xi)
        np.testing.assert_allclose(run.coefs, expected, rtol=0, atol=atol)

    def test_layers_along_time(self, space):
        problem = small_problem()
        times = np.linspace(0, 5, 11)
        run = lp.flow(problem, times=times, space=space)
        task = problem.task
        expected = flow_layers(task.X, task.y, problem.init.layers, times)
        # As for the coefficients; layers are of order 1.
        atol = tolerance(problem, expected, lp.predict(problem).mirror)
        for j, layer in enumerate(run.layers):
            np.testing.assert_allclose(layer, expected[:, j], rtol=0, atol=atol)

    @pytest.mark.parametrize("depth", [3, 4])
    def test_deeper_networks(self, space, depth):
        problem = small_problem(scale=0.8, depth=depth)
        times = np.linspace(0, 10, 21)
        run = lp.flow(problem, times=times, space=space)
        task = problem.task
        expected = flow_coefs(task.X, task.y, problem.init.layers, times)
        atol = tolerance(problem, expected, lp.predict(problem).mirror)
        np.testing.assert_allclose(run.coefs, expected, rtol=0, atol=atol)

    def test_deeper_networks_fit_the_data_by_themselves(self):
        problem = small_problem(scale=0.8, depth=3)
        run = lp.flow(problem)
        assert run.status is lp.Status.CONVERGED
        relative_residual = np.linalg.norm(problem.task.residual(run.coef))
        start = problem.task.X @ problem.network.coef(problem.init.layers)
        unit = max(np.linalg.norm(problem.task.y), np.linalg.norm(start))
        assert relative_residual <= lp.ParameterSpace().residual_tolerance * unit


class TestBetweenSpaces:
    @pytest.mark.parametrize("log_scale", FLOW_LOG_SCALES.values(), ids=FLOW_LOG_SCALES.keys())
    def test_spaces_agree_along_time(self, log_scale):
        problem = gaussian_problem(5, 12, log_scale=log_scale)
        own = lp.flow(problem)
        # Moments between the integrator's own steps, on the way and at the end.
        times = (own.times[1:] + own.times[:-1])[:: max(1, len(own.times) // 20)] / 2
        sample, *others = (
            lp.flow(problem, times=times, space=space)
            for space in SPACES
            if is_held(space, log_scale)
        )
        xi = np.abs(sample.duals @ problem.task.X)
        # A relative error RTOL per step of mirror coordinates up to ξ moves a coefficient by twice
        # that of its slope; slopes are at most twice the largest coefficient, plus the start.
        a, b = problem.init.direction
        start = np.exp(2 * log_scale) * (a**2 + b**2).max()
        slope = 2 * np.abs(sample.coefs).max() + start
        atol = ACCUMULATED * (1 + xi.max()) * slope
        for other in others:
            np.testing.assert_allclose(sample.coefs, other.coefs, rtol=0, atol=atol)

    def test_losses_belong_to_the_coefficients(self, space):
        problem = small_problem()
        run = lp.flow(problem, space=space)
        expected = [problem.task.loss(coef) for coef in run.coefs]
        np.testing.assert_array_equal(run.losses, expected)

    def test_duals_are_the_integral_of_the_residual(self):
        problem = small_problem(loss_factor=2.0)
        times = np.linspace(0, 3, 2001)
        run = lp.flow(problem, times=times)
        residuals = 2.0 * (problem.task.y - run.coefs @ problem.task.X.T)
        steps = np.diff(times)[:, None] * (residuals[1:] + residuals[:-1]) / 2
        # Trapezoidal rule: T/12 · h² max |r''|, the last two factors by second differences.
        bend = np.abs(np.diff(residuals, 2, axis=0)).max()
        found = run.duals[-1] - run.duals[0]
        atol = times[-1] * bend / 12 + ACCUMULATED * np.abs(found).max()
        np.testing.assert_allclose(found, steps.sum(axis=0), rtol=0, atol=atol)


class TestEndsAtThePrediction:
    """20×50, five scales: to 1e-6, relative, by some thousand evaluations of the map."""

    @pytest.mark.slow
    @pytest.mark.parametrize("log_scale", FLOW_LOG_SCALES.values(), ids=FLOW_LOG_SCALES.keys())
    def test_at_any_scale(self, space, log_scale, monkeypatch):
        problem = gaussian_problem(20, 50, log_scale=log_scale)
        if not is_held(space, log_scale):
            check_refused(problem)
            return
        limit = lp.predict(problem)
        counts = count_calls(monkeypatch, ExponentialMap, "evaluate")
        run = lp.flow(problem, space=space)
        assert run.status is lp.Status.CONVERGED
        assert np.linalg.norm(run.coef - limit.coef) <= 1e-6 * np.linalg.norm(limit.coef)
        if isinstance(space, lp.SampleSpace):  # measured: 2231 to 10517
            assert 0 < counts["evaluate"] < 20_000

    @pytest.mark.parametrize("log_scale", FLOW_LOG_SCALES.values(), ids=FLOW_LOG_SCALES.keys())
    def test_logarithms_and_signs_too(self, log_scale):
        problem = gaussian_problem(5, 12, dense=True, log_scale=log_scale)
        run, limit = lp.flow(problem), lp.predict(problem)
        a, b = (np.exp(log_scale) * layer for layer in problem.init.direction)
        size = np.linalg.norm(limit.coef) + np.linalg.norm(a * b)
        off = lp.SampleSpace().residual_tolerance * sensitivity(problem.task.X, a, b, limit.coef)
        # The relative residual, amplified, is an absolute error of the coefficients; where that is
        # small against a coefficient it is the error of its logarithm.
        allowed = off * size / np.maximum(np.abs(limit.coef), np.finfo(float).tiny)
        known = allowed < 0.1
        assert known.sum() >= 5
        np.testing.assert_array_equal(run.signs[-1][known], limit.signs[known])
        error = np.abs(run.log_abs_coefs[-1] - limit.log_abs_coef)
        rounding = ACCUMULATED * (1 + np.abs(limit.log_abs_coef))
        assert (error <= 2 * allowed + rounding)[known].all()


class TestSaddles:
    """zhao Eq. (7) at 10^-1000: three plateaus, at the times of Algorithm 1."""

    @pytest.fixture(params=[lp.SampleSpace(), lp.LogCoordinates()], ids=["sample", "log"])
    def space(self, request):
        """Those that hold parameters at any scale."""
        return request.param

    log_scale = -2302.6
    saddles = np.array([[0.8, 0, 0, 0], [0, 0, 1.4, 0], [0, 0, 10 / 7, -10 / 49]])
    waits = np.array([1.0, 3.0, 80 / 49])
    task = lp.examples.zhao_eq7()

    def problem(self, log_scale=None):
        network = lp.Diagonal(2)
        init = lp.Init.zero_last(network, self.task, log_scale=log_scale or self.log_scale)
        return lp.Problem(network, init, self.task)

    def jumps(self, log_scale):
        """Times at which the saddles are reached, to leading order."""
        return -log_scale * np.cumsum(self.waits) / self.task.loss_factor

    def test_plateaus_are_the_saddles(self, space):
        jumps = self.jumps(self.log_scale)
        middles = np.append((jumps[1:] + jumps[:-1]) / 2, 1.2 * jumps[-1])
        run = lp.flow(self.problem(), times=middles, space=space)
        # In the middle of a plateau all that is not of the saddle is a power of 10^-1000.
        np.testing.assert_allclose(run.coefs, self.saddles, rtol=0, atol=ACCUMULATED)

    def test_nothing_is_visible_before_the_first_jump(self, space):
        run = lp.flow(self.problem(), times=[0.5 * self.jumps(self.log_scale)[0]], space=space)
        np.testing.assert_array_equal(run.coefs, 0.0)

    def test_jump_times_grow_by_the_waits_per_unit_of_log_scale(self):
        """Each jump is at `log(1/s) Σδ / loss_factor + constant`: a regression gives Σδ exactly."""
        log_scales = np.array([-600.0, -1200.0, -2302.6])
        crossings = np.array([self.crossings(log_scale) for log_scale in log_scales])
        slopes = np.polyfit(-log_scales, crossings, 1)[0]
        expected = np.cumsum(self.waits) / self.task.loss_factor
        # Time errors: accumulated RTOL relative, and the location of the crossing below.
        np.testing.assert_allclose(slopes, expected, rtol=ACCUMULATED + 1e-9)

    def crossings(self, log_scale):
        """Times at which β₀, β₂, β₃ pass half of their first plateau, by repeated zooming in."""
        halves = [(0, 0.4), (2, 0.7), (3, -5 / 49)]
        return [
            self.crossing(log_scale, jump, feature, half)
            for jump, (feature, half) in zip(self.jumps(log_scale), halves, strict=True)
        ]

    def crossing(self, log_scale, jump, feature, half):
        problem = self.problem(log_scale)
        low, high = jump - 100, jump + 100
        while high - low > 1e-9 * jump:
            times = np.linspace(low, high, 201)
            values = np.abs(lp.flow(problem, times=times).coefs[:, feature])
            after = int(np.argmax(values > abs(half)))
            low, high = times[after - 1], times[after]
        return high

    def test_inactive_coefficients_follow_the_closed_form_before_the_first_jump(self, space):
        """With β = 0 the negative gradient is constant: ξ = 2tXᵀy and β = ½s² sinh 2ξ."""
        times = np.array([1.0, 50.0, 400.0, 1000.0])
        run = lp.flow(self.problem(), times=times, space=space)
        xi = np.abs(2.0 * times[:, None] * (self.task.X.T @ self.task.y))
        driven = xi[0] > 0
        xi = xi[:, driven]
        expected = 2 * self.log_scale + 2 * xi + np.log(-np.expm1(-4 * xi) / 4)
        np.testing.assert_array_equal(run.signs[:, driven], 1.0)
        # Logarithms of modulus 4605 at RTOL.
        atol = ACCUMULATED * abs(2 * self.log_scale)
        np.testing.assert_allclose(run.log_abs_coefs[:, driven], expected, rtol=0, atol=atol)

    def test_inactive_coefficients_grow_at_the_gradient_of_the_plateau(self, space):
        """On a plateau `d log|β_i|/dt = 2 · loss_factor · u_i · sign ξ_i`, u −∇ there."""
        jumps = self.jumps(self.log_scale)
        times = np.linspace(0.7 * jumps[0] + 0.3 * jumps[1], 0.3 * jumps[0] + 0.7 * jumps[1], 5)
        run = lp.flow(self.problem(), times=times, space=space)
        neg_grad = 2.0 * self.task.X.T @ (self.task.y - self.task.X @ self.saddles[0])
        inactive = [2, 3]
        rates = np.polyfit(times, run.log_abs_coefs[:, inactive], 1)[0]
        expected = 2 * neg_grad[inactive] * run.signs[0, inactive]
        # The residual of the plateau is right to 100 RTOL.
        np.testing.assert_allclose(rates, expected, rtol=0, atol=10 * ACCUMULATED)

    def test_a_inactive_coefficient_may_change_its_sign(self, space):
        """β₁ was driven up before the first jump (ξ ½) and is driven down by 0.3 after it."""
        start, end = self.jumps(self.log_scale)[:2]
        crossing = start + (end - start) * (0.5 / 0.3) / self.waits[1]
        run = lp.flow(self.problem(), times=[0.99 * crossing, 1.01 * crossing], space=space)
        np.testing.assert_array_equal(run.signs[:, 1], [1.0, -1.0])
        np.testing.assert_array_equal(run.coefs[:, 1], 0.0)

    def test_inactive_coefficients_sit_where_algorithm_1_puts_their_mirror_coordinates(self, space):
        """In the middle of plateau 1: ξ = log(1/s)(s⁽¹⁾ + ½δ₂ u⁽¹⁾), up to a constant."""
        length = -self.log_scale
        jumps = self.jumps(self.log_scale)
        run = lp.flow(self.problem(), times=[jumps[:2].mean()], space=space)
        X, y = self.task.X, self.task.y
        curve_params = X.T @ y * self.waits[0]
        curve_params += X.T @ (y - X @ self.saddles[0]) * self.waits[1] / 2
        expected = -2 * length + 2 * length * np.abs(curve_params)
        inactive = [1, 2, 3]
        # The jump takes a time of order 1 (logarithms of values of order 1), not of order length.
        found = run.log_abs_coefs[0, inactive]
        np.testing.assert_allclose(found, expected[inactive], rtol=0, atol=10)
        np.testing.assert_array_equal(run.signs[0, inactive], np.sign(curve_params[inactive]))


class TestLossFactor:
    @pytest.mark.parametrize("factor", [0.1, 2.0, 50.0])
    def test_only_rescales_time(self, space, factor):
        times = np.linspace(0, 8, 17)
        once = lp.flow(small_problem(), times=times, space=space)
        scaled = lp.flow(small_problem(loss_factor=factor), times=times / factor, space=space)
        atol = tolerance(small_problem(), once.coefs, lp.predict(small_problem()).mirror)
        np.testing.assert_allclose(scaled.coefs, once.coefs, rtol=0, atol=atol)
        np.testing.assert_allclose(
            scaled.losses, factor * once.losses, rtol=0, atol=factor * once.losses[0] * atol
        )


class TestTimesAndEnds:
    def test_t_end_is_the_last_time(self, space):
        run = lp.flow(small_problem(), t_end=0.7, space=space)
        assert run.times[0] == 0.0
        assert run.times[-1] == 0.7
        assert run.status is lp.Status.REACHED_END

    def test_a_late_t_end_has_converged(self, space):
        run = lp.flow(small_problem(), t_end=1e3, space=space)
        assert run.times[-1] == 1e3
        assert run.status is lp.Status.CONVERGED

    def test_t_end_zero_is_the_start(self, space):
        problem = small_problem()
        run = lp.flow(problem, t_end=0.0, space=space)
        np.testing.assert_array_equal(run.times, [0.0])
        start = problem.network.coef(problem.init.layers)
        np.testing.assert_allclose(run.coef, start, rtol=16 * EPS)
        assert run.status is lp.Status.REACHED_END

    def test_times_need_not_contain_the_start(self, space):
        run = lp.flow(small_problem(), times=[0.5, 0.6], space=space)
        np.testing.assert_array_equal(run.times, [0.5, 0.6])
        assert run.coefs.shape == (2, 6)

    def test_dense_output_equals_a_finer_run(self, space):
        times = np.linspace(0, 8, 200)
        problem = small_problem()
        coarse = lp.flow(problem, times=times, space=space)
        fine = lp.flow(problem, times=times, space=type(space)(rtol=1e-12))
        atol = tolerance(problem, fine.coefs, lp.predict(problem).mirror)
        np.testing.assert_allclose(coarse.coefs, fine.coefs, rtol=0, atol=atol)

    def test_dense_output_passes_through_the_integrator_s_own_steps(self, space):
        problem = small_problem()
        own = lp.flow(problem, t_end=8.0, space=space)
        asked = lp.flow(problem, times=own.times, space=space)
        atol = tolerance(problem, own.coefs, lp.predict(problem).mirror)
        np.testing.assert_allclose(asked.coefs, own.coefs, rtol=0, atol=atol)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"times": [0.0, -1.0]}, "times must be increasing"),
            ({"times": [-1.0, 1.0]}, "times must be increasing, 0 or later"),
            ({"times": [1.0, 1.0]}, "times must be increasing"),
            ({"times": []}, "and not empty"),
            ({"times": [0.0, np.nan]}, "times must be finite"),
            ({"times": [[0.0, 1.0]]}, "times must have 1 dimension"),
            ({"times": [1.0], "t_end": 1.0}, "give t_end or times, not both"),
            ({"t_end": -1.0}, "t_end must be a finite time"),
            ({"t_end": np.inf}, "t_end must be a finite time"),
            ({"t_end": np.nan}, "t_end must be a finite time"),
        ],
    )
    def test_bad_times(self, arguments, message):
        with pytest.raises(lp.errors.LimitpointError, match=message):
            lp.flow(small_problem(), **arguments)


class TestStatuses:
    def test_converged_stops_by_itself(self, space):
        run = lp.flow(small_problem(), space=space)
        assert run.status is lp.Status.CONVERGED
        assert run.status.ok

    def test_step_limit(self, space):
        run = lp.flow(small_problem(), space=type(space)(max_steps=5))
        assert run.status is lp.Status.STEP_LIMIT
        assert not run.status.ok
        assert len(run.times) == 6

    def test_step_limit_keeps_the_times_that_were_reached(self, space):
        times = np.linspace(0, 8, 1000)
        run = lp.flow(small_problem(), times=times, space=type(space)(max_steps=20))
        assert run.status is lp.Status.STEP_LIMIT
        assert 0 < len(run.times) < 1000
        np.testing.assert_array_equal(run.times, times[: len(run.times)])

    def test_least_squares(self, space):
        rng = np.random.default_rng(3)
        X, y = rng.standard_normal((8, 3)), rng.standard_normal(8)
        run = lp.flow(diagonal_problem(X, y, *random_layers(3)), space=space)
        assert run.status is lp.Status.LEAST_SQUARES
        expected = np.linalg.lstsq(X, y, rcond=None)[0]
        # The residual tolerance, relative to y or the start, over the smallest singular value.
        start = X @ np.prod(random_layers(3), axis=0)
        unit = max(np.linalg.norm(y), np.linalg.norm(start))
        atol = space.residual_tolerance * unit / np.linalg.svd(X)[1][-1]
        np.testing.assert_allclose(run.coef, expected, rtol=0, atol=atol)

    def test_a_frozen_coefficient_that_is_needed_leaves_least_squares(self, space):
        X, y = np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([1.0, 0.0])
        problem = diagonal_problem(X, y, [1.0, 0.0], [0.5, 0.0])
        run = lp.flow(problem, space=type(space)(max_steps=3000))
        assert run.status is lp.Status.LEAST_SQUARES
        np.testing.assert_allclose(run.coef, [0.5, 0.0], atol=space.residual_tolerance)

    def test_zero_targets_from_a_zero_start_have_arrived(self, space):
        X, _ = gaussian_data(3, 6)
        run = lp.flow(diagonal_problem(X, np.zeros(3), np.ones(6), np.zeros(6)), space=space)
        assert run.status is lp.Status.CONVERGED
        np.testing.assert_array_equal(run.coef, 0.0)

    def test_a_matrix_of_zeros_moves_nothing(self, space):
        a, b = random_layers(4)
        run = lp.flow(diagonal_problem(np.zeros((2, 4)), np.zeros(2), a, b), space=space)
        np.testing.assert_allclose(run.coef, a * b, rtol=16 * EPS)

    @pytest.mark.parametrize("scale", [0.0, np.inf])
    def test_the_limits_have_no_flow(self, scale):
        problem = diagonal_problem(*gaussian_data(3, 6), *random_layers(6), scale=scale)
        with pytest.raises(lp.errors.InitError, match="flow needs a positive, finite scale"):
            lp.flow(problem)

    def test_sample_space_needs_a_mirror_map(self):
        with pytest.raises(lp.errors.InitError, match=r"no mirror map .*use space=ParameterSpace"):
            lp.flow(unmapped_problem(), space=lp.SampleSpace())

    def test_sample_space_needs_mirror_coordinates_that_float64_resolves(self):
        """At depth L a visible coefficient is `s^{L−2}` of a mirror coordinate from its pole."""
        problem = small_problem(scale=1e-4, depth=3)
        with pytest.raises(lp.errors.InitError, match=r"does not resolve .*LogCoordinates"):
            lp.flow(problem, space=lp.SampleSpace())
        assert lp.flow(problem).kind == "gradient flow in logarithmic coordinates"

    def test_logarithmic_coordinates_are_not_of_every_network(self):
        with pytest.raises(lp.errors.InitError, match=r"no logarithmic .*space=ParameterSpace"):
            lp.flow(unmapped_problem(), space=lp.LogCoordinates())
        assert lp.flow(unmapped_problem(), t_end=0.1).kind == "gradient flow in parameter space"

    @pytest.mark.slow
    def test_the_space_follows_the_mirror_coordinates(self):
        assert lp.flow(small_problem(scale=0.1, depth=3)).kind == "gradient flow in sample space"

    def test_plain_coordinates_need_representable_layers(self):
        with pytest.raises(lp.errors.ScaleNotRepresentable, match="cannot be held in float64"):
            lp.flow(unmapped_problem(log_scale=-2302.6))

    def test_times_beyond_float64_are_refused(self):
        problem = diagonal_problem(*gaussian_data(3, 6), *random_layers(6, 3), log_scale=-2302.6)
        with pytest.raises(lp.errors.ScaleNotRepresentable, match="overflow float64; use a scale"):
            lp.flow(problem)


class TestConservation:
    @pytest.mark.parametrize("log_scale", FLOW_LOG_SCALES.values(), ids=FLOW_LOG_SCALES.keys())
    def test_differences_of_squares_stay(self, space, log_scale):
        problem = gaussian_problem(5, 12, log_scale=log_scale)
        if not is_held(space, log_scale):
            check_refused(problem)
            return
        run = lp.flow(problem, space=space)
        xi = np.abs(lp.predict(problem).mirror).max()
        assert lp.analysis.drift(problem.network, run).relative <= ACCUMULATED * (1 + xi)

    @pytest.mark.parametrize("depth", [3, 4])
    def test_differences_of_squares_stay_in_deeper_networks(self, depth):
        problem = small_problem(scale=0.8, depth=depth)
        run = lp.flow(problem, t_end=10.0)
        moved = lp.analysis.drift(problem.network, run)
        assert 0 < moved.relative <= 10 * ACCUMULATED
        assert moved.total >= moved.relative * max((layer**2).max() for layer in run.layers)

    def test_drift_is_measured(self):
        """A record whose invariant a₂² − a₁² moves from 0 to 3, relative to the square 4."""
        layers = (np.array([[1.0], [1.0]]), np.array([[1.0], [2.0]]))
        moved = lp.results.Trajectory.build(
            kind="made up",
            status=lp.Status.REACHED_END,
            times=np.array([0.0, 1.0]),
            coefs=layers[0] * layers[1],
            losses=np.zeros(2),
            relative_residual=1.0,
            layers=layers,
        )
        found = lp.analysis.drift(lp.Diagonal(2), moved)
        assert (found.total, found.relative) == (3.0, 0.75)

    def test_drift_needs_layers(self):
        bare = lp.results.Trajectory.build(
            kind="made up",
            status=lp.Status.REACHED_END,
            times=np.zeros(1),
            coefs=np.ones((1, 2)),
            losses=np.zeros(1),
            relative_residual=1.0,
        )
        with pytest.raises(ValueError, match="trajectory must have recorded its layers"):
            lp.analysis.drift(lp.Diagonal(2), bare)

    def test_signs_of_the_larger_layer_never_change(self, space):
        problem = small_problem(scale=0.1)
        run = lp.flow(problem, space=space)
        a, b = problem.init.direction
        larger = np.where(np.abs(a) > np.abs(b), run.layers[0], run.layers[1])
        assert (np.sign(larger) == np.sign(larger[0])).all()


@pytest.mark.parametrize("network", [lp.Diagonal(2), lp.Diagonal(3), lp.FullyConnected((2,))])
def test_where_nothing_moves_the_end_is_still_the_end(network):
    task = lp.Regression([[1.0, 2.0]], [1.0])
    init = lp.Init([np.zeros(shape) for shape in network.layer_shapes(task)])
    run = lp.flow(lp.Problem(network, init, task), t_end=3.0)
    np.testing.assert_array_equal(run.times, [0.0, 3.0])
    np.testing.assert_array_equal(run.coefs, 0.0)


def test_a_coefficient_that_never_moves_does_not_hold_up_the_others():
    """Two zero layers at depth 3.

    The inversion of its mirror coordinate never converged, in 100 rounds.
    """
    rounds = []
    X, y = gaussian_data(3, 4)
    for frozen in (False, True):
        layers = [layer.copy() for layer in random_layers(4, 3)]
        if frozen:
            layers[0][-1] = layers[1][-1] = 0.0
        problem = diagonal_problem(X, y, *layers, scale=0.3)
        mirror = problem.network.mirror_map(problem.init)
        calls = []
        real = type(mirror.table).mirror_coords

        def counted(self, curve_params, real=real, calls=calls):
            calls.append(1)
            return real(self, curve_params)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(mirror.table), "mirror_coords", counted)
            mirror.coefs(np.linspace(-1.0, 1.0, 4) / problem.init.scale)
        rounds.append(len(calls))
    assert rounds[1] <= rounds[0] + 1
