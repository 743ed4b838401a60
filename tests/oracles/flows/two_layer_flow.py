"""Two-layer linear networks by brute force: the flow of all weights, gradients written out by hand.

SciPy's explicit Runge–Kutta method of order 8, and NumPy; no code of the package. Layers are W₁
(n, l) and W₂ (l, k), or (l,) where Y is a vector.
"""

import numpy as np
from scipy.integrate import solve_ivp

__all__ = [
    "competitors",
    "data",
    "flow_at",
    "flow_to_the_end",
    "kkt_residual",
    "orthonormal_layers",
    "potential",
    "velocity",
    "whitened_data",
]

# Local error per step, relative; SciPy allows nothing below 2.2e-14.
RTOL = 1e-13
# Absolute errors tolerated, relative to what a layer is at least at the start or at the end.
ATOL = 1e-14
# A flow has ended when what can still be fitted is this small, relative to what could be at first.
# An explicit method at its stability limit leaves some ten times its tolerance, whatever it does.
RESIDUAL = 2e-12
LONGEST = 1e12


def velocity(X, Y, first, second, loss_factor=1.0):
    """Minus the gradient of `loss_factor · ½‖XW₁W₂ − Y‖²` in both layers."""
    neg_grad = loss_factor * (X.T @ (Y - X @ (first @ second)))
    return np.outer(
        neg_grad, second
    ) if second.ndim == 1 else neg_grad @ second.T, first.T @ neg_grad


def flow_at(X, Y, first, second, times, loss_factor=1.0):
    """Layers at the given times (increasing, from 0 on), each times × its shape."""
    times = np.asarray(times, dtype=float)
    found = _solve(X, Y, first, second, times[-1], loss_factor, t_eval=times)
    return _split(found.y.T, first, second)


def flow_to_the_end(X, Y, first, second, loss_factor=1.0):
    """Layers where all that can be fitted is."""
    best = X @ np.linalg.lstsq(X, Y, rcond=None)[0]
    unit = np.linalg.norm(best) or 1.0
    span = 1.0
    while span < LONGEST:
        found = _solve(X, Y, first, second, span, loss_factor)
        first, second = (layer[-1] for layer in _split(found.y.T, first, second))
        if np.linalg.norm(X @ (first @ second) - best) <= RESIDUAL * unit:
            return first, second
        span *= 2
    raise AssertionError("the flow did not end")


def _solve(X, Y, first, second, span, loss_factor, **options):
    cut, shape = first.size, second.shape

    def moved(_, state):
        one, two = velocity(
            X, Y, state[:cut].reshape(first.shape), state[cut:].reshape(shape), loss_factor
        )
        return np.concatenate([one.ravel(), two.ravel()])

    # W₂ is as small as β/W₁ where W₁ is large, and must be right relative to that.
    size = max(np.abs(first).max(), np.abs(second).max(), 1e-290)
    best = np.abs(np.linalg.lstsq(X, Y, rcond=None)[0]).max()
    small = min(size, best / size) if best > 0 else size
    atol = ATOL * np.concatenate([np.full(cut, size), np.full(second.size, small)])
    start = np.concatenate([first.ravel(), second.ravel()])
    found = solve_ivp(moved, (0.0, span), start, method="DOP853", rtol=RTOL, atol=atol, **options)
    assert found.success, found.message
    return found


def _split(states, first, second):
    cut = first.size
    lead = states.shape[:-1]
    return (
        states[..., :cut].reshape(*lead, *first.shape),
        states[..., cut:].reshape(*lead, *second.shape),
    )


# --- problems ---


def data(m, n, outputs, seed, spread=2.0):
    """Gaussian-like data with singular values from 1 to `spread`, and Y that can be fitted.

    `outputs` None gives a vector. The coefficients that made Y are of order one.
    """
    rng = np.random.default_rng([seed, m, n])
    left, _, right = np.linalg.svd(rng.standard_normal((m, n)), full_matrices=False)
    X = (left * np.linspace(spread, 1.0, min(m, n))) @ right
    truth = rng.standard_normal((n,) if outputs is None else (n, outputs))
    return X, X @ truth


def whitened_data(m, n, outputs, seed, size=1.0, outside=0.0):
    """`XᵀX = size · I`; `outside` moves Y that far out of the range of X."""
    rng = np.random.default_rng([seed, m, n, 1])
    columns = np.linalg.qr(rng.standard_normal((m, m)))[0]
    X = np.sqrt(size) * columns[:, :n]
    truth = rng.standard_normal((n,) if outputs is None else (n, outputs))
    Y = X @ truth
    if outside:
        Y = Y + outside * columns[:, n:] @ rng.standard_normal((m - n, *truth.shape[1:]))
    return X, Y


def orthonormal_layers(n, width, outputs, gamma, seed):
    """`√(2γ)P` with orthonormal rows, and zero."""
    rng = np.random.default_rng([seed, n, width])
    rows = np.linalg.qr(rng.standard_normal((width, n)))[0].T
    return np.sqrt(2 * gamma) * rows, np.zeros((width,) if outputs is None else (width, outputs))


# --- the variational problem ---


def potential(first, second, gamma):
    """`½‖W₂‖² + ½‖W₁‖² − γ log det(W₁W₁ᵀ)`, the last from the singular values of W₁."""
    squares = 0.5 * (np.sum(first**2) + np.sum(second**2))
    return squares - 2 * gamma * np.sum(np.log(np.linalg.svd(first, compute_uv=False)))


def kkt_residual(X, first, second, gamma):
    """How far the two stationarity conditions are from holding with one multiplier.

    `W₂ = W₁ᵀXᵀΛ` and `W₁ − 2γ(W₁W₁ᵀ)⁻¹W₁ = XᵀΛW₂ᵀ`, each relative to its layer; Λ solves the
    first in least squares. `(W₁W₁ᵀ)⁻¹W₁` is the transpose of W₁'s pseudo-inverse.
    """
    columns = second.reshape(len(second), -1)
    multiplier = np.linalg.lstsq(first.T @ X.T, columns, rcond=None)[0]
    force = X.T @ multiplier
    two = np.linalg.norm(columns - first.T @ force) / np.linalg.norm(columns)
    one = first - 2 * gamma * np.linalg.pinv(first).T - force @ columns.T
    return max(two, np.linalg.norm(one) / np.linalg.norm(first))


def competitors(X, Y, first, second, count, seed):
    """Layers that fit the data too: anywhere, and at any distance from those given.

    Half of them have the given layers' neurons mixed, by an invertible matrix that W₂ undoes. The
    others have a W₁ that is 1e-3 to 10 times its size away, coefficients X⁺Y with or without a part
    in the null space of X, and a W₂ that gives them, with or without more of what W₁ does not see.
    """
    rng = np.random.default_rng(seed)
    columns, targets = second.reshape(len(second), -1), Y.reshape(len(Y), -1)
    width, inverse = len(columns), np.linalg.pinv(X)
    null = np.eye(X.shape[1]) - inverse @ X
    size = np.linalg.norm(first, 2)
    for i in range(count):
        step = 10.0 ** rng.uniform(-3, 1)
        if i % 2:
            mixed = np.eye(width) + step * rng.standard_normal((width, width)) / width
            yield first @ mixed, np.linalg.solve(mixed, columns)
            continue
        one = first + step * size * rng.standard_normal(first.shape) / np.sqrt(first.size)
        coef = inverse @ targets
        coef = coef + step * null @ rng.standard_normal(coef.shape) * rng.integers(2)
        back = np.linalg.pinv(one)
        unseen = np.eye(width) - back @ one
        drawn = step * rng.standard_normal(columns.shape) * rng.integers(2)
        yield one, back @ coef + unseen @ (columns + drawn)
