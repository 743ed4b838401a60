"""Where training with weight decay ends: at a lasso, whatever the start.

Notation: λ the weight decay, `g = ∂loss/∂β`, p and q what grows and what falls with a coefficient,
`ṗ = −(cg + λ)p`, `q̇ = (cg − λ)q` (p = a + b, q = a − b and c = 1 for `Diagonal(2)`; u, w and c = 2
for `SignedPower(2)` and `Power(2)`; sums and differences of pairs and c = 1 for `Paired`), β a
multiple of `p² − q²`.

Gradient flow of `F(θ) = loss + (λ/2)‖θ‖²` is bounded, since F is coercive, and converges, since F
is a polynomial (Łojasiewicz). Where p ends other than at zero, `cg = −λ`; where q does, `cg = λ`:
never both, as λ > 0. Where p ends at zero but has not started there, `cg + λ < 0` at the limit
would make it grow exponentially; so `cg ≥ −λ`, and likewise `cg ≤ λ` for q. These are the
optimality conditions of `min loss(β) + (λ/c)‖β‖₁` over coefficients that are not positive where p
starts at zero, and not negative where q does; and of a convex problem they are sufficient. No start
is excluded. (λ/c)‖β‖₁ is also what `(λ/2)‖θ‖²` is at least among the layers of β.

Gradient descent with so small a step that it descends, and no factor `1 − η(±cg + λ)` vanishes,
has the same limit for the same reasons. Of noisy steps and of momentum nothing is claimed.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from limitpoint.errors import LimitpointError, NoTheoremApplies
from limitpoint.foundation.arrays import Float, as_number, as_positive
from limitpoint.foundation.conditions import Condition
from limitpoint.foundation.labels import carries_names
from limitpoint.mirror.charts.log_chart import LogChart
from limitpoint.problem import Problem, as_problem
from limitpoint.status import Status
from limitpoint.theory.atlas import Theorem, register
from limitpoint.theory.limit import Limit
from limitpoint.theory.solvers.lasso.lasso_certificate import certify_lasso
from limitpoint.theory.solvers.lasso.lasso_problem import Lasso
from limitpoint.theory.solvers.lasso.lasso_solver import solutions
from limitpoint.theory.solvers.radial_limit import limit_at
from limitpoint.theory.theorems.shared_conditions import steps_multiply

__all__ = ["penalised_limit"]


def _conditions(problem: Problem) -> Sequence[Condition]:
    return (steps_multiply(problem),)


@carries_names
def penalised_limit(problem: Problem, weight_decay: float) -> Limit:
    r"""The limit of training with weight decay, ``argmin loss(β) + (λ/c)‖β‖₁``: a lasso.

    Of gradient flow from any start, and of `GD(learning_rate, weight_decay=λ)` with a small enough
    learning rate; c is 1 for `Diagonal(2)` and `Paired`, 2 for `SignedPower(2)` and `Power(2)`.
    Nothing matters of the start but zeros: a coefficient is not positive if what grows with it
    starts at zero (a + b, or u), not negative if what falls with it does (a − b, or w).

    Parameters
    ----------
    problem
        With a network of two layers with one number per coefficient and layer.
    weight_decay
        λ, positive: of the loss with its `loss_factor`.

    Returns
    -------
    Limit
        Its `dual` is `−∂loss/∂(Xβ)`, its `mirror` `−∂loss/∂β`, at the limit, where they end:
        what ν and ξ, which grow for ever, gain in a unit of time. λ/c times the sign of a
        coefficient is the latter, at most that in modulus where it is zero. `layers` are those
        that the start determines. Where the lasso has several solutions, `status` is DEGENERATE,
        and which of them training reaches depends on the start.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task = lp.Regression([[1.0, 2.0]], [1.0])
    >>> network = lp.Diagonal(depth=2)
    >>> problem = lp.Problem(network, lp.Init.random(network, task, scale=0.1, seed=0), task)
    >>> lp.analysis.penalised_limit(problem, 0.1).coef.round(6).tolist()
    [0.0, 0.475]
    >>> run = lp.train(problem, lp.GD(0.1, weight_decay=0.1), steps=2_000)
    >>> run.coef.round(6).tolist()
    [0.0, 0.475]
    """
    as_problem(problem)
    penalty = _as_weight_decay(weight_decay)
    failed = [condition for condition in LAW.check(problem) if not condition.holds]
    if failed:
        reasons = "; ".join(f"{condition.name}: {condition.detail}" for condition in failed)
        raise NoTheoremApplies(f"{LAW.id} does not apply ({reasons})")
    task, chart = problem.regression, _chart_of(problem)
    rates = _rates(chart)
    slope = penalty / float(np.abs(rates).max(initial=0.0) or 1.0)
    lasso = Lasso(
        task.X,
        task.y,
        _as_weight(slope / task.loss_factor),
        np.asarray((rates > 0).any(axis=0)),
        np.asarray((rates < 0).any(axis=0)),
    )
    for coef, left in solutions(lasso):
        certificate, ambiguous = certify_lasso(lasso, coef, left)
        if certificate.ok:
            break
    dual = task.loss_factor * left
    known = certificate.ok and not ambiguous and problem.init.is_finite
    return limit_at(
        coef,
        LAW,
        mirror=task.X.T @ dual,
        dual=dual,
        potential=float(0.5 * task.loss_factor * (left @ left) + slope * np.abs(coef).sum()),
        certificate=certificate,
        status=_status(certificate.ok, ambiguous),
        iterations=0,
        layers=_layers(chart, coef) if known else None,
    )


def _as_weight_decay(value: Any) -> float:
    if as_number(value, "weight_decay must be a positive number", LimitpointError) == 0:
        raise LimitpointError(
            "weight_decay must be a positive number; without weight decay the limit depends on "
            "the start, and predict(problem) has it"
        )
    return as_positive(value, "weight_decay", LimitpointError)


def _as_weight(value: float) -> float:
    if not np.finfo(np.float64).tiny <= value < np.inf:
        raise LimitpointError(
            "weight_decay over the loss_factor of the task must be a number that float64 holds; "
            f"it is {value:g}"
        )
    return value


def _status(certified: bool, ambiguous: bool) -> Status:
    if not certified:
        return Status.NOT_CERTIFIED
    return Status.DEGENERATE if ambiguous else Status.PENALISED


def _chart_of(problem: Problem) -> LogChart:
    init = problem.init
    chart = problem.network.log_chart(init if init.is_finite else init.at_scale(1.0))
    assert chart is not None, "the theorem applies"
    return chart


def _rates(chart: LogChart) -> Float:
    """±c of what grows and what falls, a row for each kind; zero of what starts at zero."""
    rates = chart.rates
    assert rates is not None, "the theorem applies"
    return rates.reshape(-1, len(chart.movable))


def _layers(chart: LogChart, coef: Float) -> tuple[Float, ...]:
    """What grows with a positive coefficient keeps its proportions, and all else vanishes."""
    rates = _rates(chart)
    used = (np.sign(rates) == np.sign(coef)) & (rates != 0)
    alone = np.where(used, 0.0, -np.inf)
    with np.errstate(all="ignore"):
        _, start = chart.signs_and_logs(alone.ravel())
        growth = np.where(used, (np.log(np.abs(coef)) - start) / 2, -np.inf)
    return chart.layers(growth.ravel())


LAW = register(
    Theorem(
        id="limitpoint.weight_decay",
        citation=(
            "limitpoint; that the penalty is ℓ1 in the coefficients is known, as of Hoff (2017), "
            "Lasso, fractional norm and structured sparse estimation using a Hadamard product "
            "parametrization"
        ),
        statement=(
            "Gradient flow of loss + (λ/2)‖θ‖² ends, from every start and at every scale, at a "
            "minimiser of loss(β) + (λ/c)‖β‖₁, c = 1 for β = a⊙b and u₊v₊ − u₋v₋, c = 2 for "
            "u² − w² and u², over coefficients that are not positive where what grows with them "
            "starts at zero (a + b, u, or u₊ + v₊ with u₋ − v₋) and not negative where what falls "
            "with them does; the limit is unique where the lasso is. Proof: the objective is a "
            "coercive polynomial, so the flow converges (Łojasiewicz); ṗ = −(c∂loss/∂β + λ)p and "
            "q̇ = (c∂loss/∂β − λ)q, so p ends at zero or with c∂loss/∂β = −λ, and would grow "
            "exponentially near zero if c∂loss/∂β < −λ there; q likewise. These are the optimality "
            "conditions of the lasso, which is convex. Gradient descent with a small enough step "
            "has the same limit; of noise and momentum nothing is claimed."
        ),
        concludes="law",
        rank=1,
        conditions=_conditions,
    )
)
