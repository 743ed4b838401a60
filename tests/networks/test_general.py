"""The general network: its input, its conditions, and its chart against its table."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import limitpoint as lp
from limitpoint.errors import NetworkError
from limitpoint.networks.general.general_network import General


def polynomial(z):
    return 2 * z[0] * z[1] + (z @ z) * z[2]


def tanh_exp(z):
    return z[0] * jnp.tanh(z[0]) - (jnp.exp(z[1]) - 1) ** 2


def double_well(z):
    return z[0] ** 2 / 2 - z[0] ** 4 / 4 - z[1] ** 2


ZHAO = (polynomial, polynomial, tanh_exp, tanh_exp)
TASK = lp.Regression(np.arange(8.0).reshape(2, 4), [1.0, 2.0])


def zhao_init(log_scale, third=0.3, fourth=-0.3):
    blocks = np.random.default_rng(0).uniform(-1, 1, (4, 3))
    blocks[2, 1], blocks[3, 1] = third, fourth
    return lp.Init([blocks], log_scale=log_scale)


def test_coefficients_of_mixed_functions():
    network = General(ZHAO, block_size=3)
    blocks = np.random.default_rng(1).standard_normal((5, 4, 3))
    a, b, c = np.moveaxis(blocks, -1, 0)
    first = 2 * a * b + (a**2 + b**2 + c**2) * c
    second = a * np.tanh(a) - np.expm1(b) ** 2
    expected = np.concatenate([first[:, :2], second[:, 2:]], axis=1)
    np.testing.assert_allclose(network.coef([blocks]), expected, rtol=1e-12)
    with jax.enable_x64(True):
        traced = jax.jit(lambda x: network.coef([x]))(jnp.asarray(blocks))
    np.testing.assert_allclose(np.asarray(traced), expected, rtol=1e-12)


def test_shape_and_invariants():
    network = General(polynomial, block_size=3)
    assert network.layer_shapes(TASK) == ((4, 3),)
    assert network.degree == 2
    assert network.invariants([np.ones((4, 3))]).shape[0] == 0
    assert network == General(polynomial, block_size=3)
    assert hash(network) == hash(General(polynomial, block_size=3))


@pytest.mark.parametrize(
    ("k", "size", "message"),
    [
        (3.0, 2, "k must be a function of one block"),
        ([], 2, "it is empty"),
        ([polynomial, 1], 3, r"k\[1\] must be a function"),
        (lambda z: z[0] + 1, 2, "k must be 0 at 0; it is 1"),
        (lambda z: z[0] / z[1], 2, "k must be 0 at 0; it is nan"),
        (lambda z: z, 2, r"must return one number.*\(2,\)"),
        (lambda z, w: z[0], 2, "must take one block.*TypeError"),
        (lambda z: np.sin(float(z[0])) * z[7, 1], 2, "must take one block"),
        (polynomial, 0, "block_size must be a whole number"),
        (polynomial, 2.0, "block_size must be a whole number"),
    ],
)
def test_bad_input(k, size, message):
    with pytest.raises(NetworkError, match=message):
        General(k, block_size=size)


def test_wrong_number_of_functions_and_outputs():
    with pytest.raises(NetworkError, match="holds 2 and the data have 4"):
        General((polynomial, polynomial), block_size=3).layer_shapes(TASK)
    with pytest.raises(NetworkError, match="one output"):
        General(polynomial, block_size=3).layer_shapes(lp.Regression(np.eye(2), np.eye(2)))


def test_zero_must_be_a_critical_point_for_a_map():
    network = General(lambda z: z[0] + z[0] * z[1], block_size=2)
    init = lp.Init([np.ones((2, 2))])
    assert network.mirror_map(init) is None
    assert network.log_chart(init) is None
    assert network.activation_times(init) is None
    assert network.layers_at(init, np.zeros(2)) is None
    (condition,) = network.assumptions(init)
    assert not condition.holds
    assert condition.margin == -1.0


@pytest.mark.parametrize(
    ("k", "detail"),
    [
        (lambda z: jnp.abs(z[0]) * z[1], "not smooth there"),
        (lambda z: jax.nn.relu(z[0]) * z[1], "constant, or not smooth"),
        (lambda z: z[0] * jnp.abs(z[0]) * z[1], "not smooth there"),
        (lambda z: 0 * z[0], "no derivative there but zeros"),
    ],
)
def test_k_must_be_smooth_at_zero_for_a_map(k, detail):
    network, init = General(k, block_size=2), lp.Init([np.ones((2, 2))])
    assert network.mirror_map(init) is None
    _, condition = network.assumptions(init)
    assert condition.name == "k is analytic at zero"
    assert not condition.holds
    assert detail in condition.detail


@pytest.mark.slow
def test_a_start_from_which_nothing_moves_or_nothing_is_known_is_refused():
    task = lp.Regression([[1.0, 1.0]], [2.0])

    def well(z):
        return z[0] ** 2 / 2 - z[0] ** 4 / 4

    problem = lp.Problem(General(well, block_size=1), lp.Init([[[1.0], [0.3]]]), task)
    with pytest.raises(NetworkError, match="critical point of k: its coefficient never moves"):
        lp.predict(problem)

    def hole(z):
        return jnp.where(z @ z < 1, z[0] * z[1], jnp.nan)

    init = lp.Init([[[0.9, 0.8], [0.3, 0.2]]])
    problem = lp.Problem(General(hole, block_size=2), init, task)
    with pytest.raises(NetworkError, match=r"not a number at the block \[0.9, 0.8\]"):
        lp.predict(problem)
    # From inside the curves are known up to the hole, where |ab| is ½ at most.
    below, above = General(hole, block_size=2).mirror_map(init.at_scale(0.1)).known
    assert ((below >= -0.5) & (below < 0)).all()
    assert ((above <= 0.5) & (above > 0)).all()


@pytest.mark.slow
def test_activation_times_are_inverse_eigenvalues():
    times = General(ZHAO, block_size=3).activation_times(zhao_init(-138.0))
    np.testing.assert_allclose(times.t_plus, 0.5, rtol=1e-14)
    np.testing.assert_allclose(times.t_minus, 0.5, rtol=1e-14)
    assert times.unit == 138.0


def conditions(network, init):
    return {one.name: one for one in network.assumptions(init)}


@pytest.mark.slow
def test_conditions_of_zhaos_own_model():
    network = General(ZHAO, block_size=3)
    found = conditions(network, zhao_init(-138.0, fourth=0.3))
    assert all(one.holds for one in found.values())
    found = conditions(network, zhao_init(-138.0))
    unbounded = found.pop("k is unbounded on both sides")
    assert all(one.holds for one in found.values())
    assert not unbounded.holds
    assert unbounded.detail == "coefficient 3 is at least -1"


@pytest.mark.slow
def test_conditions_that_fail():
    init = lp.Init([np.array([[0.5, 0.5]])], scale=1e-3)
    found = conditions(General(double_well, block_size=2), init)
    assert not found["the curves meet no critical point but zero"].holds
    assert "at most 0.25" in found["k is unbounded on both sides"].detail
    found = conditions(General(lambda z: z[0] ** 2 + z[1] ** 2, block_size=2), init)
    name = "the Hessian's extreme eigenvalues are simple and of opposite sign"
    assert not found[name].holds
    found = conditions(General(lambda z: z[0] * z[1], block_size=2), init)
    assert not found["the direction is orthogonal to neither extreme eigenvector"].holds


def test_a_kink_on_the_way_is_a_condition_that_fails():
    def bent(z):
        return jnp.where(z[0] > 0.5, z[0] * z[1], 2 * z[0] * z[1])

    found = conditions(
        General(bent, block_size=2), lp.Init([np.array([[0.5, 0.3], [0.5, -0.3]])], scale=1e-3)
    )
    smooth = found["k is analytic along the curves"]
    assert not smooth.holds
    # On the limit curves a = ±b, so that the kink is at k = 2a² = ½.
    assert "coefficient 0 is known up to 0.5" in smooth.detail
    assert found["k is analytic at zero"].holds
    assert "as far as it is known" in found["k is unbounded on both sides"].detail


@pytest.mark.slow
def test_a_singularity_is_no_bound_and_no_critical_point():
    """`log(1 + ab)` falls to −∞ where ab = −1, at a finite block."""
    network = General(lambda z: jnp.log1p(z[0] * z[1]), block_size=2)
    found = conditions(network, lp.Init([np.array([[0.5, 0.3]])], scale=1e-3))
    assert found["the curves meet no critical point but zero"].holds
    assert found["k is unbounded on both sides"].holds
    assert not found["k is analytic along the curves"].holds


@pytest.mark.slow
@pytest.mark.parametrize("log_scale", [-690.0, -138.0, -3.0])
def test_chart_and_table_describe_one_flow(log_scale):
    network, init = General(ZHAO, block_size=3), zhao_init(log_scale)
    chart, mirror = network.log_chart(init), network.mirror_map(init)
    end = -log_scale / 2 + 0.2
    neg_grad = np.array([1.0, -0.9, 1.0, -0.9])
    found = solve_ivp(
        lambda t, state: chart.velocity(neg_grad, state),
        (0, end),
        np.zeros(chart.dimension),
        method="LSODA",
        rtol=1e-10,
        atol=1e-10,
        jac=lambda t, state: chart.velocity_gradient(neg_grad, state),
        t_eval=np.linspace(0, end, 9),
    )
    xi = found.t[:, None] * neg_grad
    signs, logs = chart.signs_and_logs(found.y.T)
    exact_signs, exact_logs = mirror.signs_and_logs(xi)
    assert np.array_equal(signs, exact_signs)
    # A hundred times the integrator's tolerance on states of order −log s.
    np.testing.assert_allclose(logs, exact_logs, rtol=0, atol=1e-8 * (1 - log_scale))
    (layers,), (table_layers,) = chart.layers(found.y.T), network.layers_at(init, xi)
    assert layers.shape == (9, 4, 3)
    moving = table_layers[..., :2]
    np.testing.assert_allclose(
        layers[..., :2], moving, atol=1e-8 * (1 - log_scale) * np.abs(moving).max()
    )
    np.testing.assert_allclose(
        network.coef((layers,)), chart.coefs(found.y.T), rtol=1e-6, atol=1e-14
    )


@pytest.mark.slow
def test_derivatives_of_the_chart():
    chart = General(ZHAO, block_size=3).log_chart(zhao_init(-20.0))
    neg_grad = np.array([1.0, -2.0, 0.5, -1.0])
    state = np.random.default_rng(2).uniform(-1, 12, chart.dimension)
    step, each = 1e-6, np.eye(chart.dimension)
    # Central differences: 1e-12 of the third derivative, 1e-10 of the value by rounding.
    columns = [
        (chart.velocity(neg_grad, state + step * e) - chart.velocity(neg_grad, state - step * e))
        / 2e-6
        for e in each
    ]
    jacobian = chart.velocity_gradient(neg_grad, state)
    np.testing.assert_allclose(
        jacobian, np.stack(columns, 1), atol=1e-7 * (1 + np.abs(jacobian).max())
    )
    columns = [(chart.coefs(state + step * e) - chart.coefs(state - step * e)) / 2e-6 for e in each]
    gradient = chart.times_gradient(np.eye(4), state)
    np.testing.assert_allclose(
        gradient, np.stack(columns, 1), atol=1e-7 * (1 + np.abs(gradient).max())
    )
    many = chart.velocity(np.stack([neg_grad, 2 * neg_grad], axis=1), state)
    np.testing.assert_allclose(many[:, 1], 2 * chart.velocity(neg_grad, state), rtol=1e-14)
    assert chart.log_time_unit == 0.0
    np.testing.assert_array_equal(chart.movable, np.ones(4))


def test_components_that_drive_each_other_have_no_chart():
    network = General(lambda z: z[0] * z[1] + z[0] ** 3, block_size=2)
    assert network.log_chart(lp.Init([np.ones((1, 2))])) is None
