"""Orthogonally decomposable tensors: their decomposition, and the diagonal network within."""

import numpy as np
import pytest
from tests.networks import multilinear_checks as checks
from tests.oracles import tensor_forms as oracle

import limitpoint as lp
from limitpoint.errors import NetworkError
from limitpoint.networks.tensor.orthogonal_tensor import OrthogonalTensor

# Features, rank, sizes of the layers.
CASES = pytest.mark.parametrize(
    ("n", "rank", "sizes"),
    [(3, 3, (3, 3)), (2, 3, (4, 3)), (3, 2, (2, 3, 4)), (2, 2, (3, 2, 2, 3)), (1, 1, (1, 1))],
)


def columns(rng, size, rank):
    return np.linalg.qr(rng.standard_normal((size, rank)))[0]


def case(n, rank, sizes, samples=2):
    rng = np.random.default_rng([n, rank, *sizes])
    U = [columns(rng, size, rank) for size in sizes]
    samples = min(samples, n, rank)
    X, y = rng.standard_normal((samples, n)), rng.standard_normal(samples)
    return OrthogonalTensor(rng.standard_normal((rank, n)), U), lp.Regression(X, y)


@CASES
class TestDecomposition:
    def test_tensor_form(self, n, rank, sizes):
        """Relative to the sum of the moduli of all products of entries of S, the U and the layers.

        These are what is added: entries of M are themselves sums, which may nearly cancel.
        """
        network, task = case(n, rank, sizes)
        tensor = oracle.whole(oracle.orthogonal, n, network.S, network.U)
        bound = oracle.whole(oracle.orthogonal, n, np.abs(network.S), [abs(u) for u in network.U])
        own = network.tensor(task)
        assert (np.abs(own - tensor) <= checks.AGREEMENT * bound).all()
        for seed in range(3):
            layers = checks.drawn(network, task, seed)
            size = checks.moduli(bound, layers)
            for form in (tensor, own):
                found = checks.Tensor(form).coef(layers)
                assert (np.abs(found - network.coef(layers)) <= checks.AGREEMENT * size).all()

    def test_shapes(self, n, rank, sizes):
        network, task = case(n, rank, sizes)
        assert network.layer_shapes(task) == tuple((size,) for size in sizes)
        assert network.degree == network.depth == len(sizes)
        assert network.affine_at_zero
        assert repr(network) == f"OrthogonalTensor(S of shape {(rank, n)}, sizes={sizes})"

    def test_leading_axes(self, n, rank, sizes):
        checks.leading_axes_are_kept(*case(n, rank, sizes))

    def test_all_conserved_forms(self, n, rank, sizes):
        """Besides these, what of a layer is orthogonal to the columns is constant altogether."""
        network, task = case(n, rank, sizes)
        kept = network.invariants(checks.drawn(network, task))
        assert len(kept) == (len(sizes) - 1) * rank
        constant = sum((size - rank) * (size - rank + 1) // 2 for size in sizes)
        assert oracle.conserved_forms(network.tensor(task)) == len(kept) + constant

    def test_diagonal_network_within(self, n, rank, sizes):
        network, task = case(n, rank, sizes)
        layers = checks.drawn(network, task)
        plain, data = lp.Diagonal(depth=len(sizes)), network.diagonal_data(task)
        assert data.X.shape == (task.n_samples, rank)
        inner = network.diagonal_layers(layers)
        products = plain.coef(inner)
        np.testing.assert_array_equal(network.coef_of_products(products), network.coef(layers))
        # Outputs of order one and a few products each.
        np.testing.assert_allclose(
            data.X @ products, task.X @ network.coef(layers), rtol=0, atol=1e-13
        )
        back = network.layers_of_diagonal(inner, layers)
        for mine, layer in zip(back, layers, strict=True):
            np.testing.assert_allclose(mine, layer, rtol=0, atol=1e-14 * 10)


class TestDynamics:
    @pytest.mark.parametrize(("n", "rank", "sizes"), [(2, 3, (4, 3)), (3, 2, (2, 3, 4))])
    def test_jacobian(self, n, rank, sizes):
        checks.jacobian_is_right(*case(n, rank, sizes))

    @pytest.mark.slow
    @pytest.mark.parametrize(("n", "rank", "sizes"), [(3, 3, (4, 3)), (3, 3, (3, 4, 3))])
    def test_flow_is_the_diagonal_one(self, n, rank, sizes):
        """Theorem 5's reduction: parameter flow against the diagonal network's own engine."""
        network, task = case(n, rank, sizes)
        init = lp.Init.random(network, task, 0.5, seed=3)
        moments = np.array([0.2, 1.0, 4.0])
        found = lp.flow(
            lp.Problem(network, init, task), times=moments, space=lp.ParameterSpace(rtol=1e-12)
        )
        plain, data = lp.Diagonal(depth=len(sizes)), network.diagonal_data(task)
        inner = lp.Init(network.diagonal_layers(init.direction), init.scale)
        expected = lp.flow(
            lp.Problem(plain, inner, data), times=moments, space=lp.SampleSpace(rtol=1e-12)
        )
        # Two integrators at 1e-12, a hundred times that.
        coefs = network.coef_of_products(expected.coefs)
        np.testing.assert_allclose(found.coefs, coefs, rtol=0, atol=1e-10)
        layers = network.layers_of_diagonal(expected.layers, init.layers)
        for mine, other in zip(found.layers, layers, strict=True):
            np.testing.assert_allclose(mine, other, rtol=0, atol=1e-10)

    @pytest.mark.parametrize(("n", "rank", "sizes"), [(2, 2, (2, 3, 2))])
    def test_flow(self, n, rank, sizes):
        checks.flow_conserves_them(*case(n, rank, sizes), scale=0.8, seed=1)

    def test_training(self):
        checks.training_leaks_in_proportion_to_the_step(*case(2, 2, (2, 3, 2)), scale=0.8, seed=1)


class TestErrors:
    def test_accepts_a_single_array(self):
        network = OrthogonalTensor(np.eye(2), np.stack([np.eye(2)] * 3))
        assert network.depth == 3

    @pytest.mark.parametrize(
        ("S", "U", "words"),
        [
            (np.ones(2), [np.eye(2)] * 2, r"S must have 2 dimension\(s\)"),
            (np.ones((0, 2)), [np.eye(2)] * 2, "S must have at least one entry"),
            (np.full((1, 1), 1e100), [np.eye(1)] * 2, "Rescale S"),
            (np.eye(2), 3, "U must hold one matrix per layer; it is 3"),
            (np.eye(2), "UU", "U must hold one matrix per layer"),
            (np.eye(2), [np.eye(2)], "at least two layers; it holds 1"),
            (np.eye(2), [np.eye(2), np.ones(2)], r"U\[1\] must have 2 dimension"),
            (np.eye(2), [np.eye(2), np.eye(3)], r"U\[1\] must have a column for every row of S, 2"),
            (np.eye(2), [np.eye(2), np.ones((1, 2))], r"U\[1\] must have at least as many rows"),
            (np.eye(2), [2 * np.eye(2), np.eye(2)], r"U\[0\] must have orthonormal columns.* by 3"),
            (np.eye(2), [np.full((2, 2), 1e200), np.eye(2)], "orthonormal columns"),
            (np.eye(2), [np.full((2, 2), np.nan), np.eye(2)], r"U\[0\] must be finite"),
            (np.eye(2), [np.eye(2) * (1 + 1e-11), np.eye(2)], "orthonormal columns"),
        ],
    )
    def test_bad_matrices(self, S, U, words):
        with pytest.raises(NetworkError, match=words):
            OrthogonalTensor(S, U)

    def test_other_features(self):
        network, _ = case(3, 3, (3, 3))
        task = lp.Regression(np.ones((1, 4)), [1.0])
        with pytest.raises(NetworkError, match="needs data with 3 features, the number of columns"):
            network.layer_shapes(task)
        with pytest.raises(NetworkError, match="needs data with 3 features"):
            network.diagonal_data(task)

    def test_several_outputs(self):
        network, _ = case(3, 3, (3, 3))
        with pytest.raises(NetworkError, match="a tensor network has one output"):
            network.layer_shapes(lp.Regression(np.ones((1, 3)), np.ones((1, 2))))

    def test_large_tensor(self):
        network = OrthogonalTensor(np.eye(300), [np.eye(300)] * 2)
        with pytest.raises(NetworkError, match="is for small sizes"):
            network.tensor(lp.Regression(np.ones((1, 300)), [1.0]))

    def test_identity(self):
        first = OrthogonalTensor(np.eye(2), [np.eye(2)] * 2)
        assert first == OrthogonalTensor(np.eye(2), [np.eye(2)] * 2)
        assert first != OrthogonalTensor(2 * np.eye(2), [np.eye(2)] * 2)
