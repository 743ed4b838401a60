"""`prove`: the prediction says where to look, ball arithmetic proves what is there."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from limitpoint.errors import LimitpointError, ScaleNotRepresentable
from limitpoint.foundation.arrays import as_whole_number
from limitpoint.foundation.labels import named_after
from limitpoint.problem import Problem, as_problem
from limitpoint.theory.atlas import Theorem, strongest
from limitpoint.theory.limit import Limit
from limitpoint.theory.predict import explain, predict
from limitpoint.theory.prove.outcome import Hint
from limitpoint.theory.prove.proof import Proof
from limitpoint.theory.prove.prove import MOST_BITS, proof_of, proof_of_path, refused
from limitpoint.theory.solvers.basis_pursuit import SaddlePath

__all__ = ["proof_by", "prove"]

# More digits than anyone prints, and still within the precision that is tried.
MOST_DIGITS = 2000


def prove(problem: Problem | SaddlePath, digits: int = 30) -> Proof:
    """Prove where gradient flow ends: a ball around every coefficient, in rigorous arithmetic.

    The limit of a separable mirror flow is the root of a convex dual problem. The interval Newton
    test in ball arithmetic proves that the root exists, is the only one, and lies in a ball; data,
    directions and scale are taken as the exact numbers that the floats are. At infinite and at
    vanishing scale the limit is rational, and computed exactly; at the latter so are all saddles.
    The direction of a classification is that of a margin problem, whose solution is proved by its
    multipliers, or of top singular vectors.

    Parameters
    ----------
    problem
        Network, initialisation and task; or a saddle path, of which the data and activation times
        are taken: what these give is proved, without a network.
    digits
        The radius of every coefficient is at most `10^-digits` times its modulus, inactive
        coefficients included; one whose sign cannot be decided is measured by what it contributes.

    Returns
    -------
    Proof
        With `ok` False and a `reason` where the limit could not be proved.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task = lp.Regression([[1.0, 2.0]], [1.0])
    >>> network = lp.Diagonal(depth=2)
    >>> problem = lp.Problem(network, lp.Init.zero_last(network, task, scale=0.5), task)
    >>> proof = lp.prove(problem, digits=20)
    >>> proof.ok, proof.coef.midpoint[1][:22]
    (True, '...')

    Fractions, of a worked example in units in which the data are whole numbers:

    >>> path = lp.saddle_path([[10, 5, 7, 0], [5, 10, 1, 7]], [10, 0])
    >>> lp.prove(path).more["saddles"].exact.tolist()[1:]
    [['4/5', '0', '0', '0'], ['0', '0', '7/5', '0'], ['0', '0', '10/7', '-10/49']]
    """
    if not isinstance(problem, SaddlePath):
        as_problem(problem)
    wanted = as_whole_number(digits, 1, "digits", LimitpointError, most=MOST_DIGITS)
    if isinstance(problem, SaddlePath):
        return _proof_of_path(problem, wanted)
    return named_after(_proof_of_problem(problem, wanted), problem.task)


def _proof_of_path(path: SaddlePath, digits: int) -> Proof:
    design, target, penalty = path.data
    X = design.dense()
    if X is None:
        raise LimitpointError(
            "the entries of a LinearOperator are not known exactly: give saddle_path an array"
        )
    # A side that does not exist is one that never activates.
    plus = np.where(penalty.upper == 0, np.inf, penalty.t_plus)
    minus = np.where(penalty.lower == 0, np.inf, penalty.t_minus)
    bounded = penalty.is_bounded
    proof = proof_of_path(X, target, plus, minus, digits, bounded=bounded)
    return replace(proof, feature_names=path.feature_names)


def _proof_of_problem(problem: Problem, wanted: int) -> Proof:
    theorem = _strongest(problem)
    if theorem is None or theorem.limit is None:
        reason = f"no theorem determines the limit: {explain(problem).refusal()}"
        return refused(problem, reason, wanted, 0.0)
    return proof_by(problem, theorem, _nearest_limit(problem, theorem.limit), wanted)


def proof_by(
    problem: Problem,
    theorem: Theorem,
    limit: Limit | None,
    digits: int,
    most_bits: int = MOST_BITS,
) -> Proof:
    """The proof of the limit that a theorem gives; where float64 puts it says where to look."""
    hint = None
    if limit is not None and not np.isnan(limit.log_abs_coef).any():
        hint = Hint(limit.signs, limit.log_abs_coef, limit.dual)
    return proof_of(problem, theorem.id, digits, hint, most_bits)


def _strongest(problem: Problem) -> Theorem | None:
    """The theorem; of a scale that float64 cannot hold that of scale 1.

    What theorems for finite scales ask of a start they ask of its direction.
    """
    try:
        return strongest(problem)
    except ScaleNotRepresentable:
        return strongest(replace(problem, init=problem.init.at_scale(1.0)))


def _nearest_limit(problem: Problem, limit_of: Callable[[Problem], Limit]) -> Limit | None:
    """Where float64 puts the limit, by the theorem that loses fewest coefficients to underflow."""
    found = _float_limit(problem, limit_of)
    if found is None or not np.isneginf(found.log_abs_coef).any() or not problem.init.is_finite:
        return found
    try:
        applicable = explain(problem).applicable
    except ScaleNotRepresentable:
        return found
    others = (one.limit for one in applicable if one.limit is not None)
    tried = [found, *(_float_limit(problem, other) for other in others if other is not limit_of)]
    known = [one for one in tried if one is not None and one.status.ok]
    return min(known or [found], key=lambda one: int(np.isneginf(one.log_abs_coef).sum()))


def _float_limit(problem: Problem, limit_of: Callable[[Problem], Limit]) -> Limit | None:
    """Where float64 puts the limit; None where it has no answer.

    A scale too small for its mirror maps is nearest to scale 0.
    """
    try:
        return limit_of(problem)
    except ScaleNotRepresentable:
        try:
            return predict(replace(problem, init=problem.init.at_scale(0.0)), escalate=False)
        except LimitpointError:
            return None
    except LimitpointError:
        return None
