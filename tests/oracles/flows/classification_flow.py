"""Gradient flow of a classification in true time, by SciPy alone, from hand-written gradients.

Small margins only: the loss itself is integrated. Every network is given by its coefficients and
by the product of `∂β/∂layers` with a negative gradient on the coefficients.
"""

import mpmath
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import minimize
from scipy.special import beta

RTOL = 1e-13
ATOL = 1e-15


def exponential(margins):
    """The loss and `−∂loss/∂m`."""
    return np.exp(-margins).sum(), np.exp(-margins)


def logistic(margins):
    return np.log1p(np.exp(-margins)).sum(), 1 / (1 + np.exp(margins))


def linear(layers, neg_grad):
    """`β = θ`: what any network is, up to its rate, at large scale."""
    return layers[0], [neg_grad]


def diagonal(layers, neg_grad):
    """`β = Π_j a_j`."""
    count = len(layers)
    others = [np.prod([layers[k] for k in range(count) if k != j], axis=0) for j in range(count)]
    return np.prod(layers, axis=0), [neg_grad * other for other in others]


def convolution(layers, neg_grad):
    """`β_i = Σ Π_l w_l[j_l]` over `Σ j_l ≡ i (mod n)`, term by term."""
    n = len(layers[-1])
    coef, pushes = np.zeros(n), [np.zeros(len(layer)) for layer in layers]
    for place in np.ndindex(*(len(layer) for layer in layers)):
        i = sum(place) % n
        factors = [layer[j] for layer, j in zip(layers, place, strict=True)]
        coef[i] += np.prod(factors)
        for k, j in enumerate(place):
            pushes[k][j] += neg_grad[i] * np.prod(factors[:k] + factors[k + 1 :])
    return coef, pushes


def dense(layers, neg_grad):
    """`β = W₁ ⋯ W_{L−1} w_L`."""
    after = [layers[-1]]
    for matrix in layers[-2::-1]:
        after.insert(0, matrix @ after[0])
    pushes, before = [], neg_grad
    for k, matrix in enumerate(layers[:-1]):
        pushes.append(np.outer(before, after[k + 1]))
        before = matrix.T @ before
    return after[0], [*pushes, before]


def flow(network, loss, X, y, layers, times):
    """Coefficients (times, n) and log losses (times,) at the given times, the first of them 0."""
    shapes = [layer.shape for layer in layers]
    cuts = np.cumsum([layer.size for layer in layers])[:-1]
    signed = y[:, None] * X

    def split(state):
        parts = zip(np.split(state, cuts), shapes, strict=True)
        return [part.reshape(shape) for part, shape in parts]

    def coef_at(state):
        return network(split(state), np.zeros(X.shape[1]))[0]

    def velocity(_, state):
        now = split(state)
        slopes = loss(signed @ coef_at(state))[1]
        return np.concatenate([np.ravel(push) for push in network(now, signed.T @ slopes)[1]])

    run = solve_ivp(
        velocity,
        (0.0, times[-1]),
        np.concatenate([np.ravel(layer) for layer in layers]),
        method="DOP853",
        t_eval=times,
        rtol=RTOL,
        atol=ATOL,
    )
    assert run.success, run.message
    coefs = np.array([coef_at(state) for state in run.y.T])
    return coefs, np.log([loss(signed @ coef)[0] for coef in coefs])


def inactive_time(depth, size):
    """The mirror coordinate at which a coefficient activates.

    `½B(½, (L−2)/2) α^(2−L)` of layers α, …, α, 0.
    """
    return 0.5 * beta(0.5, (depth - 2) / 2) * size ** (2 - depth)


def activation_moments(loss, X, y, inactive):
    """When coefficients activate at vanishing scale, in units of `s^(2−L)`, and the plateaus.

    Between two of these times the visible ones sit where the loss is least without the others, and
    the mirror coordinates of the others run at constant speed. All are driven upwards here, and
    stay visible. Ends when the visible ones separate the data.
    """
    signed = y[:, None] * X
    xi, visible = np.zeros(X.shape[1]), np.zeros(X.shape[1], dtype=bool)
    coef, time, times, plateaus = np.zeros(X.shape[1]), 0.0, [], []
    while True:
        neg_grad = loss(signed @ coef)[1] @ signed
        still_inactive = ~visible & (neg_grad > 0)
        left = np.where(
            still_inactive, (inactive - xi) / np.where(still_inactive, neg_grad, 1.0), np.inf
        )
        time += left.min()
        xi += neg_grad * left.min()
        visible[left.argmin()] = True
        times.append(time)
        found = minimize(
            lambda part: loss(signed[:, visible] @ part)[0],
            np.maximum(coef[visible], 0.1),
            jac=lambda part: -(loss(signed[:, visible] @ part)[1] @ signed[:, visible]),
            method="BFGS",
            options={"gtol": 1e-12},
        )
        coef = np.zeros(X.shape[1])
        coef[visible] = _polished(loss, signed[:, visible], found.x)
        if (signed @ coef).min() > 0:
            return np.array(times), np.array(plateaus)
        plateaus.append(coef)


def _polished(loss, rows, coef):
    """Newton's method where the loss has a least value; the curvature by differences."""
    if (rows @ coef).min() > 0:
        return coef
    for _ in range(3):
        steps = 1e-6 * np.eye(len(coef))
        slopes = [loss(rows @ (coef + h))[1] - loss(rows @ (coef - h))[1] for h in steps]
        coef = coef + np.linalg.solve(-np.array(slopes) @ rows / 2e-6, loss(rows @ coef)[1] @ rows)
    return coef


def log_time_of_one(a, b, margins):
    """Logarithms of the times at which `β = ab` of one sample 1 passes these margins.

    `dβ/dt = (a² + b²)e^−β` with `a² + b² = √(4β² + Δ²)`, so that
    `t = ∫ e^x/√(4x² + Δ²) dx` from ab; below the upper end by more than 60 nothing is left of it.
    """
    square = (a * a - b * b) ** 2
    logs = []
    for margin in margins:
        low = max(a * b - margin, -60.0)
        part = mpmath.quad(
            lambda x, margin=margin: mpmath.exp(x) / mpmath.sqrt(4 * (x + margin) ** 2 + square),
            mpmath.linspace(low, 0, 13),
        )
        logs.append(float(margin + mpmath.log(part)))
    return np.array(logs)
