"""`limitpoint.weight_decay`: training with weight decay ends at a lasso, whatever the start."""

import dataclasses

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.oracles.lasso_by_enumeration import minimisers

import limitpoint as lp
from limitpoint.theory.solvers.lasso.lasso_certificate import certify_lasso
from limitpoint.theory.solvers.lasso.lasso_problem import Lasso
from limitpoint.theory.solvers.lasso.lasso_solver import solutions

DIAGONAL = lp.Diagonal(2)
# Networks, and the weight of the penalty for each unit of weight decay.
NETWORKS = [(lp.Diagonal(2), 1.0), (lp.SignedPower(2), 0.5), (lp.Power(2), 0.5), (lp.Paired(), 1.0)]
EVERY = pytest.mark.parametrize(("network", "factor"), NETWORKS, ids=lambda one: str(one))
# Of the flow, of relative tolerance 1e-10: a hundred times that.
FLOW = 1e-8
# Certified answers are right to 1e-7 in what they contribute; these problems are well conditioned
# and small, and their answers some hundred roundings from the exact ones.
EXACT = 1e-12


def problem_of(network, task, seed=0, scale=1.0):
    return lp.Problem(network, lp.Init.random(network, task, scale=scale, seed=seed), task)


def random_task(rng, m=3, n=5, loss_factor=1.0):
    return lp.Regression(rng.standard_normal((m, n)), 2 * rng.standard_normal(m), loss_factor)


def both(n):
    return np.ones(n, dtype=bool), np.ones(n, dtype=bool)


def solved(lasso):
    """The first answer that is certified."""
    for coef, left in solutions(lasso):
        certificate, ambiguous = certify_lasso(lasso, coef, left)
        if certificate.ok:
            break
    return coef, left, certificate, ambiguous


def drawn_lasso(number):
    """Small integers with ties, or Gaussian; columns of zeros, equal ones, signs, any units."""
    rng = np.random.default_rng(number)
    m, n = int(rng.integers(1, 4)), int(rng.integers(1, 5))
    tied = number % 2 == 0
    X = rng.integers(-2, 3, (m, n)).astype(float) if tied else rng.standard_normal((m, n))
    y = rng.integers(-3, 4, m).astype(float) if tied else rng.standard_normal(m)
    if n > 2 and number % 3 == 0:
        X[:, -1] = rng.choice([-1.0, 1.0]) * X[:, 0]
    if n > 1 and number % 5 == 0:
        X[:, 1] = 0.0
    if number % 4 == 1:
        X = X * 10.0 ** rng.integers(-8, 9, n)
    if number % 8 == 3:
        rows = 10.0 ** rng.integers(-4, 5, m)
        X, y = X * rows[:, None], y * rows
    largest = float(np.abs(X.T @ y).max())
    weight = (
        float(rng.integers(1, 4)) if tied else (largest or 1.0) * 10.0 ** rng.uniform(-6.0, 0.2)
    )
    rises, falls = rng.random((2, n)) < 0.85
    return Lasso(X, y, weight, rises, falls)


class TestTheLasso:
    @pytest.mark.parametrize("number", range(160))
    def test_against_all_signs_in_fractions(self, number):
        lasso = drawn_lasso(number)
        allowed = [
            [side for side, can in ((1, up), (-1, down)) if can]
            for up, down in zip(lasso.rises, lasso.falls, strict=True)
        ]
        exact = minimisers(lasso.X, lasso.y, lasso.weight, allowed)
        coef, _, certificate, ambiguous = solved(lasso)
        assert certificate.ok
        assert ambiguous == (len(exact) > 1)
        fit = lasso.X @ np.array([float(v) for v in exact[0]])
        sizes = np.abs(lasso.X) @ np.abs(coef) + np.abs(lasso.y)
        assert (np.abs(lasso.X @ coef - fit) <= EXACT * sizes).all()
        if not ambiguous:
            expected = np.array([float(v) for v in exact[0]])
            bound = certificate.coef_errors + EXACT * np.abs(expected)
            assert (np.abs(coef - expected) <= bound).all()
            np.testing.assert_array_equal(np.sign(coef), np.sign(expected))

    def test_the_draws_have_it_all(self):
        lassos = [drawn_lasso(number) for number in range(160)]
        found = [solved(lasso) for lasso in lassos]
        assert sum(ambiguous for *_, ambiguous in found) >= 5
        assert sum(not coef.any() for coef, *_ in found) >= 10
        assert sum(np.count_nonzero(coef) > 1 for coef, *_ in found) >= 30

    @pytest.mark.parametrize("weight", [1e-300, 1e-14, 1e-8])
    def test_of_a_tiny_weight_is_the_least_l1_norm(self, weight):
        rng = np.random.default_rng(1)
        X, y = rng.standard_normal((20, 50)), rng.standard_normal(20)
        coef, left, certificate, ambiguous = solved(Lasso(X, y, weight, *both(50)))
        assert certificate.ok
        assert not ambiguous
        # Off by the weight times (SᵀS)⁻¹, of order one.
        np.testing.assert_allclose(coef, lp.saddle_path(X, y).coef, rtol=0, atol=1e-12 + 9 * weight)
        np.testing.assert_allclose(X.T @ left * np.sign(coef), weight * (coef != 0), atol=weight)

    def test_of_a_weight_below_the_rounding_of_a_sparse_fit_needs_fractions(self):
        rng = np.random.default_rng(1)
        X = rng.standard_normal((5, 9))
        lasso = Lasso(X, X[:, :2] @ [1.0, -2.0], 1e-20, *both(9))
        assert [certify_lasso(lasso, *one)[0].ok for one in solutions(lasso)] == [
            False,
            False,
            True,
        ]

    def test_of_a_weight_below_the_rounding_of_the_residual_is_least_squares(self):
        rng = np.random.default_rng(1)
        X, y = rng.standard_normal((30, 8)), rng.standard_normal(30)
        coef, _, certificate, ambiguous = solved(Lasso(X, y, 1e-18, *both(8)))
        assert certificate.ok
        assert not ambiguous
        np.testing.assert_allclose(coef, np.linalg.lstsq(X, y)[0], rtol=1e-12)


class TestTheCertificate:
    lasso = Lasso(
        *(lambda task: (task.X, task.y))(random_task(np.random.default_rng(4))), 0.3, *both(5)
    )

    @pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
    @pytest.mark.parametrize("axis", ["row", "column"])
    @pytest.mark.parametrize("change", ["coef", "dropped", "weight", "residual", "extra"])
    def test_is_not_fooled(self, change, axis, unit):
        X, y = self.lasso.X.copy(), self.lasso.y.copy()
        if axis == "row":
            X[1], y[1] = unit * X[1], unit * y[1]
        else:
            X[:, 0] *= unit
        lasso = Lasso(X, y, 0.3, *both(5))
        coef, left, certificate, _ = solved(lasso)
        assert certificate.ok
        used = np.flatnonzero(coef)
        wrong = coef.copy()
        if change == "coef":
            wrong[used[0]] *= 1 + 1e-6
        elif change == "dropped":
            wrong[used[0]] = 0.0
        elif change == "residual":
            left = left * (1 + 1e-6)
        elif change == "weight":
            lasso = dataclasses.replace(lasso, weight=0.3 * (1 + 1e-6))
        else:
            other = np.flatnonzero((coef == 0) & X.any(axis=0))[0]
            wrong[other] = 1e-6 * np.abs(coef[used] * X[:, used]).max() / np.abs(X[:, other]).max()
        if change in ("dropped", "extra", "coef"):
            # With the residual of the wrong coefficients, too.
            consistent = certify_lasso(lasso, wrong, y - X @ wrong)[0]
            assert not consistent.ok
        assert not certify_lasso(lasso, wrong, left)[0].ok

    def test_bounds_the_error_where_no_residual_shows_it(self):
        """Columns that differ by 1e-6: moving from one to the other changes next to no fit."""
        X = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-6]])
        lasso = Lasso(X, X @ [2.0, 1.0], 1e-15, *both(2))
        coef, left, certificate, _ = solved(lasso)
        assert certificate.ok
        wrong = certify_lasso(lasso, coef + np.array([1e-4, -1e-4]), left)[0]
        names = [name for name, value in wrong.residuals.items() if value > wrong.allowed(name)]
        assert names == ["error bound"]

    def test_refuses_a_residual_that_is_another_one(self):
        X, y = np.array([[1.0, 2.0]]), np.array([1.0])
        lasso = Lasso(X, y, 5.0, *both(2))
        assert certify_lasso(lasso, np.zeros(2), y)[0].ok
        found = certify_lasso(lasso, np.zeros(2), 0.5 * y)[0]
        assert found.residuals["fit"] == pytest.approx(0.5)
        assert not found.ok

    def test_refuses_a_sign_that_is_not_allowed(self):
        coef, left, *_ = solved(self.lasso)
        closed = dataclasses.replace(self.lasso, rises=np.zeros(5, dtype=bool))
        assert certify_lasso(closed, coef, left)[0].residuals["stationarity"] == np.inf

    def test_refuses_what_is_no_number(self):
        coef, left, *_ = solved(self.lasso)
        assert not certify_lasso(self.lasso, np.full_like(coef, np.nan), left)[0].ok
        assert not certify_lasso(self.lasso, coef, np.full_like(left, np.nan))[0].ok


def raw_flow(problem, decay, t_end):
    """The layers at the end of gradient flow with weight decay, by an integrator and no more."""
    task, start = problem.task, [np.array(layer) for layer in problem.init.layers]
    size = start[0].size
    signs = {"Diagonal": (1, 0), "Paired": (1, -1)}.get(type(problem.network).__name__)

    def velocity(t, state):
        layers = [state[i : i + size] for i in range(0, len(state), size)]
        if signs is None:  # powers, one with a minus
            coef = layers[0] ** 2 - (layers[1] ** 2 if len(layers) > 1 else 0.0)
        else:
            coef = layers[0] * layers[1] - (layers[2] * layers[3] if signs[1] else 0.0)
        g = task.loss_factor * task.X.T @ (task.X @ coef - task.y)
        if signs is None:
            slopes = [2 * g * layers[0], *(-2 * g * one for one in layers[1:])]
        else:
            slopes = [g * layers[1], g * layers[0]]
            slopes += [-g * layers[3], -g * layers[2]] if signs[1] else []
        return -np.concatenate([s + decay * a for s, a in zip(slopes, layers, strict=True)])

    found = solve_ivp(
        velocity, (0, t_end), np.concatenate(start), method="LSODA", rtol=1e-10, atol=1e-14
    )
    assert found.success
    end = found.y[:, -1]
    return [end[i : i + size] for i in range(0, len(end), size)]


class TestFlow:
    @EVERY
    @pytest.mark.parametrize("seed", range(6))
    def test_ends_there_from_random_starts(self, network, factor, seed):
        rng = np.random.default_rng(seed)
        task = random_task(
            rng, int(rng.integers(1, 5)), int(rng.integers(2, 8)), (1.0, 0.3)[seed % 2]
        )
        problem = problem_of(network, task, seed, (1.0, 1e-2)[seed % 2])
        decay = float(10 ** rng.uniform(-1.0, 0.5))
        limit = lp.analysis.penalised_limit(problem, decay)
        assert limit.status is lp.Status.PENALISED
        layers = raw_flow(problem, decay, 1e6 / decay)
        np.testing.assert_allclose(network.coef(layers), limit.coef, rtol=0, atol=FLOW)
        for found, expected in zip(layers, limit.layers, strict=True):
            np.testing.assert_allclose(found, expected, rtol=0, atol=FLOW)
        # The conditions, from the layers alone.
        slopes = task.loss_factor * task.X.T @ task.residual(np.asarray(network.coef(layers)))
        most = slopes if isinstance(network, lp.Power) else np.abs(slopes)
        assert (most <= factor * decay * (1 + FLOW)).all()
        np.testing.assert_allclose(
            limit.mirror, slopes, rtol=0, atol=FLOW * (1 + np.abs(slopes).max())
        )

    def test_changes_signs_on_its_way(self):
        task = lp.Regression([[1.0, 0.5], [0.0, 1.0]], [2.0, -1.0])
        init = lp.Init([[-1.0, 1.0], [0.7, 1.5]], 0.5)
        problem = lp.Problem(lp.Diagonal(2), init, task)
        assert np.sign(lp.Diagonal(2).coef(init.layers)).tolist() == [-1, 1]
        limit = lp.analysis.penalised_limit(problem, 0.2)
        assert limit.signs.tolist() == [1, -1]
        end = raw_flow(problem, 0.2, 1000.0)
        np.testing.assert_allclose(end[0] * end[1], limit.coef, rtol=0, atol=FLOW)

    @EVERY
    def test_scale_and_start_do_not_matter(self, network, factor):
        task = random_task(np.random.default_rng(3))
        first = lp.analysis.penalised_limit(problem_of(network, task), 0.3)
        for seed, scale in ((1, 0.0), (2, 1e-70), (3, 1e3), (4, np.inf)):
            other = lp.analysis.penalised_limit(problem_of(network, task, seed, scale), 0.3)
            np.testing.assert_array_equal(other.coef, first.coef)
            assert (other.layers is None) == (scale in (0.0, np.inf))


class TestGradientDescent:
    @EVERY
    def test_ends_there(self, network, factor):
        rng = np.random.default_rng(8)
        task = random_task(rng, 4, 6)
        problem = problem_of(network, task, 1, 0.3)
        limit = lp.analysis.penalised_limit(problem, 0.4)
        run = lp.train(problem, lp.GD(0.02, weight_decay=0.4), 100_000)
        # At rest but for rounding of steps of 0.02 that contract by at least 1e-3 each.
        np.testing.assert_allclose(run.coef, limit.coef, rtol=0, atol=1e-11)
        for found, expected in zip(run.layers, limit.layers, strict=True):
            np.testing.assert_allclose(found[-1], expected, rtol=0, atol=1e-11)

    @pytest.mark.parametrize("side", [1, -1])
    @pytest.mark.parametrize("network", [lp.Diagonal(2), lp.SignedPower(2), lp.Paired()], ids=str)
    def test_what_starts_at_zero_stays_there(self, network, side):
        """Layers that tie keep a coefficient on one side, as do powers that start at zero."""
        task = lp.Regression([[1.0, 0.3], [0.2, 1.0]], [-2.0 * side, 1.5])
        tied = {
            lp.Diagonal(2): ([0.5, 0.4], [0.5 * side, 0.1]),
            lp.SignedPower(2): ([0.5 * (side > 0), 0.4], [0.5 * (side < 0), 0.1]),
            lp.Paired(): ([0.5, 0.4], [0.5 * side, 0.1], [0.3, 0.2], [-0.3 * side, 0.4]),
        }[network]
        problem = lp.Problem(network, lp.Init.from_layers(tied), task)
        limit = lp.analysis.penalised_limit(problem, 0.1)
        assert limit.coef[0] == 0.0
        free = lp.analysis.penalised_limit(problem_of(network, task), 0.1)
        assert np.sign(free.coef[0]) == -side
        run = lp.train(problem, lp.GD(0.05, weight_decay=0.1), 10_000)
        np.testing.assert_allclose(run.coef, limit.coef, rtol=0, atol=1e-11)

    def test_a_column_of_zeros_decays(self):
        task = lp.Regression([[1.0, 0.0, 2.0]], [3.0])
        problem = problem_of(lp.Diagonal(2), task)
        limit = lp.analysis.penalised_limit(problem, 0.5)
        assert limit.status.ok
        assert limit.coef[1] == 0.0
        run = lp.train(problem, lp.GD(0.05, weight_decay=0.5), 4_000)
        np.testing.assert_allclose(run.coef, limit.coef, rtol=0, atol=1e-11)

    def test_where_the_lasso_is_not_unique_the_start_decides(self):
        """Equal columns: `|p₁/p₂|` is conserved, and with it the share of each."""
        task = lp.Regression([[1.0, 1.0, 0.3]], [2.0])
        ends = []
        for seed in (0, 1):
            problem = problem_of(lp.Diagonal(2), task, seed, 0.5)
            limit = lp.analysis.penalised_limit(problem, 0.3)
            assert limit.status is lp.Status.DEGENERATE
            assert not limit.status.ok
            assert limit.layers is None
            run = lp.train(problem, lp.GD(0.05, weight_decay=0.3), 4_000)
            assert run.coef[:2].sum() == pytest.approx(limit.coef[:2].sum(), abs=1e-11)
            a, b = problem.init.layers
            shares = (a + b)[:2] ** 2
            # Steps of one gradient multiply both alike.
            assert run.coef[0] / run.coef[1] == pytest.approx(shares[0] / shares[1], rel=1e-9)
            ends.append(run.coef)
        assert abs(ends[0][0] - ends[1][0]) > 0.01


class TestLimitingCases:
    X, y = np.array([[1.0, -2.0, 0.5], [0.3, 1.0, 2.0]]), np.array([1.0, 2.0])

    def limit(self, decay, loss_factor=1.0, network=DIAGONAL):
        task = lp.Regression(self.X, self.y, loss_factor)
        return lp.analysis.penalised_limit(problem_of(network, task), decay)

    @EVERY
    def test_nothing_is_left_from_the_largest_weight_on(self, network, factor):
        slopes = 2.0 * self.X.T @ self.y
        largest = slopes.max() if isinstance(network, lp.Power) else np.abs(slopes).max()
        for share in (1 + 1e-12, 2.0, 1e200):
            limit = self.limit(largest / factor * share, 2.0, network)
            assert limit.status.ok
            assert not limit.coef.any()
        assert np.count_nonzero(self.limit(largest / factor * (1 - 1e-6), 2.0, network).coef) == 1

    def test_the_loss_factor_divides_the_weight(self):
        np.testing.assert_allclose(self.limit(0.6, 2.0).coef, self.limit(0.3).coef, rtol=1e-12)

    def test_targets_of_zero(self):
        task = lp.Regression(self.X, [0.0, 0.0])
        limit = lp.analysis.penalised_limit(problem_of(lp.Diagonal(2), task), 0.1)
        assert limit.status.ok
        assert not limit.coef.any()

    def test_dependent_rows(self):
        task = lp.Regression([[1.0, 2.0], [2.0, 4.0], [1.0, 0.0]], [1.0, 1.0, 0.5])
        limit = lp.analysis.penalised_limit(problem_of(lp.Paired(), task), 0.25)
        exact = minimisers(task.X, task.y, 0.25, [(1, -1)] * 2)
        np.testing.assert_allclose(limit.coef, [float(v) for v in exact[0]], rtol=1e-12)

    def test_the_limit_says_what_it_is(self):
        limit = self.limit(0.3)
        assert limit.theorem.id == "limitpoint.weight_decay"
        assert limit.theorem.concludes == "law"
        left = self.y - self.X @ limit.coef
        np.testing.assert_allclose(limit.dual, left, rtol=1e-12)
        np.testing.assert_allclose(limit.mirror, self.X.T @ left, rtol=1e-12)
        expected = 0.5 * left @ left + 0.3 * np.abs(limit.coef).sum()
        assert limit.potential == pytest.approx(expected, rel=1e-12)
        assert "penalised" in repr(limit)

    def test_what_float64_and_fractions_in_a_second_cannot_tell_is_not_certified(self):
        """Targets of a sparse truth, and a weight that is lost in their rounding."""
        rng = np.random.default_rng(0)
        X = rng.standard_normal((20, 50))
        task = lp.Regression(X, X[:, :4] @ [1.0, -2.0, 3.0, 1.0])
        limit = lp.analysis.penalised_limit(problem_of(lp.Diagonal(2), task), 1e-20)
        assert limit.status is lp.Status.NOT_CERTIFIED

    def test_names_of_features(self):
        task = lp.Regression(self.X, self.y, feature_names=["a", "b", "c"])
        limit = lp.analysis.penalised_limit(problem_of(lp.Diagonal(2), task), 0.1)
        assert limit.feature_names == ("a", "b", "c")


class TestRefuses:
    problem = problem_of(lp.Diagonal(2), lp.Regression([[1.0, 2.0]], [1.0]))

    @pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, "1", None, True])
    def test_what_is_no_weight_decay(self, value):
        with pytest.raises(
            lp.errors.LimitpointError, match="weight_decay must be a positive number"
        ):
            lp.analysis.penalised_limit(self.problem, value)

    def test_none_at_all(self):
        with pytest.raises(lp.errors.LimitpointError, match=r"predict\(problem\) has it"):
            lp.analysis.penalised_limit(self.problem, 0.0)

    def test_a_weight_that_no_float_holds(self):
        task = lp.Regression([[1.0, 2.0]], [1.0], 1e70)
        with pytest.raises(lp.errors.LimitpointError, match="over the loss_factor"):
            lp.analysis.penalised_limit(problem_of(lp.Diagonal(2), task), 1e-300)

    @pytest.mark.parametrize("network", [lp.Diagonal(3), lp.RankOne(2, 2)], ids=str)
    def test_other_networks(self, network):
        task = lp.Regression([[1.0, 2.0]], [1.0])
        with pytest.raises(lp.errors.NoTheoremApplies, match=r"limitpoint\.weight_decay does not"):
            lp.analysis.penalised_limit(problem_of(network, task), 0.1)

    def test_a_classification(self):
        task = lp.Classification([[1.0, 2.0]], [1])
        with pytest.raises(lp.errors.NoTheoremApplies, match="regression task"):
            lp.analysis.penalised_limit(problem_of(lp.Diagonal(2), task), 0.1)
