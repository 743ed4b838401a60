"""Dense networks: shapes, products, conserved quantities, balance, and lyu2023.proposition1."""

from itertools import pairwise

import numpy as np
import pytest
from tests.networks import multilinear_checks as checks
from tests.oracles import tensor_forms
from tests.oracles.flows import radial_flow as oracle

import limitpoint as lp
from limitpoint.errors import NetworkError
from limitpoint.mirror import PowerRadius

TASK = lp.Regression([[1.0, 2.0, -0.5], [0.3, -1.0, 1.0]], [1.0, -0.4])


@pytest.mark.parametrize("widths", [(4,), (4, 2), (3, 1, 5)])
class TestProducts:
    def test_shapes_and_degree(self, widths):
        network = lp.FullyConnected(widths=widths)
        sizes = [3, *widths]
        shapes = [*pairwise(sizes), (sizes[-1],)]
        assert network.layer_shapes(TASK) == tuple(shapes)
        assert network.degree == network.depth == len(widths) + 1

    def test_coefficients_outer_and_records(self, widths):
        network = lp.FullyConnected(widths=widths)
        records = [lp.Init.random(network, TASK, seed=seed).layers for seed in range(3)]
        stacked = [np.stack(layer) for layer in zip(*records, strict=True)]
        expected = [np.linalg.multi_dot([*layers]) for layers in records]
        np.testing.assert_allclose(network.coef(stacked), expected, rtol=1e-12)
        for layers, coef in zip(records, expected, strict=True):
            np.testing.assert_allclose(network.coef(layers), coef, rtol=1e-12)
            np.testing.assert_allclose(layers[0] @ network.outer(layers), coef, rtol=1e-12)
        kept = np.stack([network.invariants(layers) for layers in records], axis=1)
        np.testing.assert_allclose(network.invariants(stacked), kept, rtol=1e-13)

    def test_invariants_do_not_change_to_first_order(self, widths):
        network = lp.FullyConnected(widths=widths)
        layers = lp.Init.random(network, TASK, seed=4).layers
        velocity = oracle.dense_velocity(TASK.X, TASK.y, layers)
        sides = [
            network.invariants([a + h * v for a, v in zip(layers, velocity, strict=True)])
            for h in (1e-4, -1e-4)
        ]
        # Quadratic: the central difference is exact but for rounding.
        size = max(float(np.abs(side).max()) for side in sides)
        np.testing.assert_allclose(sides[0], sides[1], rtol=0, atol=1e-13 * size)

    def test_tensor_form(self, widths):
        """M_fc of Appendix B, whose matrices are read column by column, and ours, row by row."""
        network = lp.FullyConnected(widths=widths)
        tensor = tensor_forms.whole(tensor_forms.fully_connected, 3, widths)
        checks.agrees_with_tensor(network, TASK, tensor)
        checks.agrees_with_own_tensor(network, TASK, tensor)


class TestBalance:
    def test_invariants_by_hand(self):
        network = lp.FullyConnected(widths=(2,))
        layers = [np.array([[1.0, 2.0], [0.0, 1.0], [0.0, 0.0]]), np.array([1.0, 3.0])]
        # WᵀW = [[1, 2], [2, 5]], wwᵀ = [[1, 3], [3, 9]].
        np.testing.assert_allclose(network.invariants(layers), [0.0, -1.0, -1.0, -4.0])
        assert network.imbalance(layers) == pytest.approx(np.sqrt(18) / 10)

    def test_level_sets_are_never_called_affine(self):
        assert not lp.FullyConnected(widths=(2,)).affine_at_zero

    def test_radial_map_of_a_balanced_start(self):
        network = lp.FullyConnected(widths=(4, 2))
        init = lp.Init.balanced(network, TASK, 0.7, seed=3)
        radial = network.radial_map(init)
        assert isinstance(radial, PowerRadius)
        np.testing.assert_allclose(radial.coef(radial.start), network.coef(init.layers), rtol=1e-12)
        assert np.linalg.norm(radial.start) == pytest.approx(0.7, rel=1e-12)

    def test_none_from_any_other_start(self):
        network = lp.FullyConnected(widths=(4, 2))
        assert network.radial_map(lp.Init.random(network, TASK, seed=0)) is None
        zero = lp.Init([np.zeros(shape) for shape in network.layer_shapes(TASK)])
        assert network.radial_map(zero) is None

    def test_layers_along_are_refused_there(self):
        network = lp.FullyConnected(widths=(4, 2))
        with pytest.raises(TypeError, match="does not start balanced"):
            network.layers_along(lp.Init.random(network, TASK, seed=0), np.ones((1, 3)))

    def test_layers_along_follow_the_flow(self):
        network = lp.FullyConnected(widths=(2, 3))
        init = lp.Init.balanced(network, TASK, 0.8, seed=3)
        times = np.linspace(0.0, 0.5, 4)
        exact = oracle.dense_flow(TASK.X, TASK.y, init.layers, times=times, warped=False)
        coefs = network.coef(exact)
        z = coefs * np.linalg.norm(coefs, axis=1)[:, None] ** (1 / 3 - 1)
        for mine, other in zip(network.layers_along(init, z), exact, strict=True):
            # The oracle is right to some 1e-12.
            np.testing.assert_allclose(mine, other, rtol=0, atol=1e-10)


class TestOneNeuron:
    """Proposition 1: a pattern of one column, one row, one column … is kept; a diagonal is not."""

    def as_rank_one(self, layers):
        """Vectors of the rank-one network: first columns and first rows in turn."""
        parts = [a[:, 0] if k % 2 == 0 else a[0] for k, a in enumerate(layers[:-1])]
        return [*parts, layers[-1]]

    @pytest.mark.parametrize(("widths", "depth"), [((3, 4), 2), ((2, 4, 3, 4), 3)])
    def test_flow_keeps_the_pattern_and_is_that_of_the_rank_one_network(self, widths, depth):
        network = lp.FullyConnected(widths=widths)
        init = lp.Init.one_neuron(network, TASK, 0.6, seed=1)
        vectors = self.as_rank_one(init.layers)
        small = lp.RankOne(depth=depth, width=4)
        np.testing.assert_allclose(network.coef(init.layers), small.coef(vectors), rtol=1e-13)
        moments = np.array([0.0, 0.1, 0.3])
        space = lp.ParameterSpace(rtol=1e-12)
        dense = lp.flow(lp.Problem(network, init, TASK), times=moments, space=space)
        for start, layer in zip(init.layers, dense.layers, strict=True):
            assert not layer[:, start == 0].any()
            assert layer[:, start != 0].all()
        exact = oracle.rank_one_flow(TASK.X, TASK.y, vectors, times=moments, warped=False)
        for k, other in enumerate(exact):
            mine = np.stack([self.as_rank_one([a[t] for a in dense.layers])[k] for t in range(3)])
            # 100 times the integrator's tolerance.
            np.testing.assert_allclose(mine, other, rtol=0, atol=1e-10)

    @pytest.mark.parametrize(("widths", "depth"), [((3, 4), 2), ((2, 4, 3, 4), 3)])
    def test_gradient_descent_too(self, widths, depth):
        network = lp.FullyConnected(widths=widths)
        init = lp.Init.one_neuron(network, TASK, 0.6, seed=1)
        vectors = self.as_rank_one(init.layers)
        run = lp.train(lp.Problem(network, init, TASK), lp.GD(learning_rate=0.01), steps=50)
        for start, layer in zip(init.layers, run.layers, strict=True):
            assert not layer[:, start == 0].any()
        for _ in range(50):
            moved = oracle.rank_one_velocity(TASK.X, TASK.y, vectors)
            vectors = [a + 0.01 * v for a, v in zip(vectors, moved, strict=True)]
        end = self.as_rank_one([layer[-1] for layer in run.layers])
        for mine, other in zip(end, vectors, strict=True):
            # Fifty steps of rounding, amplified by less than the growth, which is below 10.
            np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-13)

    def test_a_diagonal_pattern_is_not_kept(self):
        network = lp.FullyConnected(widths=(3, 3))
        layers = [np.diag([0.5, 0.7, 0.6]), np.diag([0.4, 0.9, 0.8]), np.array([0.7, -0.3, 0.5])]
        run = lp.train(
            lp.Problem(network, lp.Init.from_layers(layers), TASK), lp.GD(learning_rate=0.01), 5
        )
        assert np.abs(run.layers[0][-1] - np.diag(np.diag(run.layers[0][-1]))).max() > 1e-3


class TestBadInput:
    @pytest.mark.parametrize("widths", [(), [], "23", None, 2.5, {2: 3}])
    def test_no_widths(self, widths):
        with pytest.raises(NetworkError, match="widths must hold the number of neurons"):
            lp.FullyConnected(widths)

    @pytest.mark.parametrize("widths", [(0,), (2, -1), (2.5,), (True,), 0, ("2",)])
    def test_wrong_widths(self, widths):
        with pytest.raises(NetworkError, match="widths must be a whole number, at least 1"):
            lp.FullyConnected(widths)

    def test_numbers_and_arrays_are_welcome(self):
        assert lp.FullyConnected(3).widths == (3,)
        assert lp.FullyConnected(np.array([2, 4])).widths == (2, 4)
        assert lp.FullyConnected([2, 4]) == lp.FullyConnected((2, 4))

    def test_several_outputs(self):
        task = lp.Regression(TASK.X, np.ones((2, 2)))
        with pytest.raises(NetworkError, match="one output"):
            lp.FullyConnected((2,)).layer_shapes(task)


def test_large_tensor():
    network = lp.FullyConnected(widths=(100, 100))
    task = lp.Regression(np.ones((1, 100)), [1.0])
    with pytest.raises(NetworkError, match="is for small sizes"):
        network.tensor(task)
