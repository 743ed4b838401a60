"""Gradient descent with noise on the labels: draws, a plain loop, every network, its equation."""

import jax
import numpy as np
import pytest

import limitpoint as lp
from limitpoint.dynamics.training.label_noise import NUMBERS_PER_BLOCK, LabelNoise, LabelNoiseModel
from limitpoint.dynamics.training.optimisers import STEPS_PER_BLOCK
from limitpoint.networks.relu import ReLU

EPS = np.finfo(float).eps


def two_layer_problem(outputs=(), m=4, n=3, width=5, loss_factor=0.7):
    rng = np.random.default_rng(3)
    task = lp.Regression(
        rng.standard_normal((m, n)), rng.standard_normal((m, *outputs)), loss_factor=loss_factor
    )
    network = lp.TwoLayer(width=width)
    return lp.Problem(network, lp.Init.random(network, task, scale=0.4, seed=1), task)


@pytest.mark.parametrize("outputs", [(), (1,), (3,)], ids=str)
class TestAgainstALoop:
    RULE = LabelNoise(0.02, 0.3, seed=7)
    STEPS = 3000

    def loop(self, problem, rule):
        """The same steps with gradients written out."""
        X, y, factor = problem.task.X, problem.task.y, problem.task.loss_factor
        first, second = (layer.copy() for layer in problem.init.layers)
        columns = second if second.ndim == 2 else second[:, None]
        targets = y if y.ndim == 2 else y[:, None]
        noise = rule.draws(len(X), 0, self.STEPS, y.shape[1:]).reshape(self.STEPS, *targets.shape)
        for step in range(self.STEPS):
            labels = targets + rule.delta * noise[step]
            neg_grad = factor * X.T @ (labels - X @ first @ columns)
            rate = rule.learning_rate
            first, columns = (
                first + rate * neg_grad @ columns.T,
                columns + rate * first.T @ neg_grad,
            )
        return first, columns.reshape(second.shape)

    # A few roundings of numbers of order 1 in each step, none of which expands.
    ATOL = STEPS * EPS * 10

    def test_train(self, outputs):
        problem = two_layer_problem(outputs)
        run = lp.train(problem, self.RULE, self.STEPS, record=[10, 500])
        for layer, expected in zip(run.layers, self.loop(problem, self.RULE), strict=True):
            np.testing.assert_allclose(layer[-1], expected, rtol=0, atol=self.ATOL)
        assert run.status is lp.Status.REACHED_END

    def test_train_many(self, outputs):
        problem = two_layer_problem(outputs)
        sweep = lp.train_many(problem, self.RULE, self.STEPS, scales=[0.4], seeds=[7, 8], record=5)
        first, second = self.loop(problem, self.RULE)
        np.testing.assert_allclose(sweep.coefs[0, 0, 0], first @ second, rtol=0, atol=self.ATOL)
        other = self.loop(problem, self.RULE.with_seed(8))
        np.testing.assert_allclose(sweep.coefs[0, 0, 1], other[0] @ other[1], atol=self.ATOL)


def product(block):
    return block[0] * block[1]


NETWORKS = [
    lp.Diagonal(depth=3),
    lp.Power(depth=2),
    lp.Paired(),
    lp.General(product, block_size=2),
    lp.RankOne(depth=2, width=3),
    lp.FullyConnected(widths=(3, 2)),
    ReLU(widths=(6,)),
]


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: type(network).__name__)
def test_every_network_learns(network):
    rng = np.random.default_rng(0)
    X, truth = rng.standard_normal((4, 6)) / 2, np.abs(rng.standard_normal(6))
    task = lp.Regression(np.abs(X), np.abs(X) @ truth, loss_factor=0.5)
    direction = lp.Init.random(network, task, seed=1).direction
    init = lp.Init([np.abs(layer) for layer in direction], 0.6)
    run = lp.train(lp.Problem(network, init, task), LabelNoise(0.05, 0.01), 3000, record=1)
    assert run.losses[-1] < 1e-2 * run.losses[0]
    assert "LabelNoise(learning_rate=0.05, delta=0.01" in run.kind


def test_without_noise_it_is_gradient_descent():
    problem = two_layer_problem((2,))
    noisy = lp.train(problem, LabelNoise(0.02, 0.0), 300, record=5)
    plain = lp.train(problem, lp.GD(0.02), 300, record=5)
    np.testing.assert_allclose(noisy.coefs, plain.coefs, rtol=0, atol=1e-12)


def test_a_seed_fixes_the_run_whatever_is_recorded():
    problem = two_layer_problem()
    often = lp.train(problem, LabelNoise(0.02, 0.3, seed=1), 5000, record=range(0, 5001, 50))
    seldom = lp.train(problem, LabelNoise(0.02, 0.3, seed=1), 5000, record=1)  # in two calls
    np.testing.assert_array_equal(often.coef, seldom.coef)


class TestDraws:
    def test_are_standard_normal_and_independent(self):
        draws = LabelNoise(0.1, 5.0, seed=1).draws(3, 0, 10_000, (2,))
        assert draws.shape == (10_000, 3, 2)
        flat = draws.reshape(10_000, 6)
        # Means and covariances of 10000, to five standard errors: 1 for products, √2 for squares.
        assert np.abs(flat.mean(axis=0)).max() <= 5 / 100
        assert np.abs(flat.T @ flat / 10_000 - np.eye(6)).max() <= 5 * np.sqrt(2) / 100
        # And from step to step.
        assert np.abs(flat[1:].T @ flat[:-1] / 9_999).max() <= 5 / 100

    @pytest.mark.parametrize(("samples", "outputs"), [(4, ()), (4, (3,)), (1000, (2,))])
    def test_depend_on_seed_and_step_alone(self, samples, outputs):
        rule = LabelNoise(0.1, 1.0, seed=4)
        whole = rule.draws(samples, 0, 2 * STEPS_PER_BLOCK + 5, outputs)
        for first, count in ((STEPS_PER_BLOCK - 7, STEPS_PER_BLOCK + 9), (0, 1), (1030, 70)):
            part = rule.draws(samples, first, count, outputs)
            np.testing.assert_array_equal(part, whole[first : first + count])
        other = rule.with_seed(5).draws(samples, 0, 10, outputs)
        assert (other != whole[:10]).all()

    def test_do_not_depend_on_the_size(self):
        one, two = (LabelNoise(0.1, delta).draws(3, 0, 10) for delta in (1.0, 2.0))
        np.testing.assert_array_equal(one, two)

    def test_more_numbers_than_a_block_holds(self):
        assert LabelNoise(0.1, 1.0).draws(NUMBERS_PER_BLOCK + 1, 3, 2).shape[0] == 2


def orthogonal_problem(gamma=0.5, width=200):
    """Varre Fig. 1b: five orthonormal samples in five dimensions."""
    rng = np.random.default_rng(0)
    X = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    task = lp.Regression(X, X @ rng.standard_normal(5))
    network = lp.TwoLayer(width=width)
    return lp.Problem(network, lp.Init.orthogonal(network, task, gamma=gamma), task)


def test_lower_singular_values_decay():
    """Varre Fig. 1b: gradient descent keeps all but one singular value of W₁, label noise none."""
    problem = orthogonal_problem()
    runs = [
        lp.train(problem, rule, 50_000, record=4) for rule in (lp.GD(0.05), LabelNoise(0.05, 1))
    ]
    plain, noisy = (np.linalg.svd(run.layers[0], compute_uv=False) for run in runs)
    np.testing.assert_allclose(plain[:, 1:], 1.0, rtol=1e-10)
    assert (noisy[-1, 1:] < 1e-3).all()
    assert noisy[-1, 0] > 1.0


class TestModel:
    @pytest.mark.parametrize("outputs", [(), (1,)], ids=str)
    def test_a_step_of_eulers_method_is_a_step_of_label_noise(self, outputs):
        problem = two_layer_problem(outputs)
        rule = LabelNoise(0.03, 0.5)
        model = LabelNoiseModel.of(problem, rule)
        assert model.noise == pytest.approx(np.sqrt(0.03) * 0.7 * 0.5, rel=1e-15)
        assert model.time_step == 0.03
        draw = rule.draws(4, 0, 1, outputs)[0]
        increment = np.sqrt(0.03) * draw.ravel()
        state = model.start
        with jax.enable_x64(True):
            layers = rule.stepper(problem)(problem.init.layers, draw)
            moved = state + 0.03 * model.drift(state)
            by_matrix = moved + model.diffusion(state) @ increment
            by_kick = moved + model.kick(state, increment)
        expected = np.concatenate([np.ravel(layer) for layer in layers])
        np.testing.assert_allclose(by_matrix, expected, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(by_kick, expected, rtol=1e-12, atol=1e-14)

    @pytest.mark.slow
    def test_many_paths_are_many_runs(self):
        problem = two_layer_problem(m=2, n=2, width=2)
        rule, steps, runs = LabelNoise(0.05, 0.3), 40, 1000
        model = LabelNoiseModel.of(problem, rule)
        paths = lp.sde.simulate(model, steps * 0.05, paths=runs, records=1)
        first, second = model.split(paths.states[:, -1])
        simulated = (first @ second[..., None])[..., 0]
        trained = lp.train_many(problem, rule, steps, seeds=range(runs)).coefs[0, 0]
        errors = np.sqrt((simulated.var(axis=0) + trained.var(axis=0)) / runs)
        assert (np.abs(simulated.mean(axis=0) - trained.mean(axis=0)) <= 5 * errors).all()
        # A standard deviation of nearly normal numbers is known to 1/√(2·1000).
        ratio = simulated.std(axis=0) / trained.std(axis=0)
        assert np.abs(ratio - 1).max() <= 5 * np.sqrt(2) / np.sqrt(2 * runs)
        # The spread is due to the noise, and large enough for the comparison to mean something.
        assert trained.std(axis=0).max() > 0.02

    def test_what_it_does_not_model(self):
        network = lp.RankOne(depth=2)
        task = lp.Regression([[1.0, 2.0]], [1.0])
        other = lp.Problem(network, lp.Init.balanced(network, task, norm=1.0), task)
        with pytest.raises(lp.errors.NetworkError, match="one of two-layer networks"):
            LabelNoiseModel(other, 0.1)
        with pytest.raises(lp.errors.NetworkError, match="one output; y has shape"):
            LabelNoiseModel(two_layer_problem((2,)), 0.1)
        with pytest.raises(lp.errors.LimitpointError, match="noise must be a number, at least 0"):
            LabelNoiseModel(two_layer_problem(), -1.0)
        with pytest.raises(lp.errors.LimitpointError, match="time_step must be a positive"):
            LabelNoiseModel(two_layer_problem(), 0.1, 0.0)
        with pytest.raises(lp.errors.LimitpointError, match="optimiser must be LabelNoise"):
            LabelNoiseModel.of(two_layer_problem(), lp.GD(0.1))


def test_the_value():
    rule = LabelNoise(0.5, 0.2, seed=3)
    assert rule.refined() == LabelNoise(0.25, 0.2, seed=3)
    assert (rule.time_per_step, rule.is_random) == (0.5, True)
    assert rule.label == "LabelNoise(learning_rate=0.5, delta=0.2)"
    assert rule.with_seed(9).seed == 9


def test_divergence_is_its_own_status():
    run = lp.train(two_layer_problem(), LabelNoise(50.0, 1.0), 1000)
    assert run.status is lp.Status.DIVERGED


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"learning_rate": 0.0}, "learning_rate must be a positive number"),
        ({"delta": -0.1}, "delta must be a number, at least 0; it is -0.1"),
        ({"delta": np.nan}, "delta must be a number, at least 0"),
        ({"delta": np.inf}, "delta must be a number, at least 0; it is inf"),
        ({"delta": "loud"}, "delta must be a number, at least 0"),
        ({"seed": -1}, "seed must be a whole number"),
    ],
)
def test_bad_arguments(arguments, words):
    with pytest.raises(lp.errors.LimitpointError, match=words):
        LabelNoise(**{"learning_rate": 0.1, "delta": 0.1, **arguments})
