"""Scale 0: the limit by activation times, how a small scale approaches it, and when it gets there.

Notation: s the scale, L the depth, `h(s)` the time unit, A the coefficients that are non-zero in
the limit (m of them in general curve parameter), I the others.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import linprog, lsq_linear
from tests.oracles.linear_program import minimal_penalty
from tests.oracles.potential_min import minimum_l1
from tests.refusals import no_theorem
from tests.theory.problems import diagonal_problem, gaussian_data, random_layers

import limitpoint as lp
from limitpoint.dynamics.coordinates import RTOL

CERTIFIED = 1e-9
EQ7 = lp.examples.zhao_eq7()
SAMPLE_RTOL = RTOL
PARAMETER_RTOL = RTOL
# Accumulated error of an integration in units of its tolerance per step.
ACCUMULATION = 100.0


def problem_at_zero(m, n, depth, seed=0, **options):
    X, _ = gaussian_data(m, n, seed)
    y = np.random.default_rng(seed + 50).standard_normal(m)
    return diagonal_problem(X, y, *random_layers(n, depth, seed + 1), scale=0.0, **options)


def at(problem, **scale):
    """The same problem at another scale."""
    init = lp.Init(problem.init.direction, **scale)
    return lp.Problem(problem.network, init, problem.task)


def weighted_l1(X, y, t_plus, t_minus):
    """The minimiser itself by HiGHS, for times that are all finite."""
    costs = np.concatenate([t_plus, t_minus])
    found = linprog(costs, A_eq=np.hstack([X, -X]), b_eq=y, method="highs")
    n = X.shape[1]
    return found.x[:n] - found.x[n:]


# ---------------------------------------------------------------- the limit


class TestLimitAtZero:
    @pytest.mark.parametrize("seed", range(4))
    def test_depth_2_is_minimum_l1(self, seed):
        problem = problem_at_zero(6, 15, 2, seed)
        limit = lp.predict(problem)
        expected, _ = minimum_l1(problem.task.X, problem.task.y)
        np.testing.assert_allclose(limit.coef, expected, atol=1e-9 * np.abs(expected).sum())
        assert limit.potential == pytest.approx(np.abs(expected).sum(), rel=1e-9)

    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize("depth", [3, 4])
    def test_deeper_is_weighted_l1_with_different_sides(self, depth, seed):
        problem = problem_at_zero(6, 15, depth, seed)
        task, limit = problem.task, lp.predict(problem)
        growth = problem.network.activation_times(problem.init)
        assert (growth.t_plus != growth.t_minus).all()
        expected = weighted_l1(task.X, task.y, growth.t_plus, growth.t_minus)
        # HiGHS leaves 1e-7 of feasibility; a vertex is a linear function of it.
        size = np.abs(expected).max()
        np.testing.assert_allclose(limit.coef, expected, atol=1e-6 * size)
        best = minimal_penalty(task.X, task.y, growth.t_plus, growth.t_minus)
        assert limit.potential == pytest.approx(best, rel=1e-9)

    @pytest.mark.parametrize("depth", [2, 3, 4])
    def test_carries_theorem_certificate_duals_and_logarithms(self, depth):
        problem = problem_at_zero(6, 15, depth)
        limit = lp.predict(problem)
        growth = problem.network.activation_times(problem.init)
        assert limit.theorem.id == "zhao2026.corollary4.6"
        assert limit.status is lp.Status.CONVERGED
        assert limit.certificate.ok
        assert limit.certificate.worst <= CERTIFIED
        np.testing.assert_allclose(limit.mirror, problem.task.X.T @ limit.dual, rtol=1e-12)
        # Complementarity: a mirror coordinate stands at the activation time of every non-zero
        # coefficient.
        walls = np.where(limit.coef > 0, growth.t_plus, -growth.t_minus)
        np.testing.assert_allclose(limit.mirror[limit.coef != 0], walls[limit.coef != 0], rtol=1e-9)
        assert (limit.mirror <= growth.t_plus * (1 + CERTIFIED)).all()
        assert (limit.mirror >= -growth.t_minus * (1 + CERTIFIED)).all()
        np.testing.assert_array_equal(limit.signs, np.sign(limit.coef))
        np.testing.assert_array_equal(np.isneginf(limit.log_abs_coef), limit.coef == 0)
        assert limit.iterations == lp.analysis.saddles(problem).n_saddles

    @pytest.mark.parametrize("depth", [2, 3])
    def test_a_loss_factor_changes_nothing(self, depth):
        one, other = problem_at_zero(4, 9, depth), problem_at_zero(4, 9, depth, loss_factor=7.0)
        np.testing.assert_array_equal(lp.predict(one).coef, lp.predict(other).coef)

    @pytest.mark.parametrize("depth", [2, 3])
    def test_no_fit_ends_at_least_squares(self, depth):
        rng = np.random.default_rng(3)
        X, y = rng.standard_normal((8, 3)), rng.standard_normal(8)
        limit = lp.predict(diagonal_problem(X, y, *random_layers(3, depth), scale=0.0))
        assert limit.status is lp.Status.LEAST_SQUARES
        assert limit.certificate.ok
        np.testing.assert_allclose(limit.coef, np.linalg.lstsq(X, y, rcond=None)[0], rtol=1e-12)

    def test_duplicate_columns_are_degenerate_at_depth_2(self):
        X, y = gaussian_data(4, 8)
        limit = lp.predict(diagonal_problem(np.hstack([X, X]), y, *random_layers(16), scale=0.0))
        single = lp.predict(diagonal_problem(X, y, *random_layers(8), scale=0.0))
        assert limit.status is lp.Status.DEGENERATE
        assert limit.certificate.ok
        np.testing.assert_allclose(limit.coef[:8] + limit.coef[8:], single.coef, atol=1e-12)

    def test_duplicate_columns_of_a_deeper_network_have_times_of_their_own(self):
        X, y = gaussian_data(4, 8)
        layers = random_layers(16, 3)
        limit = lp.predict(diagonal_problem(np.hstack([X, X]), y, *layers, scale=0.0))
        assert limit.status is lp.Status.CONVERGED
        assert not (limit.coef[:8] * limit.coef[8:]).any()

    def test_zero_targets(self):
        problem = diagonal_problem([[1.0, 2.0]], [0.0], *random_layers(2), scale=0.0)
        limit = lp.predict(problem)
        assert limit.status is lp.Status.CONVERGED
        np.testing.assert_array_equal(limit.coef, 0.0)
        assert limit.iterations == 0

    def test_the_other_end_of_the_scale_is_another_theorem(self):
        problem = diagonal_problem([[1.0, 2.0]], [1.0], *random_layers(2), scale=np.inf)
        with no_theorem("coefficients start at zero"):
            lp.predict(problem)
        layers = np.ones(2), np.zeros(2)
        zero = lp.predict(diagonal_problem([[1.0, 2.0]], [1.0], *layers, scale=0.0))
        lazy = lp.predict(diagonal_problem([[1.0, 2.0]], [1.0], *layers, scale=np.inf))
        np.testing.assert_allclose(zero.coef, [0.0, 0.5], rtol=1e-12)
        np.testing.assert_allclose(lazy.coef, [0.2, 0.4], rtol=1e-12)


class TestSignConstraints:
    """Tied layers: the coefficient keeps its sign."""

    X = np.array([[1.0, 2.0, 0.5], [0.3, -0.4, 1.5]])
    layer = np.array([0.5, 1.0, 0.8])

    @pytest.mark.parametrize("depth", [2, 3, 4])
    def test_signs_that_allow_a_fit(self, depth):
        y = self.X @ [0.7, 0.2, 0.4]
        problem = diagonal_problem(self.X, y, *[self.layer] * depth, scale=0.0)
        limit = lp.predict(problem)
        assert limit.theorem.id == "limitpoint.sign_constrained_at_zero"
        assert limit.status is lp.Status.CONVERGED
        assert (limit.coef >= 0).all()
        growth = problem.network.activation_times(problem.init)
        best = minimal_penalty(self.X, y, growth.t_plus, growth.t_minus)
        assert limit.potential == pytest.approx(best, rel=1e-9)

    @pytest.mark.parametrize("depth", [2, 3, 4])
    def test_signs_that_forbid_one_end_at_constrained_least_squares(self, depth):
        y = np.array([1.0, -2.0])  # only the second column points down, and too little
        limit = lp.predict(diagonal_problem(self.X, y, *[self.layer] * depth, scale=0.0))
        assert limit.theorem.id == "limitpoint.sign_constrained_at_zero"
        assert limit.status is lp.Status.LEAST_SQUARES
        assert limit.certificate.ok
        best = lsq_linear(self.X, y, (0, np.inf), method="bvls", tol=1e-14).x
        assert np.linalg.norm(self.X @ best - y) > 1
        np.testing.assert_allclose(limit.coef, best, atol=1e-10)

    def test_one_tie_among_others(self):
        a, b = random_layers(6)
        X, y = gaussian_data(3, 6)
        b[2] = -a[2]
        limit = lp.predict(diagonal_problem(X, y, a, b, scale=0.0))
        assert limit.theorem.id == "limitpoint.sign_constrained_at_zero"
        assert limit.coef[2] <= 0

    def test_a_frozen_coefficient_stays_at_zero(self):
        X, y = gaussian_data(3, 6)
        a, b, c = random_layers(6, 3)
        free = lp.predict(diagonal_problem(X, y, a, b, c, scale=0.0))
        largest = int(np.abs(free.coef).argmax())
        a[largest] = b[largest] = 0.0
        limit = lp.predict(diagonal_problem(X, y, a, b, c, scale=0.0))
        assert limit.coef[largest] == 0.0
        assert limit.certificate.ok

    def test_explain_says_which_condition_fails(self):
        problem = diagonal_problem(self.X, [1.0, 1.0], *[self.layer] * 3, scale=0.0)
        found = lp.explain(problem).to_dict()
        assert found["limitpoint.sign_constrained_at_zero"]["applies"]
        assert not found["zhao2026.corollary4.6"]["applies"]
        failing = [c for c in found["zhao2026.corollary4.6"]["conditions"] if not c["holds"]]
        assert [c["name"] for c in failing] == [
            "one layer strictly smallest in each coordinate (A)"
        ]

    def test_a_positive_scale_is_not_covered(self):
        problem = problem_at_zero(3, 6, 3)
        found = lp.explain(at(problem, scale=1e-3)).to_dict()
        failing = [c for c in found["zhao2026.corollary4.6"]["conditions"] if not c["holds"]]
        assert [c["name"] for c in failing] == ["scale zero"]


# ---------------------------------------------------------------- how a small scale approaches it


def mirror_at_scale_one(direction, xi):
    """`Ψ₁` and its slope at the given mirror coordinates, each coefficient by its own ODE.

    `da_j/dξ = Π_{k≠j} a_k` for the layers themselves: no turned v, no quadrature.
    """
    layers = np.stack(direction)
    depth = len(layers)
    others = [[k for k in range(depth) if k != j] for j in range(depth)]
    values, slopes = np.zeros((2, len(xi)))
    for i, one_xi in enumerate(xi):
        run = solve_ivp(
            lambda _, a: [np.prod(a[rest]) for rest in others],
            (0.0, one_xi),
            layers[:, i],
            rtol=1e-10,
            atol=1e-12,
        )
        end = run.y[:, -1]
        values[i] = np.prod(end)
        slopes[i] = sum(np.prod(end[rest]) ** 2 for rest in others)
    return values, slopes


def expansion(problem, limit):
    """The error of a small scale: `β_s − β₀ = s^L (first + s^(L−2)·second + …)`.

    By homogeneity `Ψ_s(ξ) = s^L Ψ₁(s^(L−2) ξ)`. A coefficient of I keeps its mirror coordinate ζ
    (in units of h) inside the walls, so it is `s^L Ψ₁(ζ)`, and `X_A β_A = y − X_I β_I` passes this
    on to A: the first order is s^L whatever the data. The mirror coordinates of A stop short of
    their walls by `∫_w^∞ dx/x^(L−1) = w^(2−L)/(L−2)` with `w = |β|^(1/L)/s`, hence by
    `s^(L−2)|β|^((2−L)/L)/(L−2)`; by `X_Aᵀ` this moves ν, the mirror coordinates of I, and so the
    second order.
    """
    X, depth = problem.task.X, problem.network.depth
    active = limit.coef != 0
    assert active.sum() == len(X)
    values, slopes = mirror_at_scale_one(problem.init.direction, np.where(active, 0, limit.mirror))
    coef = limit.coef[active]
    short = -np.sign(coef) * np.abs(coef) ** ((2 - depth) / depth) / (depth - 2)
    moved = X[:, ~active].T @ np.linalg.solve(X[:, active].T, short)
    return tuple(
        completed(X, active, inactive) for inactive in (values[~active], slopes[~active] * moved)
    )


def completed(X, active, inactive):
    """Inactive coefficients together with what the active ones do to keep the fit."""
    both = np.zeros(X.shape[1])
    both[~active] = inactive
    both[active] = -np.linalg.solve(X[:, active], X[:, ~active] @ inactive)
    return both


DEEP_CASES = {
    "depth 3": (problem_at_zero(3, 7, 3, 2), (0.01, 0.005, 0.0025)),
    "depth 4": (problem_at_zero(3, 7, 4, 2), (0.2, 0.1, 0.05)),
    # The product of the other layers is negative: see test_growth.
    "turned": (
        diagonal_problem(
            EQ7.X, EQ7.y, np.ones(4), -np.ones(4), np.array([-0.9, 0.9, 0.9, -0.9]), scale=0.0
        ),
        (0.04, 0.02, 0.01),
    ),
}


class TestRateOfDeepNetworks:
    @pytest.mark.parametrize(("problem", "scales"), DEEP_CASES.values(), ids=DEEP_CASES.keys())
    def test_the_parameter_flow_ends_at_a_distance_of_scale_to_the_depth(self, problem, scales):
        limit = lp.predict(problem)
        depth = problem.network.depth
        first, second = expansion(problem, limit)
        # The flow stops at this relative residual; its own errors are relative to the inactive
        # coefficients.
        relative_residual = lp.ParameterSpace().residual_tolerance * np.linalg.norm(problem.task.y)
        gain = np.linalg.norm(np.linalg.pinv(problem.task.X[:, limit.coef != 0]), 2)
        errors = []
        for scale in scales:
            run = lp.flow(at(problem, scale=scale), space=lp.ParameterSpace())
            assert run.status is lp.Status.CONVERGED
            error = run.coef - limit.coef
            # The first order, up to the second, doubled for the rest of the series.
            size = scale**depth
            rest = 2 * scale ** (depth - 2) * np.linalg.norm(second)
            rest += ACCUMULATION * PARAMETER_RTOL * np.linalg.norm(first)
            assert (
                np.linalg.norm(error - size * first) <= size * rest + 2 * gain * relative_residual
            )
            errors.append(np.linalg.norm(error))
        # log(1 + x) ≤ x at the two ends of the regression.
        slope = np.polyfit(np.log(scales), np.log(errors), 1)[0]
        relative = 2 * np.linalg.norm(second) / np.linalg.norm(first)
        end = gain * relative_residual / (scales[-1] ** depth * np.linalg.norm(first))
        band = (relative * scales[0] ** (depth - 2) + 2 * end) / np.log(scales[0] / scales[-1])
        assert band < 0.5  # tells the powers apart
        assert abs(slope - depth) <= band


class TestRateOfDepth2:
    def test_small_scales_converge_to_scale_zero_like_a_power(self):
        """The inactive one with the largest ζ is `½Δ s² sinh(2ξ+c)`: of order `s^(2(1−|ζ|))`.

        Its mirror coordinate is `ξ = ζ log(1/s) + C`, up to what inactive coefficients of size d do
        to it: they move the active ones by at most `gain·d`, whose mirror coordinates `½ log β`
        move by half of that over β.
        """
        problem = problem_at_zero(4, 9, 2, 4)
        limit, X = lp.predict(problem), problem.task.X
        inactive = limit.coef == 0
        nearest = np.abs(np.where(inactive, limit.mirror, 0)).argmax()
        response = np.linalg.solve(X[:, ~inactive], X[:, inactive])
        gain = 1 + np.linalg.norm(response, 2)
        log_scales = np.array([-10.0, -20.0, -30.0, -40.0])
        logs, sleepers = [], []
        for log_scale in log_scales:
            small = lp.predict(at(problem, log_scale=log_scale))
            logs.append(small.log_abs_coef[nearest])
            sleepers.append(np.linalg.norm(small.coef[inactive]))
            distance = np.linalg.norm(small.coef - limit.coef)
            # Both are certified, relative to the size of the coefficients.
            own = 2 * CERTIFIED * np.linalg.norm(limit.coef) * gain
            assert distance <= gain * sleepers[-1] + own
        slope = np.polyfit(log_scales, logs, 1)[0]
        moved = gain**2 * sleepers[0] / np.abs(limit.coef[~inactive]).min()
        band = 2 * moved / np.ptp(log_scales)
        assert band < 0.01
        assert slope == pytest.approx(2 * (1 - abs(limit.mirror[nearest])), abs=band)

    def test_far_below_the_smallest_float_it_is_scale_zero(self):
        problem = problem_at_zero(4, 9, 2, 1)
        tiny = lp.predict(at(problem, log_scale=-1e5))
        limit = lp.predict(problem)
        np.testing.assert_allclose(tiny.coef, limit.coef, atol=1e-9 * np.abs(limit.coef).max())
        # Mirror coordinates are log(1/s) times those of the path plus ½ log(4β/Δ): below 100 with
        # these data.
        np.testing.assert_allclose(tiny.mirror / 1e5, limit.mirror, atol=100 / 1e5)


# ---------------------------------------------------------------- physical times


class TestPhysicalTimes:
    @pytest.mark.parametrize("log_scale", [-1.0, -200.0, -2302.6])
    def test_depth_2_in_logarithms(self, log_scale):
        path = lp.analysis.saddles(at(problem_at_zero(4, 9, 2), log_scale=log_scale))
        assert path.time_unit == -log_scale

    @pytest.mark.parametrize("depth", [3, 4, 5])
    @pytest.mark.parametrize("scale", [0.5, 1e-3])
    def test_deeper_in_powers(self, depth, scale):
        path = lp.analysis.saddles(at(problem_at_zero(4, 9, depth), scale=scale))
        assert path.time_unit == pytest.approx(scale ** (2 - depth), rel=1e-12)

    @pytest.mark.parametrize("depth", [2, 3])
    def test_the_path_itself_does_not_depend_on_the_scale(self, depth):
        problem = problem_at_zero(4, 9, depth)
        zero, small = lp.analysis.saddles(problem), lp.analysis.saddles(at(problem, scale=1e-9))
        np.testing.assert_array_equal(zero.coefs, small.coefs)
        np.testing.assert_array_equal(zero.path_times, small.path_times)
        assert zero.time_unit == np.inf

    @pytest.mark.parametrize("depth", [2, 3])
    def test_a_loss_factor_rescales_time(self, depth):
        one = lp.analysis.saddles(at(problem_at_zero(4, 9, depth), scale=1e-3))
        other = lp.analysis.saddles(at(problem_at_zero(4, 9, depth, loss_factor=4.0), scale=1e-3))
        np.testing.assert_array_equal(one.path_times, other.path_times)
        assert other.time_unit == one.time_unit / 4

    def test_is_the_path_of_the_activation_times(self):
        problem = problem_at_zero(4, 9, 3)
        growth = problem.network.activation_times(problem.init)
        task = problem.task
        direct = lp.saddle_path(task.X, task.y, growth.t_plus, growth.t_minus)
        np.testing.assert_array_equal(lp.analysis.saddles(problem).coefs, direct.coefs)
        assert direct.time_unit == 1.0


# Moments around a predicted time at which the flow is recorded, in time of the flow. The delays of
# the example are within a few units, and its plateaus 100 long at log_scale −200.
AROUND = np.linspace(-25.0, 25.0, 251)


def recorded_around(problem, path):
    """Coefficients at `AROUND` every saddle, (saddles, moments, n)."""
    moments = (path.path_times[1:] * path.time_unit)[:, None] + AROUND / problem.task.loss_factor
    assert (np.diff(moments.ravel()) > 0).all(), "the windows overlap"
    run = lp.flow(problem, times=moments.ravel())
    assert run.duals is not None
    return run.coefs.reshape(len(moments), len(AROUND), -1)


def lags(path, recorded):
    """When each entering coefficient passes half its value at the saddle, after its prediction."""
    found = []
    for number, step in enumerate(path.entered, start=1):
        for j in step:
            half = recorded[number - 1][:, j] / path.coefs[number, j] - 0.5
            (crossing,) = np.flatnonzero((half[:-1] < 0) & (half[1:] >= 0))
            slope = half[crossing + 1] - half[crossing]
            found.append(AROUND[crossing] - half[crossing] / slope * (AROUND[1] - AROUND[0]))
    return np.array(found)


def example(loss_factor=1.0, **scale):
    network = lp.Diagonal(2)
    task = lp.Regression(EQ7.X, EQ7.y, loss_factor)
    return lp.Problem(network, lp.Init.random(network, task, seed=0, **scale), task)


class TestAgainstTheExactFlow:
    LOG_SCALES = (-200.0, -500.0, -1000.0, -2302.6)

    def time_error(self, path):
        """Error of a time: local errors are relative to ν, which is as large as the time."""
        return ACCUMULATION * SAMPLE_RTOL * (1 + path.path_times[-1] * path.time_unit)

    @pytest.mark.parametrize("loss_factor", [1.0, 5.0])
    @pytest.mark.parametrize("log_scale", [-200.0, -2302.6])
    def test_plateaus_are_the_saddles_in_order(self, log_scale, loss_factor):
        problem = example(loss_factor, log_scale=log_scale)
        path = lp.analysis.saddles(problem)
        middles = (path.path_times[1:-1] + path.path_times[2:]) / 2
        moments = np.append(middles, 1.5 * path.path_times[-1]) * path.time_unit
        coefs = lp.flow(problem, times=moments).coefs
        # At log_scale −200 inactive coefficients and the approach are below e^-40 there, but the
        # flow's own steps leave errors of its tolerance.
        np.testing.assert_allclose(coefs, path.coefs[1:], atol=self.time_error(path))

    def test_first_activation_lags_by_the_time_of_a_logistic(self):
        """Alone, `β̇ = 2β(u − gβ)` from `s²(a ± b)²/4`: half at `log(1/s)/u + log(4k/(a±b)²)/2u`."""
        problem = example(log_scale=-2302.6)
        path = lp.analysis.saddles(problem)
        (j,) = path.entered[0]
        neg_grad, k = (EQ7.X.T @ EQ7.y)[j], path.coefs[1, j]
        a, b = (layer[j] for layer in problem.init.direction)
        expected = np.log(4 * abs(k) / (a + np.sign(k) * b) ** 2) / (2 * abs(neg_grad))
        coefs = recorded_around(problem, path)[0][:, j] / k
        seen = (coefs > 1e-3) & (coefs < 1 - 1e-3)
        odds = np.log(coefs[seen] / (1 - coefs[seen]))  # 2u(t − t_half)
        rate, offset = np.polyfit(AROUND[seen], odds, 1)
        # Odds magnify an error of the coefficient by at most 1/(1e-3).
        error = self.time_error(path) + 1e3 * SAMPLE_RTOL * ACCUMULATION
        assert rate == pytest.approx(2 * abs(neg_grad), abs=error)
        assert -offset / rate == pytest.approx(expected, abs=error)

    def test_activations_lag_by_times_that_do_not_depend_on_the_scale(self):
        """So the relative error of a predicted time is C/log(1/s), C its delay."""
        paths = [lp.analysis.saddles(example(log_scale=log_scale)) for log_scale in self.LOG_SCALES]
        found = np.stack(
            [
                lags(path, recorded_around(example(log_scale=log_scale), path))
                for log_scale, path in zip(self.LOG_SCALES, paths, strict=True)
            ]
        )
        error = self.time_error(paths[-1])
        assert np.abs(found).max() < AROUND[-1]
        np.testing.assert_allclose(found, np.broadcast_to(found[-1], found.shape), atol=error)
        relative = np.abs(found) / np.stack(
            [path.path_times[1:] * path.time_unit for path in paths]
        )
        logs = np.log(-np.array(self.LOG_SCALES))
        for lag, errors in zip(np.abs(found[-1]), relative.T, strict=True):
            slope = np.polyfit(logs, np.log(errors), 1)[0]
            assert slope == pytest.approx(-1.0, abs=2 * error / lag / np.ptp(logs))

    def test_a_loss_factor_makes_it_faster_by_that_factor(self):
        one, five = example(log_scale=-200.0), example(5.0, log_scale=-200.0)
        recorded = [
            recorded_around(problem, lp.analysis.saddles(problem)) for problem in (one, five)
        ]
        # At most one coefficient per unit of time: an error of the time is one of the value.
        error = self.time_error(lp.analysis.saddles(one)) * 2 * np.abs(EQ7.X.T @ EQ7.y).max()
        np.testing.assert_allclose(recorded[1], recorded[0], atol=error)

    def test_deep_activations_lag_by_times_that_do_not_depend_on_the_scale_either(self):
        """Depth 3, by the flow of the parameters: the relative error is of the order of s.

        The mirror coordinate of half a value stops short of the activation time by `(β/2)^(-1/3)
        s`, in units of 1/s: a constant, up to terms that vanish with s. So the delays of successive
        scales approach each other, where a relative error that does not vanish would double them.
        """
        found = []
        for scale in (0.02, 0.01, 0.005):
            problem = at(problem_at_zero(1, 3, 3), scale=scale)
            path = lp.analysis.saddles(problem)
            (j,) = path.entered[0]
            expected = path.path_times[1] * path.time_unit
            run = lp.flow(
                problem, times=expected + np.linspace(-20, 40, 601), space=lp.ParameterSpace()
            )
            half = run.coefs[:, j] / path.coefs[1, j] - 0.5
            found.append(np.interp(0.0, half, run.times) - expected)
        found = np.array(found)
        assert (np.abs(found) < 20).all()
        first, second = np.abs(np.diff(found))
        assert second < first
