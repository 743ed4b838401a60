"""Starts of rank-one and dense networks: balanced, off balance, and one neuron wide."""

import numpy as np
import pytest

import limitpoint as lp
from limitpoint.errors import InitError, NetworkError

TASK = lp.Regression(np.arange(8.0).reshape(2, 4), [1.0, 2.0])
RANK_ONE = lp.RankOne(depth=3, width=4)
DENSE = lp.FullyConnected(widths=(5, 3))
NETWORKS = pytest.mark.parametrize("network", [RANK_ONE, DENSE], ids=["rank-one", "dense"])


@NETWORKS
class TestBalanced:
    def test_balanced_and_of_norm_one(self, network):
        init = lp.Init.balanced(network, TASK, 0.3, seed=1)
        assert network.imbalance(init.direction) < 1e-14
        assert network.imbalance(init.layers) < 1e-14
        for layer in init.direction:
            assert np.linalg.norm(layer) == pytest.approx(1.0, rel=1e-14)
        # Every invariant of a balanced start is zero, but for the roundings of squares.
        assert np.abs(network.invariants(init.direction)).max() < 1e-15

    @pytest.mark.parametrize("norm", [1e-6, 0.5, 1e3])
    def test_norm_is_that_of_the_coefficients(self, network, norm):
        init = lp.Init.balanced(network, TASK, norm=norm)
        assert np.linalg.norm(network.coef(init.layers)) == pytest.approx(norm, rel=1e-12)
        assert init.scale == pytest.approx(norm ** (1 / network.degree), rel=1e-13)

    def test_direction(self, network):
        init = lp.Init.balanced(network, TASK, norm=10.0, direction=[0.0, 3.0, 0.0, -4.0])
        np.testing.assert_allclose(network.coef(init.layers), [0, 6, 0, -8], rtol=0, atol=1e-13)

    @pytest.mark.parametrize("size", [1e-320, 1e-200, 1e200])
    def test_direction_of_any_length(self, network, size):
        init = lp.Init.balanced(network, TASK, norm=5.0, direction=[0.0, 0.0, 0.0, -size])
        np.testing.assert_allclose(network.coef(init.layers), [0, 0, 0, -5], rtol=0, atol=1e-13)

    def test_seeds(self, network):
        first, again, other = (lp.Init.balanced(network, TASK, 1.0, seed=s) for s in (3, 3, 4))
        for a, b, c in zip(first.direction, again.direction, other.direction, strict=True):
            np.testing.assert_array_equal(a, b)
            assert not np.array_equal(a, c)

    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize("data_seed", range(4))
    def test_no_direction_is_a_row_of_data_drawn_from_a_seed(self, network, seed, data_seed):
        """Else nothing would be kept of the start, and no limit would depend on it."""
        X = np.random.default_rng(data_seed).standard_normal((2, 4))
        task = lp.Regression(X, [1.0, 2.0])
        coef = network.coef(lp.Init.balanced(network, task, 1.0, seed=seed).direction)
        kept = coef - np.linalg.pinv(X) @ (X @ coef)
        assert np.linalg.norm(kept) > 1e-3

    def test_the_limits_of_the_scale(self, network):
        assert lp.Init.balanced(network, TASK, norm=0).scale == 0.0
        assert lp.Init.balanced(network, TASK, norm=np.inf).scale == np.inf
        assert lp.Init.balanced(network, TASK, log_scale=-2302.6).log_scale == -2302.6
        assert lp.Init.balanced(network, TASK).scale == 1.0

    @pytest.mark.parametrize("norm", [-1.0, np.nan, "one", [1.0]])
    def test_bad_norm(self, network, norm):
        with pytest.raises(InitError, match=r"norm must be a number in \[0, inf\]"):
            lp.Init.balanced(network, TASK, norm=norm)

    @pytest.mark.parametrize("sizes", [{"scale": 1.0}, {"log_scale": 0.0}])
    def test_two_sizes(self, network, sizes):
        with pytest.raises(InitError, match="give norm, scale or log_scale, not two of them"):
            lp.Init.balanced(network, TASK, norm=1.0, **sizes)

    def test_bad_direction(self, network):
        with pytest.raises(InitError, match="one entry per feature, 4; it has 3"):
            lp.Init.balanced(network, TASK, direction=[1.0, 2.0, 3.0])
        with pytest.raises(InitError, match="direction must not be zero"):
            lp.Init.balanced(network, TASK, direction=np.zeros(4))
        with pytest.raises(InitError, match="direction"):
            lp.Init.balanced(network, TASK, direction=[1.0, np.nan, 0.0, 0.0])

    @pytest.mark.parametrize("seed", [-1, 1.5, "a", None])
    def test_bad_seed(self, network, seed):
        with pytest.raises(InitError, match="seed must be a whole number"):
            lp.Init.balanced(network, TASK, seed=seed)

    def test_several_outputs(self, network):
        with pytest.raises(NetworkError, match="one output"):
            lp.Init.balanced(network, lp.Regression(TASK.X, np.ones((2, 2))), 1.0)


def test_balanced_needs_a_coupled_network():
    with pytest.raises(InitError, match="balanced needs a rank-one or dense network"):
        lp.Init.balanced(lp.Diagonal(depth=2), TASK, 1.0)


class TestPerturbed:
    @pytest.mark.parametrize("imbalance", [-0.39, -0.1, 0.0, 0.1, 5.0])
    def test_imbalance_and_coefficients(self, imbalance):
        balanced = lp.Init.balanced(RANK_ONE, TASK, norm=0.7, seed=2)
        init = lp.Init.perturbed(RANK_ONE, TASK, norm=0.7, seed=2, imbalance=imbalance)
        assert RANK_ONE.mean_imbalance(init.layers) == pytest.approx(imbalance, abs=1e-14)
        np.testing.assert_allclose(
            RANK_ONE.coef(init.layers), RANK_ONE.coef(balanced.layers), rtol=1e-13
        )
        assert (RANK_ONE.imbalance(init.layers) > 1e-3) is (imbalance != 0)

    @pytest.mark.parametrize("imbalance", [-0.4, -1.0, np.nan, np.inf, "a"])
    def test_bad_imbalance(self, imbalance):
        with pytest.raises(InitError, match=r"imbalance must be a finite number above -0\.4"):
            lp.Init.perturbed(RANK_ONE, TASK, imbalance=imbalance)

    @pytest.mark.parametrize("network", [DENSE, lp.Diagonal()], ids=str)
    def test_needs_pairs(self, network):
        with pytest.raises(InitError, match="perturbed needs a"):
            lp.Init.perturbed(network, TASK, imbalance=0.1)


class TestOneNeuron:
    def test_pattern(self):
        network = lp.FullyConnected(widths=(2, 3, 2, 3))
        init = lp.Init.one_neuron(network, TASK, 0.5, seed=3)
        shapes = network.layer_shapes(TASK)
        for k, (layer, shape) in enumerate(zip(init.direction[:-1], shapes[:-1], strict=True)):
            pattern = np.zeros(shape, bool)
            pattern[(slice(None), 0) if k % 2 == 0 else 0] = True
            np.testing.assert_array_equal(layer != 0, pattern)
        assert init.direction[-1].all()
        assert init.scale == 0.5
        assert np.linalg.norm(network.coef(init.layers)) > 0

    @pytest.mark.parametrize(
        "network",
        [lp.FullyConnected((2,)), lp.FullyConnected((2, 2, 2)), RANK_ONE, lp.Diagonal()],
        ids=str,
    )
    def test_needs_odd_depth(self, network):
        with pytest.raises(InitError, match="one_neuron needs a dense network of odd depth"):
            lp.Init.one_neuron(network, TASK)
