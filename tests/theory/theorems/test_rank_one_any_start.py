"""`limitpoint.rank_one`: unbalanced rank-one networks, against brute-force flow."""

import numpy as np
import pytest
from tests.oracles.flows import radial_flow as oracle
from tests.refusals import no_theorem

import limitpoint as lp
from limitpoint.mirror import PairRadius
from limitpoint.theory.certificates.constraint import Constraint
from limitpoint.theory.certificates.radial_certificate import certify_radial_limit
from limitpoint.theory.solvers.radial_limit import radial_limit
from limitpoint.theory.theorems.rank_one_any_start import RANK_ONE

X, Y = oracle.sparse_data(3, 6, 2, seed=5)
TASK = lp.Regression(X, Y)
CONDITION = "no pair of inner vectors can become orthogonal"
# The oracle stops at a relative residual of 1e-11, ours at 1e-10; the sensitivity of these data is
# below 10.
LINE = 1e-9


def distance(found, expected):
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


def check(problem):
    """Prediction, certificate, our flow and brute force agree."""
    limit = lp.predict(problem)
    assert limit.theorem.id == "limitpoint.rank_one"
    assert limit.certificate.ok
    task, layers = problem.task, problem.init.layers
    end = oracle.rank_one_coef(oracle.rank_one_flow(task.X, task.y, layers))
    assert distance(end, limit.coef) < LINE
    run = lp.flow(problem)
    assert run.kind == "gradient flow in sample space"
    assert distance(run.coef, limit.coef) < LINE
    return limit


def covered(depth, width, count, scale):
    """The first random starts for which the condition holds."""
    network, found, seed = lp.RankOne(depth, width), [], 0
    while len(found) < count:
        problem = lp.Problem(network, lp.Init.random(network, TASK, scale, seed=seed), TASK)
        ids = {theorem.id for theorem in lp.explain(problem).applicable}
        if "limitpoint.rank_one" in ids:
            found.append(problem)
        seed += 1
    return found


def large_pairs(task, first, grown=2.0):
    """Inner vectors larger than v₁: their products can never vanish."""
    rng = np.random.default_rng(8)
    u, w = rng.standard_normal((2, 3))
    layers = [first, grown * u, 1.1 * grown * u, w * grown, w * grown + 0.1 * u]
    return lp.Problem(lp.RankOne(depth=3, width=3), lp.Init.from_layers(layers), task)


class TestAgainstFlow:
    @pytest.mark.parametrize("norm", [1e-6, 1e3])
    @pytest.mark.parametrize("imbalance", [-0.2, 1e-6, 0.1, 0.5])
    def test_perturbed(self, imbalance, norm):
        network = lp.RankOne(depth=3, width=3)
        init = lp.Init.perturbed(network, TASK, norm=norm, imbalance=imbalance, seed=10)
        check(lp.Problem(network, init, TASK))

    @pytest.mark.parametrize(("depth", "width"), [(2, 1), (2, 3), (4, 2)])
    def test_random_layers(self, depth, width):
        for problem in covered(depth, width, 2, scale=0.7):
            check(problem)

    def test_pairs_that_are_large(self):
        check(large_pairs(TASK, np.array([0.3, -0.2, 0.1, 0.4, 0.0, -0.1])))

    def test_pairs_that_are_large_and_equal(self):
        """u = v, larger than v₁: only the norms are off balance."""
        u = np.array([2.0, 1.0])
        layers = [np.array([0.3, -0.2, 0.1, 0.4, 0.0, -0.1]), u, u]
        check(lp.Problem(lp.RankOne(2, 2), lp.Init.from_layers(layers), TASK))

    def test_large_pairs_without_a_null_space(self):
        """v₁ may even vanish on the way: ξ never does."""
        task = lp.Regression([[2.0, 1.0], [0.5, -1.0]], [1.0, 2.0])
        limit = check(large_pairs(task, np.array([0.2, -0.3]), grown=0.8))
        np.testing.assert_allclose(limit.coef, np.linalg.solve(task.X, task.y), rtol=1e-12)

    def test_large_pairs_and_zero_targets(self):
        problem = large_pairs(lp.Regression(X, np.zeros(3)), np.arange(1.0, 7.0) / 10)
        limit = lp.predict(problem)
        first = problem.init.layers[0]
        kept = first - np.linalg.pinv(X) @ (X @ first)
        # Along P_null v₁(0), and where the flow ends.
        assert np.linalg.norm(limit.coef - (limit.coef @ kept) / (kept @ kept) * kept) < 1e-12
        assert distance(lp.flow(problem).coef, limit.coef) < LINE

    def test_opposite_pairs(self):
        """uᵀv < 0: the first layer is turned, the limit is not."""
        network = lp.RankOne(depth=3, width=3)
        init = lp.Init.perturbed(network, TASK, norm=0.5, imbalance=0.2, seed=10)
        flipped = [*init.layers[:2], -init.layers[2], *init.layers[3:]]
        flipped[0] = -flipped[0]
        same = lp.Problem(network, lp.Init.from_layers(flipped), TASK)
        expected = lp.predict(lp.Problem(network, init, TASK)).coef
        np.testing.assert_allclose(check(same).coef, expected, rtol=0, atol=1e-12)

    @pytest.mark.slow
    def test_forty_samples(self):
        task = lp.Regression(*oracle.sparse_data(40, 100, 20, seed=6))
        network = lp.RankOne(depth=4, width=3)
        init = lp.Init.perturbed(network, task, norm=0.1, imbalance=0.1, seed=1)
        check(lp.Problem(network, init, task))


class TestBalancedCase:
    @pytest.mark.parametrize("depth", [2, 4])
    @pytest.mark.parametrize("norm", [1e-6, 1.0, 1e3])
    def test_equals_theorem_1(self, depth, norm):
        network = lp.RankOne(depth, width=3)
        problem = lp.Problem(network, lp.Init.balanced(network, TASK, norm=norm, seed=2), TASK)
        expected = lp.predict(problem)
        assert expected.theorem.id == "lyu2023.theorem1"
        start = network.radial_map(problem.init).start
        pairs = PairRadius(start, np.zeros(depth - 1), np.zeros(depth - 1))
        found = radial_limit(TASK, pairs, RANK_ONE)
        assert distance(found.coef, expected.coef) < 1e-12
        assert "limitpoint.rank_one" in {t.id for t in lp.explain(problem).applicable}

    def test_is_approached_as_the_imbalance_vanishes(self):
        """To first order in Δ; at 1e-12 and below it counts as balanced."""
        network = lp.RankOne(depth=3, width=3)

        def end(imbalance):
            init = lp.Init.perturbed(network, TASK, norm=0.5, imbalance=imbalance, seed=2)
            return lp.predict(lp.Problem(network, init, TASK)).coef

        gaps = [distance(end(delta), end(0.0)) for delta in (1e-2, 1e-4, 1e-6)]
        # u² + v² − 2‖v₁‖² is of second order in Δ but c = |u² − v²| of first, and enters squared.
        slope = np.polyfit(np.log([1e-2, 1e-4]), np.log(gaps[:2]), 1)[0]
        assert slope == pytest.approx(2.0, abs=0.05)
        assert gaps[2] < 1e-11
        np.testing.assert_allclose(end(1e-14), end(0.0), rtol=1e-12)


class TestWhereItFails:
    def problem(self):
        network = lp.RankOne(depth=3, width=3)
        for seed in range(20):
            init = lp.Init.random(network, TASK, 0.7, seed=seed)
            problem = lp.Problem(network, init, TASK)
            if "limitpoint.rank_one" not in {t.id for t in lp.explain(problem).applicable}:
                return problem
        raise AssertionError("no such start")

    def test_the_condition_is_named(self):
        with no_theorem(CONDITION):
            lp.predict(self.problem())

    def test_the_flow_still_runs(self):
        problem = self.problem()
        run = lp.flow(problem)
        assert run.kind == "gradient flow in parameter space"
        assert run.status is lp.Status.CONVERGED
        # Given its own outer layers the law holds.
        outer = problem.network.outer([layer[-1] for layer in run.layers])
        assert distance(lp.analysis.limit_given_outer(problem, outer=outer).coef, run.coef) < LINE

    def test_the_flow_in_sample_space_is_refused(self):
        with pytest.raises(lp.errors.InitError, match=r"use space=ParameterSpace\(\)"):
            lp.flow(self.problem(), space=lp.SampleSpace())

    def test_orthogonal_pairs(self):
        layers = [np.ones(6), [1.0, 0.0], [0.0, 1.0]]
        problem = lp.Problem(lp.RankOne(2, 2), lp.Init.from_layers(layers), TASK)
        with no_theorem("a pair is orthogonal at the start"):
            lp.predict(problem)
        assert lp.flow(problem).status is lp.Status.CONVERGED

    def test_margin_changes_sign_with_the_condition(self):
        """`‖P_null v₁‖² − lowest`, by hand for one pair."""
        first = np.arange(1.0, 7.0)
        kept = first - np.linalg.pinv(X) @ (X @ first)
        # u along v, of norms a and b: δ = a² + b² − 2‖v₁‖², c = |a² − b²|, turns at the smaller.
        for turn, holds in ((0.99, True), (1.01, False)):
            size = np.sqrt(first @ first - turn * (kept @ kept))
            # ½(c − δ) = ‖v₁‖² − min(a, b)², here `turn` of what is kept of v₁.
            u = np.array([size, 0.0])
            problem = lp.Problem(lp.RankOne(2, 2), lp.Init.from_layers([first, u, 3 * u]), TASK)
            rows = {t.id: conditions for t, conditions in lp.explain(problem).rows}
            (condition,) = (c for c in rows["limitpoint.rank_one"] if c.name == CONDITION)
            expected = (1 - turn) * (kept @ kept) / (first @ first)
            assert condition.margin == pytest.approx(expected, rel=1e-9)
            assert condition.holds is holds


class TestVanishingScale:
    def direction(self):
        return covered(3, 3, 1, scale=0.7)[0].init.direction

    def test_zero_is_the_minimum_norm(self):
        problem = lp.Problem(lp.RankOne(3, 3), lp.Init(self.direction(), scale=0), TASK)
        limit = lp.predict(problem)
        assert limit.theorem.id == "limitpoint.rank_one_at_zero"
        np.testing.assert_allclose(limit.coef, np.linalg.pinv(X) @ Y, rtol=1e-12)

    def test_first_order_approach(self):
        """`β − X⁺y = ξP_null v₁(0)` with ξ tending to a number: proportional to the scale."""
        scales = np.array([1e-5, 1e-4, 1e-3])
        least = np.linalg.pinv(X) @ Y
        gaps = [
            np.linalg.norm(
                lp.predict(
                    lp.Problem(lp.RankOne(3, 3), lp.Init(self.direction(), scale=s), TASK)
                ).coef
                - least
            )
            for s in scales
        ]
        slope = np.polyfit(np.log(scales), np.log(gaps), 1)[0]
        assert slope == pytest.approx(1.0, abs=1e-4)

    def test_scales_that_float64_cannot_hold(self):
        init = lp.Init(self.direction(), log_scale=-2302.6)
        limit = lp.predict(lp.Problem(lp.RankOne(3, 3), init, TASK))
        np.testing.assert_allclose(limit.coef, np.linalg.pinv(X) @ Y, rtol=1e-12)

    def test_infinity_is_not_covered(self):
        init = lp.Init(self.direction(), scale=np.inf)
        with no_theorem("scale positive and finite"):
            lp.predict(lp.Problem(lp.RankOne(3, 3), init, TASK))


def test_certificate_fails_off_the_limit():
    (problem,) = covered(3, 3, 1, scale=0.7)
    limit, radial = lp.predict(problem), problem.network.radial_map(problem.init)
    constraint = Constraint.of(TASK.X, TASK.y)
    assert certify_radial_limit(constraint, radial, limit.coef, limit.mirror).ok
    null = np.linalg.svd(X)[2][-1]
    for coef in (1.01 * limit.coef, limit.coef + 0.01 * np.linalg.norm(limit.coef) * null):
        assert not certify_radial_limit(constraint, radial, coef, limit.mirror).ok
