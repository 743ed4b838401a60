"""Networks in hiding are found, with the flow that they have by themselves."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.own.families import NAMES, drawn

import limitpoint as lp
from limitpoint.own import Model, recognise

SEEDS = 8


def model_of(function, start, target_shape=(), frozen=None):
    def outputs(blocks, X):
        return X @ function(*blocks)

    names = [f"block {place}" for place in range(len(start))]
    features = len(function(*start))
    return Model.from_outputs(
        outputs, names, start, n_features=features, target_shape=target_shape, frozen=frozen
    )


def task_of(coef, seed, samples=4):
    rng = np.random.default_rng(1000 + seed)
    X = rng.standard_normal((samples, len(coef)))
    return lp.Regression(X, rng.standard_normal((samples, *coef.shape[1:])), 0.7)


def found_in(family, name, seed):
    function, start, network = drawn(family, name, seed)
    coef = function(*start)
    model = model_of(function, start, coef.shape[1:])
    return function, start, network, recognise(model, task_of(coef, seed))


@pytest.mark.parametrize(("family", "name"), NAMES)
def test_the_network_is_found_with_its_coefficients(family, name):
    for seed in range(SEEDS):
        function, start, network, found = found_in(family, name, seed)
        if isinstance(network, type):
            assert isinstance(found.problem.network, network)
        else:
            assert found.problem.network == network
        assert found.missing == ()
        assert found.family
        rng = np.random.default_rng(seed)
        for blocks in (start, [rng.standard_normal(each.shape) for each in start]):
            coef = found.problem.network.coef(found.to_layers(blocks))
            wanted = function(*blocks)
            np.testing.assert_allclose(coef, wanted, rtol=1e-12, atol=1e-12 * np.abs(wanted).max())
        for ours, layer in zip(found.problem.init.layers, found.to_layers(start), strict=True):
            np.testing.assert_array_equal(ours, layer)


@pytest.mark.parametrize(("family", "name"), NAMES)
def test_blocks_come_back_from_layers(family, name):
    """From the start, and from what a step of training makes of it, which need not be so small."""
    function, start, _, found = found_in(family, name, 3)
    for blocks in (start, stepped(function, start, found.problem.task, 0.1)):
        layers = found.to_layers(blocks)
        for back, block in zip(found.to_blocks(layers), blocks, strict=True):
            np.testing.assert_allclose(back, block, rtol=0, atol=1e-14)


@pytest.mark.parametrize(("family", "name"), NAMES)
def test_a_step_of_the_layers_is_one_of_the_blocks(family, name):
    """With the same learning rate: so training is the same, not its flow alone."""
    function, start, _, found = found_in(family, name, 4)
    rate, problem = 0.1, found.problem
    task, layers = problem.task, problem.init.layers
    residual = task.X @ problem.network.coef(layers) - task.y
    slopes = problem.network.layer_gradients(layers, task.loss_factor * task.X.T @ residual)
    moved = [layer - rate * slope for layer, slope in zip(layers, slopes, strict=True)]
    wanted = stepped(function, start, task_of(function(*start), 4), rate)
    for ours, theirs in zip(moved, found.to_layers(wanted), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12 * np.abs(theirs).max())
    for ours, theirs in zip(found.to_blocks(moved), wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12 * np.abs(theirs).max())


@pytest.mark.slow
@pytest.mark.parametrize(("family", "name"), NAMES)
def test_the_flow_of_the_layers_is_that_of_the_blocks(family, name):
    """An own integration of the function as it was given, with differences for derivatives."""
    function, start, _, found = found_in(family, name, 5)
    task = task_of(function(*start), 5)
    end = 0.3
    blocks = integrated(function, start, task, end)
    flow = lp.flow(found.problem, t_end=end, space=lp.ParameterSpace(rtol=1e-10))
    wanted = function(*blocks)
    # The flow's own tolerance a hundred times: errors grow on the way.
    np.testing.assert_allclose(flow.coef, wanted, rtol=0, atol=1e-8 * np.abs(wanted).max())
    for ours, block in zip(
        found.to_blocks([each[-1] for each in flow.layers]), blocks, strict=True
    ):
        np.testing.assert_allclose(ours, block, rtol=0, atol=1e-7 * np.abs(block).max())


def gradient(function, blocks, task):
    """Of the loss, by differences that are exact for polynomials up to the sixth degree."""
    flat = np.concatenate([np.ravel(each) for each in blocks])
    cuts = np.cumsum([each.size for each in blocks])[:-1]

    def loss(values):
        parts = [
            part.reshape(block.shape)
            for part, block in zip(np.split(values, cuts), blocks, strict=True)
        ]
        return np.ravel(function(*parts))

    steps, weights = (1.0, 2.0, 3.0), (3 / 4, -3 / 20, 1 / 60)
    slopes = np.empty((np.ravel(function(*blocks)).size, flat.size))
    for entry in range(flat.size):
        unit = np.zeros(flat.size)
        unit[entry] = 1.0
        slopes[:, entry] = sum(
            weight * (loss(flat + step * unit) - loss(flat - step * unit))
            for step, weight in zip(steps, weights, strict=True)
        )
    coef = function(*blocks)
    residual = task.loss_factor * task.X.T @ (task.X @ coef - task.y)
    parts = np.split(slopes.T @ np.ravel(residual), cuts)
    return [part.reshape(block.shape) for part, block in zip(parts, blocks, strict=True)]


def stepped(function, blocks, task, rate):
    slopes = gradient(function, blocks, task)
    return [block - rate * slope for block, slope in zip(blocks, slopes, strict=True)]


def integrated(function, blocks, task, end, rtol=1e-11):
    """The blocks at the time `end` of the gradient flow."""
    sizes = np.cumsum([each.size for each in blocks])[:-1]

    def split(state):
        parts = np.split(state, sizes)
        return [part.reshape(block.shape) for part, block in zip(parts, blocks, strict=True)]

    def velocity(_, state):
        return -np.concatenate([np.ravel(g) for g in gradient(function, split(state), task)])

    state = np.concatenate([np.ravel(each) for each in blocks])
    run = solve_ivp(velocity, (0, end), state, "DOP853", rtol=rtol, atol=1e-12)
    assert run.success
    return split(run.y[:, -1])
