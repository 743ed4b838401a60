"""Coefficients that end beside the poles of their maps, from scales far below one."""

import copy
import json
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from tests.campaign.families import draw
from tests.campaign.proofs import balls_of
from tests.oracles.proof_checker import Rejected, check
from tests.theory.prove.test_prove import contains

import limitpoint as lp
from limitpoint.theory.prove.prove import proof_of

NAMES = ("SignedPower 3", "SignedPower 4", "Power 3", "SignedPower 3 opp.", "Diagonal 3")
# As many bits as at scale one, where the dual alone would take thousands.
FEW_BITS = 700


def wide(name, number, power):
    return draw(name, 4, number, decades=1.0).at_scale(power)


def overlap(one, other):
    with ctx.workprec(512):
        pairs = zip(balls_of(one), balls_of(other), strict=True)
        return all(a.overlaps(b) for a, b in pairs)


@pytest.mark.parametrize("name", NAMES)
def test_contains_the_oracle(name):
    for number in range(4):
        case = wide(name, number, -60.0)
        proof = lp.prove(case.problem)
        assert proof.ok, proof.reason
        assert contains(proof.coef, case.oracle().coef)


@pytest.mark.parametrize("name", [*NAMES, "Diagonal 5", "Diagonal 3 tied"])
@pytest.mark.parametrize("power", [-60.0, -300.0, -1000.0])
def test_needs_no_more_bits_the_smaller_the_scale(name, power):
    for number in range(4):
        proof = lp.prove(wide(name, number, power).problem)
        assert proof.ok, proof.reason
        assert proof.bits <= FEW_BITS
        for middle, radius in zip(proof.coef.midpoint, proof.coef.radius, strict=True):
            assert abs(Fraction(radius)) <= abs(Fraction(middle)) / 10**30


@pytest.mark.parametrize("name", [name for name in NAMES if name != "SignedPower 4"])
def test_the_dual_alone_gives_the_same(name):
    """Without a hint there are no unknowns of their own: hundreds of bits more, the same balls."""
    problem = wide(name, 1, -60.0).problem
    proof = lp.prove(problem)
    assert proof.witness["poles"]
    plain = proof_of(problem, proof.theorem, 30, None)
    assert plain.ok
    assert "poles" not in plain.witness
    assert plain.bits > proof.bits
    assert overlap(proof.coef, plain.coef)
    assert overlap(proof.mirror, plain.mirror)
    assert overlap(proof.dual, plain.dual)


def exported():
    rng = np.random.default_rng(3)
    task = lp.Regression(rng.standard_normal((2, 5)), rng.standard_normal(2))
    network = lp.SignedPower(3)
    layers = np.abs(rng.standard_normal((2, 5)))
    problem = lp.Problem(network, lp.Init(layers, log_scale=-2302.6), task)
    found = json.loads(json.dumps(lp.prove(problem, digits=20).to_dict()))
    assert found["ok"]
    assert len(found["witness"]["poles"]) == 2
    return found


def test_the_checker_accepts():
    found = exported()
    check(copy.deepcopy(found["problem"]), found)


def _changed(place, change):
    def tamper(found):
        balls = found[place[0]][place[1]]
        i = found["witness"]["poles"][0] if len(balls) == 5 else 0
        balls[i] = str(change(Fraction(balls[i])))

    return tamper


TAMPERED = {
    "midpoint": _changed(("coef", "midpoint"), lambda m: m * (1 + Fraction(1, 10**18))),
    "sign": _changed(("coef", "midpoint"), lambda m: -m),
    "radius": _changed(("coef", "radius"), lambda r: r / 10**40),
    "huge radius": _changed(("coef", "radius"), lambda r: r * 10**25),
    "dual": _changed(("dual", "midpoint"), lambda m: m * (1 + Fraction(1, 10**12))),
    "mirror": _changed(("mirror", "midpoint"), lambda m: m * (1 + Fraction(1, 10**15))),
    "inactive coefficient": lambda found: found["coef"]["midpoint"].__setitem__(
        next(i for i in range(5) if i not in found["witness"]["poles"]), "1e-3000"
    ),
    "no unknown of its own": lambda found: found["witness"].pop("poles"),
    "out of range": lambda found: found["witness"].update(poles=[7]),
    "scale": lambda found: found["problem"].update(log_scale=-2302.5),
    "data": lambda found: found["problem"]["y"].__setitem__(0, 0.25),
}


@pytest.mark.parametrize("change", TAMPERED)
def test_the_checker_rejects(change):
    found = exported()
    problem = copy.deepcopy(found["problem"])
    TAMPERED[change](found)
    with pytest.raises((Rejected, ValueError)):
        check(problem, found)


def test_a_hint_that_sees_other_coefficients_grow_changes_nothing():
    problem = wide("SignedPower 3", 1, -60.0).problem
    proof = lp.prove(problem)
    limit = lp.predict(problem)
    for logs in (limit.log_abs_coef[::-1], limit.log_abs_coef + 3, limit.log_abs_coef * 0):
        hint = type("H", (), {"signs": -limit.signs, "log_abs_coef": logs, "dual": limit.dual})
        other = proof_of(problem, proof.theorem, 30, hint)
        assert not other.ok or overlap(proof.coef, other.coef)


def test_balls_of_parameters_contain_what_they_should():
    """Both forms of one map, near a pole: ξ(τ) and Ψ(ξ)."""
    from limitpoint.theory.prove.separable.closed_form_maps import Monomials
    from limitpoint.theory.prove.separable.deep_diagonal_map import deep_diagonal_map

    with ctx.workprec(2000):
        monomials = Monomials(4, ((1, arb(2) ** 300), (-1, arb(3) ** 200)))
        deep = deep_diagonal_map([arb(1) / 2, arb(-2), arb(3), arb(1)], arb(2) ** -100)
        one_sided = deep_diagonal_map([arb(2), arb(2), arb(3)], arb(2) ** -100)
        for made, side, log in (
            (monomials, 1, arb(3)),
            (monomials, -1, arb(-2)),
            (deep, 1, arb(71)),
            (deep, -1, arb(70)),
            (one_sided, 1, arb(72)),
        ):
            xi, turn, value, rise = made.along(side, log)
            again, slope = made.at(xi.mid())
            assert abs(again / value - 1) < 1e-100
            assert abs(slope * turn / rise - 1) < 1e-100
            step = arb(2) ** -300
            higher = made.along(side, log + step)
            assert abs((higher[0] - xi) / step / turn - 1) < 1e-60
            assert abs((higher[2] - value) / step / rise - 1) < 1e-60
