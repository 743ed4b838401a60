"""Which solution does a linear neural network reach, and by which path?

`predict` answers without training, `flow` and `train` simulate, `verify` certifies that the two
agree.
"""

from limitpoint import errors, examples, plot
from limitpoint.dynamics import (
    GD,
    Optimiser,
    ParameterSpace,
    SampleSpace,
    Trajectory,
    drift,
    flow,
    train,
)
from limitpoint.init import Init
from limitpoint.mirror import GrowthTimes
from limitpoint.networks import Diagonal, General, Paired, Power, SignedPower, growth_times
from limitpoint.problem import Problem
from limitpoint.problem_file import load_problem, save_problem
from limitpoint.status import Status
from limitpoint.tasks import Regression
from limitpoint.theory import (
    Certificate,
    Condition,
    Explanation,
    Limit,
    LimitPath,
    Saddle,
    SaddlePath,
    Theorem,
    convergence_bound,
    explain,
    predict,
    predict_path,
    saddle_path,
    saddles,
    theorems,
)
from limitpoint.verify import Check, Verdict, verify

__version__ = "0.1.0"

__all__ = [
    "GD",
    "Certificate",
    "Check",
    "Condition",
    "Diagonal",
    "Explanation",
    "General",
    "GrowthTimes",
    "Init",
    "Limit",
    "LimitPath",
    "Optimiser",
    "Paired",
    "ParameterSpace",
    "Power",
    "Problem",
    "Regression",
    "Saddle",
    "SaddlePath",
    "SampleSpace",
    "SignedPower",
    "Status",
    "Theorem",
    "Trajectory",
    "Verdict",
    "convergence_bound",
    "drift",
    "errors",
    "examples",
    "explain",
    "flow",
    "growth_times",
    "load_problem",
    "plot",
    "predict",
    "predict_path",
    "saddle_path",
    "saddles",
    "save_problem",
    "theorems",
    "train",
    "verify",
]
