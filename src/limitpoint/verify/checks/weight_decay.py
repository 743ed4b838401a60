"""A run of gradient descent with weight decay against the penalised limit.

Notation: λ the weight decay, ±c the rates of what grows and falls with a coefficient, `u = −∂loss/
∂β` where the run is; T the coefficients that have nearly stopped to grow or fall, R the others,
which have decayed. With `e = u − sign(β)λ/c` on T and f the loss factor, the optimality conditions
of the limit β* give `f X_Tᵀ X(β − β*) = −e`, so that the run itself says how far it is:

    (β − β*)_T = −(f X_TᵀX_T)⁻¹ e − X_T⁺ X_R β_R.
"""

import numpy as np

from limitpoint.dynamics import Optimiser, Trajectory
from limitpoint.foundation.arrays import Float
from limitpoint.problem import Problem
from limitpoint.verify import engines
from limitpoint.verify.sensitivity import EPS, ROUNDING_UNITS, SAFETY
from limitpoint.verify.verdict import Check

__all__ = ["weight_decay_checks"]

NAME = "training: distance from the penalised limit"
# A coefficient has stopped when it grows or falls by no more than this part of the decay. A run
# that can say no better than by this part of the limit where it ends is not compared.
ARRIVED = 1e-3


def weight_decay_checks(
    problem: Problem, training: Optimiser, run: Trajectory
) -> tuple[list[Check], tuple[str, ...]]:
    """The distance from the limit, where the run has come near it; else a note."""
    if not np.isfinite(run.coefs[-1]).all():
        return [], ()  # it diverged, as another check says
    decay = training.shrinkage / training.time_per_step
    limit = engines.penalised_limit(problem, decay)
    if not limit.status.ok:
        return [], (f"The penalised limit is not compared. {limit.status}",)
    size = float(np.linalg.norm(limit.coef)) or problem.regression.fit_size or 1.0
    off = _own_distance(problem, run.coef, decay)
    if off is None or not off <= ARRIVED * size:
        return [], (
            "Training has not come so near to its penalised limit that the two can be compared: "
            "coefficients still grow or decay. Take more steps.",
        )
    errors = limit.certificate.coef_errors
    solved = 0.0 if errors is None else float(np.linalg.norm(errors))
    distance = float(np.linalg.norm(run.coef - limit.coef))
    reason = "what is left of the run's own gradient, to first order"
    return [Check(NAME, distance / size, SAFETY * (off + solved) / size, reason)], ()


def _own_distance(problem: Problem, coef: Float, decay: float) -> float | None:
    """How far the run may be from its limit; None where coefficients still grow."""
    task, chart = problem.regression, problem.network.log_chart(problem.init)
    assert chart is not None, "its steps have been summed"
    assert chart.rates is not None, "its steps have been summed"
    rates = chart.rates.reshape(-1, len(coef))
    penalty = decay / float(np.abs(rates).max(initial=0.0) or 1.0)
    X, factor = task.X, task.loss_factor
    sizes = np.abs(X) @ np.abs(coef) + np.abs(task.y)
    slopes = factor * (X.T @ task.residual(coef))
    rounding = ROUNDING_UNITS * EPS * factor * (np.abs(X).T @ sizes)
    up = np.where((rates > 0).any(axis=0), slopes - penalty, -np.inf)
    down = np.where((rates < 0).any(axis=0), -slopes - penalty, -np.inf)
    own = np.where(coef > 0, up, np.where(coef < 0, down, np.maximum(up, down)))
    bound = ARRIVED * penalty + rounding
    stopped = np.abs(own) <= bound
    if (np.maximum(up, down) > bound).any():
        return None
    inverse = np.linalg.pinv(X[:, stopped])
    turned = (np.abs(own) + rounding)[stopped] / factor
    rest = X[:, ~stopped] @ coef[~stopped]
    moved = np.abs(inverse @ inverse.T) @ turned + np.abs(inverse @ rest)
    return float(np.linalg.norm(moved) + np.linalg.norm(coef[~stopped]))
