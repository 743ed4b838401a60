"""Convolutional networks: the index convention, sums against Fourier transforms, invariants."""

import math

import jax
import numpy as np
import pytest
from tests.networks import multilinear_checks as checks
from tests.oracles import tensor_forms as oracle

import limitpoint as lp
from limitpoint.errors import NetworkError
from limitpoint.networks.tensor import convolutional
from limitpoint.networks.tensor.convolutional import Convolutional

SIZES = [(1, 1), (1, 4), (2, 2), (2, 5), (5, 5), (3, 1, 4), (2, 3, 4), (4, 4, 4), (2, 4, 3, 4)]
EITHER = pytest.mark.parametrize("threshold", [0, 10**9], ids=["fourier", "sums"])


def case(sizes, samples=2):
    rng = np.random.default_rng(list(sizes))
    samples = min(samples, sizes[-1])
    X, y = rng.standard_normal((samples, sizes[-1])), rng.standard_normal(samples)
    return Convolutional(filter_sizes=sizes), lp.Regression(X, y)


def cyclic(filters):
    """Exact for filters of whole numbers: the convolution of polynomials, folded."""
    size = len(filters[-1])
    found = np.asarray(filters[-1])
    for one in filters[:-1]:
        straight = np.convolve(found, one)
        found = straight[:size].copy()
        found[: len(straight) - size] += straight[size:]
    return found


@pytest.mark.parametrize("sizes", SIZES, ids=str)
class TestDefinition:
    @EITHER
    def test_tensor_form(self, sizes, threshold, monkeypatch):
        monkeypatch.setattr(convolutional, "DIRECT_PRODUCTS", threshold)
        network, task = case(sizes)
        tensor = oracle.whole(oracle.convolutional, sizes[-1], sizes)
        for seed in range(3):
            layers = checks.drawn(network, task, seed)
            # A transform has the rounding of the largest coefficient in all of them.
            size = checks.moduli(tensor, layers).max()
            expected = oracle.contract(tensor, layers)
            np.testing.assert_allclose(
                network.coef(layers), expected, rtol=0, atol=checks.AGREEMENT * size
            )

    def test_each_coefficient(self, sizes):
        """By sums, each coefficient has its own rounding; and so have all small networks."""
        network, task = case(sizes)
        checks.agrees_with_tensor(
            network, task, oracle.whole(oracle.convolutional, sizes[-1], sizes)
        )

    def test_own_tensor(self, sizes):
        network, task = case(sizes)
        tensor = oracle.whole(oracle.convolutional, sizes[-1], sizes)
        np.testing.assert_array_equal(network.tensor(task), tensor)
        checks.agrees_with_own_tensor(network, task, tensor)

    def test_layer_by_layer(self, sizes):
        """`f(x) = xᵀβ` is what passing x through the layers gives, in the paper's convention."""
        network, task = case(sizes)
        layers = checks.drawn(network, task)
        tensor = network.tensor(task)
        for x in task.X:
            found = float(x @ network.coef(layers))
            size = float(np.abs(x) @ checks.moduli(tensor, layers))
            assert abs(found - oracle.convolutional_output(x, layers)) <= checks.AGREEMENT * size

    def test_shapes(self, sizes):
        network, task = case(sizes)
        assert network.layer_shapes(task) == tuple((size,) for size in sizes)
        assert network.degree == network.depth == len(sizes)
        assert network.is_full_length is (len(set(sizes)) == 1)

    @EITHER
    def test_leading_axes(self, sizes, threshold, monkeypatch):
        monkeypatch.setattr(convolutional, "DIRECT_PRODUCTS", threshold)
        checks.leading_axes_are_kept(*case(sizes))

    def test_all_conserved_forms(self, sizes):
        network, task = case(sizes)
        kept = network.invariants(checks.drawn(network, task))
        n, full = sizes[-1], sum(size == sizes[-1] for size in sizes)
        assert len(kept) == (full - 1) * (n // 2 + 1) + len(sizes) - full
        assert len(kept) == oracle.conserved_forms(network.tensor(task))


@pytest.mark.parametrize("sizes", [(2, 5), (3, 1, 4)], ids=str)
@EITHER
def test_jacobian(sizes, threshold, monkeypatch):
    monkeypatch.setattr(convolutional, "DIRECT_PRODUCTS", threshold)
    checks.jacobian_is_right(*case(sizes))


class TestDynamics:
    @pytest.mark.parametrize("sizes", [(2, 5), (5, 5)], ids=str)
    def test_flow(self, sizes):
        checks.flow_conserves_them(*case(sizes), scale=1.0)

    def test_flow_by_fourier(self, monkeypatch):
        monkeypatch.setattr(convolutional, "DIRECT_PRODUCTS", 0)
        checks.flow_conserves_them(*case((2, 4, 4)), scale=1.0)

    def test_training(self):
        checks.training_leaks_in_proportion_to_the_step(*case((2, 4, 4)), scale=0.6)

    def test_affine_level_sets_are_kept_by_training(self):
        """Two features: equal sums of both filters stay equal, unequal differences do not."""
        network, task = case((2, 2), samples=1)
        assert network.affine_at_zero
        init = lp.Init([[1.0, 0.5], [0.25, 1.25]])
        run = lp.train(lp.Problem(network, init, task), lp.GD(learning_rate=0.02), steps=200)
        moved = lp.analysis.drift(network, run)
        assert moved.affine.tolist() == [True, False]
        # Roundings of 200 steps against a leak of the size of the step.
        assert moved.relative_affine <= 200 * 1e-16 * 4
        assert moved.relative_curved >= 1e-5

    @pytest.mark.parametrize("sizes", [(1, 2), (3, 3), (2, 3)], ids=str)
    def test_others_are_cones(self, sizes):
        assert not Convolutional(filter_sizes=sizes).affine_at_zero

    def test_one_feature(self):
        assert Convolutional(filter_sizes=(1, 1, 1)).affine_at_zero


class TestLarge:
    @pytest.mark.parametrize(
        "sizes",
        [(4096,) * 4, (2, 4096, 3, 4096), (2, 2, 2, 4096), (63, 63, 63), (64, 97), (31, 61)],
    )
    def test_whole_numbers(self, sizes):
        """Against exact arithmetic, on both sides of the threshold.

        Relative to the largest coefficient: the product of the sums of moduli is 1e8 times that
        for filters of 4096 entries, and would let single precision pass. L + 1 transforms each
        have a relative error of about `1e-16 · √log₂n` in norm, spread evenly: some 1e-15 together.
        """
        rng = np.random.default_rng(0)
        filters = [rng.integers(-3, 4, size) for size in sizes]
        found = Convolutional(filter_sizes=sizes).coef([one.astype(float) for one in filters])
        exact = cyclic(filters)
        assert np.abs(found - exact).max() <= checks.AGREEMENT * np.abs(exact).max()

    @pytest.mark.parametrize("sizes", [(1024,) * 4, (64, 97)])
    def test_sums_against_fourier(self, sizes, monkeypatch):
        """Random filters rather than whole numbers; sums of 1024 terms have some 1e-15 too."""
        rng = np.random.default_rng(1)
        layers = [rng.standard_normal(size) for size in sizes]
        network, found = Convolutional(filter_sizes=sizes), []
        for threshold in (0, 10**9):
            monkeypatch.setattr(convolutional, "DIRECT_PRODUCTS", threshold)
            found.append(network.coef(layers))
        assert np.abs(found[0] - found[1]).max() <= checks.AGREEMENT * np.abs(found[1]).max()

    def test_long_filters_are_multiplied_as_transforms(self):
        """Four filters of 4096: transforms and products of n numbers, no sums over n² pairs."""
        sizes = (4096,) * 4
        network, task = case(sizes)
        with jax.enable_x64(True):
            layers = [jax.numpy.asarray(layer) for layer in checks.drawn(network, task)]
            step = jax.grad(lambda layers: task.loss(network.coef(layers)))
            found = list(_operations(jax.make_jaxpr(step)(layers).jaxpr))
        transforms = [one for one in found if one.primitive.name == "fft"]
        # A transform of each layer and of the product, and their adjoints.
        assert 0 < len(transforms) <= 2 * (len(sizes) + 1)
        # The data meet the coefficients in m·n products, once forwards and once backwards.
        largest = max(math.prod(out.aval.shape) for one in found for out in one.outvars)
        assert largest <= max(task.X.size, len(sizes) * sizes[0])


def _operations(jaxpr):
    """Of a traced function, those of the functions it calls included."""
    for one in jaxpr.eqns:
        inner = [value for value in one.params.values() if hasattr(value, "jaxpr")]
        if inner:
            for value in inner:
                yield from _operations(value.jaxpr)
        else:
            yield one


class TestErrors:
    @pytest.mark.parametrize("given", [3, (3,), (), "33", None], ids=repr)
    def test_not_several(self, given):
        with pytest.raises(NetworkError, match="length of each layer's filter, at least two"):
            Convolutional(filter_sizes=given)

    @pytest.mark.parametrize("given", [(0, 3), (1.5, 3), (-1, 3), (True, 3), ("2", 3)], ids=repr)
    def test_not_whole_numbers(self, given):
        with pytest.raises(NetworkError, match="filter_sizes must be a whole number, at least 1"):
            Convolutional(filter_sizes=given)

    def test_longer_than_the_last(self):
        with pytest.raises(NetworkError, match="must end with the number of features"):
            Convolutional(filter_sizes=(4, 3))

    def test_other_features(self):
        with pytest.raises(NetworkError, match=r"needs data with 3 features.*the data have 4"):
            Convolutional(filter_sizes=(2, 3)).layer_shapes(lp.Regression(np.ones((1, 4)), [1.0]))

    def test_several_outputs(self):
        task = lp.Regression(np.ones((1, 3)), np.ones((1, 2)))
        with pytest.raises(NetworkError, match="a convolutional network has one output"):
            Convolutional(filter_sizes=(2, 3)).layer_shapes(task)

    def test_large_tensor(self):
        network, task = case((4096, 4096))
        with pytest.raises(NetworkError, match=r"tensor form of .* is for small sizes"):
            network.tensor(task)

    def test_values(self):
        assert Convolutional(filter_sizes=[2, np.int64(3)]) == Convolutional(filter_sizes=(2, 3))
        assert hash(Convolutional((2, 3))) == hash(Convolutional((2, 3)))
        assert repr(Convolutional((2, 3))) == "Convolutional(filter_sizes=(2, 3))"
