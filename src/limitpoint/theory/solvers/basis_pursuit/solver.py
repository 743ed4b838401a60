"""The saddle path of a regression problem: Algorithm 1, from k = 0 to the limit."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from limitpoint.errors import DataError
from limitpoint.foundation.arrays import MOST_AXES, Float, as_float_array, as_whole_number, shown
from limitpoint.foundation.labels import as_names
from limitpoint.foundation.linalg import Equilibrated, has_distinct_rows
from limitpoint.foundation.progress import job
from limitpoint.status import Status
from limitpoint.theory.solvers.basis_pursuit.certify.examination import Examination, examine
from limitpoint.theory.solvers.basis_pursuit.data_matrix import Design, Matrix, as_design
from limitpoint.theory.solvers.basis_pursuit.even_units import even_units
from limitpoint.theory.solvers.basis_pursuit.penalty import WeightedL1, weighted_l1
from limitpoint.theory.solvers.basis_pursuit.saddle_path import Saddle, SaddlePath
from limitpoint.theory.solvers.basis_pursuit.saddle_record import SaddleRecord
from limitpoint.theory.solvers.basis_pursuit.walk import SaddleWalk, Step

# The default bound on the number of saddles. Random data need about min(m, n); the worst case is
# exponential (Mairal & Yu 2012), which this bound cuts short.
SADDLES_PER_DIMENSION = 50
MIN_MAX_SADDLES = 10_000

# A row that is farther from the best fit than this, relative to what is added up in it, was hidden.
OFF_THE_FIT = 1e-10

STATUS_AFTER = {
    Step.FITTED: Status.CONVERGED,
    Step.LEAST_SQUARES: Status.LEAST_SQUARES,
    Step.LOST: Status.NOT_CERTIFIED,
}


def saddle_path(
    X: Matrix,
    y: ArrayLike,
    t_plus: ArrayLike = 1.0,
    t_minus: ArrayLike = 1.0,
    *,
    lower: ArrayLike = -np.inf,
    upper: ArrayLike = np.inf,
    max_saddles: int | None = None,
    stop: Callable[[Saddle], bool] | None = None,
    feature_names: Sequence[str] | None = None,
) -> SaddlePath:
    r"""Follow the saddles from k = 0 to ``argmin Σ t⁺k⁺ + t⁻k⁻  s.t.  Xk = y``.

    Exact up to rounding: with ``u = Xᵀ(y − Xk)``, the next coefficient to activate is
    ``argmin δᵢ``, ``δᵢ = (t⁺ᵢ − sᵢ)/uᵢ`` for uᵢ > 0 and ``(t⁻ᵢ + sᵢ)/|uᵢ|`` for uᵢ < 0; then
    ``s ← s + δu`` and k becomes the least-squares point with the present signs as constraints.

    Parameters
    ----------
    X : array, sparse matrix or LinearOperator, m × n
        Converted to float64. A LinearOperator must have ``rmatvec``.
    y : array (m,)
    t_plus, t_minus : float or array (n,)
        Activation times in [0, ∞]: of the positive and of the negative side. ``inf``: that side
        never grows. 0 on both sides: the coefficient is free, without penalty, and there from time
        0.
    lower, upper : float or array (n,)
        Bounds ``lower ≤ 0 ≤ upper`` that a coefficient cannot cross. While it sits at a bound its
        mirror coordinate runs on; it moves again when the mirror coordinate is back at the
        activation time.
    max_saddles : int, optional
        Bound on the number of saddles; by default ``max(10 000, 50·min(m, n))``.
    stop : callable, optional
        Called with every new `Saddle`; return True to end the path there.
    feature_names : list of str, optional
        The names of the features; by default those of the columns of X, where X is a frame.

    Returns
    -------
    SaddlePath
        Coefficients, mirror coordinates and times of all saddles, the objective, a certificate, a
        status.

    Notes
    -----
    What Algorithm 1 leaves open is defined so: tied coefficients activate together, within their
    sign; a coefficient that left and stands at its threshold re-enters at once, within the same
    saddle; if the columns that may move are dependent, k is a basic solution (linearly independent
    columns) and ``degenerate`` is set; y outside the range of X ends at least squares. Units of
    columns do not matter: a column times c with its activation times times c is the same path.
    Units of rows weigh the loss, so the path depends on them (its end does not, where y is fitted):
    rows in tiny units are fitted after the others, at very long times. Cost per saddle: at most one
    ``Xᵀr`` (m·n; less for a dense X, see the module `mirror_coordinates`) and a few products with
    the m × |support| factor; a fresh factor where the rows of X differ in size by orders of
    magnitude.

    References
    ----------
    zhao (Algorithm 1, Theorem 4.2); Burger, Möller, Benning & Osher, "An adaptive inverse scale
    space method for compressed sensing", Math. Comp. 82 (2013).

    Examples
    --------
    The example of zhao, appendix C.1:

    >>> X = [[1, 0.5, 0.7, 0], [0.5, 1, 0.1, 0.7]]
    >>> path = saddle_path(X, [1, 0])
    >>> path.coefs.round(3) + 0.0
    array([[ 0.   ,  0.   ,  0.   ,  0.   ],
           [ 0.8  ,  0.   ,  0.   ,  0.   ],
           [ 0.   ,  0.   ,  1.4  ,  0.   ],
           [ 0.   ,  0.   ,  1.429, -0.204]])
    >>> path.entered, path.left, path.status.name
    (((0,), (2,), (3,)), ((), (0,), ()), 'CONVERGED')
    """
    design = as_design(X)
    m, n = design.shape
    target = _checked_target(y, m)
    penalty = weighted_l1(n, t_plus, t_minus, lower, upper)
    bound = _checked_bound(max_saddles, m, n)
    if stop is not None and not callable(stop):
        raise DataError(f"stop must be a function of a Saddle, or None; it is {shown(stop)}")
    names = as_names(feature_names, X, n, "feature_names", "feature", DataError)
    path = _path(design, target, penalty, bound, stop)
    found = _fit_exactly(path, (design, target, penalty), bound, stop)
    return found if names is None else replace(found, feature_names=names)


def _fit_exactly(
    path: SaddlePath,
    problem: tuple[Design, Float, WeightedL1],
    bound: int,
    stop: Callable[[Saddle], bool] | None,
) -> SaddlePath:
    """The path, its status by the exact rank; where y is out of reach, to the best fit itself."""
    design, target, penalty = problem
    ended = path.status in (Status.CONVERGED, Status.LEAST_SQUARES, Status.NOT_CERTIFIED)
    if not ended or not isinstance(design.data, np.ndarray) or has_distinct_rows(design.data):
        return path
    data = Equilibrated.of(design.data)
    if not data.rank_is_exact:
        hidden = path.status is not Status.NOT_CERTIFIED
        return replace(path, status=Status.RANK_HIDDEN) if hidden else path
    if path.status is Status.CONVERGED:
        return path
    # Only the part of y in the range of X moves coefficients. Where rows in other units hide what
    # a row asks for, the path is followed to that part itself.
    fit, _ = data.best_fit(target)
    sizes = np.abs(design.data) @ np.abs(path.coef) + np.abs(fit)
    near = bool((np.abs(design.data @ path.coef - fit) <= OFF_THE_FIT * sizes).all())
    if near and path.status is Status.LEAST_SQUARES:
        return path
    exact = _path(design, fit, penalty, bound, stop)
    if exact.status is not Status.CONVERGED:
        return path
    left = 0.5 * float(np.sum((target - fit) ** 2))
    return replace(exact, status=Status.LEAST_SQUARES, losses=exact.losses + left, _problem=problem)


def _path(
    design: Design,
    target: Float,
    penalty: WeightedL1,
    bound: int,
    stop: Callable[[Saddle], bool] | None,
) -> SaddlePath:
    units = even_units(design, target, penalty)
    even = (units.design(design), target / units.target, units.penalty(penalty))
    walk = SaddleWalk(*even)
    record = SaddleRecord(walk, units)
    status = _follow(walk, record, bound, stop)
    walk.refine_dual()
    record.refine_dual(walk.nu)
    found = examine(*even[:2], walk.k, walk.nu, even[2])
    return _result(record, (design, target, penalty), status, found)


def _follow(
    walk: SaddleWalk,
    record: SaddleRecord,
    bound: int,
    stop: Callable[[Saddle], bool] | None,
) -> Status:
    with job("saddle path", unit="saddles") as saddles:
        while True:
            found = walk.step() if record.n_saddles < bound else None
            if found is None:
                return Status.CONVERGED if walk.is_fitted() else Status.SADDLE_LIMIT
            if found is not Step.SADDLE:
                return STATUS_AFTER[found]
            record.add(walk)
            saddles.advance()
            if stop is not None and stop(record.last()):
                return Status.STOPPED


def _result(
    record: SaddleRecord,
    problem: tuple[Design, Float, WeightedL1],
    status: Status,
    found: Examination,
) -> SaddlePath:
    """Assemble the path; the certificate has the last word on the status."""
    coefs, duals = record.coefs(), np.array(record.duals)
    coef = np.asarray(coefs[[-1], :].toarray()).reshape(-1)
    if status in (Status.CONVERGED, Status.LEAST_SQUARES):
        if not found.certificate.ok:
            status = Status.NOT_CERTIFIED
        elif record.degenerate[-1] or found.is_ambiguous:
            status = Status.DEGENERATE
        else:
            status = Status.CONVERGED if found.is_fitted else Status.LEAST_SQUARES
    return SaddlePath(
        path_times=np.array(record.times),
        losses=np.array(record.losses),
        entered=tuple(record.entered[1:]),
        left=tuple(record.left[1:]),
        degenerate=np.array(record.degenerate),
        objective=problem[2].value(coef),
        certificate=found.certificate,
        status=status,
        sparse_coefs=coefs,
        duals=duals,
        _problem=problem,
    )


def _checked_target(y: ArrayLike, m: int) -> Float:
    target = as_float_array(y, "y", DataError, ndim=range(MOST_AXES))
    if target.shape != (m,):
        raise DataError(f"y must have one entry per sample ({m},), not shape {target.shape}")
    return target


def _checked_bound(max_saddles: int | None, m: int, n: int) -> int:
    if max_saddles is None:
        return max(MIN_MAX_SADDLES, SADDLES_PER_DIMENSION * min(m, n))
    return as_whole_number(max_saddles, 0, "max_saddles", DataError)
