"""What every multilinear network must pass, whatever its tensor."""

import jax
import numpy as np
from tests.oracles import tensor_forms as oracle

import limitpoint as lp
from limitpoint.networks.tensor.any_tensor import Tensor

# Relative to the sum of the moduli of what is added: the figure. The longest sum here has
# some thousand terms, whose roundings (1e-16 each) hardly accumulate.
AGREEMENT = 1e-14


def drawn(network, task, seed=0):
    return lp.Init.random(network, task, seed=seed).layers


def moduli(tensor, vectors):
    """The sum of the moduli of all terms of every coefficient."""
    return Tensor(np.abs(tensor)).coef([np.abs(vector) for vector in vectors])


def agrees_with_tensor(network, task, tensor, flatten=oracle.vec):
    """Direct form, tensor form and the definition of the contraction, for several layers."""
    for seed in range(3):
        layers = drawn(network, task, seed)
        vectors = [flatten(layer) for layer in layers]
        size = moduli(tensor, vectors)
        direct = network.coef(layers)
        assert (np.abs(Tensor(tensor).coef(vectors) - direct) <= AGREEMENT * size).all()
        if seed == 0:
            by_definition = oracle.contract(tensor, vectors)
            assert (np.abs(by_definition - direct) <= AGREEMENT * size).all()


def agrees_with_own_tensor(network, task, tensor):
    """The network's own tensor form, whose matrices are read row by row."""
    own = network.tensor(task)
    agrees_with_tensor(network, task, own, flatten=np.ravel)
    assert own.shape == (task.n_features, *(np.prod(s) for s in network.layer_shapes(task)))
    # The same entries in another order.
    assert np.sort(own.ravel()).round(12).tolist() == np.sort(tensor.ravel()).round(12).tolist()


def leading_axes_are_kept(network, task):
    """Two of them, with lengths that could be mistaken for those of layers."""
    layers = [[drawn(network, task, 7 * i + j) for j in range(3)] for i in range(2)]
    stacked = [
        np.array([[one[q] for one in row] for row in layers])
        for q in range(len(network.layer_shapes(task)))
    ]
    coefs, kept = network.coef(stacked), network.invariants(stacked)
    assert coefs.shape == (2, 3, task.n_features)
    for i in range(2):
        for j in range(3):
            alone = network.coef(layers[i][j])
            size = float(np.abs(alone).max())
            np.testing.assert_allclose(coefs[i, j], alone, rtol=0, atol=1e-13 * size)
            alone = network.invariants(layers[i][j])
            size = max(float((layer**2).sum()) for layer in layers[i][j])
            np.testing.assert_allclose(kept[:, i, j], alone, rtol=0, atol=1e-13 * size)


def jacobian_is_right(network, task):
    """Linear in every parameter, so that a central difference of any step is exact.

    With step 1 it has the rounding of two coefficients, about 1e-15 of the sum of their terms.
    """
    layers = drawn(network, task)
    with jax.enable_x64(True):
        both = jax.jit(lambda parts: (network.coef(parts), jax.jacrev(network.coef)(parts)))
        traced, found = both([jax.numpy.asarray(one) for one in layers])
    ahead = [np.abs(layer) + 1.0 for layer in layers]
    size = float(np.abs(network.tensor(task)).max()) * np.prod([one.sum() for one in ahead])
    np.testing.assert_allclose(traced, network.coef(layers), rtol=0, atol=AGREEMENT * size)
    for q, layer in enumerate(layers):
        for place in np.ndindex(layer.shape):
            sides = []
            for step in (1.0, -1.0):
                moved = layer.copy()
                moved[place] += step
                sides.append(network.coef([*layers[:q], moved, *layers[q + 1 :]]))
            difference = (sides[0] - sides[1]) / 2
            mine = np.asarray(found[q])[(slice(None), *place)]
            np.testing.assert_allclose(mine, difference, rtol=0, atol=AGREEMENT * size)


def flow_conserves_them(network, task, *, scale=0.5, seed=0):
    """The exact flow fits the data and keeps every conserved quantity to 1e-8, relative."""
    init = lp.Init.random(network, task, scale, seed=seed)
    problem = lp.Problem(network, init, task)
    run = lp.flow(problem, space=lp.ParameterSpace())
    assert run.status is lp.Status.CONVERGED
    assert run.relative_residual <= 1e-9
    values = network.invariants(run.layers)
    largest = max(
        float((layer**2).sum(axis=tuple(range(1, layer.ndim))).max()) for layer in run.layers
    )
    assert np.abs(values - values[:, :1]).max() <= 1e-8 * largest
    assert lp.analysis.drift(network, run).start.shape == values[:, 0].shape
    return run


def training_leaks_in_proportion_to_the_step(network, task, *, scale=0.5, seed=0):
    """A step changes them by its square, so that over a given time half the step leaks half.

    The next order is `learning_rate` times a rate of change: some per cent here.
    """
    init = lp.Init.random(network, task, scale, seed=seed)
    problem = lp.Problem(network, init, task)
    leaks = []
    for steps in (400, 800):
        run = lp.train(problem, lp.GD(learning_rate=0.8 / steps), steps=steps, record=1)
        assert run.losses[-1] < run.losses[0]
        values = network.invariants(run.layers)
        leaks.append(np.abs(values[:, -1] - values[:, 0]).max())
    assert 1.8 < leaks[0] / leaks[1] < 2.2
