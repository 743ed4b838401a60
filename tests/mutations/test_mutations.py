"""A sample of the table of mutations: every check of these verdicts can fail.

The whole table is made by `python -m tests.mutations`.
"""

import pytest
from tests.mutations.problems import CASES
from tests.mutations.table import row_of

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
