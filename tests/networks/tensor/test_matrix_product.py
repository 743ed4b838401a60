"""Products of matrices, and the task of matrix sensing."""

import numpy as np
import pytest
from tests.networks import multilinear_checks as checks
from tests.oracles import tensor_forms as oracle

import limitpoint as lp
from limitpoint import MatrixSensing
from limitpoint.errors import DataError, NetworkError
from limitpoint.networks.tensor.matrix_product import MatrixProduct

CASES = pytest.mark.parametrize(("side", "depth"), [(1, 2), (2, 2), (3, 2), (2, 3), (2, 4)])


def case(side, depth, samples=2):
    rng = np.random.default_rng([side, depth])
    samples = min(samples, side * side)
    A, y = rng.standard_normal((samples, side, side)), rng.standard_normal(samples)
    return MatrixProduct(depth=depth), MatrixSensing(A, y)


@CASES
class TestProduct:
    def test_tensor_form(self, side, depth):
        network, task = case(side, depth)
        tensor = oracle.whole(oracle.matrix_product, side * side, depth)
        checks.agrees_with_tensor(network, task, tensor)
        checks.agrees_with_own_tensor(network, task, tensor)

    def test_measurements(self, side, depth):
        """`⟨A_i, W₁ ⋯ W_L⟩`, by indices."""
        network, task = case(side, depth)
        layers = checks.drawn(network, task)
        product = np.linalg.multi_dot([*layers]) if depth > 1 else layers[0]
        expected = np.einsum("iab,ab->i", task.sensors, product)
        size = float(np.prod([np.abs(layer).sum() for layer in layers]) * np.abs(task.X).max())
        found = network.outputs(layers, task.X)
        np.testing.assert_allclose(found, expected, rtol=0, atol=checks.AGREEMENT * size)
        np.testing.assert_array_equal(
            task.matrix(network.coef(layers)).ravel(), network.coef(layers)
        )

    def test_shapes(self, side, depth):
        network, task = case(side, depth)
        assert network.layer_shapes(task) == ((side, side),) * depth
        assert network.degree == network.depth == depth
        assert not network.affine_at_zero

    def test_leading_axes(self, side, depth):
        checks.leading_axes_are_kept(*case(side, depth))

    def test_all_conserved_forms(self, side, depth):
        """Symmetric matrices, so that d(d+1)/2 of the d² entries of each are different."""
        network, task = case(side, depth)
        kept = network.invariants(checks.drawn(network, task))
        assert len(kept) == (depth - 1) * side * side
        free = (depth - 1) * side * (side + 1) // 2
        assert oracle.conserved_forms(network.tensor(task)) == free


class TestDynamics:
    @pytest.mark.parametrize(("side", "depth"), [(2, 2), (2, 3)])
    def test_jacobian(self, side, depth):
        checks.jacobian_is_right(*case(side, depth))

    @pytest.mark.parametrize(("side", "depth"), [(3, 2), (2, 3)])
    def test_flow(self, side, depth):
        checks.flow_conserves_them(*case(side, depth), scale=0.7)

    def test_training(self):
        checks.training_leaks_in_proportion_to_the_step(*case(2, 3), scale=0.7)

    @pytest.mark.parametrize("depth", [2, 3])
    def test_commuting_sensors_are_a_diagonal_network(self, depth):
        """Proof of Corollary 7: the eigenvalues follow the diagonal flow of the eigenvalues."""
        rng = np.random.default_rng(1)
        basis = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        values, y = rng.standard_normal((2, 3)), [0.7, -0.4]
        task = MatrixSensing(np.einsum("ij,sj,kj->sik", basis, values, basis), y)
        network, plain = MatrixProduct(depth=depth), lp.Diagonal(depth=depth)
        layers = [0.8 * np.eye(3)] * (depth - 1) + [np.zeros((3, 3))]
        moments = np.array([0.1, 0.5, 2.0])
        found = lp.flow(
            lp.Problem(network, lp.Init.from_layers(layers), task),
            times=moments,
            space=lp.ParameterSpace(rtol=1e-12),
        )
        diagonal = lp.Regression(values, y)
        init = lp.Init.zero_last(plain, diagonal, 0.8)
        expected = lp.flow(
            lp.Problem(plain, init, diagonal), times=moments, space=lp.SampleSpace(rtol=1e-12)
        )
        products = task.matrix(found.coefs)
        turned = basis.T @ products @ basis
        along = np.einsum("tii->ti", turned)
        # Two integrators at 1e-12, a hundred times that.
        np.testing.assert_allclose(along, expected.coefs, rtol=0, atol=1e-10)
        assert np.abs(turned - along[:, None] * np.eye(3)).max() <= 1e-10


class TestTask:
    def test_is_a_regression(self):
        rng = np.random.default_rng(0)
        A, B = rng.standard_normal((3, 2, 2)), rng.standard_normal((2, 2))
        task = MatrixSensing(A.astype(np.float32), [1, 2, 3], loss_factor=2.0)
        assert isinstance(task, lp.Regression)
        assert (task.n_samples, task.n_features, task.side) == (3, 4, 2)
        assert task.coef_shape == (4,)
        np.testing.assert_array_equal(task.sensors, A.astype(np.float32))
        expected = sum((np.sum(task.sensors[i] * B) - i - 1) ** 2 for i in range(3))
        assert float(task.loss(B.ravel())) == pytest.approx(expected, rel=1e-13)
        assert repr(task) == "MatrixSensing(A of shape (3, 2, 2), loss_factor=2)"
        with pytest.raises(AttributeError):
            task.y = 1.0

    def test_other_networks_take_it(self):
        """The limit from zero is the nearest solution, whichever way the entries are arranged."""
        _, task = case(2, 2)
        network = lp.Diagonal(depth=2)
        problem = lp.Problem(network, lp.Init.zero_last(network, task, 0.1), task)
        assert lp.predict(problem).certificate.ok

    def test_plain_regression_on_entries(self):
        """Sensors may come as rows of entries: read from a file, for instance."""
        network, task = case(2, 3)
        plain = lp.Regression(task.X, task.y)
        assert network.layer_shapes(plain) == network.layer_shapes(task)

    @pytest.mark.parametrize(
        ("A", "y", "words"),
        [
            (np.ones((2, 2)), [1.0, 2.0], r"A must have 3 dimension\(s\); it has shape \(2, 2\)"),
            (np.ones((2, 2, 3)), [1.0, 2.0], r"square matrix, in shape \(m, d, d\).*\(2, 2, 3\)"),
            (np.ones((0, 2, 2)), [], "at least one sensor"),
            (np.ones((2, 0, 0)), [1.0, 2.0], "at least one sensor"),
            (np.ones((2, 2, 2)), [1.0], "A has 2 sensors and y has 1"),
            (np.ones((2, 2, 2)), np.ones((2, 1)), r"y must have 1 dimension\(s\)"),
            (np.full((1, 1, 1), np.inf), [1.0], "A must be finite"),
            (np.full((1, 1, 1), 1e90), [1.0], "Rescale A"),
            (np.ones((1, 1, 1)), [np.nan], "y must be finite"),
            (np.ones((1, 1, 1)), [1e90], "Rescale y"),
            ("sensors", [1.0], "A must be an array of real numbers"),
        ],
    )
    def test_bad_data(self, A, y, words):
        with pytest.raises(DataError, match=words):
            MatrixSensing(A, y)

    def test_bad_factor(self):
        with pytest.raises(DataError, match="loss_factor must be a positive number"):
            MatrixSensing(np.ones((1, 1, 1)), [1.0], loss_factor=0)

    def test_bad_coefficients(self):
        with pytest.raises(DataError, match=r"4 entries along its last axis.*2 × 2"):
            case(2, 2)[1].matrix(np.ones(3))


class TestErrors:
    @pytest.mark.parametrize("depth", [1, 0, 2.5, "2", None])
    def test_depth(self, depth):
        with pytest.raises(NetworkError, match="depth must be a whole number, at least 2"):
            MatrixProduct(depth=depth)

    def test_features_that_are_no_matrix(self):
        with pytest.raises(NetworkError, match=r"MatrixSensing\(A, y\).*the data have 5"):
            MatrixProduct(depth=2).layer_shapes(lp.Regression(np.ones((1, 5)), [1.0]))

    def test_several_outputs(self):
        with pytest.raises(NetworkError, match="a matrix product network has one output"):
            MatrixProduct().layer_shapes(lp.Regression(np.ones((1, 4)), np.ones((1, 2))))

    def test_large_tensor(self):
        network, task = case(20, 3)
        with pytest.raises(NetworkError, match="is for small sizes"):
            network.tensor(task)

    def test_values(self):
        assert MatrixProduct(3) == MatrixProduct(depth=3)
        assert hash(MatrixProduct(3)) == hash(MatrixProduct(3))
        assert repr(MatrixProduct(3)) == "MatrixProduct(depth=3)"
