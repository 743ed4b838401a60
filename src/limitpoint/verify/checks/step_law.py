"""A training run against the law of the step: it is where gradient flow from elsewhere would be.

Notation: `R` and `F` the sums of what rises and what falls with a coefficient, `β = R − F` and
`Ψ' = ∂β/∂ξ = 2c(R + F)` the sum of squares of its gradient in the layers; c the rate of the terms,
of which R and F are sums of squares.
"""

import numpy as np

from limitpoint.dynamics import Trajectory
from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import Float
from limitpoint.problem import Problem
from limitpoint.tasks import Regression
from limitpoint.verify import engines
from limitpoint.verify.sensitivity import EPS, SAFETY
from limitpoint.verify.verdict import Check

__all__ = ["step_law_checks"]

NAME = "training: law of the step"
# So many records are compared, along the whole run.
COMPARED = 10
# A step rounds a layer three times: two products and a difference. Its sums take as many.
ROUNDINGS = 6.0
# Where rounding may have moved the run by more than this part of its coefficients, it explains what
# is further off: a wrong law moves them by about as much as a step does.
LARGEST_ROUNDING = 1e-4


def step_law_checks(problem: Problem, run: Trajectory) -> tuple[list[Check], tuple[str, ...]]:
    """The worst of several records, and a note on what the steps did.

    Where rounding may explain any distance, a distance compares nothing.
    """
    if not np.isfinite(run.coefs[-1]).all():
        return [Check(NAME, np.inf, 0.0, "the run diverged")], ()
    bounds, first_order = _rounding(problem, run)
    records = np.unique(np.linspace(1, len(run.times) - 1, COMPARED).astype(int))
    why = f"rounding of every step (worst of {len(records)} records)"
    found = []
    for record in records:
        measured, allowed = _compared(problem, run, int(record), bounds[record])
        compares = first_order and allowed <= LARGEST_ROUNDING
        found.append(Check(NAME, measured, min(allowed, LARGEST_ROUNDING), why, compares))
    worst = max(found, key=lambda one: one.measured / one.tolerance)
    return [worst], (_what_steps_did(run),)


def _compared(problem: Problem, run: Trajectory, record: int, bound: Float) -> tuple[float, float]:
    """Distance of a record from the limit of its effective start, and what rounding allows."""
    task, coef, start = problem.regression, run.coefs[record], run.effective_start
    assert start is not None, "it has been summed"
    targets = Regression(task.X, task.X @ coef, task.loss_factor)
    try:
        limit = engines.predict(Problem(problem.network, start.init(record), targets))
    except LimitpointError:
        return np.inf, np.inf  # an effective start that float64 does not hold
    if not limit.status.ok:
        return np.inf, np.inf
    size = float(np.linalg.norm(coef)) or 1.0
    errors = limit.certificate.coef_errors
    solved = limit.certificate.tolerance * size if errors is None else np.linalg.norm(errors)
    distance = float(np.linalg.norm(limit.coef - coef))
    return distance / size, SAFETY * float(np.linalg.norm(bound) + solved) / size


def _rounding(problem: Problem, run: Trajectory) -> tuple[Float, bool]:
    """By how much rounding may have moved every coefficient at every record from where the law is.

    To first order; and whether that is what it is, since no term has been lost to rounding.

    A step rounds a layer by `EPS · |layer|`, which is `EPS √((R+F)/R)` of a term that rises, and
    what it is then multiplied by keeps that share: after K steps R is off by `2R` times at most
    K times the largest such share so far, and F likewise. That moves β on the targets Xβ by the
    part of `δ` that is left of it in the null space of X, in the metric `1/Ψ'`, in which dropping
    the rest makes no vector longer: by at most `√Ψ'_i ‖δ/√Ψ'‖` in coefficient i.
    """
    rising, falling = _terms(problem, run)
    steps = np.asarray(run.steps, dtype=float)[:, None]
    both = rising + falling
    moved, lost = np.zeros_like(both), 0.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for part in (rising, falling):
            shares = np.sqrt(np.where(part > 0, both / part, 0.0))
            shares = np.maximum.accumulate(shares, axis=0)
            moved += 2 * part * shares
            lost = max(lost, ROUNDINGS * EPS * float((steps * shares).max()))
        weighted = ROUNDINGS * EPS * steps * np.where(both > 0, moved / np.sqrt(both), 0.0)
    found: Float = np.sqrt(both) * np.linalg.norm(weighted, axis=1, keepdims=True)
    return found, lost < 1.0


def _terms(problem: Problem, run: Trajectory) -> tuple[Float, Float]:
    """R and F along the run: the smaller from their product, which the sums know."""
    network, start = problem.network, run.effective_start
    assert start is not None, "it has been summed"
    assert run.layers is not None, "training records its layers"
    slopes = network.layer_gradients(run.layers, np.ones_like(run.coefs))
    chart = network.log_chart(problem.init)
    assert slopes is not None, "its gradient is written out"
    assert chart is not None, "it has been summed"
    rate = float(np.abs(np.asarray(chart.rates)).max(initial=0.0)) or 1.0
    both = np.sum([np.square(slope) for slope in slopes], axis=0) / (2 * rate)
    larger = (both + np.abs(run.coefs)) / 2
    smaller_at_start = np.maximum(both[0] - np.abs(run.coefs[0]), 0.0) / 2
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        product = larger[0] * smaller_at_start * np.exp(2 * start.log_shrinkage)
        smaller = np.where(larger > 0, np.minimum(product / larger, larger), 0.0)
    up = run.coefs >= 0
    return np.where(up, larger, smaller), np.where(up, smaller, larger)


def _what_steps_did(run: Trajectory) -> str:
    """In words."""
    start = run.effective_start
    assert start is not None, "it has been summed"
    # The product of what rises and what falls is of the order of the squared scale.
    left = np.exp(start.log_shrinkage[-1] / 2)
    return (
        "By the law of the step, training is where gradient flow would be from an effective start "
        f"of {left.min():.3g} to {left.max():.3g} times the scale."
    )
