"""What is measured of one limit, against its oracle or on the data alone."""

import warnings
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from mpmath import mp, mpf
from tests.oracles.exact.rational import exact, independent
from tests.oracles.exact.separable import NotSolved

import limitpoint as lp
from limitpoint import Status
from limitpoint.errors import LimitpointError

# A certified limit is wrong if a contribution is off by more than this, relative to its row, or if
# it is said to fit and misses a target by more than this part of it.
ALLOWED = 1e-6
# Data are well conditioned if after equilibration the condition number is below this.
WELL_CONDITIONED = 1e6
# Sweeps of the equilibration; each halves what the logarithms of the units still differ by.
SWEEPS = 20
ROUNDING = 2.0**-53


@dataclass(frozen=True)
class Outcome:
    """One problem of the campaign over units.

    Attributes
    ----------
    certified
        The certificate is ok, and so is the status.
    error
        `max |x_ji Δβ_i| / (|x_j|ᵀ|β| + |y_j|)`, where the limit is unique.
    missed
        `max |x_jᵀβ − y_j| / |y_j|` of what was called converged.
    wrong_status
        Certified as converged where the exact problem has no fit, as least squares where it has
        one, or at all where the limit is not unique.
    condition
        The equilibrated condition number.
    held
        Whether the limit is unique and, rounded to float64, fits every row to `ALLOWED` of
        `|y_j|`. Where it is not, there is nothing to certify.
    refused, defect, no_oracle
        The message of an error that names its reason, of any other exception, or of the oracle.
    """

    family: str
    number: int
    kind: str
    status: str = ""
    certified: bool = False
    error: float = 0.0
    missed: float = 0.0
    wrong_status: bool = False
    condition: float = np.inf
    held: bool = False
    refused: str = ""
    defect: str = ""
    no_oracle: str = ""

    @property
    def well_conditioned(self):
        """Whether a certificate can be asked for."""
        return self.held and self.condition < WELL_CONDITIONED

    @property
    def wrong(self):
        """A certified limit that is not the limit."""
        right = self.error <= ALLOWED and self.missed <= ALLOWED and not self.wrong_status
        return self.certified and not right


@dataclass(frozen=True)
class Fit:
    """One problem of the other campaign: whether it is certified as a fit, and what it misses."""

    family: str
    number: int
    scale: float
    certified: bool = False
    missed: float = 0.0
    defect: str = ""

    @property
    def misses(self):
        """Certified, and not a fit."""
        return self.certified and not self.missed <= ALLOWED


def measure(case):
    """Predict, and compare with the oracle."""
    known = {"family": case.family, "number": case.number, "kind": case.kind}
    try:
        truth = case.oracle()
    except NotSolved as error:
        return Outcome(**known, no_oracle=_words(error))
    known |= {"condition": condition(case.design), "held": _held(case.problem.task, truth)}
    limit, reason = predicted(case.problem)
    if limit is None:
        return Outcome(**known, **reason)
    ok = bool(limit.certificate.ok and limit.status.ok)
    fits, task = limit.status is Status.CONVERGED, case.problem.task
    said = fits or limit.status is Status.LEAST_SQUARES
    return Outcome(
        **known,
        status=limit.status.name,
        certified=ok,
        error=contribution_error(task, limit.coef, truth.coef) if truth.unique else 0.0,
        missed=missed(task, limit.coef) if fits else 0.0,
        wrong_status=ok and (not truth.unique or (said and fits != truth.fits)),
    )


def fit_of(case):
    """Predict, and see whether a limit that is certified as a fit is one."""
    known = {"family": case.family, "number": case.number, "scale": case.problem.init.scale}
    limit, reason = predicted(case.problem)
    if limit is None:
        return Fit(**known, defect=reason.get("defect", ""))
    ok = bool(limit.certificate.ok) and limit.status is Status.CONVERGED
    return Fit(**known, certified=ok, missed=missed(case.problem.task, limit.coef) if ok else 0.0)


def predicted(problem, escalate=True):
    """The limit; or None and why."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return lp.predict(problem, escalate=escalate), {}
    except LimitpointError as error:
        return None, {"status": "refused", "refused": _words(error)}
    except Exception as error:
        return None, {"status": "defect", "defect": _words(error)}


def contribution_error(task, coef, truth):
    """`max_ji |x_ji Δβ_i| / (|x_j|ᵀ|β| + |y_j|)`, output by output."""
    if not np.isfinite(coef).all():
        return np.inf
    worst = mpf(0)
    for found, right, y in zip(_outputs(coef), _outputs(truth), _outputs(task.y), strict=True):
        off = [abs(mpf(float(a)) - b) for a, b in zip(found, right, strict=True)]
        for row, target in zip(task.X, y, strict=True):
            entries = [abs(mpf(float(a))) for a in row]
            terms = mp.fdot(entries, [abs(b) for b in right]) + abs(mpf(float(target)))
            most = max(a * d for a, d in zip(entries, off, strict=True))
            worst = max(worst, most / terms if terms else most)
    return float(worst)


def missed(task, coef):
    """`max_j |x_jᵀβ − y_j| / |y_j|`, by rational arithmetic; rows of zero target left out."""
    if not np.isfinite(coef).all():
        return np.inf
    worst = Fraction(0)
    for found, y in zip(_outputs(coef), _outputs(task.y), strict=True):
        beta = exact(found)
        for row, target in zip(exact(task.X), exact(y), strict=True):
            if target:
                left = sum((a * b for a, b in zip(row, beta, strict=True)), -target)
                worst = max(worst, abs(left / target))
    return float(worst)


def condition(X):
    """Of the nonzero singular values, after Ruiz's scaling in the ∞-norm by powers of two."""
    scaled = np.array(X, dtype=float)
    scaled = scaled[scaled.any(axis=1)][:, scaled.any(axis=0)]
    if scaled.size == 0:
        return 1.0
    for _ in range(SWEEPS):
        for axis in (1, 0):
            size = np.abs(scaled).max(axis=axis, keepdims=True)
            scaled = scaled / 2.0 ** np.round(np.log2(size) / 2)
    rank = len(independent(exact(X)))
    values = np.linalg.svd(scaled, compute_uv=False)
    return float(values[0] / values[rank - 1]) if values[rank - 1] > 0 else np.inf


def _held(task, truth):
    """Whether rounding the exact coefficients keeps the fit."""
    if not (truth.fits and truth.unique):
        return truth.unique
    for right, y in zip(_outputs(truth.coef), _outputs(task.y), strict=True):
        sizes = [abs(b) for b in right]
        for row, target in zip(task.X, y, strict=True):
            terms = mp.fdot([abs(mpf(float(a))) for a in row], sizes)
            if target and ROUNDING * terms > ALLOWED * abs(float(target)):
                return False
    return True


def _outputs(values):
    """Columns of (n, k), or the one of (n,)."""
    if np.ndim(values[0]) == 0:
        return [list(values)]
    return [list(column) for column in zip(*values, strict=True)]


def _words(error):
    return f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
