"""The one place where prediction and simulation meet."""

from limitpoint.verify.comparison import compare
from limitpoint.verify.outcome import Outcome
from limitpoint.verify.verdict import Check, Verdict
from limitpoint.verify.verify import verify

__all__ = ["Check", "Outcome", "Verdict", "compare", "verify"]
