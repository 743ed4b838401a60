"""Rank-one and dense linear networks by SciPy and mpmath alone: gradients written out by hand.

Three ways to the same end, none of which shares code with the package:

- `rank_one_flow`, `dense_flow`: gradient flow of all weights (explicit Runge–Kutta of order 8);
- `coefficient_flow`: the equation that a balanced network's coefficients obey on their own,
  `β̇ = ‖β‖^{2(D−1)/D} (I + (D−1)ββᵀ/‖β‖²) Xᵀ(y − Xβ)` (rank-one: D = 2L−1, dense: D = L);
- `balanced_limit`: the minimum of `‖β‖^{1+1/D}/(1+1/D) − βᵀz(0)` along the one line in the null
  space of X on which it must lie, by bisection in mpmath.

The flows may run in the time `dτ = |outer layers| dt`, in which there are no plateaus; the curve is
the same.
"""

import itertools

import mpmath as mp
import numpy as np
from scipy.integrate import solve_ivp

__all__ = [
    "balanced_limit",
    "coefficient_flow",
    "dense_coef",
    "dense_flow",
    "dense_velocity",
    "rank_one_coef",
    "rank_one_flow",
    "rank_one_velocity",
    "sparse_data",
    "start_on_manifold",
]

# Local error per step, relative; SciPy allows nothing below 2.2e-14.
RTOL = 1e-13
# A flow has ended when it misses the data by this, relative to the size of what is subtracted. An
# explicit method at its stability limit leaves some ten times its tolerance, whatever it does.
RESIDUAL = 1e-11
LONGEST = 1e12
# No flow that the tests ask for needs a tenth of this.
MOST_EVALUATIONS = 200_000
DIGITS = 60


# --- rank-one networks: layers v1, u1, v2, u2, v3, ... ---


def rank_one_coef(layers):
    """`v₁ · Π_k v_{k+1}ᵀu_k`."""
    return layers[0] * np.prod([u @ v for u, v in _pairs(layers)])


def rank_one_velocity(X, y, layers, loss_factor=1.0):
    """Minus the gradient of `loss_factor · ½‖Xβ − y‖²` in every vector."""
    v1 = layers[0]
    overlaps = np.array([u @ v for u, v in _pairs(layers)])
    neg_grad = loss_factor * (X.T @ (y - X @ (v1 * overlaps.prod())))
    along = float(v1 @ neg_grad)
    moved = [overlaps.prod() * neg_grad]
    for k, (u, v) in enumerate(_pairs(layers)):
        rest = along * np.delete(overlaps, k).prod()
        moved += [rest * v, rest * u]
    return moved


def rank_one_flow(X, y, layers, *, loss_factor=1.0, times=None, warped=True):
    """The layers at the end, or at the given times (only in true time)."""

    def speed(parts):
        return abs(np.prod([u @ v for u, v in _pairs(parts)]))

    def velocity(parts):
        return rank_one_velocity(X, y, parts, loss_factor)

    return _follow(X, y, layers, velocity, rank_one_coef, speed if warped else None, times)


def _pairs(layers):
    return list(zip(layers[1::2], layers[2::2], strict=True))


# --- dense networks: layers W1, ..., W_{L-1}, w_L ---


def dense_coef(layers):
    """`W₁ ⋯ W_{L−1} w_L`."""
    vector = layers[-1]
    for matrix in reversed(layers[:-1]):
        vector = matrix @ vector
    return vector


def dense_velocity(X, y, layers, loss_factor=1.0):
    """Minus the gradient: `(W₁⋯W_{k−1})ᵀ neg_grad (W_{k+1}⋯w_L)ᵀ`."""
    neg_grad = loss_factor * (X.T @ (y - X @ dense_coef(layers)))
    # What each layer is fed from the left (the negative gradient) and from the right.
    left = [neg_grad]
    for matrix in layers[:-1]:
        left.append(matrix.T @ left[-1])
    right = [layers[-1]]
    for matrix in reversed(layers[1:-1]):
        right.append(matrix @ right[-1])
    right.reverse()
    return [*(np.outer(a, b) for a, b in zip(left[:-1], right, strict=True)), left[-1]]


def dense_flow(X, y, layers, *, loss_factor=1.0, times=None, warped=True):
    """The layers at the end, or at the given times (only in true time)."""

    def speed(parts):
        return float(np.linalg.norm(dense_coef(parts[1:])))

    def velocity(parts):
        return dense_velocity(X, y, parts, loss_factor)

    return _follow(X, y, layers, velocity, dense_coef, speed if warped else None, times)


# --- the coefficients of balanced networks on their own ---


def coefficient_flow(X, y, start, degree):
    """The end of `β̇ = ‖β‖^{2(D−1)/D} (I + (D−1)ββᵀ/‖β‖²) u`, in the time `‖β‖^{(D−1)/D} dt`."""

    def velocity(parts):
        (coef,) = parts
        size = np.linalg.norm(coef)
        neg_grad = X.T @ (y - X @ coef)
        along = (degree - 1) * (coef @ neg_grad) / size**2
        return [size ** (2 * (degree - 1) / degree) * (neg_grad + along * coef)]

    def speed(parts):
        return float(np.linalg.norm(parts[0]) ** ((degree - 1) / degree))

    return _follow(X, y, [start], velocity, lambda parts: parts[0], speed, None)[0]


def _follow(X, y, layers, velocity, coef_of, speed, times):
    """Integrate to the end (or to the times); layers in, layers out."""
    layers = [np.asarray(layer, dtype=float) for layer in layers]
    shapes = [layer.shape for layer in layers]
    cuts = np.cumsum([layer.size for layer in layers])[:-1]

    def split(state):
        parts = np.split(state, cuts)
        return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]

    evaluations = itertools.count()

    def rate(_, state):
        if next(evaluations) > MOST_EVALUATIONS:
            raise RuntimeError("the flow takes too many steps")
        parts = split(state)
        moved = np.concatenate([np.ravel(part) for part in velocity(parts)])
        return moved if speed is None else moved / speed(parts)

    left, values, _ = np.linalg.svd(X, full_matrices=False)
    span, reachable = values[0], left[:, values > 1e-12 * values[0]]

    def unfitted(_, state):
        coef = coef_of(split(state))
        missed = np.linalg.norm(reachable.T @ (y - X @ coef))
        return missed - RESIDUAL * (np.linalg.norm(y) + span * np.linalg.norm(coef))

    unfitted.terminal = True
    start = np.concatenate([np.ravel(layer) for layer in layers])
    if times is None and unfitted(0.0, start) <= 0:
        return layers
    # A trial step far too long may overflow; it is then rejected for its error.
    with np.errstate(over="ignore", invalid="ignore"):
        solution = solve_ivp(
            rate,
            (0.0, LONGEST if times is None else times[-1]),
            start,
            method="DOP853",
            rtol=RTOL,
            # The parameters of a layer start at its own size, and are needed to that.
            atol=np.concatenate([np.full(x.size, RTOL * np.abs(x).max()) for x in layers]),
            t_eval=times,
            events=unfitted if times is None else None,
        )
    if times is not None:
        return [np.stack(moments) for moments in zip(*map(split, solution.y.T), strict=True)]
    if solution.t_events[0].size == 0:
        raise RuntimeError(f"the flow did not fit the data: {solution.message}")
    return split(solution.y_events[0][-1])


# --- the minimum of the potential, in many digits ---


def balanced_limit(X, y, direction, log_scale, degree):
    """The minimum of the potential for layers `exp(log_scale)` times unit ones along a direction.

    Among `β = X⁺y + rk`, k the part of the unit vector in the null space of X: minimising V over r
    leaves `‖β‖^{1/D−1} (βᵀk) = s‖k‖²`; its left side increases with r.
    """
    with mp.workdps(DIGITS):
        least, kept = _least_norm_and_null_part(X, y, direction)
        scale = mp.exp(mp.mpf(log_scale))
        square, size = _dot(kept, kept), _dot(least, least)

        def slope(r):
            norm = mp.sqrt(size + r**2 * square)
            return norm ** (mp.mpf(1) / degree - 1) * r - scale

        # ‖β‖ ≥ r‖k‖ and ‖β‖ ≤ ‖X⁺y‖ + r: the root is below these.
        high = (scale + 1) * (1 + mp.sqrt(size)) + scale**degree
        low = mp.mpf(0)
        for _ in range(4 * DIGITS + int(mp.ceil(mp.log(high, 2) - log_scale * degree * 2))):
            middle = (low + high) / 2
            low, high = (middle, high) if slope(middle) < 0 else (low, middle)
        return np.array([float(a + high * b) for a, b in zip(least, kept, strict=True)])


def _least_norm_and_null_part(X, y, direction):
    """`X⁺y` and `P_null d` for X of full row rank, by solving with XXᵀ."""
    rows = mp.matrix(X.tolist())
    gram = rows * rows.T
    unit = mp.matrix(direction.tolist()) / mp.sqrt(_dot(direction.tolist(), direction.tolist()))
    least = rows.T * mp.lu_solve(gram, mp.matrix(y.tolist()))
    kept = unit - rows.T * mp.lu_solve(gram, rows * unit)
    return list(least), list(kept)


def _dot(a, b):
    return mp.fsum(mp.mpf(x) * mp.mpf(z) for x, z in zip(a, b, strict=True))


# --- data and special starts ---


def sparse_data(samples, features, informative, seed):
    """Gaussian data with a sparse solution (lyu, section 5: 40 × 100 with 20 informative)."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, features))
    coef = np.zeros(features)
    coef[rng.choice(features, informative, replace=False)] = rng.standard_normal(informative)
    return X, X @ coef


def start_on_manifold(X, y, degree, size):
    """The point z of norm `size` on the curve of balanced starts that end at zero.

    Backwards along `ż = Xᵀ(y − ‖z‖^{D−1}Xz)` from zero. Balanced layers of norm ‖z‖ with
    coefficients along z start there.
    """

    def backwards(_, z):
        return -X.T @ (y - np.linalg.norm(z) ** (degree - 1) * (X @ z))

    def far_enough(_, z):
        return np.linalg.norm(z) - size

    far_enough.terminal = True
    solution = solve_ivp(
        backwards,
        (0.0, 1e3),
        np.zeros(X.shape[1]),
        method="DOP853",
        rtol=RTOL,
        atol=1e-3 * RTOL * size,
        events=far_enough,
    )
    z = solution.y_events[0][-1]
    # Rounding must not leave anything outside the rows.
    rows = np.linalg.svd(X, full_matrices=False)[2]
    return rows.T @ (rows @ z)
