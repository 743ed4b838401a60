"""Rank-one networks: shapes, products, conserved quantities, and the map of the first layer."""

import numpy as np
import pytest
from tests.oracles.flows import radial_flow as oracle

import limitpoint as lp
from limitpoint.errors import NetworkError
from limitpoint.mirror import PairRadius, PowerRadius

TASK = lp.Regression([[1.0, 2.0, -0.5], [0.3, -1.0, 1.0]], [1.0, -0.4])


def random_layers(network, seed, size=1.0):
    return lp.Init.random(network, TASK, size, seed=seed).layers


@pytest.mark.parametrize("depth", [2, 3, 4])
class TestProducts:
    def test_shapes_and_degree(self, depth):
        network = lp.RankOne(depth=depth, width=4)
        assert network.degree == 2 * depth - 1
        assert network.layer_shapes(TASK) == ((3,), *((4,),) * (2 * depth - 2))

    def test_coefficients_are_those_of_the_matrices(self, depth):
        """`β = v₁ (v₂ᵀu₁) ⋯`, and of `W_L ⋯ W₁` with `W_k = u_k v_kᵀ`, `w_L = v_L`."""
        network = lp.RankOne(depth=depth, width=4)
        layers = random_layers(network, 0)
        np.testing.assert_allclose(network.coef(layers), oracle.rank_one_coef(layers), rtol=1e-13)
        inputs, row = [layers[0], *layers[2::2]], np.eye(3)
        for k in range(depth - 1):
            row = np.outer(layers[1 + 2 * k], inputs[k]) @ row
        np.testing.assert_allclose(network.coef(layers), inputs[-1] @ row, rtol=1e-13)

    def test_outer_times_the_first_layer(self, depth):
        network = lp.RankOne(depth=depth, width=4)
        layers = random_layers(network, 1)
        np.testing.assert_allclose(
            network.outer(layers) * layers[0], network.coef(layers), rtol=1e-13
        )

    def test_records_are_a_leading_axis(self, depth):
        network = lp.RankOne(depth=depth, width=4)
        records = [random_layers(network, seed) for seed in range(3)]
        stacked = [np.stack(layer) for layer in zip(*records, strict=True)]
        expected = [network.coef(layers) for layers in records]
        np.testing.assert_allclose(network.coef(stacked), expected, rtol=1e-13)
        kept = np.stack([network.invariants(layers) for layers in records], axis=1)
        np.testing.assert_allclose(network.invariants(stacked), kept, rtol=1e-13)


class TestConservedQuantities:
    def test_by_hand(self):
        network = lp.RankOne(depth=2, width=2)
        layers = [np.array([1.0, 2.0, 0.0]), np.array([3.0, 1.0]), np.array([1.0, -2.0])]
        # ‖v₁‖² − ‖u‖² = 5 − 10; u² − v² = 9 − 1 and 1 − 4.
        np.testing.assert_allclose(network.invariants(layers), [-5.0, 8.0, -3.0], rtol=1e-15)

    def test_no_first_order_change_along_the_gradient(self):
        """`d/dt` of each along the oracle's velocity vanishes: identity."""
        network = lp.RankOne(depth=4, width=3)
        layers = random_layers(network, 5)
        velocity = oracle.rank_one_velocity(TASK.X, TASK.y, layers)
        sides = [
            network.invariants([a + h * v for a, v in zip(layers, velocity, strict=True)])
            for h in (1e-4, -1e-4)
        ]
        # Quadratic in the parameters: the central difference is the derivative but for rounding.
        size = max(float(np.abs(side).max()) for side in sides)
        np.testing.assert_allclose(sides[0], sides[1], rtol=0, atol=1e-13 * size)

    def test_level_sets_are_never_called_affine(self):
        assert not lp.RankOne(depth=3).affine_at_zero


class TestBalance:
    def test_imbalance_by_hand(self):
        network = lp.RankOne(depth=2, width=2)
        v1 = np.array([2.0, 0.0, 0.0])
        u = np.array([0.0, 2.0])
        assert network.imbalance([v1, u, u]) == 0.0
        assert network.imbalance([v1, u, -u]) == 0.0  # parallel is enough
        assert network.imbalance([v1, 1.5 * u, u]) == pytest.approx(0.5)
        assert network.imbalance([v1, u[::-1], u]) == pytest.approx(np.sqrt(2))
        assert network.imbalance([0 * v1, u, u]) == np.inf
        assert network.imbalance([0 * v1, 0 * u, 0 * u]) == 0.0

    def test_mean_imbalance_by_hand(self):
        network = lp.RankOne(depth=3, width=1)
        layers = [np.ones(3), *map(np.array, ([1.0], [2.0], [2.0], [1.0]))]
        assert network.mean_imbalance(layers) == pytest.approx((3 - 0.75) / 5)


class TestRadialMap:
    def test_kind_follows_the_start(self):
        network = lp.RankOne(depth=3, width=2)
        balanced = lp.Init.balanced(network, TASK, 0.7)
        assert isinstance(network.radial_map(balanced), PowerRadius)
        assert isinstance(network.radial_map(lp.Init.random(network, TASK, seed=0)), PairRadius)

    def test_none_from_an_orthogonal_pair(self):
        network = lp.RankOne(depth=2, width=2)
        init = lp.Init([[1.0, 1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
        assert network.radial_map(init) is None

    @pytest.mark.parametrize("seed", range(6))
    def test_gives_the_coefficients_at_the_start(self, seed):
        """`β(0) = Ξ(‖v₁‖²) z(0)`, whatever the signs of the pairs."""
        network = lp.RankOne(depth=3, width=3)
        init = lp.Init.random(network, TASK, 0.6, seed=seed)
        radial = network.radial_map(init)
        # Rounding of ψ² − c² relative to it: the pairs here are far from orthogonal.
        np.testing.assert_allclose(radial.coef(radial.start), network.coef(init.layers), rtol=1e-11)

    @pytest.mark.parametrize("seed", range(4))
    def test_layers_along_follow_the_flow(self, seed):
        """From z alone all layers, against brute force over a stretch on which no pair turns."""
        network = lp.RankOne(depth=3, width=3)
        init = lp.Init.random(network, TASK, 0.9, seed=seed)
        times = np.linspace(0.0, 0.05, 4)
        exact = oracle.rank_one_flow(TASK.X, TASK.y, init.layers, times=times, warped=False)
        sign = np.sign(network.outer(init.layers))
        assert (np.sign(network.outer(exact)) == sign).all()
        for mine, other in zip(network.layers_along(init, sign * exact[0]), exact, strict=True):
            # The oracle is right to some 1e-12; a pair seen from its sum of squares to as much,
            # divided by how far it is from orthogonal.
            np.testing.assert_allclose(mine, other, rtol=0, atol=1e-9)

    def test_layers_along_of_a_start_that_shrinks(self):
        """Balanced layers of norm 1e3 that end at norm 1 keep all digits: `u = v = ‖z‖ û`."""
        network = lp.RankOne(depth=3, width=3)
        init = lp.Init.balanced(network, TASK, 1e3)
        z = np.array([[600.0, 0.0, 0.0], [0.36, 0.48, -0.8], [0.0, 1e-7, 0.0], [0.0, 0.0, 0.0]])
        found = network.layers_along(init, z)
        norms = np.linalg.norm(z, axis=1)
        for layer, direction in zip(found[1:], init.direction[1:], strict=True):
            np.testing.assert_allclose(layer, norms[:, None] * direction, rtol=1e-12)

    def test_layers_along_at_tiny_scale(self):
        """Squares of squares of 1e-100 vanish in float64; the layers need not."""
        network = lp.RankOne(depth=2, width=2)
        init = lp.Init([[1.0, 0.0, 0.0], [1.0, 0.2], [0.9, 0.3]], scale=1e-100)
        found = network.layers_along(init, init.layers[0][None])
        for mine, other in zip(found, init.layers, strict=True):
            np.testing.assert_allclose(mine[0], other, rtol=1e-12)


class TestBadInput:
    @pytest.mark.parametrize("depth", [1, 0, -2, 2.5, 3.0, True, "3", None])
    def test_depth(self, depth):
        with pytest.raises(NetworkError, match="depth must be a whole number, at least 2"):
            lp.RankOne(depth=depth)

    @pytest.mark.parametrize("width", [0, -1, 1.5, False, "a"])
    def test_width(self, width):
        with pytest.raises(NetworkError, match="width must be a whole number, at least 1"):
            lp.RankOne(width=width)

    def test_several_outputs(self):
        task = lp.Regression(TASK.X, np.ones((2, 2)))
        with pytest.raises(NetworkError, match="one output"):
            lp.RankOne().layer_shapes(task)

    def test_layers_of_wrong_shapes(self):
        with pytest.raises(lp.errors.InitError, match="needs"):
            lp.Problem(lp.RankOne(), lp.Init([[1.0, 1.0, 1.0], [1.0, 1.0], [1.0]]), TASK)
