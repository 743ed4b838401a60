"""Corners of the new networks that once went wrong."""

import jax.numpy as jnp
import numpy as np
import pytest
from tests.refusals import no_theorem

import limitpoint as lp


def small_problem():
    task, network = lp.Regression([[1.0, 2.0]], [1.0]), lp.Diagonal(3)
    return lp.Problem(network, lp.Init.random(network, task, 0.1, seed=2), task)


@pytest.mark.parametrize("space", [lp.SampleSpace(max_steps=1), lp.ParameterSpace(max_steps=1)])
def test_a_flow_that_stops_before_the_first_time_asked_for(space):
    run = lp.flow(small_problem(), times=[50.0], space=space)
    assert run.status is lp.Status.STEP_LIMIT
    assert run.times.shape == (1,)
    assert 0 < run.times[0] < 50
    assert np.isfinite(run.coef).all()


def test_a_coefficient_that_vanishes_in_float64_leaks_no_warning():
    task = lp.Regression([[1.0, -1.0], [1.0, 1.0]], [1.0, 0.0])
    limit = lp.predict(lp.Problem(lp.Power(4), lp.Init([[1.0, 1.0]], log_scale=-200.0), task))
    assert limit.status is lp.Status.LEAST_SQUARES
    np.testing.assert_allclose(limit.coef, [0.5, 0.0], atol=1e-9)


PRODUCT = lp.General(lambda block: block[0] * block[1], block_size=2)


@pytest.mark.parametrize("network", [PRODUCT, lp.Diagonal(3), lp.Paired()], ids=repr)
def test_zero_targets_are_fitted(network):
    task = lp.Regression(np.eye(2), [0.0, 0.0])
    limit = lp.predict(lp.Problem(network, lp.Init.random(network, task, 1.0, seed=2), task))
    assert limit.status is lp.Status.CONVERGED
    # The start is of order 1, and rounding of it is what is left.
    np.testing.assert_allclose(limit.coef, 0.0, atol=1e-15)


@pytest.mark.parametrize("network", [PRODUCT, lp.Diagonal(3)], ids=repr)
def test_signs_and_logs_are_those_of_the_polished_coefficients(network):
    task = lp.Regression(np.eye(2), [1e-20, -1e-20])
    limit = lp.predict(lp.Problem(network, lp.Init.random(network, task, 1.0, seed=2), task))
    np.testing.assert_allclose(limit.coef, task.y, rtol=1e-9)
    np.testing.assert_allclose(limit.signs * np.exp(limit.log_abs_coef), limit.coef, rtol=1e-13)


@pytest.mark.parametrize("network", [lp.Diagonal(2), lp.Diagonal(3), lp.Paired()], ids=repr)
@pytest.mark.parametrize("apart", [0.0, 1e-12, 1e-8])
def test_a_start_that_nearly_fits_is_verified(network, apart):
    X = np.random.default_rng(0).standard_normal((3, 6))
    init = lp.Init.random(network, lp.Regression(X, np.ones(3)), 1.0, seed=1)
    task = lp.Regression(X, X @ network.coef(init.layers) * (1 + apart))
    verdict = lp.verify(lp.Problem(network, init, task), training=lp.GD(1e-2), steps=500)
    assert verdict.passed


@pytest.mark.slow
def test_a_least_squares_limit_on_the_boundary_is_verified():
    """The duals grow for ever there, so the flow in sample space is left out, with a note."""
    X = [[2, 2, 1, 2], [0, 3, 3, 0], [2, 2, 2, -1], [-1, -2, -3, 0]]
    task = lp.Regression(X, [2, 2, 2, -2])
    init = lp.Init([[-0.77, 1.447, 0.2716, -0.8167]], 5.35)
    verdict = lp.verify(lp.Problem(lp.Power(3), init, task))
    assert verdict.passed
    assert "grow for ever" in verdict.notes[0]


def test_a_verdict_can_be_written_to_a_file(tmp_path):
    data = lp.verify(small_problem()).to_xarray()
    data.to_netcdf(tmp_path / "verdict.nc")
    assert data.attrs["passed"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("k", [lambda b: b[0] ** 3, lambda b: b[0] ** 4 - b[1] ** 4])
def test_a_function_whose_hessian_vanishes(k):
    network, task = lp.General(k, block_size=2), lp.Regression([[1.0]], [2.0])
    init = lp.Init([[[1.0, 1.0]]], 1.0)
    assert lp.predict(lp.Problem(network, init, task)).coef[0] == pytest.approx(2.0, rel=1e-9)
    with no_theorem("opposite sign"):
        lp.predict(lp.Problem(network, init.at_scale(0.0), task))
    with pytest.raises(lp.errors.NetworkError, match="no activation times"):
        lp.analysis.activation_times(network, init)


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (lambda block: float(block[0]) * 2, "written with jax.numpy"),
        (lambda block: 0, "computed from its block"),
        (lambda block: jnp.stack([block[0], block[1]]), "one number"),
        (lambda block: block[0] + 1.0, "must be 0 at 0"),
    ],
)
def test_functions_that_cannot_be_differentiated_are_refused(k, message):
    with pytest.raises(lp.errors.NetworkError, match=message):
        lp.General(k, block_size=2)
