"""Stochastic gradient descent of rank-one networks in a NumPy loop, with gradients by hand.

Shares no code with the package. `β = ξv₁`, `ξ = Π_k v_{k+1}ᵀu_k`; with `g = ∂loss/∂β` the gradients
are `ξg` for v₁ and `(v₁ᵀg)·ξ/(v_{k+1}ᵀu_k)`, times the partner, for u_k and v_{k+1}.
"""

import math

import numpy as np


def descend(X, y, layers, learning_rate, loss_factor, batches, record, target):
    """Distances of the coefficients from `target` at the recorded steps, and the layers there.

    The loss of a step is `loss_factor · ½ · m/b · Σ_{j ∈ batch} (x_jβ − y_j)²`. `batches` holds the
    indices of every step (steps × b), or is the number of steps with all samples.
    """
    everything = isinstance(batches, int)
    steps = batches if everything else len(batches)
    rate = learning_rate * loss_factor * (1 if everything else len(y) / batches.shape[1])
    v1, us, vs = layers[0].copy(), list(layers[1::2]), list(layers[2::2])
    rows, targets = X, y
    recorded, distances, kept = set(record), [], []
    for i in range(steps + 1):
        overlaps = [u @ v for u, v in zip(us, vs, strict=True)]
        outer = math.prod(overlaps)
        if i in recorded:
            distances.append(np.linalg.norm(outer * v1 - target))
            kept.append([v1.copy(), *(w for pair in zip(us, vs, strict=True) for w in pair)])
        if i == steps:
            break
        if not everything:
            rows, targets = X[batches[i]], y[batches[i]]
        slope = rate * ((outer * (rows @ v1) - targets) @ rows)
        along = v1 @ slope
        v1 -= outer * slope
        for k, overlap in enumerate(overlaps):
            c = along * outer / overlap
            us[k], vs[k] = us[k] - c * vs[k], vs[k] - c * us[k]
    return np.array(distances), kept
