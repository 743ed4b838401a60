"""Cases: the scikit-learn estimators."""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from tests.fuzz.draw import NOT_ARRAYS, NOT_NUMBERS, OBJECTS, Draw
from tests.fuzz.judge import Failure, Judge

import limitpoint as lp
from limitpoint import estimators

NETWORKS = (
    *(None, lp.Diagonal(2), lp.Diagonal(3), lp.RankOne(2, 2), lp.TwoLayer(4), lp.Power(2)),
    *(lp.FullyConnected((2,)), lp.SignedPower(3), lp.Paired(), lp.Convolutional((2, 3))),
)


def estimate(draw: Draw, call: Judge, folder: Path) -> None:
    """Fit an estimator with any settings to any data, and use it."""
    model = _estimator(draw, call)
    m, n = draw.whole(2, 8), draw.whole(1, 4)
    classifies = isinstance(model, estimators.ImplicitBiasClassifier)
    y = draw.array(m, *draw.pick(((), (), (), (1,), (2,))))
    if classifies:
        y = draw.mostly(draw.rng.integers(0, draw.whole(2, 3), m), (*NOT_ARRAYS, ["a"] * m), 0.1)
    weights = draw.options(
        sample_weight=lambda: draw.mostly(
            draw.rng.uniform(0, 2, m).round(), (*NOT_ARRAYS, 0.0, np.zeros(m), -np.ones(m))
        )
    )
    X = draw.array(m, n)
    call(clone(model).predict, X) if draw.chance(0.05) else None
    call(model.fit, X, y, **weights)
    if not (np.isfinite(model.coef_).all() and np.isfinite(model.intercept_).all()):
        raise Failure(f"coefficients that are not finite: {model.coef_} {model.intercept_}")
    call(model.predict, draw.array(m, n))
    call(model.score, X, y, **draw.options(sample_weight=lambda: draw.rng.random(m) + 0.1))
    call(repr, model)


def _estimator(draw: Draw, call: Judge) -> Any:
    times = {
        "t_plus": lambda: draw.pick((1.0, 0.5, np.inf, 0.0, -1.0, [1.0], None)),
        "t_minus": lambda: draw.pick((1.0, 0.5, np.inf, 0.0, np.nan, "x")),
        "fit_intercept": draw.truth,
    }
    network = {"network": lambda: draw.mostly(draw.pick(NETWORKS), OBJECTS, 0.1)}
    kind = draw.pick(estimators.__all__)
    own = {
        "SaddlePathRegressor": {"n_saddles": lambda: draw.count(0, 3), **times},
        "SaddlePathRegressorCV": {
            "cv": lambda: draw.mostly(2, (*NOT_NUMBERS, 0, 99)),
            "max_n_saddles": lambda: draw.count(0, 3),
            **times,
        },
        "ImplicitBiasRegressor": {**network, "scale": draw.scale, "fit_intercept": draw.truth},
        "ImplicitBiasClassifier": {
            **network,
            "C": lambda: draw.mostly(draw.pick((0.1, 1.0, np.inf)), (*NOT_NUMBERS, 1e-300, 1e300)),
            "fit_intercept": draw.truth,
            "intercept_scaling": draw.number,
        },
    }[kind]
    return call(getattr(estimators, kind), **draw.options(**own))
