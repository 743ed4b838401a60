"""What a verdict comes to."""

from enum import Enum

__all__ = ["Outcome"]


class Outcome(Enum):
    """The end of a verification; the value is the sentence."""

    PASSED = (
        "Passed: prediction and dynamics agree, in at least one run that shares nothing with the "
        "prediction."
    )
    FAILED = "Failed: a comparison came out wrong."
    INCONCLUSIVE = (
        "Inconclusive: no comparison came out wrong, but something decisive could not be compared; "
        "the notes say what."
    )

    def __str__(self) -> str:
        return self.value
