"""Random problems, easy and hard, small enough for independent solvers."""

import numpy as np
from scipy import sparse

KINDS = ("gaussian", "sparse", "correlated", "scaled", "integer")


def random_instance(seed):
    """Return X, y, t_plus, t_minus with y in the range of X; every third X is sparse."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(1, 31)), int(rng.integers(1, 81))
    kind = KINDS[seed % len(KINDS)]
    X = rng.normal(size=(m, n))
    if kind == "sparse":
        X *= rng.random((m, n)) < 0.3
    elif kind == "correlated":
        X += 3 * rng.normal(size=(m, 1))
    elif kind == "scaled":
        X *= 10.0 ** rng.uniform(-3, 3, size=n)
    elif kind == "integer":
        X = rng.integers(-2, 3, size=(m, n)).astype(float)
    k = np.zeros(n)
    support = rng.choice(n, rng.integers(1, n + 1), replace=False)
    k[support] = rng.normal(size=len(support))
    t_plus, t_minus = rng.uniform(0.2, 3.0, n), rng.uniform(0.2, 3.0, n)
    if kind == "integer" and seed % 2:
        t_plus = t_minus = np.ones(n)
    y = X @ k
    return (sparse.csr_array(X) if seed % 3 == 0 else X), y, t_plus, t_minus


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)
