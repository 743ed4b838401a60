"""Starts that are on the stable manifold of zero, which Proposition 2 of lyu overlooks."""

import numpy as np
import pytest
from tests.oracles.flows import radial_flow as oracle
from tests.refusals import no_theorem

import limitpoint as lp
from limitpoint.theory.theorems.stable_manifold import ON_MANIFOLD, distance_from_manifold

RNG = np.random.default_rng(12)
ONE = lp.Regression(RNG.standard_normal((1, 4)), [1.5])
TWO = lp.Regression(RNG.standard_normal((2, 4)), [1.0, -2.0])
NETWORKS = pytest.mark.parametrize(
    "network", [lp.RankOne(depth=3, width=2), lp.FullyConnected(widths=(2, 3))], ids=str
)


def start_at(network, task, z):
    """Balanced layers whose first one is z."""
    size = float(np.linalg.norm(z))
    return lp.Problem(network, lp.Init.balanced(network, task, size, direction=z), task)


def null_vector(task):
    return np.linalg.svd(task.X)[2][-1]


def on_the_manifold(network, task):
    z = oracle.start_on_manifold(task.X, task.y, network.degree, 1.1)
    # The curve must be curved, or the test would be no more than that of one sample.
    assert task is ONE or abs(z @ task.X.T @ task.y) < 0.9999 * _sizes(z, task.X.T @ task.y)
    return z


def _sizes(a, b):
    return np.linalg.norm(a) * np.linalg.norm(b)


@NETWORKS
@pytest.mark.parametrize("task", [ONE, TWO], ids=["one sample", "two samples"])
class TestOnTheManifold:
    def test_predicted_at_zero(self, network, task):
        problem = start_at(network, task, on_the_manifold(network, task))
        limit = lp.predict(problem)
        assert limit.theorem.id == "lyu2023.proposition2"
        assert limit.status is lp.Status.SADDLE
        assert not limit.coef.any()
        assert limit.certificate.ok
        np.testing.assert_allclose(task.X.T @ limit.dual, limit.mirror, rtol=0, atol=1e-12)

    def test_no_other_theorem_claims_it(self, network, task):
        problem = start_at(network, task, on_the_manifold(network, task))
        limits = [t.id for t in lp.explain(problem).applicable if t.concludes == "limit"]
        assert limits == ["lyu2023.proposition2"]

    def test_the_flow_ends_there(self, network, task):
        run = lp.flow(start_at(network, task, on_the_manifold(network, task)))
        assert run.status is lp.Status.SADDLE
        assert np.linalg.norm(run.coef) < 1e-6 * np.linalg.norm(run.coefs[0])
        assert run.losses[-1] == pytest.approx(float(task.loss(np.zeros(4))), rel=1e-6)
        assert all(np.isfinite(layer).all() for layer in run.layers)

    def test_brute_force_gets_near_before_rounding_escapes(self, network, task):
        """All weights shrink a hundredfold on the way: nothing but the saddle attracts there."""
        problem = start_at(network, task, on_the_manifold(network, task))
        flow = oracle.rank_one_flow if isinstance(network, lp.RankOne) else oracle.dense_flow
        # On the stable manifold ‖z‖ falls as 1/t^(1/(D−2)) at last.
        times = np.array([0.0, 1.0, 1e3, 1e5])
        layers = flow(task.X, task.y, problem.init.layers, times=times, warped=False)
        sizes = np.linalg.norm(network.coef(layers), axis=1)
        assert (np.diff(sizes) < 0).all()
        assert sizes[-1] < 1e-4 * sizes[0]

    @pytest.mark.parametrize("off", [1e-6, -1e-6])
    def test_near_misses_interpolate(self, network, task, off):
        z = on_the_manifold(network, task)
        if task is TWO:  # within the row space, across the curve; there the limit is X⁺y
            basis = np.linalg.svd(task.X, full_matrices=False)[2]
            inside = basis @ z
            across = basis.T @ np.array([-inside[1], inside[0]])
        else:
            across = np.linalg.norm(z) * null_vector(task)
        problem = start_at(network, task, z + off * across)
        limit = lp.predict(problem)
        assert limit.status is lp.Status.CONVERGED
        least = np.linalg.pinv(task.X) @ task.y
        np.testing.assert_allclose(limit.coef, least, rtol=0, atol=1e-5)
        run = lp.flow(problem)
        assert run.status is lp.Status.CONVERGED
        assert np.linalg.norm(run.coef - limit.coef) < 1e-9 * np.linalg.norm(limit.coef)

    def test_a_null_part_of_1e_minus_8_escapes(self, network, task):
        z = on_the_manifold(network, task)
        null = null_vector(task)
        problem = start_at(network, task, z + 1e-8 * np.linalg.norm(z) * null)
        limit = lp.predict(problem)
        assert limit.status is lp.Status.CONVERGED
        # It keeps its null part: (β − X⁺y)/Ξ, Ξ = ‖z‖^{D−1} ≈ ‖X⁺y‖^{(D−1)/D}.
        least = np.linalg.pinv(task.X) @ task.y
        multiplier = np.linalg.norm(least) ** (1 - 1 / network.degree)
        expected = 1e-8 * np.linalg.norm(z) * multiplier
        assert (limit.coef - least) @ null == pytest.approx(expected, rel=1e-6)
        run = lp.flow(problem)
        assert run.status is lp.Status.CONVERGED
        assert np.linalg.norm(run.coef - limit.coef) < 1e-9 * np.linalg.norm(limit.coef)


@NETWORKS
class TestVanishing:
    def test_straight_against_the_gradient_is_on_the_stable_manifold(self, network):
        init = lp.Init.balanced(network, TWO, 0.0, direction=-TWO.X.T @ TWO.y)
        with no_theorem("not on the stable manifold of the saddle at zero"):
            lp.predict(lp.Problem(network, init, TWO))

    def test_anything_else_is_not(self, network):
        for direction in (TWO.X.T @ TWO.y, -TWO.X.T @ TWO.y + 1e-6 * null_vector(TWO), TWO.X[0]):
            init = lp.Init.balanced(network, TWO, 0.0, direction=direction)
            limit = lp.predict(lp.Problem(network, init, TWO))
            np.testing.assert_allclose(limit.coef, np.linalg.pinv(TWO.X) @ TWO.y, rtol=1e-12)


class TestDistance:
    def test_on_the_curve(self):
        """Our curve by length of arc against the oracle's by time: both to about 1e-12."""
        for size in (1e-3, 0.5, 1.2):
            z = oracle.start_on_manifold(TWO.X, TWO.y, 5, size)
            assert distance_from_manifold(TWO, z, 0.0, 5) < 0.1 * ON_MANIFOLD

    def test_of_another_degree_off_it(self):
        z = oracle.start_on_manifold(TWO.X, TWO.y, 5, 1.2)
        assert distance_from_manifold(TWO, z, 0.0, 3) > 1e-3

    @pytest.mark.parametrize("off", [1e-9, 1e-6, 0.1])
    def test_grows_as_the_start_moves_away(self, off):
        z = oracle.start_on_manifold(TWO.X, TWO.y, 5, 0.9)
        basis = np.linalg.svd(TWO.X, full_matrices=False)[2]
        across = basis.T @ np.array([-(basis @ z)[1], (basis @ z)[0]])
        for shift in (across, np.linalg.norm(z) * null_vector(TWO)):
            found = distance_from_manifold(TWO, z + off * shift, 0.0, 5)
            assert found == pytest.approx(off, rel=0.5)

    @pytest.mark.parametrize("rest", [1e-13, 1e-11])
    def test_far_from_it_with_almost_no_null_part(self, rest):
        """What lies along the rows counts too, not only what does not."""
        z = TWO.X.T @ TWO.y
        z = z / np.linalg.norm(z) + rest * null_vector(TWO)
        assert distance_from_manifold(TWO, z, 0.0, 5) > 1.0

    def test_nothing_to_be_on_the_stable_manifold_at_where_zero_fits(self):
        task = lp.Regression(TWO.X, [0.0, 0.0])
        assert distance_from_manifold(task, TWO.X[0], 0.0, 5) > ON_MANIFOLD

    def test_one_dimension(self):
        task = lp.Regression([[2.0]], [3.0])
        assert distance_from_manifold(task, np.array([-0.7]), 0.0, 3) < ON_MANIFOLD
        assert distance_from_manifold(task, np.array([0.7]), 0.0, 3) == pytest.approx(2.0)
