"""Where float64 does not certify a limit, exact arithmetic takes over."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.linalg import EPS
from limitpoint.problem import Problem
from limitpoint.status import Status
from limitpoint.theory.atlas import Theorem
from limitpoint.theory.certificates.certificate import ERROR_BOUND, Certificate
from limitpoint.theory.limit import Limit

if TYPE_CHECKING:
    from limitpoint.theory.prove.proof import Balls, Proof

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
# What no thousand digits decide is left to `prove`.
ENOUGH_BITS = 3_400
# What a proof may cost, in products of balls: X D Xᵀ, which every step of it forms, and the maps of
# more than two layers, which take some thousand for each coefficient. Within this a proof takes
# a second or two; `prove` itself has no such limit.
LARGEST, DEEP_MAP = 500_000, 2_000


def escalated(problem: Problem, theorem: Theorem, limit: Limit) -> Limit:
    """The limit by exact arithmetic where that proves what float64 does not; else as it is."""
    if limit.status not in UNDECIDED or _cost(problem) > LARGEST:
        return limit
    from limitpoint.theory.proving import proof_by  # loads python-flint

    proof = proof_by(problem, theorem, limit, DIGITS, ENOUGH_BITS)
    if not proof.ok or proof.coef is None or not np.isfinite(proof.coef.values).all():
        return limit
    return _rounded(problem, limit, proof, proof.coef)


def _cost(problem: Problem) -> int:
    samples, features = problem.task.X.shape
    deep = DEEP_MAP if problem.network.degree > 2 else 0
    return int(features * (samples * samples + deep))


def _rounded(problem: Problem, limit: Limit, proof: "Proof", balls: "Balls") -> Limit:
    """The proved numbers as floats, each the nearest.

    The layers of float64 are left out: they need not be those of the proved coefficients.
    """
    coef = balls.values
    signs = np.where(np.isnan(balls.signs), np.sign(coef), balls.signs)
    status = Status.PROVED if proof.fits else Status.PROVED_LEAST_SQUARES
    return replace(
        limit,
        coef=coef,
        signs=signs,
        log_abs_coef=balls.log_abs,
        mirror=limit.mirror if proof.mirror is None else proof.mirror.values,
        dual=limit.dual if proof.dual is None else proof.dual.values,
        potential=_potential(problem, coef, limit),
        certificate=Certificate(
            {"proved radius": 10.0**-proof.digits, ERROR_BOUND: EPS},
            coef_errors=balls.radii + np.spacing(np.abs(coef)),
        ),
        status=status,
        layers=None,
        proof=proof,
    )


def _potential(problem: Problem, coef: Float, limit: Limit) -> float:
    """At the proved coefficients, where they have mirror maps; else that of float64."""
    mirror = problem.network.mirror_map(problem.init) if problem.init.is_finite else None
    if mirror is None or coef.ndim > 1:
        return limit.potential
    with np.errstate(all="ignore"):
        found = float(mirror.potential(coef).sum())
    return found if np.isfinite(found) else limit.potential
