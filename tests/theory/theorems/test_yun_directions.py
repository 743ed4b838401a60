"""Yun et al. 2021, Theorems 1 and 2 and Corollaries 1 to 3, against the flow and by hand."""

import numpy as np
import pytest
from tests.refusals import no_theorem

import limitpoint as lp
from limitpoint.networks.tensor.singular_vectors import singular_vector_residual
from limitpoint.theory import stationarity

TWO_POINTS = lp.Classification([[1, 2], [0, -3]], [1, -1])


def problem_of(network, task=TWO_POINTS, seed=3, scale=0.5):
    return lp.Problem(network, lp.Init.random(network, task, scale=scale, seed=seed), task)


def random_task(m, n, seed, loss="exponential"):
    rng = np.random.default_rng(seed)
    return lp.Classification(
        rng.standard_normal((m, n)), np.sign(rng.standard_normal(m)), loss=loss
    )


def condition(problem, theorem, part):
    conditions = {t.id: c for t, c in lp.explain(problem).rows}[theorem]
    return next(c for c in conditions if part in c.name)


def tensor_network(rows, n, depth, seed=0):
    """An orthogonally decomposable network with random S (rows, n) and U_l of one row more."""
    rng = np.random.default_rng(seed)
    transform = rng.standard_normal((rows, n))
    bases = [np.linalg.qr(rng.standard_normal((rows + 1, rows)))[0] for _ in range(depth)]
    return lp.OrthogonalTensor(transform, bases)


class TestTwoPoints:
    """Section 6: (1, 2) → +1 and (0, −3) → −1."""

    @pytest.mark.parametrize("scale", [0.0, 1e-200, 0.5, 1e30, np.inf])
    @pytest.mark.parametrize(
        ("network", "theorem", "coef", "rate"),
        [
            (lp.FullyConnected((2,)), "yun2021.corollary1", (0.2, 0.4), 1 / 2),
            (lp.RankOne(2, 3), "yun2021.corollary1", (0.2, 0.4), 1 / 3),
            (lp.Diagonal(2), "yun2021.corollary2", (0.0, 0.5), 1 / 2),
            (lp.Convolutional((2, 2)), "yun2021.corollary3", (1 / 3, 1 / 3), 2 / 3),
        ],
    )
    def test_directions(self, network, theorem, coef, rate, scale):
        # From a start that separates, so that the loss is below that of zero at every scale.
        seeds = (lp.Init.random(network, TWO_POINTS, scale=1.0, seed=seed) for seed in range(99))
        start = next(i for i in seeds if (TWO_POINTS.margins(network.coef(i.layers)) > 0).all())
        problem = lp.Problem(network, start.at_scale(scale), TWO_POINTS)
        limit = lp.predict(problem)
        assert limit.theorem.id == theorem
        assert limit.status is lp.Status.CONVERGED
        assert limit.certificate.worst < 1e-12
        np.testing.assert_allclose(limit.coef, coef, rtol=0, atol=1e-14)
        np.testing.assert_allclose(limit.direction, coef / np.linalg.norm(coef), atol=1e-14)
        # Clarabel chooses among the multipliers of the last one, where samples tie.
        assert limit.rate == pytest.approx(rate, abs=1e-7)

    def test_what_a_limit_of_a_classification_has(self):
        limit = lp.predict(problem_of(lp.Diagonal(2)))
        assert TWO_POINTS.margins(limit.coef).min() == pytest.approx(1.0)
        np.testing.assert_allclose(limit.mirror, TWO_POINTS.X.T @ limit.dual, atol=1e-15)
        assert limit.potential == pytest.approx(np.abs(limit.coef).sum())
        assert (TWO_POINTS.y * limit.dual >= 0).all()

    def test_a_square_transform_has_the_direction_of_its_inverse(self):
        """S the Hadamard matrix is the convolution on two features."""
        network = lp.OrthogonalTensor([[1, 1], [1, -1]], [np.eye(2), np.eye(2)])
        limit = lp.predict(problem_of(network))
        assert limit.theorem.id == "yun2021.theorem2"
        np.testing.assert_allclose(limit.direction, np.sqrt([0.5, 0.5]), atol=1e-14)


# Margins between which exponents are measured.
LOWEST, HIGHEST = 1e5, 1e8


def slope_of(problem, limit):
    """−d log(error of the direction)/d log(margin), by regression along the flow."""
    run = lp.flow(problem, margin=HIGHEST)
    margins = run.margins.min(axis=1)
    errors = np.linalg.norm(run.directions - limit.direction, axis=1)
    late = margins >= LOWEST
    return -np.polyfit(np.log(margins[late]), np.log(errors[late]), 1)[0]


@pytest.mark.slow
class TestRates:
    """The slower powers that are still left at margins of 1e5 bend the regression by a little."""

    @pytest.mark.parametrize(
        "network", [lp.FullyConnected((2,)), lp.Diagonal(2), lp.Convolutional((2, 2))]
    )
    def test_two_points(self, network):
        problem = problem_of(network)
        limit = lp.predict(problem)
        assert slope_of(problem, limit) == pytest.approx(limit.rate, abs=2e-3)

    @pytest.mark.slow
    @pytest.mark.parametrize("loss", ["exponential", "logistic"])
    @pytest.mark.parametrize(("widths", "seed"), [((5,), 0), ((5, 5), 0), ((4, 4, 4), 1)])
    def test_dense_networks_keep_what_no_support_vector_sees(self, widths, seed, loss):
        """From starts whose loss is below that of zero coefficients."""
        problem = problem_of(lp.FullyConnected(widths), random_task(4, 7, 0, loss), seed=seed)
        limit = lp.predict(problem)
        assert limit.rate == 1 / (len(widths) + 1)
        assert slope_of(problem, limit) == pytest.approx(limit.rate, abs=2e-3)

    def test_rank_one_networks_are_deeper_than_they_look(self):
        problem = problem_of(lp.RankOne(2, 3), random_task(4, 7, 0), seed=4)
        limit = lp.predict(problem)
        assert limit.rate == 1 / 3
        assert slope_of(problem, limit) == pytest.approx(limit.rate, abs=2e-3)

    def test_a_dense_network_within_the_span_of_the_support_vectors(self):
        """Both samples are support vectors and span the plane: only their margins differ."""
        task = lp.Classification([[1.0, 0.2], [0.3, 1.0]], [1, 1])
        problem = problem_of(lp.FullyConnected((2,)), task, seed=3)
        limit = lp.predict(problem)
        assert limit.rate == 1.0
        assert slope_of(problem, limit) == pytest.approx(1.0, abs=2e-2)

    @pytest.mark.slow
    def test_frequencies_that_turn(self):
        """At seed 26 the slowest part is that of a pair of active frequencies, not an idle one."""
        problem = problem_of(lp.Convolutional((4, 4)), random_task(2, 4, 26), seed=26)
        limit = lp.predict(problem)
        spectrum = np.abs(np.fft.fft(limit.mirror, norm="ortho"))
        idle = 1 - spectrum[spectrum < 1 - 1e-9].max()
        assert limit.rate < idle - 0.15
        assert slope_of(problem, limit) == pytest.approx(limit.rate, abs=5e-3)

    def test_the_rate_of_a_diagonal_network_is_the_gap_of_its_dual(self):
        limit = lp.predict(problem_of(lp.Diagonal(2), random_task(4, 7, 0)))
        idle = np.abs(limit.mirror[limit.coef == 0])
        assert limit.rate == pytest.approx(1 - idle.max(), rel=1e-12)

    def test_degenerate_directions_have_no_rate(self):
        task = lp.Classification([[1.0, 1.0, 0.2]], [1])
        problem = problem_of(lp.Diagonal(2), task)
        (theorem,) = [t for t in lp.explain(problem).applicable if t.id == "yun2021.corollary2"]
        limit = theorem.limit(problem)
        assert limit.status is lp.Status.DEGENERATE
        assert limit.rate is None


class TestConditions:
    def test_a_tie_is_named(self):
        init = lp.Init([[1.0, 0.5], [-1.0, 0.2]])
        problem = lp.Problem(lp.Diagonal(2), init, TWO_POINTS)
        found = condition(problem, "yun2021.corollary2", "strictly smallest")
        assert not found.holds
        assert found.margin == 0.0
        assert found.detail == "1 of 2 coordinates tie: 0"

    def test_the_margin_is_lambda_whichever_layer_is_small(self):
        init = lp.Init([[1.0, 0.3], [0.5, -0.7]])
        problem = lp.Problem(lp.Diagonal(2), init, TWO_POINTS)
        found = condition(problem, "yun2021.corollary2", "strictly smallest")
        assert found.holds
        assert found.margin == pytest.approx(0.49 - 0.09)

    def test_features_without_data_may_tie(self):
        task = lp.Classification([[1.0, 0.0], [2.0, 0.0]], [1, 1])
        problem = lp.Problem(lp.Diagonal(2), lp.Init([[1.0, 1.0], [0.5, 1.0]]), task)
        assert lp.predict(problem).coef.tolist() == [1.0, 0.0]

    def test_frequencies_are_compared_by_their_moduli(self):
        """The impulse and the shifted impulse have the same spectrum in modulus."""
        init = lp.Init([[1.0, 0.0], [0.0, 1.0]])
        problem = lp.Problem(lp.Convolutional((2, 2)), init, TWO_POINTS)
        found = condition(problem, "yun2021.corollary3", "strictly smallest")
        assert not found.holds

    def test_short_filters_are_not_covered(self):
        problem = problem_of(lp.Convolutional((1, 2)))
        assert not condition(problem, "yun2021.corollary3", "full-length").holds

    def test_the_transform_must_have_full_column_rank(self):
        network = lp.OrthogonalTensor([[1.0, 1.0], [1.0, 1.0]], [np.eye(2), np.eye(2)])
        found = condition(problem_of(network), "yun2021.theorem2", "full column rank")
        assert not found.holds
        assert found.margin == pytest.approx(0.0, abs=1e-15)

    def test_a_tall_transform_has_a_direction(self):
        """`min ‖ρ‖₁` over all ρ, of which Sᵀρ is the direction."""
        problem = problem_of(tensor_network(5, 3, 2), random_task(2, 3, 1))
        limit = lp.predict(problem)
        assert limit.theorem.id == "yun2021.theorem2"
        assert limit.certificate.worst < 1e-12
        assert len(limit.coef) == 3

    @pytest.mark.parametrize("theorem", ["theorem1", "corollary1", "corollary2", "corollary2_deep"])
    def test_regressions_are_not_covered(self, theorem):
        task = lp.Regression([[1.0, 2.0]], [1.0])
        problem = lp.Problem(lp.Diagonal(2), lp.Init([[1.0, 1.0], [0.0, 0.0]]), task)
        found = condition(problem, f"yun2021.{theorem}", "classification task")
        assert not found.holds


class TestDenseConditions:
    """When Corollary 1 may be used: its own condition is about the future."""

    def vanishing(self, layers, scale=1.0, task=TWO_POINTS, widths=None):
        network = lp.FullyConnected(widths or tuple(layer.shape[1] for layer in layers[:-1]))
        problem = lp.Problem(network, lp.Init(layers, scale=scale), task)
        return condition(problem, "yun2021.corollary1", "loss vanishes")

    def test_a_start_below_the_loss_at_zero(self):
        first, last = np.array([[1.0], [1.0]]), np.array([1.0])
        for scale in (0.0, 1e-150, 1.0, np.inf):
            found = self.vanishing([first, last], scale)
            assert found.holds
            assert found.margin > 0
            assert "no higher than at zero" in found.detail

    def test_a_start_above_it_narrow_and_balanced(self):
        """W₁ᵀW₁ = w₂²: nothing keeps the layers away from zero."""
        first, last = np.array([[-0.6], [-0.8]]), np.array([1.0])
        for scale in (0.0, 1e-150, 1.0):
            found = self.vanishing([first, last], scale)
            assert not found.holds
            assert found.margin < 0
            assert "not proved" in found.detail

    def test_margins_of_both_signs_depend_on_the_scale(self):
        """Margins in the ratio 3 to −1: a small start gains in the sum, a large one loses."""
        first = np.array([[3.0], [-1.0]])
        task = lp.Classification([[1.0, 0.0], [0.0, 1.0]], [1, 1])
        balanced = [first, np.array([np.linalg.norm(first)])]
        assert self.vanishing(balanced, 1e-3, task).holds
        assert not self.vanishing(balanced, 3.0, task).holds

    def test_a_last_layer_that_cannot_vanish(self):
        first, last = np.array([[-0.3], [-0.4]]), np.array([1.0])
        found = self.vanishing([first, last])
        assert found.holds
        assert found.margin == pytest.approx(0.75)
        assert "keeps a square norm" in found.detail

    def test_full_layers(self):
        found = self.vanishing([2 * np.eye(2), np.eye(2), np.array([-0.3, -0.4])])
        assert found.holds
        assert found.margin == pytest.approx(0.75)
        assert "full rank" in found.detail

    def test_full_layers_need_as_many_neurons_as_features(self):
        """Here W₁ᵀ is blind to a direction of the data."""
        first, last = np.array([[-1.0], [-1.0]]), np.array([0.5])
        assert not self.vanishing([first, last]).holds

    def test_zero_last_starts(self):
        found = self.vanishing([np.eye(2), np.eye(2), np.zeros(2)])
        assert found.holds
        stuck = self.vanishing([np.zeros((2, 2)), np.eye(2), np.zeros(2)])
        assert not stuck.holds
        assert "stationary" in stuck.detail

    @pytest.mark.parametrize("loss", ["exponential", "logistic"])
    def test_where_it_holds_the_flow_separates(self, loss):
        task = random_task(3, 4, 5, loss)
        for seed in range(3):
            problem = problem_of(lp.FullyConnected((4,)), task, seed=seed, scale=0.3)
            if condition(problem, "yun2021.corollary1", "loss vanishes").holds:
                run = lp.flow(problem, margin=10.0)
                assert run.status is lp.Status.SEPARATED


@pytest.mark.slow
class TestSets:
    @pytest.mark.parametrize(
        ("network", "theorem"),
        [
            (lp.Diagonal(3), "yun2021.corollary2_deep"),
            (lp.Convolutional((2, 2, 2)), "yun2021.corollary3_deep"),
            (tensor_network(3, 2, 4), "yun2021.theorem2_deep"),
        ],
    )
    def test_predict_says_that_it_is_a_set(self, network, theorem):
        with no_theorem() as found:
            lp.predict(problem_of(network))
        message = " ".join(str(found.value).split())
        assert message.startswith(f"{theorem} fixes a set of stationary points, not which of them")
        assert "analysis.stationarity tests one" in message

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(2))
    @pytest.mark.parametrize(
        "network", [lp.Diagonal(3), lp.Diagonal(4), lp.Convolutional((5, 5, 5))]
    )
    def test_the_flow_ends_at_a_stationary_point(self, network, seed):
        n = 7 if isinstance(network, lp.Diagonal) else 5
        problem = problem_of(network, random_task(3, n, seed), seed=seed)
        run = lp.flow(problem, margin=1e8)
        end = stationarity(problem, run.directions[-1], active=1e-4)
        assert end.ok, end
        # On the way there, at a margin of 10, it is not one yet.
        early = run.directions[int((run.margins.min(axis=1) < 10).sum())]
        assert stationarity(problem, early, active=1e-4).worst > end.worst


class TestStationarity:
    def test_solutions_of_two_layers_are_stationary(self):
        for network in (lp.Diagonal(2), lp.Convolutional((6, 6)), tensor_network(6, 6, 2)):
            problem = problem_of(network, random_task(3, 6, 2))
            found = stationarity(problem, lp.predict(problem).coef, active=1e-9)
            assert found.worst < 1e-10, found

    def test_by_hand(self):
        """One sample (1, 2): z_j^{2/L−1} ∝ x_j makes z ∝ (1, 1/8) stationary for L = 3."""
        task = lp.Classification([[1.0, 2.0]], [1])
        problem = problem_of(lp.Diagonal(3), task)
        assert stationarity(problem, [8.0, 1.0], active=1e-2).worst < 1e-14
        assert stationarity(problem, [0.0, 1.0]).worst < 1e-14
        assert stationarity(problem, [1.0, 0.0]).worst < 1e-14
        assert stationarity(problem, [8.0, 1.01], active=1e-2).residuals["spread"] > 1e-3

    def test_for_two_layers_the_idle_coordinates_count(self):
        task = lp.Classification([[1.0, 2.0]], [1])
        problem = problem_of(lp.Diagonal(2), task)
        assert stationarity(problem, [0.0, 1.0]).ok
        found = stationarity(problem, [1.0, 0.0]).residuals
        assert found["inactive"] == pytest.approx(1.0)
        assert found["spread"] == 0.0

    def test_a_margin_that_is_too_large_shows(self):
        """(2, 1) leaves the second sample more than the first, whose multiplier cannot do alone."""
        task = lp.Classification([[1.0, 0.0], [0.0, 2.0]], [1, 1])
        problem = problem_of(lp.Diagonal(3), task)
        found = stationarity(problem, [1.0, 1.0])
        assert not found.ok
        assert stationarity(problem, [2.0, 1.0]).ok

    def test_a_direction_that_does_not_separate(self):
        found = stationarity(problem_of(lp.Diagonal(3)), [0.0, -1.0])
        assert found.residuals == {"margins": np.inf, "spread": np.inf}

    def test_length_does_not_matter(self):
        problem = problem_of(lp.Convolutional((5, 5, 5)), random_task(3, 5, 1))
        direction = lp.predict(problem_of(lp.Convolutional((5, 5)), random_task(3, 5, 1))).coef
        one = stationarity(problem, direction).residuals
        other = stationarity(problem, 1e6 * direction).residuals
        assert one == pytest.approx(other, rel=1e-6, abs=1e-12)

    def test_refusals(self):
        with pytest.raises(lp.errors.NetworkError, match="stationarity is for diagonal networks"):
            stationarity(problem_of(lp.FullyConnected((2,))), [0.0, 1.0])
        with pytest.raises(lp.errors.DataError, match="direction must hold 2 coefficients"):
            stationarity(problem_of(lp.Diagonal(3)), [0.0, 1.0, 2.0])
        with pytest.raises(lp.errors.DataError, match="direction must hold 3 coordinates of the"):
            stationarity(problem_of(tensor_network(3, 2, 3)), [0.0, 1.0])
        with pytest.raises(lp.errors.DataError, match="active must be a positive number"):
            stationarity(problem_of(lp.Diagonal(3)), [0.0, 1.0], active=0.0)


@pytest.mark.slow
class TestSingularVectors:
    """Theorem 1: equation (8) along a flow."""

    @pytest.mark.parametrize(
        "network",
        [
            lp.Diagonal(3),
            lp.Convolutional((2, 3, 3)),
            lp.FullyConnected((2, 3)),
            lp.RankOne(2, 2),
            tensor_network(4, 3, 2),
        ],
    )
    def test_it_decreases_along_the_flow(self, network):
        problem = problem_of(network, random_task(2, 3, 0), seed=2)
        run = lp.flow(problem, margin=1e6)
        assert lp.explain(problem).to_dict()["yun2021.theorem1"]["applies"]
        margins = run.margins.min(axis=1)
        where = [int(np.searchsorted(margins, level)) for level in (1e1, 1e3, 1e5)]
        records = tuple(np.asarray(layer)[where] for layer in run.layers)
        residuals = singular_vector_residual(network, problem.task, records)
        assert residuals.shape == (3,)
        assert (np.diff(residuals) < 0).all()
        assert residuals[-1] < 0.1

    def test_against_the_tensor_itself(self):
        network, task = lp.Convolutional((2, 3, 3)), random_task(2, 3, 0)
        layers = [np.abs(layer) for layer in problem_of(network, task, seed=4).init.layers]
        margins = task.margins(network.coef(layers))
        neg_grad = task.signed.T @ np.exp(-margins)
        matrix = np.tensordot(neg_grad / np.linalg.norm(neg_grad), network.tensor(task), 1)
        units = [layer / np.linalg.norm(layer) for layer in layers]
        value = np.einsum("abc,a,b,c", matrix, *units)
        parts = ("abc,b,c->a", "abc,a,c->b", "abc,a,b->c")
        off = [
            np.linalg.norm(
                np.einsum(part, matrix, *(unit for j, unit in enumerate(units) if j != i))
                - value * units[i]
            )
            for i, part in enumerate(parts)
        ]
        found = singular_vector_residual(network, task, layers)
        wanted = max(off) / value if value > 0 else np.inf
        assert float(found) == pytest.approx(wanted, rel=1e-12)

    def test_layers_that_point_against_the_gradient(self):
        layers = [np.array([1.0, 1.0]), np.array([-1.0, -1.0])]
        assert singular_vector_residual(lp.Diagonal(2), TWO_POINTS, layers) == np.inf
        layers = [np.zeros(2), np.ones(2)]
        assert singular_vector_residual(lp.Diagonal(2), TWO_POINTS, layers) == np.inf

    def test_wrong_shapes(self):
        with pytest.raises(lp.errors.InitError, match="layers must have the shapes"):
            singular_vector_residual(lp.Diagonal(2), TWO_POINTS, [np.ones(3), np.ones(3)])


def test_what_never_moves_decides_the_exponent_where_all_else_ties():
    """Coefficients of columns that are zero stay as they start: margin^−1 of the direction."""
    task = lp.Classification([[1.0, -1.0, 0.0]], [1])
    layers = [np.array([1.0, 0.5, 0.7]), np.array([0.3, -0.2, 0.6])]
    problem = lp.Problem(lp.Diagonal(depth=2), lp.Init(layers, 0.5), task)
    limit = lp.predict(problem)
    assert limit.rate == pytest.approx(1.0, abs=1e-12)
    run = lp.flow(problem, margin=1e8)
    margins, away = run.margins[:, 0], np.linalg.norm(run.directions - limit.direction, axis=1)
    seen = margins > 1e4
    slope = np.polyfit(np.log(margins[seen]), np.log(away[seen]), 1)[0]
    assert slope == pytest.approx(-1.0, abs=1e-3)
