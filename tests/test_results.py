"""Result values: immutable, printable, convertible.

One file, although long: every result type goes through the same tests.
"""

import dataclasses
import json
import math
import pickle

import numpy as np
import pytest
import xarray as xr

import limitpoint as lp

NETWORK = lp.Diagonal(depth=2)
LONGEST_LINE = 100


@pytest.fixture(scope="module")
def problem():
    task = lp.examples.zhao_eq7()
    return lp.Problem(NETWORK, lp.Init.random(NETWORK, task, 1e-3, seed=0), task)


@pytest.fixture(scope="module")
def verdict(problem):
    return lp.verify(problem, training=lp.GD(5e-3), steps=20_000)


@pytest.fixture(scope="module")
def results(problem, verdict):
    return {
        "limit": verdict.limit,
        "certificate": verdict.limit.certificate,
        "flow": verdict.flows[0],
        "parameter flow": verdict.flows[1],
        "training": verdict.training,
        "verdict": verdict,
        "explanation": lp.explain(problem),
        "check": verdict.checks[0],
    }


PRINTED = ("limit", "certificate", "flow", "parameter flow", "training", "verdict", "explanation")
FROZEN = {
    "limit": "coef",
    "certificate": "tolerance",
    "flow": "status",
    "training": "data",
    "verdict": "checks",
    "explanation": "rows",
    "check": "measured",
}


@pytest.mark.parametrize(("name", "attribute"), FROZEN.items())
def test_attributes_cannot_be_replaced(results, name, attribute):
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign"):
        setattr(results[name], attribute, None)


@pytest.mark.parametrize("attribute", ["coef", "signs", "log_abs_coef", "mirror", "dual"])
def test_arrays_of_a_limit_are_read_only(results, attribute):
    assert not getattr(results["limit"], attribute).flags.writeable


@pytest.mark.parametrize("kind", ["flow", "parameter flow", "training"])
@pytest.mark.parametrize(
    "attribute", ["times", "coefs", "coef", "signs", "log_abs_coefs", "losses"]
)
def test_arrays_of_a_trajectory_are_read_only(results, kind, attribute):
    assert not getattr(results[kind], attribute).flags.writeable


def test_layers_duals_and_steps_of_a_trajectory_are_read_only(results):
    arrays = (*results["flow"].layers, results["flow"].duals, results["training"].steps)
    assert not any(array.flags.writeable for array in arrays)


def test_residuals_of_a_certificate_cannot_be_changed():
    certificate = lp.results.Certificate({"feasibility": 1.0})
    with pytest.raises(TypeError, match="does not support item assignment"):
        certificate.residuals["feasibility"] = 0.0


@pytest.mark.parametrize("name", PRINTED)
def test_a_copy_as_a_dict_is_independent_and_valid_json(results, name):
    found = results[name].to_dict()
    again = json.loads(json.dumps(found))
    assert set(again) == set(found)


@pytest.mark.parametrize("name", PRINTED)
def test_prints_as_lines_of_bounded_width(results, name):
    text = str(results[name])
    assert text
    assert max(len(line) for line in text.splitlines()) <= LONGEST_LINE
    assert all(line == line.rstrip() for line in text.splitlines())
    assert "\x1b" not in text


# ---------------------------------------------------------------- Limit


def test_limit_prints_what_was_proved(results):
    limit = results["limit"]
    text = str(limit)
    assert limit.theorem.id in text
    assert str(limit.status) in text
    assert "Certificate" in text
    assert f"{limit.coef[2]:.9g}" in text


def test_limit_prints_at_most_twelve_coefficients():
    task = lp.Regression(np.random.default_rng(0).standard_normal((3, 50)), [1.0, 2.0, 3.0])
    limit = lp.predict(lp.Problem(NETWORK, lp.Init.zero_last(NETWORK, task, 0.1), task))
    assert "the 12 largest of 50 coefficients" in " ".join(str(limit).split())
    assert "12 of 50 coefficients shown; all in .coef or --json." in str(limit)


def test_limit_prints_a_frozen_coefficient_as_zero():
    task = lp.Regression([[1.0, 1.0]], [1.0])
    limit = lp.predict(lp.Problem(NETWORK, lp.Init([[0.0, 1.0], [0.0, 0.0]], 0.1), task))
    assert limit.coef[0] == 0.0
    assert "inf" not in str(limit)


def test_limit_as_a_dataset(results):
    limit = results["limit"]
    data = limit.to_xarray()
    assert isinstance(data, xr.Dataset)
    assert dict(data.sizes) == {"feature": 4, "sample": 2}
    np.testing.assert_array_equal(data["coef"], limit.coef)
    np.testing.assert_array_equal(data["mirror"], limit.mirror)
    np.testing.assert_array_equal(data["dual"], limit.dual)
    assert data.attrs["theorem"] == limit.theorem.id
    assert data.attrs["status"] == "CONVERGED"
    assert data.attrs["certificate"] <= 1e-9


def test_limit_as_a_dict(results):
    limit = results["limit"]
    found = limit.to_dict()
    assert found["coef"] == limit.coef.tolist()
    assert found["status"] == "CONVERGED"
    assert found["message"] == str(lp.Status.CONVERGED)
    assert found["certificate"]["ok"] is True
    assert found["theorem"] == "labarriere2024.theorem1"


def test_limit_signs_and_logs_describe_the_coefficients(results):
    limit = results["limit"]
    np.testing.assert_allclose(limit.signs * np.exp(limit.log_abs_coef), limit.coef, rtol=1e-12)


def test_limit_mirror_coordinates_are_in_the_row_space(problem, results):
    limit = results["limit"]
    np.testing.assert_allclose(problem.task.X.T @ limit.dual, limit.mirror, rtol=1e-9)


# ---------------------------------------------------------------- Certificate


def test_certificate_passes_at_its_tolerance_and_not_above():
    assert lp.results.Certificate({"a": 1e-9}).ok
    assert not lp.results.Certificate({"a": 1.1e-9}).ok
    assert lp.results.Certificate({"a": 1e-3}, tolerance=1e-2).ok


def test_certificate_with_a_residual_that_is_no_number_fails():
    certificate = lp.results.Certificate({"a": 0.0, "b": math.nan})
    assert not certificate.ok
    assert certificate.worst == math.inf
    assert "NO" in str(certificate)


def test_certificate_prints_and_converts():
    certificate = lp.results.Certificate({"feasibility": 1e-12, "stationarity": 1e-3})
    assert certificate.worst == 1e-3
    assert certificate.to_dict() == {
        "ok": False,
        "tolerance": 1e-9,
        "residuals": {"feasibility": 1e-12, "stationarity": 1e-3},
    }
    lines = str(certificate).splitlines()
    assert next(line for line in lines if "feasibility" in line).endswith("ok")
    assert next(line for line in lines if "stationarity" in line).endswith("NO")


# ---------------------------------------------------------------- Trajectory


def test_trajectory_shapes(results):
    run = results["flow"]
    count = len(run.times)
    assert run.coefs.shape == run.signs.shape == run.log_abs_coefs.shape == (count, 4)
    assert run.losses.shape == (count,)
    assert run.duals.shape == (count, 2)
    assert [layer.shape for layer in run.layers] == [(count, 4)] * 2
    assert run.steps is None
    np.testing.assert_array_equal(run.coef, run.coefs[-1])


def test_trajectory_of_training_has_steps_and_no_duals(results):
    run = results["training"]
    assert run.duals is None
    assert run.steps[0] == 0
    assert run.steps[-1] == 20_000
    np.testing.assert_allclose(run.times, 5e-3 * run.steps, rtol=1e-14)


def test_trajectory_coefficients_are_those_of_its_layers(results):
    for kind in ("flow", "parameter flow", "training"):
        run = results[kind]
        np.testing.assert_allclose(
            NETWORK.coef(run.layers), run.coefs, rtol=1e-9, atol=1e-12 * abs(run.coef).max()
        )


def test_trajectory_as_a_dataset(results):
    run = results["training"]
    data = run.to_xarray()
    assert data.attrs["status"] == run.status.name
    assert data.attrs["kind"] == run.kind == "training by GD(learning_rate=0.005)"
    assert set(data["coef"].dims) == {"time", "feature"}
    np.testing.assert_array_equal(data["coef"], run.coefs)
    np.testing.assert_array_equal(data["step"], run.steps)
    assert data["layer_0"].dims[0] == "time"


def test_changing_the_dataset_leaves_the_trajectory_alone(results):
    run = results["flow"]
    before = run.coefs.copy()
    data = run.to_xarray()
    data["coef"] = data["coef"] * 0
    np.testing.assert_array_equal(run.coefs, before)


def test_trajectory_as_a_dict(results):
    found = results["training"].to_dict()
    assert found["steps"] == results["training"].steps.tolist()
    assert found["losses"] == results["training"].losses.tolist()
    assert "steps" not in results["flow"].to_dict()


def test_trajectory_prints_times_or_steps_and_its_status(results):
    assert "time" in str(results["flow"])
    assert "step" in str(results["training"])
    assert str(results["training"].status) in str(results["training"])


def test_trajectory_keeps_what_float64_cannot_hold(problem):
    init = lp.Init.random(NETWORK, problem.task, log_scale=-2302.6, seed=0)
    run = lp.flow(lp.Problem(NETWORK, init, problem.task))
    assert not run.coefs[0].any()
    assert np.isin(run.signs[0], (-1.0, 1.0)).all()
    assert (run.log_abs_coefs[0] < -4000).all()
    assert np.isfinite(run.log_abs_coefs).all()
    assert run.status is lp.Status.CONVERGED


# ---------------------------------------------------------------- Verdict, Check, Explanation


def test_verdict_passes_and_names_every_check(verdict):
    assert verdict.passed
    text = str(verdict)
    assert "PASSED" in text
    for check in verdict.checks:
        assert check.name in text
        assert check.passed == (check.measured <= check.tolerance)


def test_verdict_as_a_dict(verdict):
    found = verdict.to_dict()
    assert found["passed"] is True
    assert [check["name"] for check in found["checks"]] == [c.name for c in verdict.checks]
    assert all(check["reason"] for check in found["checks"])
    assert found["limit"]["theorem"] == verdict.limit.theorem.id


@pytest.mark.parametrize(
    ("measured", "passed"), [(0.5, True), (1.0, True), (1.5, False), (math.nan, False)]
)
def test_a_check_passes_up_to_its_tolerance(measured, passed):
    check = lp.results.Check("name", measured, 1.0, "reason")
    assert check.passed is passed
    assert check.to_dict() == {
        "name": "name",
        "measured": measured,
        "tolerance": 1.0,
        "passed": passed,
        "reason": "reason",
        "compares": True,
    } or math.isnan(measured)


def test_a_verdict_that_failed_says_so(verdict):
    broken = dataclasses.replace(
        verdict, checks=(lp.results.Check("doubtful", 2.0, 1.0, "a reason"),)
    )
    assert not broken.passed
    assert "FAILED" in str(broken)
    assert "FAIL" in str(broken)


def test_a_verdict_prints_its_notes(problem):
    task = problem.task
    tied = lp.Problem(NETWORK, lp.Init([[1.0, 1, 1, 1], [0.5, 0.5, 0.5, 1.0]], 0.1), task)
    verdict = lp.verify(tied)
    assert verdict.limit.theorem.id == "limitpoint.sign_constrained"
    assert len(verdict.notes) == 2
    assert "labarriere2024.theorem2 does not apply" in verdict.notes[0]
    assert "does not apply" in str(verdict)


def test_the_full_explanation_lists_every_theorem(results):
    text = str(results["explanation"].full())
    for theorem in lp.atlas.theorems():
        assert theorem.id in text
    assert "FAILS" in text
    assert "…" not in text
    # Words are not broken: the network is named in the title and for each theorem that
    # is about this kind of task.
    about = [theorem for theorem in lp.atlas.theorems() if theorem.task is lp.Regression]
    assert text.count("Diagonal(depth=2)") >= 1 + len(about)


def test_explanation_as_a_dict(results):
    found = results["explanation"].to_dict()
    assert set(found) == {theorem.id for theorem in lp.atlas.theorems()}
    assert found["labarriere2024.theorem1"]["applies"] is True
    assert found["yun2021.corollary5"]["applies"] is False
    failing = [c for c in found["yun2021.corollary5"]["conditions"] if not c["holds"]]
    assert [c["name"] for c in failing] == ["last layer zero"]
    assert failing[0]["margin"] < 0


def test_explanation_puts_the_strongest_first(results):
    ranks = [theorem.rank for theorem in results["explanation"].applicable]
    assert ranks == sorted(ranks, reverse=True)
    assert results["explanation"].applicable[0].id == results["limit"].theorem.id


def test_theorems_print_their_source():
    for theorem in lp.atlas.theorems():
        assert repr(theorem) == f"Theorem({theorem.id}: {theorem.citation})"
        assert theorem.statement.endswith(".")
        assert (theorem.limit is None) == (theorem.concludes != "limit")


# ---------------------------------------------------------------- SaddlePath


@pytest.fixture(scope="module")
def path(problem):
    return lp.analysis.saddles(problem)


def test_saddle_path_prints_its_steps_objective_status_and_certificate(path):
    text = str(path)
    # The example has a loss factor of 2, which halves log(1/s).
    assert f"Saddle path: 3 saddles, times in units of {np.log(1e3) / 2:.6g}" in text
    assert str(path.status) in " ".join(text.split())
    assert f"Objective {path.objective:.9g}" in text
    assert "error bound" in text
    rows = [line.split() for line in text.splitlines()]
    assert ["1", "1", "0.1", "0", "β[0]", "=", "0.8"] in rows
    assert max(len(line) for line in text.splitlines()) <= LONGEST_LINE
    assert all(line == line.rstrip() for line in text.splitlines())
    assert "\x1b" not in text
    assert "<table>" in path._repr_html_()


@pytest.mark.parametrize("unit", [1.0, math.inf])
def test_saddle_path_prints_no_unit_that_says_nothing(path, unit):
    assert str(path.in_units_of(unit)).splitlines()[0] == "Saddle path: 3 saddles"


def test_saddle_path_without_saddles_prints():
    text = str(lp.saddle_path([[1.0, 2.0]], [0.0]))
    assert text.startswith("Saddle path: 0 saddles")
    assert "Converged" in text


def test_a_long_saddle_path_prints_its_beginning_and_its_end():
    rng = np.random.default_rng(0)
    long = lp.saddle_path(rng.standard_normal((40, 200)), rng.standard_normal(40))
    text = str(long)
    count = long.n_saddles
    assert count > 30
    assert f"30 of {count} saddles and 4 of " in text
    first = [line.split()[0] for line in text.splitlines() if line.strip()]
    for number in (1, 28, count - 1, count):
        assert str(number) in first
    assert str(count - 2) not in first
    assert "…" in text
    assert max(len(line) for line in text.splitlines()) <= LONGEST_LINE


def test_saddle_path_as_a_dict(path):
    found = path.to_dict()
    assert found["status"] == "CONVERGED"
    assert found["message"] == str(path.status)
    assert found["path_times"] == path.path_times.tolist()
    assert found["losses"] == path.losses.tolist()
    assert found["entered"] == [[0], [2], [3]]
    assert found["left"] == [[], [0], []]
    assert found["objective"] == path.objective
    assert found["time_unit"] == path.time_unit
    assert found["certificate"] == path.certificate.to_dict()
    assert found["coefs"][0] == {}
    for row, coefs in zip(found["coefs"], path.coefs, strict=True):
        assert row == {int(i): coefs[i] for i in np.flatnonzero(coefs)}
    again = json.loads(json.dumps(found))
    assert set(again) == set(found)


def test_saddle_path_as_a_dataset(path):
    data = path.to_xarray()
    assert dict(data.sizes) == {"saddle": 4, "feature": 4, "sample": 2}
    np.testing.assert_array_equal(data["coef"], path.coefs)
    np.testing.assert_array_equal(data["mirror"], path.mirrors)
    np.testing.assert_array_equal(data["dual"], path.duals)
    np.testing.assert_array_equal(data["loss"], path.losses)
    np.testing.assert_array_equal(data["path_time"], path.path_times)
    np.testing.assert_array_equal(data["degenerate"], path.degenerate)
    assert data["saddle"].values.tolist() == [0, 1, 2, 3]
    assert data.attrs["status"] == "CONVERGED"
    assert data.attrs["objective"] == path.objective
    assert data.attrs["time_unit"] == path.time_unit
    assert data.attrs["certificate"] <= 1e-9


def test_changing_the_dataset_leaves_the_saddle_path_alone(path):
    before = path.losses.copy(), path.path_times.copy()
    data = path.to_xarray()
    data["loss"] = data["loss"] * 0
    data["path_time"] = data["path_time"] * 0
    np.testing.assert_array_equal(path.losses, before[0])
    np.testing.assert_array_equal(path.path_times, before[1])


def test_saddle_path_attributes_cannot_be_replaced(path):
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign"):
        path.path_times = None


@pytest.mark.parametrize("name", ["coef", "coefs", "duals", "losses", "mirrors", "path_times"])
def test_arrays_of_a_saddle_path_are_read_only(path, name):
    assert not getattr(path, name).flags.writeable


def test_a_saddle_path_survives_pickling(path):
    again = pickle.loads(pickle.dumps(path))
    for name in ("coefs", "duals", "losses", "mirrors", "path_times", "degenerate"):
        np.testing.assert_array_equal(getattr(again, name), getattr(path, name))
    assert (again.status, again.entered, again.left) == (path.status, path.entered, path.left)
    assert again.time_unit == path.time_unit
    assert str(again) == str(path)
    np.testing.assert_array_equal(again.waiting_times(1), path.waiting_times(1))


def test_a_saddle_path_of_sparse_data_survives_pickling():
    from scipy import sparse

    found = lp.saddle_path(sparse.csr_array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]), [1.0, 1.0])
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.coefs, found.coefs)
    np.testing.assert_array_equal(again.duals, found.duals)


# ---------------------------------------------------------------- Status


@pytest.mark.parametrize("status", list(lp.Status))
def test_a_status_is_a_sentence(status):
    assert str(status).endswith(".")
    good = {"CONVERGED", "LEAST_SQUARES", "PENALISED", "PROVED", "PROVED_LEAST_SQUARES"}
    assert status.ok == (status.name in good | {"SEPARATED", "DIRECTION_CONVERGED"})


def test_every_result_becomes_a_dataset():
    task, network = lp.examples.zhao_eq7(), lp.Diagonal(2)
    problem = lp.Problem(network, lp.Init.random(network, task, 0.1, seed=0), task)
    verdict = lp.verify(problem)
    checks = verdict.to_xarray()
    assert checks["passed"].all()
    assert checks.sizes["check"] == len(verdict.checks)
    residuals = verdict.limit.certificate.to_xarray()
    shares = residuals["residual"] / residuals["allowed"]
    assert 1e-9 * float(shares.max()) == pytest.approx(verdict.limit.certificate.worst, rel=1e-12)
    conditions = lp.explain(problem).to_xarray()
    assert set(conditions["theorem"].values) == {theorem.id for theorem in lp.atlas.theorems()}
