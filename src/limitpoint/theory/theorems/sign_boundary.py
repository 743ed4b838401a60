"""Sign constraints that bind at all best fits: some coefficients vanish in the limit."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.conditions import Condition
from limitpoint.foundation.linalg import Equilibrated
from limitpoint.mirror import MirrorMap
from limitpoint.problem import Problem
from limitpoint.status import Status
from limitpoint.tasks import Regression
from limitpoint.theory.atlas import Theorem, register
from limitpoint.theory.certificates.certificate import Certificate
from limitpoint.theory.limit import Limit
from limitpoint.theory.solvers.mirror.mirror_limit import mirror_limit_of
from limitpoint.theory.solvers.sign_constraints.cone import Face
from limitpoint.theory.theorems.shared_conditions import listed, separable


def _conditions(problem: Problem) -> Sequence[Condition]:
    shared, mirror = separable(problem)
    if mirror is None:
        return shared
    ends = np.stack([mirror.lower, mirror.upper])
    others = (np.isfinite(ends) & (ends != 0)).any(axis=0)
    detail = (
        f"bounded elsewhere: features {listed(others)}" if others.any() else "all bounds are zero"
    )
    return (
        *shared,
        Condition(
            "coefficients bounded by zero only",
            not others.any(),
            None,
            detail,
            "use a k that has no bound but zero, or flow(problem) for where training ends",
        ),
    )


def _limit(problem: Problem) -> Limit:
    """Drop the coefficients that vanish in every constrained best fit; the rest is inside."""
    task = problem.regression
    mirror = problem.network.mirror_map(problem.init)
    assert mirror is not None, "a condition of the theorem"
    face = Face.of(task.X, task.y, mirror)
    left = Regression(task.X * face.alive, task.y, task.loss_factor)
    inner = mirror_limit_of(left, mirror, BOUNDARY)
    ended = ~face.alive & (mirror.lower < mirror.upper)
    certificate = Certificate(
        {**inner.certificate.residuals, **_residuals_of(face, task, mirror, inner.coef, ended)},
        inner.certificate.tolerance,
    )
    return replace(
        inner,
        coef=np.where(ended, 0.0, inner.coef),
        signs=np.where(ended, 0.0, inner.signs),
        log_abs_coef=np.where(ended, -np.inf, inner.log_abs_coef),
        mirror=np.where(ended, np.where(mirror.upper > 0, -np.inf, np.inf), inner.mirror),
        certificate=certificate,
        status=_status(task, inner.status, certificate, face),
    )


def _residuals_of(
    face: Face, task: Regression, mirror: MirrorMap, coef: Float, ended: NDArray[np.bool_]
) -> dict[str, float]:
    """Of the claim that these coefficients end at zero.

    - signs: where y is out of reach, that the loss falls with none of them;
    - zeros: the proof that they vanish in every best fit, of those for which the signs are none.
    """
    found = {}
    if not face.fits:
        found["signs"] = _wrong_signs(task, mirror, coef * face.alive, ended)
    if face.unproved is not None:
        found["zeros"] = face.unproved
    return found


def _wrong_signs(
    task: Regression, mirror: MirrorMap, coef: Float, ended: NDArray[np.bool_]
) -> float:
    """By how much the loss would fall with a coefficient that has ended, column by column."""
    residual = task.y - task.X @ coef
    slopes = task.X.T @ residual
    terms = np.abs(task.X).T @ (np.abs(task.y) + np.abs(task.X) @ np.abs(coef))
    outward = np.where(mirror.upper > 0, slopes, 0.0) + np.where(mirror.lower < 0, -slopes, 0.0)
    shares = np.divide(np.maximum(outward, 0.0), terms, out=np.zeros_like(terms), where=terms > 0)
    return float(shares[ended].max(initial=0.0))


def _status(task: Regression, inner: Status, certificate: Certificate, face: Face) -> Status:
    """That of the coefficients that are left, unless what they leave out is not certified."""
    if not Equilibrated.of(task.X).rank_is_exact:
        return Status.RANK_HIDDEN
    if not certificate.ok:
        return inner if not inner.ok else Status.NOT_CERTIFIED
    return Status.CONVERGED if face.fits else Status.LEAST_SQUARES


BOUNDARY = register(
    Theorem(
        id="limitpoint.boundary",
        citation="limitpoint; extends Labarrière et al. (2024), Theorem 1, to fits on the boundary",
        statement=(
            "Where coefficients keep their sign and no best fit satisfies these sign "
            "constraints strictly, the limit is argmin Σ (Q_i(β_i) − β_i Q_i'(β_i(0))) among the "
            "best fits under them (all of which have the same Xβ); coefficients that vanish in all "
            "of these fits vanish in the limit, their mirror coordinates running to "
            "infinity. Proof: for any such fit b, the Bregman distance D(b, β(t)) falls, since its "
            "derivative is ⟨∇loss(β), b − β⟩ ≤ 0, and for two of them the difference of the two "
            "distances is constant; Q is continuous up to 0, so D(β(∞), β(t)) → 0."
        ),
        concludes="limit",
        rank=3,
        conditions=_conditions,
        limit=_limit,
    )
)
