"""What a problem without a theorem is refused for."""

import re
from contextlib import contextmanager

import pytest

from limitpoint.errors import NoTheoremApplies


@contextmanager
def no_theorem(failing=""):
    """No theorem predicts the limit, and among the conditions that fail is one like this."""
    with pytest.raises(NoTheoremApplies) as found:
        yield found
    assert "no theorem predicts the limit of" in " ".join(str(found.value).split())
    reasons = [
        f"{condition.name} (margin {condition.margin}): {condition.detail}"
        for _, conditions in found.value.explanation.rows
        for condition in conditions
        if not condition.holds
    ]
    assert any(re.search(failing, reason) for reason in reasons)
