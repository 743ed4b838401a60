"""The two-layer network as a value: shapes, coefficients, conserved quantities."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.flows import two_layer_flow as oracle

import limitpoint as lp
from limitpoint.errors import InitError, NetworkError

EPS = float(np.finfo(np.float64).eps)
OUTPUTS = pytest.mark.parametrize("outputs", [None, 1, 3], ids=["vector", "column", "three"])


def drawn(n, width, outputs, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, width)), rng.standard_normal(
        (width,) if outputs is None else (width, outputs)
    )


@OUTPUTS
class TestShapes:
    def test_layers(self, outputs):
        task = lp.Regression(*oracle.data(3, 4, outputs, 0))
        tail = () if outputs is None else (outputs,)
        assert lp.TwoLayer(6).layer_shapes(task) == ((4, 6), (6, *tail))
        assert lp.TwoLayer(6).degree == 2
        assert task.coef_shape == (4, *tail)

    def test_coefficients_are_the_product(self, outputs):
        first, second = drawn(4, 6, outputs)
        coef = lp.TwoLayer(6).coef([first, second])
        # Six products of numbers of order one.
        by_hand = np.einsum("il,l...->i...", first, second)
        np.testing.assert_allclose(coef, by_hand, rtol=0, atol=20 * EPS)
        assert coef.shape == (4, *second.shape[1:])

    def test_leading_axes_are_kept(self, outputs):
        """Records of layers, and sweeps over records, also where their number equals l or n."""
        layers = [[drawn(4, 6, outputs, 10 * i + j) for j in range(6)] for i in range(4)]
        first, second = (np.array([[one[q] for one in row] for row in layers]) for q in (0, 1))
        network = lp.TwoLayer(6)
        both = network.coef([first, second])
        kept = network.invariants([first, second])
        assert kept.shape == (36, 4, 6)
        for i, j in ((0, 0), (3, 5), (2, 1)):
            np.testing.assert_allclose(both[i, j], network.coef(layers[i][j]), atol=20 * EPS)
            alone = network.invariants(layers[i][j])
            np.testing.assert_allclose(kept[:, i, j], alone, atol=20 * EPS)

    def test_traced_coefficients(self, outputs):
        with jax.enable_x64(True):
            layers = drawn(4, 6, outputs)
            traced = jax.jit(lp.TwoLayer(6).coef)(list(layers))
            np.testing.assert_allclose(traced, lp.TwoLayer(6).coef(layers), atol=20 * EPS)

    def test_conserved_quantities_by_hand(self, outputs):
        first, second = drawn(4, 6, outputs)
        columns = second.reshape(6, -1)
        by_hand = [
            sum(first[i, a] * first[i, b] for i in range(4))
            - sum(columns[a, j] * columns[b, j] for j in range(columns.shape[1]))
            for a in range(6)
            for b in range(6)
        ]
        found = lp.TwoLayer(6).invariants([first, second])
        np.testing.assert_allclose(found, by_hand, rtol=0, atol=40 * EPS)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 4),
    width=st.integers(1, 5),
    outputs=st.sampled_from([None, 1, 2, 4]),
    seed=st.integers(0, 2**20),
)
def test_gradients_conserve_them(n, width, outputs, seed):
    """`d/dt (W₁ᵀW₁ − W₂W₂ᵀ) = 0` along minus the gradient: the polarised quadratic form vanishes.

    It is `(Q(θ+v) − Q(θ−v))/2`, exact for quadratic forms: rounding of sums of n + k squares.
    """
    X, Y = oracle.data(3, n, outputs, seed)
    layers = drawn(n, width, outputs, seed)
    moved = oracle.velocity(X, Y, *layers)
    network = lp.TwoLayer(width)
    ahead = [a + b for a, b in zip(layers, moved, strict=True)]
    behind = [a - b for a, b in zip(layers, moved, strict=True)]
    change = (network.invariants(ahead) - network.invariants(behind)) / 2
    size = sum(float(np.sum(layer**2)) for layer in (*ahead, *behind))
    assert np.abs(change).max() <= 20 * EPS * size


def test_no_mirror_map():
    """Nothing that belongs to networks whose coefficients have their separable mirror flow."""
    task, network = lp.Regression(*oracle.data(3, 4, 2, 0)), lp.TwoLayer(5)
    init = lp.Init.orthogonal(network, task, gamma=0.1)
    assert network.mirror_map(init) is None
    assert network.layers_at(init, np.zeros((4, 2))) is None
    assert network.activation_times(init) is None
    assert network.log_chart(init) is None
    assert not network.affine_at_zero


class TestErrors:
    @pytest.mark.parametrize("width", [0, -1, 1.5, "3", None, True, np.nan])
    def test_width(self, width):
        with pytest.raises(NetworkError, match="width must be a whole number"):
            lp.TwoLayer(width)

    def test_whole_floats_and_numpy_integers_are_whole_numbers(self):
        assert lp.TwoLayer(np.int64(3)) == lp.TwoLayer(3)
        assert hash(lp.TwoLayer(3)) == hash(lp.TwoLayer(3))
        assert repr(lp.TwoLayer(3)) == "TwoLayer(width=3)"

    @pytest.mark.parametrize(
        "shapes",
        [((4, 5), (5,)), ((4, 5), (5, 3)), ((5, 5), (5, 2)), ((4, 6), (6, 2)), ((4, 5),)],
        ids=str,
    )
    def test_layers_of_other_shapes(self, shapes):
        task = lp.Regression(*oracle.data(3, 4, 2, 0))
        init = lp.Init([np.ones(shape) for shape in shapes])
        with pytest.raises(InitError, match=r"TwoLayer\(width=5\) on 4 features needs"):
            lp.Problem(lp.TwoLayer(5), init, task)

    @pytest.mark.parametrize(
        "network",
        [lp.Diagonal(2), lp.RankOne(depth=2, width=2), lp.FullyConnected(widths=(2,)), lp.Paired()],
        ids=str,
    )
    def test_other_networks_have_one_output(self, network):
        task = lp.Regression(*oracle.data(3, 4, 2, 0))
        with pytest.raises(NetworkError, match="output"):
            lp.Problem(network, lp.Init([np.ones(4), np.ones(4)]), task)
