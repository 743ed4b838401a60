"""Where float64 does not certify a limit, exact arithmetic takes over."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from limitpoint.foundation.linalg import EPS
from limitpoint.problem import Problem
from limitpoint.status import Status
from limitpoint.theory.atlas import Theorem
from limitpoint.theory.certificates.certificate import ERROR_BOUND, Certificate
from limitpoint.theory.limit import Limit

if TYPE_CHECKING:
    from limitpoint.theory.prove.proof import Proof

__all__ = ["escalated"]

# What float64 gives up on and exact arithmetic may decide.
UNDECIDED = (
    Status.NOT_CERTIFIED,
    Status.DATA_HIDDEN,
    Status.RANK_HIDDEN,
    Status.DEGENERATE,
)
# As many digits as a float holds, and some more: rounding is then that of the exact number.
DIGITS = 20
# Products of the matrix X D Xᵀ, which every step of a proof forms: within this size a proof takes
# about as long as a second; `prove` itself has no such limit.
LARGEST = 500_000


def escalated(problem: Problem, theorem: Theorem, limit: Limit) -> Limit:
    """The limit by exact arithmetic where that proves what float64 does not; else as it is."""
    samples, features = problem.task.X.shape
    if limit.status not in UNDECIDED or samples * samples * features > LARGEST:
        return limit
    from limitpoint.theory.proving import proof_by  # loads python-flint

    proof = proof_by(problem, theorem, limit, DIGITS)
    return _rounded(limit, proof) if proof.ok else limit


def _rounded(limit: Limit, proof: "Proof") -> Limit:
    """The proved numbers as floats."""
    assert proof.coef is not None, "it is a proof"
    coef, logs = proof.coef.values, proof.coef.log_abs
    signs = np.where(np.isnan(proof.coef.signs), np.sign(coef), proof.coef.signs)
    status = Status.PROVED if proof.fits else Status.PROVED_LEAST_SQUARES
    return replace(
        limit,
        coef=coef,
        signs=signs,
        log_abs_coef=logs,
        mirror=limit.mirror if proof.mirror is None else proof.mirror.values,
        dual=limit.dual if proof.dual is None else proof.dual.values,
        certificate=Certificate(
            {"proved radius": 10.0**-proof.digits, ERROR_BOUND: EPS},
            coef_errors=proof.coef.radii + np.spacing(np.abs(coef)),
        ),
        status=status,
        layers=None,
        proof=proof,
    )
