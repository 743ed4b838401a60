"""Verdicts pass when prediction and dynamics agree, and fail when either is made wrong."""

import dataclasses
import importlib
import json
import re

import numpy as np
import pytest
from tests.networks.unmapped import Unmapped
from tests.refusals import no_theorem
from tests.theory.problems import (
    LOG_SCALES,
    diagonal_problem,
    gaussian_data,
    gaussian_problem,
    random_layers,
)

import limitpoint as lp

# Where `verify` takes prediction and dynamics from, to put wrong ones in their place.
ENGINES = importlib.import_module("limitpoint.verify.engines")


def failing(verdict):
    return [check.name for check in verdict.checks if not check.passed]


def kinds(names):
    """The checks without the scale at which they were made."""
    return {re.sub(r" at scale [^:]*", "", name) for name in names}


class TestPasses:
    @pytest.mark.slow
    @pytest.mark.parametrize("zero_last", [False, True], ids=["random", "zero_last"])
    @pytest.mark.parametrize("log_scale", LOG_SCALES.values(), ids=LOG_SCALES.keys())
    def test_at_every_scale(self, log_scale, zero_last):
        problem = gaussian_problem(8, 20, zero_last=zero_last, log_scale=log_scale)
        verdict = lp.verify(problem)
        assert failing(verdict) == []
        assert verdict.outcome is lp.results.Outcome.PASSED
        assert verdict.passed
        assert verdict.training is None
        chained = [note for note in verdict.notes if "plateaus" not in note]
        if log_scale > -300.0:
            assert chained == []
            assert [run.kind.split()[-2] for run in verdict.flows] == ["sample", "parameter"]
        else:
            own = "1e-300" if log_scale > -700 else r"10\^-1000"
            assert re.match(rf"The parameters .* at scale 1e-1(4|5)\d, not at {own}: ", chained[0])
            assert len(verdict.flows) == 4

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(2))
    @pytest.mark.parametrize("log_scale", LOG_SCALES.values(), ids=LOG_SCALES.keys())
    def test_on_other_draws(self, log_scale, seed):
        problem = gaussian_problem(4, 8, seed=100 + seed, log_scale=log_scale)
        assert failing(lp.verify(problem)) == []

    @pytest.mark.parametrize("log_scale", LOG_SCALES.values(), ids=LOG_SCALES.keys())
    def test_on_the_example(self, log_scale):
        task, network = lp.examples.zhao_eq7(), lp.Diagonal(2)
        init = lp.Init.random(network, task, log_scale=log_scale, seed=0)
        assert failing(lp.verify(lp.Problem(network, init, task))) == []

    @pytest.mark.parametrize("zero_last", [False, True], ids=["random", "zero_last"])
    @pytest.mark.parametrize(
        ("scale", "rate", "steps"),
        [
            # Stable below 2 over the curvature, ‖X‖²(s²(a² + b²) + 2|β|), ‖X‖² of order 30; long
            # enough for the slowest coefficient to grow from the scale: log(1/s) over its negative
            # gradient.
            (30.0, 5e-6, 100_000),
            (1.0, 1e-3, 50_000),
            (1e-2, 5e-3, 200_000),
            (1e-5, 5e-3, 200_000),
        ],
    )
    def test_with_training(self, scale, rate, steps, zero_last):
        problem = gaussian_problem(4, 10, dense=True, zero_last=zero_last, scale=scale)
        verdict = lp.verify(problem, training=lp.GD(rate), steps=steps)
        assert failing(verdict) == []
        assert verdict.training.steps[-1] == steps

    def test_with_training_from_1e_minus_30_where_nothing_turns_back(self):
        """A sparse truth.

        The one coefficient that activates stays active (see the test of failure).
        """
        problem = gaussian_problem(4, 10, scale=1e-30)
        verdict = lp.verify(problem, training=lp.GD(5e-3), steps=200_000)
        assert failing(verdict) == []

    def test_least_squares(self):
        rng = np.random.default_rng(3)
        X, y = rng.standard_normal((8, 3)), rng.standard_normal(8)
        verdict = lp.verify(diagonal_problem(X, y, *random_layers(3)), training=lp.GD(1e-2))
        assert failing(verdict) == []
        assert verdict.limit.status is lp.Status.LEAST_SQUARES

    def test_tied_layers_without_a_bound(self):
        X = np.array([[1.0, 2.0, 0.5], [0.3, -0.4, 1.5]])
        layer = np.array([0.5, 1.0, -0.8])
        verdict = lp.verify(diagonal_problem(X, X @ [0.7, 0.2, 0.4], layer, layer))
        assert failing(verdict) == []
        assert "labarriere2024.theorem2 does not apply" in verdict.notes[0]

    def test_a_frozen_coefficient(self):
        X, y = gaussian_data(2, 5)
        a, b = random_layers(5)
        a[4] = b[4] = 0.0
        assert failing(lp.verify(diagonal_problem(X, y, a, b))) == []

    @pytest.mark.parametrize("loss_factor", [0.1, 10.0])
    def test_with_a_loss_factor(self, loss_factor):
        X, y = gaussian_data(4, 10)
        problem = diagonal_problem(X, y, *random_layers(10), loss_factor=loss_factor)
        assert failing(lp.verify(problem)) == []


class TestFails:
    """A verdict that cannot fail certifies nothing."""

    @pytest.fixture(params=[False, True], ids=["random", "zero_last"])
    def problem(self, request):
        return gaussian_problem(4, 10, dense=True, zero_last=request.param, scale=0.1)

    def predict_wrongly(self, monkeypatch, change):
        def predict(problem):
            limit = lp.predict(problem)
            return dataclasses.replace(limit, **change(limit))

        monkeypatch.setattr(ENGINES, "predict", predict)

    def test_a_prediction_off_by_a_percent(self, monkeypatch, problem):
        self.predict_wrongly(monkeypatch, lambda limit: {"coef": 1.01 * limit.coef})
        found = failing(lp.verify(problem))
        assert "sample flow: distance" in found
        assert "parameter flow: distance" in found

    @pytest.mark.slow
    @pytest.mark.parametrize("log_scale", LOG_SCALES.values(), ids=LOG_SCALES.keys())
    def test_another_interpolator(self, monkeypatch, log_scale):
        """Off by a percent within the interpolators: only the distance can tell."""
        problem = gaussian_problem(4, 10, log_scale=log_scale)
        null = np.linalg.svd(problem.task.X)[2][4]

        def aside(limit):
            return {"coef": limit.coef + 0.01 * np.linalg.norm(limit.coef) * null}

        self.predict_wrongly(monkeypatch, aside)
        found = kinds(failing(lp.verify(problem)))
        assert {"sample flow: distance", "parameter flow: distance"} <= found
        if log_scale < -300.0:
            assert "logarithmic flow: distance" in found

    def test_a_prediction_off_by_a_percent_is_seen_by_training_too(self, monkeypatch, problem):
        null = np.linalg.svd(problem.task.X)[2][4]
        self.predict_wrongly(
            monkeypatch,
            lambda limit: {"coef": limit.coef + 0.01 * np.linalg.norm(limit.coef) * null},
        )
        verdict = lp.verify(problem, training=lp.GD(5e-3), steps=50_000)
        assert "training: law of the step" in failing(verdict)

    def test_a_certificate_that_does_not_hold(self, monkeypatch, problem):
        bad = lp.results.Certificate({"feasibility": 1e-6})
        self.predict_wrongly(monkeypatch, lambda limit: {"certificate": bad})
        assert failing(lp.verify(problem)) == ["limit: feasibility"]

    def test_training_that_is_not_finished(self):
        X, y = gaussian_data(4, 10)
        problem = diagonal_problem(X, y, *random_layers(10, 3))
        verdict = lp.verify(problem, training=lp.GD(1e-4), steps=10)
        assert verdict.outcome is lp.results.Outcome.INCONCLUSIVE
        assert not verdict.passed
        assert failing(verdict) == ["training: relative residual"]
        assert "open" in str(verdict)
        assert any("reached end" in check.reason for check in verdict.checks)

    def test_training_whose_invariants_are_lost_to_rounding(self):
        """Once active, layers of 1e-30 agree to all 53 bits and `a² − b² = 1e-60` is forgotten.

        A coefficient that has to return to zero then does so too early, whatever the step.
        """
        problem = gaussian_problem(4, 10, dense=True, scale=1e-30)
        verdict = lp.verify(problem, training=lp.GD(5e-3), steps=200_000)
        assert failing(verdict) == ["training: law of the step"]
        assert verdict.outcome is lp.results.Outcome.INCONCLUSIVE
        active = np.abs(verdict.training.coef) > 0.1
        a, b = (np.abs(layer[-1][active]) for layer in verdict.training.layers)
        np.testing.assert_array_equal(a, b)

    def test_training_that_diverged(self, problem):
        verdict = lp.verify(problem, training=lp.GD(10.0), steps=1000)
        assert verdict.outcome is lp.results.Outcome.FAILED
        assert verdict.training.status is lp.Status.DIVERGED

    def test_a_flow_that_did_not_arrive(self, monkeypatch, problem):
        def stopped(problem, space):
            return lp.flow(problem, t_end=0.1, space=space)

        monkeypatch.setattr(ENGINES, "flow", stopped)
        verdict = lp.verify(problem)
        assert verdict.outcome is lp.results.Outcome.INCONCLUSIVE
        assert set(failing(verdict)) == {
            "sample flow: relative residual",
            "logarithmic flow: relative residual",
        }
        assert "their flow did not arrive (reached end)" in verdict.missing[0]

    def test_a_bound_that_is_broken(self, monkeypatch, problem):
        def halved(problem, times):
            return 0.5 * lp.atlas.convergence_bound(problem, times)

        monkeypatch.setattr(ENGINES, "convergence_bound", halved)
        assert failing(lp.verify(problem)) == ["loss above labarriere's bound"]

    def test_conserved_quantities_that_move(self, monkeypatch, problem):
        """The first layer off by a percent from the middle of the run on."""

        def leaking(problem, **how):
            run = lp.flow(problem, **how)
            layer = np.array(run.layers[0])
            layer[len(layer) // 2 :] *= 1.01
            layers = (layer, *run.layers[1:])
            return dataclasses.replace(run, layers=layers)

        monkeypatch.setattr(ENGINES, "flow", leaking)
        assert failing(lp.verify(problem)) == ["parameter flow: invariant drift"]


class TestErrors:
    def test_without_a_theorem(self):
        X, y = gaussian_data(3, 6)
        problem = lp.Problem(Unmapped(), lp.Init(random_layers(6, 4)), lp.Regression(X, y))
        with no_theorem():
            lp.verify(problem)

    @pytest.mark.parametrize("scale", [0.0, np.inf])
    def test_at_the_limits(self, scale):
        problem = gaussian_problem(3, 6, scale=scale)
        with pytest.raises(lp.errors.InitError, match="verify needs a positive, finite scale"):
            lp.verify(problem)

    def test_training_below_the_smallest_float(self):
        problem = gaussian_problem(3, 6, log_scale=-2302.6)
        with pytest.raises(lp.errors.ScaleNotRepresentable, match="cannot be held in float64"):
            lp.verify(problem, training=lp.GD(1e-2), steps=10)


class TestVerdictValue:
    verdict = lp.verify(gaussian_problem(3, 6, scale=0.5), training=lp.GD(1e-2), steps=10_000)

    def test_to_dict_is_plain(self):
        plain = self.verdict.to_dict()
        assert plain["passed"] is True
        assert [check["name"] for check in plain["checks"]] == [
            check.name for check in self.verdict.checks
        ]
        assert plain["limit"]["theorem"] == "labarriere2024.theorem1"
        assert json.loads(json.dumps(plain)) == plain

    def test_text_says_what_why_and_how(self):
        text = str(self.verdict)
        assert "PASSED" in text
        for check in self.verdict.checks:
            assert check.name in text
            assert check.reason.split()[0] in text

    def test_html_is_the_text(self):
        assert "<table>" in self.verdict._repr_html_()
        assert "PASSED" in self.verdict._repr_html_()

    def test_every_check_has_a_tolerance_and_a_reason(self):
        for check in self.verdict.checks:
            assert check.tolerance > 0
            assert check.reason

    def test_names_cover_the_list_of_the_issue(self):
        names = " ".join(check.name for check in self.verdict.checks)
        for part in ("limit: feasibility", "distance", "invariant drift", "bound"):
            assert part in names


def test_a_measurement_that_is_not_a_number_fails():
    assert not lp.results.Check("x", float("nan"), 1.0, "because").passed
    assert lp.results.Check("x", 1.0, 1.0, "because").passed
