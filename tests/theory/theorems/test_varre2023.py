"""Varre et al.: limits of two-layer networks, layers included, against flows and by hand.

One file, although long: one theorem, and problems that its tests share.
"""

import dataclasses
import functools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.flows import two_layer_flow as oracle
from tests.refusals import no_theorem

import limitpoint as lp
from limitpoint.errors import InitError, NoTheoremApplies
from limitpoint.theory.certificates.constraint import Constraint
from limitpoint.theory.convergence import two_layer_bounds
from limitpoint.theory.theorems.varre2023 import _certify

EPS = float(np.finfo(np.float64).eps)
# The acceptance line, relative to the norm of what is compared. The flows stop at a relative
# residual of 1e-10 (ours) or 2e-12 (the oracle's); the data have condition 2, and the maps from β
# to the layers' Gram matrices have Lipschitz constant √2.
LINE = 1e-8
GAMMAS = [1e3, 1.0, 1e-3, 1e-6, 1e-12]
SHAPES = {  # m, n, outputs, width
    "k=3, l=n": (3, 5, 3, 5),
    "vector, l=n": (3, 5, None, 5),
    "k=1, l>>n": (3, 5, 1, 60),
    "m>n": (7, 3, 2, 5),
    "k>n": (4, 2, 4, 3),
    "n=1": (2, 1, 2, 4),
    "width 1": (1, 1, None, 1),
}
WHITENED = {  # m, n, outputs, width, size
    "k=3, l=n": (5, 5, 3, 5, 1.0),
    "vector, m>n": (6, 4, None, 6, 3.0),
    "k=1, l>>n": (5, 5, 1, 60, 0.5),
    "k>n": (4, 2, 4, 3, 2.0),
}


def from_layers(X, Y, layers, **size):
    task = lp.Regression(X, Y)
    init = lp.Init(layers, **size) if size else lp.Init.from_layers(layers)
    return lp.Problem(lp.TwoLayer(len(layers[1])), init, task)


@functools.cache
def generic(name, gamma, seed=2):
    m, n, outputs, width = SHAPES[name]
    layers = oracle.orthonormal_layers(n, width, outputs, gamma, seed)
    return from_layers(*oracle.data(m, n, outputs, seed), layers)


@functools.cache
def whitened(name, gamma, seed=2):
    m, n, outputs, width, size = WHITENED[name]
    layers = oracle.orthonormal_layers(n, width, outputs, gamma, seed)
    return from_layers(*oracle.whitened_data(m, n, outputs, seed, size), layers)


def predicted(problem, status=lp.Status.CONVERGED):
    limit = lp.predict(problem)
    assert limit.theorem.id == "varre2023.theorem3.1"
    assert limit.status is status
    assert limit.certificate.ok
    return limit


def columns(layer):
    return layer.reshape(len(layer), -1)


def distance(found, wanted):
    return np.linalg.norm(found - wanted) / np.linalg.norm(wanted)


def check_determined(limit, layers):
    """β, W₁W₁ᵀ, W₂ᵀW₂: what the theorem determines for any data."""
    first, second = layers
    assert distance(first @ second, limit.coef) < LINE
    one, two = limit.layers
    assert distance(first @ first.T, one @ one.T) < LINE
    gram = columns(two).T @ columns(two)
    assert distance(columns(second).T @ columns(second), gram) < LINE


def brute_end(problem):
    return oracle.flow_to_the_end(problem.task.X, problem.task.y, *problem.init.layers)


def end_of(problem, space=None):
    run = lp.flow(problem, space=space)
    assert run.status is lp.Status.CONVERGED
    return [layer[-1] for layer in run.layers]


class TestGenericData:
    @pytest.mark.parametrize("gamma", GAMMAS, ids="γ={:g}".format)
    @pytest.mark.parametrize("name", SHAPES)
    def test_brute_force_and_reduced_flow(self, name, gamma):
        problem = generic(name, gamma)
        limit = predicted(problem)
        check_determined(limit, brute_end(problem))
        check_determined(limit, end_of(problem))

    @pytest.mark.parametrize("gamma", [1e3, 1.0, 1e-12], ids="γ={:g}".format)
    def test_full_flow(self, gamma):
        problem = generic("k=3, l=n", gamma)
        check_determined(predicted(problem), end_of(problem, lp.ParameterSpace()))

    @pytest.mark.parametrize("name", ["k=3, l=n", "vector, l=n"])
    def test_a_rotation_of_the_hidden_layer_is_really_open(self, name):
        """`Z₁ = W₁Pᵀ` of the brute-force limit is not symmetric, though its Gram matrix is ours.

        The limit that is predicted has the symmetric one; undoing the rotation gives it.
        """
        gamma = 1e-2
        problem = generic(name, gamma)
        limit = predicted(problem)
        rows = problem.init.layers[0] / np.sqrt(2 * gamma)
        first, second = brute_end(problem)
        moved, ours = first @ rows.T, limit.layers[0] @ rows.T
        assert np.linalg.norm(moved - moved.T) > 0.1 * np.linalg.norm(moved)
        np.testing.assert_allclose(ours, ours.T, rtol=0, atol=40 * EPS * np.linalg.norm(ours))
        assert distance(first, limit.layers[0]) > 0.05
        # The polar factor takes one to the other, both layers at once.
        left, _, right = np.linalg.svd(np.linalg.solve(ours, moved))
        turn = left @ right
        # Solving with Z₁ costs its condition number, 10 or so, in digits of the oracle's end.
        assert distance(rows @ first.T, turn.T @ (rows @ limit.layers[0].T)) < LINE
        assert distance(rows @ second, turn.T @ (rows @ limit.layers[1])) < LINE

    def test_minimum_norm_for_every_gamma(self):
        X, Y = generic("k=3, l=n", 1.0).task.X, generic("k=3, l=n", 1.0).task.y
        least = X.T @ np.linalg.solve(X @ X.T, Y)
        for gamma in GAMMAS:
            # Condition 4 of XXᵀ, some tens of roundings.
            assert distance(lp.predict(generic("k=3, l=n", gamma)).coef, least) < 1e-14


class TestWhitenedData:
    """`XᵀX = cI`: singular vectors stay, and the layers are determined."""

    @pytest.mark.parametrize("gamma", GAMMAS, ids="γ={:g}".format)
    @pytest.mark.parametrize("name", WHITENED)
    def test_layers_themselves(self, name, gamma):
        problem = whitened(name, gamma)
        limit = predicted(problem)
        for layers in (brute_end(problem), end_of(problem)):
            check_determined(limit, layers)
            for mine, wanted in zip(limit.layers, layers, strict=True):
                assert mine.shape == wanted.shape
                assert distance(mine, wanted) < LINE

    @pytest.mark.parametrize("gamma", [1e3, 1e-12], ids="γ={:g}".format)
    def test_full_flow(self, gamma):
        problem = whitened("k=3, l=n", gamma)
        for mine, wanted in zip(
            predicted(problem).layers, end_of(problem, lp.ParameterSpace()), strict=True
        ):
            assert distance(mine, wanted) < LINE

    def test_out_of_range(self):
        X, Y = oracle.whitened_data(6, 4, 2, 0, size=2.0, outside=1.0)
        problem = from_layers(X, Y, oracle.orthonormal_layers(4, 5, 2, 0.1, 0))
        limit = predicted(problem, lp.Status.LEAST_SQUARES)
        for mine, wanted in zip(limit.layers, brute_end(problem), strict=True):
            assert distance(mine, wanted) < LINE

    @pytest.mark.parametrize("gamma", [1.0, 1e-3], ids="γ={:g}".format)
    @pytest.mark.parametrize("values", [(1.0, 1.0, 1.0), (2.0, 0.0, 0.0), (1.0, 1e-9, 0.0)])
    def test_ties_and_zeros_among_the_singular_values(self, values, gamma):
        """Singular vectors are ambiguous there, the layers are not."""
        rng = np.random.default_rng(4)
        X, _ = oracle.whitened_data(4, 4, 3, 0)
        left, right = (np.linalg.qr(rng.standard_normal((k, 3)))[0] for k in (4, 3))
        problem = from_layers(
            X, X @ (left * values) @ right.T, oracle.orthonormal_layers(4, 5, 3, gamma, 0)
        )
        limit = predicted(problem)
        for mine, wanted in zip(limit.layers, brute_end(problem), strict=True):
            assert distance(mine, wanted) < LINE
        found = np.linalg.svd(limit.layers[0], compute_uv=False)
        bend = np.hypot([*values, 0.0], gamma)
        np.testing.assert_allclose(found, np.sqrt(bend + gamma), rtol=1e-13)


class TestSingularValues:
    @pytest.mark.parametrize("gamma", [*GAMMAS, 1e-30, 1e-300, 1e10], ids="γ={:g}".format)
    @pytest.mark.parametrize("name", SHAPES)
    def test_corollary_3_1(self, name, gamma):
        """σ(W₁)² = √(σ²+γ²)+γ, σ(W₂)² = √(σ²+γ²)−γ, the others √(2γ): to rounding."""
        limit = predicted(generic(name, gamma))
        coef, one, two = (
            np.linalg.svd(columns(m), compute_uv=False) for m in (limit.coef, *limit.layers)
        )
        # σ of β below eps of the largest are rounding, as are those of W₁ and W₂ from it.
        large = np.sqrt(np.hypot(coef, gamma) + gamma)
        rest = np.full(len(one) - len(coef), np.sqrt(2 * gamma))
        np.testing.assert_allclose(
            one, -np.sort(-np.concatenate([large, rest])), rtol=0, atol=40 * EPS * one[0]
        )
        small = np.pad(coef / large, (0, max(0, len(two) - len(coef))))
        np.testing.assert_allclose(two, small[: len(two)], rtol=0, atol=40 * EPS * two[0])


class TestVariationalProblem:
    @pytest.mark.parametrize("gamma", GAMMAS, ids="γ={:g}".format)
    @pytest.mark.parametrize("name", ["k=3, l=n", "k=1, l>>n", "m>n", "k>n"])
    def test_stationary(self, name, gamma):
        """Recomputed by hand; below γ = 1e-6 `(W₁W₁ᵀ)⁻¹W₁` costs 1/√(2γ) in digits: 1e-10."""
        problem = generic(name, gamma)
        limit = predicted(problem)
        assert oracle.kkt_residual(problem.task.X, *limit.layers, gamma) < 1e-8
        assert limit.certificate.worst < 1e-13

    @pytest.mark.parametrize("gamma", GAMMAS, ids="γ={:g}".format)
    @pytest.mark.parametrize("name", ["k=3, l=n", "m>n"])
    def test_minimal_among_a_thousand(self, name, gamma):
        problem = generic(name, gamma)
        X, Y = problem.task.X, problem.task.y
        limit = predicted(problem)
        least = oracle.potential(*limit.layers, gamma)
        # Sums of squares and logarithms, a few hundred roundings of the largest term.
        size = gamma * 50 + float(np.sum(limit.layers[0] ** 2))
        assert limit.potential == pytest.approx(least, abs=300 * EPS * size)
        nearest = np.inf
        for one, two in oracle.competitors(X, Y, *limit.layers, 1000, seed=7):
            # Solving for W₂ costs the condition number of W₁, or of what mixes the neurons: 1e5.
            relative_residual = np.linalg.norm(X @ one @ two - Y)
            assert relative_residual < 1e-9 * np.linalg.norm(Y)
            nearest = min(nearest, oracle.potential(one, two, gamma) - least)
        # None is as low, and not for being far away: the nearest are 1e-3 off, 1e-6 in potential.
        assert nearest > -300 * EPS * size
        assert nearest < 1e-2 * size

    def test_other_limits_are_not_stationary(self):
        """The condition is sharp: layers of half or twice the γ fail it."""
        problem = generic("k=3, l=n", 1e-2)
        for gamma in (5e-3, 2e-2):
            wrong = lp.predict(generic("k=3, l=n", gamma)).layers
            assert oracle.kkt_residual(problem.task.X, *wrong, 1e-2) > 1e-3


class TestVanishingScale:
    @pytest.mark.parametrize("name", SHAPES)
    def test_balanced_layers(self, name):
        problem = generic(name, 1.0)
        zero = dataclasses.replace(problem, init=problem.init.at_scale(0))
        limit = lp.predict(zero)
        assert limit.theorem.id == "varre2023.theorem3.1_at_zero"
        assert limit.status is lp.Status.CONVERGED
        one, two = limit.layers[0], columns(limit.layers[1])
        size = float(np.linalg.norm(limit.coef))
        np.testing.assert_allclose(one.T @ one, two @ two.T, rtol=0, atol=40 * EPS * size)
        np.testing.assert_allclose(one @ two, columns(limit.coef), rtol=0, atol=40 * EPS * size)
        roots = np.sqrt(np.linalg.svd(columns(limit.coef), compute_uv=False))
        for layer in (one, two):
            found = np.linalg.svd(layer, compute_uv=False)
            wanted = np.pad(roots, (0, max(0, len(found) - len(roots))))[: len(found)]
            np.testing.assert_allclose(found, wanted, rtol=0, atol=40 * EPS * roots[0])
        nuclear = float(np.sum(roots**2))
        assert limit.potential == pytest.approx(nuclear, rel=1e-13)

    def test_is_the_limit_of_small_scales(self):
        """W₁ deviates by √(2γ) in the directions that never grow: proportional to the scale."""
        problem = whitened("k=3, l=n", 0.5)  # scale 1 as given
        zero = lp.predict(dataclasses.replace(problem, init=problem.init.at_scale(0)))
        off = []
        scales = np.array([1e-2, 1e-3, 1e-4, 1e-5])
        for scale in scales:
            limit = lp.predict(dataclasses.replace(problem, init=problem.init.at_scale(scale)))
            off.append(np.linalg.norm(limit.layers[0] - zero.layers[0]))
        slope = np.polyfit(np.log(scales), np.log(off), 1)[0]
        assert slope == pytest.approx(1.0, abs=0.02)

    def test_below_the_smallest_float_it_is_zero(self):
        problem = generic("k=3, l=n", 0.5)
        tiny, zero = (
            lp.predict(dataclasses.replace(problem, init=init))
            for init in (problem.init.at_scale(log_scale=-2302.6), problem.init.at_scale(0))
        )
        assert tiny.theorem.id == "varre2023.theorem3.1"
        assert tiny.status is lp.Status.CONVERGED
        for one, two in zip(tiny.layers, zero.layers, strict=True):
            np.testing.assert_array_equal(one, two)

    def test_infinity(self):
        problem = generic("k=3, l=n", 0.5)
        lazy = dataclasses.replace(problem, init=problem.init.at_scale(np.inf))
        with no_theorem("scale positive and finite"):
            lp.predict(lazy)


class TestExtremeScales:
    """float64 holds the layers where it does not hold γ = scale²/2."""

    @pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-160, 1e-150, 1e-30, 1e30, 1e70])
    def test_directions_that_do_not_move_keep_their_size(self, scale):
        """Rows of W₁ outside the row space of X are `scale · P`, to rounding of the scale."""
        X = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
        task, network = lp.Regression(X, [[1.0], [2.0]]), lp.TwoLayer(4)
        problem = lp.Problem(network, lp.Init.orthogonal(network, task, scale), task)
        limit = predicted(problem)
        np.testing.assert_allclose(limit.layers[0][2], problem.init.layers[0][2], rtol=1e-12)

    @pytest.mark.parametrize("scale", [1e80, 1e100, 1e160, 1e200, 1e300])
    def test_large(self, scale):
        """The limit is X⁺Y, or an error that says what is too large; not an overflow."""
        X, Y = oracle.data(3, 5, 2, 0)
        task, network = lp.Regression(X, Y), lp.TwoLayer(6)
        problem = lp.Problem(network, lp.Init.orthogonal(network, task, scale), task)
        try:
            limit = lp.predict(problem)
        except lp.errors.LimitpointError as error:
            assert "scale" in str(error)  # noqa: PT017 (either outcome is right)
            return
        assert limit.certificate.ok
        assert distance(limit.coef, np.linalg.pinv(X) @ Y) < 1e-13

    @pytest.mark.parametrize("scale", [1e-3, 1e3])
    def test_how_the_scale_is_split_does_not_matter(self, scale):
        X, Y = oracle.data(3, 5, 2, 0)
        first, second = oracle.orthonormal_layers(5, 6, 2, 0.5, 0)
        one = predicted(from_layers(X, Y, (scale * first, second)))
        two = predicted(from_layers(X, Y, (first, second), scale=scale))
        for mine, wanted in zip(one.layers, two.layers, strict=True):
            assert distance(mine, wanted) < 1e-13


class TestConditions:
    def moved(self, **start):
        X, Y = oracle.data(3, 4, 2, 0)
        first, second = oracle.orthonormal_layers(4, 5, 2, 0.1, 0)
        return from_layers(X, Y, (start.get("first", first), start.get("second", second)))

    def failing(self, problem, theorem="varre2023.theorem3.1"):
        conditions = lp.explain(problem).to_dict()[theorem]["conditions"]
        return [c["name"] for c in conditions if not c["holds"]]

    @pytest.mark.parametrize("size", [1e-11, 1e-3, 1.0])
    def test_rows_that_are_not_orthonormal(self, size):
        first, _ = oracle.orthonormal_layers(4, 5, 2, 0.1, 0)
        noise = np.random.default_rng(0).standard_normal(first.shape)
        problem = self.moved(first=first + size * noise)
        with no_theorem("rows of the first layer orthonormal"):
            lp.predict(problem)
        assert self.failing(problem) == [
            "rows of the first layer orthonormal, up to a common factor"
        ]

    @pytest.mark.parametrize(
        "factors", [(1, 1, 1, 2), (1, 1, 1, 0), (0, 0, 0, 0)], ids=["longer", "missing", "none"]
    )
    def test_orthogonal_is_not_enough(self, factors):
        first, _ = oracle.orthonormal_layers(4, 5, 2, 0.1, 0)
        problem = self.moved(first=np.array(factors)[:, None] * first)
        with no_theorem("rows of the first layer orthonormal"):
            lp.predict(problem)

    @pytest.mark.parametrize("size", [1e-300, 1e-8, 1.0])
    def test_a_second_layer(self, size):
        second = np.zeros((5, 2))
        second[3, 1] = size
        problem = self.moved(second=second)
        with no_theorem("second layer zero"):
            lp.predict(problem)
        assert self.failing(problem) == ["second layer zero"]

    def test_gaussian_and_perturbed_starts(self):
        task, network = lp.Regression(*oracle.data(3, 4, 2, 0)), lp.TwoLayer(5)
        for init in (
            lp.Init.random(network, task, seed=0),
            lp.Init.orthogonal(network, task, perturbation=0.1),
        ):
            problem = lp.Problem(network, init, task)
            with no_theorem("rows of the first layer"):
                lp.predict(problem)
            assert len(self.failing(problem)) == 2

    def test_fewer_neurons_than_features(self):
        X, Y = oracle.data(3, 4, 2, 0)
        problem = from_layers(X, Y, (np.eye(4)[:, :2], np.zeros((2, 2))))
        with no_theorem("rows of the first layer"):
            lp.predict(problem)

    @pytest.mark.parametrize(
        ("problem", "laws"),
        [
            (generic("k=3, l=n", 1.0), {"theorem3.2a", "lemmaC.6"}),
            (generic("vector, l=n", 1.0), {"theorem3.2a", "theorem3.2b", "lemmaC.6", "lemmaC.8"}),
            (generic("k=1, l>>n", 1.0), {"theorem3.2a", "theorem3.2b", "lemmaC.6", "lemmaC.8"}),
            (whitened("k=3, l=n", 1.0), {"theorem3.2a", "theoremC.12", "lemmaC.6"}),
        ],
        ids=["k=3", "vector", "k=1", "whitened"],
    )
    def test_explain(self, problem, laws):
        found = lp.explain(problem)
        ours = {t.id.split(".", 1)[1] for t in found.applicable if t.id.startswith("varre2023")}
        # Other laws of the paper may be known; what these need is not there for all.
        assert ours >= {"theorem3.1"} | laws
        assert not ours & ({"theorem3.2b", "lemmaC.8", "theoremC.12", "theorem3.1_at_zero"} - laws)
        assert found.used.id == "varre2023.theorem3.1"

    def test_no_other_network(self):
        task = lp.Regression(*oracle.data(3, 4, None, 0))
        network = lp.Diagonal(2)
        problem = lp.Problem(network, lp.Init.random(network, task, seed=0), task)
        assert not any(t.id.startswith("varre2023") for t in lp.explain(problem).applicable)


class TestInvariances:
    """Of the limit with all its layers, to rounding."""

    @settings(max_examples=30, deadline=None)
    @given(seed=st.integers(0, 2**20), log_gamma=st.floats(-12, 3))
    def test_rotations_and_units(self, seed, log_gamma):
        rng = np.random.default_rng(seed)
        X, Y = oracle.data(3, 4, 2, seed)
        first, second = oracle.orthonormal_layers(4, 5, 2, 10.0**log_gamma, seed)
        turns = [np.linalg.qr(rng.standard_normal((s, s)))[0] for s in (4, 5, 2, 3)]
        features, neurons, outputs, samples = turns
        unit = 10.0 ** rng.uniform(-3, 3)
        plain = predicted(from_layers(X, Y, (first, second)))
        turned = predicted(
            from_layers(
                samples @ X @ features.T,
                unit**2 * samples @ Y @ outputs,
                (unit * features @ first @ neurons, second),
            )
        )
        one, two = plain.layers
        # Between singular values that nearly tie, their vectors turn; not the layers. W₁ has the
        # condition 1/√(2γ) at most, which roots of rounding errors in β do not see.
        np.testing.assert_allclose(
            turned.coef,
            unit**2 * features @ plain.coef @ outputs,
            rtol=0,
            atol=1e-13 * unit**2 * np.linalg.norm(plain.coef),
        )
        wanted = unit * features @ one @ neurons, unit * neurons.T @ two @ outputs
        for mine, exact in zip(turned.layers, wanted, strict=True):
            assert distance(mine, exact) < 1e-12


class TestEdges:
    def limit(self, X, Y, gamma=0.1, width=None, status=lp.Status.CONVERGED):
        n = X.shape[1]
        outputs = None if Y.ndim == 1 else Y.shape[1]
        layers = oracle.orthonormal_layers(n, width or n + 1, outputs, gamma, 0)
        problem = from_layers(X, Y, layers)
        limit = predicted(problem, status)
        wanted = np.linalg.pinv(X) @ Y
        np.testing.assert_allclose(limit.coef, wanted, rtol=0, atol=1e-13 * (1 + abs(wanted).max()))
        return limit, problem

    def test_rank_deficient(self):
        # Of small integers: a product of floats has full rank, exactly.
        rng = np.random.default_rng(0)
        X = (rng.integers(-9, 10, (5, 2)) @ rng.integers(-9, 10, (2, 4))) / 16.0
        limit, problem = self.limit(X, X @ np.ones((4, 2)))
        check_determined(limit, brute_end(problem))

    def test_out_of_range(self):
        X, Y = oracle.data(6, 3, 2, 0)
        Y = Y + np.random.default_rng(0).standard_normal(Y.shape)
        limit, problem = self.limit(X, Y, status=lp.Status.LEAST_SQUARES)
        check_determined(limit, brute_end(problem))
        assert "normal equations" in limit.certificate.residuals

    def test_a_zero_column(self):
        X, _ = oracle.data(3, 4, 2, 0)
        X = X * np.array([1.0, 0.0, 1.0, 1.0])
        limit, problem = self.limit(X, X @ np.ones((4, 2)))
        np.testing.assert_allclose(limit.layers[0][1], problem.init.layers[0][1], atol=1e-14)

    @pytest.mark.parametrize("outputs", [None, 1, 3])
    def test_nothing_to_fit(self, outputs):
        X, Y = oracle.data(3, 4, outputs, 0)
        limit, problem = self.limit(X, 0 * Y)
        np.testing.assert_array_equal(limit.coef, 0 * limit.coef)
        np.testing.assert_allclose(limit.layers[0], problem.init.layers[0], rtol=0, atol=1e-15)
        assert not limit.layers[1].any()

    def test_nothing_to_fit_at_scale_zero(self):
        X, Y = oracle.data(3, 4, 2, 0)
        problem = from_layers(X, 0 * Y, oracle.orthonormal_layers(4, 5, 2, 0.5, 0), scale=0)
        limit = lp.predict(problem)
        assert limit.status is lp.Status.CONVERGED
        assert not any(layer.any() for layer in limit.layers)

    def test_no_data(self):
        limit, _ = self.limit(np.zeros((2, 3)), np.ones((2, 2)), status=lp.Status.LEAST_SQUARES)
        assert not limit.coef.any()

    def test_vector_and_column_are_the_same(self):
        X, Y = oracle.data(3, 4, None, 0)
        vector, _ = self.limit(X, Y)
        column, _ = self.limit(X, Y[:, None])
        np.testing.assert_array_equal(vector.layers[1], column.layers[1][:, 0])
        np.testing.assert_array_equal(vector.coef, column.coef[:, 0])

    @pytest.mark.parametrize("factor", [0.1, 7.0])
    def test_the_loss_factor_does_not_matter(self, factor):
        X, Y = oracle.data(3, 4, 2, 0)
        limit, problem = self.limit(X, Y)
        other = dataclasses.replace(problem, task=lp.Regression(X, Y, factor))
        np.testing.assert_array_equal(lp.predict(other).layers[0], limit.layers[0])


class TestCertificate:
    """Residuals of wrong layers are seen."""

    @pytest.fixture
    def certify(self):
        problem = generic("k=3, l=n", 0.1)
        limit = predicted(problem)

        constraint = Constraint.of(problem.task.X, problem.task.y)

        def residuals(coef=limit.coef, first=limit.layers[0], second=limit.layers[1]):
            return _certify(problem, constraint, coef, first, second, 0.1)

        return limit, residuals

    def test_right(self, certify):
        assert certify[1]().worst < 1e-13

    def test_a_percent(self, certify):
        limit, residuals = certify
        one, two = limit.layers
        for wrong in ({"coef": 1.01 * limit.coef}, {"first": 1.01 * one}, {"second": 1.01 * two}):
            found = residuals(**wrong)
            assert not found.ok
            assert found.worst > 1e-3

    def test_another_factorisation(self, certify):
        """Same product, not the conserved quantities."""
        limit, residuals = certify
        one, two = limit.layers
        found = residuals(first=1.01 * one, second=two / 1.01)
        assert found.residuals["product of the layers"] < 1e-13
        assert found.residuals["conserved quantities"] > 1e-3

    def test_another_interpolator(self, certify):
        """β with a part in the null space: its balanced layers are not stationary."""
        limit, residuals = certify
        problem = generic("k=3, l=n", 0.1)
        null = np.linalg.svd(problem.task.X)[2][-1]
        aside = limit.coef + 0.01 * np.outer(null, np.ones(3))
        left, values, right = np.linalg.svd(aside, full_matrices=False)
        rows = problem.init.layers[0] / np.sqrt(0.2)
        large = np.sqrt(np.hypot(values, 0.1) + 0.1)
        first = ((left * (large - np.sqrt(0.2))) @ left.T + np.sqrt(0.2) * np.eye(5)) @ rows
        second = rows.T @ left @ np.diag(values / large) @ right
        found = residuals(coef=aside, first=first, second=second)
        assert found.residuals["conserved quantities"] < 1e-13
        assert found.residuals["stationarity"] > 1e-4


class TestRecord:
    limit = lp.predict(generic("k=3, l=n", 0.1))

    def test_xarray(self):
        data = self.limit.to_xarray()
        assert data["coef"].dims == ("feature", "output")
        assert data["dual"].dims == ("sample", "output")
        assert data["layer_0"].shape == (5, 5)
        assert data["layer_1"].shape == (5, 3)
        assert data.attrs["theorem"] == "varre2023.theorem3.1"

    def test_dict_is_plain(self):
        plain = self.limit.to_dict()
        assert json.loads(json.dumps(plain)) == plain
        np.testing.assert_array_equal(plain["layers"][1], self.limit.layers[1])
        np.testing.assert_array_equal(plain["coef"], self.limit.coef)

    def test_text_shows_the_largest(self):
        text = str(self.limit)
        place = np.unravel_index(np.abs(self.limit.coef).argmax(), (5, 3))
        assert "feature, output" in text
        assert f"{place[0]}, {place[1]}" in text
        assert f"{self.limit.coef[place]:.9g}" in text
        assert "the 12 largest of 15" in text
        assert "<table>" in self.limit._repr_html_()

    def test_dual(self):
        """`ξ = Xᵀν` holds of what is recorded."""
        X = generic("k=3, l=n", 0.1).task.X
        np.testing.assert_allclose(X.T @ self.limit.dual, self.limit.mirror, rtol=0, atol=1e-14)

    def test_read_only(self):
        for array in (self.limit.coef, *self.limit.layers):
            with pytest.raises(ValueError, match="read-only"):
                array[0, 0] = 1.0

    def test_path_of_scales(self):
        """The same coefficients at every scale, also in print."""
        path = lp.predict_path(generic("k=3, l=n", 0.5), [0.1, 1.0, 10.0])
        for coef in path.coefs:
            np.testing.assert_allclose(coef, self.limit.coef, rtol=1e-12)
        assert "10" in str(path)
        assert path.to_xarray()["coef"].shape == (3, 5, 3)


class TestBounds:
    @pytest.mark.parametrize("gamma", [1e3, 1.0, 1e-3, 1e-12], ids="γ={:g}".format)
    @pytest.mark.parametrize("factor", [0.2, 3.0])
    @pytest.mark.parametrize("name", ["k=3, l=n", "vector, l=n", "m>n", "n=1"])
    def test_never_violated(self, name, factor, gamma):
        """Along the flow, whose losses are right to 1e-8 of the first."""
        problem = generic(name, gamma)
        task = lp.Regression(problem.task.X, problem.task.y, factor)
        problem = dataclasses.replace(problem, task=task)
        run = lp.flow(problem)
        bound = lp.atlas.convergence_bound(problem, run.times)
        assert bound.shape == run.times.shape
        assert (run.losses - bound <= LINE * run.losses[0]).all()
        assert bound[0] == pytest.approx(run.losses[0], rel=1e-12)
        assert (np.diff(bound) <= 0).all()
        each = two_layer_bounds(problem, run.times)
        names = {"varre2023.lemmaC.6", "varre2023.lemmaC.8"}
        assert set(each) == (names if task.y.ndim == 1 else {"varre2023.lemmaC.6"})
        np.testing.assert_array_equal(bound, np.min(list(each.values()), axis=0))

    def test_out_of_range_the_floor_is_the_least_loss(self):
        X, Y = oracle.data(6, 3, None, 0)
        Y = Y + np.random.default_rng(0).standard_normal(6)
        problem = from_layers(X, Y, oracle.orthonormal_layers(3, 4, None, 0.1, 0))
        run = lp.flow(problem)
        floor = 0.5 * np.linalg.norm(Y - X @ np.linalg.pinv(X) @ Y) ** 2
        for bound in two_layer_bounds(problem, run.times).values():
            assert (run.losses - bound <= LINE * run.losses[0]).all()
            assert (bound >= floor * (1 - 1e-14)).all()
        assert lp.atlas.convergence_bound(problem, [1e6])[0] == pytest.approx(floor, rel=1e-12)

    def test_by_hand(self):
        """γ = ½, X = 2, y = 1: λ = 4; ψ of 3.2(b) from its formula."""
        task = lp.Regression([[2.0]], [1.0], 3.0)
        init = lp.Init.orthogonal(lp.TwoLayer(1), task, gamma=0.5)
        problem = lp.Problem(lp.TwoLayer(1), init, task)
        found = two_layer_bounds(problem, [0.1, 10.0])
        first = 1.5 * np.exp(-4 * 0.5 * (3 * 4) * np.array([0.1, 10.0]))
        np.testing.assert_allclose(found["varre2023.lemmaC.6"], first, rtol=1e-12)

        def potential(b):
            bend = np.sqrt(b**2 + 0.25) + 0.5
            return 2 / 3 * bend**1.5 - bend**0.5

        apart = potential(0.5) - potential(0.0)
        second = np.minimum(1.5, apart / np.array([0.1, 10.0]))
        np.testing.assert_allclose(found["varre2023.lemmaC.8"], second, rtol=1e-10)

    def test_the_exponent_is_sharp(self):
        """At large γ on whitened data the loss is the bound, up to σ/γ."""
        problem = whitened("k=3, l=n", 1e3)
        times = np.linspace(0, 10, 20) / (4 * 1e3)
        run = lp.flow(problem, times=times)
        bound = lp.atlas.convergence_bound(problem, times)
        assert (run.losses > 0.95 * bound).all()
        assert (run.losses - bound <= LINE * run.losses[0]).all()

    def test_nothing_to_fit(self):
        problem = generic("k=3, l=n", 0.1)
        task = lp.Regression(problem.task.X, 0 * problem.task.y)
        problem = dataclasses.replace(problem, task=task)
        assert lp.atlas.convergence_bound(problem, [0.0, 1.0]).tolist() == [0.0, 0.0]

    @pytest.mark.parametrize(
        ("start", "reason"),
        [
            ({"perturbation": 0.1}, "rows of the first layer orthonormal"),
            ({"perturbation": 1e-13}, "second layer zero"),
        ],
        ids=["rows", "second layer"],
    )
    def test_other_starts(self, start, reason):
        task, network = lp.Regression(*oracle.data(3, 4, 2, 0)), lp.TwoLayer(5)
        problem = lp.Problem(network, lp.Init.orthogonal(network, task, **start), task)
        for bound in (lp.atlas.convergence_bound, two_layer_bounds):
            with pytest.raises(NoTheoremApplies, match=reason):
                bound(problem, [1.0])

    @pytest.mark.parametrize("scale", [0.0, np.inf])
    def test_the_limits(self, scale):
        """As the function's own documentation has it."""
        task, network = lp.Regression(*oracle.data(3, 4, 2, 0)), lp.TwoLayer(5)
        problem = lp.Problem(network, lp.Init.orthogonal(network, task, scale), task)
        with pytest.raises(InitError, match="positive, finite scale"):
            lp.atlas.convergence_bound(problem, [1.0])

    def test_other_networks(self):
        task, network = lp.Regression(*oracle.data(3, 4, None, 0)), lp.RankOne(depth=2, width=2)
        problem = lp.Problem(network, lp.Init.balanced(network, task), task)
        with pytest.raises(NoTheoremApplies, match="two-layer"):
            lp.atlas.convergence_bound(problem, [1.0])
        with pytest.raises(NoTheoremApplies, match="two-layer network fails"):
            two_layer_bounds(problem, [1.0])

    @pytest.mark.parametrize("times", [[-1.0], [np.nan], "now"], ids=str)
    def test_bad_times(self, times):
        with pytest.raises(lp.errors.LimitpointError, match="times"):
            lp.atlas.convergence_bound(generic("k=3, l=n", 0.1), times)


@pytest.mark.parametrize("y", [[2.0, 0.0, 0.0], [[2.0, 0.0], [0.0, -2.0], [0.0, 0.0]]])
def test_samples_of_zero_that_nothing_reaches(y):
    """A diagonal X: a coefficient of zero alone in its row has no size to be measured by."""
    network, task = lp.TwoLayer(4), lp.Regression(np.eye(3), y)
    second = np.zeros((4, *task.y.shape[1:]))
    limit = lp.predict(lp.Problem(network, lp.Init([np.eye(3, 4), second], 0.5), task))
    assert limit.certificate.ok
    assert limit.status is lp.Status.CONVERGED
    assert limit.coef.tolist() == y
