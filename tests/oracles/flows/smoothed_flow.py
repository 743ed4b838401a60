"""The mirror flow at a small but finite scale, integrated by a general stiff solver.

``dν/dt = y − XΨ(Xᵀν)`` with ``Ψ(s) = e^{(s−t⁺)/ε} − e^{−(s+t⁻)/ε}``, whose limit ε → 0 is the path.
"""

import numpy as np
from scipy.integrate import solve_ivp


def coefs_at(X, y, t_plus, t_minus, epsilon, times):
    """The coefficients of the flow at the given times (in units of the path's times)."""
    # Trial points of the implicit solver may be wild; there only the sign of the slope matters.
    cap = 200.0

    def psi(s):
        grown = np.exp(np.minimum((s - t_plus) / epsilon, cap))
        return grown - np.exp(np.minimum(-(s + t_minus) / epsilon, cap))

    def slope(_, nu):
        return y - X @ psi(X.T @ nu)

    def jacobian(_, nu):
        s = X.T @ nu
        grown = np.exp(np.minimum((s - t_plus) / epsilon, cap))
        rate = (grown + np.exp(np.minimum(-(s + t_minus) / epsilon, cap))) / epsilon
        return -(X * rate) @ X.T

    run = solve_ivp(
        slope,
        (0.0, times[-1]),
        np.zeros(len(y)),
        method="Radau",
        jac=jacobian,
        t_eval=times,
        rtol=1e-9,
        atol=1e-12,
    )
    return np.array([psi(X.T @ nu) for nu in run.y.T])
