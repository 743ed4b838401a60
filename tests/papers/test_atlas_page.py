"""The page of theorems says what must hold, what computes them, and where they are shown."""

import pytest

from limitpoint.papers.reports.atlas_page import FUNCTIONS, conditions_of
from limitpoint.papers.shared.sample_problems import sample_problems
from limitpoint.theory.atlas import theorems

PROBLEMS = sample_problems()


@pytest.mark.parametrize("theorem", theorems(), ids=lambda theorem: theorem.id)
def test_every_theorem_applies_somewhere(theorem):
    conditions = conditions_of(theorem, PROBLEMS)
    assert conditions
    assert all(condition.holds for condition in conditions)


def test_every_theorem_has_a_function():
    others = {theorem.id for theorem in theorems() if theorem.limit is None}
    assert set(FUNCTIONS) == others
