"""Theorems 1 and 2 and Corollary 1.1 of Lyu and Zhu, against flows and mpmath."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.flows import radial_flow as oracle
from tests.refusals import no_theorem

import limitpoint as lp
from limitpoint.errors import ScaleNotRepresentable
from limitpoint.mirror import PowerRadius
from limitpoint.theory.certificates.constraint import Constraint
from limitpoint.theory.certificates.radial_certificate import certify_radial_limit

# The acceptance line. The flows stop at a relative residual of 1e-10 (ours) or 1e-11 (the
# oracle's), which the limit's sensitivity, the inverse of the smallest singular value of X relative
# to the largest, turns into at most 10 times as much.
LINE = 1e-9
DEPTHS = [2, 3, 4, 5, 6]
SMALL = oracle.sparse_data(4, 7, 2, seed=5)
CONSTRAINT = Constraint.of(*SMALL)
LARGE = oracle.sparse_data(40, 100, 20, seed=6)


def rank_one(depth, width=2):
    return lp.RankOne(depth=depth, width=width)


def dense(depth, width=2):
    return lp.FullyConnected(widths=(width,) * (depth - 1))


NETWORKS = pytest.mark.parametrize("kind", [rank_one, dense], ids=["rank-one", "dense"])


def balanced(network, data, seed=3, loss_factor=1.0, **size):
    task = lp.Regression(*data, loss_factor=loss_factor)
    return lp.Problem(network, lp.Init.balanced(network, task, seed=seed, **size), task)


def start_direction(problem):
    """The unit vector along β(0), from the layers alone."""
    coef = problem.network.coef(problem.init.direction)
    return coef / np.linalg.norm(coef)


def brute_end(problem):
    """Coefficients at the end of the oracle's flow of all weights."""
    task, layers = problem.task, problem.init.layers
    if isinstance(problem.network, lp.RankOne):
        return oracle.rank_one_coef(oracle.rank_one_flow(task.X, task.y, layers))
    return oracle.dense_coef(oracle.dense_flow(task.X, task.y, layers))


def distance(found, expected):
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


def predicted(problem):
    limit = lp.predict(problem)
    theorem = "theorem1" if isinstance(problem.network, lp.RankOne) else "theorem2"
    assert limit.theorem.id == f"lyu2023.{theorem}"
    # From coefficients of 1e9 and more rounding hides the smallest target, but not from a proof.
    hidden = limit.status is lp.Status.PROVED and problem.init.scale >= 1e3
    assert limit.status is lp.Status.CONVERGED or hidden
    assert limit.certificate.ok
    return limit


@pytest.mark.slow
@NETWORKS
@pytest.mark.parametrize("depth", DEPTHS)
class TestAgainstFlow:
    @pytest.mark.parametrize("norm", [1e-6, 1e3])
    def test_all_weights(self, kind, depth, norm):
        problem = balanced(kind(depth), SMALL, norm=norm)
        assert distance(brute_end(problem), predicted(problem).coef) < LINE

    @pytest.mark.parametrize("norm", [1e-6, 1.0, 1e3])
    def test_sample_space(self, kind, depth, norm):
        problem = balanced(kind(depth), SMALL, norm=norm)
        run = lp.flow(problem)
        assert run.kind == "gradient flow in sample space"
        assert run.status is lp.Status.CONVERGED
        assert distance(run.coef, predicted(problem).coef) < LINE

    def test_coefficients_on_their_own(self, kind, depth):
        problem = balanced(kind(depth), SMALL, norm=1e-3)
        start = problem.network.coef(problem.init.layers)
        end = oracle.coefficient_flow(*SMALL, start, problem.network.degree)
        assert distance(end, predicted(problem).coef) < LINE

    @pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e3])
    def test_scale_of_the_layers(self, kind, depth, scale):
        """The minimum of the potential in 60 digits, and the flow that manages all scales."""
        problem = balanced(kind(depth), SMALL, scale=scale)
        limit = predicted(problem)
        exact = oracle.balanced_limit(
            *SMALL, start_direction(problem), np.log(scale), problem.network.degree
        )
        # The direction is rounded, and its null part by the condition of X: some hundred roundings.
        assert distance(limit.coef, exact) < 1e-13
        if scale in (1e-6, 1e3) and limit.status is lp.Status.CONVERGED:
            assert distance(lp.flow(problem).coef, limit.coef) < LINE


@pytest.mark.parametrize(
    ("network", "scale"), [(rank_one(3), 1e-6), (dense(4), 1e-6), (dense(4), 1e3)], ids=str
)
def test_scale_of_the_layers_by_brute_force(network, scale):
    problem = balanced(network, SMALL, scale=scale)
    # At the largest scale rounding hides the data from a certificate.
    assert distance(brute_end(problem), lp.predict(problem).coef) < LINE


@pytest.mark.parametrize(
    ("network", "norm"),
    [(rank_one(2), 1e-6), (rank_one(4), 1e3), (dense(3), 1e3), (dense(6), 1e-6)],
    ids=str,
)
def test_forty_samples_of_a_hundred_features(network, norm):
    problem = balanced(network, LARGE, norm=norm)
    limit = predicted(problem)
    assert distance(brute_end(problem), limit.coef) < LINE
    assert distance(lp.flow(problem).coef, limit.coef) < LINE


@pytest.mark.parametrize(("network", "norm"), [(rank_one(4), 1e3), (dense(2), 1e-6)], ids=str)
def test_our_flow_in_parameter_space(network, norm):
    problem = balanced(network, SMALL, norm=norm)
    run = lp.flow(problem, space=lp.ParameterSpace(rtol=1e-12))
    assert run.status is lp.Status.CONVERGED
    assert distance(run.coef, predicted(problem).coef) < LINE


@pytest.mark.slow
def test_our_flow_in_parameter_space_of_forty_samples():
    problem = balanced(rank_one(3), LARGE, norm=1e-3)
    run = lp.flow(problem, space=lp.ParameterSpace(rtol=1e-12))
    assert distance(run.coef, predicted(problem).coef) < LINE


@pytest.mark.slow
@pytest.mark.parametrize("network", [rank_one(3), dense(4)], ids=str)
def test_gradient_descent_of_lyu(network):
    """Their set-up: mean loss, step 1e-3, 20 000 steps; within 2 % of the prediction."""
    problem = balanced(network, LARGE, norm=1.0, loss_factor=2 / 40)
    run = lp.train(problem, lp.GD(learning_rate=1e-3), steps=20_000)
    assert run.relative_residual < 1e-6
    assert distance(run.coef, predicted(problem).coef) < 0.02


@NETWORKS
def test_the_width_does_not_matter(kind):
    """Balanced layers have rank one: flow and GD see their norms only."""
    ends, runs = [], []
    for width in (1, 5):
        task = lp.Regression(*SMALL)
        network = kind(3, width)
        direction = np.arange(1.0, 8.0)
        init = lp.Init.balanced(network, task, norm=0.5, direction=direction, seed=width)
        problem = lp.Problem(network, init, task)
        ends.append(lp.flow(problem).coef)
        runs.append(lp.train(problem, lp.GD(learning_rate=1e-3), steps=200).coef)
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-9)
    # 200 steps of rounding in products of a few terms.
    np.testing.assert_allclose(runs[0], runs[1], rtol=1e-11)


@NETWORKS
class TestVanishingScale:
    def test_zero_gives_the_minimum_norm_exactly(self, kind):
        limit = lp.predict(balanced(kind(3), LARGE, scale=0))
        assert limit.theorem.id == "lyu2023.corollary1.1"
        X, y = LARGE
        least = X.T @ np.linalg.solve(X @ X.T, y)
        # Two ways of computing X⁺y agree to the squared condition number (about 20) of roundings.
        np.testing.assert_allclose(limit.coef, least, rtol=0, atol=1e-13 * np.abs(least).max())
        assert limit.certificate.ok

    def test_first_order_approach(self, kind):
        """`β − X⁺y = ξP_null v₁(0) ≈ s ‖X⁺y‖^{(D−1)/D} P_null d`, relative corrections D·s²."""
        network = kind(3)
        scales = np.array([1e-5, 1e-4, 1e-3])
        X, y = SMALL
        least = np.linalg.pinv(X) @ y
        rows = [predicted(balanced(network, SMALL, scale=s)).coef - least for s in scales]
        gaps = np.linalg.norm(rows, axis=1)
        slope = np.polyfit(np.log(scales), np.log(gaps), 1)[0]
        assert slope == pytest.approx(1.0, abs=1e-5)
        direction = start_direction(balanced(network, SMALL, scale=1.0))
        kept = direction - np.linalg.pinv(X) @ (X @ direction)
        power = (network.degree - 1) / network.degree
        lead = scales[0] * np.linalg.norm(least) ** power * kept
        # 1e-10 of correction; and roundings of X⁺y, 1e-15, beside a gap of 1e-5.
        np.testing.assert_allclose(rows[0], lead, rtol=0, atol=2e-10 * np.abs(lead).max())

    def test_scales_that_float64_cannot_hold(self, kind):
        """10^-1000: the limit is X⁺y to all digits, and not the saddle at zero."""
        limit = lp.predict(balanced(kind(3), SMALL, log_scale=-2302.6))
        assert limit.status is lp.Status.CONVERGED
        self.assert_least(limit)

    @pytest.mark.parametrize("scale", [1e-60, 1e-120, 1e-200, 1e-300])
    def test_scales_that_float64_can_just_hold(self, kind, scale):
        self.assert_least(predicted(balanced(kind(6), SMALL, scale=scale)))

    @staticmethod
    def assert_least(limit):
        """Two ways of computing X⁺y agree to the squared condition number, 20, of roundings."""
        least = np.linalg.pinv(SMALL[0]) @ SMALL[1]
        np.testing.assert_allclose(limit.coef, least, rtol=0, atol=1e-13 * np.abs(least).max())


@NETWORKS
class TestLargeScale:
    def test_infinity_is_not_covered(self, kind):
        with no_theorem("scale positive and finite"):
            lp.predict(balanced(kind(3), SMALL, scale=np.inf))

    def test_overflow_is_named(self, kind):
        with pytest.raises(ScaleNotRepresentable, match="use a scale below"):
            lp.predict(balanced(kind(6), SMALL, scale=1e60))

    def test_beyond_the_data(self, kind):
        """At 1e10 the data are invisible beside β(0): right in its digits, and proved."""
        problem = balanced(kind(3), SMALL, scale=1e10)
        exact = oracle.balanced_limit(
            *SMALL, start_direction(problem), np.log(1e10), problem.network.degree
        )
        limit = lp.predict(problem, escalate=False)
        assert limit.status is lp.Status.DATA_HIDDEN
        assert distance(limit.coef, exact) < 1e-13
        limit = lp.predict(problem)
        assert limit.status is lp.Status.PROVED
        assert distance(limit.coef, exact) < 1e-13

    @pytest.mark.parametrize("scale", [1e3, 1e10])
    def test_without_a_null_space(self, kind, scale):
        """As many samples as features: X⁻¹y from everywhere off the stable manifold."""
        X, y = np.random.default_rng(2).standard_normal((3, 3)), np.ones(3)
        limit = predicted(balanced(kind(3), (X, y), scale=scale))
        np.testing.assert_allclose(limit.coef, np.linalg.solve(X, y), rtol=1e-12)


@NETWORKS
class TestCertificate:
    def parts(self, kind):
        problem = balanced(kind(3), SMALL, norm=0.4)
        return problem, lp.predict(problem), problem.network.radial_map(problem.init)

    def test_by_hand(self, kind):
        """Feasibility, `z − z(0)` in the row space, and the duality gap, from the formulas."""
        problem, limit, _ = self.parts(kind)
        degree, (X, y) = problem.network.degree, SMALL
        start = problem.network.coef(problem.init.layers)
        z0 = start * np.linalg.norm(start) ** (1 / degree - 1)
        z = limit.coef * np.linalg.norm(limit.coef) ** (1 / degree - 1)
        assert np.linalg.norm(X @ limit.coef - y) < 1e-12 * np.linalg.norm(y)
        np.testing.assert_allclose(limit.mirror, z - z0, rtol=0, atol=1e-13)
        null = np.eye(7) - np.linalg.pinv(X) @ X
        assert np.linalg.norm(null @ limit.mirror) < 1e-13
        np.testing.assert_allclose(X.T @ limit.dual, limit.mirror, rtol=0, atol=1e-12)
        norm, power = np.linalg.norm(limit.coef), 1 + 1 / degree
        assert limit.potential == pytest.approx(norm**power / power - limit.coef @ z0, rel=1e-12)
        assert set(limit.certificate.residuals) == {
            "feasibility",
            "missed targets",
            "stationarity",
            "duality gap",
            "error bound",
        }

    def test_no_neighbour_has_less_potential(self, kind):
        _, limit, radial = self.parts(kind)
        null = np.eye(7) - np.linalg.pinv(SMALL[0]) @ SMALL[0]
        for shift in np.random.default_rng(0).standard_normal((5, 7)) @ null:
            for step in (1e-2, -1e-2):
                assert radial.potential(limit.coef + step * shift) > limit.potential

    def test_a_limit_moved_by_a_percent_fails(self, kind):
        _problem, limit, radial = self.parts(kind)
        assert certify_radial_limit(CONSTRAINT, radial, limit.coef, limit.mirror).ok
        null = np.eye(7) - np.linalg.pinv(SMALL[0]) @ SMALL[0]
        shift = null @ np.ones(7)
        shift *= 0.01 * np.linalg.norm(limit.coef) / np.linalg.norm(shift)
        for coef in (1.01 * limit.coef, limit.coef + shift, limit.coef - shift):
            wrong = certify_radial_limit(CONSTRAINT, radial, coef, limit.mirror)
            assert not wrong.ok
            assert wrong.residuals["stationarity"] > 1e-4
        # Mirror coordinates of its own do not save it: they leave the row space.
        own = radial.inverse(limit.coef + shift) - radial.start
        wrong = certify_radial_limit(CONSTRAINT, radial, limit.coef + shift, own)
        assert wrong.residuals["stationarity"] > 1e-4

    def test_another_degree_fails(self, kind):
        _problem, limit, radial = self.parts(kind)
        other = PowerRadius(radial.start, radial.degree + 1)
        assert not certify_radial_limit(CONSTRAINT, other, limit.coef, limit.mirror).ok


@NETWORKS
class TestEdgeCases:
    def check(self, problem, status, rtol=1e-9):
        """Prediction, certificate and flow agree; the part in the row space is X⁺y."""
        limit = lp.predict(problem)
        assert limit.status is status
        assert limit.certificate.ok
        X, y = problem.task.X, problem.task.y
        least = np.linalg.pinv(X) @ y
        kept = limit.coef - least
        # Without a fit of its own the flow's relative residual is relative to the start.
        start = problem.network.coef(problem.init.layers)
        size = float(np.linalg.norm(limit.coef if y.any() else start))
        assert np.linalg.norm(X @ kept) <= 1e-12 * np.linalg.norm(X) * size
        run = lp.flow(problem)
        assert run.status is status
        assert np.linalg.norm(run.coef - limit.coef) < rtol * size
        return limit

    def test_one_feature(self, kind):
        task = lp.Regression([[2.0]], [3.0])
        network = kind(3)
        init = lp.Init.balanced(network, task, 0.5, direction=[1.0])
        limit = self.check(lp.Problem(network, init, task), lp.Status.CONVERGED)
        assert limit.coef[0] == pytest.approx(1.5, rel=1e-14)

    def test_one_sample(self, kind):
        self.check(balanced(kind(4), (np.array([[1.0, -2.0, 0.5]]), [2.0]), norm=0.7), OK)

    def test_more_samples_than_features(self, kind):
        rng = np.random.default_rng(0)
        data = rng.standard_normal((6, 3)), rng.standard_normal(6)
        self.check(balanced(kind(3), data, norm=0.7), lp.Status.LEAST_SQUARES)

    def test_dependent_rows(self, kind):
        X = [[1, 2, 0, 1], [2, 4, 0, 2], [0, 1, 1, 0]]
        self.check(balanced(kind(3), (X, [1, 2, 1]), norm=0.7), OK)
        self.check(balanced(kind(3), (X, [1, 3, 1]), norm=0.7), lp.Status.LEAST_SQUARES)

    def test_zero_targets(self, kind):
        """The part of z in the row space goes, the rest stays: `β = Ξ(‖z_null‖²) z_null`."""
        problem = balanced(kind(3), (SMALL[0], np.zeros(4)), norm=0.7)
        limit = self.check(problem, OK)
        kept = null_part(problem)
        size = np.linalg.norm(kept) ** (problem.network.degree - 1)
        np.testing.assert_allclose(limit.coef, size * kept, rtol=1e-11)

    def test_zero_column(self, kind):
        X = np.array([[1.0, 0.0, 2.0], [0.5, 0.0, -1.0]])
        limit = self.check(balanced(kind(3), (X, [1.0, 2.0]), norm=0.7), OK)
        assert limit.coef[1] != 0

    def test_zero_data(self, kind):
        problem = balanced(kind(3), (np.zeros((2, 3)), [1.0, 2.0]), norm=0.7)
        limit = self.check(problem, lp.Status.LEAST_SQUARES)
        np.testing.assert_allclose(limit.coef, problem.network.coef(problem.init.layers), rtol=1e-9)

    def test_start_that_fits(self, kind):
        task = lp.Regression([[3.0, 4.0]], [2.5])
        network = kind(3)
        init = lp.Init.balanced(network, task, norm=0.5, direction=[3.0, 4.0])
        limit = self.check(lp.Problem(network, init, task), OK)
        np.testing.assert_allclose(limit.coef, [0.3, 0.4], rtol=1e-12)

    def test_integers(self, kind):
        whole = balanced(kind(3), ([[1, 2, 3], [0, 1, -1]], [4, 1]), norm=1)
        real = balanced(kind(3), ([[1.0, 2.0, 3.0], [0.0, 1.0, -1.0]], [4.0, 1.0]), norm=1.0)
        np.testing.assert_array_equal(lp.predict(whole).coef, lp.predict(real).coef)

    @pytest.mark.parametrize("rest", [1e-13, 1e-12, 1e-11])
    def test_start_in_the_row_space_but_for_rounding(self, kind, rest):
        """Nowhere near the stable manifold: along +Xᵀy, with a null part too small to matter."""
        X, y = SMALL
        aligned = X.T @ y / np.linalg.norm(X.T @ y)
        null = np.linalg.svd(X)[2][-1]
        task, network = lp.Regression(X, y), kind(3)
        init = lp.Init.balanced(network, task, norm=0.5, direction=aligned + rest * null)
        limit = lp.predict(lp.Problem(network, init, task))
        assert limit.status is lp.Status.CONVERGED
        np.testing.assert_allclose(limit.coef, np.linalg.pinv(X) @ y, rtol=0, atol=1e-9)


OK = lp.Status.CONVERGED


def null_part(problem):
    coef = problem.network.coef(problem.init.layers)
    z = coef * np.linalg.norm(coef) ** (1 / problem.network.degree - 1)
    X = problem.task.X
    return z - np.linalg.pinv(X) @ (X @ z)


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from([rank_one, dense]),
    st.integers(2, 6),
    st.floats(-6, 3),
    st.integers(0, 10_000),
)
def test_invariances(kind, depth, log10_norm, seed):
    """Rotating the features turns the limit; scaling y and β(0) alike scales it; so do signs."""
    rng = np.random.default_rng([seed, 77])
    network = kind(depth)
    X, y = rng.standard_normal((3, 6)), rng.standard_normal(3)
    start = rng.standard_normal(6)
    turn = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    norm = 10.0**log10_norm

    def end(X, y, start, norm):
        task = lp.Regression(X, y)
        init = lp.Init.balanced(network, task, norm=norm, direction=start)
        return lp.predict(lp.Problem(network, init, task)).coef

    base = end(X, y, start, norm)
    # Roundings times the condition of X, at most some thousand here.
    close = {"rtol": 0, "atol": 1e-11 * np.linalg.norm(base)}
    np.testing.assert_allclose(turn @ base, end(X @ turn.T, y, turn @ start, norm), **close)
    np.testing.assert_allclose(-base, end(X, -y, -start, norm), **close)
    np.testing.assert_allclose(
        7 * base, end(X, 7 * y, start, 7 * norm), rtol=0, atol=7 * close["atol"]
    )
    np.testing.assert_allclose(base, end(X[::-1], y[::-1], start, norm), **close)
    np.testing.assert_allclose(base, end(3 * X, 3 * y, start, norm), **close)


def test_the_limit_is_frozen():
    limit = lp.predict(balanced(rank_one(2), SMALL, norm=1.0))
    with pytest.raises(dataclasses.FrozenInstanceError):
        limit.coef = np.zeros(7)


@NETWORKS
def test_unbalanced_starts_are_refused_by_these_theorems(kind):
    network = kind(3)
    task = lp.Regression(*SMALL)
    problem = lp.Problem(network, lp.Init.random(network, task, seed=1), task)
    rows = {theorem.id: conditions for theorem, conditions in lp.explain(problem).rows}
    theorem = "lyu2023.theorem1" if kind is rank_one else "lyu2023.theorem2"
    failed = [c.name for c in rows[theorem] if not c.holds]
    assert failed == ["balanced layers"]


@pytest.mark.parametrize("y", [[0.0, 0.756], [0.0, 0.0]])
@pytest.mark.parametrize("network", [lp.RankOne(4, 3), lp.FullyConnected((3, 2))], ids=repr)
def test_a_feature_that_no_sample_has(network, y):
    """Its error is not bounded by the data: the certificate says so, and nothing overflows."""
    task = lp.Regression([[0.0, -2.0], [0.0, 0.0]], y)
    for along in ([1.0, 0.0], [-1.0, -3.0]):
        init = lp.Init.balanced(network, task, 3.0, direction=along, seed=3)
        assert np.isfinite(lp.predict(lp.Problem(network, init, task)).coef).all()


@pytest.mark.parametrize("size", [1e-120, 1e120])
def test_balance_in_any_units(size):
    for network in (lp.RankOne(3, 2), lp.FullyConnected((3, 2))):
        task = lp.Regression(*SMALL)
        for init in (lp.Init.balanced(network, task), lp.Init.random(network, task, seed=0)):
            scaled = [size * layer for layer in init.direction]
            wanted = network.imbalance(init.direction)
            assert network.imbalance(scaled) == pytest.approx(wanted, rel=1e-9, abs=1e-12)
