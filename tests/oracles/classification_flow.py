"""Gradient flow of a classification in true time, by SciPy alone, from hand-written gradients.

Small margins only: the loss itself is integrated. Every network is given by its coefficients and
by the product of `∂β/∂layers` with a pull on the coefficients.
"""

import numpy as np
from scipy.integrate import solve_ivp

RTOL = 1e-13
ATOL = 1e-15


def exponential(margins):
    """The loss and `−∂loss/∂m`."""
    return np.exp(-margins).sum(), np.exp(-margins)


def logistic(margins):
    return np.log1p(np.exp(-margins)).sum(), 1 / (1 + np.exp(margins))


def diagonal(layers, pull):
    """`β = Π_j a_j`."""
    count = len(layers)
    others = [np.prod([layers[k] for k in range(count) if k != j], axis=0) for j in range(count)]
    return np.prod(layers, axis=0), [pull * other for other in others]


def convolution(layers, pull):
    """`β_i = Σ Π_l w_l[j_l]` over `Σ j_l ≡ i (mod n)`, term by term."""
    n = len(layers[-1])
    coef, pushes = np.zeros(n), [np.zeros(len(layer)) for layer in layers]
    for place in np.ndindex(*(len(layer) for layer in layers)):
        i = sum(place) % n
        factors = [layer[j] for layer, j in zip(layers, place, strict=True)]
        coef[i] += np.prod(factors)
        for k, j in enumerate(place):
            pushes[k][j] += pull[i] * np.prod(factors[:k] + factors[k + 1 :])
    return coef, pushes


def dense(layers, pull):
    """`β = W₁ ⋯ W_{L−1} w_L`."""
    after = [layers[-1]]
    for matrix in layers[-2::-1]:
        after.insert(0, matrix @ after[0])
    pushes, before = [], pull
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
