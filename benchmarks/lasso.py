"""Test error of the saddle path beside the lasso's: `python -m benchmarks.lasso`.

The table of docs/guide.md. Both choose by five folds; errors are means over eight draws.
"""

import warnings

import numpy as np
from sklearn.linear_model import LassoLarsCV

from limitpoint.estimators import SaddlePathRegressorCV

SAMPLES, FEATURES, TEST_SAMPLES, DRAWS = 100, 500, 1000, 8
# Number of non-zero coefficients and their size; the noise has standard deviation 1.
SETTINGS = ((5, 2.0), (5, 0.5), (20, 1.0), (50, 0.3))


def excess_errors(count: int, size: float, seed: int) -> list[float]:
    """Excess test error and number of non-zeros of the lasso, then of the saddle path."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(SAMPLES + TEST_SAMPLES, FEATURES))
    truth = np.zeros(FEATURES)
    truth[:count] = size * rng.choice([-1, 1], count)
    y = X @ truth + rng.normal(size=len(X))
    found = []
    for model in (LassoLarsCV(cv=5), SaddlePathRegressorCV(cv=5, max_n_saddles=80)):
        model.fit(X[:SAMPLES], y[:SAMPLES])
        error = np.mean((model.predict(X[SAMPLES:]) - y[SAMPLES:]) ** 2) - 1
        found += [float(error), float(np.count_nonzero(model.coef_))]
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # the lasso path warns where columns nearly tie
    for setting in SETTINGS:
        lasso, kept, ours, few = np.mean([excess_errors(*setting, s) for s in range(DRAWS)], axis=0)
        print(f"{setting}: lasso {lasso:.2f} ({kept:.0f}), saddle path {ours:.2f} ({few:.0f})")
