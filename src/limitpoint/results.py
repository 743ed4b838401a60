"""What the verbs return: immutable values with tables, arrays, `save` and xarray data sets."""

from limitpoint.dynamics import Drift, LimitDirection, Spectrum, Sweep, Trajectory
from limitpoint.dynamics.diffusion import Paths
from limitpoint.mirror import ActivationTimes
from limitpoint.tasks import Separation
from limitpoint.theory import (
    Balls,
    Certificate,
    Explanation,
    JumpProcess,
    Limit,
    LimitPath,
    Proof,
    Saddle,
    SaddlePath,
)
from limitpoint.verify import Check, Outcome, Verdict

__all__ = [
    "ActivationTimes",
    "Balls",
    "Certificate",
    "Check",
    "Drift",
    "Explanation",
    "JumpProcess",
    "Limit",
    "LimitDirection",
    "LimitPath",
    "Outcome",
    "Paths",
    "Proof",
    "Saddle",
    "SaddlePath",
    "Separation",
    "Spectrum",
    "Sweep",
    "Trajectory",
    "Verdict",
]
