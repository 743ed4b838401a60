"""Classification attacked: ties that only rounding breaks, extreme scales, slow passages."""

import pickle
import warnings

import numpy as np
import pytest

import limitpoint as lp

TWO_POINTS = lp.Classification([[1.0, 2.0], [0.0, -3.0]], [1, -1])
NETWORKS = {
    "diagonal": lp.Diagonal(depth=2),
    "convolutional": lp.Convolutional((2, 2)),
    "dense": lp.FullyConnected(widths=(2,)),
    "tensor": lp.OrthogonalTensor(np.diag([1.0, 2.0]), [np.eye(2), np.eye(2)]),
}


def zero_last(network, task=TWO_POINTS, scale=1.0):
    return lp.Problem(network, lp.Init.zero_last(network, task, scale), task)


def condition(problem, theorem, name):
    found = {t.id: c for t, c in lp.explain(problem).rows}[theorem]
    return next(one for one in found if one.name == name)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_direction_can_be_pickled(name):
    limit = lp.predict(zero_last(NETWORKS[name]))
    again = pickle.loads(pickle.dumps(limit))
    np.testing.assert_array_equal(again.direction, limit.direction)
    assert again.theorem.id == limit.theorem.id


# ---------------------------------------------------------------- ties that only rounding breaks


def test_filters_whose_transforms_tie_up_to_rounding():
    """0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1 in float64, but the mean of both filters is one."""
    task = lp.Classification([[1.0, 1.0, 1.0], [1.0, 0.9, 1.1]], [1, 1])
    filters = [np.array([0.1, 0.2, 0.3]), -np.array([0.3, 0.2, 0.1])]
    problem = lp.Problem(lp.Convolutional((3, 3)), lp.Init(filters, 1.0), task)
    name = "one layer strictly smallest in each coordinate"
    assert not condition(problem, "yun2021.corollary3", name).holds


def test_tensor_layers_that_tie_up_to_rounding():
    rng = np.random.default_rng(0)
    U = [np.linalg.qr(rng.standard_normal((3, 3)))[0] for _ in range(2)]
    eta = np.array([0.1, 0.2, 0.3])
    task = lp.Classification([[1.0, 1.0, 1.0], [1.0, 0.9, 1.1]], [1, 1])
    network = lp.OrthogonalTensor(np.eye(3), U)
    problem = lp.Problem(network, lp.Init([U[0] @ eta, -U[1] @ eta], 1.0), task)
    name = "one layer strictly smallest in each coordinate"
    assert not condition(problem, "yun2021.theorem2", name).holds


def test_a_sample_orthogonal_to_its_shift_up_to_rounding():
    """(a + c)(b + d) with a = 0.1 + 0.2 and c = −0.3: the sign of 5e-17 must not decide."""
    x = np.array([0.1 + 0.2, 1.3, -0.3, -0.4])
    assert x @ np.roll(x, -1) != 0
    start = lp.Init([[1.0, 0.5], [0.1, 0.05, 0.02, -0.05]], 1.0)
    problem = lp.Problem(lp.Convolutional((2, 4)), start, lp.Classification([x], [1]))
    limit = lp.predict(problem)
    assert limit.theorem.id == "yun2021.theorem3"
    run = lp.flow(problem)
    # Off by a multiple of margin^−1/2, 1e-3; the closed form of Corollary 4 is off by 0.07.
    assert np.linalg.norm(run.directions[-1] - limit.direction) < 5e-3


@pytest.mark.parametrize(
    ("network", "layers", "x"),
    [
        (lp.Diagonal(depth=2), [[1.0, 2.0], [0.1, 0.2]], [1.0, 1.0]),
        (lp.Convolutional((2, 2)), [[1.0, 0.5], [0.1, 0.2]], [1.0, 0.0]),
    ],
    ids=["diagonal", "convolutional"],
)
def test_one_sample_that_ties_is_decided_by_the_start(network, layers, x):
    """Theorem 3 knows the direction where Corollaries 2 and 3 leave a face."""
    problem = lp.Problem(network, lp.Init(layers, 1.0), lp.Classification([x], [1]))
    assert condition(
        problem, "yun2021.theorem3", "first layer larger along every singular vector, p² > q²"
    ).holds
    limit = lp.predict(problem)
    assert limit.status is lp.Status.CONVERGED
    run = lp.flow(problem)
    assert np.linalg.norm(run.directions[-1] - limit.direction) < 1e-2


# ---------------------------------------------------------------- extreme scales


@pytest.mark.parametrize(("depth", "scale"), [(2, 1e6), (2, 1e8), (2, 1e30), (3, 1e4), (3, 1e15)])
def test_large_starts_are_followed(depth, scale):
    run = lp.flow(zero_last(lp.Diagonal(depth), scale=scale))
    assert run.status is lp.Status.SEPARATED


def test_a_loss_beyond_float64_warns_of_nothing():
    network = lp.Diagonal(depth=2)
    init = lp.Init.random(network, TWO_POINTS, 100.0, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = lp.flow(lp.Problem(network, init, TWO_POINTS), margin=100.0)
    assert run.status is lp.Status.SEPARATED
    assert np.isinf(run.losses[0])
    assert np.isfinite(run.log_losses).all()


@pytest.mark.parametrize("network", [lp.Diagonal(depth=2), lp.FullyConnected(widths=(2,))])
def test_a_start_far_on_the_wrong_side_is_followed(network):
    """Its mirror coordinate is stiff from the first step.

    The log loss falls by 1e8 in one unit of time.
    """
    run = lp.flow(on_the_wrong_side(network, 1e4))
    assert run.margins[0].min() < -1e7
    assert run.status is lp.Status.SEPARATED


@pytest.mark.parametrize("network", [lp.Diagonal(depth=2), lp.FullyConnected(widths=(2,))])
def test_a_start_too_far_on_the_wrong_side_is_refused(network):
    """Float64 rounds its margins by more than one."""
    with pytest.raises(lp.errors.ScaleNotRepresentable, match="rounds margins too coarsely"):
        lp.flow(on_the_wrong_side(network, 1e8))


def on_the_wrong_side(network, scale):
    init = lp.Init.random(network, TWO_POINTS, scale, seed=1)
    problem = lp.Problem(network, init, TWO_POINTS)
    if task_margin(problem) < 0:
        return problem
    init = lp.Init([*init.direction[:-1], -init.direction[-1]], scale)
    return lp.Problem(network, init, TWO_POINTS)


def task_margin(problem):
    coef = problem.network.coef(problem.init.layers)
    return float(problem.classification.margins(coef).min())


# ---------------------------------------------------------------- slow passages, bad input


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-3, 1.0])
def test_a_flow_that_still_leaves_another_vertex_is_no_failure(scale):
    """At margin 1e8 this flow is near a vertex of the ℓ1 problem that it leaves as a power."""
    rng = np.random.default_rng(1003)
    m = rng.integers(2, 6)
    n = rng.integers(m, 8)
    X, y = rng.standard_normal((m, n)), np.sign(rng.standard_normal(m))
    verdict = lp.verify(zero_last(lp.Diagonal(depth=2), lp.Classification(X, y), scale))
    assert verdict.limit.certificate.ok
    assert verdict.passed


def test_a_share_above_one_is_refused():
    problem = zero_last(lp.Diagonal(depth=3))
    with pytest.raises(lp.errors.DataError, match="active must be at most 1"):
        lp.analysis.stationarity(problem, [0.0, 1.0], active=2.0)
