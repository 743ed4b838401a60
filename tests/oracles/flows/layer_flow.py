"""Gradient flow of the layers of any network, by SciPy alone, from hand-written derivatives.

`∂β/∂layer` is given as a function of the layers, one array per layer; the loss is
`½‖Xβ − y‖²`.
"""

import numpy as np
from scipy.integrate import solve_ivp

RTOL = 1e-12
ATOL = 1e-15


def flow(X, y, layers, coef, derivatives, times):
    """Layers (layers, times, features) and ξ (times, features) at the given times."""
    count, n = len(layers), X.shape[1]

    def velocity(_, state):
        now = list(state[:-n].reshape(count, n))
        neg_grad = X.T @ (y - X @ coef(now))
        return np.concatenate([*(neg_grad * np.stack(derivatives(now))), neg_grad])

    run = solve_ivp(
        velocity,
        (0.0, times[-1]),
        np.concatenate([*layers, np.zeros(n)]),
        method="DOP853",
        t_eval=times,
        rtol=RTOL,
        atol=ATOL,
    )
    assert run.success, run.message
    return np.moveaxis(run.y[:-n].reshape(count, n, -1), -1, 1), run.y[-n:].T
