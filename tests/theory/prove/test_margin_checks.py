"""Exported proofs of limit directions, against the checker that shares no code, and tampered."""

import copy
from fractions import Fraction

import numpy as np
import pytest
from tests.oracles.proof_checker import Rejected, check, check_refusal
from tests.theory.prove.margin_problems import (
    HADAMARD,
    TWO_POINTS,
    exported,
    leading,
    random_task,
)

import limitpoint as lp
from limitpoint.theory.prove.outcome import CannotProve
from limitpoint.theory.prove.prove import proof_of

ONE = lp.Classification([[3.0, 1.0, 2.0, 0.5]], [-1])
SHIFTS = lp.Classification([[3.0, 1.0, 2.0], [1.0, 2.0, 3.0]], [1, 1])
BASES = [np.linalg.qr(np.random.default_rng(k).standard_normal((5, 4)))[0] for k in (0, 1)]
SQUARE = np.random.default_rng(2).standard_normal((4, 4))


def started(network, layers, task=TWO_POINTS, **scale):
    return lp.Problem(network, lp.Init(layers, **(scale or {"scale": 0.5})), task)


CHECKED = {
    "ℓ2": lambda: leading(lp.FullyConnected((3,)), random_task(3, 4, seed=0)),
    "ℓ2 above zero": lambda: started(
        lp.FullyConnected((2,)), [-np.eye(2), np.array([1.0, 2.0])], TWO_POINTS
    ),
    "ℓ2 ordered": lambda: started(
        lp.FullyConnected((2, 2)), [np.eye(2), np.eye(2), np.array([-0.5, -0.25])]
    ),
    "ℓ2 logistic": lambda: started(
        lp.FullyConnected((4,)),
        [np.eye(4), random_task(1, 4, 0).signed[0]],
        random_task(1, 4, 0, "logistic"),
    ),
    "ℓ2 assumed": lambda: started(
        lp.FullyConnected((3,)), [np.diag([7.0, -2.0, 0])[:2], np.array([1.0, 1.0, 0.0])]
    ),
    "ℓ2 rank one": lambda: leading(lp.RankOne(2, 3), random_task(3, 4, seed=1)),
    "ℓ1": lambda: leading(lp.Diagonal(2), random_task(3, 5, seed=2)),
    "ℓ1 of two points": lambda: leading(lp.Diagonal(2), TWO_POINTS),
    "ℓ1 in a basis": lambda: leading(HADAMARD, TWO_POINTS),
    "ℓ1 in a rounded one": lambda: leading(
        lp.OrthogonalTensor(SQUARE, BASES), random_task(2, 4, seed=3)
    ),
    "Fourier": lambda: leading(lp.Convolutional((5, 5)), random_task(3, 5, seed=4)),
    "Fourier of two points": lambda: leading(lp.Convolutional((2, 2)), TWO_POINTS),
    "Fourier of shifts": lambda: leading(lp.Convolutional((3, 3)), SHIFTS),
    "singular": lambda: leading(lp.Convolutional((3, 4)), ONE),
    "singular, rational": lambda: started(
        lp.Convolutional((2, 4)), [np.array([3.0, 1.0]), np.array([0.5, 0.25, 0.0, 0.0])], ONE
    ),
    "singular, tall": lambda: leading(lp.Tensor(np.arange(24.0).reshape(4, 3, 2) % 5), ONE),
    "singular, tied": lambda: started(
        lp.Diagonal(2),
        [np.array([2.0, -3.0, 1.0]), np.array([1.0, 0.0, 0.5])],
        lp.Classification([[2.0, -2.0, 1.0]], [1]),
    ),
    "singular, matrices": lambda: started(
        lp.MatrixProduct(2), [np.array([[2.0, 1.0], [0.0, 3.0]]), np.zeros((2, 2))], ONE
    ),
    "singular, dense": lambda: started(
        lp.FullyConnected((2,)), [np.ones((4, 2)), np.array([0.5, 0.25])], ONE
    ),
}
KINDS = {
    "ℓ2": "ℓ2 margin",
    "ℓ1": "ℓ1 margin",
    "Fourier": "Fourier ℓ1 margin",
    "singular": "top singular vectors",
}
STARTS = {"ℓ2": "descends", "ℓ2 above zero": "kept", "ℓ2 ordered": "ordered"}
STARTS |= {"ℓ2 logistic": "descends", "ℓ2 assumed": "assumed", "ℓ2 rank one": "descends"}


def proved(name):
    theorem = {
        "ℓ2 assumed": "yun2021.corollary1",
        "ℓ2 logistic": "yun2021.corollary1",
    }.get(name)
    problem = CHECKED[name]()
    proof = proof_of(problem, theorem, 20, None) if theorem else lp.prove(problem, digits=20)
    assert proof.ok, proof.reason
    return exported(proof)


@pytest.mark.parametrize("name", CHECKED)
def test_an_independent_checker_accepts(name):
    found = proved(name)
    assert found["kind"] == KINDS[name.split(",")[0].split()[0]]
    assert found["witness"].get("start") == STARTS.get(name)
    check(copy.deepcopy(found["problem"]), found)


def written(value):
    return f"{value.numerator}/{value.denominator}"


def nudged(*places, by=Fraction(1, 10**15)):
    """Change the first number that is not zero in balls, relative."""

    def tamper(found):
        balls = found
        for place in places:
            balls = balls[place]
        middles = balls["midpoint"]
        while isinstance(middles[0], list):
            middles = middles[0]
        k = next(k for k, one in enumerate(middles) if Fraction(one))
        middles[k] = written(Fraction(middles[k]) * (1 + by))

    return tamper


def witness(name, change):
    def tamper(found):
        found["witness"][name] = change(found["witness"][name])

    return tamper


def halved(numbers):
    return [written(Fraction(one) / 2) for one in numbers]


def turned(found):
    for name in ("midpoint", "exact"):
        if name in found["coef"]:
            found["coef"][name] = [written(-Fraction(one)) for one in found["coef"][name]]


def label(found):
    found["problem"]["y"][0] *= -1


def datum(found):
    found["problem"]["X"] = [[one + 1.0 for one in row] for row in found["problem"]["X"]]


COMMON = {
    "coefficient": nudged("coef"),
    "sign": turned,
    "dual": nudged("dual"),
    "direction": nudged("more", "direction"),
    "label": label,
    "datum": datum,
    "kind": lambda found: found.update(
        kind="ℓ1 margin" if found["kind"] == "ℓ2 margin" else "ℓ2 margin"
    ),
    "coefficient left out": lambda found: found["coef"]["midpoint"].pop(),
    "network": lambda found: found["problem"].update(network="Paired()"),
    "task": lambda found: found["problem"].update(task="Regression"),
}
OWN = {
    "ℓ2": {
        "mirror": nudged("mirror"),
        "multipliers": witness("multipliers", halved),
        "negative multipliers": witness("multipliers", lambda m: [f"-{one}" for one in m]),
        "start": witness("start", lambda _: "kept"),
        "nothing assumed": lambda found: (
            found["witness"].update(start="assumed"),
            found.update(assumed=[]),
        ),
    },
    "ℓ1": {
        "mirror": nudged("mirror"),
        "multipliers": witness("multipliers", halved),
        "support": witness("support", lambda one: one[1:]),
        "signs": witness("signs", lambda one: [-s for s in one]),
        "nothing assumed": lambda found: found.update(assumed=[]),
        "layers alike": lambda found: found["problem"]["direction"].__setitem__(
            1, found["problem"]["direction"][0]
        ),
    },
    "Fourier": {
        "mirror": nudged("mirror"),
        "a frequency left out": witness("used", lambda one: one[1:]),
        "another frequency": witness("used", lambda one: [*one, *{0, 1, 2}.difference(one)]),
        "a sample left out": witness("bound", lambda one: one[1:]),
        "a multiplier set": witness("free", lambda _: {"0": "1/7"}),
        "nothing assumed": lambda found: found.update(assumed=[]),
        "filters alike": lambda found: found["problem"]["direction"].__setitem__(
            1, found["problem"]["direction"][0]
        ),
    },
    "singular": {
        "first layer": nudged("more", "first layer"),
        "second layer": nudged("more", "second layer"),
        "singular value": nudged("more", "singular value"),
        "layers exchanged in size": lambda found: found["problem"]["direction"].__setitem__(
            1, [64 * one for one in found["problem"]["direction"][1]]
        ),
        "more assumed": lambda found: found.update(assumed=["anything"]),
    },
}


@pytest.mark.parametrize(
    ("name", "change"), [(name, change) for name in OWN for change in {**COMMON, **OWN[name]}]
)
def test_an_independent_checker_rejects(name, change):
    """Changes of the problem are made on both sides: the proof is then one of another problem."""
    found = proved(name)
    {**COMMON, **OWN[name]}[change](found)
    # A witness that is not there is no proof either.
    with pytest.raises((Rejected, ValueError, KeyError)):
        check(copy.deepcopy(found["problem"]), found)


def test_free_multipliers_are_checked():
    found = proved("Fourier of shifts")
    (place, value), *_ = found["witness"]["free"].items()
    for other in ("-1/9", written(Fraction(value) + 1)):
        changed = copy.deepcopy(found)
        changed["witness"]["free"][place] = other
        with pytest.raises((Rejected, ValueError)):
            check(copy.deepcopy(found["problem"]), changed)
    changed = copy.deepcopy(found)
    changed["problem"]["X"][1] = [1.0, 2.0, 3.5]
    with pytest.raises((Rejected, ValueError)):
        check(copy.deepcopy(changed["problem"]), changed)


def refusal():
    """`β₁` and `β₂` may share the first sample, and the second."""
    task = lp.Classification([[1.0, 1.0]], [1])
    problem = leading(lp.Diagonal(2), task)
    return exported(proof_of(problem, "yun2021.corollary2", 20, None))


def test_that_a_solution_is_not_unique_is_proved():
    found = refusal()
    assert found["kind"] == "not unique"
    assert "proved not to be unique" in found["reason"]
    check_refusal(copy.deepcopy(found["problem"]), found)


@pytest.mark.parametrize(
    "change",
    [
        witness("one", lambda _: ["2", "0"]),
        witness("other", lambda _: ["1/4", "1/4"]),
        witness("other", lambda _: ["1", "0"]),
        witness("multipliers", halved),
        witness("multipliers", lambda _: ["2"]),
        lambda found: found.update(ok=True),
        lambda found: found.update(kind="not separable", witness={"weights": ["1"]}),
        lambda found: found.update(kind=""),
        lambda found: found["problem"].update(network="FullyConnected(widths=(2,))"),
        datum,
    ],
)
def test_what_is_no_proof_of_that_is_rejected(change):
    found = refusal()
    change(found)
    with pytest.raises((Rejected, ValueError)):
        check_refusal(copy.deepcopy(found["problem"]), found)


def test_that_classes_are_not_separable_is_checked():
    from limitpoint.theory.prove.exact.numbers import rational_matrix
    from limitpoint.theory.prove.margins.signed_rows import check_separable

    X, y = [[1.0, 2.0], [-1.0, -1.0], [0.0, -1.0]], [1.0, 1.0, 1.0]
    with pytest.raises(CannotProve) as refused:
        check_separable(rational_matrix(np.array(X)))
    problem = {"task": "Classification", "X": X, "y": y}
    found = {"format": "limitpoint proof 1", "ok": False, "problem": problem}
    found |= {"kind": "not separable", "bits": 0, "digits": 30}
    found["witness"] = refused.value.witness
    check_refusal(problem, found)
    for weights in (["1", "1", "0"], ["0", "0", "0"], ["-1", "-1", "-1"]):
        with pytest.raises(Rejected):
            check_refusal(problem, {**found, "witness": {"weights": weights}})
