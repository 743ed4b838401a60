"""A sample of the table of mutations: every check of these verdicts can fail.

The whole table is made by `python -m tests.mutations`.
"""

import numpy as np
import pytest
from tests.mutations import changes, predictions, proofs
from tests.mutations.problems import CASES
from tests.mutations.table import row_of

import limitpoint as lp

# Maps of their own, a bound, one sample: the quickest of each.
SAMPLE = (
    ("separable", "Power3"),
    ("separable", "Paired"),
    ("bounds", "Power2 bd"),
    ("one sample", "Tensor"),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [case for case in CASES if (case.group, case.name) in SAMPLE],
    ids=lambda case: case.name,
)
def test_every_check_can_fail(case):
    row = row_of(case)
    assert row.passed, row.verdict
    assert row.never == []


# One family for each kind of proof that is quick to check.
PROVED = ("Diagonal 2", "Power 3", "Diagonal 2 tied", "scale inf", "RankOne 2", "TwoLayer")


@pytest.mark.parametrize("family", PROVED)
def test_no_broken_prover_is_believed(family):
    row = proofs.row_of(family)
    assert row is not None
    assert not proofs.wrong({family: row}), row
    assert "rejected" in row.values() or "refused" in row.values()


@pytest.mark.parametrize(
    "name",
    [
        "midpoints off in the 16th digit",
        "radii too small",
        "the enclosure of a root narrowed",
        "the mirror map of one coefficient",
        "a hint with the wrong signs",
    ],
)
def test_mutations_of_proofs_do_something(name):
    row = proofs.row_of("Diagonal 2")
    (end,) = [end for known, end in row.items() if known.startswith(name)]
    assert end == ("same" if "hint" in name else "rejected")


def test_exact_arithmetic_mends_a_broken_prediction():
    """What the other tests turn off: no certificate is reached, and a proof takes its place."""
    case = next(case for case in CASES if case.name == "Paired")
    with pytest.MonkeyPatch.context() as patch:
        predictions.wrong_answers(patch, case.problem.task.X, coef=changes.larger)
        limit = lp.predict(case.problem)
    assert limit.status is lp.Status.PROVED
    np.testing.assert_allclose(limit.coef, lp.predict(case.problem).coef, rtol=1e-12)
