"""The initialisation: constructors, scales, immutability."""

import dataclasses
import math

import numpy as np
import pytest

import limitpoint as lp
from limitpoint.errors import InitError, ScaleNotRepresentable

NETWORK = lp.Diagonal(depth=2)
TASK = lp.Regression(np.eye(2, 3), [1.0, 2.0])


def test_scale_is_one_by_default():
    init = lp.Init([[1.0, 2.0], [3.0, 4.0]])
    assert (init.scale, init.log_scale) == (1.0, 0.0)
    assert [layer.tolist() for layer in init.layers] == [[1.0, 2.0], [3.0, 4.0]]


def test_layers_are_scale_times_direction():
    init = lp.Init([[1.0, -2.0], [0.0, 0.5]], scale=0.25)
    assert [layer.tolist() for layer in init.layers] == [[0.25, -0.5], [0.0, 0.125]]


@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1.0, 7.5, 1e150])
def test_scale_and_its_logarithm_agree(scale):
    by_scale = lp.Init([[1.0], [0.0]], scale)
    assert by_scale.log_scale == math.log(scale)
    by_log = lp.Init([[1.0], [0.0]], log_scale=math.log(scale))
    # An error of eps in the logarithm is one of eps·|log| in the scale.
    assert by_log.scale == pytest.approx(scale, rel=1e-15 * (1 + abs(math.log(scale))))
    assert by_log.is_finite
    assert by_scale.is_finite


@pytest.mark.parametrize(
    ("given", "scale", "log_scale"),
    [
        ({"scale": 0}, 0.0, -math.inf),
        ({"scale": math.inf}, math.inf, math.inf),
        ({"log_scale": -math.inf}, 0.0, -math.inf),
        ({"log_scale": math.inf}, math.inf, math.inf),
    ],
)
def test_the_two_limits(given, scale, log_scale):
    init = lp.Init([[1.0], [0.0]], **given)
    assert (init.scale, init.log_scale, init.is_finite) == (scale, log_scale, False)
    with pytest.raises(ScaleNotRepresentable, match="cannot be held in float64"):
        init.layers  # noqa: B018


@pytest.mark.parametrize("log_scale", [-2302.6, 2302.6])
def test_scales_that_float64_cannot_hold(log_scale):
    init = lp.Init([[1.0], [0.0]], log_scale=log_scale)
    assert init.is_finite
    assert init.log_scale == log_scale
    assert init.scale == (0.0 if log_scale < 0 else math.inf)
    with pytest.raises(ScaleNotRepresentable, match=rf"log_scale={log_scale}"):
        init.layers  # noqa: B018


def test_zeros_of_the_direction_are_zero_at_any_scale():
    assert lp.Init([[1.0], [0.0]], 1e-300).layers[1].tolist() == [0.0]
    with pytest.raises(ScaleNotRepresentable, match="cannot be held"):
        lp.Init([[1.0, 1e-20], [0.0, 0.0]], 1e-300).layers  # noqa: B018


def test_random_is_the_seed_and_nothing_else():
    first, second = (lp.Init.random(NETWORK, TASK, 0.1, seed=3) for _ in range(2))
    other = lp.Init.random(NETWORK, TASK, 0.1, seed=4)
    for one, two, three in zip(first.direction, second.direction, other.direction, strict=True):
        assert one.shape == (3,)
        np.testing.assert_array_equal(one, two)
        assert not np.array_equal(one, three)


def test_the_direction_does_not_depend_on_the_scale():
    small = lp.Init.random(NETWORK, TASK, log_scale=-2302.6, seed=3)
    large = lp.Init.random(NETWORK, TASK, 10.0, seed=3)
    np.testing.assert_array_equal(small.direction, large.direction)


def test_random_is_standard_normal():
    task = lp.Regression(np.ones((1, 4000)), [1.0])
    drawn = np.concatenate(lp.Init.random(NETWORK, task, 1.0, seed=0).direction)
    # Five standard errors of the mean and of the variance.
    assert abs(drawn.mean()) < 5 / math.sqrt(drawn.size)
    assert abs(drawn.var() - 1) < 5 * math.sqrt(2 / drawn.size)


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_zero_last(depth):
    network = lp.Diagonal(depth=depth)
    init = lp.Init.zero_last(network, TASK, 0.5)
    *others, last = init.layers
    assert len(others) == depth - 1
    assert all(layer.tolist() == [0.5] * 3 for layer in others)
    assert last.tolist() == [0.0] * 3
    assert network.coef(init.layers).tolist() == [0.0] * 3


def test_zero_last_with_a_direction():
    init = lp.Init.zero_last(NETWORK, TASK, log_scale=0.0, direction=[1, 2, 3])
    assert init.direction[0].tolist() == [1.0, 2.0, 3.0]


def test_from_layers():
    init = lp.Init.from_layers([[0.5], [2.0]])
    assert init.scale == 1.0
    assert [layer.tolist() for layer in init.layers] == [[0.5], [2.0]]


def test_an_init_cannot_be_changed():
    init = lp.Init([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign"):
        init.scale = 2.0
    with pytest.raises(ValueError, match="read-only"):
        init.direction[0][0] = 5.0


def test_the_direction_is_copied():
    mine = np.array([1.0, 2.0])
    init = lp.Init([mine, mine])
    mine[0] = 99.0
    assert init.direction[0].tolist() == [1.0, 2.0]


def test_a_problem_checks_that_its_parts_fit():
    with pytest.raises(InitError, match=r"Diagonal\(depth=2\) on 3 features needs"):
        lp.Problem(NETWORK, lp.Init([[1.0], [1.0]]), TASK)
    problem = lp.Problem(NETWORK, lp.Init.zero_last(NETWORK, TASK, 0.1), TASK)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign"):
        problem.task = TASK


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"scale": 0.1}, "scale=0.1"),
        ({"scale": 0}, "scale=0"),
        ({"scale": math.inf}, "scale=inf"),
        ({"log_scale": -2302.6}, "log_scale=-2302.6"),
    ],
)
def test_a_problem_prints_its_scale(given, shown):
    problem = lp.Problem(NETWORK, lp.Init.zero_last(NETWORK, TASK, **given), TASK)
    assert repr(problem) == f"Problem(Diagonal(depth=2), {shown}, 2 samples × 3 features)"


# ---------------------------------------------------------------- starts of other networks


@pytest.mark.parametrize("network", [lp.SignedPower(2), lp.SignedPower(3), lp.Paired()], ids=repr)
@pytest.mark.parametrize("direction", [None, [1.0, -2.0, 0.3]], ids=["ones", "weighted"])
def test_unbiased_layers_are_equal_and_cancel(network, direction):
    init = lp.Init.unbiased(network, TASK, 0.5, direction=direction)
    expected = [0.5] * 3 if direction is None else [0.5, -1.0, 0.15]
    assert len(init.layers) == len(network.layer_shapes(TASK))
    for layer in init.layers:
        assert layer.tolist() == expected
    assert network.coef(init.layers).tolist() == [0.0] * 3


@pytest.mark.parametrize("shape", [0.0, 0.5, -0.9, [0.2, -0.3, 0.999]], ids=str)
@pytest.mark.parametrize("scale", [1e-3, 2.0])
def test_shaped_pairs_have_their_scale_and_shape(shape, scale):
    init = lp.Init.shaped(lp.Paired(), TASK, scale, shape=shape)
    u_plus, v_plus, u_minus, v_minus = init.layers
    np.testing.assert_array_equal(u_plus, u_minus)
    np.testing.assert_array_equal(v_plus, v_minus)
    np.testing.assert_allclose(u_plus * v_plus, scale**2, rtol=1e-14)
    # 1 − shape, of which the larger layer is made, is rounded once more.
    np.testing.assert_allclose(
        (u_plus - v_plus) / (u_plus + v_plus), np.ones(3) * shape, atol=1e-14
    )
    assert lp.Paired().coef(init.layers).tolist() == [0.0] * 3


def test_shape_zero_is_unbiased():
    shaped = lp.Init.shaped(lp.Paired(), TASK, log_scale=-2302.6, shape=0)
    equal = lp.Init.unbiased(lp.Paired(), TASK, log_scale=-2302.6)
    np.testing.assert_array_equal(shaped.direction, equal.direction)
    assert shaped.log_scale == equal.log_scale


def test_the_sum_of_squares_of_shaped_layers():
    """From `uv = scale²` and the shape s: `u² + v² = 2 scale² (1 + s²)/(1 − s²)`.

    This is the width of the entropy at its start (β = (u² + v²) sinh 2ξ).
    """
    u, v, _, _ = lp.Init.shaped(lp.Paired(), TASK, 0.3, shape=0.6).layers
    np.testing.assert_allclose(u**2 + v**2, 2 * 0.09 * (1 + 0.36) / (1 - 0.36), rtol=1e-14)


@pytest.mark.parametrize(
    ("network", "instead"),
    [
        (lp.SignedPower(3), "Init.unbiased"),
        (lp.Paired(), "Init.unbiased"),
        (lp.Power(3), "Init.random"),
    ],
    ids=repr,
)
def test_zero_last_is_refused_where_coefficients_would_not_start_at_zero(network, instead):
    with pytest.raises(
        InitError,
        match=rf"zero_last does not make .*{network.__class__.__name__}.*"
        rf"start at zero.*use {instead}",
    ):
        lp.Init.zero_last(network, TASK, 0.1)


@pytest.mark.parametrize(
    ("network", "instead"),
    [
        (lp.Diagonal(2), "Init.zero_last"),
        (lp.Diagonal(4), "Init.zero_last"),
        (lp.Power(2), "Init.random"),
    ],
    ids=repr,
)
def test_unbiased_and_shaped_are_refused_for_other_networks(network, instead):
    with pytest.raises(InitError, match=rf"unbiased does not make .*use {instead}"):
        lp.Init.unbiased(network, TASK, 0.1)
    with pytest.raises(InitError, match=rf"shaped needs a network of pairs.*use {instead}"):
        lp.Init.shaped(network, TASK, 0.1, shape=0.5)


def test_starts_by_name_are_refused_for_a_network_of_functions():
    """It has one layer: nothing that could be equal to another, or be the last."""
    network = lp.General(lambda block: block[0] - block[1], block_size=2)
    for start in (
        lp.Init.zero_last,
        lp.Init.unbiased,
        lambda *given: lp.Init.shaped(*given, shape=0.5),
    ):
        with pytest.raises(InitError, match=r"General\(.*use Init\.random"):
            start(network, TASK, 0.1)


def test_shaped_is_refused_for_powers():
    with pytest.raises(
        InitError, match=r"shaped needs .*Paired\(\); for SignedPower.*Init.unbiased"
    ):
        lp.Init.shaped(lp.SignedPower(3), TASK, 0.1, shape=0.5)


# ---------------------------------------------------------------- zero_last with units of its own


def test_zero_last_of_convolutions_is_an_impulse():
    """Even and with a flat spectrum, also in filters of different lengths."""
    task = lp.Regression(np.ones((1, 4)), [1.0])
    init = lp.Init.zero_last(lp.Convolutional((2, 4, 4)), task, 0.5)
    assert [layer.tolist() for layer in init.layers] == [[0.5, 0], [0.5, 0, 0, 0], [0] * 4]
    init = lp.Init.zero_last(lp.Convolutional((4, 4)), task, direction=[1, 2, 3, 2])
    assert init.direction[0].tolist() == [1.0, 2.0, 3.0, 2.0]
    with pytest.raises(InitError, match="zero_last needs a network whose layers all have one"):
        lp.Init.zero_last(lp.Convolutional((2, 4)), task, direction=[1, 2])


def test_zero_last_of_matrix_products_is_the_identity():
    task = lp.MatrixSensing(np.ones((1, 2, 2)), [1.0])
    init = lp.Init.zero_last(lp.MatrixProduct(3), task, 0.5)
    assert [layer.tolist() for layer in init.layers] == [
        [[0.5, 0.0], [0.0, 0.5]],
        [[0.5, 0.0], [0.0, 0.5]],
        [[0.0, 0.0], [0.0, 0.0]],
    ]
    given = [[1.0, 2.0], [2.0, 1.0]]
    assert (
        lp.Init.zero_last(lp.MatrixProduct(2), task, direction=given).direction[0].tolist() == given
    )


def test_zero_last_of_dense_networks_is_the_identity():
    init = lp.Init.zero_last(lp.FullyConnected((2, 4)), TASK, 0.5)
    assert [layer.tolist() for layer in init.direction] == [
        np.eye(3, 2).tolist(),
        np.eye(2, 4).tolist(),
        [0.0] * 4,
    ]
    with pytest.raises(InitError, match=r"zero_last takes no direction for FullyConnected"):
        lp.Init.zero_last(lp.FullyConnected((3,)), TASK, direction=[1.0, 2.0, 3.0])


def test_zero_last_of_orthogonal_tensors_is_their_common_coordinate():
    rng = np.random.default_rng(0)
    U = [np.linalg.qr(rng.standard_normal((size, 2)))[0] for size in (2, 3, 4)]
    network = lp.OrthogonalTensor(rng.standard_normal((2, 3)), U)
    for given, eta in ((None, [1.0, 1.0]), ([2.0, -1.0], [2.0, -1.0])):
        init = lp.Init.zero_last(network, TASK, direction=given)
        inner = network.diagonal_layers(init.direction)
        np.testing.assert_allclose(inner[:-1], [eta, eta], rtol=0, atol=1e-15 * 10)
        assert not init.direction[-1].any()
    with pytest.raises(InitError, match="one entry for every row of S, 2"):
        lp.Init.zero_last(network, TASK, direction=[1.0, 2.0, 3.0])
