"""The flow of rank-one and dense networks in the row space of the data."""

import numpy as np
import pytest
from tests.oracles.flows import radial_flow as oracle

import limitpoint as lp
from limitpoint.dynamics import null_space_drift
from limitpoint.errors import InitError, ScaleNotRepresentable

X, Y = oracle.sparse_data(3, 6, 2, seed=5)
TASK = lp.Regression(X, Y, loss_factor=0.5)
RANK_ONE = lp.RankOne(depth=3, width=2)
DENSE = lp.FullyConnected(widths=(2, 3))
NETWORKS = pytest.mark.parametrize("network", [RANK_ONE, DENSE], ids=["rank-one", "dense"])
# 100 times the integrator's tolerance of 1e-10, relative to the largest entry.
PATH = 1e-8


def balanced(network, task=TASK, **size):
    return lp.Problem(network, lp.Init.balanced(network, task, seed=4, **size), task)


def exact_layers(problem, times):
    flow = oracle.rank_one_flow if isinstance(problem.network, lp.RankOne) else oracle.dense_flow
    task = problem.task
    factor = task.loss_factor
    return flow(task.X, task.y, problem.init.layers, times=times, loss_factor=factor, warped=False)


@NETWORKS
class TestPath:
    def test_moments_and_layers(self, network):
        """All layers at the moments asked for, against brute force in true time."""
        problem = balanced(network, norm=0.3)
        times = np.array([0.0, 0.3, 1.0, 4.0])
        run = lp.flow(problem, times=times)
        np.testing.assert_array_equal(run.times, times)
        for mine, exact in zip(run.layers, exact_layers(problem, times), strict=True):
            np.testing.assert_allclose(mine, exact, rtol=0, atol=PATH * np.abs(exact).max())
        np.testing.assert_allclose(network.coef(run.layers), run.coefs, rtol=1e-9, atol=1e-12)

    def test_the_integrators_own_times_are_true_times(self, network):
        """τ is integrated, t is reported."""
        problem = balanced(network, norm=0.3)
        run = lp.flow(problem)
        assert run.times[0] == 0.0
        assert (np.diff(run.times) > 0).all()
        some = [0, len(run.times) // 4, len(run.times) // 2, 3 * len(run.times) // 4]
        exact = network.coef(exact_layers(problem, run.times[some]))
        np.testing.assert_allclose(run.coefs[some], exact, rtol=0, atol=PATH * np.abs(exact).max())

    def test_t_end(self, network):
        problem = balanced(network, norm=0.3)
        run = lp.flow(problem, t_end=0.4)
        assert run.times[-1] == pytest.approx(0.4)
        assert run.status is lp.Status.REACHED_END
        exact = network.coef(exact_layers(problem, np.array([0.0, 0.4])))[-1]
        np.testing.assert_allclose(run.coef, exact, rtol=0, atol=PATH * np.abs(exact).max())

    def test_conserved_quantities(self, network):
        """Exact in these coordinates, whatever the path: rounding only."""
        problem = balanced(network, norm=0.3)
        run = lp.flow(problem)
        moved = lp.analysis.drift(network, run)
        assert moved.relative < 1e-13
        assert not moved.affine.any()
        assert moved.relative_curved == moved.relative
        assert null_space_drift(problem, run) < 1e-14

    def test_conserved_quantities_in_parameter_space(self, network):
        problem = balanced(network, norm=0.3)
        run = lp.flow(problem, space=lp.ParameterSpace(rtol=1e-12))
        moved = lp.analysis.drift(network, run)
        # 100 times the tolerance; the law is linear, which the integrator keeps to rounding.
        assert moved.relative < 1e-10
        assert not moved.affine.any()
        assert null_space_drift(problem, run) < 1e-10

    def test_gradient_descent_drifts(self, network):
        """By the step times the loss lost, at first order: half the step, half the drift."""
        problem = balanced(network, norm=0.3)
        found = []
        for rate, steps in ((0.02, 500), (0.01, 1000)):
            run = lp.train(problem, lp.GD(learning_rate=rate), steps)
            moved = lp.analysis.drift(network, run)
            assert not moved.affine.any()
            assert null_space_drift(problem, run) < 1e-16 * steps
            found.append(moved.relative)
        assert found[0] > 1e-6
        assert found[0] / found[1] == pytest.approx(2.0, rel=0.1)

    def test_losses_never_rise(self, network):
        losses = lp.flow(balanced(network, norm=30.0)).losses
        assert (np.diff(losses) <= 1e-12 * losses[0]).all()

    def test_loss_factor_rescales_time(self, network):
        slow, fast = (balanced(network, lp.Regression(X, Y, f), norm=0.3) for f in (1.0, 4.0))
        times = np.array([0.0, 0.5, 2.0])
        np.testing.assert_allclose(
            lp.flow(slow, times=4 * times).coefs, lp.flow(fast, times=times).coefs, rtol=1e-7
        )


class TestUnbalanced:
    def test_path_of_perturbed_layers(self):
        init = lp.Init.perturbed(RANK_ONE, TASK, norm=0.4, imbalance=0.2, seed=10)
        problem = lp.Problem(RANK_ONE, init, TASK)
        times = np.array([0.0, 0.3, 1.0, 4.0])
        run = lp.flow(problem, times=times, space=lp.SampleSpace())
        for mine, exact in zip(run.layers, exact_layers(problem, times), strict=True):
            np.testing.assert_allclose(mine, exact, rtol=0, atol=PATH * np.abs(exact).max())
        assert lp.analysis.drift(RANK_ONE, run).relative < 1e-12

    def test_dense_starts_have_no_map(self):
        problem = lp.Problem(DENSE, lp.Init.random(DENSE, TASK, 0.5, seed=0), TASK)
        with pytest.raises(InitError, match=r"use space=ParameterSpace\(\)"):
            lp.flow(problem, space=lp.SampleSpace())
        assert lp.flow(problem).kind == "gradient flow in parameter space"

    @NETWORKS
    def test_layers_of_zero_stay(self, network):
        init = lp.Init([np.zeros(shape) for shape in network.layer_shapes(TASK)])
        assert lp.flow(lp.Problem(network, init, TASK)).status is lp.Status.STATIONARY


@NETWORKS
class TestScales:
    @pytest.mark.parametrize("scale", [1e-30, 1e-100, 1e-140, 1e-200, 1e-300])
    def test_tiny(self, network, scale):
        """Ends at X⁺y, or says why not; never a time or a layer that is not a number."""
        problem = balanced(network, scale=scale)
        try:
            run = lp.flow(problem)
        except ScaleNotRepresentable as error:
            assert "scale" in str(error)  # noqa: PT017 (either outcome is right)
            assert scale < 1e-30
            return
        assert run.status is lp.Status.CONVERGED
        least = np.linalg.pinv(X) @ Y
        np.testing.assert_allclose(run.coef, least, rtol=0, atol=1e-9 * np.linalg.norm(least))
        assert not np.isnan(run.times).any()
        assert run.times[0] == 0.0
        for layer, start in zip(run.layers, problem.init.layers, strict=True):
            assert np.isfinite(layer).all()
            np.testing.assert_allclose(layer[0], start, rtol=1e-12, atol=1e-14 * scale)

    def test_not_representable(self, network):
        problem = balanced(network, log_scale=-2302.6)
        with pytest.raises(ScaleNotRepresentable, match=r"log_scale=-2302\.6"):
            lp.flow(problem)
        with pytest.raises(ScaleNotRepresentable, match=r"log_scale=-2302\.6"):
            lp.flow(problem, space=lp.ParameterSpace())

    @pytest.mark.parametrize("scale", [0.0, np.inf])
    def test_the_limits(self, network, scale):
        with pytest.raises(InitError, match="positive, finite scale"):
            lp.flow(balanced(network, scale=scale))

    @pytest.mark.parametrize("scale", [1e3, 1e10])
    def test_large_without_a_null_space(self, network, scale):
        """All of z must shrink to X⁻¹y: the layers follow to the end, with their digits.

        A long way down is not the stable manifold, on which only the curve's own starts are.
        """
        task = lp.Regression(np.array([[2.0, 1.0], [0.5, -1.0]]), [1.0, 2.0])
        init = lp.Init.balanced(network, task, scale, direction=[1.0, 0.5])
        run = lp.flow(lp.Problem(network, init, task))
        assert run.status is lp.Status.CONVERGED
        np.testing.assert_allclose(run.coef, np.linalg.solve(task.X, task.y), rtol=1e-8)
        # u² cannot be had from ‖v₁‖² − ‖v₁(0)‖² here: that loses 2 log10(scale) digits.
        end = network.coef([layer[-1] for layer in run.layers])
        np.testing.assert_allclose(end, run.coef, rtol=1e-9)
