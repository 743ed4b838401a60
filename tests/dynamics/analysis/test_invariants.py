"""Conserved quantities: kept by every flow; under gradient descent only where affine."""

import json

import numpy as np
import pytest
from tests.oracles.flows import layer_flow
from tests.theory.problems import gaussian_data

import limitpoint as lp
from limitpoint.dynamics.coordinates import RTOL

N = 6
# Local errors accumulate: a hundred of them, relative to the size of the solution.
ACCUMULATED = 100 * RTOL
RANDOM = np.random.default_rng(8).uniform(0.3, 1.2, (5, N)) * np.sign(
    np.random.default_rng(9).standard_normal((5, N))
)


def product_derivatives(layers):
    return [np.prod(np.delete(layers, j, axis=0), axis=0) for j in range(len(layers))]


def power_derivatives(depth):
    return lambda layers: [
        sign * depth * layer ** (depth - 1) for sign, layer in zip((1, -1), layers, strict=False)
    ]


def paired_derivatives(layers):
    u_plus, v_plus, u_minus, v_minus = layers
    return [v_plus, u_plus, -v_minus, -u_minus]


# Network, its number of layers, and `∂β/∂layer` by hand.
NETWORKS = {
    **{f"Diagonal({L})": (lp.Diagonal(L), L, product_derivatives) for L in (2, 3, 4, 5)},
    **{f"Power({L})": (lp.Power(L), 1, power_derivatives(L)) for L in (2, 3)},
    **{f"SignedPower({L})": (lp.SignedPower(L), 2, power_derivatives(L)) for L in (2, 3, 4, 5)},
    "Paired": (lp.Paired(), 4, paired_derivatives),
}


@pytest.fixture(params=NETWORKS.values(), ids=NETWORKS.keys())
def kind(request):
    return request.param


def problem_of(network, count, layers=RANDOM):
    X, _ = gaussian_data(3, N)
    start = layers[:count]
    # A target that the signs of Power allow: the start, grown by a half.
    y = X @ (1.5 * network.coef(list(start)))
    return lp.Problem(network, lp.Init(start), lp.Regression(X, y))


class TestFlow:
    def test_an_independent_flow_keeps_them(self, kind):
        network, count, derivatives = kind
        problem = problem_of(network, count)
        task, times = problem.task, np.linspace(0, 2, 5)
        layers, _ = layer_flow.flow(
            task.X, task.y, list(problem.init.layers), network.coef, derivatives, times
        )
        found = network.invariants(list(layers))
        moved = np.abs(found - found[:, :1]).max(initial=0.0)
        # 100 times the oracle's tolerance, relative to squares of order 1.
        assert moved <= 100 * layer_flow.RTOL * max(1.0, float(np.abs(layers).max()) ** 2)

    @pytest.mark.parametrize("space", [lp.SampleSpace(), lp.ParameterSpace()])
    def test_ours_keeps_them(self, kind, space):
        network, count, _ = kind
        problem = problem_of(network, count)
        run = lp.flow(problem, space=space)
        assert run.status is lp.Status.CONVERGED
        xi = np.abs(lp.predict(problem).mirror).max()
        assert lp.analysis.drift(network, run).relative <= ACCUMULATED * (1 + xi)

    def test_equal_layers_stay_equal(self, kind):
        """The affine case, where the quantity is zero."""
        network, count, _ = kind
        equal = np.broadcast_to(np.abs(RANDOM[0]), (count, N))
        X, _ = gaussian_data(3, N)
        problem = lp.Problem(network, lp.Init(equal), lp.Regression(X, X @ np.full(N, 0.5)))
        found = lp.analysis.drift(network, lp.flow(problem, t_end=1.0))
        assert found.relative_affine <= ACCUMULATED


def gradient_descent(network, layers, steps=50, rate=0.05, loss_factor=1.0):
    X, _ = gaussian_data(3, N)
    y = np.array([1.0, -1.0, 0.5])
    task = lp.Regression(X, y, loss_factor)
    problem = lp.Problem(network, lp.Init(layers), task)
    run = lp.train(problem, lp.GD(rate), steps, record=np.arange(steps + 1))
    neg_grads = loss_factor * (y - run.coefs[:-1] @ X.T) @ X
    return run, rate * neg_grads


class TestGradientDescent:
    """With `g = ηu`, the step times −∇, one step shrinks every product exactly."""

    @pytest.mark.parametrize("loss_factor", [1.0, 2.0])
    def test_two_layers(self, loss_factor):
        """`a ← a + gb`, `b ← b + ga`: `a² − b² ← (1 − g²)(a² − b²)`."""
        network = lp.Diagonal(2)
        run, steps = gradient_descent(network, RANDOM[:2], loss_factor=loss_factor)
        self.check(network, run, 1 - steps**2)

    @pytest.mark.parametrize("depth", [3, 4])
    def test_more_layers(self, depth):
        """`a_j² ← a_j² + 2gβ + (gβ/a_j)²`: the factor is `1 − g² Π a_k²` over the other layers."""
        network = lp.Diagonal(depth)
        run, steps = gradient_descent(network, RANDOM[:depth])
        layers = np.stack(run.layers)[:, :-1]
        others = [np.prod(np.delete(layers, [0, j], axis=0), axis=0) for j in range(1, depth)]
        self.check(network, run, 1 - (steps * np.stack(others)) ** 2)

    def test_pairs(self):
        """Sums and differences grow by 1 ± g, and each quantity is a product of one of each."""
        run, steps = gradient_descent(lp.Paired(), RANDOM[:4])
        self.check(lp.Paired(), run, 1 - steps**2)

    def test_squares(self):
        """`u ← (1 + 2g)u`, `w ← (1 − 2g)w`."""
        run, steps = gradient_descent(lp.SignedPower(2), RANDOM[:2])
        self.check(lp.SignedPower(2), run, 1 - 4 * steps**2)

    def check(self, network, run, factors):
        values = network.invariants(list(run.layers))
        expected = factors * values[:, :-1]
        size = max(float((layer**2).max()) for layer in run.layers)
        # Some roundings of squares in every step.
        np.testing.assert_allclose(values[:, 1:], expected, rtol=0, atol=1e-14 * size)
        found = lp.analysis.drift(network, run)
        assert not found.affine.any()
        assert found.relative_curved == found.relative > 1e-4
        assert found.relative_affine == 0.0

    @pytest.mark.parametrize("sign", [1.0, -1.0])
    @pytest.mark.parametrize("depth", [2, 3, 4])
    def test_affine_ones_are_kept_exactly(self, depth, sign):
        """The two first layers tie in half of the coordinates and take the same steps, bit by bit.

        (`∂β/∂a_1` and `∂β/∂a_2` are one product times either layer.)
        """
        layers = RANDOM[:depth].copy()
        layers[1, ::2] = sign * layers[0, ::2]
        network = lp.Diagonal(depth)
        run, _ = gradient_descent(network, layers)
        found = lp.analysis.drift(network, run)
        np.testing.assert_array_equal(found.affine[0], np.arange(N) % 2 == 0)
        assert found.affine.sum() == 3
        assert found.relative_affine == 0.0
        assert found.relative == found.relative_curved > 1e-4

    def test_zeros_are_affine_too(self):
        """`u = 0` in a difference of squares, where only w moves."""
        layers = RANDOM[:2].copy()
        layers[0, :3] = 0.0
        run, _ = gradient_descent(lp.SignedPower(2), layers)
        found = lp.analysis.drift(lp.SignedPower(2), run)
        np.testing.assert_array_equal(found.affine[0], np.arange(N) < 3)
        assert found.relative_affine == 0.0
        assert found.relative_curved > 1e-4

    def test_the_leak_is_of_first_order_in_the_step(self):
        """`η²u²` per step, 1/η steps: halving the step halves the leak."""
        leaks = []
        for halvings in range(4):
            rate = 0.05 / 2**halvings
            run, _ = gradient_descent(lp.Diagonal(2), RANDOM[:2], 20 * 2**halvings, rate)
            leaks.append(lp.analysis.drift(lp.Diagonal(2), run).relative)
        orders = np.log2(np.array(leaks[:-1]) / leaks[1:])
        # First order up to the step itself, halved each time.
        assert orders[-1] == pytest.approx(1.0, abs=0.1)


class TestDriftValue:
    layers = (np.array([[1.0, 2.0], [1.0, 2.0]]), np.array([[1.0, 1.0], [2.0, 1.5]]))

    def found(self, layers=None):
        layers = layers or self.layers
        run = lp.results.Trajectory.build(
            kind="made up",
            status=lp.Status.REACHED_END,
            times=np.array([0.0, 1.0]),
            coefs=layers[0] * layers[1],
            losses=np.zeros(2),
            relative_residual=1.0,
            layers=layers,
        )
        return lp.analysis.drift(lp.Diagonal(2), run)

    def test_affine_and_curved_are_told_apart(self):
        found = self.found()
        np.testing.assert_array_equal(found.start, [[0.0, -3.0]])
        np.testing.assert_array_equal(found.moved, [[3.0, 1.25]])
        np.testing.assert_array_equal(found.affine, [[True, False]])
        assert found.size == 4.0
        assert found.total == 4.25
        assert (found.relative, found.relative_affine, found.relative_curved) == (
            0.75,
            0.75,
            1.25 / 4,
        )

    def test_to_xarray_and_dict(self):
        found = self.found()
        data = found.to_xarray()
        np.testing.assert_array_equal(data["moved"], found.moved)
        np.testing.assert_array_equal(data["affine"], found.affine)
        assert data.attrs["size"] == 4.0
        plain = found.to_dict()
        assert json.loads(json.dumps(plain)) == plain
        assert plain["total"] == 4.25

    def test_text(self):
        text = str(self.found())
        assert "Conserved quantities: 2" in text
        assert "affine" in text
        assert "curved" in text
        assert "<table>" in self.found()._repr_html_()

    def test_a_run_that_diverged_has_infinite_drift(self):
        layers = (np.array([[1.0], [np.inf]]), np.array([[2.0], [np.inf]]))
        assert self.found(layers).relative == np.inf

    def test_one_parameter_per_coefficient_conserves_nothing(self):
        problem = problem_of(lp.Power(3), 1)
        found = lp.analysis.drift(lp.Power(3), lp.flow(problem))
        assert found.start.shape == (0, N)
        assert found.total == found.relative == 0.0

    def test_it_cannot_be_changed(self):
        with pytest.raises(ValueError, match="read-only"):
            self.found().moved[0, 0] = 0.0
