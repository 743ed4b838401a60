"""Exported proofs of coupled networks: an independent checker accepts them, and no others."""

import copy
import json
from fractions import Fraction

import numpy as np
import pytest
from tests.campaign.families import draw
from tests.oracles.proof_checker import Rejected, check
from tests.theory.prove.coupled_problems import CHECKED, FAMILIES, exported

import limitpoint as lp


@pytest.mark.parametrize("name", CHECKED)
def test_an_independent_checker_accepts(name):
    found = exported(name)
    check(copy.deepcopy(found["problem"]), found)


@pytest.mark.parametrize("name", FAMILIES)
def test_an_independent_checker_accepts_random_problems(name):
    for number in range(4):
        found = json.loads(json.dumps(lp.prove(draw(name, 4, number).problem, 20).to_dict()))
        check(copy.deepcopy(found["problem"]), found)


def _in(array, change):
    """Change the first entry of nested lists."""
    while isinstance(array[0], list):
        array = array[0]
    array[0] = change(Fraction(array[0]))


def _ball(part, key, change):
    return lambda found: _in(found[part][key], lambda m: str(change(m)))


def _more(name, key, change):
    return lambda found: _in(found["more"][name][key], lambda m: str(change(m)))


def _set(**entries):
    return lambda found: found.update(entries)


def _witness(**entries):
    return lambda found: found["witness"].update(entries)


TINY = 1 + Fraction(1, 10**18)
COMMON = {
    "coefficient": _ball("coef", "midpoint", lambda m: m * TINY + Fraction(1, 10**40) * (m == 0)),
    "sign": _ball("coef", "midpoint", lambda m: -m or 1),
    "radius": _ball("coef", "radius", lambda r: r / 10**9 - Fraction(1, 10**60) * (r == 0)),
    "mirror coordinate": _ball("mirror", "midpoint", lambda m: m * TINY + (m == 0)),
    "dual": _ball("dual", "midpoint", lambda m: m * TINY + (m == 0)),
    "theorem": _set(theorem="lyu2023.theorem3"),
    "assumption": lambda found: found["assumed"].append("that it is so"),
    "kind": _set(kind="weighted least norm"),
    "data": lambda found: _in(found["problem"]["y"], lambda _: -7.0),
    "start": lambda found: _in(found["problem"]["direction"], lambda _: 0.5),
    "fit": lambda found: found.update(fits=not found["fits"]),
}
FIRST = "singular values of the first layer"
TAMPERED = {
    "any start": COMMON
    | {
        "multiplier": _more("multiplier", "midpoint", lambda m: m * TINY),
        "balance": _witness(balance="exact"),
    },
    "least squares": COMMON
    | {
        "nothing assumed": _set(assumed=[]),
        "no polynomial": _witness(**{"leaves zero": "assumed"}),
    },
    "saddle": COMMON
    | {"balance": _witness(balance="assumed"), "target": _set(theorem="lyu2023.theorem1")},
    "vanishing": COMMON
    | {"nothing assumed": _set(assumed=[]), "balance": _witness(balance="exact")},
    "vanishing identities": COMMON | {"order": _witness(order="assumed")},
    "two layers": COMMON
    | {
        "singular value": _more(FIRST, "midpoint", lambda m: m * TINY),
        "radius of a singular value": _more(FIRST, "radius", lambda r: r / 10**15),
        "left out": lambda found: found["more"][FIRST]["midpoint"].pop(),
        "orthonormal": _witness(orthonormal="assumed"),
    },
}


@pytest.mark.parametrize(
    ("name", "change"), [(name, change) for name in TAMPERED for change in TAMPERED[name]]
)
def test_an_independent_checker_rejects(name, change):
    found = exported(name)
    problem = copy.deepcopy(found["problem"])
    TAMPERED[name][change](found)
    if change in ("start", "data"):  # by itself, not because it is not the same
        problem = copy.deepcopy(found["problem"])
    with pytest.raises((Rejected, ValueError)):
        check(problem, found)


def test_the_checker_counts_equal_singular_values():
    found = exported("tied singular values")
    values = found["more"]["singular values of the coefficients"]
    values["midpoint"][1], values["radius"][1] = "1", "1e-20"
    with pytest.raises(Rejected, match="singular value"):
        check(copy.deepcopy(found["problem"]), found)


def test_the_checker_knows_polynomials_that_prove_nothing():
    """All signs are against this start: no polynomial shows that it leaves zero."""
    network = lp.FullyConnected((1,))
    layers = [np.array([[-3.0], [-4.0]]), [5.0]]
    task = lp.Regression(np.diag([2.0, 1.0]), [1.0, 1.0])
    found = lp.prove(lp.Problem(network, lp.Init(layers, 0.01), task), digits=20).to_dict()
    check(copy.deepcopy(found["problem"]), found)
    for roots in ([], [1.0], [4.0], [2.0, 3.0]):
        found["witness"]["leaves zero"] = roots
        with pytest.raises(Rejected, match="polynomial"):
            check(copy.deepcopy(found["problem"]), found)
