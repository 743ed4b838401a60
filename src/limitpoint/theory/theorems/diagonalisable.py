"""Networks that reduce to diagonal ones: their limit is that of the diagonal network.

Which networks these are, and from which starts, is Theorem 5 of Yun et al. (2021) and its
corollaries, there for one start; the reduction itself holds from every start that stays within it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.conditions import Condition
from limitpoint.foundation.linalg import EPS
from limitpoint.init import Init
from limitpoint.mirror import CurveMap
from limitpoint.networks import (
    CommutingForm,
    Convolutional,
    DeepDiagonalChart,
    Diagonal,
    DiagonalForm,
    EvenForm,
    MatrixProduct,
    OrthogonalForm,
    OrthogonalTensor,
    joint_eigenbasis,
    largest_commutator,
    off_diagonal,
    snapped,
)
from limitpoint.problem import Problem
from limitpoint.status import Status
from limitpoint.tasks import Regression
from limitpoint.theory.atlas import Theorem, register, strongest
from limitpoint.theory.certificates.certificate import (
    ERROR_BOUND,
    MISSED,
    ROUNDING_UNITS,
    Certificate,
    fit_residuals,
    status_of,
)
from limitpoint.theory.certificates.constraint import Constraint
from limitpoint.theory.certificates.contribution_errors import contributions
from limitpoint.theory.limit import Limit
from limitpoint.theory.theorems.shared_conditions import IDENTITY, kind_of_network

__all__ = ["FORM_TOLERANCE", "Reduction", "diagonal_layers", "form_of", "reduction_of"]

# Data and layers count as of the form when what the form demands to vanish is below this, relative
# to their size: some thousand roundings, as many as products of large matrices collect. The limit
# moves by about as much.
FORM_TOLERANCE = 1e-12
# Sensors that commute to rounding are diagonal together up to rounding over the gaps between their
# eigenvalues; rotations have made that as small as it can be, and near gaps are few.
BASIS_TOLERANCE = 1e-10
TINY = float(np.finfo(np.float64).tiny)

# What to change where a network does not reduce to a diagonal one.
EVEN_DATA = "use data points with x_j = x_{−j}, as of even functions"
EVEN_FILTERS = "start from even filters, like impulses, Init.zero_last(...) or --zero-last"
COMMUTING = "use symmetric sensors that commute, like diagonal matrices"
DIAGONAL_START = "start from a zero last layer, Init.zero_last(...), or at a finite scale"


def _told(form: DiagonalForm, X: Float) -> Float:
    """The data of the diagonal network; entries that are rounding of their terms alone are zero."""
    data = form.data(X)
    terms = np.abs(X) @ _moduli(form, data.shape[1]).T
    return np.where(np.abs(data) <= ROUNDING_UNITS * EPS * terms, 0.0, data)


def _moduli(form: DiagonalForm, size: int) -> Float:
    """`|S|`, a row for each product."""
    moduli: Float = np.abs(form.outer_coefs(np.eye(size)))
    return moduli


@dataclass(frozen=True, eq=False)
class Reduction:
    """A problem as that of a diagonal network.

    Attributes
    ----------
    problem
        The problem itself.
    form
        The way to the diagonal network and back.
    diagonal
        The problem of the diagonal network: the same loss, time and scale.
    """

    problem: Problem
    form: DiagonalForm
    diagonal: Problem

    @classmethod
    def of(cls, problem: Problem, form: DiagonalForm) -> "Reduction":
        """By this form, which the problem must have."""
        task, init = problem.regression, problem.init
        layers = snapped(form.inner_layers(init.direction), form.inner_moduli(init.direction))
        data = Regression(_told(form, task.X), task.y, task.loss_factor)
        inner = Init(layers, log_scale=init.log_scale)
        return cls(problem, form, Problem(Diagonal(len(layers)), inner, data))

    def at_log_scale(self, log_scale: float) -> "Reduction":
        """The same at another scale."""
        problem, diagonal = (
            replace(here, init=here.init.at_scale(log_scale=log_scale))
            for here in (self.problem, self.diagonal)
        )
        return Reduction(problem, self.form, diagonal)

    def inner_limit(self) -> Limit | None:
        """The limit of the diagonal network, by the strongest theorem that covers it."""
        theorem = strongest(self.diagonal)
        if theorem is None or theorem.limit is None:
            return None
        return theorem.limit(self.diagonal)

    def limits(
        self, inner: Sequence[Limit | None], log_scales: Sequence[float], theorem: Theorem
    ) -> list[Limit | None]:
        """The limits of the problem at several scales from those of the diagonal network."""
        return [
            None if limit is None else self.at_log_scale(log_scale).limit(limit, theorem)
            for log_scale, limit in zip(log_scales, inner, strict=True)
        ]

    def limit(self, inner: Limit, theorem: Theorem) -> Limit:
        """The limit of the problem from that of the diagonal network.

        Mirror coordinates, dual and potential are those of the diagonal network.
        """
        coef = self.form.outer_coefs(inner.coef)
        signs, logs = self._signs_and_logs(coef, inner)
        certificate = self._certificate(coef, inner)
        return replace(
            inner,
            coef=coef,
            signs=signs,
            log_abs_coef=logs,
            theorem=theorem,
            certificate=certificate,
            status=self._status(certificate, coef, inner),
            layers=self._layers(inner),
        )

    def strayed(self, layers: Sequence[Float]) -> float:
        """How much of the layers is outside the form, relative to the largest of them.

        Zero along exact training. Rounding grows where the form is unstable, see the theorem.
        """
        start = [self.problem.init.scale * layer for layer in self.problem.init.direction]
        back = self.form.outer_layers(self.form.inner_layers(layers), start)
        off = max(float(np.abs(a - b).max()) for a, b in zip(layers, back, strict=True))
        return off / (max(float(np.abs(layer).max()) for layer in layers) or 1.0)

    def _certificate(self, coef: Float, inner: Limit) -> Certificate:
        """That of the diagonal network, its fit and its error on the data as given.

        Errors of the products come to coefficients through `β = Sᵀρ`; where the data `XSᵀ` of the
        diagonal network are sums that cancel, they are off by the rounding of the terms.
        """
        task, within = self.problem.regression, self.diagonal.regression
        residuals = dict(inner.certificate.residuals)
        if MISSED in residuals or "feasibility" in residuals:
            residuals |= fit_residuals(Constraint.of(task.X, task.y), coef)
        if ERROR_BOUND in residuals and residuals[ERROR_BOUND] > 0.0:
            moduli = _moduli(self.form, len(inner.coef))
            sums = np.abs(task.X) @ (moduli.T @ np.abs(inner.coef)) + np.abs(task.y)
            sizes = np.abs(within.X) @ np.abs(inner.coef) + np.abs(task.y)
            grown = np.divide(sums, sizes, out=np.ones_like(sums), where=sizes > 0).max()
            outer = contributions(task.X, task.y, coef)
            # What contributes next to nothing may be off by as much as float64 holds.
            with np.errstate(invalid="ignore", over="ignore"):
                off = moduli.T @ (self._inner_errors(inner) + EPS * np.abs(inner.coef))
                worst = np.nan_to_num(np.where(off == 0.0, 0.0, outer * off), nan=np.inf)
            residuals[ERROR_BOUND] = float(max(1.0, grown) * worst.max(initial=0.0))
        return Certificate(residuals, inner.certificate.tolerance)

    def _inner_errors(self, inner: Limit) -> Float:
        """Bounds on the errors of the products of the diagonal network."""
        known, bound = inner.certificate.coef_errors, inner.certificate.error_bound
        if known is not None:
            return known
        within = self.diagonal.regression
        parts = contributions(within.X, within.y, inner.coef)
        return np.divide(bound or 0.0, parts, out=np.zeros_like(parts), where=parts > 0)

    def _status(self, certificate: Certificate, coef: Float, inner: Limit) -> Status:
        # Rounding of the data within may hide a rank that the data as given have exactly.
        if inner.status is not Status.RANK_HIDDEN and (certificate.ok or not inner.status.ok):
            return inner.status
        return status_of(certificate, Constraint.of(self.problem.task.X, self.problem.task.y), coef)

    def _signs_and_logs(self, coef: Float, inner: Limit) -> tuple[Float, Float]:
        """From the coefficients; where float64 loses products, by sums of their logarithms."""
        with np.errstate(divide="ignore"):
            signs, logs = np.sign(coef), np.log(np.abs(coef))
        lost = np.isfinite(inner.log_abs_coef) & (np.abs(inner.coef) < TINY)
        if not lost.any():
            return signs, logs
        # S, (r, n); the terms S_jiρ_j of each coefficient relative to the largest of them.
        back = self.form.outer_coefs(np.eye(len(inner.coef)))
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.log(np.abs(back)) + inner.log_abs_coef[:, None]
            largest = terms.max(axis=0)
            parts = np.sign(back) * inner.signs[:, None] * np.exp(terms - largest)
            total = np.where(np.isneginf(largest), 0.0, parts.sum(axis=0))
            small = np.abs(coef) < TINY
            summed = np.where(total == 0, -np.inf, largest + np.log(np.abs(total)))
        return np.where(small, np.sign(total), signs), np.where(small, summed, logs)

    def _layers(self, inner: Limit) -> tuple[Float, ...] | None:
        """The layers of the problem, where those of the diagonal network are known."""
        found = diagonal_layers(self.diagonal, inner)
        if found is None:
            return None
        scale = self.problem.init.scale
        return self.form.outer_layers(found, [scale * d for d in self.problem.init.direction])


def diagonal_layers(problem: Problem, limit: Limit) -> tuple[Float, ...] | None:
    """The layers of a diagonal network at its limit, at finite scale, where all ξ are finite.

    Beyond depth 2 from the coefficients: next to a pole the mirror coordinates do not resolve them.
    """
    init, network = problem.init, problem.network
    if not (init.is_finite and np.isfinite(limit.mirror).all()):
        return None
    mirror = network.mirror_map(init)
    if not isinstance(mirror, CurveMap):
        return network.layers_at(init, limit.mirror)
    growth = DeepDiagonalChart.of(init)
    with np.errstate(invalid="ignore"):
        curve_params = mirror.curve_params_of(limit.coef)
    # What float64 holds as zero has the curve parameter of its mirror coordinate.
    from_mirror = mirror.curve_params(limit.mirror / mirror.mirror_unit)
    curve_params = np.where(
        np.isfinite(curve_params) & (limit.coef != 0), curve_params, from_mirror
    )
    return growth.layers(growth.states_at(curve_params))


def form_of(problem: Problem) -> tuple[tuple[Condition, ...], DiagonalForm | None]:
    """Whether the problem is that of a diagonal network, and by which form."""
    network = problem.network
    if isinstance(network, OrthogonalTensor):
        return (_has_form(problem, True),), OrthogonalForm(network)
    if isinstance(network, Convolutional):
        return _even(problem, network)
    if isinstance(network, MatrixProduct):
        return _commuting(problem, network)
    return (_has_form(problem, False),), None


def reduction_of(problem: Problem) -> Reduction | None:
    """The problem as that of a diagonal network, where it reduces to one."""
    _, form = form_of(problem)
    return None if form is None else Reduction.of(problem, form)


def _has_form(problem: Problem, holds: bool) -> Condition:
    name = "orthogonally decomposable, convolutional or matrix product network"
    change = "use OrthogonalTensor, Convolutional or MatrixProduct"
    return kind_of_network(problem, name, holds, change)


def _even(
    problem: Problem, network: Convolutional
) -> tuple[tuple[Condition, ...], DiagonalForm | None]:
    full = Condition(
        "filters as long as the data",
        network.is_full_length,
        None,
        f"the filters have lengths {network.filter_sizes}",
        "make all filters as long as the data",
        "network",
    )
    if not full.holds:
        return (_has_form(problem, True), full), None
    data = max(odd_part(sample) for sample in problem.task.X)
    start = max(odd_part(layer) for layer in problem.init.direction)
    conditions = (
        _has_form(problem, True),
        full,
        _vanishes("every data point even", data, "largest odd part", EVEN_DATA, "data"),
        _vanishes("every filter even", start, "largest odd part", EVEN_FILTERS),
    )
    holds = all(condition.holds for condition in conditions)
    return conditions, EvenForm(network.filter_sizes[-1], network.depth) if holds else None


def odd_part(vector: Float) -> float:
    """The largest `|x_j − x_{−j}|/2`, relative to the largest entry."""
    mirrored = np.roll(vector[::-1], 1)
    largest = float(np.abs(vector).max())
    return float(np.abs(vector - mirrored).max()) / (2 * largest) if largest > 0 else 0.0


def _commuting(
    problem: Problem, network: MatrixProduct
) -> tuple[tuple[Condition, ...], DiagonalForm | None]:
    side = network.layer_shapes(problem.task)[0][0]
    sensors = problem.task.X.reshape(-1, side, side)
    layers = np.stack(problem.init.direction)
    part = "largest antisymmetric part"
    symmetric = _vanishes("symmetric sensors", _asymmetry(sensors), part, COMMUTING, "data")
    kept = _vanishes("symmetric layers", _asymmetry(layers), part, IDENTITY)
    size, (i, j) = largest_commutator(sensors)
    commute = Condition(
        "sensors commute",
        size <= FORM_TOLERANCE,
        FORM_TOLERANCE - size,
        f"largest commutator {size:.3g}, of sensors {i} and {j}, relative to both"
        if size > 0
        else "all commutators are zero",
        COMMUTING,
        "data",
    )
    conditions = (_has_form(problem, True), symmetric, commute, kept)
    if not all(condition.holds for condition in conditions):
        return conditions, None
    together = np.concatenate([sensors, layers])
    basis = joint_eigenbasis(together)
    off = off_diagonal(together, basis)
    joint = Condition(
        "layers diagonal where the sensors are",
        off <= BASIS_TOLERANCE,
        BASIS_TOLERANCE - off,
        f"off the diagonal in their common basis {off:.3g}, relative",
        IDENTITY,
    )
    return (*conditions, joint), CommutingForm(basis) if joint.holds else None


def _asymmetry(matrices: Float) -> float:
    """The largest `‖A − Aᵀ‖/2`, relative to `‖A‖`."""
    norms = np.linalg.norm(matrices, axis=(1, 2))
    off = np.linalg.norm(matrices - np.swapaxes(matrices, 1, 2), axis=(1, 2)) / 2
    return float(np.max(off[norms > 0] / norms[norms > 0], initial=0.0))


def _vanishes(name: str, size: float, what: str, change: str, about: str = "") -> Condition:
    """What must vanish up to rounding, relative to the size of its array."""
    margin = FORM_TOLERANCE - size
    detail = f"{what} {size:.3g}, relative"
    return Condition(name, size <= FORM_TOLERANCE, margin, detail, change, about)


def _conditions(problem: Problem) -> Sequence[Condition]:
    conditions, form = form_of(problem)
    if form is None:
        return conditions
    diagonal = Reduction.of(problem, form).diagonal
    theorem = strongest(diagonal)
    detail = f"by {theorem.id}" if theorem else f"no theorem covers {diagonal!r}"
    name = "limit of the diagonal network known"
    return (*conditions, Condition(name, theorem is not None, None, detail, DIAGONAL_START))


def _limit(problem: Problem) -> Limit:
    _, form = form_of(problem)
    assert form is not None, "a condition of the theorem"
    reduction = Reduction.of(problem, form)
    inner = reduction.inner_limit()
    assert inner is not None, "a condition of the theorem"
    return reduction.limit(inner, DIAGONAL_FORM)


def _path(problem: Problem, log_scales: Sequence[float]) -> list[Limit | None]:
    reduction = reduction_of(problem)
    assert reduction is not None, "a condition of the theorem"
    within = strongest(reduction.diagonal)
    assert within is not None, "a condition of the theorem"
    if within.path is None:
        return [_limit(reduction.at_log_scale(log_scale).problem) for log_scale in log_scales]
    inner = within.path(reduction.diagonal, log_scales)
    return reduction.limits(inner, log_scales, DIAGONAL_FORM)


DIAGONAL_FORM = register(
    Theorem(
        id="limitpoint.diagonalisable",
        citation=(
            "limitpoint; extends Yun, Krishnan and Mobahi (2021), Theorem 5 and Corollaries 6 and "
            "7, to other starts and to scale 0 and infinity"
        ),
        statement=(
            "An orthogonally decomposable network M(x) = Σ_j [Sx]_j [U₁]_j ⊗ ⋯ ⊗ [U_L]_j is, in "
            "η_l = U_lᵀv_l, the diagonal network on the data XSᵀ: it ends at β = Sᵀρ, ρ the limit "
            "of the diagonal network, from any start; what of v_l is orthogonal to the columns of "
            "U_l never moves. So is a convolution of full length on even data from even filters "
            "(the η_l are their Fourier transforms, each pair of frequencies counted once), and a "
            "product of matrices on symmetric sensors that commute, from layers diagonal in their "
            "eigenbasis (the η_l are eigenvalues): training leaves neither set. But matrices that "
            "are not diagonal there grow at depth 3 and beyond while others wait, at rates that do "
            "not vanish with the scale: at small scale any perturbation, rounding included, leaves "
            "the set at last."
        ),
        concludes="limit",
        rank=9,
        conditions=_conditions,
        limit=_limit,
        path=_path,
    )
)
