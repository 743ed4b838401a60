"""What the experiments on Yun et al. (2021) compute for themselves."""

import numpy as np
import pytest

import limitpoint as lp
from limitpoint.papers.yun2021.classification_deep import groups_of, spread, vertex
from limitpoint.papers.yun2021.classification_directions import separable
from limitpoint.papers.yun2021.classification_plane import NAMED, proved_along
from limitpoint.papers.yun2021.dense_vanishing import LOWEST, leading_layers
from limitpoint.papers.yun2021.design import differences
from limitpoint.papers.yun2021.exponents import along_margins, exponent
from limitpoint.papers.yun2021.generic_directions import printed_products
from limitpoint.papers.yun2021.named import limit_by
from limitpoint.papers.yun2021.plane import NETWORKS, problem_of, train_together
from limitpoint.papers.yun2021.printed_theorem6 import data_matrix, printed_limit


@pytest.mark.parametrize("name", list(NETWORKS))
def test_data_matrix_is_that_of_the_network(name: str) -> None:
    rng = np.random.default_rng(0)
    task = lp.examples.yun_point()
    x = task.X[0]
    layers = [rng.standard_normal(shape) for shape in NETWORKS[name].layer_shapes(task)]
    first, second = (layer.ravel(order="F") for layer in layers)
    found = first @ data_matrix(NETWORKS[name], x) @ second
    np.testing.assert_allclose(found, x @ NETWORKS[name].coef(layers), rtol=1e-13)


def test_printed_limit_of_one_pair() -> None:
    # p = 1, q = 0, s = 1: v₁ = α cosh ν, v₂ = α sinh ν with ½ sinh 2ν = y/α².
    task = lp.Regression([[1.0]], [2.0])
    problem = lp.Problem(lp.Diagonal(depth=2), lp.Init([[1.0], [0.0]], scale=0.5), task)
    first, second = printed_limit(problem)
    nu = 0.5 * np.arcsinh(2 * 2.0 / 0.25)
    np.testing.assert_allclose([first[0], second[0]], [0.5 * np.cosh(nu), 0.5 * np.sinh(nu)])


def test_runs_together_are_runs_alone() -> None:
    task = lp.examples.yun_two_points()
    problems = [problem_of("diagonal", np.array(z), 0.5, task) for z in ([1.0, 0.0], [0.0, -1.0])]
    layers = train_together(problems, 1e-2, np.array([0, 10, 50]))
    for i, problem in enumerate(problems):
        alone = lp.train(problem, lp.GD(1e-2), steps=50, record=[10])
        for together, expected in zip(layers, alone.layers, strict=True):
            np.testing.assert_allclose(together[i], expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", list(NETWORKS))
def test_directions_of_two_points_are_proved(name: str) -> None:
    problem = problem_of(name, np.array([0.6, -0.8]), 0.5, lp.examples.yun_two_points())
    assert proved_along(problem, NAMED[name])
    a, b = NAMED[name]
    assert not proved_along(problem, (-a, -b))
    assert not proved_along(problem, (a + 1, b))


def test_exponent_of_a_power() -> None:
    margins = np.geomspace(1.0, 1e6, 40)
    sizes = np.where(margins < 1e3, 7.0, 3.0 * margins**-0.4)
    assert exponent(margins, sizes, 1e3) == pytest.approx(0.4, abs=1e-12)
    assert exponent(margins, sizes, 0.0, 1e2) == pytest.approx(0.0, abs=1e-12)


def test_directions_are_interpolated_in_logarithms() -> None:
    directions = np.array([[1.0, 0.0], [0.6, 0.8]])
    margins = np.array([[1.0, 2.0], [100.0, 300.0]])
    run = lp.results.Trajectory.build(
        kind="made up",
        status=lp.Status.SEPARATED,
        times=np.array([0.0, 1.0]),
        coefs=directions,
        losses=np.zeros(2),
        relative_residual=0.0,
        margins=margins,
    )
    np.testing.assert_allclose(along_margins(run, np.array([10.0]))[0], [0.8, 0.4], rtol=1e-14)


def test_printed_products_meet_the_kkt_conditions() -> None:
    rng = np.random.default_rng(0)
    data, y, eta = rng.standard_normal((2, 4)), rng.standard_normal(2), rng.uniform(0.5, 1, 4)
    rho = printed_products(data, y, eta, 0.7)
    np.testing.assert_allclose(data @ rho, y, rtol=1e-12)
    # With tan t·(1 + tan² t) = x solved for tan t, the gradient is t/(α|η̄|), in the row space.
    size = 0.7 * eta
    tangents = np.array([np.roots([1, 0, 1, -x]) for x in rho / size**3])
    real = tangents[np.abs(tangents.imag) < 1e-9].real
    gradient = np.arctan(real) / size
    outside = gradient - np.linalg.pinv(data) @ (data @ gradient)
    assert np.abs(outside).max() < 1e-12


@pytest.mark.parametrize(
    "network",
    [lp.Diagonal(depth=3), lp.Convolutional((5, 5, 5)), lp.analysis.design(differences(5), 3)],
)
def test_groups_have_the_norm_of_the_bias(network: lp.Diagonal) -> None:
    task = separable()
    problem = lp.Problem(network, lp.Init.random(network, task, seed=0), task)
    beta = np.random.default_rng(1).standard_normal(5)
    sizes = [np.linalg.norm(group @ beta) for group in groups_of(problem)]
    if isinstance(network, lp.Convolutional):
        expected = np.abs(np.fft.fft(beta, norm="ortho"))[:3]
    elif isinstance(network, lp.OrthogonalTensor):
        expected = np.abs(differences(5) @ beta)
    else:
        expected = np.abs(beta)
    np.testing.assert_allclose(sizes, expected, rtol=1e-12, atol=1e-14)


def test_vertex_and_spread_of_two_points() -> None:
    # One support vector, (1, 2), and one active coordinate, the second.
    task = lp.examples.yun_two_points()
    network = lp.Diagonal(depth=3)
    problem = lp.Problem(network, lp.Init.zero_last(network, task), task)
    point = vertex(problem, np.array([1e-4, 1.0]), near=1e-2)
    np.testing.assert_allclose(point, [0.0, 1.0], atol=1e-15)
    assert spread(problem, np.array([0.1, 5.0]), np.array([10.0, 15.0]), point) == 0.0
    with pytest.raises(RuntimeError, match="no vertex"):
        vertex(problem, np.array([1.0, 2.0]), near=1e-2)


def test_starts_meet_the_conditions_of_theorem_7() -> None:
    *matrices, last = leading_layers(np.random.default_rng(0), 4)
    for one in matrices:
        np.testing.assert_allclose(one.T @ one, np.eye(4), atol=1e-14)
    gap = matrices[-1].T @ matrices[-1] - np.outer(last, last)
    assert np.linalg.eigvalsh(gap)[0] == pytest.approx(LOWEST, abs=1e-14)


def test_named_theorem_must_apply() -> None:
    task = lp.examples.yun_point()
    network = lp.Diagonal(depth=2)
    problem = lp.Problem(network, lp.Init.zero_last(network, task), task)
    assert limit_by("yun2021.corollary5", problem).theorem.id == "yun2021.corollary5"
    with pytest.raises(RuntimeError, match="does not apply"):
        limit_by("yun2021.theorem7", problem)
