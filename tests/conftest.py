"""Settings that must be in place before SciPy is imported."""

import os

# Without it scikit-learn skips its check of array API input on our estimators.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
