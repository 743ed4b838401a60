"""Momentum, Nesterov and weight decay: against a plain loop, alone and in ensembles."""

from functools import partial

import numpy as np
import pytest
from tests.theory.problems import diagonal_problem, gaussian_data, random_layers

import limitpoint as lp
from limitpoint.dynamics import train_many

MEMORY = {"momentum": 0.9}
RULES = {
    "heavy ball": {"momentum": 0.9},
    "Nesterov": {"momentum": 0.8, "nesterov": True},
    "decay": {"weight_decay": 0.3},
    "heavy ball with decay": {"momentum": 0.5, "weight_decay": 0.3},
    "Nesterov with decay": {"momentum": 0.5, "nesterov": True, "weight_decay": 0.3},
}
NETWORKS = {
    "diagonal": (lp.Diagonal(2), lp.Init.random),
    "rank one": (lp.RankOne(3, 4), partial(lp.Init.perturbed, imbalance=0.3)),
    "dense": (lp.FullyConnected((3, 2)), lp.Init.balanced),
    "two layers": (lp.TwoLayer(7), lp.Init.random),
}
EVERY = pytest.mark.parametrize("options", RULES.values(), ids=RULES)
RATE = 5e-3
# An identity of some hundred contracting steps, each with a few roundings.
ROUNDING = 1e-12


def small_problem(depth=2, loss_factor=2.0):
    layers = random_layers(6, depth, seed=20)
    return diagonal_problem(*gaussian_data(3, 6), *layers, scale=0.5, loss_factor=loss_factor)


def plain_loop(problem, steps, gradient, momentum=0.0, nesterov=False, weight_decay=0.0):
    """As `torch.optim.SGD` defines it: the buffer is the first gradient, then μ times itself more.

    The layers after every step; `gradient(layers, step)` that of the loss.
    """
    layers, buffer = np.stack(problem.init.layers), None
    history = [layers]
    for step in range(steps):
        slopes = gradient(layers, step) + weight_decay * layers
        if momentum:
            buffer = slopes if buffer is None else momentum * buffer + slopes
            slopes = slopes + momentum * buffer if nesterov else buffer
        layers = layers - RATE * slopes
        history.append(layers)
    return np.stack(history)


def slopes_of(layers, X, y, factor):
    """Of a product of layers."""
    neg_grad = factor * X.T @ (y - X @ np.prod(layers, axis=0))
    others = [np.prod(np.delete(layers, j, axis=0), axis=0) for j in range(len(layers))]
    return -neg_grad * np.stack(others)


@EVERY
@pytest.mark.parametrize("depth", [2, 3])
def test_gd_equals_a_plain_loop(depth, options):
    problem = small_problem(depth)
    X, y = problem.task.X, problem.task.y
    expected = plain_loop(problem, 400, lambda a, _: slopes_of(a, X, y, 2.0), **options)
    run = lp.train(problem, lp.GD(RATE, **options), 400, record=range(401))
    for j in range(depth):
        np.testing.assert_allclose(run.layers[j], expected[:, j], rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(run.coefs, np.prod(expected, axis=1), rtol=0, atol=ROUNDING)


@EVERY
def test_sgd_equals_a_plain_loop_on_its_batches(options):
    problem, rule = small_problem(), lp.SGD(RATE, 2, seed=4, **options)
    batches = rule.draws(3, 0, 400)

    def gradient(layers, step):
        batch = batches[step]
        return 1.5 * slopes_of(layers, problem.task.X[batch], problem.task.y[batch], 2.0)

    expected = plain_loop(problem, 400, gradient, **options)
    run = lp.train(problem, rule, 400, record=range(401))
    np.testing.assert_allclose(np.stack(run.layers, axis=1), expected, rtol=0, atol=ROUNDING)


@EVERY
def test_label_noise_equals_a_plain_loop_on_its_noise(options):
    problem, rule = small_problem(), lp.LabelNoise(RATE, 0.5, seed=4, **options)
    noise = 0.5 * np.asarray(rule.draws(3, 0, 400))  # drawn in units of their size

    def gradient(layers, step):
        return slopes_of(layers, problem.task.X, problem.task.y + noise[step], 2.0)

    expected = plain_loop(problem, 400, gradient, **options)
    run = lp.train(problem, rule, 400, record=range(401))
    np.testing.assert_allclose(np.stack(run.layers, axis=1), expected, rtol=0, atol=ROUNDING)


class TestManyRuns:
    @pytest.mark.parametrize("name", NETWORKS)
    def test_equal_single_ones(self, name):
        """Smaller networks that train alike, too: rotations change neither velocity nor decay."""
        options = RULES["Nesterov with decay"]
        network, init = NETWORKS[name]
        X, y = gaussian_data(3, 6)
        task = lp.Regression(X, np.stack([y, -y], axis=1) if name == "two layers" else y)
        problem = lp.Problem(network, init(network, task, scale=0.5, seed=2), task)
        rules = [lp.GD(RATE, **options), lp.SGD(RATE, 2, **options)]
        sweep = train_many(problem, rules, 300, scales=[0.3, 0.6], seeds=[1, 5], record=[100])
        for i, rule in enumerate(rules):
            single = lp.Problem(network, problem.init.at_scale(0.6), task)
            run = lp.train(single, rule.with_seed(5), 300, record=[100])
            one = sweep.data.isel(optimiser=i, scale=1, seed=1)
            np.testing.assert_allclose(one["coef"].values, run.coef, rtol=0, atol=10 * ROUNDING)
            np.testing.assert_allclose(one["loss"].values, run.losses, rtol=0, atol=10 * ROUNDING)
            np.testing.assert_allclose(one["time"].values, run.times, rtol=1e-14)

    def test_are_told_apart_by_their_labels(self):
        rules = [lp.GD(RATE), lp.GD(RATE, momentum=0.9), lp.GD(RATE, weight_decay=0.1)]
        sweep = train_many(small_problem(), rules, 10)
        assert sweep.data["optimiser"].values.tolist() == [
            "GD(learning_rate=0.005)",
            "GD(learning_rate=0.005, momentum=0.9)",
            "GD(learning_rate=0.005, weight_decay=0.1)",
        ]


class TestRecords:
    @EVERY
    def test_do_not_change_the_run(self, options):
        problem, rule = small_problem(), lp.SGD(RATE, 1, **options)
        often = lp.train(problem, rule, 100, record=range(101))
        seldom = lp.train(problem, rule, 100, record=1)
        np.testing.assert_array_equal(often.coef, seldom.coef)

    def test_of_a_run_longer_than_one_chunk_keep_the_velocity(self):
        problem, rule = small_problem(), lp.GD(1e-4, momentum=0.9)
        whole = lp.train(problem, rule, 120_000, record=[1, 119_999])
        split = lp.train(problem, rule, 120_000, record=[20_000, 70_000])
        np.testing.assert_array_equal(whole.coef, split.coef)

    def test_layers_are_those_of_the_network_alone(self):
        run = lp.train(small_problem(), lp.GD(RATE, momentum=0.9), 10)
        assert [layer.shape[1:] for layer in run.layers] == [(6,), (6,)]


class TestTime:
    @pytest.mark.parametrize(
        "make", [lambda **o: lp.GD(0.02, **o), lambda **o: lp.SGD(0.02, 1, **o)]
    )
    def test_of_a_step_is_the_rate_over_what_momentum_leaves(self, make):
        assert make(**MEMORY).time_per_step == pytest.approx(0.2, rel=1e-14)
        assert make(weight_decay=0.3).time_per_step == 0.02
        assert make(**MEMORY).refined().time_per_step == pytest.approx(0.1, rel=1e-14)

    def test_is_that_of_the_flow_as_steps_become_small(self):
        """`η/(1 − μ)` of flow time in every step: first order in η, for both kinds of momentum."""
        problem = small_problem()
        flow = lp.flow(problem, t_end=1.0).coef
        for nesterov in (False, True):
            rates = np.array([4e-4, 2e-4, 1e-4])
            off = []
            for rate in rates:
                rule = lp.GD(float(rate), momentum=0.5, nesterov=nesterov)
                run = lp.train(problem, rule, round(1.0 / rule.time_per_step))
                assert run.times[-1] == pytest.approx(1.0, rel=1e-12)
                off.append(np.linalg.norm(run.coef - flow))
            slope = np.polyfit(np.log(rates), np.log(off), 1)[0]
            # The second order adds a relative ηλ/(1 − μ), λ of order 10: a hundredth.
            assert slope == pytest.approx(1, abs=0.05)


class TestRule:
    def test_says_what_differs_from_the_plain_one(self):
        assert repr(lp.GD(0.1)) == "GD(learning_rate=0.1)"
        rule = lp.GD(0.1, momentum=0.9, nesterov=True, weight_decay=0.01)
        words = "learning_rate=0.1, momentum=0.9, nesterov=True, weight_decay=0.01"
        assert repr(rule) == f"GD({words})"
        assert "momentum=0.9" in lp.SGD(0.1, 2, momentum=0.9).label
        assert "weight_decay=0.5" in lp.LabelNoise(0.1, 1.0, weight_decay=0.5).label

    def test_refined_keeps_the_rest(self):
        for rule in (lp.GD(0.1, **RULES["Nesterov with decay"]), lp.SGD(0.1, 2, **MEMORY)):
            finer = rule.refined()
            assert finer.learning_rate == 0.05
            assert (finer.momentum, finer.nesterov) == (rule.momentum, rule.nesterov)
            assert finer.weight_decay == rule.weight_decay

    @pytest.mark.parametrize(
        "make", [lp.GD, lambda rate, **o: lp.SGD(rate, 1, **o)], ids=["GD", "SGD"]
    )
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"momentum": 1.0}, r"momentum must be a number in \[0, 1\); it is 1"),
            ({"momentum": -0.1}, r"momentum must be a number in \[0, 1\); it is -0.1"),
            ({"momentum": np.nan}, r"momentum must be a number in \[0, 1\)"),
            ({"momentum": "0.9"}, r"momentum must be a number in \[0, 1\)"),
            ({"nesterov": True}, r"nesterov needs a momentum above 0"),
            ({"momentum": 0.9, "nesterov": 1}, "nesterov must be True or False"),
            ({"weight_decay": -1.0}, "weight_decay must be a number of 0 or more"),
            ({"weight_decay": 10.0}, "below 1/learning_rate = 10; it is 10"),
            ({"weight_decay": np.inf}, "weight_decay must be a number of 0 or more"),
            ({"weight_decay": None}, "weight_decay must be a number of 0 or more"),
        ],
    )
    def test_refuses(self, make, options, words):
        with pytest.raises(lp.errors.LimitpointError, match=words):
            make(0.1, **options)

    def test_has_no_law_of_the_step_with_momentum(self):
        problem = small_problem()
        assert lp.train(problem, lp.GD(RATE, **MEMORY), 5).effective_start is None
        assert lp.train(problem, lp.GD(RATE, weight_decay=0.3), 5).effective_start is not None

    def test_decay_takes_the_same_from_every_scale(self):
        """`|pq|` loses `2 log(1 − ηλ)` in every step besides what the gradient takes."""
        problem = small_problem()
        for steps in (1, 31, 32, 33, 500):
            run = lp.train(problem, lp.GD(RATE, weight_decay=0.3), steps)
            a, b = (np.array(layer) for layer in run.layers)
            products = np.log(np.abs(a**2 - b**2))
            expected = products[0] + run.effective_start.log_shrinkage[-1]
            # Of 500 steps of a few roundings each.
            np.testing.assert_allclose(products[-1], expected, rtol=0, atol=1e-11)
