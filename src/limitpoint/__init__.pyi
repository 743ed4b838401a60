from . import (
    analysis,
    atlas,
    errors,
    estimators,
    examples,
    extend,
    io,
    papers,
    plot,
    results,
    sde,
    spectral,
)
from .dynamics import (
    GD,
    SGD,
    LabelNoise,
    LogCoordinates,
    ParameterSpace,
    SampleSpace,
    flow,
    train,
    train_many,
)
from .foundation.progress import progress
from .init import Init
from .networks import (
    Convolutional,
    Diagonal,
    FullyConnected,
    General,
    MatrixProduct,
    OrthogonalTensor,
    Paired,
    Power,
    RankOne,
    ReLU,
    SignedPower,
    Tensor,
    TwoLayer,
)
from .own import from_function
from .problem import Problem
from .status import Status
from .tasks import Classification, MatrixSensing, Regression
from .theory import explain, predict, predict_path, prove, saddle_path
from .verify import compare, verify
from .versions import show_versions

__version__: str

__all__ = [
    "GD",
    "SGD",
    "Classification",
    "Convolutional",
    "Diagonal",
    "FullyConnected",
    "General",
    "Init",
    "LabelNoise",
    "LogCoordinates",
    "MatrixProduct",
    "MatrixSensing",
    "OrthogonalTensor",
    "Paired",
    "ParameterSpace",
    "Power",
    "Problem",
    "RankOne",
    "ReLU",
    "Regression",
    "SampleSpace",
    "SignedPower",
    "Status",
    "Tensor",
    "TwoLayer",
    "analysis",
    "atlas",
    "compare",
    "errors",
    "estimators",
    "examples",
    "explain",
    "extend",
    "flow",
    "from_function",
    "io",
    "papers",
    "plot",
    "predict",
    "predict_path",
    "progress",
    "prove",
    "results",
    "saddle_path",
    "sde",
    "show_versions",
    "spectral",
    "train",
    "train_many",
    "verify",
]
