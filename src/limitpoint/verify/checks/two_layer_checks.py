"""Checks of a two-layer network's layers along a flow."""

import numpy as np

from limitpoint.dynamics import Trajectory
from limitpoint.foundation.arrays import Float
from limitpoint.problem import Problem
from limitpoint.theory import Limit, is_whitened
from limitpoint.verify import engines
from limitpoint.verify.sensitivity import Sensitivity
from limitpoint.verify.verdict import Check

__all__ = ["two_layer_bound_checks", "two_layer_checks"]

# Moduli of matrices differ by at most this many times what the matrices do, in the Frobenius norm.
MODULUS = float(np.sqrt(2.0))


def two_layer_checks(
    problem: Problem, limit: Limit, run: Trajectory, scales: Sensitivity, accumulated: float
) -> list[Check]:
    """The layers' Gram matrices at the end, and their relation to β at every time.

    A rotation of the hidden layer is left open by the theorem, so that `W₁W₁ᵀ`, `W₂ᵀW₂` and their
    product are compared: `√(ββᵀ+γ²) + γ`, `√(βᵀβ+γ²) − γ` and β. On whitened data nothing is left
    open, and the layers themselves are compared too.
    """
    if run.layers is None or limit.layers is None:
        raise TypeError("the layers of the run and of the limit are needed")
    first, second = (_columns(layer) for layer in (run.layers[0], run.layers[1]))
    ends = (first[-1] @ first[-1].T, second[-1].T @ second[-1])
    one, two = limit.layers[0], limit.layers[1].reshape(len(limit.layers[1]), -1)
    expected = (one @ one.T, two.T @ two)
    near = scales.tolerance(run.coef, accumulated)
    # √(s²+γ²) changes by at most s₁/√(s₁²+γ²) of what s does.
    top = float(np.linalg.norm(_columns(run.coefs)[-1], 2))
    apart = MODULUS * near * scales.size * top / (float(np.hypot(top, _gamma(problem))) or 1.0)
    compared = {
        "W₁W₁ᵀ": (ends[0], expected[0], apart),
        "W₂ᵀW₂": (ends[1], expected[1], apart),
        "W₁W₂": (_columns(run.coefs)[-1], one @ two, near * scales.size),
    }
    if is_whitened(problem.regression).holds:
        # Singular vectors do not move: no rotation is left open. A layer is as exact as β, over
        # the size of the other one.
        sizes = [float(np.linalg.norm(layer, 2)) or 1.0 for layer in (one, two)]
        for name, end, wanted, other in (
            ("W₁", first[-1], one, sizes[1]),
            ("W₂", second[-1], two, sizes[0]),
        ):
            room = MODULUS * near * scales.size / max(other, min(sizes))
            compared[name] = (end, wanted, room)
    checks = []
    for name, (end, wanted, room) in compared.items():
        size = float(np.linalg.norm(wanted)) or 1.0
        checks.append(
            Check(
                f"parameter flow: {name}",
                float(np.linalg.norm(end - wanted)) / size,
                room / size + accumulated,
                "distance of β, and accuracy",
            )
        )
    checks.append(
        Check(
            "parameter flow: singular values of the layers",
            _worst_relation(problem, first, second, _columns(run.coefs)),
            accumulated,
            "Corollary 3.1 at every time, accuracy",
        )
    )
    return checks


def two_layer_bound_checks(problem: Problem, run: Trajectory, accumulated: float) -> list[Check]:
    """The bounds on the loss, never exceeded."""
    unit = float(run.losses[0]) or 1.0
    return [
        Check(
            f"loss above the bound of {name}",
            max(float(np.max(run.losses - bound)) / unit, 0.0),
            accumulated,
            "accuracy of the flow",
        )
        for name, bound in engines.two_layer_bounds(problem, run.times).items()
    ]


def _gamma(problem: Problem) -> float:
    """Half the squared norm of a row of W₁ at the start."""
    return 0.5 * float(np.mean(np.sum(problem.init.layers[0] ** 2, axis=1)))


def _columns(matrices: Float) -> Float:
    """Records of matrices; a vector is a matrix of one column."""
    return matrices if matrices.ndim == 3 else matrices[..., None]


def _worst_relation(problem: Problem, first: Float, second: Float, coefs: Float) -> float:
    """The largest `|σ(W₁)² − √(σ(β)²+γ²) − γ|`, and for W₂, relative to the largest reached."""
    gamma = _gamma(problem)
    values = np.linalg.svd(coefs, compute_uv=False)
    reach = np.hypot(values, gamma)
    others = np.full((len(coefs), first.shape[1] - values.shape[1]), 2 * gamma)
    large = np.concatenate([reach + gamma, others], axis=1)
    found = np.linalg.eigvalsh(first @ np.swapaxes(first, 1, 2))[:, ::-1]
    small = np.linalg.eigvalsh(np.swapaxes(second, 1, 2) @ second)[:, ::-1]
    size = float(large.max())
    one = float(np.abs(found - np.sort(large, axis=1)[:, ::-1]).max())
    two = float(np.abs(small[:, : values.shape[1]] - (reach - gamma)).max())
    return max(one, two) / size
