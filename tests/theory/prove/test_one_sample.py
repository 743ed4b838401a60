"""Limits on one sample: against oracles of 120 digits, the checker, and tampering."""

import copy
import json
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf
from tests.campaign.families import draw
from tests.oracles.proof_checker import Rejected, check

import limitpoint as lp
from limitpoint.theory.prove.outcome import Hint
from limitpoint.theory.prove.prove import proof_of

FAMILIES = ("one-s. Tensor", "one-s. Convol.", "one-s. Fully C.")


def contains(balls, numbers):
    pairs = zip(balls.midpoint, balls.radius, numbers, strict=True)
    with mp.workdps(80):
        return all(abs(mpf(m) - x) <= mpf(r) + abs(x) * mpf(10) ** -50 for m, r, x in pairs)


@pytest.mark.parametrize("name", FAMILIES)
def test_contains_the_oracle(name):
    for number in range(12):
        case = draw(name, 3, number)
        proof = lp.prove(case.problem, digits=25)
        assert proof.ok, (number, proof.reason)
        assert contains(proof.coef, case.oracle().coef), number


def tensor(seed=0, y=1.0, **scale):
    rng = np.random.default_rng(seed)
    M, x = rng.standard_normal((4, 3, 2)), rng.standard_normal(4)
    layers = [rng.standard_normal(3), rng.standard_normal(2)]
    return lp.Problem(lp.Tensor(M), lp.Init(layers, **scale), lp.Regression([x], [y]))


def convolution(**scale):
    rng = np.random.default_rng(1)
    layers, x = [rng.standard_normal(2), rng.standard_normal(4)], rng.standard_normal(4)
    task = lp.Regression([x], [-2.0])
    return lp.Problem(lp.Convolutional((2, 4)), lp.Init(layers, **scale), task)


def dense(**scale):
    rng = np.random.default_rng(2)
    layers, x = [rng.standard_normal((4, 3)), rng.standard_normal(3)], rng.standard_normal(4)
    return lp.Problem(lp.FullyConnected((3,)), lp.Init(layers, **scale), lp.Regression([x], [0.5]))


def product(**scale):
    rng = np.random.default_rng(3)
    layers, A = rng.standard_normal((2, 2, 2)), rng.standard_normal((1, 2, 2))
    return lp.Problem(lp.MatrixProduct(2), lp.Init(layers, **scale), lp.MatrixSensing(A, [1.5]))


def orthogonal(**scale):
    rng = np.random.default_rng(4)
    U = [np.linalg.qr(rng.standard_normal((4, 3)))[0] for _ in range(2)]
    network = lp.OrthogonalTensor(rng.standard_normal((3, 3)), U)
    layers, x = rng.standard_normal((2, 4)), rng.standard_normal(3)
    return lp.Problem(network, lp.Init(layers, **scale), lp.Regression([x], [1.0]))


@pytest.mark.parametrize("make", [tensor, convolution, dense, product])
def test_small_scales_tend_to_scale_zero(make):
    """The two proofs share no step: exponentials of matrices here, an eigenspace there."""
    limit = lp.prove(make(scale=0.0))
    assert limit.ok, limit.reason
    for log_scale in (-50.0, -2302.6):
        proof = lp.prove(make(log_scale=log_scale))
        assert proof.ok, proof.reason
    assert np.allclose(proof.coef.values, limit.coef.values, rtol=1e-13)
    assert np.allclose(limit.coef.values, lp.predict(make(scale=0.0)).coef, rtol=1e-12)


def test_float64_lies_within_its_certificate():
    for make in (tensor, convolution, dense, product):
        limit, proof = lp.predict(make(scale=1e-2)), lp.prove(make(scale=1e-2))
        x, off = limit_data(make), np.abs(limit.coef - proof.coef.values)
        sizes = np.abs(x) @ np.abs(limit.coef) + 1.0
        assert (np.abs(x) * off <= limit.certificate.error_bound * sizes).all()


def limit_data(make):
    return make(scale=1.0).task.X[0]


def along(first, second, y, scale=0.5):
    """`f = v₁ᵀ diag(x) v₂`, x = (1, 3)."""
    M = np.zeros((2, 2, 2))
    M[0, 0, 0] = M[1, 1, 1] = 1.0
    init = lp.Init([first, second], scale)
    return lp.Problem(lp.Tensor(M), init, lp.Regression([[1.0, 3.0]], [y]))


@pytest.mark.parametrize("y", [1.0, 0.0])
@pytest.mark.parametrize("turn", [1.0, -1.0])
def test_what_never_reaches_the_target_is_refused(turn, y):
    """With `v₂ = −v₁` the output rises to zero and no further; with v₂ = v₁ it falls to zero."""
    problem = along([1.0, 2.0], [-turn, -2.0 * turn], turn * y)
    proof = proof_of(problem, "limitpoint.one_sample", 20, None)
    assert not proof.ok
    assert "never reaches" in proof.reason


def test_what_is_reached_on_the_way_to_zero_is_proved():
    """`f = −¼ Σ s (p − q)² e^{−2sν}`: with one s, ν is in closed form."""
    proof = proof_of(along([1.0, 0.0], [-1.0, 0.0], -1e-60), "limitpoint.one_sample", 20, None)
    assert proof.ok, proof.reason
    with mp.workdps(60):
        assert contains(proof.dual, [-mp.log(mpf(1e-60) / mpf("0.25")) / 2])
        assert contains(proof.coef, [mpf(-1e-60), mpf(0)])


def test_no_link_is_refused():
    problem = along([1.0, 2.0], [1.0, 2.0], 1.0)
    nothing = lp.Problem(problem.network, problem.init, lp.Regression([[0.0, 0.0]], [1.0]))
    proof = proof_of(nothing, "limitpoint.one_sample", 20, None)
    assert "links no two layers" in proof.reason


@pytest.mark.parametrize("dual", [1e300, -40.0, np.nan])
def test_a_wrong_hint_changes_nothing(dual):
    problem = tensor(scale=1e-3)
    hint = Hint(np.ones(4), np.zeros(4), np.array([dual]))
    proof = proof_of(problem, "limitpoint.one_sample", 20, hint)
    right = lp.prove(problem, digits=20)
    assert proof.ok, proof.reason
    assert np.allclose(proof.coef.values, right.coef.values, rtol=1e-15)


CHECKED = {
    "tensor": lambda: tensor(scale=1e-3),
    "downwards": lambda: tensor(y=-1.0, log_scale=-40.0),
    "convolution": lambda: convolution(scale=0.5),
    "dense": lambda: dense(scale=1e-2),
    "matrices": lambda: product(scale=1.0),
    "orthogonal": lambda: orthogonal(scale=0.1),
    "tensor at zero": lambda: tensor(scale=0.0),
    "convolution at zero": lambda: convolution(scale=0.0),
    "dense at zero": lambda: dense(scale=0.0),
    "nothing at zero": lambda: tensor(y=0.0, scale=0.0),
}


def exported(name):
    theorem = "limitpoint.one_sample"
    found = json.loads(json.dumps(proof_of(CHECKED[name](), theorem, 20, None).to_dict()))
    assert found["ok"], found["reason"]
    return found


@pytest.mark.parametrize("name", CHECKED)
def test_an_independent_checker_accepts(name):
    found = exported(name)
    check(copy.deepcopy(found["problem"]), found)


def _ball(place, part, change):
    def tamper(found):
        balls = found
        for key in place:
            balls = balls[key]
        value = change(Fraction(balls[part][0]))
        balls[part][0] = f"{value.numerator}/{value.denominator}"

    return tamper


COMMON = {
    "midpoint": _ball(["coef"], "midpoint", lambda m: m * (1 + Fraction(1, 10**18))),
    "sign": _ball(["coef"], "midpoint", lambda m: -m),
    "radius": _ball(["coef"], "radius", lambda r: r / 10**30),
    "negative radius": _ball(["coef"], "radius", lambda r: -r),
    "huge radius": _ball(["coef"], "radius", lambda r: r * 10**15),
    "sample": lambda found: found["problem"]["X"][0].__setitem__(0, 7.0),
    "target": lambda found: found["problem"]["y"].__setitem__(0, -1.0),
    "network": lambda found: found["problem"].update(network="Convolutional(filter_sizes=(3, 4))"),
    "tensor": lambda found: found["problem"]["M"][0][0].__setitem__(0, 7.0),
    "direction": lambda found: found["problem"]["direction"][0].__setitem__(0, 7.0),
    "kind": lambda found: found.update(kind="mirror root"),
    "coefficient left out": lambda found: found["coef"]["midpoint"].pop(),
    "not ok": lambda found: found.update(ok=False),
}
ONLY_FINITE = {
    "dual": _ball(["dual"], "midpoint", lambda m: m * (1 + Fraction(1, 10**15))),
    "dual far off": _ball(["dual"], "midpoint", lambda m: m + 1),
    "layer": _ball(["more", "layer 2"], "midpoint", lambda m: m * (1 + Fraction(1, 10**15))),
    "other kind": lambda found: found.update(kind="one sample at scale zero"),
}


def rejected(name, change, itself):
    """Both as a proof of the old problem, and, where the problem is changed, as one of the new."""
    found = exported(name)
    problem = copy.deepcopy(found["problem"])
    change(found)
    with pytest.raises((Rejected, ValueError, KeyError)):
        check(copy.deepcopy(found["problem"]) if itself else problem, found)


@pytest.mark.parametrize("change", {**COMMON, **ONLY_FINITE})
def test_the_checker_rejects(change):
    rejected("tensor", {**COMMON, **ONLY_FINITE}[change], False)


@pytest.mark.parametrize("change", COMMON)
def test_the_checker_rejects_at_zero(change):
    rejected("tensor at zero", COMMON[change], False)


@pytest.mark.parametrize("name", ["tensor", "tensor at zero"])
@pytest.mark.parametrize("change", ["sample", "target", "tensor", "direction"])
def test_the_checker_computes_from_the_problem(name, change):
    if (name, change) == ("tensor at zero", "direction"):
        return  # what is left does not depend on it
    rejected(name, COMMON[change], True)
