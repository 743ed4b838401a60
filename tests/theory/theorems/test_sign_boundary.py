"""Sign constraints whose ends the best fits touch: non-negative least squares and forced zeros."""

import numpy as np
import pytest
from scipy.optimize import nnls
from tests.oracles.brute import flow as brute_flow
from tests.oracles.potential_min import minimise_entropy
from tests.theory.problems import diagonal_problem

import limitpoint as lp

# The oracle's flow ends where its relative residual is 1e-11, relative: what vanishes is then as
# small, and what stays is that close to its end times the condition of the face, below 1e3 here.
FLOW = 1e-8
DEPTHS = (2, 3, 4)


def equal_layers(depth, layer):
    """All layers equal: coefficients that stay positive (negative where one sign is turned)."""
    return np.array([np.abs(layer)] * (depth - 1) + [layer])


def assert_optimal(limit, X, y, signs):
    """The conditions of constrained least squares, with nothing taken from the solver."""
    neg_grad = X.T @ (y - X @ limit.coef)
    size = np.linalg.norm(X, 2) * np.linalg.norm(y)
    assert (limit.coef * signs >= 0).all()
    # The certificate's tolerance.
    assert np.abs(neg_grad * limit.coef).max() <= 1e-9 * size * np.abs(limit.coef).max()
    assert (neg_grad * signs).max() <= 1e-9 * size


class TestNonNegativeLeastSquares:
    """More samples than features: the constrained best fit is unique, whatever the start."""

    @pytest.mark.parametrize("depth", DEPTHS)
    @pytest.mark.parametrize("seed", range(2))
    @pytest.mark.parametrize("scale", [1e-3, 1.0, 10.0])
    def test_against_scipy(self, depth, seed, scale):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((12, 7)), rng.standard_normal(12)
        layers = equal_layers(depth, rng.uniform(0.5, 1.5, 7))
        limit = lp.predict(diagonal_problem(X, y, *layers, scale=scale))
        assert limit.theorem.id == "limitpoint.boundary"
        assert limit.certificate.ok
        assert limit.status is lp.Status.LEAST_SQUARES
        expected, _ = nnls(X, y)
        np.testing.assert_array_equal(limit.coef == 0, expected == 0)
        # Start and answer are rounded; START_WEIGHT of the certificate is of the former.
        size = np.abs(expected).max() + scale**depth
        np.testing.assert_allclose(limit.coef, expected, rtol=0, atol=1e-10 * size)
        assert_optimal(limit, X, y, np.ones(7))

    @pytest.mark.parametrize("depth", DEPTHS)
    def test_signs_of_all_kinds(self, depth):
        """Positive, negative and free coefficients, as one bounded problem for SciPy's nnls."""
        rng = np.random.default_rng(depth)
        X, y = rng.standard_normal((14, 9)), rng.standard_normal(14)
        signs = np.array([1.0, -1.0, 0.0] * 3)
        layers = equal_layers(depth, np.where(signs < 0, -0.8, 0.8))
        layers[0, signs == 0] = 0.2
        limit = lp.predict(diagonal_problem(X, y, *layers))
        assert limit.certificate.ok
        turned = np.where(signs == 0, 1.0, signs)
        found, _ = nnls(np.hstack([X * turned, -X[:, signs == 0]]), y)
        expected = turned * found[:9]
        expected[signs == 0] -= found[9:]
        np.testing.assert_allclose(limit.coef, expected, rtol=0, atol=1e-10)
        ended = (expected == 0) & (signs != 0)
        assert ended.any()
        np.testing.assert_array_equal(limit.mirror[ended], -signs[ended] * np.inf)
        np.testing.assert_array_equal(limit.signs[ended], 0.0)
        np.testing.assert_array_equal(limit.log_abs_coef[ended], -np.inf)
        assert np.isfinite(limit.mirror[~ended]).all()


class TestAgainstTheFlow:
    """The end of an integration of the flow, where many constrained best fits exist."""

    @pytest.mark.parametrize("depth", DEPTHS)
    @pytest.mark.parametrize("seed", range(3))
    def test_targets_out_of_the_cone(self, depth, seed):
        """Wide data: the fit is on a face of the cone."""
        rng = np.random.default_rng(seed)
        X = np.abs(rng.standard_normal((4, 9)))
        y = X @ rng.uniform(size=9) + 3 * rng.standard_normal(4)
        layers = equal_layers(depth, rng.uniform(0.5, 1.5, 9))
        limit = lp.predict(diagonal_problem(X, y, *layers))
        assert limit.theorem.id == "limitpoint.boundary"
        assert limit.certificate.ok
        assert_optimal(limit, X, y, np.ones(9))
        found = brute_flow.limit("diagonal", X, y, layers)
        np.testing.assert_allclose(limit.coef, found, rtol=0, atol=FLOW)

    @pytest.mark.parametrize("depth", DEPTHS)
    def test_a_face_with_many_fits(self, depth):
        """Two copies of every column: their shares depend on the start, the sum does not."""
        rng = np.random.default_rng(7)
        half = np.abs(rng.standard_normal((4, 5)))
        y = half @ rng.uniform(size=5) + 2 * rng.standard_normal(4)
        X = np.hstack([half, half])
        layers = equal_layers(depth, rng.uniform(0.5, 1.5, 10))
        limit = lp.predict(diagonal_problem(X, y, *layers))
        assert limit.certificate.ok
        best, _ = nnls(half, y)
        np.testing.assert_allclose(limit.coef[:5] + limit.coef[5:], best, rtol=0, atol=1e-10)
        assert (limit.coef[:5] != limit.coef[5:])[best > 0].all()
        found = brute_flow.limit("diagonal", X, y, layers)
        np.testing.assert_allclose(limit.coef, found, rtol=0, atol=FLOW)

    @pytest.mark.parametrize("depth", DEPTHS)
    def test_free_coefficients_beside_those_that_end(self, depth):
        rng = np.random.default_rng(11)
        X, y = np.abs(rng.standard_normal((5, 7))), -np.abs(rng.standard_normal(5))
        layers = equal_layers(depth, rng.uniform(0.5, 1.5, 7))
        layers[0, :3] *= 0.3
        limit = lp.predict(diagonal_problem(X, y, *layers))
        assert limit.certificate.ok
        found = brute_flow.limit("diagonal", X, y, layers)
        assert (found[:3] != 0).all()
        np.testing.assert_allclose(limit.coef, found, rtol=0, atol=FLOW)


class TestForcedZeros:
    """Exact fits exist, but on the boundary only: `β₀ + β₁ = 0` with both positive."""

    X = np.array([[1.0, 1.0, 0.0, 0.0, 0.0], [0.4, -0.3, 1.0, 2.0, 0.5], [0.9, 0.2, 0.3, 0.1, 1.2]])
    y = np.array([0.0, 3.0, 1.5])
    layer = np.array([0.5, 0.9, 1.1, 0.7, 0.6])

    @pytest.mark.parametrize("depth", DEPTHS)
    @pytest.mark.parametrize("scale", [1e-6, 1.0, 5.0])
    def test_the_rest_is_as_if_they_were_not_there(self, depth, scale):
        layers = equal_layers(depth, self.layer)
        limit = lp.predict(diagonal_problem(self.X, self.y, *layers, scale=scale))
        assert limit.theorem.id == "limitpoint.boundary"
        assert limit.certificate.ok
        assert limit.status is lp.Status.CONVERGED
        np.testing.assert_array_equal(limit.coef[:2], 0.0)
        np.testing.assert_array_equal(limit.mirror[:2], -np.inf)
        rest = diagonal_problem(self.X[1:, 2:], self.y[1:], *layers[:, 2:], scale=scale)
        inner = lp.predict(rest)
        assert inner.theorem.id == "limitpoint.sign_constrained"
        size = np.abs(inner.coef).max() + scale**depth
        np.testing.assert_allclose(limit.coef[2:], inner.coef, rtol=0, atol=1e-9 * size)

    def test_depth_two_minimises_the_entropy_of_the_rest(self):
        layers = equal_layers(2, self.layer)
        limit = lp.predict(diagonal_problem(self.X, self.y, *layers))
        found = minimise_entropy(self.X[1:, 2:], self.y[1:], self.layer[2:] ** 2)
        # A gap of 1e-12 in the objective leaves ½Q''δ² ≤ 1e-12 with Q'' = 1/(2β), β < 2.
        np.testing.assert_allclose(limit.coef[2:], found, rtol=0, atol=np.sqrt(8e-12))

    @pytest.mark.parametrize("depth", DEPTHS)
    def test_where_the_flow_goes(self, depth):
        """Algebraically slow: the flow is followed to a loss at which nothing is left to see.

        A coefficient x that must vanish obeys `ẋ = −c x^{2−2/L} x` near the end, and the others
        follow from the data up to x itself: at the relative residual 1e-11 they are that close.
        """
        layers = equal_layers(depth, self.layer)
        limit = lp.predict(diagonal_problem(self.X, self.y, *layers))
        found = brute_flow.limit("diagonal", self.X, self.y, layers)
        np.testing.assert_allclose(limit.coef, found, rtol=0, atol=FLOW)


class TestUnreachable:
    @pytest.mark.parametrize("depth", DEPTHS)
    @pytest.mark.parametrize("scale", [1e-3, 1.0])
    def test_everything_on_the_wrong_side(self, depth, scale):
        layers = equal_layers(depth, np.array([1.0, 0.5]))
        limit = lp.predict(diagonal_problem([[1.0, 2.0]], [-3.0], *layers, scale=scale))
        np.testing.assert_array_equal(limit.coef, 0.0)
        np.testing.assert_array_equal(limit.mirror, -np.inf)
        assert limit.status is lp.Status.LEAST_SQUARES
        assert limit.certificate.ok
        assert limit.certificate.residuals["signs"] == 0.0
        assert "zeros" not in limit.certificate.residuals

    @pytest.mark.parametrize("depth", [2, 4])
    def test_even_powers(self, depth):
        """`β = u^L` with L even never becomes negative."""
        X, y = np.eye(3), np.array([2.0, -1.0, 0.5])
        init = lp.Init([np.array([0.7, 1.2, -0.4])])
        limit = lp.predict(lp.Problem(lp.Power(depth), init, lp.Regression(X, y)))
        assert limit.theorem.id == "limitpoint.boundary"
        np.testing.assert_allclose(limit.coef, [2.0, 0.0, 0.5], rtol=0, atol=1e-12)

    def test_a_frozen_coefficient_beside_one_that_ends(self):
        X, y = np.eye(3), np.array([1.0, -1.0, 2.0])
        layers = np.array([[1.0, 1.0, 0.0]] * 2)
        limit = lp.predict(diagonal_problem(X, y, *layers))
        np.testing.assert_allclose(limit.coef, [1.0, 0.0, 0.0], rtol=0, atol=1e-12)
        assert limit.status is lp.Status.LEAST_SQUARES
        assert limit.certificate.ok

    def test_targets_of_zero_from_positive_coefficients(self):
        X = np.array([[1.0, 2.0, 3.0]])
        limit = lp.predict(diagonal_problem(X, [0.0], *equal_layers(2, np.ones(3))))
        assert limit.theorem.id == "limitpoint.boundary"
        np.testing.assert_array_equal(limit.coef, 0.0)


@pytest.mark.parametrize("depth", DEPTHS)
def test_inside_the_sign_constraints_it_is_their_theorem(depth):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((3, 8))
    layers = equal_layers(depth, rng.uniform(0.5, 1.5, 8))
    problem = diagonal_problem(X, X @ rng.uniform(0.2, 1, 8), *layers)
    both = {t.id: t.limit(problem) for t in lp.explain(problem).applicable if t.limit}
    assert set(both) == {"limitpoint.sign_constrained", "limitpoint.boundary"}
    inside, general = both["limitpoint.sign_constrained"], both["limitpoint.boundary"]
    assert general.certificate.ok
    # The targets are projected first, by a product of orthonormal columns.
    np.testing.assert_allclose(general.coef, inside.coef, rtol=0, atol=1e-10)
