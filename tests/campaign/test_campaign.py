"""A sample of the campaigns: limits in random units against 60 digits, and whether fits are fits.

`python -m tests.campaign units` and `fitted` run them whole.
"""

from dataclasses import replace

import numpy as np
import pytest
from mpmath import mpf
from tests.campaign import fitted, proofs, units
from tests.campaign.families import FAMILIES, draw
from tests.campaign.measure import Outcome, measure

import limitpoint as lp

SAMPLE = 12
# The campaign allows 3 % of the well-conditioned problems of a family to go without a certificate;
# of 12 that is less than one, so that one is spared.
SPARED = 1
# Elliptic integrals and quadratures to 60 digits, and tables of general networks.
LONG = ("Diagonal 3", "Diagonal 5", "Diagonal 3 tied", "OrthTensor 3", "Convolutional 3")
LONG += ("Diagonal 2 tied", "SignedPower 3 opp.", "Power 3", "Power 4", "SignedPower 4")
LONG += ("MatrixProduct 3", "General product", "General quartic", "General hyperbolic")
# General networks take a second or two each: fewer of them.
TABULATED, FEW = ("General product", "General quartic", "General hyperbolic"), 5
# Of these no limit is drawn that is certified as a fit: that takes too many.
UNFITTED = ("General hyperbolic",)
# Certified limits of each family in the sample of `fitted`; of general networks one.
FITS = 3


def _marked(names):
    return [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in names]


def set_of_fits():
    return [name for name in fitted.finite() if name not in UNFITTED]


@pytest.mark.parametrize("name", _marked(FAMILIES))
def test_no_unit_fools_a_certificate(name):
    count = FEW if name in TABULATED else SAMPLE
    outcomes = [units.outcome_of(name, 0, number) for number in range(count)]
    assert not units.faults(outcomes, SPARED)


@pytest.mark.parametrize("name", _marked(set_of_fits()))
def test_what_is_certified_as_a_fit_fits(name):
    assert not fitted.faults(fitted.limits_of(name, 0, 1 if "General" in name else FITS))


@pytest.mark.parametrize("name", ["Diagonal 2", "RankOne 3", "TwoLayer", "one-s. Tensor"])
def test_a_contribution_that_is_off_is_seen(name):
    """Without units, where every limit is certified: an oracle moved by 3e-6 of a row."""
    case = draw(name, 0, 0, decades=0.0, scales=(-2.0, -1.0))
    assert measure(case).certified
    assert not measure(case).wrong
    truth, task = case.oracle(), case.problem.task
    place = int(np.argmax(np.abs(task.X[0])))
    coef = np.array(truth.coef).astype(float)
    terms = np.abs(task.X[0]) @ np.abs(coef) + np.abs(task.y[0])
    coef[place] += 3e-6 * terms / abs(task.X[0, place])
    moved = replace(truth, coef=np.vectorize(mpf, otypes=[object])(coef).tolist())
    assert measure(replace(case, oracle=lambda: moved)).wrong


# Numbers 0 to so many; the slowest oracles and checks less.
PROVED, FEW_PROVED = 6, 2


@pytest.mark.parametrize("name", _marked(FAMILIES))
def test_proofs_contain_every_other_answer(name):
    count = FEW_PROVED if name in LONG else PROVED
    outcomes = [proofs.outcome_of(name, 2, number) for number in range(count)]
    assert not proofs.faults(outcomes)


@pytest.mark.parametrize("name", ["Diagonal 2", "Paired", "SignedPower 3", "RankOne 2"])
def test_gaussian_data_are_proved(name):
    outcomes = [proofs.gaussian_outcome(name, 2, number) for number in range(10)]
    assert not proofs.unproved(outcomes)
    assert sum(outcome.ok for outcome in outcomes) >= 5


RIGHT = proofs.Proved("Diagonal 2", 0, "wide", 0.0, certified=True, oracle="yes", checker="yes")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"oracle": "no: coefficients [1] are not contained"}, "not contained"),
        ({"checker": "no: a ball does not contain its number"}, "a ball does not"),
        ({"apart": True}, "more digits"),
        ({"outside": 1.5}, "float64 is off by 1.5"),
        ({"defect": "TypeError: x"}, "TypeError"),
    ],
)
def test_each_fault_of_a_proof_is_named(change, words):
    assert not proofs.faults([RIGHT])
    (found,) = proofs.faults([RIGHT, replace(RIGHT, number=1, **change)])
    assert "Diagonal 2 1 (wide" in found
    assert words in found


def test_a_proof_that_is_off_is_seen():
    """By the oracle, by the checker, by a proof to more digits, and by float64."""
    case = proofs.drawn("Diagonal 2", 2, 0)
    proof = lp.prove(case.problem, digits=30)
    moved = np.array([f"{value * (1 + 1e-9):.17g}" for value in proof.coef.values])
    wrong = replace(proof, coef=replace(proof.coef, midpoint=moved))
    limit = lp.predict(case.problem, escalate=False)
    assert proofs.outside(limit, proof) < 1 < proofs.outside(limit, wrong)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lp, "prove", lambda problem, digits: wrong if digits == 30 else proof)
        found = proofs.measured(case)
    assert found.oracle.startswith("no")
    assert found.checker.startswith("no")
    assert found.apart


def test_wide_scales_are_those_of_the_problem():
    case = proofs.drawn("Diagonal 2", 2, 1)
    power = case.problem.init.log_scale / np.log(10)
    assert proofs.WIDE[0] <= power <= proofs.WIDE[1]
    assert case.problem.init.log_scale_given == (power < -300)
    assert "log_scale=" in case.code or power >= -300


def test_a_wrong_status_is_seen():
    case = draw("Diagonal 2", 0, 0, decades=0.0, scales=(-2.0, -1.0))
    truth = case.oracle()
    for other in (replace(truth, fits=not truth.fits), replace(truth, unique=False)):
        assert measure(replace(case, oracle=lambda other=other: other)).wrong_status


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"certified": True, "error": 2e-6}, "certified and wrong"),
        ({"certified": True, "missed": 2e-6}, "certified and wrong"),
        ({"certified": True, "missed": np.nan}, "certified and wrong"),
        ({"certified": True, "wrong_status": True}, "certified and wrong"),
        ({"defect": "OverflowError"}, "OverflowError"),
        ({"no_oracle": "NotSolved"}, "no oracle"),
    ],
)
def test_each_fault_is_named(change, words):
    right = Outcome("Diagonal 2", 0, "wide", certified=True, condition=1.0, held=True)
    wrong = replace(right, number=1, **({"certified": False, "held": False} | change))
    assert not units.faults([right] * 20)
    (found,) = units.faults([right] * 20 + [wrong])
    assert words in found


def test_refusal_is_a_fault_where_it_is_not_rare():
    right = Outcome("Diagonal 2", 0, "wide", certified=True, condition=1.0, held=True)
    refused = replace(right, certified=False, status="refused")
    assert not units.faults([right] * 97 + [refused] * 3)
    assert len(units.faults([right] * 96 + [refused] * 4)) == 4
    assert not units.faults([right] * 96 + [replace(refused, condition=1e7)] * 4)
