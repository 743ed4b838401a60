"""`predict` for general two-layer networks against a brute-force flow of their parameters."""

import jax.numpy as jnp
import numpy as np
import pytest
from tests.oracles.brute.flow import general, limit
from tests.oracles.many_digits.general_series import Block, variables
from tests.oracles.many_digits.general_series import limit as exact_limit
from tests.refusals import no_theorem

import limitpoint as lp

# Each k is compiled, and tabulated at many scales.
pytestmark = pytest.mark.slow

CERTIFIED = 1e-9
# Of the distance to the end of the flow, relative to ‖β‖.
AGREED = 1e-7
PROBLEMS = 12


def squares(block):
    p, q = block
    return p**2 - q**2 / 2


def cubic(block):
    p, q = block
    return p**2 - q**2 + 0.3 * p**2 * q


def transcendental(block):
    p, q = block
    return p * jnp.tanh(p) - jnp.expm1(q) ** 2


# The same in NumPy, with gradients: what the flow integrates.
def squares_np(z):
    p, q = z.T
    return p**2 - q**2 / 2, np.stack([2 * p, -q], axis=1)


def cubic_np(z):
    p, q = z.T
    value = p**2 - q**2 + 0.3 * p**2 * q
    return value, np.stack([2 * p + 0.6 * p * q, -2 * q + 0.3 * p**2], axis=1)


def transcendental_np(z):
    p, q = z.T
    t, e = np.tanh(p), np.expm1(q)
    return p * t - e**2, np.stack([t + p * (1 - t**2), -2 * e * np.exp(q)], axis=1)


MODELS = {
    "squares": (squares, squares_np),
    "cubic": (cubic, cubic_np),
    "transcendental": (transcendental, transcendental_np),
}


def random_problem(rng):
    m = int(rng.integers(1, 7))
    n = int(rng.integers(m + 1, 16))
    X = rng.standard_normal((m, n))
    truth = 0.5 * rng.standard_normal(n) * (rng.random(n) < rng.choice([0.3, 1.0]))
    truth[0] = 0.5
    blocks = rng.standard_normal((n, 2))
    blocks[:, 1] = np.abs(blocks[:, 1])  # with q > 0 no k is bounded below
    return X, X @ truth, blocks, 10 ** rng.uniform(-3, 0)


@pytest.mark.parametrize("name", MODELS)
def test_the_flow_ends_at_the_predicted_limit(name):
    k, with_gradient = MODELS[name]
    network = lp.General(k, block_size=2)
    rng = np.random.default_rng(7)
    for _ in range(PROBLEMS // 3):
        X, y, blocks, scale = random_problem(rng)
        problem = lp.Problem(network, lp.Init([blocks], scale), lp.Regression(X, y))
        found = lp.predict(problem)
        assert found.certificate.worst <= CERTIFIED
        assert found.status is lp.Status.CONVERGED
        end = limit(general(with_gradient), X, y, [scale * blocks])
        assert np.linalg.norm(found.coef - end) <= AGREED * np.linalg.norm(end)


def test_mixed_functions_and_one_for_each_coefficient():
    rng = np.random.default_rng(3)
    X, y, blocks, _ = random_problem(rng)
    names = [list(MODELS)[i % 3] for i in range(X.shape[1])]
    network = lp.General([MODELS[name][0] for name in names], block_size=2)
    problem = lp.Problem(network, lp.Init([blocks], 0.05), lp.Regression(X, y))
    found = lp.predict(problem)
    assert found.certificate.ok

    def each(z):
        values, gradients = zip(
            *(MODELS[name][1](row[None]) for name, row in zip(names, z, strict=True)), strict=True
        )
        return np.concatenate(values), np.concatenate(gradients)

    end = limit(general(each), X, y, [0.05 * blocks])
    assert np.linalg.norm(found.coef - end) <= AGREED * np.linalg.norm(end)


def test_a_bounded_side_that_is_needed_has_no_theorem():
    """zhao's own feature is bounded below by −1 where b starts negative (an erratum)."""
    network = lp.General(transcendental, block_size=2)
    task = lp.Regression([[1.0]], [-2.0])
    problem = lp.Problem(network, lp.Init([[[0.5, -0.5]]], 1e-3), task)
    with no_theorem("bounded"):
        lp.predict(problem)
    run = lp.flow(problem)
    assert run.status is lp.Status.LEAST_SQUARES
    # k + 1 falls like 1/t: the flow stops when the fit is within 1e-10 of the bound.
    assert run.coef[0] == pytest.approx(-1.0, abs=1e-9)


def test_a_bounded_side_that_is_not_needed():
    network = lp.General(transcendental, block_size=2)
    task = lp.Regression([[1.0]], [-0.5])
    problem = lp.Problem(network, lp.Init([[[0.5, -0.5]]], 1e-3), task)
    found = lp.predict(problem)
    assert found.theorem.id == "limitpoint.sign_constrained"
    assert found.certificate.ok
    assert found.coef[0] == pytest.approx(-0.5, rel=1e-12)


def test_scale_zero_and_the_bound():
    network = lp.General(transcendental, block_size=2)
    init = lp.Init([[[0.5, -0.5], [0.5, 0.5]]], 0.0)
    times = lp.analysis.activation_times(network, init)
    np.testing.assert_allclose(times.lower, [-1.0, -np.inf], rtol=1e-9)
    np.testing.assert_allclose([times.t_plus, times.t_minus], 0.5, rtol=1e-12)
    # The bound keeps the first coefficient from doing it alone.
    problem = lp.Problem(network, init, lp.Regression([[1.0, 0.5]], [-2.0]))
    found = lp.predict(problem)
    assert found.theorem.id == "limitpoint.sign_constrained_at_zero"
    np.testing.assert_allclose(found.coef, [-1.0, -2.0], rtol=1e-9)


def test_infinite_scale_is_not_covered():
    network = lp.General(squares, block_size=2)
    problem = lp.Problem(network, lp.Init([[[1.0, 1.0]]], np.inf), lp.Regression([[1.0]], [1.0]))
    with no_theorem("homogeneous"):
        lp.predict(problem)


class TestPath:
    """Limits along the scale: tables of several scales are made together."""

    @pytest.mark.parametrize("name", MODELS)
    def test_equal_to_single_predictions_from_fewer_steps(self, name):
        network = lp.General(MODELS[name][0], block_size=2)
        X, y, blocks, _ = random_problem(np.random.default_rng(11))
        # Tables of the one that cannot be shared cost seconds a scale, and save few steps.
        short = name == "transcendental"
        scales = np.geomspace(1e-3, 1e-1, 9) if short else np.geomspace(1e-5, 1e-1, 17)
        problem = lp.Problem(network, lp.Init([blocks], 1.0), lp.Regression(X, y))
        path = lp.predict_path(problem, scales)
        assert path.certified
        singles = [
            lp.predict(lp.Problem(network, problem.init.at_scale(scale), problem.task))
            for scale in scales[::4]
        ]
        for limit_, single in zip(path.limits[::4], singles, strict=True):
            assert limit_.theorem is single.theorem
            # Each to what its certificate allows.
            apart = np.linalg.norm(limit_.coef - single.coef)
            assert apart <= 2 * CERTIFIED * np.linalg.norm(single.coef)
        # Scales are a factor 1.8 apart: extrapolation saves most of the way to each.
        alone = np.mean([single.iterations for single in singles])
        assert path.iterations < len(scales) * alone / (1 if short else 2)

    def test_bounds_that_depend_on_the_scale(self):
        """`a² − a⁴/4` is at most 1, at √2: from below it stays in (0, 1), from above in (−∞, 1)."""
        network = lp.General(lambda z: z[0] ** 2 - z[0] ** 4 / 4, block_size=1)

        def at(scale, y):
            return lp.Problem(network, lp.Init([[[1.0]]], scale), lp.Regression([[1.0]], [y]))

        path = lp.predict_path(at(1.0, 0.5), [2.0, 0.5, 0.3])
        assert path.certified
        np.testing.assert_allclose(path.coefs, 0.5, rtol=1e-12)
        # Out of reach from below: as in a single prediction, no theorem says where that ends.
        assert lp.predict(at(2.0, -1.0)).coef[0] == pytest.approx(-1.0, rel=1e-12)
        with no_theorem():
            lp.predict(at(0.5, -1.0))
        with no_theorem():
            lp.predict_path(at(1.0, -1.0), [2.0, 0.5])


def test_an_interior_limit_is_not_taken_for_a_bound():
    """`ab + (ab)²` is at least −¼, where mirror coordinates end.

    An overflowing mirror coordinate is never the dual's.
    """
    x, y = variables(2)
    k = x * y + (x * y) ** 2
    block = Block(k, ((1, 0), (0, 1)))
    network = lp.General(lambda z: k(z, jnp), block_size=2)
    blocks = np.array([[0.92, 0.87], [-0.06, -2.1], [-0.78, 0.33]])
    for scale, row, target in (
        (0.385, [-1.45, 0.076, 0.79], 0.7),
        (0.385, [-1.45, 0.076, 0.79], -0.4),
        (0.05, [-1.45, 0.5, 0.79], 0.7),
    ):
        problem = lp.Problem(network, lp.Init([blocks], scale), lp.Regression([row], [target]))
        found = lp.predict(problem)
        assert found.certificate.ok
        starts = [block.start(one, scale) for one in blocks]
        exact = exact_limit([block] * 3, starts, [row], [target], digits=24)
        np.testing.assert_allclose(found.coef, exact, rtol=0, atol=CERTIFIED)
