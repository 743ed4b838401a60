"""Three outcomes: passed, failed, and inconclusive where something decisive was not compared."""

import dataclasses
import importlib

import numpy as np
import pytest
from tests.theory.problems import diagonal_problem, gaussian_data, random_layers

import limitpoint as lp

ENGINES = importlib.import_module("limitpoint.verify.engines")
INDEPENDENT = importlib.import_module("limitpoint.verify.independent_run")


def failing(verdict):
    return {check.name for check in verdict.checks if not check.passed}


def predict_wrongly(monkeypatch, **change):
    """Every prediction off by what `change` makes of its fields."""

    def predict(problem, **options):
        limit = lp.predict(problem, **options)
        fields = {name: one(getattr(limit, name)) for name, one in change.items()}
        return dataclasses.replace(limit, **fields)

    monkeypatch.setattr(ENGINES, "predict", predict)


def deep(scale, seed=0):
    X, y = gaussian_data(2, 4, seed)
    return diagonal_problem(X, y, *random_layers(4, 3, seed=seed + 1), scale=scale)


class TestInconclusive:
    problem = lp.Problem(
        lp.Diagonal(2),
        lp.Init([[0.1, 2.0], [0.05, 1.0]]),
        lp.Classification([[1, 0.9999], [3, 0.5]], [1, 1]),
    )

    @pytest.mark.slow
    @pytest.mark.parametrize("turned", [False, True], ids=["right", "orthogonal"])
    def test_a_direction_that_is_still_turning(self, monkeypatch, turned):
        """Whatever was predicted: it was compared with nothing."""
        if turned:
            predict_wrongly(monkeypatch, coef=lambda coef: coef[::-1] * [1.0, -1.0])
        verdict = lp.verify(self.problem)
        assert verdict.outcome is lp.results.Outcome.INCONCLUSIVE
        assert not verdict.passed
        assert "still turning" in verdict.missing[0]
        assert "INCONCLUSIVE" in str(verdict)
        assert "still turning" in str(verdict)

    def test_parameters_that_no_scale_holds(self, monkeypatch):
        """With too few steps at every scale nothing independent is left."""
        monkeypatch.setattr(INDEPENDENT, "MOST_STEPS", 5)
        verdict = lp.verify(deep(1e-3))
        assert verdict.outcome is lp.results.Outcome.INCONCLUSIVE
        assert failing(verdict) == set()
        assert "no run of the parameters themselves" in verdict.missing[0]
        assert "step limit" in verdict.missing[0]
        plain = verdict.to_dict()
        assert plain["passed"] is False
        assert plain["outcome"] == "INCONCLUSIVE"
        assert plain["missing"] == list(verdict.missing)
        assert plain["message"] == str(lp.results.Outcome.INCONCLUSIVE)
        assert verdict.to_xarray().attrs["outcome"] == "INCONCLUSIVE"

    def test_a_tolerance_too_wide_to_tell(self, monkeypatch):
        monkeypatch.setattr(INDEPENDENT, "DECISIVE", 1e-12)
        verdict = lp.verify(deep(0.95))
        assert verdict.outcome is lp.results.Outcome.INCONCLUSIVE
        assert verdict.missing


class TestChain:
    """Below what float64 holds of two layers: each link can fail."""

    problem = lp.Problem(
        lp.Diagonal(2),
        lp.Init.random(lp.Diagonal(2), lp.examples.zhao_eq7(), 1e-200, seed=0),
        lp.examples.zhao_eq7(),
    )

    def test_passes_and_names_both_scales(self):
        verdict = lp.verify(self.problem)
        assert verdict.outcome is lp.results.Outcome.PASSED
        (note,) = [one for one in verdict.notes if "themselves were integrated" in one]
        assert ", not at 1e-200: " in note
        kinds = {check.name.split(" at scale ")[0] for check in verdict.checks}
        assert {"logarithmic flow: distance", "parameter flow", "logarithmic flow"} <= kinds

    def test_a_prediction_off_by_a_percent_at_every_scale(self, monkeypatch):
        predict_wrongly(monkeypatch, coef=lambda coef: 1.01 * coef)
        found = failing(lp.verify(self.problem))
        assert "logarithmic flow: distance" in found
        assert any(name.startswith("parameter flow at scale") for name in found)

    def test_logarithms_off_by_a_percent(self, monkeypatch):
        """A wrong chart, wrong at both scales, beside the parameters themselves."""

        def flow(problem, **how):
            run = lp.flow(problem, **how)
            if not isinstance(how["space"], lp.LogCoordinates):
                return run
            return dataclasses.replace(run, coefs=1.01 * run.coefs)

        monkeypatch.setattr(ENGINES, "flow", flow)
        found = failing(lp.verify(self.problem))
        # A run that misses the data is not excused by its relative residual.
        assert "logarithmic flow: relative residual" in found
        assert any(name.endswith("distance from the parameter flow") for name in found)

    def test_parameters_off_by_a_percent(self, monkeypatch):
        def flow(problem, **how):
            run = lp.flow(problem, **how)
            if not isinstance(how["space"], lp.ParameterSpace):
                return run
            return dataclasses.replace(run, coefs=1.01 * run.coefs)

        monkeypatch.setattr(ENGINES, "flow", flow)
        verdict = lp.verify(self.problem)
        assert verdict.outcome is lp.results.Outcome.FAILED
        assert any(name.startswith("parameter flow at scale") for name in failing(verdict))


def test_training_at_a_sign_constraint_passes():
    """Convolutions of impulses can only be positive: training ends at zero, as predicted."""
    impulse = [1.0, 0.0, 0.0]
    problem = lp.Problem(
        lp.Convolutional((3, 3)), lp.Init([impulse, impulse]), lp.Regression([impulse], [-1.0])
    )
    verdict = lp.verify(problem, training=lp.GD(0.05))
    assert verdict.passed, verdict
    np.testing.assert_array_equal(verdict.limit.coef, 0.0)


@pytest.mark.parametrize("size", [1e-8, 1e-11, 1e-13, 1e-15])
@pytest.mark.parametrize(
    "network", [lp.Convolutional((2, 4)), lp.Tensor(np.arange(1.0, 25.0).reshape(4, 3, 2) % 7 - 3)]
)
def test_targets_near_the_rounding_of_cancelling_terms(network, size):
    """They pass, or are refused: rounding must not be taken for a disagreement."""
    X = np.random.default_rng(0).standard_normal((1, 4))
    problem_of = lp.Regression(X, [size])
    problem = lp.Problem(network, lp.Init.random(network, problem_of, 1.0, seed=1), problem_of)
    verdict = lp.verify(problem)
    # Where rounding of the terms is above a millionth of the target no run is evidence.
    hidden = verdict.limit.proof is not None
    assert verdict.outcome is (
        lp.results.Outcome.INCONCLUSIVE if hidden else lp.results.Outcome.PASSED
    )
    assert hidden <= (size < 1e-8)
    assert hidden or size >= 1e-11


def test_samples_whose_gradients_hide_each_other():
    """The second row is smaller by fifteen orders: its gradient is nothing beside the first's."""
    task = lp.Regression([[1, 2, 3], [1e-15, 3e-15, 1e-15]], [1, 2e-15])
    network = lp.Diagonal(2)
    verdict = lp.verify(lp.Problem(network, lp.Init.zero_last(network, task, scale=0.1), task))
    assert verdict.outcome is lp.results.Outcome.INCONCLUSIVE
    assert "samples differ so much in size" in verdict.missing[0]
    assert all(check.passed for check in verdict.checks)


@pytest.mark.parametrize("shape", ["rows", "columns"])
def test_data_whose_rank_is_hidden_decide_nothing(shape):
    """Exact arithmetic knows the limit of the data as given; flows in float64 cannot go there."""
    row = np.array([0.1, 0.7, 0.3])
    X, y = np.vstack([row, 3 * row]), [1.0, 3.0]
    if shape == "columns":
        a, b = np.random.default_rng(1).standard_normal((2, 4)).round(3)
        X, y = np.column_stack([a, b, 2 * a - b]), 2 * a - b
    task, network = lp.Regression(X, y), lp.Diagonal(2)
    problem = lp.Problem(network, lp.Init.zero_last(network, task, scale=0.1), task)
    verdict = lp.verify(problem)
    assert verdict.limit.proof is not None
    assert verdict.outcome is lp.results.Outcome.INCONCLUSIVE
    assert "rounding hides the rank" in verdict.missing[0]


def test_a_prediction_that_is_not_certified_passes_no_verdict(monkeypatch):
    row = np.array([0.1, 0.7, 0.3])
    task = lp.Regression(np.vstack([row, 3 * row]), [1.0, 3.0])
    network = lp.Diagonal(2)
    problem = lp.Problem(network, lp.Init.zero_last(network, task, scale=0.1), task)
    with monkeypatch.context() as patch:
        patch.setattr(ENGINES, "predict", lambda problem, **_: lp.predict(problem, escalate=False))
        verdict = lp.verify(problem)
    assert verdict.limit.status is lp.Status.RANK_HIDDEN
    assert verdict.outcome is lp.results.Outcome.INCONCLUSIVE
    assert "not certified" in verdict.missing[0]
    verdict = lp.verify(problem)
    assert verdict.limit.status is lp.Status.PROVED
    assert verdict.outcome is lp.results.Outcome.INCONCLUSIVE
    assert "hides the rank" in verdict.missing[0]
