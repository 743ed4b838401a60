"""Networks that reduce to diagonal ones: there and back, on layers of the form."""

import numpy as np
import pytest
from tests.oracles import yun_limits

import limitpoint as lp
from limitpoint.networks import CommutingForm, EvenForm, OrthogonalForm, snapped


def even_case(size, depth):
    rng = np.random.default_rng([size, depth])
    basis = yun_limits.even_basis(size)
    layers = [basis @ rng.standard_normal(basis.shape[1]) for _ in range(depth)]
    X = rng.standard_normal((2, basis.shape[1])) @ basis.T
    return EvenForm(size, depth), lp.Convolutional((size,) * depth), layers, X


def commuting_case(side, depth):
    rng = np.random.default_rng([side, depth])
    basis = np.linalg.qr(rng.standard_normal((side, side)))[0]
    layers = [basis @ np.diag(rng.standard_normal(side)) @ basis.T for _ in range(depth)]
    X = np.einsum("ij,sj,kj->sik", basis, rng.standard_normal((2, side)), basis).reshape(2, -1)
    return CommutingForm(basis), lp.MatrixProduct(depth), layers, X


def orthogonal_case(rank, depth):
    rng = np.random.default_rng([rank, depth])
    U = [np.linalg.qr(rng.standard_normal((rank + 1, rank)))[0] for _ in range(depth)]
    network = lp.OrthogonalTensor(rng.standard_normal((rank, rank + 1)), U)
    layers = list(rng.standard_normal((depth, rank + 1)))
    return OrthogonalForm(network), network, layers, rng.standard_normal((2, rank + 1))


@pytest.mark.parametrize("depth", [2, 3, 4])
@pytest.mark.parametrize(
    ("make", "size"),
    [
        (even_case, 1),
        (even_case, 2),
        (even_case, 5),
        (even_case, 8),
        (commuting_case, 1),
        (commuting_case, 3),
        (orthogonal_case, 3),
    ],
)
class TestForms:
    # Sums of some tens of products of numbers of order one.
    ROUNDING = 1e-12

    def test_coefficients_and_outputs(self, make, size, depth):
        form, network, layers, X = make(size, depth)
        inner = form.inner_layers(layers)
        products = np.prod(inner, axis=0)
        coef = network.coef(layers)
        np.testing.assert_allclose(form.outer_coefs(products), coef, rtol=0, atol=self.ROUNDING)
        outputs = form.data(X) @ products
        np.testing.assert_allclose(outputs, X @ coef, rtol=0, atol=self.ROUNDING)
        back = form.inner_coefs(coef)
        np.testing.assert_allclose(back, products, rtol=0, atol=self.ROUNDING)

    def test_layers_keep_their_norms(self, make, size, depth):
        """Orthonormal columns: gradient flow within is gradient flow without."""
        form, _, layers, _ = make(size, depth)
        inner = form.inner_layers(layers)
        for mine, other in zip(form.outer_layers(inner, layers), layers, strict=True):
            np.testing.assert_allclose(mine, other, rtol=0, atol=self.ROUNDING)
        if not isinstance(form, OrthogonalForm):
            for eta, layer in zip(inner, layers, strict=True):
                assert np.linalg.norm(eta) == pytest.approx(np.linalg.norm(layer), rel=1e-12)

    def test_leading_axes(self, make, size, depth):
        form, _, layers, _ = make(size, depth)
        stacked = [np.stack([layer, 2 * layer]) for layer in layers]
        for pair, single in zip(form.inner_layers(stacked), form.inner_layers(layers), strict=True):
            np.testing.assert_allclose(pair, [single, 2 * single], rtol=0, atol=self.ROUNDING)
        products = np.prod(form.inner_layers(layers), axis=0)
        pair, single = form.outer_coefs(np.stack([products, -products])), form.outer_coefs(products)
        np.testing.assert_allclose(pair, [single, -single], rtol=0, atol=self.ROUNDING)

    def test_moduli_bound_the_layers(self, make, size, depth):
        form, _, layers, _ = make(size, depth)
        pairs = zip(form.inner_layers(layers), form.inner_moduli(layers), strict=True)
        # The norm of an even vector bounds its coordinates, up to the √2 of a pair of frequencies.
        assert all((np.abs(eta) <= 1.5 * bound + 1e-14).all() for eta, bound in pairs)


class TestSnapped:
    ONES = (np.ones(3),) * 3

    def test_rounding_is_taken_off(self):
        eps = np.finfo(float).eps
        layers = (
            np.array([1.0, 2.0, 4 * eps]),
            np.array([-1.0 - 4 * eps, 0.5, -2 * eps]),
            np.array([3.0, 2.0 + 4 * eps, 1.0]),
        )
        first, second, third = snapped(layers, self.ONES)
        assert first.tolist() == [1.0, 2.0, 0.0]
        assert second.tolist() == [-1.0, 0.5, 0.0]
        assert third.tolist() == [3.0, 2.0, 1.0]

    def test_nothing_else_is(self):
        rng = np.random.default_rng(0)
        layers = tuple(rng.standard_normal((3, 3)))
        for mine, layer in zip(snapped(layers, self.ONES), layers, strict=True):
            np.testing.assert_array_equal(mine, layer)

    def test_small_numbers_that_are_exact_stay(self):
        layers = (np.array([1e-30]), np.array([2e-30]))
        assert [one.tolist() for one in snapped(layers, layers)] == [[1e-30], [2e-30]]
