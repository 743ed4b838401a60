"""`limitpoint.null_space_law`: where a run of gradient descent ends, given its outer layers."""

import numpy as np
import pytest
from tests.refusals import no_theorem

import limitpoint as lp
from limitpoint.dynamics import null_space_drift
from limitpoint.errors import InitError, NoTheoremApplies, ScaleNotRepresentable

RNG = np.random.default_rng(21)
TASK = lp.Regression(RNG.standard_normal((3, 6)), RNG.standard_normal(3))
NULL = np.eye(6) - np.linalg.pinv(TASK.X) @ TASK.X
# Not balanced, and with a step so large that flow and descent differ by percents.
STEPS = 2000
PROBLEMS = [
    lp.Problem(network, lp.Init.random(network, TASK, 0.6, seed=2), TASK)
    for network in (lp.RankOne(depth=3, width=2), lp.FullyConnected(widths=(4, 2)))
]
NAMES = ["rank-one", "dense"]


@pytest.fixture(scope="module", params=range(2), ids=NAMES)
def trained(request):
    problem = PROBLEMS[request.param]
    return problem, lp.train(problem, lp.GD(learning_rate=0.02), STEPS)


def outer_of(problem, run):
    return problem.network.outer([layer[-1] for layer in run.layers])


class TestGradientDescent:
    def test_the_end_is_the_predicted_one(self, trained):
        problem, run = trained
        limit = lp.analysis.limit_given_outer(problem, outer=outer_of(problem, run))
        assert limit.theorem.id == "limitpoint.null_space_law"
        assert limit.status is lp.Status.CONVERGED
        assert limit.certificate.ok
        # What is left of the residual, in coefficients, and the law's rounding over all steps.
        left = np.linalg.norm(np.linalg.pinv(TASK.X) @ (TASK.y - TASK.X @ run.coef))
        size = np.linalg.norm(run.coef)
        assert left < 1e-6 * size
        assert np.linalg.norm(limit.coef - run.coef) < 2 * left + 1e-16 * STEPS * size

    def test_by_hand(self, trained):
        """`X⁺y + P_null A(0)·o(∞)`, an identity."""
        problem, run = trained
        outer = outer_of(problem, run)
        first = problem.init.layers[0]
        expected = np.linalg.pinv(TASK.X) @ TASK.y + NULL @ (
            first * outer if first.ndim == 1 else first @ outer
        )
        found = lp.analysis.limit_given_outer(problem, outer=outer)
        np.testing.assert_allclose(found.coef, expected, rtol=0, atol=1e-13)
        np.testing.assert_allclose(TASK.X.T @ found.dual, found.mirror, rtol=0, atol=1e-12)
        driven = np.linalg.norm(found.coef - (first * outer if first.ndim == 1 else first @ outer))
        assert found.potential == pytest.approx(0.5 * driven**2, rel=1e-12)

    def test_it_is_not_where_the_flow_ends(self, trained):
        """Else the law would say nothing new: the step moves the outer layers."""
        problem, run = trained
        end = lp.flow(problem, space=lp.ParameterSpace()).coef
        assert np.linalg.norm(end - run.coef) > 1e-3 * np.linalg.norm(end)

    def test_drift_is_rounding(self, trained):
        problem, run = trained
        # One rounding of A per step at most, a few in the gradient; they add up like a walk.
        assert null_space_drift(problem, run) < 1e-16 * STEPS

    def test_drift_of_a_wrong_run_is_seen(self, trained):
        problem, run = trained
        other = lp.Regression(np.random.default_rng(0).standard_normal((3, 6)), TASK.y)
        wrong = lp.Problem(problem.network, problem.init, other)
        assert null_space_drift(wrong, run) > 1e-2


class TestErrors:
    @pytest.mark.parametrize("problem", PROBLEMS, ids=NAMES)
    @pytest.mark.parametrize("outer", [[1.0, 2.0, 3.0], [0.5]])
    def test_wrong_shape(self, problem, outer):
        with pytest.raises(InitError, match=r"outer must be network.outer\(layers\) of the end"):
            lp.analysis.limit_given_outer(problem, outer=outer)

    def test_number_for_a_dense_network(self):
        with pytest.raises(InitError, match=r"of shape \(4,\); it has shape \(\)"):
            lp.analysis.limit_given_outer(PROBLEMS[1], outer=1.0)

    @pytest.mark.parametrize("outer", [np.nan, np.inf, "one", [[1.0]]])
    def test_not_numbers(self, outer):
        with pytest.raises(InitError, match="outer"):
            lp.analysis.limit_given_outer(PROBLEMS[0], outer=outer)

    def test_another_network(self):
        network = lp.Diagonal(depth=2)
        problem = lp.Problem(network, lp.Init.random(network, TASK, 0.5, seed=0), TASK)
        with pytest.raises(NoTheoremApplies, match="the first layer alone meets the data"):
            lp.analysis.limit_given_outer(problem, outer=1.0)
        run = lp.flow(problem, times=[0.0, 1.0])
        with pytest.raises(ValueError, match="rank-one, fully connected and two-layer"):
            null_space_drift(problem, run)

    @pytest.mark.parametrize("scale", [0.0, np.inf])
    def test_the_limits_of_the_scale(self, scale):
        problem = lp.Problem(lp.RankOne(), lp.Init.balanced(lp.RankOne(), TASK, scale), TASK)
        with pytest.raises(NoTheoremApplies, match="scale positive and finite"):
            lp.analysis.limit_given_outer(problem, outer=1.0)

    def test_a_scale_that_float64_cannot_hold(self):
        init = lp.Init.balanced(lp.RankOne(), TASK, log_scale=-2302.6)
        with pytest.raises(ScaleNotRepresentable, match="cannot be held"):
            lp.analysis.limit_given_outer(lp.Problem(lp.RankOne(), init, TASK), outer=1.0)


class TestEdgeCases:
    def test_out_of_range(self):
        task = lp.Regression(np.vstack([TASK.X, TASK.X[0]]), [*TASK.y, TASK.y[0] + 1])
        problem = lp.Problem(PROBLEMS[0].network, PROBLEMS[0].init, task)
        limit = lp.analysis.limit_given_outer(problem, outer=0.7)
        assert limit.status is lp.Status.LEAST_SQUARES
        assert limit.certificate.ok

    def test_no_outer_layers_leave_the_minimum_norm(self):
        np.testing.assert_allclose(
            lp.analysis.limit_given_outer(PROBLEMS[0], outer=0.0).coef,
            np.linalg.pinv(TASK.X) @ TASK.y,
            rtol=1e-12,
        )

    def test_without_it_the_law_predicts_nothing(self):
        with no_theorem("balanced layers"):
            lp.predict(PROBLEMS[1])
        assert "limitpoint.null_space_law" in {t.id for t in lp.explain(PROBLEMS[1]).applicable}
