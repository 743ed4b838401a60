"""Tensor networks: contractions, shapes, and the tensor forms of the older architectures."""

from itertools import pairwise

import numpy as np
import pytest
from tests.networks import multilinear_checks as checks
from tests.oracles import tensor_forms as oracle

import limitpoint as lp
from limitpoint.errors import InitError, NetworkError
from limitpoint.networks.tensor.any_tensor import Tensor

RNG = np.random.default_rng(5)
SHAPES = pytest.mark.parametrize("shape", [(3, 4, 2), (2, 3, 1, 4), (4, 2, 3, 2, 2)], ids=str)


def random_case(shape, samples=2):
    rng = np.random.default_rng(list(shape))
    # Of norm about 1 for unit layers, so that flows take order-one times.
    network = Tensor(rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:])) * 3)
    X, y = rng.standard_normal((samples, shape[0])), rng.standard_normal(samples)
    return network, lp.Regression(X, y)


@SHAPES
class TestAnyTensor:
    def test_contraction(self, shape):
        network, task = random_case(shape)
        checks.agrees_with_tensor(network, task, network.M)
        assert network.tensor(task) is network.M

    def test_shapes(self, shape):
        network, task = random_case(shape)
        assert network.layer_shapes(task) == tuple((size,) for size in shape[1:])
        assert network.degree == network.depth == len(shape) - 1
        assert repr(network) == f"Tensor(M of shape {shape})"

    def test_leading_axes(self, shape):
        checks.leading_axes_are_kept(*random_case(shape))

    def test_all_conserved_forms(self, shape):
        """A generic tensor has no symmetries, so none but the norms."""
        network, task = random_case(shape)
        kept = network.invariants(checks.drawn(network, task))
        assert len(kept) == len(shape) - 2 == oracle.conserved_forms(network.M)


class TestDynamics:
    @pytest.mark.parametrize("shape", [(3, 4, 2), (4, 2, 3, 2, 2)], ids=str)
    def test_jacobian(self, shape):
        checks.jacobian_is_right(*random_case(shape))

    @pytest.mark.parametrize("shape", [(3, 4, 3), (3, 2, 3, 3)], ids=str)
    def test_flow(self, shape):
        checks.flow_conserves_them(*random_case(shape), scale=1.0)

    def test_training(self):
        network, task = random_case((3, 2, 3, 3))
        checks.training_leaks_in_proportion_to_the_step(network, task, scale=1.0)


class TestOlderArchitectures:
    @pytest.mark.parametrize("depth", [2, 3, 4])
    def test_diagonal(self, depth):
        task = lp.Regression(RNG.standard_normal((2, 3)), [1.0, 2.0])
        tensor = oracle.whole(oracle.diagonal, 3, depth)
        checks.agrees_with_tensor(lp.Diagonal(depth=depth), task, tensor)

    @pytest.mark.parametrize("widths", [(2,), (4,), (2, 3), (3, 1), (2, 3, 2), (1, 2, 3)], ids=str)
    def test_fully_connected(self, widths):
        """M_fc of Appendix B, up to depth 4."""
        task = lp.Regression(RNG.standard_normal((2, 3)), [1.0, 2.0])
        tensor = oracle.whole(oracle.fully_connected, 3, widths)
        sizes = (3, *widths)
        layers = [a * b for a, b in pairwise(sizes)]
        assert tensor.shape == (3, *layers, widths[-1])
        checks.agrees_with_tensor(lp.FullyConnected(widths=widths), task, tensor)

    def test_kronecker_product(self):
        """Section 3: at L = 2 it is the Kronecker product of the identity and x."""
        x = np.array([1.0, 2.0, 3.0])
        expected = np.kron(np.eye(2), x[:, None])
        np.testing.assert_array_equal(oracle.fully_connected(x, (2,)), expected)

    def test_trained_in_step(self):
        """The same network twice: gradient descent does the same to both."""
        task = lp.Regression([[1.0, 2.0, -0.5], [0.3, -1.0, 1.0]], [1.0, -0.4])
        dense = lp.FullyConnected(widths=(2, 3))
        init = lp.Init.random(dense, task, 0.5, seed=0)
        vectors = lp.Init.from_layers([oracle.vec(layer) for layer in init.layers])
        tensor = Tensor(oracle.whole(oracle.fully_connected, 3, (2, 3)))
        runs = [
            lp.train(
                lp.Problem(network, start, task), lp.GD(learning_rate=0.01), steps=300, record=5
            )
            for network, start in ((dense, init), (tensor, vectors))
        ]
        # Roundings of 300 steps of numbers of order one.
        np.testing.assert_allclose(runs[0].coefs, runs[1].coefs, rtol=0, atol=1e-12)


class TestAffine:
    @pytest.mark.parametrize(("shape", "affine"), [((3, 1, 1), True), ((3, 1, 2), False)])
    def test_level_sets(self, shape, affine):
        assert Tensor(np.ones(shape)).affine_at_zero is affine

    def test_no_mirror_map(self):
        network, task = random_case((3, 2, 2))
        init = lp.Init.random(network, task, seed=0)
        assert network.mirror_map(init) is None
        assert network.layers_at(init, np.zeros(3)) is None
        assert network.activation_times(init) is None
        assert network.log_chart(init) is None


class TestErrors:
    @pytest.mark.parametrize(
        ("M", "words"),
        [
            (1.0, "one axis for the features and one for each of at least two layers"),
            ([1.0, 2.0], r"at least two layers.*shape \(2,\)"),
            (np.ones((2, 3)), "at least two layers"),
            (np.ones((2, 0, 3)), r"at least one entry along every axis; it has shape \(2, 0, 3\)"),
            (np.full((1, 1, 1), np.nan), "M must be finite"),
            (np.full((1, 1, 1), 1e200), "Rescale M"),
            (np.full((1, 1, 1), 1e-200), "Rescale M"),
            ("tensor", "M must be an array of real numbers"),
            ([[[1.0]], [[1.0, 2.0]]], "M must be an array of real numbers"),
        ],
    )
    def test_tensor(self, M, words):
        with pytest.raises(NetworkError, match=words):
            Tensor(M)

    def test_zero_tensor_is_a_network(self):
        assert not Tensor(np.zeros((2, 1, 1))).coef([np.ones(1), np.ones(1)]).any()

    def test_other_features(self):
        network, _ = random_case((3, 2, 2))
        with pytest.raises(NetworkError, match="needs data with 3 features, the length of M's"):
            network.layer_shapes(lp.Regression(np.ones((1, 4)), [1.0]))

    def test_several_outputs(self):
        network, _ = random_case((3, 2, 2))
        with pytest.raises(NetworkError, match="one output"):
            network.layer_shapes(lp.Regression(np.ones((1, 3)), np.ones((1, 2))))

    def test_other_layers(self):
        network, task = random_case((3, 2, 4))
        with pytest.raises(InitError, match=r"needs \(\(2,\), \(4,\)\)"):
            lp.Problem(network, lp.Init([np.ones(4), np.ones(2)]), task)

    def test_identity(self):
        """Equal where their numbers are, and hashed by them; what they were made from is copied."""
        M = np.ones((1, 1, 1))
        first = Tensor(M)
        assert first == Tensor(M)
        assert first != Tensor(2 * M)
        assert len({first, Tensor(M)}) == 1
        M[0] = 2.0
        assert first.M[0, 0, 0] == 1.0
        assert not first.M.flags.writeable
