"""Choose the theorem, predict the limit, explain the choice."""

from limitpoint.errors import LimitpointError, NoTheoremApplies
from limitpoint.foundation.arrays import as_truth
from limitpoint.foundation.labels import carries_names
from limitpoint.problem import Problem, as_problem
from limitpoint.theory.atlas import strongest, theorems
from limitpoint.theory.escalation import escalated
from limitpoint.theory.explanation import Explanation
from limitpoint.theory.limit import Limit
from limitpoint.theory.theorems import (
    diagonalisable,
    labarriere2024,
    lazy,
    lyu2023,
    null_space_law,
    rank_one_any_start,
    separable_mirror_flow,
    sign_boundary,
    sign_constrained,
    step_law,
    varre2023,
    weight_decay,
    yun2021,
    zhao2026,
)

__all__ = ["explain", "predict"]

# Importing a module of theorems registers them; this names the modules the atlas is made of.
PAPERS = (
    sign_boundary,
    diagonalisable,
    sign_constrained,
    labarriere2024,
    lazy,
    lyu2023,
    null_space_law,
    separable_mirror_flow,
    rank_one_any_start,
    step_law,
    varre2023,
    weight_decay,
    yun2021,
    zhao2026,
)


def explain(problem: Problem) -> Explanation:
    """Evaluate the conditions of every theorem: which hold, which fail, and what to change.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task = lp.Regression([[1.0, 2.0]], [1.0])
    >>> network = lp.Diagonal(depth=2)
    >>> problem = lp.Problem(network, lp.Init.zero_last(network, task, scale=0.1), task)
    >>> explanation = lp.explain(problem)
    >>> explanation.used
    Theorem(yun2021.corollary5: ...)
    >>> print(explanation)
    yun2021.corollary5 is used: ...
    """
    as_problem(problem)
    return Explanation(problem, tuple((theorem, theorem.check(problem)) for theorem in theorems()))


@carries_names
def predict(problem: Problem, *, escalate: bool = True) -> Limit:
    """Predict where gradient flow ends, by the strongest theorem that applies. Never trains.

    Parameters
    ----------
    problem
        Network, initialisation and task.
    escalate
        Whether a limit that float64 does not certify is computed again in exact arithmetic, if its
        data are not too large. What that proves is rounded to float64; `status` says so, and
        `proof` has the proof.

    Returns
    -------
    Limit
        With the theorem used and a certificate of optimality.

    Raises
    ------
    NoTheoremApplies
        If no theorem in the atlas covers the problem: with the nearest, what it needs, and all
        conditions in `explanation`.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task = lp.Regression([[1.0, 2.0]], [1.0])
    >>> network = lp.Diagonal(depth=2)
    >>> problem = lp.Problem(network, lp.Init.zero_last(network, task, scale=1e-100), task)
    >>> lp.predict(problem).coef.round(6).tolist()
    [0.0, 0.5]
    """
    as_problem(problem)
    escalate = as_truth(escalate, "escalate", LimitpointError)
    theorem = strongest(problem)
    if theorem is not None and theorem.limit is not None:
        limit = theorem.limit(problem)
        return escalated(problem, theorem, limit) if escalate else limit
    explanation = explain(problem)
    raise NoTheoremApplies(explanation.refusal(), explanation)
