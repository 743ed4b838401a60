"""The flow of two-layer networks in the directions that move, against brute force.

One file, although long: one flow, and problems that its tests share.
"""

import json
import tracemalloc

import numpy as np
import pytest
from tests.oracles.flows import two_layer_flow as oracle
from tests.oracles.many_digits.two_layer_mp import riccati

import limitpoint as lp
from limitpoint.errors import InitError, ScaleNotRepresentable

# Brute force for every case: twenty seconds in all.
pytestmark = pytest.mark.slow

EPS = float(np.finfo(np.float64).eps)
# The acceptance line: 100 times the integrators' tolerance of 1e-10, relative to the largest entry
# of what is compared.
LINE = 1e-8
# On the way the times of growth count too: local errors of 1e-12 over a growth by log(1e6) = 14,
# which a slower direction repeats, times 100.
FINE = 1e-12
GAMMAS = [1e3, 1.0, 1e-3, 1e-12]
SHAPES = {  # m, n, outputs, width
    "k=3, l=n": (3, 5, 3, 5),
    "vector, l=n": (3, 5, None, 5),
    "k=1, l>>n": (3, 5, 1, 60),
    "m>n": (7, 3, 2, 5),
    "k>n": (4, 2, 4, 3),
}


def from_layers(X, Y, layers, loss_factor=1.0):
    task = lp.Regression(X, Y, loss_factor)
    return lp.Problem(lp.TwoLayer(len(layers[1])), lp.Init.from_layers(layers), task)


def orthonormal(shape, gamma, loss_factor=1.0, seed=1):
    m, n, outputs, width = shape
    X, Y = oracle.data(m, n, outputs, seed)
    return from_layers(X, Y, oracle.orthonormal_layers(n, width, outputs, gamma, seed), loss_factor)


def moments(problem, count=7):
    """Some of the integrator's own times: dense where something happens."""
    times = lp.flow(problem).times
    chosen = np.linspace(0, len(times) - 1, count).astype(int)
    return np.unique(times[chosen])


def exact(problem, times):
    task = problem.task
    return oracle.flow_at(task.X, task.y, *problem.init.layers, times, task.loss_factor)


def apart(found, wanted):
    """Largest difference, relative to the largest entry of what is wanted."""
    return np.abs(found - wanted).max() / np.abs(wanted).max()


def spectra(layers):
    """Singular values of W₁, W₂ and β at every time."""
    first, second = layers[0], layers[1].reshape(*layers[1].shape[:2], -1)
    return [np.linalg.svd(m, compute_uv=False) for m in (first, second, first @ second)]


def worst_relation(layers, gamma):
    """Corollary 3.1: the largest deviation of σ(W₁) and of σ(W₂), each relative to its largest."""
    one, two, coef = spectra(layers)
    bend = np.hypot(coef, gamma)
    large = np.sqrt(bend + gamma)
    small = coef / large  # √(bend − γ) without cancellation
    others = np.full((len(one), one.shape[1] - coef.shape[1]), np.sqrt(2 * gamma))
    large = -np.sort(-np.concatenate([large, others], axis=1), axis=1)
    # Of the singular values of W₂ those that β has none for are zero.
    small = np.pad(small, [(0, 0), (0, two.shape[1] - small.shape[1])])
    return apart(one, large), apart(two, small)


class TestPath:
    @pytest.mark.parametrize("gamma", GAMMAS, ids="γ={:g}".format)
    @pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
    def test_layers_at_every_time(self, shape, gamma):
        """Both layers, each relative to its own size, and β: at large γ they are 1e3 apart."""
        problem = orthonormal(shape, gamma)
        times = moments(problem)
        run = lp.flow(problem, times=times)
        np.testing.assert_array_equal(run.times, times)
        brute = exact(problem, times)
        assert run.kind == "gradient flow in the directions that move"
        assert apart(run.layers[0], brute[0]) < LINE
        assert apart(run.layers[1], brute[1]) < LINE
        assert apart(run.coefs, problem.network.coef(brute)) < LINE

    @pytest.mark.parametrize("size", [1e-6, 1e6], ids="{:g}".format)
    def test_units_of_the_targets(self, size):
        """Targets of 1e-6 beside γ of order one: what counts is γ relative to σ(β)."""
        X, Y = oracle.data(3, 5, 2, 1)
        problem = from_layers(X, size * Y, oracle.orthonormal_layers(5, 6, 2, 0.1, 1))
        times = moments(problem)
        run, brute = lp.flow(problem, times=times), exact(problem, times)
        assert apart(run.layers[1], brute[1]) < LINE
        assert apart(run.coefs, problem.network.coef(brute)) < LINE

    @pytest.mark.parametrize("gamma", [1e3, 1.0, 1e-12], ids="γ={:g}".format)
    def test_reduced_is_full(self, gamma):
        problem = orthonormal((3, 4, 2, 6), gamma)
        times = moments(problem)
        reduced = lp.flow(problem, times=times, space=lp.SampleSpace(rtol=FINE))
        full = lp.flow(problem, times=times, space=lp.ParameterSpace(rtol=FINE))
        assert full.kind == "gradient flow in parameter space"
        for one, two in zip(reduced.layers, full.layers, strict=True):
            assert apart(one, two) < LINE
        assert apart(reduced.coefs, full.coefs) < LINE
        np.testing.assert_allclose(reduced.losses, full.losses, rtol=0, atol=LINE * full.losses[0])

    @pytest.mark.parametrize("scale", [1e-3, 1.0, 10.0], ids="scale={:g}".format)
    @pytest.mark.parametrize("kind", ["gaussian", "perturbed", "perturbed by 1e-6"])
    def test_other_starts(self, kind, scale):
        """No theorem, but the same flow; W₂ of 1e-6 is not lost beside W₁."""
        task, network = lp.Regression(*oracle.data(3, 5, 2, 0), 0.7), lp.TwoLayer(7)
        if kind == "gaussian":
            init = lp.Init.random(network, task, scale, seed=3)
        else:
            size = 0.1 if kind == "perturbed" else 1e-6
            init = lp.Init.orthogonal(network, task, scale, seed=3, perturbation=size)
        problem = lp.Problem(network, init, task)
        times = moments(problem)
        run, brute = lp.flow(problem, times=times), exact(problem, times)
        for mine, wanted in zip(run.layers, brute, strict=True):
            assert apart(mine, wanted) < LINE
        if scale == 1.0 and kind != "perturbed by 1e-6":
            full = lp.flow(problem, times=times, space=lp.ParameterSpace())
            for mine, wanted in zip(run.layers, full.layers, strict=True):
                assert apart(mine, wanted) < LINE

    @pytest.mark.parametrize("outputs", [None, 2])
    def test_what_the_data_do_not_see_stays(self, outputs):
        """A Gaussian start of rank-deficient data: W₁ outside the row space does not move at all,
        and β has a part there that does.
        """
        X, Y = oracle.data(4, 2, outputs, 0)
        X = X @ np.random.default_rng(0).standard_normal((2, 5))
        rng = np.random.default_rng(1)
        tail = () if outputs is None else (outputs,)
        layers = 0.5 * rng.standard_normal((5, 6)), 0.5 * rng.standard_normal((6, *tail))
        problem = from_layers(X, Y, layers)
        run = lp.flow(problem)
        assert run.status is lp.Status.CONVERGED
        some = run.times[:: len(run.times) // 5]
        brute = exact(problem, some)
        run = lp.flow(problem, times=some)
        for mine, wanted in zip(run.layers, brute, strict=True):
            assert apart(mine, wanted) < LINE
        null = np.linalg.svd(X)[2][2:]
        # Rounding of products of five terms of order one.
        np.testing.assert_allclose(null @ run.layers[0][-1], null @ layers[0], atol=40 * EPS)
        assert np.abs(null @ (run.coef - run.coefs[0])).max() > 1e-3

    def test_the_width_does_not_matter(self):
        """The same 9 + 6 numbers for 4 and for 4000 neurons, rotated into them."""
        X, Y = oracle.data(3, 4, 2, 0)
        times = np.array([0.0, 0.3, 1.0, 5.0])
        first, second = oracle.orthonormal_layers(4, 4, 2, 0.01, 0)
        turn = np.linalg.qr(np.random.default_rng(0).standard_normal((4000, 4)))[0]
        narrow = lp.flow(from_layers(X, Y, (first, second)), times=times)
        wide = lp.flow(from_layers(X, Y, (first @ turn.T, turn @ second)), times=times)
        # The same equations up to a rotation of the state: two runs of the integrator.
        assert apart(wide.coefs, narrow.coefs) < LINE
        assert apart(wide.layers[0], narrow.layers[0] @ turn.T) < LINE
        assert apart(wide.layers[1], turn @ narrow.layers[1]) < LINE

    def test_more_numbers_than_a_jacobian_takes(self):
        """ρ² + ρk = 2116 numbers: the explicit method, to the same end."""
        X, Y = oracle.whitened_data(44, 44, 4, 0)
        problem = from_layers(X, Y, oracle.orthonormal_layers(44, 44, 4, 0.1, 0))
        run = lp.flow(problem)
        assert run.status is lp.Status.CONVERGED
        assert apart(run.coef, np.linalg.solve(X, Y)) < 1e-9
        assert lp.analysis.drift(problem.network, run.select([0, -1])).relative < 1e-9

    def test_t_end(self):
        problem = orthonormal(SHAPES["k=3, l=n"], 0.1)
        run = lp.flow(problem, t_end=0.4)
        assert run.times[-1] == pytest.approx(0.4)
        assert run.status is lp.Status.REACHED_END
        brute = exact(problem, [0.0, 0.4])
        assert apart(run.layers[1][-1], brute[1][-1]) < LINE
        assert lp.flow(problem, t_end=0).coef.tolist() == np.zeros((5, 3)).tolist()

    def test_loss_factor_rescales_time(self):
        slow, fast = (orthonormal(SHAPES["k=3, l=n"], 0.1, factor) for factor in (1.0, 4.0))
        times = np.array([0.0, 0.2, 1.0])
        one, two = lp.flow(slow, times=4 * times), lp.flow(fast, times=times)
        assert apart(one.coefs, two.coefs) < LINE
        np.testing.assert_allclose(4 * one.losses, two.losses, rtol=1e-7)

    @pytest.mark.parametrize("gamma", GAMMAS, ids="γ={:g}".format)
    def test_losses_are_losses_and_never_rise(self, gamma):
        problem = orthonormal(SHAPES["k=3, l=n"], gamma)
        run = lp.flow(problem)
        task = problem.task
        by_hand = 0.5 * np.sum((task.X @ run.coefs - task.y) ** 2, axis=(1, 2))
        np.testing.assert_allclose(run.losses, by_hand, rtol=1e-9, atol=1e-28)
        assert (np.diff(run.losses) <= 1e-12 * run.losses[0]).all()
        assert apart(problem.network.coef(run.layers), run.coefs) < 100 * EPS


class TestRelations:
    """Corollary 3.1 and the conserved quantities, at every time."""

    @pytest.mark.parametrize("gamma", GAMMAS, ids="γ={:g}".format)
    @pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
    def test_reduced(self, shape, gamma):
        run = lp.flow(orthonormal(shape, gamma))
        assert max(worst_relation(run.layers, gamma)) < LINE

    @pytest.mark.parametrize("gamma", [1e3, 1e-12], ids="γ={:g}".format)
    def test_full(self, gamma):
        run = lp.flow(orthonormal((3, 4, 2, 6), gamma), space=lp.ParameterSpace())
        assert max(worst_relation(run.layers, gamma)) < LINE

    @pytest.mark.parametrize("gamma", GAMMAS, ids="γ={:g}".format)
    def test_brute_force(self, gamma):
        """It is the corollary that holds, not our flow that is bent to it."""
        problem = orthonormal(SHAPES["k=3, l=n"], gamma)
        times = moments(problem, 15)
        assert max(worst_relation(exact(problem, times), gamma)) < 1e-10

    def test_they_fail_for_other_starts(self):
        task, network = lp.Regression(*oracle.data(3, 5, 2, 0)), lp.TwoLayer(7)
        init = lp.Init.orthogonal(network, task, 1.0, perturbation=0.1)
        run = lp.flow(lp.Problem(network, init, task))
        assert max(worst_relation(run.layers, 0.5)) > 1e-2

    @pytest.mark.parametrize("seed", [2, 3])
    @pytest.mark.parametrize("width", [5, 200])
    @pytest.mark.parametrize("gamma", GAMMAS, ids="γ={:g}".format)
    def test_conserved_quantities_do_not_drift(self, gamma, width, seed):
        """Below 1e-9 in the unit that `Drift` names, the squared norm of a layer."""
        problem = orthonormal((3, 5, 2, width), gamma, seed=seed)
        run = lp.flow(problem)
        # Forty records: all of width 200 would take half a gigabyte.
        kept = np.unique(np.linspace(0, len(run.times) - 1, 40).astype(int))
        found = lp.analysis.drift(problem.network, run.select(kept))
        assert not found.affine.any()
        assert found.relative == found.relative_curved
        assert found.relative < 1e-9

    def test_the_unit_of_drift(self):
        """The quantities are sums over rows: single entries say nothing about their size."""
        problem = orthonormal((3, 5, 2, 200), 1.0)
        run = lp.flow(problem, times=[0.0, 1.0])
        largest = max(float(np.sum(layer**2, axis=(1, 2)).max()) for layer in run.layers)
        assert lp.analysis.drift(problem.network, run).size == pytest.approx(largest)

    def test_gradient_descent_drifts(self):
        """In proportion to the step, and nothing of it counts as affine."""
        problem = orthonormal(SHAPES["k=3, l=n"], 0.1)
        found = []
        for rate, steps in ((0.02, 500), (0.01, 1000)):
            run = lp.train(problem, lp.GD(learning_rate=rate), steps)
            moved = lp.analysis.drift(problem.network, run)
            assert not moved.affine.any()
            found.append(moved.relative)
        assert found[0] > 1e-5
        assert found[0] / found[1] == pytest.approx(2.0, rel=0.1)


class TestScales:
    @pytest.mark.parametrize("scale", [1e-300, 1e-100, 1e-30, 1e-12, 1e5, 1e8, 1e20, 1e60])
    def test_extreme(self, scale):
        """Ends at X⁺Y, or says why not: never a warning, nor the start handed back."""
        X, Y = oracle.data(3, 5, 2, 1)
        task, network = lp.Regression(X, Y), lp.TwoLayer(6)
        problem = lp.Problem(network, lp.Init.orthogonal(network, task, scale), task)
        try:
            # A flow that leaves both saddles takes some hundred steps.
            run = lp.flow(problem, space=lp.SampleSpace(max_steps=3000))
        except ScaleNotRepresentable as error:
            assert "scale" in str(error)  # noqa: PT017 (either outcome is right)
            assert not 1e-12 <= scale <= 1e8
            return
        assert run.status is lp.Status.CONVERGED
        assert apart(run.coef, np.linalg.pinv(X) @ Y) < 1e-9
        assert run.times[0] == 0.0
        assert (np.diff(run.times) > 0).all()
        for layer, start in zip(run.layers, problem.init.layers, strict=True):
            assert np.isfinite(layer).all()
            np.testing.assert_allclose(layer[0], start, rtol=1e-12, atol=1e-14 * scale)

    @pytest.mark.parametrize("scale", [1e-4, 1e-8, 1e-20, 1e-30, 1e-60], ids="{:g}".format)
    def test_jumps_come_when_they_should(self, scale):
        """Whitened data, σ = 2 and 1: the second jump waits for `log(1/γ)/2`.

        Active layers hide an inactive direction of size √(2γ) behind rounding of eps: relative
        errors of eps/√(2γ) in it, and as large ones in β at the jump. When nothing is left of it, a
        flow that jumps at the wrong time, or never, must say so instead.
        """
        rng = np.random.default_rng(0)
        X = np.linalg.qr(rng.standard_normal((4, 4)))[0]
        left = np.linalg.qr(rng.standard_normal((4, 2)))[0]
        right = np.linalg.qr(rng.standard_normal((2, 2)))[0]
        task = lp.Regression(X, X @ (left * np.array([2.0, 1.0])) @ right)
        init = lp.Init.orthogonal(lp.TwoLayer(5), task, scale)
        gamma = scale**2 / 2
        times = 0.5 * np.log(1 / gamma) * np.array([0.4, 0.6, 0.8, 0.95, 1.0, 1.05, 1.2])
        exact = [[float(riccati(s, gamma, t)[1]) for s in (2, 1)] for t in times]
        try:
            run = lp.flow(lp.Problem(lp.TwoLayer(5), init, task), times=times)
        except ScaleNotRepresentable as error:
            assert "scale" in str(error)  # noqa: PT017 (either outcome is right)
            assert scale < 1e-12
            return
        found = np.linalg.svd(run.coefs, compute_uv=False)
        np.testing.assert_allclose(found, exact, rtol=0, atol=LINE + 100 * EPS / scale)
        assert LINE + 100 * EPS / scale < 0.1, "nothing was said of the lost digits"

    @pytest.mark.parametrize("space", [None, lp.SampleSpace(), lp.ParameterSpace()])
    def test_not_representable(self, space):
        task, network = lp.Regression(*oracle.data(3, 5, 2, 1)), lp.TwoLayer(6)
        init = lp.Init.orthogonal(network, task, log_scale=-2302.6)
        with pytest.raises(ScaleNotRepresentable, match=r"log_scale=-2302\.6"):
            lp.flow(lp.Problem(network, init, task), space=space)

    def test_the_advice_can_be_followed(self):
        """Already the default is the flow in sample space: that cannot be the way out."""
        task, network = lp.Regression(*oracle.data(3, 5, 2, 1)), lp.TwoLayer(6)
        init = lp.Init.orthogonal(network, task, log_scale=-2302.6)
        with pytest.raises(ScaleNotRepresentable) as on_manifold:
            lp.flow(lp.Problem(network, init, task), space=lp.SampleSpace())
        assert "use the flow in sample space" not in str(on_manifold.value)

    @pytest.mark.parametrize("scale", [0.0, np.inf])
    def test_the_limits(self, scale):
        task, network = lp.Regression(*oracle.data(3, 5, 2, 1)), lp.TwoLayer(6)
        init = lp.Init.orthogonal(network, task, scale)
        with pytest.raises(InitError, match="positive, finite scale"):
            lp.flow(lp.Problem(network, init, task))

    def test_rows_of_very_different_sizes(self):
        """A start of diag(1, 1e-18): the second neuron activates at t = log(1e18) or so, and is not
        below the rank of anything: its rows are on a scale of their own.
        """
        task = lp.Regression(np.eye(2), np.diag([2.0, 1.0]))
        init = lp.Init([np.diag([1.0, 1e-18]), np.zeros((2, 2))])
        problem = lp.Problem(lp.TwoLayer(2), init, task)
        run = lp.flow(problem, t_end=60.0)
        # β₂ follows the scalar Riccati equation with γ = 5e-37: there by t = log(1e36)/2 = 41.
        np.testing.assert_allclose(run.coef, np.diag([2.0, 1.0]), rtol=0, atol=1e-6)


class TestEdges:
    def check_end(self, X, Y, layers, status):
        problem = from_layers(X, Y, layers)
        run = lp.flow(problem)
        assert run.status is status
        best = np.linalg.lstsq(X, Y, rcond=None)[0]
        np.testing.assert_allclose(X @ run.coef, X @ best, rtol=0, atol=1e-9)
        return run

    def test_out_of_range(self):
        X, Y = oracle.data(6, 3, 2, 0)
        Y = Y + np.random.default_rng(0).standard_normal(Y.shape)
        layers = oracle.orthonormal_layers(3, 4, 2, 0.1, 0)
        run = self.check_end(X, Y, layers, lp.Status.LEAST_SQUARES)
        np.testing.assert_allclose(run.coef, np.linalg.pinv(X) @ Y, rtol=0, atol=1e-8)

    def test_nothing_within_range(self):
        """Y orthogonal to the range of X, but for rounding: nothing to learn, and no failure."""
        X, _ = oracle.data(6, 3, 2, 0)
        Y = np.linalg.svd(X)[0][:, 3:5]
        layers = oracle.orthonormal_layers(3, 4, 2, 0.1, 0)
        run = self.check_end(X, Y, layers, lp.Status.LEAST_SQUARES)
        np.testing.assert_allclose(run.coef, 0.0, rtol=0, atol=1e-14)

    @pytest.mark.parametrize("outputs", [None, 2])
    def test_nothing_to_fit(self, outputs):
        X, Y = oracle.data(3, 5, outputs, 0)
        layers = oracle.orthonormal_layers(5, 6, outputs, 0.1, 0)
        run = self.check_end(X, 0 * Y, layers, lp.Status.CONVERGED)
        np.testing.assert_array_equal(run.coef, np.zeros_like(run.coef))

    def test_nothing_to_fit_from_elsewhere(self):
        """Y = 0 and a Gaussian start: β shrinks to zero in the row space."""
        X, Y = oracle.data(3, 5, 2, 0)
        rng = np.random.default_rng(0)
        layers = rng.standard_normal((5, 6)), rng.standard_normal((6, 2))
        self.check_end(X, 0 * Y, layers, lp.Status.CONVERGED)

    def test_no_data(self):
        run = lp.flow(from_layers(np.zeros((2, 3)), np.ones((2, 2)), (np.eye(3), np.ones((3, 2)))))
        assert run.status is lp.Status.LEAST_SQUARES
        np.testing.assert_allclose(run.coef, np.ones((3, 2)), rtol=4 * EPS)

    def test_zero_layers_stay(self):
        X, Y = oracle.data(3, 5, 2, 0)
        run = lp.flow(from_layers(X, Y, (np.zeros((5, 6)), np.zeros((6, 2)))))
        assert run.status is lp.Status.STATIONARY

    def test_a_zero_column(self):
        X, _ = oracle.data(3, 4, 2, 0)
        X = X * np.array([1.0, 0.0, 1.0, 1.0])
        layers = oracle.orthonormal_layers(4, 5, 2, 0.1, 0)
        run = self.check_end(X, X @ np.ones((4, 2)), layers, lp.Status.CONVERGED)
        np.testing.assert_allclose(run.layers[0][-1][1], layers[0][1], rtol=0, atol=10 * EPS)
        np.testing.assert_allclose(run.coef[1], 0.0, rtol=0, atol=1e-14)

    @pytest.mark.parametrize("outputs", [None, 1, 3])
    def test_one_feature_one_neuron(self, outputs):
        """`w₂ = sinh τ …`: from W₁ = √(2γ) the end is `w₁² = √(β²+γ²)+γ`."""
        X, Y = np.array([[2.0], [1.0]]), np.array([[2.0], [1.0]]) * np.ones(outputs or 1)
        Y = Y[:, 0] if outputs is None else Y
        run = lp.flow(from_layers(X, Y, oracle.orthonormal_layers(1, 1, outputs, 0.3, 0)))
        size = np.sqrt(outputs or 1)
        wanted = np.sqrt(np.hypot(size, 0.3) + 0.3)
        assert abs(run.layers[0][-1][0, 0]) == pytest.approx(wanted, rel=1e-9)

    def test_a_small_problem_takes_little_memory(self):
        """Two numbers at some hundred times, not the millions of records that would fit."""
        X, Y = oracle.data(1, 1, None, 0)
        problem = from_layers(X, Y, oracle.orthonormal_layers(1, 1, None, 1.0, 0))
        tracemalloc.start()
        try:
            lp.flow(problem)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 20e6

    def test_fewer_neurons_than_features(self):
        """Width 1: β has rank one at all times, and the flow is still exact."""
        X, Y = oracle.data(4, 3, 2, 0)
        rng = np.random.default_rng(2)
        layers = rng.standard_normal((3, 1)), rng.standard_normal((1, 2))
        problem = from_layers(X, Y, layers)
        times = np.array([0.0, 0.5, 2.0])
        run = lp.flow(problem, times=times)
        for mine, wanted in zip(run.layers, exact(problem, times), strict=True):
            assert apart(mine, wanted) < LINE
        assert np.linalg.svd(run.coef, compute_uv=False)[1] < 10 * EPS


class TestRecord:
    """Coefficients of shape (n, k) in a trajectory."""

    run = lp.flow(orthonormal((3, 4, 3, 6), 0.1), times=[0.0, 0.5, 2.0])

    def test_shapes(self):
        assert self.run.coefs.shape == (3, 4, 3)
        assert self.run.coef.shape == (4, 3)
        assert [layer.shape for layer in self.run.layers] == [(3, 4, 6), (3, 6, 3)]
        assert self.run.signs.shape == self.run.log_abs_coefs.shape == (3, 4, 3)
        assert (self.run.log_abs_coefs[0] == -np.inf).all()
        assert self.run.duals is None

    def test_xarray(self):
        data = self.run.to_xarray()
        assert data["coef"].dims == ("time", "feature", "output")
        assert data["layer_0"].dims == ("time", "layer_0_axis_0", "layer_0_axis_1")
        assert data.attrs["status"] == "REACHED_END"
        np.testing.assert_array_equal(data["coef"].sel(time=0.5, output=2), self.run.coefs[1, :, 2])

    def test_dict_is_plain(self):
        plain = self.run.to_dict()
        np.testing.assert_array_equal(plain["coefs"], self.run.coefs)
        assert json.loads(json.dumps(plain))["status"] == "REACHED_END"

    def test_text_shows_the_largest_coefficients(self):
        text = str(self.run)
        place = np.unravel_index(np.abs(self.run.coef).argmax(), (4, 3))
        assert f"β[{place[0]}, {place[1]}]" in text
        assert f"{self.run.coef[place]:.4g}" in text
        assert "3 records, 12 coefficients" in text
        assert "<table>" in self.run._repr_html_()

    def test_a_vector_is_a_vector(self):
        run = lp.flow(orthonormal((3, 4, None, 6), 0.1), t_end=0.5)
        assert run.coef.shape == (4,)
        assert run.layers[1].shape == (len(run.times), 6)
        assert run.to_xarray()["coef"].dims == ("time", "feature")

    def test_vector_and_column_are_the_same(self):
        X, Y = oracle.data(3, 4, None, 0)
        first, second = oracle.orthonormal_layers(4, 6, None, 0.1, 0)
        times = [0.0, 0.5, 2.0]
        vector = lp.flow(from_layers(X, Y, (first, second)), times=times)
        column = lp.flow(from_layers(X, Y[:, None], (first, second[:, None])), times=times)
        # The same numbers in the same order.
        np.testing.assert_allclose(vector.coefs, column.coefs[..., 0], rtol=1e-12, atol=1e-15)

    def test_read_only(self):
        with pytest.raises(ValueError, match="read-only"):
            self.run.layers[0][0, 0, 0] = 1.0

    def test_drift_as_a_value(self):
        found = lp.analysis.drift(lp.TwoLayer(6), self.run)
        assert found.start.shape == (36,)
        assert found.to_xarray()["moved"].dims == ("quantity",)
        assert json.loads(json.dumps(found.to_dict()))["size"] == found.size
        assert "Conserved quantities: 36" in str(found)
