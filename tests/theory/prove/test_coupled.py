"""Proofs of networks whose coefficients move together: oracles, hypotheses, refusals."""

from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf
from tests.campaign.families import draw
from tests.theory.prove.coupled_problems import CHECKED, FAMILIES, balanced, gaussian, saddle

import limitpoint as lp
from limitpoint.theory.prove.outcome import Hint
from limitpoint.theory.prove.prove import proof_of


def flat(nested):
    return [one for row in nested for one in (row if isinstance(row, list | tuple) else [row])]


def contains(balls, numbers):
    """Of 60 digits: the last few are the oracle's own."""
    pairs = zip(balls.midpoint.ravel(), balls.radius.ravel(), flat(numbers), strict=True)
    with mp.workdps(120):
        return all(abs(mpf(m) - x) <= mpf(r) + abs(x) * mpf(10) ** -50 for m, r, x in pairs)


@pytest.mark.parametrize("name", FAMILIES)
def test_contains_the_oracle(name):
    for number in range(12):
        case = draw(name, 3, number)
        proof = lp.prove(case.problem, digits=25)
        truth = case.oracle()
        assert proof.ok, (number, proof.reason)
        assert contains(proof.coef, truth.coef), number
        assert proof.fits == truth.fits


@pytest.mark.parametrize("log_scale", [-2302.6, -30.0, 0.0, 13.8])
@pytest.mark.parametrize("network", [lp.RankOne(3, 4), lp.FullyConnected((3, 5))], ids=str)
def test_holds_to_all_digits(network, log_scale):
    """Scales from 10^-1000 to 10^6: also of coefficients that only the start gives."""
    task = lp.Regression([[1.0, 2.0, 0.0], [3.0, 6.0, 0.0]], [1.0, 2.0])
    proof = lp.prove(balanced(network, task, log_scale=log_scale), digits=30)
    assert proof.ok
    assert not proof.fits
    for m, r in zip(proof.coef.midpoint, proof.coef.radius, strict=True):
        assert 0 < Fraction(r) <= abs(Fraction(m)) / 10**30


def test_rank_one_networks_need_no_balance():
    """Pairs that are balanced to rounding only cannot turn while v₁ keeps a part in null space."""
    proof = lp.prove(balanced(lp.RankOne(3, 4), gaussian(3, 6), scale=0.1))
    assert proof.theorem == "limitpoint.rank_one"
    assert proof.assumed == ()


def test_balance_that_holds_to_rounding_is_assumed_by_name():
    proof = lp.prove(balanced(lp.FullyConnected((3, 4)), gaussian(3, 6), scale=0.1))
    assert proof.theorem == "lyu2023.theorem2"
    assert len(proof.assumed) == 1
    assert "which the floats are up to" in proof.assumed[0]


def test_starts_that_are_not_balanced_are_refused():
    task = gaussian(3, 6)
    network = lp.FullyConnected((3,))
    problem = lp.Problem(network, lp.Init.random(network, task, seed=0), task)
    proof = proof_of(problem, "lyu2023.theorem2", 20, None)
    assert "not balanced: off by" in proof.reason
    turning = lp.Problem(
        lp.RankOne(2, 2), lp.Init([[1.0, 0, 0], [1.0, 0.0], [0.1, 3.0]]), gaussian(3, 3)
    )
    assert "may become orthogonal" in proof_of(turning, "limitpoint.rank_one", 20, None).reason
    for inner, why in ([[1.0, 0], [0.0, 1]], "orthogonal at the start"), ([[1.0]] * 2, "are zero"):
        layers = [np.zeros(3) if len(inner[0]) == 1 else np.ones(3), *inner]
        problem = lp.Problem(lp.RankOne(2, len(inner[0])), lp.Init(layers), gaussian(3, 3))
        assert why in proof_of(problem, "limitpoint.rank_one", 20, None).reason


def test_a_wrong_theorem_or_hint_does_not_change_what_is_proved():
    problem = balanced(lp.RankOne(3, 4), gaussian(3, 6), scale=0.1)
    right = lp.prove(problem)
    wrong = Hint(np.ones(6), np.full(6, 9.0), np.ones(3))
    for theorem in ("lyu2023.theorem1", "lyu2023.proposition2"):
        found = proof_of(problem, theorem, 30, wrong)
        assert found.coef.midpoint.tolist() == right.coef.midpoint.tolist()
        assert found.theorem == right.theorem


@pytest.mark.parametrize("network", [lp.RankOne(2, 2), lp.FullyConnected((1,))], ids=str)
def test_the_saddle(network):
    proof = lp.prove(saddle(network=network))
    assert proof.ok
    assert proof.theorem == "lyu2023.proposition2"
    assert proof.coef.values.tolist() == [0, 0]
    assert not proof.fits
    assert lp.prove(saddle(sign=1.0, network=network)).coef.exact.tolist() == ["6/25", "8/25"]


def test_the_saddle_to_rounding_is_not_decided():
    problem = saddle()
    layers = [*problem.init.direction[:2], np.array([np.nextafter(5.0, 6.0), 0.0])]
    problem = lp.Problem(problem.network, lp.Init(layers, 0.01), problem.task)
    assert lp.predict(problem).theorem.id == "lyu2023.proposition2"
    assert "depends on the balance" in lp.prove(problem).reason
    vanishing = lp.Problem(problem.network, problem.init.at_scale(0.0), problem.task)
    assert "points along −Xᵀy" in proof_of(vanishing, "lyu2023.corollary1.1", 20, None).reason


def test_start_in_the_row_space_leaves_zero():
    """With as many samples as features a polynomial shows it, unless all signs are against it."""
    task, network = lp.Regression(np.diag([2.0, 1.0]), [1.0, 1.0]), lp.FullyConnected((1,))

    def proof(*first):
        norm = float(np.hypot(*first))
        layers = [np.array(first)[:, None], [norm]]
        return lp.prove(lp.Problem(network, lp.Init(layers, 0.01), task))

    assert proof(3.0, 4.0).witness["leaves zero"] == []
    assert proof(3.0, -4.0).witness["leaves zero"] == [1.0]
    assert proof(-12.0, 5.0).witness["leaves zero"] == [4.0]
    hidden = proof(-3.0, -4.0)
    assert hidden.witness["leaves zero"] == "assumed"
    assert "saddle" in hidden.assumed[0]


def test_singular_values_of_the_layers():
    """Against the layers of float64; and those that are zero, or equal, exactly."""
    network, task = lp.TwoLayer(9), gaussian(4, 7, outputs=(3,))
    problem = lp.Problem(network, lp.Init.orthogonal(network, task, scale=0.3, seed=0), task)
    proof, limit = lp.prove(problem), lp.predict(problem)
    assert proof.coef.midpoint.shape == (7, 3)
    for name, layer in zip(("first", "second"), limit.layers, strict=True):
        found = proof.more[f"singular values of the {name} layer"]
        assert np.allclose(found.values, np.linalg.svd(layer)[1], rtol=1e-13)
    assert "orthonormal" in proof.assumed[0]
    tied = lp.prove(CHECKED["tied singular values"]())
    values = tied.more["singular values of the coefficients"]
    assert values.values.tolist() == [2.0, 2.0, 0.0]
    assert values.midpoint[2] == "0"
    assert tied.assumed == ()


def test_starts_of_two_layers_are_checked():
    task, network = gaussian(3, 2, outputs=(2,)), lp.TwoLayer(2)
    for first, second, why in (
        (np.eye(2), np.eye(2), "second layer"),
        (np.zeros((2, 2)), np.zeros((2, 2)), "both layers"),
        (np.array([[1.0, 0.0], [1.0, 1.0]]), np.zeros((2, 2)), "not orthonormal"),
    ):
        problem = lp.Problem(network, lp.Init([first, second]), task)
        assert why in proof_of(problem, "varre2023.theorem3.1", 20, None).reason


def test_vanishing_dense_networks():
    """Identities exactly; a rotation to rounding, assumed by name; and less is refused."""
    task, network = gaussian(2, 3), lp.FullyConnected((3, 3))
    rng = np.random.default_rng(0)
    one, other = (np.linalg.qr(rng.standard_normal((3, 3)))[0] for _ in range(2))

    def proof(*layers):
        problem = lp.Problem(network, lp.Init(layers, 0.0), task)
        return proof_of(problem, "yun2021.theorem7", 20, None)

    assert proof(np.eye(3), np.eye(3), np.zeros(3)).assumed == ()
    assert "holds to rounding" in proof(one, other, np.zeros(3)).assumed[0]
    assert "not larger" in proof(np.eye(3), 2 * np.eye(3), np.zeros(3)).reason
    assert "not larger" in proof(np.eye(3), np.eye(3), np.ones(3)).reason
    assert "busy neurons" in proof(np.eye(3), np.diag([1.0, 1.0, 0.0]), np.zeros(3)).reason
