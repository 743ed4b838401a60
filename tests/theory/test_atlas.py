"""Which theorem is used, what its conditions say, and what happens when none applies."""

import pickle

import numpy as np
import pytest
from tests.networks.unmapped import Unmapped
from tests.refusals import no_theorem
from tests.theory.problems import diagonal_problem, gaussian_data, random_layers

import limitpoint as lp
from limitpoint.theory.atlas import register

X, Y = gaussian_data(3, 6)


def problem_from(*layers, **where):
    return diagonal_problem(X, Y, *layers, **where)


def condition(problem, theorem, part):
    """The condition of a theorem whose name contains `part`."""
    conditions = {t.id: c for t, c in lp.explain(problem).rows}[theorem]
    return next(c for c in conditions if part in c.name)


def applicable(problem):
    return [theorem.id for theorem in lp.explain(problem).applicable]


class TestRegistry:
    def test_lists_the_first_theorems_strongest_first(self):
        ids = [theorem.id for theorem in lp.atlas.theorems()]
        assert ids == [
            "yun2021.corollary4",
            "lyu2023.proposition2",
            "yun2021.theorem3",
            "lyu2023.corollary1.1",
            "lyu2023.theorem1",
            "lyu2023.theorem2",
            "varre2023.theorem3.1",
            "varre2023.theorem3.1_at_zero",
            "yun2021.corollary1",
            "yun2021.corollary2",
            "yun2021.corollary3",
            "yun2021.corollary5",
            "yun2021.corollary6",
            "yun2021.corollary7",
            "yun2021.theorem2",
            "yun2021.theorem5",
            "yun2021.theorem7",
            "zhao2026.corollary4.6",
            "labarriere2024.theorem1",
            "yun2021.corollary2_deep",
            "yun2021.corollary3_deep",
            "yun2021.theorem2_deep",
            "yun2021.theorem6",
            "limitpoint.rank_one",
            "limitpoint.rank_one_at_zero",
            "labarriere2024.theorem2",
            "varre2023.lemmaC.6",
            "varre2023.lemmaC.8",
            "limitpoint.diagonalisable",
            "limitpoint.separable",
            "limitpoint.lazy",
            "limitpoint.one_sample",
            "limitpoint.sign_constrained",
            "limitpoint.sign_constrained_at_zero",
            "limitpoint.boundary",
            "varre2023.theorem3.2a",
            "varre2023.theorem3.2b",
            "varre2023.theoremC.12",
            "limitpoint.null_space_law",
            "limitpoint.step_law",
            "limitpoint.weight_decay",
            "lyu2023.lemma3",
            "lyu2023.proposition1",
            "lyu2023.theorem3",
            "varre2023.proposition4.1",
            "yun2021.theorem1",
        ]

    def test_every_theorem_says_what_it_is(self):
        for theorem in lp.atlas.theorems():
            assert theorem.citation
            assert theorem.statement.endswith(".")
            assert theorem.concludes in ("limit", "set", "rate", "law", "model")
            assert (theorem.limit is None) == (theorem.concludes != "limit")
            assert theorem.id in repr(theorem)

    def test_an_id_can_be_registered_once_only(self):
        with pytest.raises(
            lp.errors.LimitpointError, match=r"yun2021\.corollary4 is registered already"
        ):
            register(lp.atlas.theorems()[0])


class TestChoice:
    def test_zero_last_is_yun(self):
        problem = problem_from(np.full(6, 0.7), np.zeros(6))
        assert lp.predict(problem).theorem.id == "yun2021.corollary5"

    def test_different_layers_are_labarriere(self):
        problem = problem_from(*random_layers(6))
        assert lp.predict(problem).theorem.id == "labarriere2024.theorem1"
        assert "labarriere2024.theorem2" in applicable(problem)

    def test_tied_layers_are_sign_constraints(self):
        a, b = random_layers(6)
        b[2] = a[2]
        problem = problem_from(a, b)
        assert lp.predict(problem).theorem.id == "limitpoint.sign_constrained"
        assert applicable(problem) == [
            "limitpoint.sign_constrained",
            "limitpoint.boundary",
            "limitpoint.step_law",
            "limitpoint.weight_decay",
        ]

    def test_the_theorems_that_share_a_problem_agree_on_it(self):
        problem = problem_from(np.full(6, 0.7), np.zeros(6))
        limits = {t.id: t.limit(problem).coef for t in lp.explain(problem).applicable if t.limit}
        assert len(limits) == 5
        first = limits["yun2021.corollary5"]
        # It projects y onto the range of X first: some roundings of y, times ‖X⁺‖ of order 1.
        np.testing.assert_allclose(limits.pop("limitpoint.boundary"), first, rtol=0, atol=1e-13)
        for other in limits.values():
            np.testing.assert_array_equal(other, first)

    @pytest.mark.parametrize("depth", [3, 4, 5])
    def test_depth_changes_nothing_in_the_choice(self, depth):
        equal = np.full(6, 0.7)
        layers = random_layers(6, depth)
        tied = np.array(layers)
        tied[1, 2] = tied[0, 2] = np.abs(tied[:, 2]).min() / 2
        for start, theorem in (
            ([equal] * (depth - 1) + [np.zeros(6)], "yun2021.corollary5"),
            (layers, "labarriere2024.theorem1"),
            (tied, "limitpoint.sign_constrained"),
        ):
            limit = lp.predict(problem_from(*start))
            assert limit.theorem.id == theorem
            assert limit.certificate.ok

    def test_other_networks_have_their_separable(self):
        network = lp.SignedPower(3)
        init = lp.Init(np.abs(random_layers(6)))
        limit = lp.predict(lp.Problem(network, init, lp.Regression(X, Y)))
        assert limit.theorem.id == "limitpoint.separable"
        assert limit.certificate.ok

    def test_infinite_scale_is_lazy(self):
        limit = lp.predict(problem_from(np.full(6, 0.7), np.zeros(6), scale=np.inf))
        assert limit.theorem.id == "limitpoint.lazy"
        assert limit.certificate.ok

    def test_signs_that_no_fit_has_are_on_the_boundary(self):
        problem = diagonal_problem([[1.0, 2.0]], [-3.0], [1.0, 1.0], [1.0, 1.0])
        assert lp.predict(problem).theorem.id == "limitpoint.boundary"
        laws = ["limitpoint.step_law", "limitpoint.weight_decay"]
        assert applicable(problem) == ["limitpoint.boundary", *laws]


class TestConditions:
    def test_a_tie_is_named(self):
        a, b = random_layers(6)
        b[2], b[4] = a[2], -a[4]
        found = condition(problem_from(a, b), "labarriere2024.theorem1", "strictly smallest")
        assert not found.holds
        assert found.margin == 0.0
        assert found.detail == "2 of 6 coordinates tie: 2, 4"

    def test_the_margin_is_the_smallest_relative_gap(self):
        a, b = np.full(6, 2.0), np.full(6, 1.0)
        b[3] = -1.5
        found = condition(problem_from(a, b), "labarriere2024.theorem1", "strictly smallest")
        assert found.holds
        assert found.margin == 0.25
        assert "coordinate 3" in found.detail

    def test_a_last_layer_that_is_not_zero_fails_by_its_size(self):
        b = np.zeros(6)
        b[1] = -0.3
        found = condition(problem_from(np.ones(6), b), "yun2021.corollary5", "last layer zero")
        assert not found.holds
        assert found.margin == -0.3

    def test_a_zero_in_the_common_layer_fails(self):
        a = np.ones(6)
        a[5] = 0.0
        found = condition(problem_from(a, np.zeros(6)), "yun2021.corollary5", "common layer zero")
        assert not found.holds
        assert found.margin == 0.0
        assert found.detail == "zero at 5"

    def test_layers_that_differ_fail_by_their_distance(self):
        layers = [np.ones(6), np.ones(6), np.zeros(6)]
        layers[1][4] = 0.75
        found = condition(problem_from(*layers), "yun2021.corollary5", "other layers equal")
        assert not found.holds
        assert found.margin == -0.25
        assert found.detail == "they differ by 0.25"

    @pytest.mark.parametrize("scale", [0.0, np.inf])
    def test_the_scale_is_reported(self, scale):
        problem = problem_from(*random_layers(6), scale=scale)
        regressions = [t for t in lp.atlas.theorems() if t.task is lp.Regression]
        for theorem in regressions:
            at_zero = theorem.id in (
                "zhao2026.corollary4.6",
                "limitpoint.sign_constrained_at_zero",
                "lyu2023.corollary1.1",
                "limitpoint.rank_one_at_zero",
                "varre2023.theorem3.1_at_zero",
                "yun2021.theorem7",
            )
            if theorem.id in ("limitpoint.diagonalisable", "limitpoint.weight_decay"):
                continue  # at every scale
            if theorem.id in ("yun2021.theorem6", "limitpoint.one_sample"):
                found = condition(problem, theorem.id, "scale below infinity")
                assert found.holds == (scale == 0.0)
                continue
            at_infinity = theorem.id == "limitpoint.lazy"
            name = "scale positive and finite"
            name = "scale zero" if at_zero else "scale infinite" if at_infinity else name
            holds = (at_zero and scale == 0.0) or (at_infinity and scale == np.inf)
            assert condition(problem, theorem.id, name).holds == holds

    def test_coefficients_that_start_elsewhere_have_no_lazy_limit(self):
        a, b = np.ones(6), np.zeros(6)
        b[[1, 3]] = [0.5, -2.0]
        found = condition(problem_from(a, b, scale=np.inf), "limitpoint.lazy", "start at zero")
        assert not found.holds
        assert found.margin == -2.0
        assert found.detail == "not zero: 1, 3"

    def test_bounded_coefficients_are_named(self):
        a, b = random_layers(6)
        b[[2, 4]] = [a[2], -a[4]]
        found = condition(problem_from(a, b), "limitpoint.separable", "bounded on one side")
        assert not found.holds
        assert found.detail == "bounded: features 2, 4"

    def test_sign_constraints_report_how_deep_inside_a_fit_can_be(self):
        """β₁ + 2β₂ = 3: in the deepest point each contributes half of the target."""
        problem = diagonal_problem([[1.0, 2.0]], [3.0], [1.0, 1.0], [1.0, 1.0])
        found = condition(problem, "limitpoint.sign_constrained", "sign constraints exists")
        assert found.holds
        # HiGHS solves linear programs to 1e-9 or so.
        assert found.margin == pytest.approx(0.5, rel=1e-7)
        assert found.detail.startswith("2 coefficients never cross their bound")

    def test_sign_constraints_report_how_far_outside_all_fits_are(self):
        problem = diagonal_problem([[1.0, 2.0]], [-3.0], [1.0, 1.0], [1.0, 1.0])
        found = condition(problem, "limitpoint.sign_constrained", "sign constraints exists")
        assert not found.holds
        assert found.margin == pytest.approx(-0.5, rel=1e-7)

    def test_opposite_layers_bound_the_other_side(self):
        problem = diagonal_problem([[1.0, 2.0]], [-3.0], [1.0, -1.0], [-1.0, 1.0])
        assert condition(problem, "limitpoint.sign_constrained", "sign constraints exists").holds


class TestNoTheorem:
    """At infinite scale coefficients that do not start at zero grow without limit."""

    problem = problem_from(*random_layers(6), scale=np.inf)

    def test_it_is_refused_with_the_nearest(self):
        with no_theorem("start at zero") as found:
            lp.predict(self.problem)
        message = str(found.value)
        assert "The nearest, limitpoint.lazy, misses one condition:" in message
        assert "- coefficients start at zero (margin -" in message
        assert "To change: start from zero coefficients" in message
        again = pickle.loads(pickle.dumps(found.value))
        assert (str(again), again.explanation) == (message, found.value.explanation)

    def test_it_is_a_value_error(self):
        with pytest.raises(ValueError, match="no theorem predicts"):
            lp.predict(self.problem)

    @pytest.mark.parametrize("scale", [0.0, 1.0, np.inf])
    def test_a_network_without_a_mirror_map(self, scale):
        problem = lp.Problem(Unmapped(), lp.Init(random_layers(6, 4), scale), lp.Regression(X, Y))
        with no_theorem():
            lp.predict(problem)

    def test_a_scale_that_overflows_is_refused(self):
        with pytest.raises(lp.errors.ScaleNotRepresentable, match="overflows float64"):
            lp.predict(problem_from(*random_layers(6), scale=1e200))


class TestExplanation:
    explanation = lp.explain(problem_from(*random_layers(6)))

    def test_to_dict(self):
        plain = self.explanation.to_dict()
        assert plain["labarriere2024.theorem1"]["applies"] is True
        assert plain["yun2021.corollary5"]["applies"] is False
        failing = [c for c in plain["yun2021.corollary5"]["conditions"] if not c["holds"]]
        assert [c["name"] for c in failing] == ["last layer zero"]
