"""Limits of regression as Yun et al. (2021) print them, and gradient flow of any tensor network.

Written from the paper (Lemma 4, Theorems 5 and 6, Corollaries 4, 6 and 7); shares no code of ours.
Networks are given by their whole tensor M, (n, k₁, …, k_L), layers by vectors.
"""

import mpmath as mp
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, root

LETTERS = "abcdefgh"


def contract(tensor, vectors):
    """`β_i = M_i∘(v₁, …, v_L)`."""
    axes = LETTERS[: len(vectors)]
    return np.einsum(f"z{axes},{','.join(axes)}->z", tensor, *vectors)


def neg_grads(tensor, vectors, u):
    """`M(u)∘(…, I, …)` for each layer: its velocity when the coefficients are driven by u."""
    axes = LETTERS[: len(vectors)]
    found = []
    for place, letter in enumerate(axes):
        others = [v for i, v in enumerate(vectors) if i != place]
        rest = axes.replace(letter, "")
        spelled = ",".join([f"z{axes}", "z", *rest])
        found.append(np.einsum(f"{spelled}->{letter}", tensor, u, *others))
    return found


def flow_end(tensor, X, y, layers, *, rtol=1e-12, relative_residual=1e-11, t_end=1e12):
    """The coefficients and layers at which gradient flow of `½‖Xβ − y‖²` ends."""
    cuts = np.cumsum([len(v) for v in layers])[:-1]

    def velocity(_, state):
        vectors = np.split(state, cuts)
        u = X.T @ (y - X @ contract(tensor, vectors))
        return np.concatenate(neg_grads(tensor, vectors, u))

    def arrived(_, state):
        left = y - X @ contract(tensor, np.split(state, cuts))
        return float(np.linalg.norm(left)) - relative_residual * float(np.linalg.norm(y))

    arrived.terminal = True
    start = np.concatenate(layers)
    run = solve_ivp(
        velocity,
        (0.0, t_end),
        start,
        method="LSODA",
        events=arrived,
        rtol=rtol,
        atol=rtol * float(np.abs(start).max()),
    )
    assert run.status == 1, run.message
    vectors = np.split(run.y[:, -1], cuts)
    return contract(tensor, vectors), vectors


def theorem_6(matrix, first, second, y, log_scale, digits=60):
    """The layers v₁ and v₂ of (printed) Theorem 6, in many digits: α = e^log_scale may be tiny."""
    left, s, rows = np.linalg.svd(matrix, full_matrices=False)
    kept = s > 1e-12 * s[0]
    left, s, right = left[:, kept], s[kept], rows[kept].T
    p, q = left.T @ first, right.T @ second
    with mp.workdps(digits):
        alpha = mp.e ** mp.mpf(log_scale)
        P, Q, V = ([mp.mpf(float(z)) for z in one] for one in (p, q, s))

        def g(nu):
            total = mp.mpf(0)
            for a, b, value in zip(P, Q, V, strict=True):
                both = (a**2 + b**2) / 2 * mp.sinh(2 * value * nu)
                total += value * (both + a * b * mp.cosh(2 * value * nu))
            return total

        # Doubling brackets the root of an increasing function, bisection finds it.
        goal, low, high = mp.mpf(float(y)) / alpha**2, mp.mpf(-1), mp.mpf(1)
        while g(low) > goal:
            low *= 2
        while g(high) < goal:
            high *= 2
        for _ in range(4 * digits):
            middle = (low + high) / 2
            low, high = (middle, high) if g(middle) < goal else (low, middle)
        nu, parts = (low + high) / 2, list(zip(P, Q, V, strict=True))
        eta1 = [alpha * (a * mp.cosh(nu * v) + b * mp.sinh(nu * v)) for a, b, v in parts]
        eta2 = [alpha * (a * mp.sinh(nu * v) + b * mp.cosh(nu * v)) for a, b, v in parts]
        size = float(alpha)
        eta1, eta2 = (np.array([float(z) for z in one]) for one in (eta1, eta2))
    return (
        left @ eta1 + size * (first - left @ (left.T @ first)),
        right @ eta2 + size * (second - right @ (right.T @ second)),
    )


def along_theorem_6(matrix, first, second, nu):
    """The layers after the mirror coordinate ν, whatever the loss."""
    left, s, rows = np.linalg.svd(matrix, full_matrices=False)
    right = rows.T
    p, q = left.T @ first, right.T @ second
    c, h = np.cosh(nu * s), np.sinh(nu * s)
    return (
        left @ (p * c + q * h - p) + first,
        right @ (p * h + q * c - q) + second,
    )


def inverse_h(depth, x):
    """`h_L⁻¹` of Lemma 4 at depth 2, 3 and 4, from the closed forms of h_L."""
    if depth == 2:
        return np.arcsinh(2 * x) / 2
    pole = {3: np.pi / 2, 4: 1.0}[depth]
    h = {3: lambda t: np.tan(t) / np.cos(t) ** 2, 4: lambda t: t / (1 - t**2) ** 2}[depth]

    def one(value):
        if value == 0:
            return 0.0
        end = pole * (1 - 1e-12)
        return np.sign(value) * brentq(lambda t: h(t) - abs(value), 0.0, end, xtol=1e-16)

    return np.array([one(value) for value in x])


def minimum(X, y, transform, weights, depth, scale, basis=None):
    """`argmin α² Σ w_j² H_L([Tz]_j/(α^L |w_j|^L))` subject to `Xz = y`, z in the span of a basis.

    By root finding on the optimality condition in the null space of the constraint.
    """
    basis = np.eye(X.shape[1]) if basis is None else basis
    rows = X @ basis
    start = np.linalg.lstsq(rows, y, rcond=None)[0]
    null = np.linalg.svd(rows)[2][np.linalg.matrix_rank(rows) :].T
    size = scale**depth * np.abs(weights) ** depth
    slopes = scale**2 * weights**2 / size  # Q' = slopes · h⁻¹

    def gradient(free):
        z = basis @ (start + null @ free)
        return null.T @ (
            basis.T @ (transform.T @ (slopes * inverse_h(depth, transform @ z / size)))
        )

    found = root(gradient, np.zeros(null.shape[1]), tol=1e-14)
    assert np.abs(found.fun).max(initial=0.0) <= 1e-9 * slopes.max(), found.message
    return basis @ (start + null @ found.x)


def even_basis(size):
    """Orthonormal even vectors, `x_j = x_{−j}`."""
    columns = []
    for k in range(size // 2 + 1):
        one = np.cos(2 * np.pi * k * np.arange(size) / size)
        columns.append(one / np.linalg.norm(one))
    return np.stack(columns, axis=1)


def unitary_fourier(size):
    """The real part of F, all that acts on even vectors."""
    indices = np.arange(size)
    return np.cos(2 * np.pi * np.outer(indices, indices) / size) / np.sqrt(size)
