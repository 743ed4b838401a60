"""scikit-learn estimators: what training a network learns, by saddle path and by implicit bias.

Each follows scikit-learn's conventions (`fit`, `predict`, `score`, `get_params`) and can be used
in pipelines and searches.
"""

from limitpoint.foundation.extras import load_extra

load_extra("sklearn", "limitpoint.estimators")

from limitpoint.estimators.implicit_bias_classifier import ImplicitBiasClassifier
from limitpoint.estimators.implicit_bias_regressor import ImplicitBiasRegressor
from limitpoint.estimators.saddle_path_regressors import (
    SaddlePathRegressor,
    SaddlePathRegressorCV,
)

__all__ = [
    "ImplicitBiasClassifier",
    "ImplicitBiasRegressor",
    "SaddlePathRegressor",
    "SaddlePathRegressorCV",
]
