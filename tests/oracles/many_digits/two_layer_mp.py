"""Two-layer networks that start from orthonormal rows, without any code of the package.

The singular values on whitened data are the paper's printed closed form (varre C.33) in mpmath,
with enough guard digits for what cancels in it; the flow for any data is SciPy's DOP853 on the
layers themselves.
"""

import numpy as np
from mpmath import mp, mpf
from scipy.integrate import solve_ivp

DIGITS = 60
RTOL = 1e-12
ATOL = 1e-15


def riccati(target, gamma, time, curvature=1):
    """σ_α and σ_β to 60 digits; γ and the others are any mpmath numbers."""
    if time == 0:
        return mpf(0), mpf(0)  # what the printed form only gives up to rounding
    with mp.workdps(DIGITS):
        lost = 2 * abs(int(mp.log10(mpf(gamma)))) + 10  # 1 − σ_α² cancels down to γ
    with mp.workdps(DIGITS + lost):
        sigma, gamma = mpf(target), mpf(gamma)
        root = mp.sqrt(sigma**2 + gamma**2)
        decay = mp.exp(-2 * mpf(curvature) * mpf(time) * root)
        up, down = gamma + root, (root - gamma) * decay
        alpha = mp.sqrt(1 + gamma**2 / sigma**2) * (up - down) / (up + down) - gamma / sigma
        beta = 2 * gamma * alpha / (1 - alpha**2)
    return alpha, beta


def layers(beta, gamma):
    """Singular values of W₁ and W₂ where β has this one."""
    with mp.workdps(DIGITS):
        lost = 2 * abs(int(mp.log10(mpf(gamma)))) + 10
    with mp.workdps(DIGITS + 2 * lost):
        bend = mp.sqrt(mpf(beta) ** 2 + mpf(gamma) ** 2)
        return mp.sqrt(bend + mpf(gamma)), mp.sqrt(bend - mpf(gamma))


def printed_float(target, gamma, time):
    """The printed closed form in float64."""
    root = np.sqrt(target**2 + gamma**2)
    decay = np.exp(-2 * time * root)
    up, down = gamma + root, (root - gamma) * decay
    alpha = np.sqrt(1 + gamma**2 / target**2) * (up - down) / (up + down) - gamma / target
    with np.errstate(divide="ignore", invalid="ignore"):
        return 2 * gamma * alpha / (1 - alpha**2)


def orthonormal_start(n, width, outputs, gamma, seed):
    """`√(2γ)P` with orthonormal rows, and zero."""
    rng = np.random.default_rng([seed, 6])
    rows = np.linalg.qr(rng.standard_normal((width, n)))[0].T
    return np.sqrt(2 * gamma) * rows, np.zeros((width, outputs))


def flow(X, Y, first, second, times, loss_factor=1.0):
    """Layers at the given times, each times × its shape."""
    split = first.size

    def velocity(_, state):
        W1, W2 = state[:split].reshape(first.shape), state[split:].reshape(second.shape)
        neg_grad = loss_factor * X.T @ (Y - X @ (W1 @ W2))
        return np.concatenate([(neg_grad @ W2.T).ravel(), (W1.T @ neg_grad).ravel()])

    run = solve_ivp(
        velocity,
        (0.0, float(times[-1])),
        np.concatenate([first.ravel(), second.ravel()]),
        method="DOP853",
        t_eval=times,
        rtol=RTOL,
        atol=ATOL,
    )
    assert run.success, run.message
    count = len(times)
    return (
        run.y[:split].T.reshape(count, *first.shape),
        run.y[split:].T.reshape(count, *second.shape),
    )
