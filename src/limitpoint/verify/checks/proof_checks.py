"""The prediction against a proof of it."""

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.problem import Problem
from limitpoint.status import Status
from limitpoint.theory import Limit
from limitpoint.theory.certificates.certificate import ERROR_BOUND
from limitpoint.verify import engines
from limitpoint.verify.verdict import Check

__all__ = ["hidden_from_runs", "proof_checks"]

# Why no run in float64 is evidence, by what float64 alone says of the limit.
HIDDEN = {
    Status.DATA_HIDDEN: "rounding hides the data from it",
    Status.RANK_HIDDEN: "rounding hides the rank of the data, so that it ends at another limit",
}


def proof_checks(
    problem: Problem, limit: Limit, *, wanted: bool
) -> tuple[list[Check], tuple[str, ...]]:
    """How far the prediction is from its proof: the one it came with, or one that is wanted."""
    proof = engines.prove(problem) if limit.proof is None and wanted else limit.proof
    if proof is None:
        return [], ()
    if not proof.ok or proof.coef is None:
        return [], (f"The limit was not proved: {proof.reason}.",)
    off = np.abs(limit.coef - proof.coef.values) + proof.coef.radii
    share = _contributed(problem, limit.coef, off)
    arithmetic = f"balls of {proof.bits} bits" if proof.bits else "rational numbers"
    tolerance = limit.certificate.allowed(ERROR_BOUND)
    return [Check("limit: distance from the proved one", share, tolerance, arithmetic)], ()


def hidden_from_runs(problem: Problem, limit: Limit) -> tuple[str, ...]:
    """Why a run in float64 cannot be compared with a limit that exact arithmetic gave, if so."""
    if limit.proof is None:
        return ()
    why = HIDDEN.get(engines.predict(problem, escalate=False).status)
    if why is None:
        return ()
    return (f"The limit is proved, but no run in float64 can be compared with it: {why}.",)


def _contributed(problem: Problem, coef: Float, off: Float) -> float:
    """`max_ji |x_ji Δβ_i| / (|x_j|ᵀ|β| + |y_j|)`, of each output; nothing of nothing is nothing."""
    moduli, targets = np.abs(problem.task.X), np.abs(problem.regression.y)
    sizes = (moduli @ np.abs(coef) + targets).reshape(len(moduli), -1)
    most = np.stack([(moduli * one).max(axis=1) for one in off.reshape(len(off), -1).T], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(most == 0.0, 0.0, most / sizes)
    return float(np.nan_to_num(ratios, nan=np.inf, posinf=np.inf).max(initial=0.0))
