"""The noise terms of Figure 9 once more, step by step along one run, without the probes.

Notation as in `probes`; P_⊥ and the batches' second moment are written out as matrices here.
"""

import numpy as np

import limitpoint as lp
from limitpoint.foundation.arrays import Float

__all__ = ["noise_terms"]


def noise_terms(problem: lp.Problem, optimiser: lp.SGD, steps: int) -> dict[str, float]:
    """`q`, the share lost by the loss of balance, and by Theorem 3, after so many steps of SGD."""
    run = lp.train(problem, optimiser, steps, record=np.arange(steps + 1))
    X, degree = problem.regression.X, problem.network.degree
    power, rate, batch = 1 - 1 / degree, optimiser.learning_rate, optimiser.batch_size
    coefs, samples = run.coefs, len(X)
    g, lost_balance = np.zeros(X.shape[1]), 0.0
    for coef in coefs[:-1]:
        size, residual = float(np.linalg.norm(coef)), X @ coef - problem.regression.y
        across = X - np.outer(X @ coef, coef) / size**2  # P_⊥ x_j
        loss, trace = float(np.mean(residual**2)), float(np.sum(across * X))
        g += rate * loss * size ** (3 * power - 2) * trace * coef
        moved = residual[:, None] * across  # P_⊥ of each sample's gradient, halved
        single, mean = float(np.mean(np.sum(moved**2, axis=1))), moved.mean(axis=0)
        moment = single / batch + (1 - 1 / batch) * float(mean @ mean)
        lost_balance += rate * 4 * rate * size ** (2 * power) * moment
    g *= 2 * power * rate / (samples * batch)
    rows = np.linalg.qr(X.T)[0]
    start = _mirrored(coefs[0], power)
    kept = start - rows @ (rows.T @ start)
    size = float(np.linalg.norm(coefs[-1]))
    return {
        "q": float(coefs[-1] @ g),
        "lost": 0.5 * power * lost_balance / size ** (2 / degree),
        "lost_by_theorem3": float(kept @ g / (kept @ kept)),
    }


def _mirrored(coef: Float, power: float) -> Float:
    return np.asarray(coef * np.linalg.norm(coef) ** -power)
