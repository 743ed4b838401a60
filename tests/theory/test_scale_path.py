"""The limit along the scale: equal to single predictions, cheaper, and its ends at their rates."""

import json

import numpy as np
import pytest
from tests.oracles.potential_min import minimum_weighted_l2
from tests.refusals import no_theorem
from tests.theory.problems import diagonal_problem, gaussian_data, random_layers

import limitpoint as lp

SCALES = np.geomspace(1e-8, 1e2, 60)
# Residuals of Newton's method, relative.
NEWTON = 1e-10


def path_problem(depth, seed, *, zero_last=True, dense=True, m=8, n=20):
    X, y = gaussian_data(m, n, seed)
    if dense:
        y = np.random.default_rng(seed + 9).standard_normal(m)
    equal = [np.ones(n)] * (depth - 1) + [np.zeros(n)]
    return diagonal_problem(X, y, *(equal if zero_last else random_layers(n, depth, seed=seed)))


def at(problem, scale):
    return lp.Problem(problem.network, problem.init.at_scale(float(scale)), problem.task)


def is_certified(limit, scale):
    """But where coefficients of `scale^depth` hide some target in their rounding."""
    return limit.status.ok or (limit.status is lp.Status.DATA_HIDDEN and scale >= 10)


@pytest.mark.slow
@pytest.mark.parametrize("depth", [2, 3, 5])
def test_equal_to_single_predictions_at_a_fraction_of_the_steps(depth):
    """60 scales cost fewer Newton steps than 15 single predictions."""
    for seed, zero_last, dense in ((0, True, True), (1, True, False), (2, False, True)):
        problem = path_problem(depth, seed, zero_last=zero_last, dense=dense)
        path = lp.predict_path(problem, SCALES)
        singles = [lp.predict(at(problem, scale)) for scale in SCALES]
        start = np.prod(problem.init.direction, axis=0)
        for limit, single, scale in zip(path.limits, singles, SCALES, strict=True):
            assert limit.theorem is single.theorem
            assert is_certified(limit, scale)
            assert is_certified(single, scale)
            apart = np.linalg.norm(limit.coef - single.coef)
            # Each to Newton's residual, and an order of magnitude for the data's condition.
            size = np.linalg.norm(single.coef) + scale**depth * np.linalg.norm(start)
            assert apart <= 10 * NEWTON * size
        assert path.iterations == sum(limit.iterations for limit in path.limits)
        assert path.iterations <= 15 * np.mean([single.iterations for single in singles])


@pytest.mark.parametrize("depth", [5, 6])
@pytest.mark.parametrize("zero_last", [True, False])
@pytest.mark.parametrize("seed", [0, 14])
def test_sparse_targets_of_deep_networks_cost_no_more(depth, zero_last, seed):
    """At the lower end only a few coefficients move, and rounding must not stir the others."""
    problem = path_problem(depth, seed, zero_last=zero_last, dense=False)
    path = lp.predict_path(problem, SCALES)
    assert all(map(is_certified, path.limits, SCALES))
    # Of every sixth single prediction: they take nearly the same number of steps each.
    singles = [lp.predict(at(problem, scale)).iterations for scale in SCALES[::6]]
    assert path.iterations <= 15 * np.mean(singles)


def regressed_exponent(scales, distances):
    """Of a power law: the slope in logarithms, with what scatter there is around it."""
    slope, intercept = np.polyfit(np.log(scales), np.log(distances), 1)
    scatter = np.log(distances) - slope * np.log(scales) - intercept
    return slope, float(np.abs(scatter).max())


class TestRates:
    """Distances from the two ends, for equal layers w̄ and a zero last one (β(0) = 0)."""

    m, n = 4, 10
    common = np.random.default_rng(3).uniform(0.6, 1.5, n)

    def problem(self, depth):
        X, _ = gaussian_data(self.m, self.n)
        y = np.random.default_rng(5).standard_normal(self.m)
        return diagonal_problem(X, y, *[self.common] * (depth - 1), np.zeros(self.n))

    @pytest.mark.parametrize("depth", [2, 3, 4, 5])
    def test_to_the_lazy_limit(self, depth):
        """`s^{−2L}`.

        At scale s, `Ψ(ξ) = s^L Ψ₁(s^{L−2}ξ)` with Ψ₁ odd (the start is zero, and with v also −v is
        a solution): `Ψ₁(x) = Dx(1 + O(x²))`. Coefficients of order 1 need `x = O(s^{−L})`, so that
        the map differs from a linear one by `x² = O(s^{−2L})`, relative, and the limit likewise.
        """
        problem = self.problem(depth)
        # The next term, s^−2L relative, is below 1e-3; distances are 100 times Newton's residual.
        scales = np.geomspace(10 ** (1.5 / depth), 10 ** (3.5 / depth), 6)
        path = lp.predict_path(problem, [*scales, np.inf])
        lazy = path.coefs[-1]
        weights = self.common ** (2.0 - 2 * depth)
        expected = minimum_weighted_l2(problem.task.X, problem.task.y, weights)
        np.testing.assert_allclose(lazy, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
        distances = np.linalg.norm(path.coefs[:-1] - lazy, axis=1)
        slope, scatter = regressed_exponent(scales, distances)
        # 1e-3 of the first point by the next term, 1e-2 of the last by Newton's residual.
        assert slope == pytest.approx(-2 * depth, rel=1e-2)
        assert scatter < 1e-2
        final = lp.predict_path(problem, [1e2]).coefs[0]
        assert np.linalg.norm(final - lazy) <= 10 * NEWTON * np.linalg.norm(lazy)

    @pytest.mark.parametrize("depth", [3, 4, 5])
    def test_to_the_limit_of_vanishing_scale(self, depth):
        """`s^L`, where the ℓ1 solution has as many coefficients as there are samples.

        A coefficient outside the support has a mirror coordinate strictly inside its poles, `|x| <
        t`, in units `s^{2−L}`: its size is `s^L Ψ₁(x)`. Those of the support solve m equations with
        m unknowns, so they are off by the same order, whatever their mirror coordinates are (`t −
        O(s^{L−2})`, which moves the duals and, to next order, the x of the others).
        """
        problem = self.problem(depth)
        scales = np.geomspace(10 ** (-11 / depth), 10 ** (-7 / depth), 6)
        path = lp.predict_path(problem, [*scales, 0.0])
        sparse = path.coefs[-1]
        assert np.count_nonzero(sparse) == self.m
        distances = np.linalg.norm(path.coefs[:-1] - sparse, axis=1)
        slope, scatter = regressed_exponent(scales, distances)
        # Relative corrections of order s^{L−2}: at depth 3 the first-order term is the scale
        # itself, up to 5e-3, times activation times of order 1 over distances from the poles.
        assert slope == pytest.approx(depth, rel=2e-2)
        assert scatter < 5e-2
        final = lp.predict_path(problem, [1e-8]).coefs[0]
        # s^L is below rounding.
        assert np.linalg.norm(final - sparse) <= NEWTON * np.linalg.norm(sparse)

    def test_depth_two_reaches_vanishing_scale_logarithmically_only(self):
        problem = self.problem(2)
        path = lp.predict_path(problem, [1e-8, 1e-4, 0.0])
        near, far = np.linalg.norm(path.coefs[:2] - path.coefs[2], axis=1)
        assert 1e-3 < near < far


class TestScales:
    problem = path_problem(3, 0, m=3, n=6)

    def test_both_ends_and_everything_between_in_one_call(self):
        scales = [1.0, 0.0, np.inf, 1e-3]
        path = lp.predict_path(self.problem, scales)
        np.testing.assert_array_equal(path.scales, scales)
        for scale, limit in zip(scales, path.limits, strict=True):
            single = lp.predict(at(self.problem, scale))
            assert limit.theorem is single.theorem
            np.testing.assert_allclose(limit.coef, single.coef, rtol=0, atol=10 * NEWTON)
        ids = [limit.theorem.id for limit in path.limits]
        assert ids == [
            "yun2021.corollary5",
            "zhao2026.corollary4.6",
            "limitpoint.lazy",
            "yun2021.corollary5",
        ]
        assert path.certified

    def test_the_order_of_scales_is_kept(self):
        scales = np.geomspace(1e-4, 10, 7)
        order = np.random.default_rng(0).permutation(7)
        plain = lp.predict_path(self.problem, scales)
        mixed = lp.predict_path(self.problem, scales[order])
        np.testing.assert_array_equal(mixed.scales, scales[order])
        # They are solved in the same order, whatever order they are asked for in.
        np.testing.assert_array_equal(mixed.coefs, plain.coefs[order])

    def test_a_scale_twice(self):
        path = lp.predict_path(self.problem, [0.1, 1.0, 0.1])
        np.testing.assert_allclose(path.coefs[0], path.coefs[2], rtol=0, atol=10 * NEWTON)
        assert path.certified

    def test_the_problem_s_own_scale_is_not_used(self):
        one = lp.predict_path(self.problem, [0.5, 2.0]).coefs
        np.testing.assert_array_equal(
            lp.predict_path(at(self.problem, np.inf), [0.5, 2.0]).coefs, one
        )
        np.testing.assert_array_equal(lp.predict_path(at(self.problem, 0.0), [0.5, 2.0]).coefs, one)

    def test_on_the_boundary_each_scale_is_solved_by_itself(self):
        """limitpoint.boundary takes no warm starts."""
        problem = diagonal_problem(np.eye(2), [1.0, -1.0], *[np.ones(2)] * 3)
        path = lp.predict_path(problem, [1e-3, 1.0])
        assert {limit.theorem.id for limit in path.limits} == {"limitpoint.boundary"}
        np.testing.assert_allclose(path.coefs, [[1.0, 0.0], [1.0, 0.0]], rtol=0, atol=1e-12)

    def test_a_start_that_has_no_lazy_limit_says_so(self):
        problem = path_problem(3, 0, zero_last=False)
        with no_theorem("coefficients start at zero"):
            lp.predict_path(problem, [1.0, np.inf])

    @pytest.mark.parametrize(
        ("scales", "message"),
        [
            ([], "it is empty"),
            (np.array([]), "in one dimension"),
            ([[1.0, 2.0]], "in one dimension"),
            (0.5, "in one dimension"),
            ([1.0, -1.0], r"numbers in \[0, inf\]"),
            ([1.0, np.nan], r"numbers in \[0, inf\]"),
            (["small"], r"numbers in \[0, inf\]"),
            (None, r"numbers in \[0, inf\]"),
        ],
    )
    def test_bad_scales(self, scales, message):
        with pytest.raises(lp.errors.InitError, match=message):
            lp.predict_path(self.problem, scales)


class TestValue:
    path = lp.predict_path(path_problem(3, 0, m=3, n=6), [0.0, 0.1, 1.0])

    def test_to_xarray(self):
        data = self.path.to_xarray()
        np.testing.assert_array_equal(data["scale"], [0.0, 0.1, 1.0])
        np.testing.assert_array_equal(data["coef"], self.path.coefs)
        assert data["theorem"].values[0] == "zhao2026.corollary4.6"
        assert (data["certificate"] < 1e-9).all()

    def test_to_dict_is_plain(self):
        plain = self.path.to_dict()
        assert plain["scales"] == [0.0, 0.1, 1.0]
        assert json.loads(json.dumps(plain["limits"][1]["coef"])) == self.path.coefs[1].tolist()

    def test_text(self):
        assert "Limits at 3 scales, 6 coefficients" in str(self.path)
        assert "<table>" in self.path._repr_html_()

    def test_it_cannot_be_changed(self):
        with pytest.raises(ValueError, match="read-only"):
            self.path.scales[0] = 1.0


@pytest.mark.parametrize("depth", [4, 6])
def test_a_scale_whose_mirror_coordinates_overflow_is_refused_as_by_a_single_prediction(depth):
    problem = path_problem(depth, 0)
    with pytest.raises(
        lp.errors.ScaleNotRepresentable, match=f"a network of degree {depth} overflow"
    ):
        lp.predict(at(problem, 1e-300))
    with pytest.raises(
        lp.errors.ScaleNotRepresentable, match=f"a network of degree {depth} overflow"
    ):
        lp.predict_path(problem, [1.0, 1e-300, 1e-3])
