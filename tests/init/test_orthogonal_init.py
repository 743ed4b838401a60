"""Starts from orthonormal rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.flows import two_layer_flow as oracle

import limitpoint as lp
from limitpoint.errors import InitError, NetworkError, ScaleNotRepresentable

EPS = float(np.finfo(np.float64).eps)
TASK = lp.Regression(*oracle.data(3, 4, 2, 0))
VECTOR = lp.Regression(*oracle.data(3, 4, None, 0))
NETWORK = lp.TwoLayer(7)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 6),
    extra=st.integers(0, 20),
    outputs=st.sampled_from([None, 1, 3]),
    log_gamma=st.floats(-280, 280),
    seed=st.integers(0, 2**31),
)
def test_rows_are_orthonormal_times_root_two_gamma(n, extra, outputs, log_gamma, seed):
    task, network = lp.Regression(*oracle.data(2, n, outputs, 0)), lp.TwoLayer(n + extra)
    gamma = 10.0**log_gamma
    init = lp.Init.orthogonal(network, task, gamma=gamma, seed=seed)
    first, second = init.layers
    assert init.scale == pytest.approx(np.sqrt(2.0) * np.sqrt(gamma), rel=4 * EPS)
    # Householder reflections: some eps times the side.
    gram = (first / init.scale) @ (first / init.scale).T
    np.testing.assert_allclose(gram, np.eye(n), rtol=0, atol=40 * EPS)
    assert not second.any()
    assert second.shape == network.layer_shapes(task)[1]


def test_scale_gamma_and_log_scale_are_one():
    at_scale = lp.Init.orthogonal(NETWORK, TASK, 0.3, seed=5)
    for other in (
        lp.Init.orthogonal(NETWORK, TASK, gamma=0.045, seed=5),
        lp.Init.orthogonal(NETWORK, TASK, log_scale=np.log(0.3), seed=5),
        lp.Init.orthogonal(NETWORK, TASK, seed=5).at_scale(0.3),
    ):
        np.testing.assert_allclose(other.layers[0], at_scale.layers[0], rtol=4 * EPS)
    assert lp.Init.orthogonal(NETWORK, TASK).scale == 1.0


def test_seeds():
    one, again, other = (lp.Init.orthogonal(NETWORK, TASK, seed=s).direction[0] for s in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).max() > 0.1


def test_rows_are_uniformly_distributed():
    """Every entry has mean 0 and mean square 1/l, and signs are even: over 2000 draws, 5 σ.

    Householder's triangular factor has a sign of its own; without mending it the first entries
    would all have one sign.
    """
    task, network = lp.Regression(*oracle.data(2, 2, None, 0)), lp.TwoLayer(3)
    drawn = np.array([lp.Init.orthogonal(network, task, seed=s).direction[0] for s in range(2000)])
    # An entry x of a uniform unit vector in R³ is uniform on [−1, 1]: var x = 1/3, var x² = 4/45.
    assert np.abs(drawn.mean(axis=0)).max() < 5 * np.sqrt(1 / 3 / 2000)
    assert np.abs((drawn**2).mean(axis=0) - 1 / 3).max() < 5 * np.sqrt(4 / 45 / 2000)
    assert np.abs((drawn > 0).mean(axis=0) - 0.5).max() < 5 * 0.5 / np.sqrt(2000)
    # The two rows: E x_i z_j = 0 for all i, j, and E x_i²z_j² ≤ E x⁴ = 1/5.
    products = np.einsum("si,sj->ij", drawn[:, 0], drawn[:, 1]) / 2000
    assert np.abs(products).max() < 5 * np.sqrt(1 / 5 / 2000)


class TestPerturbation:
    def test_is_added_to_both_layers_in_units_of_the_scale(self):
        plain = lp.Init.orthogonal(NETWORK, TASK, 0.3, seed=2)
        small, large = (
            lp.Init.orthogonal(NETWORK, TASK, 0.3, seed=2, perturbation=p) for p in (1e-3, 1e-1)
        )
        for base, one, two in zip(plain.layers, small.layers, large.layers, strict=True):
            assert np.abs(one - base).max() > 0
            np.testing.assert_allclose(two - base, 100 * (one - base), rtol=0, atol=100 * EPS)

    def test_is_standard_normal(self):
        """7000 numbers: their mean square within five standard errors of 1."""
        network = lp.TwoLayer(1000)
        task = lp.Regression(*oracle.data(3, 4, 3, 0))
        plain, moved = (
            lp.Init.orthogonal(network, task, seed=2, perturbation=p).direction for p in (0.0, 0.5)
        )
        drawn = np.concatenate([(b - a).ravel() / 0.5 for a, b in zip(plain, moved, strict=True)])
        assert abs(drawn.mean()) < 5 / np.sqrt(drawn.size)
        assert abs((drawn**2).mean() - 1) < 5 * np.sqrt(2 / drawn.size)

    @pytest.mark.parametrize("size", ["much", None, np.nan, np.inf, [0.1, 0.2]])
    def test_must_be_a_number(self, size):
        with pytest.raises(InitError, match="perturbation must be a"):
            lp.Init.orthogonal(NETWORK, TASK, perturbation=size)


class TestLimits:
    def test_zero(self):
        assert lp.Init.orthogonal(NETWORK, TASK, gamma=0).scale == 0.0
        assert lp.Init.orthogonal(NETWORK, TASK, gamma=0).log_scale == -np.inf

    def test_infinity(self):
        assert lp.Init.orthogonal(NETWORK, TASK, gamma=np.inf).scale == np.inf
        assert not lp.Init.orthogonal(NETWORK, TASK, np.inf).is_finite

    def test_a_large_gamma_is_not_infinity(self):
        """2γ overflows where √(2γ) = 1.7e154 does not."""
        init = lp.Init.orthogonal(NETWORK, TASK, gamma=1.5e308)
        assert init.is_finite
        assert init.scale == pytest.approx(np.sqrt(2.0) * np.sqrt(1.5e308), rel=4 * EPS)

    def test_below_the_smallest_float(self):
        init = lp.Init.orthogonal(NETWORK, TASK, log_scale=-2302.6)
        assert init.is_finite
        with pytest.raises(ScaleNotRepresentable, match=r"log_scale=-2302\.6"):
            _ = init.layers


class TestErrors:
    @pytest.mark.parametrize("width", [1, 3])
    def test_fewer_neurons_than_features(self, width):
        with pytest.raises(InitError, match=rf"at least .* features, 4; the width is {width}"):
            lp.Init.orthogonal(lp.TwoLayer(width), TASK, gamma=0.1)

    def test_as_many_are_enough(self):
        first, _ = lp.Init.orthogonal(lp.TwoLayer(4), TASK, gamma=0.5).layers
        np.testing.assert_allclose(first.T @ first, np.eye(4), rtol=0, atol=40 * EPS)

    def test_one_neuron_for_one_feature(self):
        task = lp.Regression([[2.0], [1.0]], [1.0, 0.0])
        first, second = lp.Init.orthogonal(lp.TwoLayer(1), task, gamma=2.0).layers
        assert abs(first[0, 0]) == pytest.approx(2.0)
        assert second.tolist() == [0.0]

    @pytest.mark.parametrize(
        "network",
        [lp.Diagonal(2), lp.Diagonal(3), lp.RankOne(depth=2, width=2), lp.Power(2), lp.Paired()],
        ids=str,
    )
    def test_other_networks(self, network):
        with pytest.raises(InitError, match="orthogonal needs a two-layer network"):
            lp.Init.orthogonal(network, VECTOR)

    def test_a_network_that_does_not_fit_the_task(self):
        with pytest.raises(NetworkError, match="output"):
            lp.Init.orthogonal(lp.Diagonal(2), TASK)

    @pytest.mark.parametrize(
        "sizes",
        [
            {"scale": 1.0, "gamma": 0.5},
            {"log_scale": 0.0, "gamma": 0.5},
            {"scale": 1.0, "gamma": 0.5, "log_scale": 0.0},
        ],
        ids=str,
    )
    def test_two_of_gamma_scale_and_log_scale(self, sizes):
        with pytest.raises(InitError, match="give gamma, scale or log_scale, not two"):
            lp.Init.orthogonal(NETWORK, TASK, **sizes)

    def test_scale_and_log_scale(self):
        with pytest.raises(InitError, match="scale or log_scale, not"):
            lp.Init.orthogonal(NETWORK, TASK, 1.0, log_scale=0.0)

    @pytest.mark.parametrize("gamma", [-1e-300, -1.0, -np.inf, np.nan, "small", [0.1]])
    def test_gamma(self, gamma):
        with pytest.raises(InitError, match=r"gamma must be a number in \[0, inf\]"):
            lp.Init.orthogonal(NETWORK, TASK, gamma=gamma)

    @pytest.mark.parametrize("seed", [-1, 0.5, "zero", None])
    def test_seed(self, seed):
        with pytest.raises(InitError, match="seed must be a whole number"):
            lp.Init.orthogonal(NETWORK, TASK, seed=seed)
