"""scikit-learn estimators: what training a network learns, by saddle path and by implicit bias.

Each follows scikit-learn's conventions (`fit`, `predict`, `score`, `get_params`) and can be used
in pipelines and searches.
"""

from limitpoint.foundation.extras import load_extra

load_extra("sklearn", "limitpoint.estimators")

from limitpoint.estimators.implicit_bias_classifier import ImplicitBiasClassifier  # noqa: E402
from limitpoint.estimators.implicit_bias_regressor import ImplicitBiasRegressor  # noqa: E402
from limitpoint.estimators.saddle_path_regressors import (  # noqa: E402
    SaddlePathRegressor,
    SaddlePathRegressorCV,
)

__all__ = [
    "ImplicitBiasClassifier",
    "ImplicitBiasRegressor",
    "SaddlePathRegressor",
    "SaddlePathRegressorCV",
]
