"""One sample and two layers: Theorem 6 of yun against flow, Theorem 3 and Corollary 4."""

import numpy as np
import pytest
from tests.oracles import yun_limits
from tests.refusals import no_theorem

import limitpoint as lp
from limitpoint.networks import Tensor

FEATURES = 5
# The figure. Flows run at rtol 1e-12 until the relative residual is 1e-11: both leave less.
AGREEMENT = 1e-8
TIGHT = lp.ParameterSpace(rtol=1e-12, residual_tolerance=1e-11)


def random_tensor():
    return Tensor(np.random.default_rng(3).standard_normal((FEATURES, 3, 4)))


def orthogonal(seed=0):
    rng = np.random.default_rng(seed)
    U = [np.linalg.qr(rng.standard_normal((size, 4)))[0] for size in (6, 5)]
    return lp.OrthogonalTensor(rng.standard_normal((4, FEATURES)), U)


NETWORKS = {
    "diagonal": lp.Diagonal(2),
    "conv1": lp.Convolutional((1, FEATURES)),
    "conv2": lp.Convolutional((2, FEATURES)),
    "conv3": lp.Convolutional((3, FEATURES)),
    "conv5": lp.Convolutional((5, FEATURES)),
    "dense": lp.FullyConnected((3,)),
    "tensor": random_tensor(),
    "orthogonal": orthogonal(),
    "matrix": lp.MatrixProduct(2),
}
EVERY = pytest.mark.parametrize("name", list(NETWORKS))
SIGNS = pytest.mark.parametrize("y", [1.3, -0.7])
# Both signs, and small and large scales of each.
SIGNS_AND_SCALES = pytest.mark.parametrize(
    ("y", "scale"), [(1.3, 1e-8), (-0.7, 0.01), (1.3, 0.5), (-0.7, 1.0)]
)


def sample_of(network, seed=0):
    n = 4 if isinstance(network, lp.MatrixProduct) else FEATURES
    return np.random.default_rng([seed, n]).standard_normal(n)


def problem_of(name, y=1.0, seed=0, *, kind=lp.Regression, small=0.5, **where):
    """The second layer is so small that the first leads along every singular vector, if < 1."""
    network = NETWORKS[name]
    task = kind(sample_of(network, seed)[None], [y])
    first, second = lp.Init.random(network, task, seed=seed + 1).direction
    if small < 1:
        # By the largest q and the smallest p of any orthonormal singular vectors.
        matrix = np.tensordot(task.X[0], network.tensor(task), axes=1)
        left, values, _ = np.linalg.svd(matrix, full_matrices=False)
        if isinstance(network, lp.FullyConnected | lp.MatrixProduct):
            # Singular values tie, one copy for each column of the first layer.
            block = task.X[0].reshape(len(first), -1)
            left, values, _ = np.linalg.svd(block, full_matrices=False)
        inner = left[:, values > 1e-12].T @ first
        small = small * float(np.abs(inner).min()) / float(np.linalg.norm(second))
    return lp.Problem(network, lp.Init([first, small * second], **where), task)


def whole(problem):
    """The tensor form; matrices row by row, as layers are ravelled."""
    return problem.network.tensor(problem.task)


def data_matrix(problem):
    return np.tensordot(problem.task.X[0], whole(problem), axes=1)


def theorem(name):
    return next(t for t in lp.atlas.theorems() if t.id == name)


def theorem_6(problem):
    found = theorem("yun2021.theorem6")
    assert found.applies(problem)
    return found.limit(problem)


def well_separated(problem):
    """No two singular values near the top but those that tie: rates are then a tenth or more."""
    values = np.linalg.svd(data_matrix(problem), compute_uv=False)
    lower = values[values < values[0] * (1 - 1e-12)]
    return lower.max(initial=0.0) <= 0.8 * values[0]


def ravelled(layers):
    return [np.ravel(layer) for layer in layers]


class TestTheorem6:
    @pytest.mark.slow
    @EVERY
    @SIGNS_AND_SCALES
    def test_against_flow(self, name, y, scale):
        problem = problem_of(name, y, scale=scale)
        limit = theorem_6(problem)
        assert limit.certificate.ok
        assert limit.status is lp.Status.CONVERGED
        run = lp.flow(problem, space=TIGHT)
        size = float(np.linalg.norm(limit.coef))
        assert np.linalg.norm(run.coef - limit.coef) <= AGREEMENT * size
        for mine, other in zip(limit.layers, run.layers, strict=True):
            assert np.abs(mine - other[-1]).max() <= AGREEMENT * np.abs(mine).max()

    @pytest.mark.slow
    @EVERY
    @SIGNS_AND_SCALES
    def test_against_an_integrator_of_its_own(self, name, y, scale):
        problem = problem_of(name, y, scale=scale)
        limit = theorem_6(problem)
        task = problem.task
        coef, layers = yun_limits.flow_end(
            whole(problem), task.X, task.y, ravelled(problem.init.layers)
        )
        size = float(np.linalg.norm(limit.coef))
        assert np.linalg.norm(coef - limit.coef) <= AGREEMENT * size
        for mine, other in zip(ravelled(limit.layers), layers, strict=True):
            assert np.abs(mine - other).max() <= AGREEMENT * np.abs(mine).max()

    @EVERY
    @pytest.mark.parametrize(
        ("y", "log_scale"),
        [(1.3, 3.0), (-0.7, 0.0), (1.3, np.log(1e-8)), (-0.7, np.log(1e-300)), (1.3, -2302.6)],
    )
    def test_against_the_printed_formula_in_many_digits(self, name, y, log_scale):
        problem = problem_of(name, y, log_scale=log_scale)
        limit = theorem_6(problem)
        first, second = ravelled(problem.init.direction)
        layers = yun_limits.theorem_6(data_matrix(problem), first, second, y, log_scale)
        coef = yun_limits.contract(whole(problem), layers)
        # Newton ends at 1e-13 of the mirror coordinate, which is the logarithm of the growth; where
        # the start is large, coefficients are small differences of its square.
        size = float(np.linalg.norm(coef)) + np.exp(2 * min(log_scale, 300.0))
        allowed = 1e-12 * (1 + abs(log_scale)) * size
        assert np.linalg.norm(coef - limit.coef) <= allowed
        assert abs(problem.task.X[0] @ limit.coef - y) <= allowed

    @EVERY
    @SIGNS
    def test_scale_zero_is_the_limit_of_small_scales(self, name, y):
        """The next singular vector is smaller by α^{1−s₂/s₁}, or α where the top ones are all."""
        limit = theorem_6(problem_of(name, y, scale=0.0))
        assert limit.certificate.ok
        values = np.linalg.svd(data_matrix(problem_of(name)), compute_uv=False)
        lower = values[values < values[0] * (1 - 1e-12)]
        ratio = float(lower.max(initial=0.0) / values[0])
        log_scale = -30.0 / (1 - ratio)
        near = theorem_6(problem_of(name, y, log_scale=log_scale))
        # e^−30 times numbers of order one hundred.
        size = float(np.linalg.norm(limit.coef))
        assert np.linalg.norm(near.coef - limit.coef) <= 1e-11 * size
        assert limit.potential == pytest.approx(abs(y) / values[0], rel=1e-12)

    @SIGNS
    def test_dense_networks_weigh_ties(self, y):
        """All singular values are ‖x‖: at scale zero only the direction of x is left."""
        problem = problem_of("dense", y, scale=0.0)
        limit = theorem_6(problem)
        x = problem.task.X[0]
        np.testing.assert_allclose(limit.coef, y * x / (x @ x), rtol=1e-12)
        first, second = problem.init.direction
        share = (x @ first / np.linalg.norm(x) + np.sign(y) * second) ** 2
        found = np.abs(limit.layers[1]) ** 2
        np.testing.assert_allclose(found / found.sum(), share / share.sum(), rtol=1e-10)

    def test_the_example_of_figure_3(self):
        """x = (1, 2), y = 1 as the scale vanishes (section 6)."""
        task = lp.Regression([[1.0, 2.0]], [1.0])
        for network, expected in (
            (lp.FullyConnected((2,)), [0.2, 0.4]),
            (lp.Diagonal(2), [0.0, 0.5]),
            (lp.Convolutional((2, 2)), [1 / 3, 1 / 3]),
        ):
            problem = lp.Problem(network, lp.Init.zero_last(network, task, 0.0), task)
            found = theorem("yun2021.theorem6").limit(problem)
            np.testing.assert_allclose(found.coef, expected, rtol=0, atol=1e-15)

    @EVERY
    @SIGNS
    def test_agrees_with_the_theorem_that_is_chosen(self, name, y):
        problem = problem_of(name, y, scale=0.3)
        chosen = lp.predict(problem)
        mine = theorem_6(problem)
        np.testing.assert_allclose(mine.coef, chosen.coef, rtol=0, atol=1e-12)
        assert chosen.theorem.id == (
            "labarriere2024.theorem1" if name == "diagonal" else "yun2021.theorem6"
        )

    def test_large_samples_need_no_tensor(self):
        """n·k₁·k₂ would be 10¹¹ for the convolution, 10⁹ for the dense network."""
        n = 100_000
        task = lp.Regression(np.random.default_rng(0).standard_normal((1, n)), [1.0])
        for network in (lp.Convolutional((3, n)), lp.FullyConnected((10,))):
            problem = lp.Problem(network, lp.Init.zero_last(network, task, 0.1), task)
            assert lp.predict(problem).certificate.ok


class TestOtherStarts:
    @pytest.mark.slow
    @pytest.mark.slow
    @EVERY
    @SIGNS
    @pytest.mark.parametrize("scale", [1e-3, 0.7])
    def test_against_flow(self, name, y, scale):
        problem = problem_of(name, y, seed=4, small=3.0, scale=scale)
        assert not theorem("yun2021.theorem6").applies(problem)
        ours = theorem("limitpoint.one_sample")
        assert ours.applies(problem)
        limit = ours.limit(problem)
        assert limit.certificate.ok
        run = lp.flow(problem, space=TIGHT)
        size = float(np.linalg.norm(limit.coef))
        assert np.linalg.norm(run.coef - limit.coef) <= AGREEMENT * size

    def test_what_cannot_grow_is_named(self):
        """p = q: the output only ever grows, and never reaches a negative target."""
        task = lp.Regression([[1.0, 2.0]], [-1.0])
        network = lp.Convolutional((1, 2))
        init = lp.Init([[np.sqrt(5.0)], [1.0, 2.0]])
        problem = lp.Problem(network, init, task)
        rows = {t.id: c for t, c in lp.explain(problem).rows}["limitpoint.one_sample"]
        assert [c.name for c in rows if not c.holds] == ["some singular vector grows towards y"]
        with no_theorem("grows towards y"):
            lp.predict(problem)

    def test_tied_starts_keep_their_sign(self):
        """The same start with a positive target: half a line is enough."""
        task = lp.Regression([[1.0, 2.0]], [1.0])
        network = lp.Convolutional((1, 2))
        problem = lp.Problem(network, lp.Init([[np.sqrt(5.0)], [1.0, 2.0]], 0.1), task)
        limit = lp.predict(problem)
        assert limit.theorem.id == "limitpoint.one_sample"
        np.testing.assert_allclose(limit.coef, [0.2, 0.4], rtol=1e-12)

    def test_target_zero(self):
        problem = problem_of("conv3", 0.0, seed=4, small=3.0, scale=0.5)
        limit = lp.predict(problem)
        run = lp.flow(problem, space=TIGHT)
        assert np.abs(run.coef - limit.coef).max() <= AGREEMENT
        at_zero = problem_of("conv3", 0.0, scale=0.0)
        assert not lp.predict(at_zero).coef.any()


class TestConditions:
    def test_each_is_named(self):
        def failing(problem, name="yun2021.theorem6"):
            rows = {t.id: c for t, c in lp.explain(problem).rows}[name]
            return [c.name.split(",")[0] for c in rows if not c.holds]

        network, task = lp.Convolutional((2, 5)), lp.Regression(np.ones((2, 5)), [1.0, 1.0])
        problem = lp.Problem(network, lp.Init.random(network, task, seed=0), task)
        assert failing(problem) == ["one sample"]
        assert failing(problem_of("conv2", scale=np.inf)) == ["scale below infinity"]
        deep = lp.Convolutional((2, 2, 5))
        one = lp.Regression(np.ones((1, 5)), [1.0])
        problem = lp.Problem(deep, lp.Init.random(deep, one, seed=0), one)
        assert failing(problem) == ["two-layer tensor network"]
        problem = lp.Problem(network, lp.Init([[0.1, 0.0], np.ones(5)]), one)
        assert failing(problem) == ["first layer larger along every singular vector"]
        nothing = lp.Regression(np.zeros((1, 5)), [1.0])
        problem = lp.Problem(network, lp.Init.random(network, nothing, seed=0), nothing)
        assert failing(problem) == ["one sample"]

    def test_margin_is_the_lambda_of_the_theorem(self):
        problem = problem_of("conv3")
        left, _, rows = np.linalg.svd(data_matrix(problem), full_matrices=False)
        first, second = problem.init.direction
        expected = float(np.min((left.T @ first) ** 2 - (rows @ second) ** 2))
        conditions = theorem("yun2021.theorem6").check(problem)
        assert conditions[-1].margin == pytest.approx(expected, rel=1e-10)


class TestClassification:
    @EVERY
    @pytest.mark.parametrize("y", [1.0, -1.0])
    def test_top_singular_vectors(self, name, y):
        problem = problem_of(name, y, kind=lp.Classification, scale=0.5)
        found = theorem("yun2021.theorem3")
        assert found.applies(problem)
        limit = found.limit(problem)
        assert limit.certificate.ok
        matrix = data_matrix(problem)
        largest = float(np.linalg.norm(matrix, 2))
        first, second = ravelled(limit.layers)
        np.testing.assert_allclose(matrix @ second, y * largest * first, rtol=0, atol=1e-12)
        np.testing.assert_allclose(matrix.T @ first, y * largest * second, rtol=0, atol=1e-12)
        assert problem.task.margins(limit.coef)[0] == pytest.approx(1.0, rel=1e-13)
        assert limit.potential == pytest.approx(1 / largest, rel=1e-12)
        assert limit.dual[0] == pytest.approx(y / largest, rel=1e-12)

    @EVERY
    @pytest.mark.parametrize("y", [1.0, -1.0])
    def test_rate(self, name, y):
        """The error along ξ, which runs alike for any loss, against its exponent.

        Where the error has fallen to between 10⁻⁶ and 10⁻⁹ parts that fall faster are small, and
        rounding is so too.
        """
        problem = next(
            problem
            for seed in range(100)
            if well_separated(problem := problem_of(name, y, seed, kind=lp.Classification))
        )
        found = theorem("yun2021.theorem3")
        assert found.applies(problem)
        limit = found.limit(problem)
        matrix, tensor = data_matrix(problem), whole(problem)
        first, second = ravelled(problem.init.direction)
        largest = float(np.linalg.norm(matrix, 2))
        margins, errors = [], []
        decades = np.linspace(6.0, 9.0, 5) / limit.rate
        for decade in decades:
            nu = y * decade * np.log(10) / (2 * largest)
            layers = yun_limits.along_theorem_6(matrix, first, second, nu)
            coef = yun_limits.contract(tensor, layers)
            margins.append(problem.task.margins(coef)[0])
            errors.append(np.linalg.norm(coef / np.linalg.norm(coef) - limit.direction))
        slope = -np.polyfit(np.log(margins), np.log(errors), 1)[0]
        # A part with exponent r' > r, equally large at first, weighs in with
        # (r' − r)·10^{−6(r' − r)/r}: at most 3 % of r.
        assert slope == pytest.approx(limit.rate, rel=0.03)

    @pytest.mark.parametrize("y", [1.0, -1.0])
    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("short", [1, 2])
    def test_corollary_4(self, y, seed, short):
        """The printed closed forms; of six samples some have either sign of xᵀ←x."""
        problem = problem_of(f"conv{short}", y, seed, kind=lp.Classification)
        x = problem.task.X[0]
        ahead, back = np.roll(x, -1), np.roll(x, 1)
        expected = y * x if short == 1 else y * (2 * x + np.sign(x @ ahead) * (ahead + back))
        limit = lp.predict(problem)
        assert limit.theorem.id == "yun2021.corollary4"
        assert limit.certificate.ok
        np.testing.assert_allclose(
            limit.direction, expected / np.linalg.norm(expected), rtol=0, atol=1e-14
        )
        other = theorem("yun2021.theorem3").limit(problem)
        np.testing.assert_allclose(other.coef, limit.coef, rtol=0, atol=1e-13)
        for mine, theirs in zip(limit.layers, other.layers, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-13)

    def test_both_signs_of_the_autocorrelation_occur(self):
        found = set()
        for seed in range(6):
            x = sample_of(NETWORKS["conv2"], seed)
            found.add(float(np.sign(x @ np.roll(x, -1))))
        assert found == {1.0, -1.0}

    def test_an_orthogonal_shift_is_refused(self):
        task = lp.Classification([[1.0, 0.0, 0.0]], [1])
        network = lp.Convolutional((2, 3))
        problem = lp.Problem(network, lp.Init.zero_last(network, task), task)
        found = theorem("yun2021.corollary4").check(problem)
        assert [c.name for c in found if not c.holds] == ["sample not orthogonal to its shift"]

    def test_ties_are_decided_by_the_start(self):
        """x = e₁: both singular values are 1, and ρ is in proportion to (p + yq)²."""
        task = lp.Classification([[1.0, 0.0, 0.0]], [-1])
        network = lp.Convolutional((2, 3))
        first, second = np.array([2.0, 1.0]), np.array([0.3, 0.2, -0.1])
        problem = lp.Problem(network, lp.Init([first, second]), task)
        limit = lp.predict(problem)
        assert limit.theorem.id == "yun2021.theorem3"
        layers = yun_limits.along_theorem_6(data_matrix(problem), first, second, -20.0)
        coef = yun_limits.contract(whole(problem), layers)
        # What never moves is e^−20 of the rest.
        np.testing.assert_allclose(
            limit.direction, coef / np.linalg.norm(coef), rtol=0, atol=10 * np.exp(-20.0)
        )
