"""Regression on one sample with two layers: Theorem 6."""

from collections.abc import Sequence

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.foundation.conditions import Condition
from limitpoint.foundation.linalg import EPS
from limitpoint.networks import Tensor
from limitpoint.problem import Problem
from limitpoint.tasks import Regression
from limitpoint.theory.atlas import Theorem, register
from limitpoint.theory.certificates.certificate import (
    ERROR_BOUND,
    ROUNDING_UNITS,
    Certificate,
    fit_residuals,
    relative,
    status_of,
)
from limitpoint.theory.certificates.constraint import Constraint
from limitpoint.theory.limit import Limit
from limitpoint.theory.solvers.mirror.mirror_limit import mirror_limit
from limitpoint.theory.solvers.one_sample import OneSample
from limitpoint.theory.solvers.radial_limit import limit_at
from limitpoint.theory.theorems.diagonalisable import diagonal_layers
from limitpoint.theory.theorems.shared_conditions import kind_of_network
from limitpoint.theory.theorems.yun2021.citation import CITATION

__all__ = ["leads", "one_sample_of"]


def one_sample_of(problem: Problem) -> tuple[tuple[Condition, ...], OneSample | None]:
    """One sample, two layers that meet it through one matrix, and a scale below infinity."""
    task, init = problem.task, problem.init
    layers = len(init.direction)
    one = task.n_samples == 1 and bool(task.X.any())
    sample = OneSample.of(problem) if one and layers == 2 else None
    known = sample is not None or (layers == 2 and not one)
    return (
        kind_of_network(
            problem,
            "two-layer tensor network",
            known,
            "use Tensor, Convolutional or MatrixProduct with two layers",
        ),
        Condition(
            "one sample, not zero",
            one,
            None,
            f"there are {task.n_samples}",
            "use one sample that is not zero",
            "data",
        ),
        Condition(
            "scale below infinity",
            init.log_scale < np.inf,
            None,
            f"log_scale is {init.log_scale:g}",
            "give a finite scale",
        ),
    ), sample


def leads(sample: OneSample) -> Condition:
    """The condition on the start."""
    name = "first layer larger along every singular vector, p² > q²"
    detail = f"smallest p² − q² {sample.lead:.3g}"
    change = "start from a larger first layer, or a zero last one, Init.zero_last(...)"
    return Condition(name, sample.lead > 0, sample.lead, detail, change)


def _conditions(problem: Problem) -> Sequence[Condition]:
    conditions, sample = one_sample_of(problem)
    return conditions if sample is None else (*conditions, leads(sample))


def _conditions_any(problem: Problem) -> Sequence[Condition]:
    conditions, sample = one_sample_of(problem)
    if sample is None:
        return conditions
    push, name = sample.push, "some singular vector grows towards y"
    detail = f"largest p ± q that grows {push:.3g}"
    change = "turn the sign of one layer, or start from Init.random(...)"
    return (*conditions, Condition(name, push > 0, push, detail, change))


def _limit(problem: Problem) -> Limit:
    return _limit_of(problem, THEOREM_6)


def _limit_any(problem: Problem) -> Limit:
    return _limit_of(problem, ONE_SAMPLE)


def _limit_of(problem: Problem, theorem: Theorem) -> Limit:
    sample = OneSample.of(problem)
    assert sample is not None, "a condition of the theorem"
    if not problem.init.is_finite:
        return _limit_at_zero(sample, theorem)
    inner = mirror_limit(sample.diagonal, theorem)
    found = diagonal_layers(sample.diagonal, inner)
    assert found is not None, "at finite scale, where all mirror coordinates are finite"
    scale = problem.init.scale
    start = [scale * layer for layer in problem.init.direction]
    layers = sample.spectrum.outer((found[0], found[1]), start)
    return _limit_with(
        sample,
        theorem,
        layers=layers,
        products=inner.coef,
        xi=np.array(inner.mirror),
        dual=np.array(inner.dual),
        potential=inner.potential,
        residuals=dict(inner.certificate.residuals),
        iterations=inner.iterations,
    )


def _limit_at_zero(sample: OneSample, theorem: Theorem) -> Limit:
    """The singular vectors of the largest value; where several tie, by `(p + sign(y) q)²`.

    Mirror coordinates and dual are in units of `log(1/scale)`, as in every limit at scale 0.
    """
    y, data = sample.target, sample.spectrum.data
    sign = float(np.sign(y))
    top = sample.top(sign)
    largest = float(np.abs(data[top != 0]).max(initial=0.0)) or float(np.abs(data).max())
    square = float(top @ top)
    first = np.sqrt(abs(y) / (largest * square)) * top if square > 0 else np.zeros_like(top)
    second = sign * np.sign(data) * first
    dual = sign / largest
    xi = dual * data
    # Those that grow have no larger value; what does not grow is free.
    growing = sample.growing(sign) != 0
    beyond = float(np.max(np.abs(xi[growing]) - 1.0, initial=0.0))
    products = first * second
    lost = np.abs(products - np.abs(products) * xi).sum()
    return _limit_with(
        sample,
        theorem,
        layers=sample.outer(first, second),
        products=products,
        xi=xi,
        dual=np.array([dual]),
        potential=float(np.abs(products).sum()),
        residuals={
            "feasibility": relative(abs(float(data @ products) - y), abs(y)),
            "stationarity": beyond,
            "duality gap": relative(float(lost), float(np.abs(products).sum())),
        },
        iterations=0,
    )


def _limit_with(
    sample: OneSample,
    theorem: Theorem,
    *,
    layers: tuple[Float, Float],
    products: Float,
    xi: Float,
    dual: Float,
    potential: float,
    residuals: dict[str, float],
    iterations: int,
) -> Limit:
    """The coefficients are those of the layers, up to a step along ν that takes rounding out.

    The fit is checked on the sample itself.
    """
    task, network = sample.problem.regression, sample.problem.network
    constraint = Constraint.of(task.X, task.y)
    along = _along(sample, layers)
    coef = _stepped(np.asarray(network.coef(layers)), along, task)
    residuals |= fit_residuals(constraint, coef)
    longest = float(np.abs(xi).max(initial=0.0)) if sample.problem.init.is_finite else 0.0
    sizes = float(np.abs(sample.spectrum.data) @ np.abs(products)) + abs(sample.target)
    within = residuals.get(ERROR_BOUND, 0.0) * sizes
    residuals[ERROR_BOUND] = _error_bound(sample, layers, coef, along, longest, within)
    certificate = Certificate(residuals)
    return limit_at(
        coef,
        theorem,
        mirror=xi,
        dual=dual,
        potential=potential,
        certificate=certificate,
        status=status_of(certificate, constraint, coef),
        iterations=iterations,
        layers=layers,
    )


def _along(sample: OneSample, layers: tuple[Float, Float]) -> Float:
    """How the coefficients move with ν: layers as `M(x)v₂` and `M(x)ᵀv₁`."""
    network, (first, second) = sample.problem.network, layers
    ahead, back = sample.spectrum.times(layers)
    moved: Float = np.asarray(network.coef((ahead, second))) + network.coef((first, back))
    return moved


def _stepped(coef: Float, along: Float, task: Regression) -> Float:
    """Moved along ν to the target, where that is nearer."""
    x, y = task.X[0], float(task.y[0])
    speed, missed = float(x @ along), y - float(x @ coef)
    if speed == 0.0 or not np.isfinite(speed):
        return coef
    better = coef + (missed / speed) * along
    return better if abs(y - float(x @ better)) < abs(missed) else coef


def _error_bound(
    sample: OneSample,
    layers: tuple[Float, Float],
    coef: Float,
    along: Float,
    longest: float,
    within: float,
) -> float:
    """Of first order, in what coefficients contribute.

    The decomposition of M(x), and so the growth of every pair `p ± q = e^{±sν}`, is exact for a
    matrix off by rounding of its largest value: each product of layers is off by that times
    `1 + 2s₁|ν|`, and by the error `within` the diagonal network. What this does to the fit is taken
    back along ν.
    """
    problem, spectrum = sample.problem, sample.spectrum
    network, x, y = problem.network, problem.regression.X[0], sample.target
    positive = Tensor(np.abs(network.M)) if isinstance(network, Tensor) else network
    terms = np.abs(np.asarray(positive.coef(tuple(np.abs(layer) for layer in layers))))
    rounding = ROUNDING_UNITS * (spectrum.resolution + EPS) * (1.0 + 2.0 * longest)
    rounding += relative(within, float(np.abs(x) @ terms))
    size, speed = float(np.abs(x) @ np.abs(coef)) + abs(y), float(x @ along)
    if size == 0.0:
        return 0.0
    if speed == 0.0 or not np.isfinite(speed) or not np.isfinite(rounding):
        return np.inf
    # |I − along xᵀ/(xᵀalong)|, by what each coefficient contributes.
    shares, off = x * along / speed, rounding * np.abs(x) * terms
    others = float(off.sum())
    moved = np.abs(1.0 - shares) * off + np.abs(shares) * (others - off)
    missed = abs(y - float(x @ coef)) + ROUNDING_UNITS * EPS * size
    return float((moved + np.abs(shares) * missed).max()) / size


THEOREM_6 = register(
    Theorem(
        id="yun2021.theorem6",
        citation=f"{CITATION}, Theorem 6",
        statement=(
            "A two-layer tensor network f(x) = v₁ᵀM(x)v₂ on one sample, with the compact SVD "
            "M(x) = U₁ diag(s) U₂ᵀ and p_j² > q_j² for p = U₁ᵀv̄₁, q = U₂ᵀv̄₂, converges to "
            "v₁ = αU₁(p cosh νs + q sinh νs) + α(I − U₁U₁ᵀ)v̄₁ and v₂ likewise with p and q "
            "exchanged, where Σ_j s_j(½(p_j² + q_j²) sinh 2s_jν + p_jq_j cosh 2s_jν) = y/α²: the "
            "diagonal network of p and q on the one sample s. As α → 0 only the top singular "
            "vectors are left, weighted by (p_j + sign(y)q_j)² where they tie."
        ),
        concludes="limit",
        rank=19,
        conditions=_conditions,
        limit=_limit,
    )
)

ONE_SAMPLE = register(
    Theorem(
        id="limitpoint.one_sample",
        citation="limitpoint; extends Yun, Krishnan and Mobahi (2021), Theorem 6, to other starts",
        statement=(
            "The limit of Theorem 6 holds from every start in which some p_j + sign(y)q_j is not "
            "zero: each p_j + q_j grows as e^{s_jν} and p_j − q_j decays as e^{−s_jν}, so that the "
            "output Σ_j ¼s_j((p_j + q_j)²e^{2s_jν} − (p_j − q_j)²e^{−2s_jν}) passes through y at "
            "one ν. With none of them the output never gets there."
        ),
        concludes="limit",
        rank=6,
        conditions=_conditions_any,
        limit=_limit_any,
    )
)
