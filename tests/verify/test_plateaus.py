"""Plateaus of the exact flow against saddles: agreement, and that disagreement is noticed."""

import dataclasses
import functools
import importlib

import jax.numpy as jnp
import numpy as np
import pytest
from tests.theory.problems import diagonal_problem, gaussian_problem

import limitpoint as lp
from limitpoint.dynamics.coordinates import RTOL
from limitpoint.verify.checks.plateaus import RESOLVED, compare_plateaus
from limitpoint.verify.sensitivity import sensitivity_of

# The modules, to replace what they imported.
VERIFY_MODULE = importlib.import_module("limitpoint.verify.verify")
ENGINES = importlib.import_module("limitpoint.verify.engines")
LOG_1E_MINUS_1000 = -2302.6
# Here the delays, which are times of order one to a hundred, are less than a percent of log(1/s).
TINIEST = -1e5


@functools.cache
def evidence_of(seed):
    problem = gaussian_problem(4, 10, seed, dense=True, log_scale=TINIEST)
    limit = lp.predict(problem)
    return VERIFY_MODULE.independent_evidence(problem, limit, sensitivity_of(problem, limit))


def failing(verdict):
    return [check.name for check in verdict.checks if not check.passed]


def saddle_checks(verdict):
    return [check for check in verdict.checks if check.name.startswith("saddle")]


def disagreements(plateaus):
    return [
        (p.number, p.value_error / p.value_tolerance, p.mirror_error / p.mirror_tolerance)
        for p in plateaus
        if not (
            p.value_error <= p.value_tolerance
            and p.mirror_error <= p.mirror_tolerance
            and p.same_support
        )
    ]


def spread_problem(network, m, n, seed, scale):
    """Layers whose entries differ by three orders of magnitude, activation times by many more."""
    rng = np.random.default_rng(seed)
    task = lp.Regression(rng.standard_normal((m, n)), rng.standard_normal(m))
    shapes = network.layer_shapes(task)
    layers = [rng.choice([-1, 1], shape) * 10 ** rng.uniform(-3, 0, shape) for shape in shapes]
    return lp.Problem(network, lp.Init(layers, scale), task)


class TestAgreement:
    @pytest.mark.parametrize(
        ("network", "m", "n", "seed", "scale"),
        [
            # Mirror coordinates of 1e4 and more, which no flow holds to 1e-8.
            (lp.Diagonal(6), 2, 2, 3, 0.03),
            (lp.SignedPower(4), 2, 3, 2, 1e-4),
            # Values that the flow in sample space holds as well as it does the mirror coordinates.
            (lp.Power(5), 3, 3, 0, 0.5),
            (lp.SignedPower(5), 3, 4, 0, 0.7),
            # A coefficient that leaves against a negative gradient much weaker than its own.
            (lp.SignedPower(5), 3, 4, 3, 0.7),
        ],
    )
    def test_spread_starts(self, network, m, n, seed, scale):
        plateaus, _ = compare_plateaus(spread_problem(network, m, n, seed, scale))
        assert plateaus
        assert disagreements(plateaus) == []

    def test_spread_starts_at_wrong_times_disagree(self):
        """One per cent of the times is one of ξ too, however long these are."""
        problem = spread_problem(lp.Diagonal(6), 2, 2, 3, 0.03)
        path = lp.analysis.saddles(problem)
        late = dataclasses.replace(path, path_times=1.01 * path.path_times)
        assert disagreements(compare_plateaus(problem, path_of=lambda problem: late)[0])

    @pytest.mark.parametrize("depth", [2, 4])
    def test_coefficients_that_never_move_have_no_mirror_coordinate_to_compare(self, depth):
        """The dual is integrated where it moves something; y is out of reach without feature 2."""
        X = np.array([[1.0, 0.2, 3.0], [0.3, 1.0, -2.0], [-0.2, 0.4, 5.0]])
        task = lp.Regression(X, [1.0, 0.5, 1.0])
        init = lp.Init([[1.0, 0.7, 0.0]], log_scale=-690.0 if depth == 2 else -20.0)
        plateaus, _ = compare_plateaus(lp.Problem(lp.Power(depth=depth), init, task))
        assert plateaus
        assert disagreements(plateaus) == []

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 8))]
    )
    def test_verdicts_at_tiny_scales_include_the_saddles_and_pass(self, seed):
        problem = gaussian_problem(4, 10, 100 + seed, dense=True, log_scale=LOG_1E_MINUS_1000)
        verdict = lp.verify(problem)
        value, xi, order = saddle_checks(verdict)
        assert value.name.endswith(": value")
        assert xi.name.endswith(": mirror coordinates")
        assert order.name == "saddles: in another order"
        assert (order.measured, order.tolerance) == (0.0, 0.0)
        assert failing(verdict) == []

    @pytest.mark.parametrize(
        ("m", "n", "seed", "log_scale"),
        [
            (4, 10, 0, LOG_1E_MINUS_1000),
            (4, 10, 1, -690.0),
            (5, 12, 42, -690.0),
            (8, 20, 25, -690.0),
            (5, 12, 58, -60.0),
        ],
    )
    def test_a_sleeper_that_was_driven_harder_at_an_earlier_saddle(self, m, n, seed, log_scale):
        """Its ξ is off by earlier delays times earlier gradients, not times the present one."""
        problem = gaussian_problem(m, n, seed, dense=True, log_scale=log_scale)
        plateaus, _ = compare_plateaus(problem)
        assert disagreements(plateaus) == []

    @pytest.mark.parametrize("loss_factor", [0.1, 10.0])
    def test_with_a_loss_factor(self, loss_factor):
        plain = gaussian_problem(4, 10, 100, dense=True, log_scale=LOG_1E_MINUS_1000)
        task = lp.Regression(plain.task.X, plain.task.y, loss_factor)
        plateaus, unresolved = compare_plateaus(lp.Problem(plain.network, plain.init, task))
        expected, expected_unresolved = compare_plateaus(plain)
        assert disagreements(plateaus) == []
        assert unresolved == expected_unresolved
        assert [p.number for p in plateaus] == [p.number for p in expected]
        np.testing.assert_allclose(
            [p.time * loss_factor for p in plateaus], [p.time for p in expected], rtol=1e-12
        )

    def test_numbers_times_and_the_count_of_the_others(self):
        problem = gaussian_problem(4, 10, 100, dense=True, log_scale=TINIEST)
        path = lp.analysis.saddles(problem)
        plateaus, unresolved = compare_plateaus(problem)
        # The last saddle is the limit, compared elsewhere.
        assert len(plateaus) + unresolved == path.n_saddles - 1
        for p in plateaus:
            begin, end = path.path_times[[p.number, p.number + 1]] * path.time_unit
            assert p.time == pytest.approx((begin + end) / 2)


class TestUnresolved:
    def test_notes_count_the_plateaus_that_are_too_short(self):
        """At scale 1e-3 no plateau is flat to `RESOLVED`: inactive ones are about 1e-6 of it."""
        problem = gaussian_problem(4, 10, 100, dense=True, scale=1e-3)
        plateaus, unresolved = compare_plateaus(problem)
        assert plateaus == ()
        assert unresolved == lp.analysis.saddles(problem).n_saddles - 1
        verdict = lp.verify(problem)
        assert saddle_checks(verdict) == []
        assert verdict.notes == (
            f"{unresolved} plateaus before the limit are too short at this scale to be compared.",
        )

    def test_fewer_as_the_scale_falls_and_none_in_the_end(self):
        counts = [
            compare_plateaus(gaussian_problem(4, 10, 100, dense=True, log_scale=log_scale))[1]
            for log_scale in (-10.0, -100.0, -1000.0, TINIEST)
        ]
        assert counts == sorted(counts, reverse=True)
        assert counts[0] > 0
        assert counts[-1] == 0

    def test_what_is_compared_is_resolved(self):
        """The predicted error is within `RESOLVED`, the tolerance twice that and the integrator."""
        problem = gaussian_problem(4, 10, 2, dense=True, log_scale=-2000.0)
        plateaus, _ = compare_plateaus(problem)
        assert plateaus
        integration = RTOL * 201.0
        assert all(p.value_tolerance <= 2 * (RESOLVED + integration) for p in plateaus)

    @pytest.mark.parametrize("scale", [1.0, 10.0])
    def test_there_are_no_plateaus_at_large_scale(self, scale):
        assert compare_plateaus(gaussian_problem(4, 10, dense=True, scale=scale)) == ((), 0)

    def test_one_saddle_has_no_plateau_before_the_limit(self):
        problem = diagonal_problem([[1.0, 2.0]], [1.0], [1.0, 1.0], [0.0, 0.0], log_scale=-500.0)
        assert lp.analysis.saddles(problem).n_saddles == 1
        assert compare_plateaus(problem) == ((), 0)
        verdict = lp.verify(problem)
        assert verdict.passed
        assert not any("plateaus" in note for note in verdict.notes)

    def test_zero_targets_have_no_saddles(self):
        problem = diagonal_problem([[1.0, 2.0]], [0.0], [1.0, 1.0], [0.0, 0.0], log_scale=-500.0)
        assert compare_plateaus(problem) == ((), 0)

    def test_a_network_without_a_mirror_map_is_left_out(self):
        layers = np.random.default_rng(0).standard_normal((3, 2))
        problem = diagonal_problem([[1.0, 2.0]], [1.0], *layers, scale=1e-3)
        assert compare_plateaus(problem) == ((), 0)

    @pytest.mark.slow
    def test_a_path_that_leaves_where_k_is_known(self):
        """At a saddle beyond, no rate is known: it counts as never reached, and so do the next."""

        def known_in_a_disc(block):
            return jnp.where(block @ block < 4, block[0] * block[1], jnp.nan)

        X = np.random.default_rng(0).standard_normal((2, 4))
        network, task = lp.General(known_in_a_disc, block_size=2), lp.Regression(X, [5.0, 4.0])
        problem = lp.Problem(network, lp.Init.random(network, task, 1e-8, seed=1), task)
        plateaus, unresolved = compare_plateaus(problem)
        assert plateaus == ()
        assert unresolved == lp.analysis.saddles(problem).n_saddles - 1


class TestDisagreement:
    """A comparison that cannot fail certifies nothing."""

    @pytest.fixture(params=[100, 101, 102])
    def problem(self, request, monkeypatch):
        """With the flows that do not meet the saddles run once."""
        problem = gaussian_problem(4, 10, request.param, dense=True, log_scale=TINIEST)
        evidence = evidence_of(request.param)
        monkeypatch.setattr(VERIFY_MODULE, "independent_evidence", lambda *given: evidence)
        return problem

    def follow_wrongly(self, monkeypatch, change):
        def saddles(problem):
            path = lp.analysis.saddles(problem)
            return dataclasses.replace(path, **change(path))

        monkeypatch.setattr(ENGINES, "saddles", saddles)

    @pytest.mark.slow
    def test_nothing_changed_passes(self, monkeypatch, problem):
        self.follow_wrongly(monkeypatch, lambda path: {})
        assert failing(lp.verify(problem)) == []

    def test_values_off_by_a_percent(self, monkeypatch, problem):
        self.follow_wrongly(monkeypatch, lambda path: {"sparse_coefs": 1.01 * path.sparse_coefs})
        assert any(": value" in name for name in failing(lp.verify(problem)))

    def test_values_of_one_saddle_off_by_a_percent(self, monkeypatch, problem):
        def second(path):
            factors = np.where(np.arange(path.n_saddles + 1) == 2, 1.01, 1.0)
            return {"sparse_coefs": path.sparse_coefs.multiply(factors[:, None]).tocsr()}

        self.follow_wrongly(monkeypatch, second)
        assert "saddle 2: value" in failing(lp.verify(problem))

    def test_times_off_by_a_percent(self, monkeypatch, problem):
        """The mirror coordinates, in units of h, run at the negative gradient.

        1 % of a time of order one is 1e-2.
        """
        self.follow_wrongly(monkeypatch, lambda path: {"path_times": 1.01 * path.path_times})
        found = failing(lp.verify(problem))
        assert any(": mirror coordinates" in name for name in found)

    def test_a_time_unit_off_by_a_percent(self, monkeypatch, problem):
        self.follow_wrongly(monkeypatch, lambda path: {"time_unit": 0.99 * path.time_unit})
        found = failing(lp.verify(problem))
        assert any(": mirror coordinates" in name for name in found)

    def test_saddles_in_another_order(self, monkeypatch, problem):
        def exchanged(path):
            rows = np.arange(path.n_saddles + 1)
            rows[[1, 2]] = 2, 1
            return {"sparse_coefs": path.sparse_coefs[rows]}

        self.follow_wrongly(monkeypatch, exchanged)
        assert "saddles: in another order" in failing(lp.verify(problem))
