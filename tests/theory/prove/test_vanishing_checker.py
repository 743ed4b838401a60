"""Proofs of saddle paths, tampered with: the checker rejects them all."""

import copy
from fractions import Fraction

import pytest
from tests.oracles.proof_checker import Rejected, check, check_refusal
from tests.theory.prove.saddle_problems import SEVEN, TIE, accept, at_zero, exported

import limitpoint as lp
from limitpoint.theory.prove.vanishing import vanishing


def _irrational():
    return lp.prove(at_zero(lp.Diagonal(3), SEVEN, [10.0, 0.0]), digits=20)


def _rational():
    return lp.prove(at_zero(lp.Diagonal(2), SEVEN, [10.0, 0.0]), digits=20)


def _put(*way, value=None, change=None):
    """Set, or change, what lies at the end of a way through the export."""

    def tamper(found):
        *before, last = way
        for one in before:
            found = found[one]
        found[last] = value if change is None else change(found[last])

    return tamper


def _nudged(text):
    value = Fraction(text) * (1 + Fraction(1, 10**15))
    return f"{value.numerator}/{value.denominator}"


def _with_exact(part, place, value):
    """Change a rational everywhere: fraction and ball."""

    def tamper(found):
        balls = found[part] if isinstance(part, str) else found["more"][part[0]]
        for name in ("exact", "midpoint"):
            row = balls[name]
            for one in place[:-1]:
                row = row[one]
            row[place[-1]] = value

    return tamper


TAMPERED_PATHS = {
    "coefficient": (_rational, _with_exact("coef", [2], "11/7")),
    "fraction alone": (_rational, _put("coef", "exact", 2, value="100000000000/70000000001")),
    "saddle": (_rational, _with_exact(["saddles"], [1, 0], "3/5")),
    "time": (_rational, _with_exact(["path_times"], [2], "3/50")),
    "mirror coordinate": (_rational, _with_exact("mirror", [0], "1")),
    "dual": (_rational, _with_exact("dual", [0], "1/7")),
    "support": (_rational, _put("witness", "supports", 2, value=[0])),
    "saddle left out": (_rational, _put("witness", "supports", value=[[], [0], [2, 3]])),
    "end left out": (_rational, _put("witness", "supports", value=[[], [0], [2]])),
    "saddle too many": (
        _rational,
        _put("witness", "supports", value=[[], [0], [2], [2, 3], [2, 3]]),
    ),
    "other end": (_rational, _put("witness", "supports", 3, value=[0, 3])),
    "no start": (_rational, _put("witness", "supports", 0, value=[1])),
    "dependent support": (_rational, _put("witness", "supports", 3, value=[1, 2, 3])),
    "fits": (_rational, _put("fits", value=False)),
    "saddles left out": (_rational, lambda found: found["more"].pop("saddles")),
    "data": (_rational, _put("problem", "X", 0, 0, value=11.0)),
    "scale": (_rational, _put("problem", "scale", value=1.0)),
    "kind": (_rational, _put("kind", value="least weighted l1")),
    "not ok": (_rational, _put("ok", value=False)),
    "ball of a time": (_irrational, _put("more", "path_times", "midpoint", 1, change=_nudged)),
    "radius of a time": (_irrational, _put("more", "path_times", "radius", 1, value="1e-60")),
    "ball of a mirror coordinate": (_irrational, _put("mirror", "midpoint", 2, change=_nudged)),
    "ball of the dual": (_irrational, _put("dual", "midpoint", 0, change=_nudged)),
    "start": (_irrational, _put("problem", "direction", 0, 0, value=0.25)),
    "network": (_irrational, _put("problem", "network", value="Diagonal(depth=2)")),
}


@pytest.mark.parametrize("change", TAMPERED_PATHS)
def test_the_checker_rejects_a_path(change):
    make, tamper = TAMPERED_PATHS[change]
    found = exported(make())
    if change not in ("data", "start", "scale", "network"):
        problem = copy.deepcopy(found["problem"])
        tamper(found)
    else:
        # Of another problem, whose proof it says it is.
        tamper(found)
        problem = copy.deepcopy(found["problem"])
    with pytest.raises((Rejected, ValueError, KeyError)):
        check(problem, found)


@pytest.mark.parametrize("make", [_rational, _irrational])
def test_the_checker_accepts_a_path(make):
    accept(make())


def _end():
    """An undecided tie, whose proof does not take long to check."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vanishing, "BITS_OF_PATH", 64)
        X = [[1.0, 1.0, 0.1], [1.0, -1.0, 0.3]]
        problem = at_zero(lp.Diagonal(4), X, [1.0, 0.0], [row[:3] for row in TIE])
        return lp.prove(problem, digits=20)


TAMPERED_ENDS = {
    "coefficient": _with_exact("coef", [0], "2/3"),
    "sign": _with_exact("coef", [0], "-1/2"),
    "negative radius": _put("coef", "radius", 0, value="-1e-30"),
    "support": _put("witness", "support", value=[0, 2]),
    "support that does not fit": _put("witness", "support", value=[0]),
    "support too large": _put("witness", "support", value=[0, 1, 2]),
    "column twice": _put("witness", "support", value=[0, 0]),
    "fits": _put("fits", value=False),
    "times that are not there": _put("more", value={"path_times": {"midpoint": [], "radius": []}}),
    "kind": _put("kind", value="saddle path"),
    "data": _put("problem", "y", 1, value=0.125),
    "columns": _put("problem", "X", 0, 2, value=9.0),
    "not ok": _put("ok", value=False),
}


@pytest.fixture(scope="module")
def end():
    proof = _end()
    assert proof.kind == "least weighted l1"
    return exported(proof)


def test_the_checker_accepts_an_end(end):
    check(copy.deepcopy(end["problem"]), end)


@pytest.mark.parametrize("change", TAMPERED_ENDS)
def test_the_checker_rejects_an_end(change, end):
    found = copy.deepcopy(end)
    TAMPERED_ENDS[change](found)
    with pytest.raises((Rejected, ValueError, KeyError)):
        check(copy.deepcopy(found["problem"]), found)


def _two():
    return lp.prove(lp.saddle_path([[1.0, 2.0, 0.5]], [1.0], [1.0, 2.0, 1.0]), digits=20)


TAMPERED_REFUSALS = {
    "the same twice": _put("witness", "other", value=["1", "0", "0"]),
    "one that misses": _put("witness", "other", value=["0", "1", "0"]),
    "one that costs more": _put("witness", "other", value=["0", "0", "2"]),
    "none that is reached": _put("witness", "minimiser", value=["0", "1/2", "0"]),
    "one left out": _put("witness", "other", value=["0", "1/2"]),
    "path cut short": _put("witness", "supports", value=[[]]),
    "other path": _put("witness", "supports", value=[[], [1]]),
    "kind": _put("kind", value="saddle path"),
    "ok": _put("ok", value=True),
    "times": _put("problem", "t_plus", 0, value=0.5),
    "data": _put("problem", "X", 0, 1, value=2.5),
}


def test_the_checker_accepts_a_refusal():
    accept(_two())


@pytest.mark.parametrize("change", TAMPERED_REFUSALS)
def test_the_checker_rejects_a_refusal(change):
    found = exported(_two())
    TAMPERED_REFUSALS[change](found)
    with pytest.raises((Rejected, ValueError)):
        check_refusal(copy.deepcopy(found["problem"]), found)
