"""Infinite initialisation: the weighted least norm, for every network that starts at zero."""

import numpy as np
import pytest
from tests.oracles.brute.flow import flow_limit
from tests.oracles.potential_min import minimum_weighted_l2
from tests.refusals import no_theorem
from tests.theory.problems import diagonal_problem, gaussian_data

import limitpoint as lp

N = 8
X, Y = gaussian_data(3, N)
U, V = np.random.default_rng(1).uniform(0.5, 1.5, (2, N))


def crossed_layers(depth):
    """One zero per coordinate, in different layers."""
    layers = np.random.default_rng(depth).uniform(0.5, 1.5, (depth, N))
    zero = np.arange(N) % depth
    layers[zero, np.arange(N)] = 0.0
    return layers, np.prod(np.where(layers == 0, 1.0, layers), axis=0) ** 2


# Network, layers of the direction, and the squared norm of the coefficient's gradient there.
STARTS = {
    **{
        f"equal layers and a zero last one, depth {depth}": (
            lp.Diagonal(depth),
            [U] * (depth - 1) + [np.zeros(N)],
            U ** (2 * depth - 2),
        )
        for depth in (2, 3, 4, 5)
    },
    **{
        f"a zero somewhere, depth {depth}": (lp.Diagonal(depth), *crossed_layers(depth))
        for depth in (2, 3, 4)
    },
    **{
        f"powers, depth {depth}": (
            lp.SignedPower(depth),
            [U, U],
            2 * (depth * U ** (depth - 1)) ** 2,
        )
        for depth in (2, 3, 4)
    },
    "equal pairs": (lp.Paired(), [U, V, U, V], 2 * (U**2 + V**2)),
    "pairs exchanged": (lp.Paired(), [U, V, V, U], 2 * (U**2 + V**2)),
}


@pytest.fixture(params=STARTS.values(), ids=STARTS.keys())
def start(request):
    return request.param


def limit_of(network, layers, scale, data=X, targets=Y):
    return lp.predict(lp.Problem(network, lp.Init(layers, scale), lp.Regression(data, targets)))


class TestWeightedLeastNorm:
    def test_in_closed_form(self, start):
        network, layers, slopes = start
        limit = limit_of(network, layers, np.inf)
        assert limit.theorem.id == "limitpoint.lazy"
        assert limit.certificate.ok
        assert limit.status is lp.Status.CONVERGED
        assert limit.iterations == 0
        # Conditions of Gaussian data and weights of order 1: some digits of the 16.
        expected = minimum_weighted_l2(X, Y, 1 / slopes)
        np.testing.assert_allclose(limit.coef, expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(limit.mirror, X.T @ limit.dual, rtol=0, atol=1e-12)
        np.testing.assert_allclose(limit.coef, slopes * limit.mirror, rtol=0, atol=1e-12)
        assert limit.potential == pytest.approx(0.5 * float(expected**2 @ (1 / slopes)), rel=1e-12)
        np.testing.assert_array_equal(limit.signs, np.sign(limit.coef))
        np.testing.assert_allclose(np.exp(limit.log_abs_coef), np.abs(limit.coef), rtol=1e-13)

    def test_it_is_the_limit_of_finite_scales(self, start):
        """Mirror coordinates are in units of `s^{2−2L}`.

        The distance falls as `s^{−2L}` (or faster).
        """
        network, layers, _ = start
        lazy = limit_of(network, layers, np.inf)
        scale = 1e6 ** (1 / network.degree)
        finite = limit_of(network, layers, scale)
        # s^{−2L} = 1e-12 times a constant of order 1; Newton's residual is 1e-10.
        np.testing.assert_allclose(finite.coef, lazy.coef, rtol=0, atol=1e-9)
        xi = finite.mirror * scale ** (2 * network.degree - 2)
        np.testing.assert_allclose(xi, lazy.mirror, rtol=0, atol=1e-8)

    def test_the_loss_factor_does_not_move_it(self, start):
        network, layers, _ = start
        init = lp.Init(layers, np.inf)
        tenfold = lp.predict(lp.Problem(network, init, lp.Regression(X, Y, 10.0)))
        np.testing.assert_array_equal(tenfold.coef, limit_of(network, layers, np.inf).coef)


@pytest.mark.parametrize("depth", [2, 3])
def test_where_training_goes_from_large_layers(depth):
    """Brute force at scale s: `s^{−2L}` away."""
    layers = [U] * (depth - 1) + [np.zeros(N)]
    scale = 1e4 ** (1 / (2 * depth))
    targets = np.array([1.0, -1.0, 0.5])
    found = flow_limit(X, targets, [scale * layer for layer in layers])
    lazy = limit_of(lp.Diagonal(depth), layers, np.inf, targets=targets)
    near = limit_of(lp.Diagonal(depth), layers, scale, targets=targets)
    # The brute-force flow fits to 1e-10 and its local errors of 1e-11 accumulate.
    np.testing.assert_allclose(near.coef, found, rtol=0, atol=1e-7)
    # 1e-4 times the third-order coefficient of the map, of order 1.
    assert 1e-8 < np.abs(lazy.coef - found).max() < 1e-3


class TestSpecialData:
    layers = (U, np.zeros(N))

    def test_targets_of_zero(self):
        limit = limit_of(lp.Diagonal(2), self.layers, np.inf, targets=np.zeros(3))
        np.testing.assert_array_equal(limit.coef, 0.0)
        assert limit.certificate.ok
        assert limit.potential == 0.0
        np.testing.assert_array_equal(limit.log_abs_coef, -np.inf)

    def test_dependent_samples(self):
        limit = limit_of(
            lp.Diagonal(2), self.layers, np.inf, np.vstack([X, X[0]]), np.append(Y, Y[0])
        )
        assert limit.certificate.ok
        assert limit.status is lp.Status.CONVERGED
        expected = limit_of(lp.Diagonal(2), self.layers, np.inf)
        np.testing.assert_allclose(limit.coef, expected.coef, rtol=0, atol=1e-12)

    def test_targets_out_of_reach(self):
        rng = np.random.default_rng(4)
        tall, targets = rng.standard_normal((12, N)), rng.standard_normal(12)
        limit = limit_of(lp.Diagonal(2), self.layers, np.inf, tall, targets)
        assert limit.certificate.ok
        assert limit.status is lp.Status.LEAST_SQUARES
        best = np.linalg.lstsq(tall, targets, rcond=None)[0]
        np.testing.assert_allclose(limit.coef, best, rtol=0, atol=1e-12)

    def test_a_frozen_coefficient_stays_zero(self):
        common = np.where(np.arange(N) == 2, 0.0, U)
        limit = limit_of(lp.Diagonal(3), [common, common, np.zeros(N)], np.inf)
        assert limit.coef[2] == 0.0
        assert limit.certificate.ok
        rest = common != 0
        expected = minimum_weighted_l2(X[:, rest], Y, U[rest] ** -4.0)
        np.testing.assert_allclose(limit.coef[rest], expected, rtol=0, atol=1e-12)


def test_coefficients_that_start_elsewhere_have_no_limit():
    problem = diagonal_problem(X, Y, U, 0.1 * V, scale=np.inf)
    with no_theorem("coefficients start at zero"):
        lp.predict(problem)
