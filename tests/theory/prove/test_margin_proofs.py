"""Limit directions of classifications: proofs against exact and 140-digit oracles."""

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from mpmath import mp
from tests.campaign.margins import _times, cases
from tests.oracles.exact.exact_margin import solve_exactly
from tests.oracles.many_digits.margin_mp import fourier_rows, solve_to_many_digits
from tests.theory.prove.margin_problems import (
    HADAMARD,
    TWO_POINTS,
    contains,
    leading,
    random_task,
)

import limitpoint as lp
from limitpoint.theory.prove.exact.numbers import as_rationals, rational_matrix
from limitpoint.theory.prove.margins.exact_simplex import least_sum
from limitpoint.theory.prove.margins.frequencies import Transforms, vanishes
from limitpoint.theory.prove.margins.least_euclidean_margin import least_euclidean
from limitpoint.theory.prove.margins.signed_rows import check_separable
from limitpoint.theory.prove.outcome import CannotProve, Hint
from limitpoint.theory.prove.prove import proof_of

THEOREM_OF = {
    "diagonal": "yun2021.corollary2",
    "tensor": "yun2021.theorem2",
    "dense": "yun2021.corollary1",
    "convolutional": "yun2021.corollary3",
}


@pytest.mark.parametrize("scale", [0.0, 1e-200, 0.5, np.inf])
@pytest.mark.parametrize(
    ("network", "exact"),
    [
        (lp.FullyConnected((2,)), ["1/5", "2/5"]),
        (lp.RankOne(2, 3), ["1/5", "2/5"]),
        (lp.Diagonal(2), ["0", "1/2"]),
        (HADAMARD, ["1/3", "1/3"]),
        (lp.Convolutional((2, 2)), ["1/3", "1/3"]),
    ],
)
def test_two_points(network, exact, scale):
    """Section 6 of Yun et al.: (1, 2) → 1 and (0, −3) → −1."""
    problem = leading(network, TWO_POINTS, scale=scale)
    proof = lp.prove(problem)
    assert proof.ok, proof.reason
    assert proof.coef.exact is not None
    assert proof.coef.exact.tolist() == exact
    limit = lp.predict(problem)
    np.testing.assert_allclose(proof.coef.values, limit.coef, atol=1e-14)
    np.testing.assert_allclose(proof.more["direction"].values, limit.direction, atol=1e-14)


def oracle(case):
    signed = case.signed
    if case.family in ("diagonal", "tensor"):
        rows = signed if case.S is None else _times(signed, case.S.tolist())
        found = list(solve_exactly(rows).coef)
        if case.S is None:
            return found
        columns = zip(*case.S.tolist(), strict=True)
        return [sum(r * Fraction(e) for r, e in zip(found, line, strict=True)) for line in columns]
    if case.family == "dense":
        return solve_to_many_digits(signed.tolist(), [list(range(signed.shape[1]))], [1])[0]
    rows, groups, weights, lines = fourier_rows(signed.tolist())
    rho, _ = solve_to_many_digits(rows, groups, weights)
    with mp.workdps(140):
        return [
            mp.fsum(r * line[j] for r, line in zip(rho, lines, strict=True))
            for j in range(signed.shape[1])
        ]


@pytest.mark.parametrize(("kind", "count"), [("ties", 8), ("rows", 2), ("columns", 2), ("both", 2)])
@pytest.mark.parametrize("family", THEOREM_OF)
def test_contains_the_oracle(family, kind, count):
    """Ties, and units 10^±8; what is refused is not unique, and float64 is within its bound."""
    refused = 0
    # Solutions to 140 digits take a second each, solutions in fractions none.
    count = count if family in ("diagonal", "tensor") else (count + 1) // 2
    for case in cases(kind, family, count, seed=11):
        problem = leading(case.network(), lp.Classification(case.X, case.y))
        limit = case.limit()
        hint = Hint(limit.signs, limit.log_abs_coef, limit.dual)
        proof = proof_of(problem, THEOREM_OF[family], 30, hint)
        if not proof.ok:
            # Unique solutions that are not strictly complementary: of convolutions, they are few.
            assert not case.unique or family == "convolutional", proof.reason
            assert proof.kind == "not unique" or family == "convolutional"
            refused += case.unique
            continue
        assert case.unique
        assert contains(proof.coef, oracle(case))
        if limit.status.ok:
            sizes = np.abs(case.X) @ np.abs(limit.coef) + 1.0
            off = np.abs(case.X) @ np.abs(limit.coef - proof.coef.values) / sizes
            assert off.max() <= limit.certificate.residuals["error bound"] + np.finfo(float).eps
    assert refused <= count // 4


@pytest.mark.parametrize("family", THEOREM_OF)
def test_a_wrong_hint_proves_the_same(family):
    (case,) = cases("rows", family, 1, seed=3)
    problem = leading(case.network(), lp.Classification(case.X, case.y))
    m, n = case.X.shape
    rng = np.random.default_rng(0)
    hints = [
        None,
        Hint(np.ones(n), rng.standard_normal(n), rng.standard_normal(m)),
        Hint(np.zeros(n), np.full(n, -np.inf), np.zeros(m)),
        Hint(np.ones(n), np.full(n, np.nan), np.full(m, np.nan)),
    ]
    expected = oracle(case)
    for hint in hints:
        proof = proof_of(problem, THEOREM_OF[family], 30, hint)
        assert proof.ok, proof.reason
        assert contains(proof.coef, expected)


def test_separability_is_decided_exactly():
    """Against the simplex method in Python's fractions, data that no float separates included."""
    counts = {True: 0, False: 0}
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X = rng.integers(-2, 3, (rng.integers(1, 6), rng.integers(1, 4))).astype(float)
        X = X * 10.0 ** rng.uniform(-8, 8, (len(X), 1))
        rows, expected = rational_matrix(X), solve_exactly(X.tolist())
        counts[expected is not None] += 1
        if expected is not None:
            vector = check_separable(rows)
            assert min((rows * fmpq_mat(len(vector), 1, vector)).entries()) > 0
            value = sum(map(abs, least_sum(rows).coef), fmpq(0))
            assert Fraction(str(value)) == sum(map(abs, expected.coef))
            assert min((rows * fmpq_mat(len(vector), 1, least_euclidean(rows)[0])).entries()) == 1
            continue
        for solve in (check_separable, least_sum, least_euclidean):
            with pytest.raises(CannotProve, match="proved not to be separable") as refused:
                solve(rows)
            weights = [Fraction(one) for one in refused.value.witness["weights"]]
            assert min(weights) >= 0
            assert any(weights)
            totals = [
                sum(w * Fraction(v) for w, v in zip(weights, column, strict=True))
                for column in X.T.tolist()
            ]
            assert not any(totals)
    assert min(counts.values()) > 40


def test_separability_within_the_last_digit():
    """`x + ε` on one side and x on the other: float64 adds nothing."""
    X = [[1.0, 1.0 + 2.0**-52], [-1.0, -1.0]]
    assert check_separable(rational_matrix(np.array(X)))
    with pytest.raises(CannotProve, match=r"2 samples add up to zero"):
        check_separable(rational_matrix(np.array([[1.0, 1.0], [-1.0, -1.0]])))


def test_the_simplex_method_needs_no_guess():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.integers(-3, 4, (rng.integers(1, 6), rng.integers(2, 8))).astype(float)
        expected = solve_exactly(X.tolist())
        if expected is None:
            continue
        rows = rational_matrix(X)
        for guess in (None, rng.standard_normal(len(X)) ** 2, np.zeros(len(X))):
            found = least_sum(rows, guess)
            assert (found.other is None) == expected.unique, seed
            if expected.unique:
                assert [Fraction(str(one)) for one in found.coef] == list(expected.coef)


class TestStarts:
    """What the theorems need of the start, decided exactly."""

    def proof(self, network, layers, task=TWO_POINTS, theorem=None, **scale):
        problem = lp.Problem(network, lp.Init(layers, **(scale or {"scale": 0.5})), task)
        return proof_of(problem, theorem, 20, None) if theorem else lp.prove(problem)

    def test_a_tie_is_refused_unless_the_data_are_zero_there(self):
        task = lp.Classification([[1.0, 2.0, 0.0]], [1])
        layers = [np.array([1.0, 3.0, 2.0]), np.array([0.5, 1.0, -2.0])]
        theorem = "yun2021.corollary2"
        assert self.proof(lp.Diagonal(2), layers, task, theorem).ok
        layers[1][1] = -3.0
        refused = self.proof(lp.Diagonal(2), layers, task, theorem)
        assert "equal moduli in coordinate 1" in refused.reason

    def test_a_tie_of_transforms_is_decided_exactly(self):
        """(1, 2, 0) and (2, 0, 1), a shift, have equal moduli at all frequencies."""
        theorem, network = "yun2021.corollary3", lp.Convolutional((3, 3))
        layers = [np.array([1.0, 2.0, 0.0]), np.array([2.0, 0.0, 1.0])]
        task = lp.Classification([[1.0, 2.0, 4.0]], [1])
        refused = self.proof(network, layers, task, theorem)
        assert "equal moduli at frequency 0" in refused.reason
        # Sums of 3, and moduli that differ at frequency 1, where alone the data are.
        layers[1] = np.array([1.0, 1.0, 1.0])
        task = lp.Classification([[1.0, 1.0, -2.0], [0.0, 1.0, -1.0]], [1, 1])
        assert self.proof(network, layers, task, theorem).ok

    def test_a_transform_of_lower_rank_is_refused(self):
        network = lp.OrthogonalTensor([[1.0, 2.0], [2.0, 4.0]], [np.eye(2)] * 2)
        layers = [np.ones(2), np.zeros(2)]
        assert "full column rank" in self.proof(network, layers, theorem="yun2021.theorem2").reason

    def test_columns_that_are_orthonormal_to_rounding_are_assumed_to_be(self):
        bases = [np.linalg.qr(np.random.default_rng(k).standard_normal((3, 2)))[0] for k in (0, 1)]
        network = lp.OrthogonalTensor([[1, 1], [1, -1]], bases)
        assert any("orthonormal" in one for one in lp.prove(leading(network, TWO_POINTS)).assumed)
        assert len(lp.prove(leading(HADAMARD, TWO_POINTS)).assumed) == 1

    @pytest.mark.parametrize("loss", ["exponential", "logistic"])
    @pytest.mark.parametrize("scale", [0.0, 1e-300, 1e-8, 0.5, 10.0, np.inf])
    def test_a_loss_below_that_of_zero(self, scale, loss):
        """The margins at the start are 3 and 3; then 3 and −6, whose mean is below zero."""
        task = lp.Classification(TWO_POINTS.X, TWO_POINTS.y, loss=loss)
        layers = [np.eye(2), np.ones(2)]
        found = self.proof(lp.FullyConnected((2,)), layers, task, scale=scale)
        assert found.witness["start"] == "descends"
        layers = [np.array([[7.0, 0.0, 0.0], [0.0, -2.0, 0.0]]), np.array([1.0, 1.0, 0.0])]
        found = self.proof(lp.FullyConnected((3,)), layers, task, "yun2021.corollary1", scale=scale)
        assert found.witness["start"] == "assumed"
        assert "holds to rounding" in found.assumed[0]

    def test_a_last_layer_that_is_kept(self):
        found = self.proof(lp.FullyConnected((2,)), [-np.eye(2), np.array([1.0, 2.0])])
        assert found.witness["start"] == "kept"
        assert not found.assumed

    def test_layers_that_keep_their_rank(self):
        layers = [np.eye(2), np.eye(2), np.array([-0.5, -0.25])]
        found = self.proof(lp.FullyConnected((2, 2)), layers)
        assert found.witness["start"] == "ordered"
        assert not found.assumed
        # Orthonormal to rounding: no longer ordered.
        turn = np.linalg.qr(np.random.default_rng(0).standard_normal((2, 2)))[0]
        found = self.proof(
            lp.FullyConnected((2, 2)),
            [turn, turn.T, turn @ layers[2]],
            theorem="yun2021.corollary1",
        )
        assert found.ok
        assert found.witness["start"] in ("assumed", "descends")

    def test_a_stationary_start_has_no_descent(self):
        """Layers of zeros, and inner ones of which two vanish, never move."""
        for layers in (
            [np.zeros((2, 2)), np.zeros(2)],
            [np.ones(2), np.zeros(3), np.zeros(3)],
        ):
            network = lp.FullyConnected((2,)) if len(layers) == 2 else lp.RankOne(2, 3)
            found = self.proof(network, layers, theorem="yun2021.corollary1")
            assert found.witness["start"] == "assumed"


def test_transforms_vanish_exactly():
    """`1 − x³` is zero at the third roots of unity and nowhere else; in balls that is not seen."""
    row = as_rationals([1.0, 0.0, 0.0, -1.0, 0.0, 0.0])
    assert [vanishes(row, k) for k in range(4)] == [True, False, True, False]
    waves = Transforms(fmpq_mat(1, 6, row))
    assert waves.counts == [1, 2, 2, 1]
    assert waves.real[0, 2].contains(0)
    assert not waves.real[0, 1].contains(0)


@pytest.mark.parametrize("units", [(4, 1), (1, 5)])
def test_the_barrier_finds_what_decides_in_all_units(units):
    """Samples or features in units 10^±8: multipliers are 10^−16 of others, or 10^24; no hint."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((4, 5)) * 10.0 ** rng.uniform(-8, 8, units)
        task = lp.Classification(X, [1, 1, 1, 1])
        problem = leading(lp.Convolutional((5, 5)), task)
        found = proof_of(problem, THEOREM_OF["convolutional"], 30, None)
        assert found.ok, (seed, found.reason)


def test_degenerate_frequencies_are_refused_with_a_reason():
    """An impulse weighs all frequencies alike: any of them will do."""
    task = lp.Classification([[1.0, 0.0, 0.0, 0.0]], [1])
    found = proof_of(leading(lp.Convolutional((4, 4)), task), "yun2021.corollary3", 20, None)
    assert "no solution is proved to be the only one" in found.reason


def test_samples_alike_in_the_frequencies_used_share_their_multipliers():
    """Shifts of each other whose only frequency is 0: one margin follows from the other exactly."""
    task = lp.Classification([[3.0, 1.0, 2.0], [1.0, 2.0, 3.0]], [1, 1])
    found = lp.prove(leading(lp.Convolutional((3, 3)), task))
    assert found.ok, found.reason
    assert found.coef.exact.tolist() == ["1/6"] * 3
    assert len(found.witness["free"]) == 1


def test_larger_problems():
    for network in (lp.FullyConnected((30,)), lp.Diagonal(2), lp.Convolutional((30, 30))):
        problem = leading(network, random_task(12, 30, seed=1))
        proof, limit = lp.prove(problem, digits=40), lp.predict(problem)
        assert proof.ok, proof.reason
        np.testing.assert_allclose(proof.coef.values, limit.coef, rtol=0, atol=1e-13)
        np.testing.assert_allclose(proof.dual.values, limit.dual, rtol=0, atol=1e-12)
        np.testing.assert_allclose(proof.mirror.values, limit.mirror, rtol=0, atol=1e-12)
