"""Theorem 5 of yun and its corollaries against flow, against the printed potentials, and in limits.

Flows run at rtol 1e-12 to a relative residual of 1e-11; they and the limits agree to the issue's
1e-8.
"""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog
from tests.oracles import yun_limits
from tests.refusals import no_theorem

import limitpoint as lp
from limitpoint.networks import joint_eigenbasis, off_diagonal
from limitpoint.theory.theorems.diagonalisable import Reduction, form_of

AGREEMENT = 1e-8
TIGHT = lp.ParameterSpace(rtol=1e-12, residual_tolerance=1e-11)
DEPTHS = pytest.mark.parametrize("depth", [2, 3, 4])
SCALES = pytest.mark.parametrize("scale", [0.3, 1.0])


def columns(rng, size, rank):
    return np.linalg.qr(rng.standard_normal((size, rank)))[0]


def even(vectors):
    return (vectors + np.roll(vectors[..., ::-1], 1, axis=-1)) / 2


def orthogonal_case(depth, rank=4, n=4, seed=0):
    rng = np.random.default_rng([depth, seed])
    U = [columns(rng, rank + (place % 2), rank) for place in range(depth)]
    network = lp.OrthogonalTensor(rng.standard_normal((rank, n)), U)
    task = lp.Regression(rng.standard_normal((2, n)), rng.standard_normal(2))
    return network, task, rng.uniform(0.6, 1.4, rank)


def even_case(depth, size, seed=0):
    rng = np.random.default_rng([depth, size, seed])
    network = lp.Convolutional((size,) * depth)
    task = lp.Regression(even(rng.standard_normal((2, size))), rng.standard_normal(2))
    spectrum = rng.uniform(0.6, 1.4, size // 2 + 1) * rng.choice([-1.0, 1.0], size // 2 + 1)
    return network, task, np.fft.irfft(spectrum, n=size, norm="ortho")


def sensing_case(depth, side=3, samples=2, seed=0, *, repeated=False, basis=None):
    rng = np.random.default_rng([depth, side, seed])
    basis = columns(rng, side, side) if basis is None else basis
    values = rng.standard_normal((samples, side))
    if repeated:
        values[:, 1] = values[:, 0]
    sensors = np.einsum("ij,sj,kj->sik", basis, values, basis)
    task = lp.MatrixSensing(sensors, rng.standard_normal(samples))
    return lp.MatrixProduct(depth), task, basis, values


def zero_last(network, task, scale, **given):
    return lp.Problem(network, lp.Init.zero_last(network, task, scale, **given), task)


def reaches(problem, theorem):
    """The limit, by which theorem, and the flow's end, coefficients and layers."""
    limit = lp.predict(problem)
    assert limit.theorem.id == theorem
    assert limit.certificate.ok
    run = lp.flow(problem, space=TIGHT)
    assert run.status is lp.Status.CONVERGED
    size = float(np.linalg.norm(limit.coef))
    assert np.linalg.norm(run.coef - limit.coef) <= AGREEMENT * size
    for mine, other in zip(limit.layers, run.layers, strict=True):
        assert np.abs(mine - other[-1]).max() <= AGREEMENT * np.abs(mine).max()
    return limit


class TestTheorem5:
    @DEPTHS
    @SCALES
    def test_against_flow_and_potential(self, depth, scale):
        network, task, eta = orthogonal_case(depth)
        limit = reaches(zero_last(network, task, scale, direction=eta), "yun2021.theorem5")
        inverse = np.linalg.inv(network.S.T)  # the potential of S^{-T}z
        expected = yun_limits.minimum(task.X, task.y, inverse, eta, depth, scale)
        np.testing.assert_allclose(limit.coef, expected, rtol=0, atol=1e-8)

    @DEPTHS
    def test_against_an_integrator_of_its_own(self, depth):
        network, task, eta = orthogonal_case(depth, rank=3, n=4, seed=1)
        problem = zero_last(network, task, 0.4, direction=eta)
        coef, _ = yun_limits.flow_end(
            network.tensor(task), task.X, task.y, list(problem.init.layers)
        )
        np.testing.assert_allclose(lp.predict(problem).coef, coef, rtol=0, atol=AGREEMENT)

    @DEPTHS
    @pytest.mark.parametrize("rank", [3, 6])
    def test_any_start_by_the_diagonal_network(self, depth, rank):
        """Also with parts of the layers that never move, and with more products than features."""
        network, task, _ = orthogonal_case(depth, rank=rank, n=4, seed=2)
        problem = lp.Problem(network, lp.Init.random(network, task, 0.5, seed=5), task)
        reaches(problem, "limitpoint.diagonalisable")

    def test_starts_that_tie_keep_their_signs(self):
        """Equal products of layers, though their transforms differ by rounding."""
        network, task, eta = orthogonal_case(2, seed=3)
        init = lp.Init([matrix @ eta for matrix in network.U], 0.5)
        found = lp.explain(lp.Problem(network, init, task)).to_dict()["limitpoint.diagonalisable"]
        names = {c["name"]: c["detail"] for c in found["conditions"]}
        assert "limitpoint.labarriere" not in names["limit of the diagonal network known"]
        assert "limitpoint." in names["limit of the diagonal network known"]

    def test_scales_beyond_float64(self):
        """At depth 2 the inactive coefficients of S = I are known by their logarithms alone."""
        rng = np.random.default_rng(0)
        U = [columns(rng, 5, 4) for _ in range(2)]
        network = lp.OrthogonalTensor(np.eye(4), U)
        task = lp.Regression(rng.standard_normal((2, 4)), rng.standard_normal(2))
        problem = lp.Problem(network, lp.Init.zero_last(network, task, log_scale=-2302.6), task)
        limit = lp.predict(problem)
        plain = lp.Diagonal(2)
        inner = lp.Problem(plain, lp.Init.zero_last(plain, task, log_scale=-2302.6), task)
        expected = lp.predict(inner)
        assert limit.certificate.ok
        assert (expected.log_abs_coef < -750).any()
        # The mirror coordinates times the logarithm of the scale, rounded: 1e-13 of thousands.
        np.testing.assert_allclose(limit.log_abs_coef, expected.log_abs_coef, rtol=0, atol=1e-8)
        np.testing.assert_array_equal(limit.signs, expected.signs)
        np.testing.assert_allclose(limit.coef, expected.coef, rtol=0, atol=1e-12)

    def test_paths_start_from_their_neighbours(self):
        network, task, eta = orthogonal_case(3)
        problem = zero_last(network, task, 1.0, direction=eta)
        path = lp.predict_path(problem, [0.0, 1e-2, 1e-1, 1.0, 10.0, np.inf])
        assert path.certified
        for scale, limit in zip(path.scales, path.limits, strict=True):
            alone = lp.predict(lp.Problem(network, problem.init.at_scale(scale), task))
            np.testing.assert_allclose(limit.coef, alone.coef, rtol=0, atol=1e-9)


class TestCorollary5:
    @DEPTHS
    @SCALES
    def test_against_flow_and_potential(self, depth, scale):
        rng = np.random.default_rng(depth)
        network = lp.Diagonal(depth)
        task = lp.Regression(rng.standard_normal((2, 4)), rng.standard_normal(2))
        weights = rng.uniform(0.6, 1.4, 4)
        problem = zero_last(network, task, scale, direction=weights)
        limit = lp.predict(problem)
        assert limit.theorem.id == "yun2021.corollary5"
        run = lp.flow(problem, space=TIGHT)
        np.testing.assert_allclose(limit.coef, run.coef, rtol=0, atol=AGREEMENT)
        expected = yun_limits.minimum(task.X, task.y, np.eye(4), weights, depth, scale)
        np.testing.assert_allclose(limit.coef, expected, rtol=0, atol=1e-8)


class TestCorollary6:
    @pytest.mark.slow
    @DEPTHS
    @SCALES
    @pytest.mark.parametrize("size", [5, 6])
    def test_against_flow_and_both_potentials(self, depth, scale, size):
        """The potential with `d^{−(L−1)/2}` gives the limit; the printed one does not."""
        network, task, common = even_case(depth, size)
        limit = reaches(zero_last(network, task, scale, direction=common), "yun2021.corollary6")
        fourier, basis = yun_limits.unitary_fourier(size), yun_limits.even_basis(size)
        weights = fourier @ common
        corrected, printed = (
            yun_limits.minimum(task.X, task.y, factor * fourier, weights, depth, scale, basis)
            for factor in (size ** (-(depth - 1) / 2), 1.0)
        )
        np.testing.assert_allclose(limit.coef, corrected, rtol=0, atol=1e-8)
        # The same test with the printed form: off by far more than the agreement asked for.
        assert np.linalg.norm(limit.coef - printed) > 1e3 * AGREEMENT * np.linalg.norm(limit.coef)

    @DEPTHS
    def test_default_start_is_the_impulse(self, depth):
        network, task, _ = even_case(depth, 6, seed=1)
        problem = zero_last(network, task, 0.5)
        assert problem.init.direction[0].tolist() == [1.0, 0, 0, 0, 0, 0]
        reaches(problem, "yun2021.corollary6")

    @DEPTHS
    def test_other_even_filters(self, depth):
        network, task, _ = even_case(depth, 5, seed=2)
        rng = np.random.default_rng(depth)
        init = lp.Init([even(rng.standard_normal(5)) for _ in range(depth)], 0.6)
        reaches(lp.Problem(network, init, task), "limitpoint.diagonalisable")

    @pytest.mark.parametrize("scale", [0.0, np.inf])
    def test_limits_of_the_scale(self, scale):
        """ℓ1 and ℓ2 of the transform: flat spectra have the weights 1."""
        network, task, _ = even_case(2, 6, seed=3)
        limit = lp.predict(zero_last(network, task, scale))
        assert limit.theorem.id == "limitpoint.diagonalisable"
        basis, fourier = yun_limits.even_basis(6), yun_limits.unitary_fourier(6)
        if scale == np.inf:
            expected = np.linalg.pinv(task.X) @ task.y
            np.testing.assert_allclose(limit.coef, expected, rtol=0, atol=1e-12)
            return
        z = cp.Variable(basis.shape[1])
        program = cp.Problem(
            cp.Minimize(cp.norm1(fourier @ basis @ z)), [task.X @ basis @ z == task.y]
        )
        program.solve(solver=cp.CLARABEL)
        np.testing.assert_allclose(limit.coef, basis @ z.value, rtol=0, atol=1e-6)

    def test_conditions_are_named(self):
        network, task, common = even_case(3, 6)

        def failing(network, task, layers):
            problem = lp.Problem(network, lp.Init(layers, 0.5), task)
            rows = {t.id: c for t, c in lp.explain(problem).rows}["yun2021.corollary6"]
            return [c.name for c in rows if not c.holds]

        zero = np.zeros(6)
        assert failing(network, task, [common, common, zero]) == []
        odd = common + np.eye(6)[1]
        assert failing(network, task, [odd, odd, zero]) == ["every filter even"]
        assert failing(network, task, [common, 2 * common, zero]) == ["other layers equal"]
        assert failing(network, task, [common, common, common]) == ["last layer zero"]
        ones = np.ones(6)
        assert failing(network, task, [ones, ones, zero]) == ["no entry of the common layer zero"]
        crooked = lp.Regression(np.arange(6.0)[None], [1.0])
        assert failing(network, crooked, [common, common, zero]) == ["every data point even"]
        short = lp.Convolutional((3, 3, 6))
        assert failing(short, task, [np.ones(3), np.ones(3), zero]) == [
            "filters as long as the data"
        ]


class TestCorollary7:
    @pytest.mark.slow
    @DEPTHS
    @SCALES
    @pytest.mark.parametrize("repeated", [False, True])
    def test_against_flow_and_potential(self, depth, scale, repeated):
        network, task, basis, values = sensing_case(depth, repeated=repeated)
        limit = reaches(zero_last(network, task, scale), "yun2021.corollary7")
        plain = yun_limits.minimum(values, task.y, np.eye(3), np.ones(3), depth, scale)
        expected = basis @ np.diag(plain) @ basis.T
        np.testing.assert_allclose(task.matrix(limit.coef), expected, rtol=0, atol=1e-8)

    @DEPTHS
    def test_layers_diagonal_with_the_sensors(self, depth):
        network, task, basis, _ = sensing_case(depth, seed=1)
        rng = np.random.default_rng(depth)
        layers = [basis @ np.diag(rng.standard_normal(3)) @ basis.T for _ in range(depth)]
        reaches(lp.Problem(network, lp.Init(layers, 0.7), task), "limitpoint.diagonalisable")

    @DEPTHS
    def test_vanishing_scale_is_the_nuclear_norm(self, depth):
        network, task, _, values = sensing_case(depth, side=5, samples=3, seed=2)
        limit = lp.predict(zero_last(network, task, 0.0))
        parts = np.hstack([values, -values])
        found = linprog(np.ones(10), A_eq=parts, b_eq=task.y, bounds=(0, None), method="highs")
        product = task.matrix(limit.coef)
        nuclear = float(np.linalg.norm(product, "nuc"))
        assert nuclear == pytest.approx(found.fun, rel=1e-9)
        np.testing.assert_allclose(task.X @ limit.coef, task.y, rtol=0, atol=1e-12)
        # Matrices that are not diagonal in the eigenbasis do no better.
        free = cp.Variable((5, 5))
        measured = [cp.sum(cp.multiply(A, free)) == y for A, y in zip(task.sensors, task.y)]  # noqa: B905
        best = cp.Problem(cp.Minimize(cp.normNuc(free)), measured).solve(solver=cp.CLARABEL)
        assert nuclear == pytest.approx(best, rel=1e-6)

    @DEPTHS
    def test_infinite_scale_is_the_frobenius_norm(self, depth):
        network, task, *_ = sensing_case(depth, side=5, samples=3, seed=2)
        limit = lp.predict(zero_last(network, task, np.inf))
        np.testing.assert_allclose(limit.coef, np.linalg.pinv(task.X) @ task.y, rtol=0, atol=1e-12)

    def test_sensors_that_do_not_commute_have_no_theorem_but_a_flow(self):
        rng = np.random.default_rng(0)
        sensors = rng.standard_normal((2, 3, 3))
        task = lp.MatrixSensing(sensors + np.swapaxes(sensors, 1, 2), [1.0, -0.5])
        problem = zero_last(lp.MatrixProduct(2), task, 0.5)
        with no_theorem(r"sensors commute \(margin -0\.\d+\)"):
            lp.predict(problem)
        run = lp.flow(problem)
        assert run.status is lp.Status.CONVERGED
        assert run.relative_residual <= 1e-9

    def test_sensors_that_are_not_symmetric(self):
        task = lp.MatrixSensing([[[1.0, 2.0], [0.0, 1.0]]], [1.0])
        problem = zero_last(lp.MatrixProduct(3), task, 0.5)
        with no_theorem("symmetric sensors"):
            lp.predict(problem)

    @pytest.mark.slow
    def test_small_scales_at_depth_3_are_unstable(self):
        """With diagonal sensors nothing off the diagonal is ever rounded, and the limit is reached.

        Turned by a rotation the same problem leaves the diagonal form by its rounding alone.
        """
        network, straight, *_ = sensing_case(3, side=4, seed=5, basis=np.eye(4))
        problem = zero_last(network, straight, 1e-3)
        reaches(problem, "yun2021.corollary7")
        turn = columns(np.random.default_rng(0), 4, 4)
        turned = lp.MatrixSensing(turn @ straight.sensors @ turn.T, straight.y)
        problem = zero_last(network, turned, 1e-3)
        limit, run = lp.predict(problem), lp.flow(problem)
        assert limit.certificate.ok
        assert np.linalg.norm(run.coef - limit.coef) > 0.1 * np.linalg.norm(limit.coef)
        _, form = form_of(problem)
        strayed = [
            Reduction.of(problem, form).strayed(one) for one in zip(*run.layers, strict=True)
        ]
        assert strayed[0] <= 1e-14
        assert strayed[-1] > 0.1


class TestJointDiagonal:
    @pytest.mark.parametrize("seed", range(5))
    def test_repeated_eigenvalues(self, seed):
        """Each matrix alone leaves its eigenvectors open; together they fix them."""
        rng = np.random.default_rng(seed)
        basis = columns(rng, 6, 6)
        values = rng.integers(0, 2, (4, 6)).astype(float)
        matrices = np.einsum("ij,sj,kj->sik", basis, values, basis)
        found = joint_eigenbasis(matrices)
        np.testing.assert_allclose(found.T @ found, np.eye(6), rtol=0, atol=1e-13)
        assert off_diagonal(matrices, found) <= 1e-13

    def test_badly_scaled(self):
        rng = np.random.default_rng(0)
        basis = columns(rng, 5, 5)
        values = rng.standard_normal((3, 5)) * np.array([1e-8, 1.0, 1e8])[:, None]
        matrices = np.einsum("ij,sj,kj->sik", basis, values, basis)
        assert off_diagonal(matrices, joint_eigenbasis(matrices)) <= 1e-13

    def test_nearly_equal_eigenvalues(self):
        """Gaps of 1e-9 in one matrix, converged by another."""
        rng = np.random.default_rng(1)
        basis = columns(rng, 4, 4)
        values = np.array([[1.0, 1 + 1e-9, 1 - 1e-9, 2.0], [0.0, 1.0, 2.0, 3.0]])
        matrices = np.einsum("ij,sj,kj->sik", basis, values, basis)
        assert off_diagonal(matrices, joint_eigenbasis(matrices)) <= 1e-13

    def test_zero_matrices(self):
        assert joint_eigenbasis(np.zeros((2, 3, 3))).tolist() == np.eye(3).tolist()
