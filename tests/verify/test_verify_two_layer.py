"""Verdicts on two-layer networks: they pass when prediction and flows agree, and fail when not."""

import dataclasses
import functools
import importlib
import json

import numpy as np
import pytest
from tests.oracles.flows import two_layer_flow as oracle
from tests.refusals import no_theorem

import limitpoint as lp
from limitpoint.errors import InitError, ScaleNotRepresentable

# Where `verify` takes prediction and dynamics from.
module = importlib.import_module("limitpoint.verify.engines")

OWN_CHECKS = {
    "parameter flow: W₁W₁ᵀ",
    "parameter flow: W₂ᵀW₂",
    "parameter flow: singular values of the layers",
    "loss above the bound of varre2023.lemmaC.6",
}


def orthogonal(X, Y, width, loss_factor=1.0, seed=0, **start):
    task, network = lp.Regression(X, Y, loss_factor), lp.TwoLayer(width)
    return lp.Problem(network, lp.Init.orthogonal(network, task, seed=seed, **start), task)


def failed(verdict):
    return {check.name for check in verdict.checks if not check.passed}


def out_of_range():
    X, Y = oracle.data(6, 3, 2, 0)
    return X, Y + np.random.default_rng(0).standard_normal(Y.shape)


def rank_deficient():
    # Of small integers: a product of floats has full rank, exactly.
    rng = np.random.default_rng(0)
    X = (rng.integers(-9, 10, (4, 2)) @ rng.integers(-9, 10, (2, 4))) / 32.0
    X[:, 1] = 0.0
    return X, X @ np.ones((4, 2))


def orthogonal_to_the_range():
    X, _ = oracle.data(6, 3, 2, 0)
    return X, np.linalg.svd(X)[0][:, 3:5]


class TestPasses:
    @pytest.mark.parametrize(
        ("data", "width", "gamma"),
        [
            (oracle.data(3, 5, 3, 0), 5, 1e3),
            (oracle.data(3, 5, None, 1), 6, 1e-3),
            (oracle.data(2, 3, 1, 2), 3, 1e-12),
            (oracle.whitened_data(5, 4, 2, 3, size=2.0), 4, 1e-6),
            (oracle.whitened_data(3, 3, 2, 3), 3, 1e3),
            (oracle.data(3, 2, 4, 4), 2, 1.0),
            (out_of_range(), 4, 0.1),
            (rank_deficient(), 5, 0.1),
            (orthogonal_to_the_range(), 3, 0.1),
            ((np.eye(2, 3), np.zeros((2, 2))), 3, 0.1),
            (([[2.0], [1.0]], [1.0, 0.5]), 1, 0.01),
        ],
        ids=[
            "large γ",
            "vector",
            "k=1, tiny γ",
            "whitened",
            "whitened, large γ",
            "k>n",
            "least squares",
            "rank and column missing",
            "orthogonal to the range",
            "Y=0",
            "1×1",
        ],
    )
    def test_spread(self, data, width, gamma):
        verdict = lp.verify(orthogonal(*data, width, gamma=gamma))
        assert verdict.passed, verdict
        names = {check.name for check in verdict.checks}
        assert names >= OWN_CHECKS
        assert {"sample flow: distance", "parameter flow: distance"} <= names
        assert "parameter flow: invariant drift" in names
        # Tolerances that let a percent pass would certify nothing.
        assert all(check.tolerance < 1e-5 for check in verdict.checks)
        one_output = np.ndim(data[1]) == 1 or np.shape(data[1])[1] == 1
        assert ("loss above the bound of varre2023.lemmaC.8" in names) == one_output

    def test_wide_layers_with_a_loss_factor(self):
        verdict = lp.verify(orthogonal(*oracle.data(3, 4, 2, 0), 100, 0.3, gamma=1.0))
        assert verdict.passed, verdict

    def test_with_training(self):
        """Stable below 2/(λ_max (σ(W₁)² + σ(W₂)²)), about 0.1 here."""
        problem = orthogonal(*oracle.data(3, 4, 2, 0), 5, gamma=0.1)
        verdict = lp.verify(problem, training=lp.GD(0.01), steps=5000)
        assert verdict.passed, verdict
        assert verdict.training.steps[-1] == 5000

    def test_as_a_value(self):
        verdict = lp.verify(orthogonal(*oracle.data(2, 3, 2, 0), 3, gamma=0.1))
        plain = verdict.to_dict()
        assert json.loads(json.dumps(plain)) == plain
        assert plain["limit"]["theorem"] == "varre2023.theorem3.1"
        text = str(verdict)
        assert "PASSED" in text
        assert "Corollary 3.1" in text
        assert verdict.to_xarray()["passed"].all()


@functools.cache
def known(kind):
    """A problem, its limit and its two flows."""
    if kind == "whitened":
        data = oracle.whitened_data(4, 4, 2, 0, size=2.0)
    else:
        data = oracle.data(3, 5, 2, 0)
    problem = orthogonal(*data, 6, gamma=0.05)
    flows = {
        space: lp.flow(problem, space=space()) for space in (lp.SampleSpace, lp.ParameterSpace)
    }
    return problem, lp.predict(problem), flows


@pytest.fixture(params=["generic", "whitened"])
def case(request, monkeypatch):
    """The problem and its limit, with flows already run; `judge` a changed prediction."""
    problem, limit, flows = known(request.param)
    monkeypatch.setattr(module, "flow", lambda problem, space: flows[type(space)])

    def judge(**change):
        wrong = dataclasses.replace(limit, **change)
        monkeypatch.setattr(module, "predict", lambda problem: wrong)
        return failed(lp.verify(problem))

    return request.param, problem, limit, judge


def turned(angle):
    """A rotation of the six neurons by this angle in three planes."""
    turn = np.zeros((6, 6))
    c, s = np.cos(angle), np.sin(angle)
    for i in (0, 2, 4):
        turn[i : i + 2, i : i + 2] = [[c, -s], [s, c]]
    return turn


class TestFails:
    """A verdict that cannot fail certifies nothing."""

    def test_not_by_itself(self, case):
        assert case[3]() == set()

    def test_coefficients_off_by_a_percent(self, case):
        _, _, limit, judge = case
        found = judge(coef=1.01 * limit.coef)
        assert {"sample flow: distance", "parameter flow: distance"} <= found

    def test_another_interpolator(self, case):
        kind, problem, limit, judge = case
        if kind == "whitened":
            # There is no other: as many independent samples as features.
            assert np.linalg.matrix_rank(problem.task.X) == problem.task.n_features
            return
        null = np.linalg.svd(problem.task.X)[2][-1]
        aside = 0.01 * np.linalg.norm(limit.coef) * np.outer(null, [0.6, 0.8])
        found = judge(coef=limit.coef + aside)
        assert {"sample flow: distance", "parameter flow: distance"} <= found

    @pytest.mark.parametrize("part", [1e-2, 1e-4])
    def test_one_output_of_many(self, case, part):
        """A single coefficient of the matrix."""
        _, _, limit, judge = case
        coef = limit.coef.copy()
        coef[1, 1] += part * np.linalg.norm(coef)
        assert {"sample flow: distance", "parameter flow: distance"} <= judge(coef=coef)

    def test_a_first_layer_off_by_a_percent(self, case):
        _, _, limit, judge = case
        found = judge(layers=(1.01 * limit.layers[0], limit.layers[1]))
        assert "parameter flow: W₁W₁ᵀ" in found
        assert "parameter flow: W₂ᵀW₂" not in found

    def test_a_second_layer_off_by_a_percent(self, case):
        _, _, limit, judge = case
        found = judge(layers=(limit.layers[0], 1.01 * limit.layers[1]))
        assert "parameter flow: W₂ᵀW₂" in found
        assert "parameter flow: W₁W₁ᵀ" not in found

    def test_a_second_layer_off_by_a_percent_at_large_gamma(self, monkeypatch):
        """W₂ᵀW₂ ≈ βᵀβ/(2γ) moves as little with β as it is small: no excuse for a loose tolerance.

        `d(√(s²+γ²) − γ)/ds = s/√(s²+γ²)`, relative to the value 2/s at most, whatever γ.
        """
        problem = orthogonal(*oracle.data(3, 5, 2, 0), 5, gamma=1e6)
        limit = lp.predict(problem)
        run = lp.flow(problem)
        monkeypatch.setattr(module, "flow", lambda problem, space: run)
        wrong = dataclasses.replace(limit, layers=(limit.layers[0], 1.01 * limit.layers[1]))
        monkeypatch.setattr(module, "predict", lambda problem: wrong)
        assert "parameter flow: W₂ᵀW₂" in failed(lp.verify(problem))

    def test_layers_of_another_gamma(self, case):
        """Same β, also stationary for its own potential."""
        _, problem, limit, judge = case
        scale = np.sqrt(1.01) * problem.init.scale
        other = lp.predict(dataclasses.replace(problem, init=problem.init.at_scale(scale)))
        np.testing.assert_array_equal(other.coef, limit.coef)
        found = judge(layers=other.layers)
        assert {"parameter flow: W₁W₁ᵀ", "parameter flow: W₂ᵀW₂"} <= found

    def test_layers_that_do_not_give_the_coefficients(self, case):
        """W₂ alone turned by a percent: its Gram matrix is right, `W₁W₂` is not."""
        _, _, limit, judge = case
        assert judge(layers=(limit.layers[0], turned(0.01) @ limit.layers[1])) != set()

    def test_both_layers_turned(self, case):
        """Open for generic data; on whitened data the theorem determines the layers entirely."""
        kind, _, limit, judge = case
        turn = turned(0.01)
        found = judge(layers=(limit.layers[0] @ turn.T, turn @ limit.layers[1]))
        assert (found != set()) == (kind == "whitened")

    def test_a_certificate_that_does_not_hold(self, case):
        bad = lp.results.Certificate({"stationarity": 1e-6})
        assert case[3](certificate=bad) == {"limit: stationarity"}

    def test_flows_from_elsewhere(self, monkeypatch):
        """Rows of W₁ off by a percent: the singular values are not those of Corollary 3.1."""
        problem, limit, _ = known("generic")
        first, second = problem.init.layers
        noise = np.random.default_rng(0).standard_normal(first.shape)
        moved = lp.Init.from_layers((first + 0.01 * np.abs(first).max() * noise, second))
        wrong = dataclasses.replace(problem, init=moved)
        run = lp.flow(wrong)
        monkeypatch.setattr(module, "flow", lambda problem, space: run)
        found = failed(lp.verify(problem))
        assert {
            "parameter flow: singular values of the layers",
            "parameter flow: W₁W₁ᵀ",
            "parameter flow: W₂ᵀW₂",
        } <= found
        assert lp.predict(problem).layers is not limit.layers

    def test_a_bound_that_is_broken(self, case, monkeypatch):
        real = module.two_layer_bounds

        def halved(problem, times):
            return {name: 0.5 * bound for name, bound in real(problem, times).items()}

        monkeypatch.setattr(module, "two_layer_bounds", halved)
        assert case[3]() == {"loss above the bound of varre2023.lemmaC.6"}

    def test_conserved_quantities_that_move(self, case, monkeypatch):
        """The second layer off by a percent in the middle of the run."""
        real = module.flow

        def leaking(problem, space):
            run = real(problem, space)
            layer = np.array(run.layers[1])
            layer[len(layer) // 2 : -1] *= 1.01
            layers = (run.layers[0], layer)
            return dataclasses.replace(run, layers=layers)

        monkeypatch.setattr(module, "flow", leaking)
        found = case[3]()
        assert "parameter flow: invariant drift" in found
        assert found <= {
            "parameter flow: invariant drift",
            "parameter flow: singular values of the layers",
        }

    def test_flows_that_did_not_arrive(self, monkeypatch):
        problem, _, _ = known("generic")
        short = lp.flow(problem, t_end=0.5)
        monkeypatch.setattr(module, "flow", lambda problem, space: short)
        verdict = lp.verify(problem)
        assert {"sample flow: relative residual", "parameter flow: relative residual"} <= failed(
            verdict
        )
        assert "their flow did not arrive" in verdict.missing[0]

    def test_training_that_is_not_finished(self):
        problem = orthogonal(*oracle.data(3, 4, 2, 0), 5, gamma=0.1)
        verdict = lp.verify(problem, training=lp.GD(1e-3), steps=10)
        assert "training: relative residual" in failed(verdict)


class TestErrors:
    @pytest.mark.parametrize("scale", [0.0, np.inf])
    def test_at_the_limits(self, scale):
        with pytest.raises(InitError, match="verify needs a positive, finite scale"):
            lp.verify(orthogonal(*oracle.data(3, 4, 2, 0), 5, scale=scale))

    def test_below_the_smallest_float(self):
        with pytest.raises(ScaleNotRepresentable, match="cannot be held in float64"):
            lp.verify(orthogonal(*oracle.data(3, 4, 2, 0), 5, log_scale=-2302.6))

    def test_perturbed(self):
        with no_theorem("rows of the first layer orthonormal"):
            lp.verify(orthogonal(*oracle.data(3, 4, 2, 0), 5, gamma=0.1, perturbation=0.1))
