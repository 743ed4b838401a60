"""The record of a run: labelled, immutable in shape, printable."""

import numpy as np
import pytest
from tests.theory.problems import diagonal_problem, gaussian_data, random_layers

import limitpoint as lp

PROBLEM = diagonal_problem(*gaussian_data(3, 6), *random_layers(6), scale=0.3)
FLOW = lp.flow(PROBLEM)
RUN = lp.train(PROBLEM, lp.GD(1e-2), steps=200)


def test_a_flow_has_times_duals_and_layers_but_no_steps():
    count = len(FLOW.times)
    assert FLOW.coefs.shape == (count, 6)
    assert FLOW.losses.shape == (count,)
    assert FLOW.duals.shape == (count, 3)
    assert [layer.shape for layer in FLOW.layers] == [(count, 6)] * 2
    assert FLOW.steps is None
    np.testing.assert_array_equal(FLOW.coef, FLOW.coefs[-1])


def test_a_training_run_has_steps_and_layers_but_no_duals():
    assert RUN.duals is None
    assert RUN.steps[-1] == 200
    np.testing.assert_allclose(RUN.coefs, RUN.layers[0] * RUN.layers[1], rtol=1e-15)


@pytest.mark.parametrize("run", [FLOW, RUN], ids=["flow", "train"])
def test_signs_and_logs_agree_with_the_coefficients(run):
    # exp and log of numbers of modulus below ten.
    np.testing.assert_allclose(run.signs * np.exp(run.log_abs_coefs), run.coefs, rtol=1e-13)


def test_a_vanishing_coefficient_has_sign_zero_and_no_logarithm():
    problem = diagonal_problem(*gaussian_data(3, 6), np.ones(6), np.zeros(6))
    run = lp.train(problem, lp.GD(1e-2), steps=5)
    np.testing.assert_array_equal(run.signs[0], 0.0)
    np.testing.assert_array_equal(run.log_abs_coefs[0], -np.inf)


@pytest.mark.parametrize("run", [FLOW, RUN], ids=["flow", "train"])
def test_to_xarray_is_labelled_and_carries_the_status(run):
    data = run.to_xarray()
    assert data["coef"].dims == ("time", "feature")
    assert data.attrs["status"] == run.status.name
    assert data.attrs["kind"] == run.kind
    np.testing.assert_array_equal(data["time"], run.times)


def test_to_dict_is_plain():
    plain = RUN.to_dict()
    assert plain["status"] == RUN.status.name
    assert plain["coefs"] == RUN.coefs.tolist()
    assert plain["steps"] == RUN.steps.tolist()
    assert "steps" not in FLOW.to_dict()


@pytest.mark.parametrize(("run", "first"), [(FLOW, "time"), (RUN, "step")], ids=["flow", "train"])
def test_text_and_html(run, first):
    text = str(run)
    assert run.kind in text
    assert first in text
    assert " ".join(str(run.status).split()) in " ".join(text.split())
    assert "<table>" in run._repr_html_()
