"""Problems and tolerances that the tests of the theory share."""

import numpy as np

import limitpoint as lp

# 10^-1000 by its logarithm.
LOG_OF_1E_MINUS_1000 = -1000 * np.log(10.0)

# The scales of the acceptance list, as logarithms.
LOG_SCALES = {
    **{f"{s:g}": float(np.log(s)) for s in (1e3, 1.0, 1e-2, 1e-5, 1e-30, 1e-300)},
    "1e-1000": LOG_OF_1E_MINUS_1000,
}


def gaussian_data(m, n, seed=0):
    """A Gaussian matrix and the targets of a sparse truth."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    truth = np.zeros(n)
    support = rng.choice(n, max(1, m // 3), replace=False)
    truth[support] = rng.standard_normal(len(support))
    return X, X @ truth


def diagonal_problem(X, y, *layers, scale=None, log_scale=None, loss_factor=1.0):
    """A diagonal network of as many layers as given."""
    init = lp.Init(layers, scale, log_scale=log_scale)
    return lp.Problem(lp.Diagonal(len(layers)), init, lp.Regression(X, y, loss_factor))


def random_layers(n, depth=2, seed=1):
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal((depth, n)))


def gaussian_problem(m, n, seed=0, *, dense=False, zero_last=False, scale=None, log_scale=None):
    """Gaussian data; `dense` targets are Gaussian too, so that m coefficients stay visible."""
    X, y = gaussian_data(m, n, seed)
    if dense:
        y = np.random.default_rng(seed + 2).standard_normal(m)
    layers = (np.ones(n), np.zeros(n)) if zero_last else random_layers(n, seed=seed + 1)
    return diagonal_problem(X, y, *layers, scale=scale, log_scale=log_scale)


def sensitivity(X, a, b, coef):
    """`1 + ‖K‖‖X‖`, by which a relative error of data or map is amplified in the limit.

    `K = DXᵀ(XDXᵀ)⁺` with the slopes `D = √(4β² + Δ²)` of the map at the limit; a and b are the
    actual layers at the start.
    """
    slopes = np.sqrt(4 * coef**2 + (a**2 - b**2) ** 2)
    weighted = X * slopes
    response = np.linalg.lstsq(weighted @ X.T, np.eye(X.shape[0]), rcond=None)[0]
    gain = np.linalg.norm(weighted.T @ response, 2)
    return 1 + gain * np.linalg.norm(X, 2)
