"""One number of an experiment against what it must be."""

from dataclasses import dataclass
from typing import Any

__all__ = ["Check"]


@dataclass(frozen=True)
class Check:
    """A measured number, what it is expected to be, and how far off it may be.

    Examples
    --------
    >>> Check("time of the first jump", 1.98, expected=2.0, tolerance=0.05).passed
    True
    """

    name: str
    measured: float
    expected: float
    tolerance: float

    @property
    def passed(self) -> bool:
        """Whether the measured number is a number within the tolerance of the expected one."""
        return bool(abs(self.measured - self.expected) <= self.tolerance)

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values."""
        return {
            "name": self.name,
            "measured": float(self.measured),
            "expected": float(self.expected),
            "tolerance": float(self.tolerance),
            "passed": self.passed,
        }
