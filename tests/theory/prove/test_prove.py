"""Proofs against oracles of 60 digits, against a checker of their own, and against tampering."""

import copy
import json
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf
from tests.campaign.families import draw
from tests.oracles.proof_checker import Rejected, check

import limitpoint as lp
from limitpoint.results import Balls

FAMILIES = (
    "Diagonal 2",
    "Power 2",
    "Power 3",
    "Power 4",
    "SignedPower 2",
    "SignedPower 3",
    "Paired",
)


def contains(balls, numbers):
    """Whether every ball contains its number (of 60 digits: the last few are the oracle's own)."""
    pairs = zip(balls.midpoint, balls.radius, numbers, strict=True)
    with mp.workdps(80):
        return all(abs(mpf(m) - x) <= mpf(r) + abs(x) * mpf(10) ** -50 for m, r, x in pairs)


def gaussian(network, m, n, seed, **scale):
    rng = np.random.default_rng(seed)
    task = lp.Regression(rng.standard_normal((m, n)), rng.standard_normal(m))
    layers = lp.Init.random(network, task, seed=seed).direction
    if not isinstance(network, lp.Diagonal):
        layers = [np.abs(layer) for layer in layers]
    return lp.Problem(network, lp.Init(layers, **scale), task)


@pytest.mark.parametrize("name", FAMILIES)
def test_contains_the_oracle(name):
    """Random data in random units, ties and dependent rows included."""
    for number in range(12):
        case = draw(name, 3, number)
        proof = lp.prove(case.problem, digits=25)
        assert proof.ok, (number, proof.reason)
        assert contains(proof.coef, case.oracle().coef), number


@pytest.mark.parametrize(
    ("network", "scale"),
    [
        (lp.Diagonal(2), {"log_scale": -2302.6}),
        (lp.Diagonal(2), {"scale": 1e6}),
        (lp.Paired(), {"scale": 1e-3}),
        (lp.SignedPower(3), {"scale": 1e-100}),
        (lp.SignedPower(4), {"scale": 1.0}),
        (lp.SignedPower(3), {"scale": 1e4}),
    ],
)
@pytest.mark.parametrize("shape", [(5, 12), (9, 4)])
def test_holds_to_all_digits(network, scale, shape):
    """Every coefficient relative to itself, far below the smallest float; the sign of each."""
    proof = lp.prove(gaussian(network, *shape, seed=1, **scale), digits=30)
    assert proof.ok
    assert np.isin(proof.coef.signs, (-1, 1)).all()
    for m, r in zip(proof.coef.midpoint, proof.coef.radius, strict=True):
        assert abs(Fraction(r)) <= abs(Fraction(m)) / 10**30


def test_float64_lies_within_its_certificate():
    for seed in range(5):
        problem = gaussian(lp.Diagonal(2), 6, 15, seed, scale=1e-2)
        limit, proof = lp.predict(problem), lp.prove(problem)
        # First-order bounds, each coefficient by itself; rounding of the coefficient beside them.
        bound = limit.certificate.coef_errors + np.spacing(np.abs(limit.coef))
        assert (np.abs(limit.coef - proof.coef.values) <= bound).all()


def test_answers_where_rounding_hides_the_data():
    problem = gaussian(lp.SignedPower(3), 6, 15, 0, scale=1e5)
    assert lp.predict(problem, escalate=False).status is lp.Status.DATA_HIDDEN
    assert lp.prove(problem).ok


def test_takes_the_number_that_was_given_as_the_scale():
    """exp(−5) is no float: the two problems differ in their 17th digit, and so do their limits."""
    by_log = lp.prove(gaussian(lp.Diagonal(2), 2, 4, 0, log_scale=-5.0))
    by_scale = lp.prove(gaussian(lp.Diagonal(2), 2, 4, 0, scale=float(np.exp(-5.0))))
    assert (by_log.coef.midpoint != by_scale.coef.midpoint).all()
    assert np.allclose(by_log.coef.values, by_scale.coef.values, rtol=1e-14)


def test_lazy_limit_is_rational():
    task = lp.Regression([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0]], [1.0, 2.0])
    network = lp.SignedPower(2)
    proof = lp.prove(lp.Problem(network, lp.Init.unbiased(network, task, np.inf), task))
    assert proof.bits == 0
    with mp.workdps(80):
        assert contains(proof.coef, [mpf(1) / 5, mpf(2) / 5, mpf(0)])
    assert proof.coef.signs.tolist() == [1, 1, 0]


def test_lazy_limits_contain_the_oracle():
    """Of every network, deep diagonal ones among them."""
    for number in range(40):
        case = draw("scale inf", 3, number)
        proof = lp.prove(case.problem, digits=20)
        assert proof.ok, (number, proof.reason)
        assert contains(proof.coef, case.oracle().coef), (number, case.network)


def test_data_that_reach_no_coefficient_are_refused_with_the_reason():
    task = lp.Regression([[0.0, 0.0]], [1.0])
    network = lp.SignedPower(2)
    proof = lp.prove(lp.Problem(network, lp.Init.unbiased(network, task, 1.0), task))
    assert not proof.ok
    assert "reaches any sample" in proof.reason
    assert "Not proved" in str(proof)


def test_says_where_no_theorem_tells():
    task = lp.Regression([[1.0, 2.0, 3.0], [3.0, 1.0, 1.0]], [1.0, 2.0])
    network = lp.FullyConnected((3,))
    proof = lp.prove(lp.Problem(network, lp.Init.random(network, task, seed=0), task))
    assert not proof.ok
    assert proof.reason.startswith("no theorem determines the limit")


def test_signs_of_balls():
    balls = Balls(
        np.array(["1e-2000", "-3", "1", "0", "0"]), np.array(["1e-2030", "2.9", "1.5", "0", "1e-9"])
    )
    assert balls.signs[:2].tolist() == [1, -1]
    assert np.isnan(balls.signs[2])
    assert balls.signs[3] == 0
    assert np.isnan(balls.signs[4])


CHECKED = {
    "two layers": lambda: gaussian(lp.Diagonal(2), 3, 6, 0, log_scale=-50.0),
    "least squares": lambda: gaussian(lp.Paired(), 5, 3, 1, scale=0.5),
    "three layers": lambda: gaussian(lp.SignedPower(3), 2, 4, 2, scale=1e-5),
    "one side": lambda: gaussian(lp.Power(2), 1, 3, 4, scale=0.1),
    "lazy, three layers": lambda: lp.Problem(
        lp.Diagonal(3),
        lp.Init([[1.0, 2.0, 3.0], [0.5, -1.0, 1.0], [0.0, 0.0, 0.0]], np.inf),
        lp.Regression([[1.0, 3.0, 2.0]], [1.0]),
    ),
    "lazy": lambda: lp.Problem(
        lp.Paired(),
        lp.Init([[1.0, 2.0]] * 4, np.inf),
        lp.Regression([[1.0, 3.0], [2.0, 6.0]], [1.0, 1.0]),
    ),
}


def exported(name):
    found = json.loads(json.dumps(lp.prove(CHECKED[name](), digits=20).to_dict()))
    assert found["ok"], found["reason"]
    return found


@pytest.mark.parametrize("name", CHECKED)
def test_an_independent_checker_accepts(name):
    found = exported(name)
    check(copy.deepcopy(found["problem"]), found)


def _first(place, change):
    def tamper(found):
        balls = found[place[0]][place[1]]
        balls[0] = change(Fraction(balls[0]))

    return tamper


def _decimal(value):
    return f"{value.numerator}/{value.denominator}"


TAMPERED = {
    "midpoint of a coefficient": _first(
        ("coef", "midpoint"), lambda m: _decimal(m * (1 + Fraction(1, 10**18)))
    ),
    "sign of a coefficient": _first(("coef", "midpoint"), lambda m: _decimal(-m)),
    "radius of a coefficient": _first(("coef", "radius"), lambda r: _decimal(r / 10**30)),
    "negative radius": _first(("coef", "radius"), lambda r: _decimal(-r)),
    "huge radius": _first(("coef", "radius"), lambda r: _decimal(r * 10**15)),
    "dual": _first(("dual", "midpoint"), lambda m: _decimal(m * (1 + Fraction(1, 10**15)))),
    "mirror coordinate": _first(("mirror", "midpoint"), lambda m: _decimal(m + 1)),
    "data": lambda found: found["problem"]["X"][0].__setitem__(0, 7.0),
    "network": lambda found: found["problem"].update(network="Paired()"),
    "kind": lambda found: found.update(kind="weighted least norm"),
    "coefficient left out": lambda found: found["coef"]["midpoint"].pop(),
    "not ok": lambda found: found.update(ok=False),
}


@pytest.mark.parametrize("change", TAMPERED)
def test_an_independent_checker_rejects(change):
    found = exported("two layers")
    problem = copy.deepcopy(found["problem"])
    TAMPERED[change](found)
    with pytest.raises((Rejected, ValueError)):
        check(problem, found)


def test_the_checker_knows_the_problem_by_itself():
    """The same proof for data that differ in the last digit of one entry."""
    found = exported("two layers")
    found["problem"]["X"][0][0] = float(np.nextafter(found["problem"]["X"][0][0], 9.0))
    with pytest.raises(Rejected):
        check(copy.deepcopy(found["problem"]), found)
