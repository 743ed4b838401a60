"""Stochastic gradient descent: its batches, a plain loop, the exact law, every network, errors."""

from itertools import combinations

import jax
import numpy as np
import pytest
from tests.oracles.rank_one_numpy import descend

import limitpoint as lp
from limitpoint.dynamics import GD, SGD, train
from limitpoint.dynamics.training.optimisers import STEPS_PER_BLOCK

M, N, WIDTH, STEPS = 6, 15, 8, 20_000
RECORD = [0, 1, 2, 3, 10, 100, 300, 1000, 3000, 10_000, STEPS]
# The loop is followed so far.
LOOP = [step for step in RECORD if step <= 3000]


def rank_one_problem(depth=3, m=M, n=N, width=WIDTH, scale=0.7):
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((m, n)) / np.sqrt(n), rng.standard_normal(m)
    task, network = lp.Regression(X, y, loss_factor=2 / m), lp.RankOne(depth=depth, width=width)
    # Any pairs, not balanced ones: neither the law nor the loop asks for balance.
    layers = [rng.standard_normal(n), *(rng.standard_normal(width) for _ in range(2 * depth - 2))]
    layers = [layer / np.linalg.norm(layer) for layer in layers]
    for k in range(1, len(layers), 2):
        layers[k + 1] = layers[k] + 0.5 * layers[k + 1]
    return lp.Problem(network, lp.Init(layers, scale), task)


@pytest.fixture(scope="module", params=[(d, b) for d in (2, 3, 4) for b in (1, 4, 40)], ids=str)
def run_and_loop(request):
    """A run on the network as it is, every weight of it, and the same batches in a NumPy loop."""
    depth, batch_size = request.param
    problem = rank_one_problem(depth)
    X, y = problem.task.X, problem.task.y
    optimiser = SGD(0.05, batch_size, seed=7)
    run = train(problem, optimiser, STEPS, record=RECORD)
    target = np.linalg.pinv(X) @ y
    batches = optimiser.draws(M, 0, LOOP[-1])
    loop = descend(X, y, problem.init.layers, 0.05, 2 / M, batches, LOOP, target)
    return problem, run, target, loop


def test_equals_a_plain_loop(run_and_loop):
    _, run, target, (distances, layers) = run_and_loop
    # A few roundings of numbers of order 1 in each of 3000 steps, none of which expands.
    atol = LOOP[-1] * np.finfo(float).eps * 10
    ours = np.linalg.norm(run.coefs[: len(LOOP)] - target, axis=1)
    np.testing.assert_allclose(ours, distances, rtol=0, atol=atol)
    for k, layer in enumerate(run.layers):
        expected = [kept[k] for kept in layers]
        np.testing.assert_allclose(layer[: len(LOOP)], expected, rtol=0, atol=atol)


def test_the_null_space_part_of_the_first_layer_stays(run_and_loop):
    problem, run, _, _ = run_and_loop
    X = problem.task.X
    null = np.eye(N) - np.linalg.pinv(X) @ X
    firsts = run.layers[0] @ null
    np.testing.assert_allclose(firsts, np.tile(firsts[0], (len(firsts), 1)), rtol=0, atol=1e-12)


def test_the_end_point_is_that_of_the_exact_law(run_and_loop):
    problem, run, target, _ = run_and_loop
    assert run.status is lp.Status.CONVERGED
    X = problem.task.X
    outside = problem.init.layers[0] - np.linalg.pinv(X) @ (X @ problem.init.layers[0])
    outer = problem.network.outer([layer[-1] for layer in run.layers])
    # The relative residual is below 1e-9 and X is well conditioned.
    error = np.linalg.norm(run.coef - target - outer * outside)
    assert error <= 1e-8 * np.linalg.norm(run.coef)


def test_the_mean_over_all_batches_is_the_full_step():
    problem = rank_one_problem(m=5, n=7, width=2)
    layers = problem.init.layers
    with jax.enable_x64(True):
        full = jax.jit(GD(0.1).stepper(problem))(layers, None)
        step = SGD(0.1, 2).stepper(problem)
        batches = np.array(list(combinations(range(5), 2)))
        each = jax.jit(jax.vmap(step, (None, 0)))(layers, batches)
    for layer, expected in zip(each, full, strict=True):
        mean = np.asarray(layer).mean(axis=0)
        np.testing.assert_allclose(mean, np.asarray(expected), rtol=1e-12, atol=1e-14)


def test_all_samples_without_replacement_are_gradient_descent():
    problem = rank_one_problem()
    full = train(problem, GD(0.05), 300, record=5)
    batch = train(problem, SGD(0.05, M, replacement=False), 300, record=5)
    # 300 contracting steps that sum in another order.
    np.testing.assert_allclose(batch.coefs, full.coefs, rtol=0, atol=1e-12)


class TestDraws:
    def test_with_replacement_every_sample_is_as_likely_in_every_place(self):
        m, b, steps = 7, 3, 21_000
        draws = SGD(0.1, b, seed=1).draws(m, 0, steps)
        assert draws.shape == (steps, b)
        for place in range(b):
            counts = np.bincount(draws[:, place], minlength=m)
            # Binomial, to five standard errors.
            assert np.abs(counts - steps / m).max() <= 5 * np.sqrt(steps * (1 / m) * (1 - 1 / m))
        # Independent places: two of a batch are the same sample once in m.
        same = np.sum(draws[:, 0] == draws[:, 1])
        assert abs(same - steps / m) <= 5 * np.sqrt(steps * (1 / m) * (1 - 1 / m))
        # And independent steps.
        again = np.sum(draws[1:, 0] == draws[:-1, 0])
        assert abs(again - steps / m) <= 5 * np.sqrt(steps * (1 / m) * (1 - 1 / m))

    @pytest.mark.parametrize(("m", "b"), [(12, 4), (12, 12), (5, 1), (3000, 1)])
    def test_without_replacement_an_epoch_sees_every_sample_once(self, m, b):
        draws = SGD(0.1, b, replacement=False, seed=1).draws(m, 0, 3 * (m // b))
        epochs = draws.reshape(3, m)
        np.testing.assert_array_equal(np.sort(epochs, axis=1), np.tile(np.arange(m), (3, 1)))
        assert (epochs[0] != epochs[1]).any()

    def test_without_replacement_the_rest_of_an_epoch_is_dropped(self):
        draws = SGD(0.1, 4, replacement=False).draws(10, 0, 2 * 1500)
        epochs = draws.reshape(1500, 8)
        assert all(len(set(epoch)) == 8 for epoch in epochs.tolist())
        # Which samples are left over is random: each in two of ten epochs.
        counts = np.bincount(epochs.ravel(), minlength=10)
        assert np.abs(counts - 1200).max() <= 5 * np.sqrt(1500 * 0.8 * 0.2)

    @pytest.mark.parametrize("replacement", [True, False])
    def test_depend_on_seed_and_step_alone(self, replacement):
        rule = SGD(0.1, 3, replacement=replacement, seed=4)
        whole = rule.draws(10, 0, 3 * STEPS_PER_BLOCK)
        first, count = STEPS_PER_BLOCK - 7, STEPS_PER_BLOCK + 20
        np.testing.assert_array_equal(rule.draws(10, first, count), whole[first : first + count])
        other = rule.with_seed(5).draws(10, 0, 100)
        assert (other != whole[:100]).any()

    def test_gradient_descent_draws_nothing(self):
        assert GD(0.1).draws(10, 0, 5) is None
        assert not GD(0.1).is_random
        assert GD(0.1).with_seed(3) == GD(0.1)
        assert GD(0.1).label == "GD(learning_rate=0.1)"


def test_a_seed_fixes_the_run_whatever_is_recorded():
    problem = rank_one_problem()
    often = train(problem, SGD(0.05, 2, seed=1), 5000, record=range(0, 5001, 50))
    seldom = train(problem, SGD(0.05, 2, seed=1), 5000, record=1)  # in two calls
    np.testing.assert_array_equal(often.coef, seldom.coef)
    other = train(problem, SGD(0.05, 2, seed=2), 5000, record=1)
    assert np.linalg.norm(other.coef - seldom.coef) > 1e-6
    assert often.times[-1] == pytest.approx(250.0)


def product(block):
    return block[0] * block[1]


NETWORKS = [
    lp.Diagonal(depth=3),
    lp.Power(depth=2),
    lp.SignedPower(depth=3),
    lp.Paired(),
    lp.General(product, block_size=2),
    lp.RankOne(depth=2, width=3),
    lp.FullyConnected(widths=(3, 2)),
]


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: type(network).__name__)
def test_every_network_learns(network):
    rng = np.random.default_rng(0)
    X, truth = rng.standard_normal((4, 6)) / 2, np.abs(rng.standard_normal(6))
    task = lp.Regression(X, X @ truth, loss_factor=2 / 4)
    direction = lp.Init.random(network, task, seed=1).direction
    # All that can be positive starts so: the coefficients of `Power` keep their sign.
    init = lp.Init([np.abs(layer) for layer in direction], 0.6)
    # Both ways of drawing batches, each on some networks.
    rule = SGD(0.05, 2, replacement=network.degree == 2)
    run = train(lp.Problem(network, init, task), rule, 3000, record=1)
    assert run.losses[-1] < 1e-2 * run.losses[0]
    assert "SGD(learning_rate=0.05, batch_size=2" in run.kind


def test_divergence_is_its_own_status():
    run = train(rank_one_problem(), SGD(50.0, 2), 1000)
    assert run.status is lp.Status.DIVERGED


def test_refining_halves_the_step_and_keeps_the_rest():
    rule = SGD(0.5, 3, replacement=False, seed=2)
    assert rule.refined() == SGD(0.25, 3, replacement=False, seed=2)
    assert rule.time_per_step == 0.5
    assert rule.is_random
    assert rule.label == "SGD(learning_rate=0.5, batch_size=3, replacement=False)"


class TestBadArguments:
    @pytest.mark.parametrize("rate", [0.0, -1.0, np.nan, np.inf, "fast"])
    def test_learning_rate(self, rate):
        with pytest.raises(lp.errors.LimitpointError, match="learning_rate must be a positive"):
            SGD(rate, 1)

    @pytest.mark.parametrize("size", [0, -1, 2.5, True, None])
    def test_batch_size(self, size):
        with pytest.raises(lp.errors.LimitpointError, match="batch_size must be a whole number"):
            SGD(0.1, size)

    @pytest.mark.parametrize("seed", [-1, 0.5, None])
    def test_seed(self, seed):
        with pytest.raises(lp.errors.LimitpointError, match="seed must be a whole number"):
            SGD(0.1, 1, seed=seed)

    @pytest.mark.parametrize("replacement", [None, 1, "yes"])
    def test_replacement(self, replacement):
        with pytest.raises(lp.errors.LimitpointError, match="replacement must be True or False"):
            SGD(0.1, 1, replacement=replacement)

    def test_a_batch_larger_than_the_data(self):
        problem = rank_one_problem()
        message = "batch_size must be at most the number of samples, 6, without replacement; it is"
        with pytest.raises(lp.errors.LimitpointError, match=message):
            train(problem, SGD(0.1, 7, replacement=False), 10)
        with pytest.raises(lp.errors.LimitpointError, match=message):
            SGD(0.1, 7, replacement=False).draws(6, 0, 1)
        # With replacement it is a batch like any other.
        assert train(problem, SGD(0.01, 7), 2).steps[-1] == 2
