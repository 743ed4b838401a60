"""Which solution does a linear neural network reach, and by which path?

`predict` answers without training, `flow` and `train` simulate, `verify` certifies that the two
agree.
"""

from limitpoint import errors, examples, plot
from limitpoint.dynamics import (
    GD,
    SGD,
    Diffusion,
    Distance,
    NoiseTerm,
    Optimiser,
    ParameterSpace,
    Paths,
    Probe,
    SampleSpace,
    SGDModel,
    StartTerm,
    Sweep,
    Trajectory,
    drift,
    flow,
    null_space_drift,
    simulate,
    train,
    train_many,
)
from limitpoint.init import Init
from limitpoint.mirror import GrowthTimes
from limitpoint.networks import (
    Diagonal,
    FullyConnected,
    General,
    Paired,
    Power,
    RankOne,
    SignedPower,
    growth_times,
)
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
    "SGD",
    "Certificate",
    "Check",
    "Condition",
    "Diagonal",
    "Diffusion",
    "Distance",
    "Explanation",
    "FullyConnected",
    "General",
    "GrowthTimes",
    "Init",
    "Limit",
    "LimitPath",
    "NoiseTerm",
    "Optimiser",
    "Paired",
    "ParameterSpace",
    "Paths",
    "Power",
    "Probe",
    "Problem",
    "RankOne",
    "Regression",
    "SGDModel",
    "Saddle",
    "SaddlePath",
    "SampleSpace",
    "SignedPower",
    "StartTerm",
    "Status",
    "Sweep",
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
    "null_space_drift",
    "plot",
    "predict",
    "predict_path",
    "saddle_path",
    "saddles",
    "save_problem",
    "simulate",
    "theorems",
    "train",
    "train_many",
    "verify",
]
